/* Attention on tensors in host memory: copied to a device, computed there, copied back. */
#ifndef AOTHIP_ATTN_H
#define AOTHIP_ATTN_H

#include "device.h"

/* How the four dimensions of a tensor follow each other in memory, the slowest first. */
enum attn_layout {
    ATTN_BHSD,
    ATTN_BSHD,
    ATTN_QKV /* (batch, sequence, 3, head, channel): q, k and v are parts of one tensor */
};

/* A view of `size` (batch, head, sequence, channel) on `data`, which lies as `layout` says. */
struct aothip_tensor attn_view(enum attn_layout layout, void *data, int dtype,
                               const int64_t size[4]);

/* From the first to the last element, in elements; what lies between rows is counted. */
size_t attn_span(const struct aothip_tensor *tensor);

/*
 * aothip_attn_fwd() with host pointers in *params. Each tensor's span goes to the device and those
 * of o and lse come back, so that elements the kernel must not touch can be looked at. The bytes
 * after o and lse on the device are guarded; a kernel that writes there fails with AOTHIP_E_HIP.
 */
enum aothip_status attn_fwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_fwd_params *params, struct status *why);

#endif
