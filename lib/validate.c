/* Checks the arguments of forward attention; every message names the argument. Pure. */
#include "validate.h"

#include <stddef.h>
#include <string.h>

#include "shape.h"

#define MAX_STRUCT_SIZE 4096 /* far above any version of a params struct */

enum { TAIL = offsetof(struct aothip_attn_fwd_params, window_left) };

/*
 * The plain case in few instructions: nothing is wrong, and sizes and strides are so small that 64
 * bits hold every product. A warm call spends most of its time in these checks.
 */
static int measure_plain(struct validate_view *view, int32_t dtype)
{
    const struct aothip_tensor *t = view->tensor;
    const uint64_t *size = (const uint64_t *)t->size, *stride = (const uint64_t *)t->stride;
    const uint64_t bytes = dtype == AOTHIP_F32 ? 4 : 2;
    uint64_t last;
    if (t->dtype != dtype || (uint32_t)dtype - AOTHIP_F32 > AOTHIP_BF16 - AOTHIP_F32 || !t->data ||
        (size[0] | size[1] | size[2] | size[3]) >> 30 || !size[0] || !size[1] || !size[2] ||
        !size[3] || (stride[0] | stride[1] | stride[2]) >> 30 || stride[3] != 1 ||
        (uintptr_t)t->data & (bytes - 1))
        return 0;
    last = size[3] - 1 + (size[0] - 1) * stride[0] + (size[1] - 1) * stride[1] +
           (size[2] - 1) * stride[2];
    view->begin = (uintptr_t)t->data;
    return !__builtin_add_overflow(view->begin, (last + 1) * bytes, &view->end);
}

/* Names the first two sizes that differ where they must not. */
static enum aothip_status refuse_shapes(const struct aothip_attn_fwd_params *p, struct status *why)
{
    if (validate_equal(&p->v, "v", &p->k, "k", 0, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 0, why) ||
        validate_equal(&p->v, "v", &p->k, "k", 1, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 1, why) ||
        validate_equal(&p->v, "v", &p->k, "k", 2, why) ||
        validate_equal(&p->o, "o", &p->q, "q", 2, why) ||
        validate_equal(&p->k, "k", &p->q, "q", 3, why) ||
        validate_equal(&p->o, "o", &p->v, "v", 3, why))
        return why->code;
    return AOTHIP_OK;
}

/* Whether each key head serves a whole number of query heads; no heads go with no heads only. */
static int is_multiple(uint32_t heads_q, uint32_t heads_k)
{
    if (heads_q == heads_k)
        return 1;
    return heads_q && heads_k && heads_q % heads_k == 0;
}

/* Options may let the batch sizes of q and k differ, and check them themselves. */
static enum aothip_status check_shapes(const struct aothip_attn_fwd_params *p, int plain,
                                       struct status *why)
{
    const int64_t *q = p->q.size, *k = p->k.size, *v = p->v.size, *o = p->o.size;
    const int64_t differing = (v[0] ^ k[0]) | (o[0] ^ q[0]) | (v[1] ^ k[1]) | (o[1] ^ q[1]) |
                              (v[2] ^ k[2]) | (o[2] ^ q[2]) | (k[3] ^ q[3]) | (o[3] ^ v[3]);
    if ((plain && validate_equal(&p->k, "k", &p->q, "q", 0, why)) ||
        (differing && refuse_shapes(p, why)))
        return why->code;
    if (!is_multiple((uint32_t)q[1], (uint32_t)k[1]))
        return VALIDATE_FAIL("q: size[1] (head) is %lld, no multiple of k's %lld", (long long)q[1],
                             (long long)k[1]);
    return AOTHIP_OK;
}

/* A problem without options: nothing but q, k, v, o and lse in its first layout. */
static enum aothip_status check_plain(const struct aothip_attn_fwd_params *p,
                                      struct validate_view views[VALIDATE_REQUIRED],
                                      struct status *why)
{
    const struct validate_view *o = &views[VALIDATE_O];
    struct validate_view lse = {.name = "lse"};
    if (validate_array(&lse, p->lse, shape_lse_elements(p), 4, why))
        return why->code;
    if (shape_is_empty(p))
        return AOTHIP_OK;
    if (validate_overlaps_itself(&p->o))
        return VALIDATE_FAIL("o: strides make it overlap itself");
    for (int i = 0; i < VALIDATE_O; i++) {
        if (validate_overlap(o, &views[i]))
            return VALIDATE_FAIL("o: overlaps %s", views[i].name);
        if (lse.begin && validate_overlap(&lse, &views[i]))
            return VALIDATE_FAIL("lse: overlaps %s", views[i].name);
    }
    if (lse.begin && validate_overlap(&lse, o))
        return VALIDATE_FAIL("lse: overlaps o");
    return AOTHIP_OK;
}

enum aothip_status validate_convert(const char *name, const void *given, size_t size, size_t oldest,
                                    void *room, size_t own, struct status *why)
{
    const unsigned char *bytes = given;
    if (size < oldest || size > MAX_STRUCT_SIZE || size % sizeof(void *))
        return VALIDATE_FAIL("%s: struct_size is %zu, which no version of the struct has; this "
                             "one's is %zu",
                             name, size, own);
    for (size_t i = own; i < size; i++)
        if (bytes[i])
            return status_set(why, AOTHIP_E_UNSUPPORTED,
                              "%s: byte %zu is set, a field that version %s does not know", name, i,
                              aothip_version());
    memset(room, 0, own);
    memcpy(room, given, size < own ? size : own);
    return AOTHIP_OK;
}

enum aothip_status validate_attn_fwd(const struct aothip_attn_fwd_params *given,
                                     struct validate_fwd *checked, struct status *why)
{
    static const char none[sizeof(*given) - TAIL];
    const struct aothip_attn_fwd_params *p = given;
    if (!given)
        return VALIDATE_FAIL("params is NULL");
    if (given->struct_size != sizeof(*given)) {
        if (validate_convert("params", given, given->struct_size, TAIL, &checked->room,
                             sizeof(*given), why))
            return why->code;
        p = &checked->room;
    }
    checked->params = p;
    checked->plain = memcmp((const char *)p + TAIL, none, sizeof(none)) == 0;
    struct validate_view views[VALIDATE_REQUIRED] = {{.name = "q", .tensor = &p->q},
                                                     {.name = "k", .tensor = &p->k},
                                                     {.name = "v", .tensor = &p->v},
                                                     {.name = "o", .tensor = &p->o}};
    for (int i = 0; i < VALIDATE_REQUIRED; i++)
        if (!measure_plain(&views[i], p->q.dtype) && validate_like_q(&views[i], p->q.dtype, why))
            return why->code;
    if (check_shapes(p, checked->plain, why))
        return why->code;
    if (p->mask < AOTHIP_MASK_NONE || p->mask > AOTHIP_MASK_WINDOW_MIXED)
        return VALIDATE_FAIL("mask is %d, which is no enum aothip_mask", p->mask);
    if (!__builtin_isfinite(p->scale))
        return VALIDATE_FAIL("scale is %g", (double)p->scale);
    return checked->plain ? check_plain(p, views, why) : validate_options(p, views, why);
}
