/* A sound problem for aothip_attn_fwd() at made-up addresses; no GPU memory stands behind it. */
#ifndef AOTHIP_FAKE_PROBLEM_H
#define AOTHIP_FAKE_PROBLEM_H

#include <stdint.h>

#include "aothip/aothip.h"

/* A packed BHSD tensor at `address`. */
__attribute__((unused)) static struct aothip_tensor
problem_tensor(uint64_t address, int64_t batch, int64_t heads, int64_t seq, int64_t dim)
{
    return (struct aothip_tensor){(void *)(uintptr_t)address,
                                  {batch, heads, seq, dim},
                                  {heads * seq * dim, seq * dim, dim, 1},
                                  AOTHIP_F16};
}

/* Batch 2, 8 query and 2 key heads, 100 queries, 300 keys, head dim 64; lse is written. */
__attribute__((unused)) static struct aothip_attn_fwd_params problem_make(void)
{
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p)};
    p.q = problem_tensor(0x10000000, 2, 8, 100, 64);
    p.k = problem_tensor(0x20000000, 2, 2, 300, 64);
    p.v = problem_tensor(0x30000000, 2, 2, 300, 64);
    p.o = problem_tensor(0x40000000, 2, 8, 100, 64);
    p.lse = (float *)(uintptr_t)0x50000000;
    p.scale = 0.125f;
    return p;
}

#endif
