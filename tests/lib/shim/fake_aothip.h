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
    int capturing;              /* number of a stream's capture; it cannot be waited for */
    int spoilt;                 /* calls that make a capture void, this one or another thread's */
    int errors_taken;           /* by hipGetLastError() */
    int device;                 /* the current one */
    int no_memory;              /* hipMalloc() fails */
    int no_objects, no_graphs;  /* so do hipUserObjectCreate(), hipGraphRetainUserObject() */
    int no_returns;             /* and hipFreeAsync() */
    void (*within)(void);       /* called by the next aothip_attn_fwd() */
};
extern struct fake_aothip fake_aothip;

void fake_aothip_reset(void);

/* Destroys the graphs of all captures so far: destructors of what they held are called. */
void fake_aothip_destroy_graphs(void);

#ifdef __cplusplus
}
#endif
#endif
