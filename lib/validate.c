/* Checks the arguments of an API call; every message names the argument. Pure. */
#include "validate.h"

#include <stdint.h>
#include <string.h>

#define MAX_SIZE ((uint64_t)1 << 30)
#define MAX_STRIDE ((uint64_t)1 << 48)
#define MAX_STRUCT_SIZE 4096 /* far above any version of a params struct */

#define FAIL(...) status_set(why, AOTHIP_E_ARGUMENT, __VA_ARGS__)

/* A tensor argument, its name, and the bytes it spans. */
struct view {
    const char *name;
    const struct aothip_tensor *tensor; /* NULL for lse, which has no gaps */
    uintptr_t begin, end;               /* end is that of the last element */
};

static const char axis_name[4][8] = {"batch", "head", "seq", "dim"};

static int is_empty(const struct aothip_tensor *tensor)
{
    return !(tensor->size[0] && tensor->size[1] && tensor->size[2]);
}

/* All three 16- and 32-bit types; which of them there are kernels for, the images say. */
static int64_t dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return 4;
    case AOTHIP_F16:
    case AOTHIP_BF16:
        return 2;
    default:
        return 0;
    }
}

/* One axis of the first three. */
static enum aothip_status check_axis(const char *name, const struct aothip_tensor *tensor, int i,
                                     struct status *why)
{
    /* as unsigned numbers the negative ones are too large */
    if ((uint64_t)tensor->size[i] > MAX_SIZE)
        return FAIL("%s: size[%d] (%s) is %lld, not 0 to 2^30", name, i, axis_name[i],
                    (long long)tensor->size[i]);
    if ((uint64_t)tensor->stride[i] > MAX_STRIDE && tensor->size[i] > 1)
        return FAIL("%s: stride[%d] (%s) is %lld, not 0 to 2^48", name, i, axis_name[i],
                    (long long)tensor->stride[i]);
    return AOTHIP_OK;
}

static enum aothip_status check_axes(const char *name, const struct aothip_tensor *tensor,
                                     struct status *why)
{
    if (check_axis(name, tensor, 0, why) || check_axis(name, tensor, 1, why) ||
        check_axis(name, tensor, 2, why))
        return why->code;
    if ((uint64_t)tensor->size[3] - 1 >= MAX_SIZE)
        return FAIL("%s: size[3] (dim) is %lld, not 1 to 2^30", name, (long long)tensor->size[3]);
    if (tensor->size[3] > 1 && tensor->stride[3] != 1)
        return FAIL("%s: stride[3] (dim) is %lld, not 1", name, (long long)tensor->stride[3]);
    return AOTHIP_OK;
}

/* The index of the last element, below 2^80. */
static unsigned __int128 last_index(const struct aothip_tensor *tensor)
{
    unsigned __int128 last = (uint64_t)tensor->size[3] - 1;
    for (int i = 0; i < 3; i++)
        if (tensor->size[i] > 1)
            last +=
                (unsigned __int128)(uint64_t)(tensor->size[i] - 1) * (uint64_t)tensor->stride[i];
    return last;
}

/* Fills begin and end; refuses a tensor that wraps around the address space. */
static enum aothip_status measure(struct view *view, int64_t element, struct status *why)
{
    const unsigned __int128 begin = (uintptr_t)view->tensor->data;
    const unsigned __int128 end = begin + (last_index(view->tensor) + 1) * (uint64_t)element;
    if (end > UINTPTR_MAX)
        return FAIL("%s: sizes and strides reach beyond the address space", view->name);
    view->begin = (uintptr_t)begin;
    view->end = (uintptr_t)end;
    return AOTHIP_OK;
}

/* Whether every byte that a view spans belongs to an element of it. */
static int is_gapless(const struct view *view)
{
    const struct aothip_tensor *tensor = view->tensor;
    unsigned __int128 count = 1;
    if (!tensor)
        return 1;
    for (int i = 0; i < 4; i++)
        count *= (uint64_t)tensor->size[i]; /* below 2^120 */
    return last_index(tensor) + 1 == count;
}

/*
 * The plain case in few instructions: nothing is wrong, and sizes and strides are so small that 64
 * bits hold every product. A warm call spends most of its time in these checks.
 */
static int measure_plain(struct view *view, int32_t dtype)
{
    const struct aothip_tensor *t = view->tensor;
    const uint64_t *size = (const uint64_t *)t->size, *stride = (const uint64_t *)t->stride;
    uint64_t last;
    if (t->dtype != dtype || (dtype != AOTHIP_F16 && dtype != AOTHIP_BF16) || !t->data ||
        (size[0] | size[1] | size[2] | size[3]) >> 30 || !size[0] || !size[1] || !size[2] ||
        !size[3] || (stride[0] | stride[1] | stride[2]) >> 30 || stride[3] != 1 ||
        (uintptr_t)t->data & 1)
        return 0;
    last = size[3] - 1 + (size[0] - 1) * stride[0] + (size[1] - 1) * stride[1] +
           (size[2] - 1) * stride[2];
    view->begin = (uintptr_t)t->data;
    return !__builtin_add_overflow(view->begin, (last + 1) * 2, &view->end);
}

