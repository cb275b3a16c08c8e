/*
 * Problems for tests of the kernels, made from a few words and random numbers of a fixed seed; run
 * on the emulated GPUs and judged by the reference.
 */
#ifndef AOTHIP_PROBLEM_MAKER_H
#define AOTHIP_PROBLEM_MAKER_H

#include "aothip/aothip.h"
#include "attn.h"
#include "device.h"
#include "each_gpu.h"
#include "ref.h"
#include "tap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAKER_MEMORIES = 40 };

/* Pointers in the params are to host memory; `memory` is what maker_free() frees. */
struct maker {
    struct aothip_attn_fwd_params p;
    void *memory[MAKER_MEMORIES];
    int count;
    bool odd; /* data at odd elements, rows three elements further apart */
};

static uint64_t maker_seed;

static inline double maker_uniform(void) /* [-1, 1) */
{
    maker_seed = maker_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(maker_seed >> 11) * 0x1p-52 - 1;
}

static inline void *maker_memory(struct maker *m, size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory || m->count == MAKER_MEMORIES)
        abort();
    m->memory[m->count++] = memory;
    return memset(memory, REF_POISON, bytes);
}

static inline void maker_free(struct maker *m)
{
    while (m->count)
        free(m->memory[--m->count]);
}

static inline size_t maker_size(int dtype)
{
    return ref_dtype_size(dtype);
}

/* (a, b, c, d), poisoned. */
static inline struct aothip_tensor maker_blank(struct maker *m, int dtype, int64_t a, int64_t b,
                                               int64_t c, int64_t d)
{
    const int64_t row = d + (m->odd ? 3 : 0), odd = m->odd;
    struct aothip_tensor t = {
        .size = {a, b, c, d}, .stride = {b * c * row, c * row, row, 1}, .dtype = dtype};
    t.data = (char *)maker_memory(m, (size_t)(a * b * c * row + odd) * maker_size(dtype)) +
             (size_t)odd * maker_size(dtype);
    return t;
}

/* The same, filled with random numbers in [-1, 1); a boolean one is true three times in four. */
static inline struct aothip_tensor maker_tensor(struct maker *m, int dtype, int64_t a, int64_t b,
                                                int64_t c, int64_t d)
{
    struct aothip_tensor t = maker_blank(m, dtype, a, b, c, d);
    const int64_t rows = a * b * c;

    for (int64_t i = 0; i < rows * d; i++) {
        int64_t at = i / d * t.stride[2] + i % d;
        if (dtype == AOTHIP_BOOL)
            ((char *)t.data)[at] = maker_uniform() < 0.5;
        else
            ref_store(t.data, at, dtype, maker_uniform());
    }
    return t;
}

static inline int32_t *maker_ints(struct maker *m, const int *values, int count)
{
    int32_t *x = maker_memory(m, (size_t)count * sizeof(*x));
    for (int i = 0; i < count; i++)
        x[i] = values[i];
    return x;
}

static inline float *maker_floats(struct maker *m, int count)
{
    float *x = maker_memory(m, (size_t)count * sizeof(*x));
    for (int i = 0; i < count; i++)
        x[i] = (float)maker_uniform();
    return x;
}

struct maker_shape {
    int batch, heads_q, heads_k, seq_q, seq_k, dim_qk, dim_v;
};

/* Dense q, k, v, o and lse. */
static inline void maker_begin(struct maker *m, int dtype, struct maker_shape s)
{
    m->p.struct_size = sizeof(m->p);
    m->p.q = maker_tensor(m, dtype, s.batch, s.heads_q, s.seq_q, s.dim_qk);
    m->p.k = maker_tensor(m, dtype, s.batch, s.heads_k, s.seq_k, s.dim_qk);
    m->p.v = maker_tensor(m, dtype, s.batch, s.heads_k, s.seq_k, s.dim_v);
    m->p.o = maker_blank(m, dtype, s.batch, s.heads_q, s.seq_q, s.dim_v);
    m->p.lse = maker_memory(m, (size_t)(s.batch * s.heads_q * s.seq_q) * sizeof(float));
    m->p.scale = 0.5F;
}

/* K and V in pages, in no order; every sequence has `columns` of them. */
static inline void maker_page(struct maker *m, int sequences, int columns, int rows)
{
    const int pages = sequences * columns + 1;
    const struct aothip_tensor k = m->p.k, v = m->p.v;
    int32_t *table = maker_memory(m, (size_t)(sequences * columns) * sizeof(*table));

    m->p.k = maker_tensor(m, k.dtype, pages, k.size[1], rows, k.size[3]);
    m->p.v = maker_tensor(m, v.dtype, pages, v.size[1], rows, v.size[3]);
    for (int i = 0; i < sequences * columns; i++)
        table[i] = (i * 7 + 3) % pages; /* 7 and the number of pages must be coprime */
    m->p.block_table = table;
    m->p.block_table_stride = m->p.block_table_columns = columns;
}

static inline bool maker_report(const char *name, const char *what, struct ref_verdict v)
{
    if (!v.wrong)
        return true;
    tap_diag("%s: %s: %lld wrong, worst (%lld, %lld, %lld, %lld) is %g not %g, error %g of %g",
             name, what, (long long)v.wrong, (long long)v.at[0], (long long)v.at[1],
             (long long)v.at[2], (long long)v.at[3], v.got, v.expected, v.error, v.allowed);
    return false;
}

/* Runs attention, judges o and lse. `name` is the case's. */
static inline bool maker_check(const struct device *device, struct aothip_context *context,
                               struct maker *m, const char *name)
{
    struct status why = {0};
    struct ref_fwd answer;
    bool good;

    /* The reference first, for the caches may grow. */
    if (ref_attn_fwd(&m->p, ref_subnormals_of(device->properties.target), &answer))
        abort();
    good = !attn_fwd(device, context, &m->p, &why);
    if (!good)
        tap_diag("%s: %s", name, why.text);
    good = good && maker_report(name, "o", ref_judge_o(&answer, &m->p.o)) &&
           (!m->p.lse || maker_report(name, "lse", ref_judge_lse(&answer, m->p.lse)));
    if (good && (ref_strays_o(&answer, &m->p.o) ||
                 (m->p.lse && ref_strays_lse(&answer, m->p.lse, ref_lse_count(&m->p))))) {
        tap_diag("%s: rows of no sequence were written", name);
        good = false;
    }
    ref_free(&answer);
    return good;
}

struct maker_call {
    void (*test)(const struct device *device, struct aothip_context *context, int dtype);
};

static inline int maker_visit(const struct device *device, struct aothip_context *context,
                              void *with)
{
    static const char *const names[] = {"", "f32", "f16", "bf16"};
    const struct maker_call *call = with;

    for (int dtype = AOTHIP_F32; dtype <= AOTHIP_BF16; dtype++) {
        maker_seed = (uint64_t)(device->number * 4 + dtype);
        tap_diag("%s %s, seed %llu", device->properties.target, names[dtype],
                 (unsigned long long)maker_seed);
        call->test(device, context, dtype);
    }
    return 0;
}

/* Calls `test` with every emulated GPU that has images, with sanitizers every fourth one, and every
 * type. Returns main()'s result. */
static inline int maker_main(void (*test)(const struct device *device,
                                          struct aothip_context *context, int dtype),
                             const char *mode)
{
    struct maker_call call = {test};
    int result;

    setenv("AOTHIP_EMU_MODE", mode, 1);
    result = each_gpu(gpus_asked(GPUS_REFERENCE), TAP_SANITIZED ? 4 : 1, maker_visit, &call);
    return result ? result : tap_done();
}

#endif
