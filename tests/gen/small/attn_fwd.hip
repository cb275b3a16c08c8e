/*
 * A small kernel for the tests of the generator: right in form, quick to compile. Flags ask for
 * what a build must refuse: -DTEST_SPILL, -DTEST_SCRATCH, -DTEST_REGISTERS, -DTEST_BROKEN,
 * -DTEST_ARGUMENT, -DTEST_THREADS, -DTEST_NAME.
 */
#include "kernarg.h"
#include "test_step.h"

#ifdef TEST_BROKEN
#error "this kernel does not compile"
#endif

#ifdef TEST_THREADS
#define THREADS 64
#else
#define THREADS KERNEL_THREADS
#endif

#ifdef TEST_SPILL
#define WAVES_PER_EU 8
#else
#define WAVES_PER_EU 1
#endif

#ifdef TEST_NAME
#define SYMBOL other_name
#else
#define SYMBOL KERNEL_SYMBOL
#endif

/* More live values than there are registers for WAVES_PER_EU waves. */
static __attribute__((device)) float many(const float *q, int n)
{
#if defined(TEST_SPILL) || defined(TEST_REGISTERS)
    float value[200], sum = 0;
#pragma unroll
    for (int i = 0; i < 200; i++)
        value[i] = q[i * n];
    __builtin_amdgcn_s_barrier();
    asm volatile("" ::: "memory");
#pragma unroll
    for (int i = 0; i < 200; i++)
        asm volatile("" : "+v"(value[i]));
#pragma unroll
    for (int i = 0; i < 200; i++)
        sum = sum * 0.5f + value[i];
    return test_step(sum);
#elif defined(TEST_SCRATCH)
    volatile float value[64];
    for (int i = 0; i < 64; i++)
        value[i] = q[i];
    return test_step(value[n & 63]);
#else
    return test_step(q[n]);
#endif
}

extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))
__attribute__((amdgpu_waves_per_eu(WAVES_PER_EU, WAVES_PER_EU))) void
#ifdef TEST_ARGUMENT
SYMBOL(struct attn_fwd_args a, int)
#else
SYMBOL(struct attn_fwd_args a)
#endif
{
    int lane = __builtin_amdgcn_workitem_id_x();
    ((float *)a.o)[lane] = many((const float *)a.problem.q, lane) * a.problem.scale * KERNEL_DIM;
}
