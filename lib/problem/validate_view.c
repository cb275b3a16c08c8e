/* Checks one tensor argument at a time; every message names it. Pure. */
#include "validate_view.h"

const char validate_axis[4][8] = {"batch", "head", "seq", "dim"};

static int has_elements(const struct aothip_tensor *tensor)
{
    return tensor->size[0] && tensor->size[1] && tensor->size[2] && tensor->size[3];
}

int64_t validate_dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return 4;
    case AOTHIP_F16:
    case AOTHIP_BF16:
        return 2;
    case AOTHIP_BOOL:
    case AOTHIP_FP8_E4M3:
    case AOTHIP_FP8_E5M2:
    case AOTHIP_FP8_E4M3_FNUZ:
    case AOTHIP_FP8_E5M2_FNUZ:
        return 1;
    default:
        return 0;
    }
}

static enum aothip_status check_axis(const char *name, const struct aothip_tensor *tensor, int i,
                                     struct status *why)
{
    /* as unsigned numbers the negative ones are too large */
    if ((uint64_t)tensor->size[i] > VALIDATE_MAX_SIZE)
        return VALIDATE_FAIL("%s: size[%d] (%s) is %lld, not 0 to 2^30", name, i, validate_axis[i],
                             (long long)tensor->size[i]);
    if ((uint64_t)tensor->stride[i] > VALIDATE_MAX_STRIDE && tensor->size[i] > 1)
        return VALIDATE_FAIL("%s: stride[%d] (%s) is %lld, not 0 to 2^48", name, i,
                             validate_axis[i], (long long)tensor->stride[i]);
    return AOTHIP_OK;
}

/* The index of the last element, below 2^80. */
static unsigned __int128 last_index(const struct aothip_tensor *tensor)
{
    unsigned __int128 last = 0;
    for (int i = 0; i < 4; i++)
        if (tensor->size[i] > 1)
            last +=
                (unsigned __int128)(uint64_t)(tensor->size[i] - 1) * (uint64_t)tensor->stride[i];
    return last;
}

/* Whether every byte that a view spans belongs to an element of it. */
static int is_gapless(const struct validate_view *view)
{
    const struct aothip_tensor *tensor = view->tensor;
    unsigned __int128 count = 1;
    if (!tensor)
        return 1;
    for (int i = 0; i < 4; i++)
        count *= (uint64_t)tensor->size[i]; /* below 2^120 */
    return last_index(tensor) + 1 == count;
}

static enum aothip_status set_span(struct validate_view *view, const void *data,
                                   unsigned __int128 elements, int64_t bytes, struct status *why)
{
    const unsigned __int128 begin = (uintptr_t)data, end = begin + elements * (uint64_t)bytes;
    if (end > UINTPTR_MAX)
        return VALIDATE_FAIL("%s: %s beyond the address space", view->name,
                             view->tensor ? "sizes and strides reach" : "its size reaches");
    view->begin = (uintptr_t)begin;
    view->end = (uintptr_t)end;
    return AOTHIP_OK;
}

enum aothip_status validate_span(struct validate_view *view, struct status *why)
{
    const struct aothip_tensor *tensor = view->tensor;
    const int64_t bytes = validate_dtype_bytes(tensor->dtype);
    for (int i = 0; i < 4; i++)
        if (check_axis(view->name, tensor, i, why))
            return why->code;
    view->begin = view->end = 0;
    if (!has_elements(tensor))
        return AOTHIP_OK;
    if (!tensor->data)
        return VALIDATE_FAIL("%s: data is NULL", view->name);
    if ((uintptr_t)tensor->data & (uintptr_t)(bytes - 1))
        return VALIDATE_FAIL("%s: data is 0x%llx, not aligned to its elements of %d bytes",
                             view->name, (unsigned long long)(uintptr_t)tensor->data, (int)bytes);
    return set_span(view, tensor->data, last_index(tensor) + 1, bytes, why);
}

enum aothip_status validate_is_float(const struct validate_view *view, struct status *why)
{
    const int32_t dtype = view->tensor->dtype;
    if (dtype == AOTHIP_F32 || dtype == AOTHIP_F16 || dtype == AOTHIP_BF16)
        return AOTHIP_OK;
    return VALIDATE_FAIL("%s: dtype is %d, not F32, F16 or BF16", view->name, dtype);
}

enum aothip_status validate_like_q(struct validate_view *view, int32_t dtype, struct status *why)
{
    if (validate_is_float(view, why))
        return why->code;
    if (view->tensor->dtype != dtype)
        return VALIDATE_FAIL("%s: dtype is %d, but q's is %d", view->name, view->tensor->dtype,
                             dtype);
    return validate_rows(view, why);
}