static enum aothip_status check_tensor(struct view *view, int32_t dtype, struct status *why)
{
    const struct aothip_tensor *tensor = view->tensor;
    int64_t element = dtype_bytes(tensor->dtype);
    if (!element)
        return FAIL("%s: dtype is %d, which is no enum aothip_dtype", view->name, tensor->dtype);
    if (tensor->dtype != dtype)
        return FAIL("%s: dtype is %d, but q's is %d", view->name, tensor->dtype, dtype);
    if (check_axes(view->name, tensor, why))
        return why->code;
    if (is_empty(tensor)) {
        view->begin = view->end = 0;
        return AOTHIP_OK;
    }
    if (!tensor->data)
        return FAIL("%s: data is NULL", view->name);
    if ((uintptr_t)tensor->data & (uintptr_t)(element - 1))
        return FAIL("%s: data is %p, not aligned to its elements of %d bytes", view->name,
                    tensor->data, (int)element);
    return measure(view, element, why);
}

static enum aothip_status check_equal(const struct aothip_tensor *left, const char *left_name,
                                      const struct aothip_tensor *right, const char *right_name,
                                      int axis, struct status *why)
{
    if (left->size[axis] == right->size[axis])
        return AOTHIP_OK;
    return FAIL("%s: size[%d] (%s) is %lld, but %s's is %lld", left_name, axis, axis_name[axis],
                (long long)left->size[axis], right_name, (long long)right->size[axis]);
}

