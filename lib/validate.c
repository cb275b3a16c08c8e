/* Checks the arguments of an API call; every message names the argument. Pure. */
#include "validate.h"

#include <stdint.h>
#include <string.h>

#define MAX_SIZE ((int64_t)1 << 30)
#define MAX_STRIDE ((int64_t)1 << 48)
#define MAX_STRUCT_SIZE 4096 /* far above any version of a params struct */

#define FAIL(...) status_set(why, AOTHIP_E_ARGUMENT, __VA_ARGS__)

/* A tensor argument, its name, and the bytes it spans. */
struct view {
    const char *name;
    const struct aothip_tensor *tensor;
    uintptr_t begin, end; /* end is that of the last element */
    int gapless;          /* every byte in between belongs to an element */
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

static enum aothip_status check_axes(const char *name, const struct aothip_tensor *tensor,
                                     struct status *why)
{
    for (int i = 0; i < 4; i++) {
        if (tensor->size[i] < (i == 3) || tensor->size[i] > MAX_SIZE)
            return FAIL("%s: size[%d] (%s) is %lld, not %d to 2^30", name, i, axis_name[i],
                        (long long)tensor->size[i], i == 3);
        if (tensor->size[i] > 1 && i < 3 &&
            (tensor->stride[i] < 0 || tensor->stride[i] > MAX_STRIDE))
            return FAIL("%s: stride[%d] (%s) is %lld, not 0 to 2^48", name, i, axis_name[i],
                        (long long)tensor->stride[i]);
    }
    if (tensor->size[3] > 1 && tensor->stride[3] != 1)
        return FAIL("%s: stride[3] (dim) is %lld, not 1", name, (long long)tensor->stride[3]);
    return AOTHIP_OK;
}

/* Fills begin, end and gapless; refuses a tensor that wraps around the address space. */
static enum aothip_status measure(struct view *view, int64_t element, struct status *why)
{
    const struct aothip_tensor *tensor = view->tensor;
    int64_t last = tensor->size[3] - 1, count = tensor->size[3], step, bytes;
    int overflow = 0;
    for (int i = 0; i < 3; i++) {
        if (tensor->size[i] > 1) {
            overflow |= __builtin_mul_overflow(tensor->size[i] - 1, tensor->stride[i], &step);
            overflow |= __builtin_add_overflow(last, step, &last);
        }
        overflow |= __builtin_mul_overflow(count, tensor->size[i], &count);
    }
    overflow |= __builtin_add_overflow(last, 1, &bytes);
    overflow |= __builtin_mul_overflow(bytes, element, &bytes);
    view->begin = (uintptr_t)tensor->data;
    overflow |= __builtin_add_overflow(view->begin, (uintptr_t)bytes, &view->end);
    if (overflow)
        return FAIL("%s: sizes and strides reach beyond the address space", view->name);
    view->gapless = last + 1 == count;
    return AOTHIP_OK;
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

static enum aothip_status check_shapes(const struct aothip_attn_fwd_params *p, struct status *why)
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
    if (p->q.size[1] == 0 ? p->k.size[1] != 0
                          : p->k.size[1] == 0 || (uint32_t)p->q.size[1] % (uint32_t)p->k.size[1])
        return FAIL("q: size[1] (head) is %lld, no multiple of k's %lld", (long long)p->q.size[1],
                    (long long)p->k.size[1]);
    return AOTHIP_OK;
}

/*
 * Whether two elements of an output certainly share an address. Dimensions that nest, each stride
 * at least the extent of all smaller ones, cannot; the rest is settled pair by pair: stride A being
 * fewer than size B times stride B makes two elements meet.
 */
static int overlaps_itself(const struct aothip_tensor *tensor)
{
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

/* Whether two tensors certainly share a byte: one has no gaps and an end of the other lies in it.
 */
static int overlap(const struct view *a, const struct view *b)
{
    if (a->begin >= b->end || b->begin >= a->end)
        return 0;
    if (a->begin == b->begin)
        return 1;
    /* the intervals meet, so an end of the one lies in the other, or the one holds the other */
    if (a->gapless && (b->begin > a->begin || b->end <= a->end))
        return 1;
    return b->gapless && (a->begin > b->begin || a->end <= b->end);
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
    int64_t bytes = params->q.size[0];
    int overflow;
    if (!params->lse)
        return AOTHIP_OK;
    if ((uintptr_t)params->lse & 3)
        return FAIL("lse: %p is not aligned to its elements of 4 bytes", (void *)params->lse);
    overflow = __builtin_mul_overflow(bytes, params->q.size[1], &bytes);
    overflow |= __builtin_mul_overflow(bytes, params->q.size[2], &bytes);
    overflow |= __builtin_mul_overflow(bytes, 4, &bytes);
    lse->begin = (uintptr_t)params->lse;
    overflow |= __builtin_add_overflow(lse->begin, (uintptr_t)bytes, &lse->end);
    if (overflow)
        return FAIL("lse: its size reaches beyond the address space");
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
    struct view lse = {.name = "lse", .gapless = 1};
    for (int i = 0; i < 4; i++)
        if (check_tensor(&views[i], p->q.dtype, why))
            return why->code;
    if (check_shapes(p, why) || check_lse(p, &lse, why))
        return why->code;
    if (p->mask < AOTHIP_MASK_NONE || p->mask > AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        return FAIL("mask is %d, which is no enum aothip_mask", p->mask);
    if (!__builtin_isfinite(p->scale))
        return FAIL("scale is %g", (double)p->scale);
    if (!validate_is_empty(p) && p->k.size[2] == 0)
        return FAIL("k: size[2] (seq) is 0");
    if (!validate_is_empty(p) && check_overlaps(views, 3, &views[3], &lse, why))
        return why->code;
    *params = p;
    return AOTHIP_OK;
}