enum aothip_status validate_rows(struct validate_view *view, struct status *why)
{
    const struct aothip_tensor *tensor = view->tensor;
    if ((uint64_t)tensor->size[3] - 1 >= VALIDATE_MAX_SIZE)
        return VALIDATE_FAIL("%s: size[3] (dim) is %lld, not 1 to 2^30", view->name,
                             (long long)tensor->size[3]);
    if (tensor->size[3] > 1 && tensor->stride[3] != 1)
        return VALIDATE_FAIL("%s: stride[3] (dim) is %lld, not 1", view->name,
                             (long long)tensor->stride[3]);
    return validate_span(view, why);
}

enum aothip_status validate_pointer(const char *name, const void *data, int64_t bytes,
                                    struct status *why)
{
    if ((uintptr_t)data & (uintptr_t)(bytes - 1))
        return VALIDATE_FAIL("%s: 0x%llx is not aligned to its elements of %d bytes", name,
                             (unsigned long long)(uintptr_t)data, (int)bytes);
    return AOTHIP_OK;
}

enum aothip_status validate_array(struct validate_view *view, const void *data, int64_t elements,
                                  int64_t bytes, struct status *why)
{
    view->begin = view->end = 0;
    if (!data || !elements)
        return AOTHIP_OK;
    if (validate_pointer(view->name, data, bytes, why))
        return why->code;
    return set_span(view, data, (uint64_t)elements, bytes, why);
}

enum aothip_status validate_equal(const struct aothip_tensor *left, const char *left_name,
                                  const struct aothip_tensor *right, const char *right_name,
                                  int axis, struct status *why)
{
    if (left->size[axis] == right->size[axis])
        return AOTHIP_OK;
    return VALIDATE_FAIL("%s: size[%d] (%s) is %lld, but %s's is %lld", left_name, axis,
                         validate_axis[axis], (long long)left->size[axis], right_name,
                         (long long)right->size[axis]);
}

/* Sizes and strides of the dimensions longer than 1, by stride; returns how many. */
static int sort_dimensions(const struct aothip_tensor *tensor, int64_t size[4], int64_t stride[4])
{
    int count = 0;
    for (int i = 3; i >= 0; i--) {
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
    return count;
}

/*
 * Dimensions that nest, each stride at least the extent of all smaller ones, cannot share an
 * address; the rest is settled pair by pair: stride A being fewer than size B times stride B makes
 * two elements meet.
 */
int validate_overlaps_itself(const struct aothip_tensor *tensor)
{
    int64_t size[4], stride[4], extent = 1;
    int nested = 0;
    const int count = sort_dimensions(tensor, size, stride);
    if (count && stride[0] == 0)
        return 1;
    while (nested < count && stride[nested] >= extent) {
        extent += (size[nested] - 1) * stride[nested];
        nested++;
    }
    if (nested == count)
        return 0;
    for (int big = 1; big < count; big++)
        for (int small = 0; small < big; small++)
            if (stride[big] % stride[small] == 0 && stride[big] / stride[small] < size[small])
                return 1;
    return 0;
}

/*
 * One has no gaps and an end of the other lies in it. Where the spans meet, an end of one lies in
 * the other or the one holds the other.
 */
static int share_byte(const struct validate_view *a, const struct validate_view *b)
{
    if (a->begin == b->begin)
        return 1;
    if (is_gapless(a) && (b->begin > a->begin || b->end <= a->end))
        return 1;
    return is_gapless(b) && (a->begin > b->begin || a->end <= b->end);
}

static int overlap(const struct validate_view *a, const struct validate_view *b)
{
    return a->begin < b->end && b->begin < a->end && share_byte(a, b);
}

enum aothip_status validate_apart(const struct validate_view *views, int count, struct status *why)
{
    for (int i = 0; i < count; i++) {
        const struct validate_view *view = &views[i];
        if (!view->begin)
            continue;
        if (view->written && view->tensor && validate_overlaps_itself(view->tensor))
            return VALIDATE_FAIL("%s: strides make it overlap itself", view->name);
        for (int j = 0; j < i; j++) {
            const struct validate_view *before = &views[j];
            if (!(view->written || before->written) || !before->begin || !overlap(view, before))
                continue;
            if (view->written)
                return VALIDATE_FAIL("%s: overlaps %s", view->name, before->name);
            return VALIDATE_FAIL("%s: overlaps %s", before->name, view->name);
        }
    }
    return AOTHIP_OK;
}
