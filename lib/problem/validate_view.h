/* One tensor argument at a time: its own rules, the bytes it spans, what it overlaps. Pure. */
#ifndef AOTHIP_VALIDATE_VIEW_H
#define AOTHIP_VALIDATE_VIEW_H

#include <stdint.h>

#include "status.h"

#define VALIDATE_MAX_SIZE ((uint64_t)1 << 30)
#define VALIDATE_MAX_STRIDE ((uint64_t)1 << 48)

#define VALIDATE_FAIL(...) status_set(why, AOTHIP_E_ARGUMENT, __VA_ARGS__)

/* A tensor argument, its name, and the bytes it spans; begin is 0 where there are none. */
struct validate_view {
    const char *name;
    const struct aothip_tensor *tensor; /* NULL for an array without gaps, such as lse */
    uintptr_t begin, end;               /* end is that of the last element */
    int written;
};

extern const char validate_axis[4][8];

/* Bytes of an element; 0 for what is no enum aothip_dtype. */
int64_t validate_dtype_bytes(int32_t dtype);

/*
 * Sizes, strides, pointer and alignment of a tensor whose dtype is known to be right; fills begin
 * and end. A tensor without elements may have no data.
 */
enum aothip_status validate_span(struct validate_view *view, struct status *why);

/* The same for a tensor that must have stride[3] = 1. */
enum aothip_status validate_rows(struct validate_view *view, struct status *why);

/* That the type is none of FP8, let alone BOOL or no type. */
enum aothip_status validate_is_float(const struct validate_view *view, struct status *why);

/* The rows of a tensor that must have the type of q, which is not FP8. */
enum aothip_status validate_like_q(struct validate_view *view, int32_t dtype, struct status *why);

/* An array of `elements` without gaps; `data` may be NULL. */
enum aothip_status validate_array(struct validate_view *view, const void *data, int64_t elements,
                                  int64_t bytes, struct status *why);

/* A pointer to elements of `bytes` on the device, whose count is not known here; may be NULL. */
enum aothip_status validate_pointer(const char *name, const void *data, int64_t bytes,
                                    struct status *why);

/* Whether two sizes agree; if not, says so. */
enum aothip_status validate_equal(const struct aothip_tensor *left, const char *left_name,
                                  const struct aothip_tensor *right, const char *right_name,
                                  int axis, struct status *why);

/* Whether two elements of a tensor certainly share an address. */
int validate_overlaps_itself(const struct aothip_tensor *tensor);

/* That nothing written overlaps itself or another view. */
enum aothip_status validate_apart(const struct validate_view *views, int count, struct status *why);

#endif
