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
 * In these three every pointer in *params is to host memory. Each tensor's span and each array goes
 * to the device, where its address is congruent to the host's modulo 16; the spans of what is
 * written (o, lse, probs, caches that grow, gradients, ...) come back, so that elements which must
 * not be touched can be looked at. Behind what is written stands a guard; a kernel that writes
 * there fails with AOTHIP_E_HIP. On the emulator allocations end where their contents end, so that
 * it reports the first byte read or written beyond.
 *
 * The workspace is as large as the library asks for, or params->workspace_size bytes if that is
 * not 0; it is filled with NaN. params->workspace is not looked at.
 */
enum aothip_status attn_fwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_fwd_params *params, struct status *why);
enum aothip_status attn_bwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_bwd_params *params, struct status *why);
enum aothip_status attn_probs(const struct device *device, struct aothip_context *context,
                              const struct aothip_attn_fwd_params *params, struct status *why);

/* Likewise of a merge, which has no workspace. */
enum aothip_status attn_merge(const struct device *device, struct aothip_context *context,
                              const struct aothip_attn_merge_params *params, struct status *why);

/* The same in steps, for callers that launch more than once. */

enum { ATTN_BUFFERS_MAX = 40 };

struct attn_buffer {
    const char *name;
    void *host, *base; /* base: of the allocation on the device */
    size_t bytes, shift, guard;
    int written;
};

enum attn_kind { ATTN_FWD, ATTN_BWD, ATTN_PROBS, ATTN_MERGE };

/* A problem on the device; the params have device pointers. */
struct attn_call {
    enum attn_kind kind;
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd; /* ATTN_BWD: bwd.fwd is &fwd, so this struct must not move */
    struct aothip_attn_merge_params merge; /* ATTN_MERGE, which has none of the above */
    struct attn_buffer buffers[ATTN_BUFFERS_MAX];
    int count;
    void *workspace;
};

/* Copies to the device. After a failure nothing is left there. */
enum aothip_status attn_upload_fwd(const struct device *device, struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *params, enum attn_kind kind,
                                   struct attn_call *call, struct status *why);
enum aothip_status attn_upload_bwd(const struct device *device, struct aothip_context *context,
                                   const struct aothip_attn_bwd_params *params,
                                   struct attn_call *call, struct status *why);
/* Launches on the device's stream and does not wait. */
enum aothip_status attn_launch(const struct device *device, struct aothip_context *context,
                               const struct attn_call *call, struct status *why);
/* Waits, looks at the guards, copies back. */
enum aothip_status attn_download(const struct device *device, const struct attn_call *call,
                                 struct status *why);
void attn_release(const struct device *device, struct attn_call *call);

#endif
