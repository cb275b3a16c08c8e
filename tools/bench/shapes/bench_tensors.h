/* The tensors of a shape, in host memory, with the arguments of the call. */
#ifndef AOTHIP_BENCH_TENSORS_H
#define AOTHIP_BENCH_TENSORS_H

#include "workload.h"

enum { BENCH_BLOCKS_MAX = 16 };

struct bench_tensors {
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd; /* refers to fwd, so this struct must not move */
    void *blocks[BENCH_BLOCKS_MAX];
    int count, failed;
};

/* Random values of fixed seed; returns 0, or -1 if memory ran out. Free in either case. */
int bench_tensors_make(const struct bench_shape *shape, struct bench_tensors *tensors);
void bench_tensors_free(struct bench_tensors *tensors);

#endif