/* Names the first two sizes that differ where they must not. */
static enum aothip_status refuse_shapes(const struct aothip_attn_fwd_params *p, struct status *why)
{
    if (check_equal(&p->k, "k", &p->q, "q", 0, why) ||
        check_equal(&p->v, "v", &p->q, "q", 0, why) ||
        check_equal(&p->o, "o", &p->q, "q", 0, why) ||
        check_equal(&p->v, "v", &p->k, "k", 1, why) ||
        check_equal(&p->o, "o", &p->q, "q", 1, why) ||
        check_equal(&p->v, "v", &p->k, "k", 2, why) ||
        check_equal(&p->o, "o", &p->q, "q", 2, why) ||
        check_equal(&p->k, "k", &p->q, "q", 3, why) || check_equal(&p->o, "o", &p->v, "v", 3, why))
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

static enum aothip_status check_shapes(const struct aothip_attn_fwd_params *p, struct status *why)
{
    const int64_t *q = p->q.size, *k = p->k.size, *v = p->v.size, *o = p->o.size;
    const int64_t differing = (k[0] ^ q[0]) | (v[0] ^ q[0]) | (o[0] ^ q[0]) | (v[1] ^ k[1]) |
                              (o[1] ^ q[1]) | (v[2] ^ k[2]) | (o[2] ^ q[2]) | (k[3] ^ q[3]) |
                              (o[3] ^ v[3]);
    if (differing && refuse_shapes(p, why))
        return why->code;
    if (!is_multiple((uint32_t)p->q.size[1], (uint32_t)p->k.size[1]))
        return FAIL("q: size[1] (head) is %lld, no multiple of k's %lld", (long long)p->q.size[1],
                    (long long)p->k.size[1]);
    return AOTHIP_OK;
}

/* Whether the dimensions nest as BHSD or BSHD; a quick answer for small sizes and strides. */
static int is_nested(const struct aothip_tensor *tensor)
{
    const int64_t *size = tensor->size, *stride = tensor->stride;
    if ((size[0] | size[1] | size[2] | size[3] | stride[0] | stride[1] | stride[2]) >> 30)
        return 0;
    if (stride[1] >= stride[2])
        return stride[2] >= size[3] && stride[1] >= size[2] * stride[2] &&
               stride[0] >= size[1] * stride[1];
    return stride[1] >= size[3] && stride[2] >= size[1] * stride[1] &&
           stride[0] >= size[2] * stride[2];
}

/*
 * Whether two elements of an output certainly share an address. Dimensions that nest, each stride
 * at least the extent of all smaller ones, cannot; the rest is settled pair by pair: stride A being
 * fewer than size B times stride B makes two elements meet.
 */
static int overlaps_itself(const struct aothip_tensor *tensor)
{
    if (is_nested(tensor))
        return 0;
    int64_t size[4] = {tensor->size[3]}, stride[4] = {1}, extent;
    int count = 1;
    for (int i = 0; i < 3; i++) {
        int at = count;
        if (tensor->size[i] == 1)
            continue;
        for (; at > 0 && stride[at - 1] > tensor->stride[i]; at--) {
            size[at] = size[at - 1];
            stride[at] = stride[at - 1];
        }
        size[at] = tensor->size[i];
        stride[at] = tensor->stride[i];
        count++;
    }
    if (stride[0] == 0)
        return 1;
    extent = 1;
    for (int i = 0; i < count; i++) {
        if (stride[i] < extent)
            break;
        extent += (size[i] - 1) * stride[i];
        if (i == count - 1)
            return 0;
    }
    for (int big = 1; big < count; big++)
        for (int small = 0; small < big; small++)
            if (stride[big] % stride[small] == 0 && stride[big] / stride[small] < size[small])
                return 1;
    return 0;
}

static inline int spans_meet(const struct view *a, const struct view *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/*
 * Whether two tensors certainly share a byte: one has no gaps and an end of the other lies in it.
 * Where the spans meet, an end of one lies in the other or the one holds the other.
 */
static int share_byte(const struct view *a, const struct view *b)
{
    if (a->begin == b->begin)
        return 1;
    if (is_gapless(a) && (b->begin > a->begin || b->end <= a->end))
        return 1;
    return is_gapless(b) && (a->begin > b->begin || a->end <= b->end);
}

static inline int overlap(const struct view *a, const struct view *b)
{
    return spans_meet(a, b) && share_byte(a, b);
}

static enum aothip_status check_overlaps(const struct view *inputs, int count, const struct view *o,
                                         const struct view *lse, struct status *why)
{
    if (overlaps_itself(o->tensor))
        return FAIL("o: strides make it overlap itself");
    for (int i = 0; i < count; i++) {
        if (overlap(o, &inputs[i]))
            return FAIL("o: overlaps %s", inputs[i].name);
        if (lse->begin && overlap(lse, &inputs[i]))
            return FAIL("lse: overlaps %s", inputs[i].name);
    }
    if (lse->begin && overlap(lse, o))
        return FAIL("lse: overlaps o");
    return AOTHIP_OK;
}

static enum aothip_status check_lse(const struct aothip_attn_fwd_params *params, struct view *lse,
                                    struct status *why)
{
    const unsigned __int128 begin = (uintptr_t)params->lse;
    unsigned __int128 end = 4;
    if (!params->lse)
        return AOTHIP_OK;
    if (begin & 3)
        return FAIL("lse: %p is not aligned to its elements of 4 bytes", (void *)params->lse);
    for (int i = 0; i < 3; i++)
        end *= (uint64_t)params->q.size[i]; /* below 2^92 */
    end += begin;
    if (end > UINTPTR_MAX)
        return FAIL("lse: its size reaches beyond the address space");
    lse->begin = (uintptr_t)begin;
    lse->end = (uintptr_t)end;
    return AOTHIP_OK;
}

/* Brings another version's struct to this one's size. */
static enum aothip_status convert(const struct aothip_attn_fwd_params *given,
                                  struct aothip_attn_fwd_params *room, struct status *why)
{
    const size_t own = sizeof(*given), size = given->struct_size;
    const unsigned char *bytes = (const unsigned char *)given;
    if (size < own || size > MAX_STRUCT_SIZE)
        return FAIL("params: struct_size is %zu, not sizeof(struct aothip_attn_fwd_params), %zu",
                    size, own);
    for (size_t i = own; i < size; i++)
        if (bytes[i])
            return status_set(why, AOTHIP_E_UNSUPPORTED,
                              "params: byte %zu is set, a field that version %s does not know", i,
                              aothip_version());
    memcpy(room, given, own);
    return AOTHIP_OK;
}

int validate_is_empty(const struct aothip_attn_fwd_params *params)
{
    return is_empty(&params->o);
}

enum aothip_status validate_attn_fwd(const struct aothip_attn_fwd_params *given,
                                     struct aothip_attn_fwd_params *room,
                                     const struct aothip_attn_fwd_params **params,
                                     struct status *why)
{
    const struct aothip_attn_fwd_params *p = given;
    if (!given)
        return FAIL("params is NULL");
    if (given->struct_size != sizeof(*given)) {
        if (convert(given, room, why))
            return why->code;
        p = room;
    }
    struct view views[] = {{.name = "q", .tensor = &p->q},
                           {.name = "k", .tensor = &p->k},
                           {.name = "v", .tensor = &p->v},
                           {.name = "o", .tensor = &p->o}};
    struct view lse = {.name = "lse"};
    for (int i = 0; i < 4; i++)
        if (!measure_plain(&views[i], p->q.dtype) && check_tensor(&views[i], p->q.dtype, why))
            return why->code;
    if (check_shapes(p, why) || check_lse(p, &lse, why))
        return why->code;
    if (p->mask < AOTHIP_MASK_NONE || p->mask > AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        return FAIL("mask is %d, which is no enum aothip_mask", p->mask);
    if (!__builtin_isfinite(p->scale))
        return FAIL("scale is %g", (double)p->scale);
    if (!validate_is_empty(p) && check_overlaps(views, 3, &views[3], &lse, why))
        return why->code;
    *params = p;
    return AOTHIP_OK;
}
