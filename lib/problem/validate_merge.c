/* Checks the arguments of a merge of partial results; every message names the argument. Pure. */
#include "validate.h"

enum { O, LSE, PART_O, PART_LSE, VIEWS };

/* Shapes and types against those of o, which has been checked. */
static enum aothip_status check_shapes(const struct aothip_attn_merge_params *p, struct status *why)
{
    static const char *const names[VIEWS] = {"o", "lse", "part_o", "part_lse"};
    const struct aothip_tensor *const all[VIEWS] = {&p->o, &p->lse, &p->part_o, &p->part_lse};
    for (int i = LSE; i < VIEWS; i++) {
        const int is_lse = i != PART_O;
        for (int axis = 0; axis < (is_lse ? 3 : 4); axis++)
            if (validate_equal(all[i], names[i], &p->o, "o", axis, why))
                return why->code;
        if (is_lse && all[i]->size[3] != 1)
            return VALIDATE_FAIL("%s: size[3] (dim) is %lld, not 1", names[i],
                                 (long long)all[i]->size[3]);
        if (is_lse && all[i]->dtype != AOTHIP_F32)
            return VALIDATE_FAIL("%s: dtype is %d, not F32", names[i], all[i]->dtype);
    }
    if (p->part_o.dtype != p->o.dtype && p->o.dtype != AOTHIP_F32)
        return VALIDATE_FAIL("part_o: dtype is %d, but o's is %d, not F32", p->part_o.dtype,
                             p->o.dtype);
    return AOTHIP_OK;
}

enum aothip_status validate_attn_merge(const struct aothip_attn_merge_params *given,
                                       struct validate_merge *checked, struct status *why)
{
    const struct aothip_attn_merge_params *p =
        validate_params(given, sizeof(*given), &checked->room, sizeof(*given), why);
    struct validate_view views[VIEWS];
    if (!p)
        return why->code;
    checked->params = p;
    views[O] = (struct validate_view){.name = "o", .tensor = &p->o, .written = 1};
    views[LSE] = (struct validate_view){.name = "lse", .tensor = &p->lse, .written = 1};
    views[PART_O] = (struct validate_view){.name = "part_o", .tensor = &p->part_o};
    views[PART_LSE] = (struct validate_view){.name = "part_lse", .tensor = &p->part_lse};
    if (validate_like_q(&views[O], p->o.dtype, why) ||
        validate_like_q(&views[PART_O], p->part_o.dtype, why) || check_shapes(p, why) ||
        validate_span(&views[LSE], why) || validate_span(&views[PART_LSE], why) ||
        validate_apart(views, VIEWS, why))
        return why->code;
    if (p->lse_base2 != 0 && p->lse_base2 != 1)
        return VALIDATE_FAIL("lse_base2 is %d, not 0 or 1", p->lse_base2);
    if (p->reserved)
        return VALIDATE_FAIL("reserved is %d, not 0", p->reserved);
    return AOTHIP_OK;
}
