/* Checks the arguments of forward attention; every message names the argument. Pure. */
#include "validate.h"

#include <stddef.h>
#include <string.h>

#include "shape.h"

#define MAX_STRUCT_SIZE 4096 /* far above any version of a params struct */

enum { TAIL = offsetof(struct aothip_attn_fwd_params, window_left) };

/* Options may let the batch sizes of q and k differ, and check them themselves. */
static enum aothip_status check_shapes(const struct aothip_attn_fwd_params *p, struct status *why)
{
    const int64_t heads_q = p->q.size[1], heads_k = p->k.size[1];
    if (validate_equal(&p->v, "v", &p->k, "k", 0, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 0, why) ||
        validate_equal(&p->v, "v", &p->k, "k", 1, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 1, why) ||
        validate_equal(&p->v, "v", &p->k, "k", 2, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 2, why) ||
        validate_equal(&p->k, "k", &p->q, "q", 3, why) ||
        validate_equal(&p->o, "o", &p->v, "v", 3, why))
        return why->code;
    /* no heads go with no heads only */
    if (heads_q == heads_k || (heads_q && heads_k && heads_q % heads_k == 0))
        return AOTHIP_OK;
    return VALIDATE_FAIL("q: size[1] (head) is %lld, no multiple of k's %lld", (long long)heads_q,
                         (long long)heads_k);
}

/* The types of k, v or o, given that of q. */
static enum aothip_status check_type(const struct validate_view *view,
                                     const struct aothip_attn_fwd_params *p, struct status *why)
{
    const int32_t dtype = view->tensor->dtype, q = p->q.dtype;
    const int is_output = view->tensor == &p->o, is_v = view->tensor == &p->v;
    if (is_output && shape_is_fp8(q)) {
        if (dtype == AOTHIP_F16 || dtype == AOTHIP_BF16)
            return AOTHIP_OK;
        return VALIDATE_FAIL("o: dtype is %d, not F16 or BF16, which FP8 of q needs", dtype);
    }
    if (is_v && shape_is_fp8_cache(p) && q != AOTHIP_F32) {
        if (dtype == p->k.dtype)
            return AOTHIP_OK;
        return VALIDATE_FAIL("v: dtype is %d, but k's is %d", dtype, p->k.dtype);
    }
    if (view->tensor == &p->k && shape_is_fp8_cache(p) && q != AOTHIP_F32)
        return AOTHIP_OK;
    if (!shape_is_fp8(dtype) && validate_is_float(view, why))
        return why->code;
    if (dtype != q)
        return VALIDATE_FAIL("%s: dtype is %d, but q's is %d", view->name, dtype, q);
    return AOTHIP_OK;
}

static enum aothip_status check_types(struct validate_view *views,
                                      const struct aothip_attn_fwd_params *p, struct status *why)
{
    if (!shape_is_fp8(p->q.dtype) && p->q.dtype != AOTHIP_F32 && p->q.dtype != AOTHIP_F16 &&
        p->q.dtype != AOTHIP_BF16)
        return VALIDATE_FAIL("q: dtype is %d, not F32, F16, BF16 or FP8", p->q.dtype);
    for (int i = 0; i < VALIDATE_REQUIRED; i++)
        if ((i != VALIDATE_Q && check_type(&views[i], p, why)) || validate_rows(&views[i], why))
            return why->code;
    return AOTHIP_OK;
}

enum aothip_status validate_examine(const struct validate_fwd *checked, struct status *why)
{
    const struct aothip_attn_fwd_params *p = checked->params;
    struct validate_view views[VALIDATE_REQUIRED] = {{.name = "q", .tensor = &p->q},
                                                     {.name = "k", .tensor = &p->k},
                                                     {.name = "v", .tensor = &p->v},
                                                     {.name = "o", .tensor = &p->o}};
    if (check_types(views, p, why))
        return why->code;
    if ((checked->plain && validate_equal(&p->k, "k", &p->q, "q", 0, why)) || check_shapes(p, why))
        return why->code;
    if (p->mask < AOTHIP_MASK_NONE || p->mask > AOTHIP_MASK_WINDOW_MIXED)
        return VALIDATE_FAIL("mask is %d, which is no enum aothip_mask", p->mask);
    if (!__builtin_isfinite(p->scale))
        return VALIDATE_FAIL("scale is %g", (double)p->scale);
    return validate_options(p, views, why);
}

enum aothip_status validate_convert(const void *given, size_t oldest, void *room, size_t own,
                                    struct status *why)
{
    const unsigned char *bytes = given;
    size_t size;
    if (!given)
        return VALIDATE_FAIL("params is NULL");
    memcpy(&size, given, sizeof(size));
    if (size < oldest || size > MAX_STRUCT_SIZE || size % sizeof(void *))
        return VALIDATE_FAIL("params: struct_size is %zu, which no version of the struct has; this "
                             "one's is %zu",
                             size, own);
    for (size_t i = own; i < size; i++)
        if (bytes[i])
            return status_set(why, AOTHIP_E_UNSUPPORTED,
                              "params: byte %zu is set, a field that version %s does not know", i,
                              aothip_version());
    memset(room, 0, own);
    memcpy(room, given, size < own ? size : own);
    return AOTHIP_OK;
}

enum aothip_status validate_any_fwd(const struct aothip_attn_fwd_params *given,
                                    struct validate_fwd *checked, struct status *why)
{
    const struct aothip_attn_fwd_params *p =
        validate_params(given, TAIL, &checked->room, sizeof(*given), why);
    if (!p)
        return why->code;
    checked->params = p;
    return validate_is_sound(checked) ? AOTHIP_OK : validate_examine(checked, why);
}
