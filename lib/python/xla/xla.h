/*
 * aothip_xla: attention as custom calls of XLA, for the module aothip.jax. Nothing is linked, not
 * XLA, not HIP, not the library: aothip_xla_setup() gets the addresses of its functions.
 *
 * Arguments, dense: q (batch, seq_q, heads_q, dim_qk), k, v (batch, seq_k, heads_k, ...), and those
 * of bias, keep, lengths of queries and of keys (s32, a number a batch entry) that the attribute
 * `given` has the bit of. The backward call has d_o, o and lse before them.
 * Results: o as q, lse F32 (batch, heads_q, seq_q); of the backward call dq, dk, dv, and dbias if
 * there are four. Rows that the lengths leave out are 0.
 * Attributes: given, mask, left, right (s32; mask is enum aothip_mask), scale, softcap (f32).
 */
#ifndef AOTHIP_XLA_H
#define AOTHIP_XLA_H

#include "aothip/aothip.h"
#include "xla_abi.h"

/* Bits of the attribute `given`, in the order of the arguments. */
enum { XLA_GIVEN_BIAS = 1, XLA_GIVEN_KEEP = 2, XLA_GIVEN_Q_LENGTHS = 4, XLA_GIVEN_K_LENGTHS = 8 };

struct aothip_xla_library {
    struct aothip_context *context;
    enum aothip_status (*fwd)(struct aothip_context *, const struct aothip_attn_fwd_params *,
                              void *);
    enum aothip_status (*fwd_workspace)(struct aothip_context *,
                                        const struct aothip_attn_fwd_params *, void *, size_t *);
    enum aothip_status (*bwd)(struct aothip_context *, const struct aothip_attn_bwd_params *,
                              void *);
    enum aothip_status (*bwd_workspace)(struct aothip_context *,
                                        const struct aothip_attn_bwd_params *, void *, size_t *);
    void *(*hip_function)(struct aothip_context *, const char *);
    const char *(*last_error)(void);
    int minor; /* of the interface that the XLA of this process has: 0.minor */
};

/* Once, before any call. */
AOTHIP_API void aothip_xla_setup(const struct aothip_xla_library *library);

/* The handlers. Buffers of the _host ones are in host memory: copied to the current device and
 * back. Those of the others are on the GPU, whose stream XLA gives. NULL, or why they fail. */
AOTHIP_API struct xla_error *aothip_xla_fwd(struct xla_call *call);
AOTHIP_API struct xla_error *aothip_xla_fwd_host(struct xla_call *call);
AOTHIP_API struct xla_error *aothip_xla_bwd(struct xla_call *call);
AOTHIP_API struct xla_error *aothip_xla_bwd_host(struct xla_call *call);

#endif
