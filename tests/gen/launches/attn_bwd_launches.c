/*
 * What the backward kernels cost: the instructions of fixed problems by the emulator's exact
 * counts, a line for each launch. launches.sh holds the sum of a problem's against images/counts.
 */
#include "launch_walk.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 19, SUMS_ROOMS = 16 }; /* of a tensor, in bytes; of the workspace, in those */

enum what { Q, K, V, O, D_O, DQ, DK, DV, BIAS, DBIAS, KEEP, SLOPES, LSE, DELTA, SUMS, TENSORS };

enum option {
    HAS_BIAS = 1,
    HAS_DBIAS = 2,
    SHARED = 4, /* by all heads: the bias */
    WIDE = 8,   /* in f32: the bias */
    HAS_KEEP = 16,
    HAS_SLOPES = 32,
    CAP = 64,
    DROPOUT = 128,
    ODD = 256,     /* rows are one element further apart */
    ATOMICS = 512, /* the form of atomic sums */
    PARTS = 1024,  /* walks are shared, which atomic sums do not have; both get a workspace */
};

static const struct launch_problem problems[] = {
    {"d64", 1, 1, 128, 256, 64, 0, 0, AOTHIP_F16},
    {"d128", 1, 1, 128, 256, 128, 0, 0, AOTHIP_F16},
    {"d128_bf16", 1, 1, 128, 256, 128, 0, 0, AOTHIP_BF16},
    {"d128_causal", 1, 1, 256, 256, 128, 1, 0, AOTHIP_F16},
    {"d128_group", 4, 1, 64, 256, 128, 0, 0, AOTHIP_F16},
    {"d64_77_keys", 1, 1, 128, 77, 64, 0, 0, AOTHIP_F16},
    {"d64_dbias", 1, 1, 128, 256, 64, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_F16},
    {"d128_dbias", 1, 1, 128, 256, 128, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_F16},
    {"d128_dbias_bf16", 1, 1, 128, 256, 128, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_BF16},
    {"d128_dbias_f32", 1, 1, 128, 256, 128, 0, HAS_BIAS | HAS_DBIAS | WIDE, AOTHIP_F16},
    {"d64_dbias_shared", 2, 2, 128, 256, 64, 0, HAS_BIAS | HAS_DBIAS | SHARED, AOTHIP_F16},
    {"d128_dbias_causal", 1, 1, 256, 256, 128, 1, HAS_BIAS | HAS_DBIAS, AOTHIP_F16},
    {"d64_bias", 1, 1, 128, 256, 64, 0, HAS_BIAS, AOTHIP_F16},
    {"d128_bias", 1, 1, 128, 256, 128, 0, HAS_BIAS, AOTHIP_F16},
    {"d64_keep", 1, 1, 128, 256, 64, 0, HAS_KEEP, AOTHIP_F16},
    {"d128_slopes", 1, 1, 128, 256, 128, 0, HAS_SLOPES, AOTHIP_F16},
    {"d128_cap", 1, 1, 128, 256, 128, 0, CAP, AOTHIP_F16},
    {"d64_dropout", 1, 1, 128, 256, 64, 0, DROPOUT, AOTHIP_F16},
    {"d128_dropout", 1, 1, 128, 256, 128, 0, DROPOUT, AOTHIP_F16},
    {"d96", 1, 1, 128, 256, 96, 0, 0, AOTHIP_F16},
    {"d192", 1, 1, 128, 256, 192, 0, 0, AOTHIP_F16},
    {"d256", 1, 1, 128, 256, 256, 0, 0, AOTHIP_F16},
    {"d256_dbias", 1, 1, 128, 256, 256, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_F16},
    {"d512", 1, 1, 64, 128, 512, 0, 0, AOTHIP_F16},
    {"d64_odd", 1, 1, 128, 128, 64, 0, ODD, AOTHIP_F16},
    {"d64_atomics", 1, 1, 128, 256, 64, 0, ATOMICS, AOTHIP_F16},
    {"d128_atomics", 1, 1, 128, 256, 128, 0, ATOMICS, AOTHIP_F16},
    {"d128_atomics_bf16", 1, 1, 128, 256, 128, 0, ATOMICS, AOTHIP_BF16},
    {"d64_f32", 1, 1, 64, 128, 64, 0, 0, AOTHIP_F32},
    {"d64_f32_dbias", 1, 1, 64, 64, 64, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_F32},
    {"d64_bias_parts", 1, 1, 512, 512, 64, 0, HAS_BIAS | PARTS, AOTHIP_F16},
    {"d64_f32_parts", 1, 1, 256, 512, 64, 0, PARTS, AOTHIP_F32},
};

