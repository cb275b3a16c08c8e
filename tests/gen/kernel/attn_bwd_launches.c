/*
 * What the backward kernels cost: the instructions of fixed problems by the emulator's exact
 * counts, a line for each launch. launches.sh holds the sum of a problem's against images/counts.
 */
#include "aothip/aothip.h"
#include "device.h"
#include "launch_counters.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 19 }; /* of a tensor, in bytes */

enum what { Q, K, V, O, D_O, DQ, DK, DV, BIAS, DBIAS, KEEP, SLOPES, LSE, DELTA, TENSORS };

enum option {
    HAS_BIAS = 1,
    HAS_DBIAS = 2,
    SHARED = 4, /* by all heads: the bias */
    WIDE = 8,   /* in f32: the bias */
    HAS_KEEP = 16,
    HAS_SLOPES = 32,
    CAP = 64,
    DROPOUT = 128,
    ODD = 256, /* rows are one element further apart */
};

struct problem {
    const char *name;
    int heads, heads_k, seq_q, seq_k, dim, mask;
    unsigned options;
    int dtype;
};

static const struct problem problems[] = {
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
    {"d64_f32", 1, 1, 64, 128, 64, 0, 0, AOTHIP_F32},
    {"d64_f32_dbias", 1, 1, 64, 64, 64, 0, HAS_BIAS | HAS_DBIAS, AOTHIP_F32},
};

static struct device_runtime runtime;
static struct aothip_context *context;
static const char counters_file[] = "attn_bwd_launches.json"; /* in the build directory */

static struct aothip_tensor tensor(char *memory, enum what what, int dtype, int heads, int rows,
                                   int columns, int apart)
{
    struct aothip_tensor t = {
        .data = memory + (size_t)what * ROOM,
        .size = {1, heads, rows, columns},
        .dtype = dtype,
    };
    t.stride[3] = 1;
    t.stride[2] = columns + apart;
    t.stride[1] = rows * t.stride[2];
    t.stride[0] = heads * t.stride[1];
    return t;
}

static void add_terms(const struct problem *p, char *memory, struct aothip_attn_fwd_params *f,
                      struct aothip_attn_bwd_params *b)
{
    const int type = p->options & WIDE ? AOTHIP_F32 : p->dtype;
    const int heads = p->options & SHARED ? 1 : p->heads;

    if (p->options & HAS_BIAS)
        f->bias = tensor(memory, BIAS, type, heads, p->seq_q, p->seq_k, 0);
    if (p->options & HAS_DBIAS)
        b->dbias = tensor(memory, DBIAS, type, heads, p->seq_q, p->seq_k, 0);
    if (p->options & HAS_KEEP)
        f->keep = tensor(memory, KEEP, AOTHIP_BOOL, p->heads, p->seq_q, p->seq_k, 0);
    if (p->options & HAS_SLOPES)
        f->alibi_slopes = (const float *)(memory + (size_t)SLOPES * ROOM);
    f->softcap = p->options & CAP ? 30 : 0;
    f->dropout_p = p->options & DROPOUT ? 0.1f : 0;
}

static bool launch(const struct device *device, const struct problem *p, char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &f};
    struct aothip_tensor *const rows[] = {&f.q,   &f.k,  &f.v,  &f.o,
                                          &b.d_o, &b.dq, &b.dk, &b.dv}; /* as enum what */

    for (enum what i = Q; i <= DV; i++) {
        const bool keys = i == K || i == V || i == DK || i == DV;
        *rows[i] = tensor(memory, i, p->dtype, keys ? p->heads_k : p->heads,
                          keys ? p->seq_k : p->seq_q, p->dim, p->options & ODD ? 1 : 0);
    }
    add_terms(p, memory, &f, &b);
    f.lse = (float *)(memory + (size_t)LSE * ROOM);
    b.delta = (float *)(memory + (size_t)DELTA * ROOM);
    if (aothip_attn_bwd(context, &b, device->stream)) {
        fprintf(stderr, "%s: %s\n", p->name, aothip_last_error());
        return false;
    }
    return true;
}

/* A line for each launch of each problem. */
static bool count_all(const struct device *device, char *memory, size_t *seen)
{
    struct status why = {0};

    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        struct launch_counters l;
        const char *at;
        size_t number = 0;

        if (!launch(device, &problems[i], memory))
            return false;
        if (device_finish(device, &why)) {
            fprintf(stderr, "%s: %s\n", problems[i].name, why.text);
            return false;
        }
        for (at = launch_counters_read(counters_file); launch_counters_next(&at, &l); number++)
            if (number >= *seen)
                printf("%-8s %-20s %-48s %9lld\n", l.target, problems[i].name, l.kernel,
                       l.instructions);
        if (number < *seen + 3) { /* delta, dk and dv, dq at least */
            fprintf(stderr, "%s: not counted\n", problems[i].name);
            return false;
        }
        *seen = number;
    }
    return true;
}

/* What the tensors hold: zeros, a mask of ones, slopes. */
static char *fill(void)
{
    char *host = calloc(TENSORS, ROOM);
    float *slopes;

    if (!host)
        abort();
    memset(host + (size_t)KEEP * ROOM, 1, ROOM);
    slopes = (float *)(host + (size_t)SLOPES * ROOM);
    for (int i = 0; i < 16; i++)
        slopes[i] = 0.25f;
    return host;
}

int main(void)
{
    struct status why = {0};
    char *host = fill();
    size_t seen = 0;
    bool good = true;

    setenv("AOTHIP_EMU_COUNTERS", counters_file, 1);
    remove(counters_file);
    if (device_emulate("gfx90a,gfx942,gfx1100,gfx1151", &why) ||
        device_open_runtime(&runtime, &why) || aothip_open(NULL, &context)) {
        fprintf(stderr, "%s\n", why.code ? why.text : aothip_last_error());
        return 1;
    }
    for (int i = 0; i < runtime.count && good; i++) {
        struct device device;
        void *memory = NULL;

        if (aothip_check_device(context, i) == AOTHIP_E_NO_IMAGES)
            continue;
        good = !device_open(&runtime, i, &device, &why) &&
               !device_alloc(&device, (size_t)TENSORS * ROOM, &memory, &why) &&
               !device_upload(&device, memory, host, (size_t)TENSORS * ROOM, &why);
        if (!good)
            fprintf(stderr, "%s\n", why.text);
        good = good && count_all(&device, memory, &seen);
        device_free(&device, memory);
        device_close(&device);
    }
    aothip_close(context);
    remove(counters_file);
    free(host);
    return !good;
}
