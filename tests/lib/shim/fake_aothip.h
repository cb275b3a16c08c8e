/*
 * A C API that computes nothing and remembers what it was called with, and the few HIP functions
 * that the C++ names call beside it: with these, the translation of arguments can be looked at.
 */
#ifndef AOTHIP_FAKE_AOTHIP_H
#define AOTHIP_FAKE_AOTHIP_H

#include <aothip/aothip.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_aothip {
    int fwd_calls, bwd_calls, probs_calls; /* since the last reset */
    struct aothip_attn_fwd_params fwd;     /* of the last call, also of those of bwd and probs */
    struct aothip_attn_bwd_params bwd;
    void *stream;
    enum aothip_status status; /* what the next calls return */
    size_t workspace_bytes;    /* what aothip_attn_bwd_workspace() says */
    size_t fwd_workspace_bytes;
    int no_launches; /* aothip_attn_fwd() fails, whatever `status` */
    char error[512];
    int no_pools; /* hipMallocAsync() fails */
    int pool_allocations, pool_frees, allocations, frees;
    int copies, waits;
    uint64_t *late, late_value; /* what work on the stream stores, done once it is waited for */
    int capturing;              /* a stream that cannot be waited for */
    int spoilt;                 /* calls that make its capture void */
    int errors_taken;           /* by hipGetLastError() */
};
extern struct fake_aothip fake_aothip;

void fake_aothip_reset(void);

#ifdef __cplusplus
}
#endif
#endif