static void add_terms(const struct launch_problem *p, char *memory,
                      struct aothip_attn_fwd_params *f, struct aothip_attn_bwd_params *b)
{
    const int type = p->options & WIDE ? AOTHIP_F32 : p->dtype;
    const int heads = p->options & SHARED ? 1 : p->heads;

    if (p->options & HAS_BIAS)
        f->bias = launch_tensor(memory + (size_t)BIAS * ROOM, type, heads, p->seq_q, p->seq_k, 0);
    if (p->options & HAS_DBIAS)
        b->dbias = launch_tensor(memory + (size_t)DBIAS * ROOM, type, heads, p->seq_q, p->seq_k, 0);
    if (p->options & HAS_KEEP)
        f->keep = launch_tensor(memory + (size_t)KEEP * ROOM, AOTHIP_BOOL, p->heads, p->seq_q,
                                p->seq_k, 0);
    if (p->options & HAS_SLOPES)
        f->alibi_slopes = (const float *)(memory + (size_t)SLOPES * ROOM);
    f->softcap = p->options & CAP ? 30 : 0;
    f->dropout_p = p->options & DROPOUT ? 0.1f : 0;
}

static bool launch(const struct device *device, struct aothip_context *context,
                   const struct launch_problem *p, char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &f};
    struct aothip_tensor *const rows[] = {&f.q,   &f.k,  &f.v,  &f.o,
                                          &b.d_o, &b.dq, &b.dk, &b.dv}; /* as enum what */

    for (enum what i = Q; i <= DV; i++) {
        const bool keys = i == K || i == V || i == DK || i == DV;
        *rows[i] = launch_tensor(memory + (size_t)i * ROOM, p->dtype, keys ? p->heads_k : p->heads,
                                 keys ? p->seq_k : p->seq_q, p->dim, p->options & ODD ? 1 : 0);
    }
    add_terms(p, memory, &f, &b);
    f.lse = (float *)(memory + (size_t)LSE * ROOM);
    b.delta = (float *)(memory + (size_t)DELTA * ROOM);
    if (p->options & (ATOMICS | PARTS)) {
        b.workspace = memory + (size_t)SUMS * ROOM;
        b.workspace_size = (size_t)(p->options & PARTS ? SUMS_ROOMS : 1) * ROOM;
    }
    return !aothip_attn_bwd(context, &b, device->stream);
}

/* Those of atomic sums are of the GPUs and head dims that have the form. */
static bool has(const char *target, const struct launch_problem *p)
{
    const int most = strncmp(target, "gfx942", 6) == 0   ? 128
                     : strncmp(target, "gfx950", 6) == 0 ? 64
                                                         : 0;
    return !(p->options & ATOMICS) || p->dim <= most;
}

/* What the tensors hold: zeros, a mask of ones, slopes. */
static void fill(char *host)
{
    float *slopes = (float *)(host + (size_t)SLOPES * ROOM);

    memset(host + (size_t)KEEP * ROOM, 1, ROOM);
    for (int i = 0; i < 16; i++)
        slopes[i] = 0.25f;
}

int main(void)
{
    struct launch_walk w = {
        .counters_file = "attn_bwd_launches.json",
        .bytes = (size_t)(SUMS + SUMS_ROOMS) * ROOM,
        .fill = fill,
        .problems = problems,
        .count = sizeof(problems) / sizeof(*problems),
        .least = 3, /* delta, dk and dv, dq */
        .has = has,
        .launch = launch,
    };
    setenv("AOTHIP_ATOMICS", "1", 1); /* of problems of any size */
    return launch_walk(&w);
}
