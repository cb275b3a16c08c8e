/*
 * What the forward kernels cost: the instructions of fixed problems by the emulator's exact counts,
 * a line for each launch. launches.sh holds them against images/counts.
 */
#include "launch_walk.h"

#include <stdint.h>
#include <string.h>

enum {
    ROOM = 1 << 20, /* of a tensor, in bytes */
    TENSORS = 8,    /* q, k, v, o, bias, keep, slopes and sinks, workspace */
    PAGE = 64,
    SMALL_PAGE = 16,
};

enum option {
    BIAS = 1,
    BIAS_F32 = 2,
    KEEP = 4,
    PADDING = 8, /* the mask is the same for all queries */
    SLOPES = 16,
    CAP = 32,
    SINKS = 64,
    DROPOUT = 128,
    PAGES = 256,
    ODD = 512, /* rows are one element further apart */
    SMALL_PAGES = 1024,
    FP8 = 2048, /* k and v of the GPU's e4m3, or of OCP's; with ALL_FP8 q, too, where it has one */
    ALL_FP8 = 4096,
    NARROW = 8192, /* 128 channels of v */
};

static const struct launch_problem problems[] = {
    {"d64", 1, 1, 256, 512, 64, 0, 0, AOTHIP_F16},
    {"d128", 1, 1, 256, 512, 128, 0, 0, AOTHIP_F16},
    {"d128_bf16", 1, 1, 256, 512, 128, 0, 0, AOTHIP_BF16},
    {"d64_causal", 1, 1, 256, 256, 64, 1, 0, AOTHIP_F16},
    {"d128_causal", 1, 1, 256, 256, 128, 1, 0, AOTHIP_F16},
    {"d64_bias", 1, 1, 256, 512, 64, 0, BIAS, AOTHIP_F16},
    {"d128_bias", 1, 1, 256, 512, 128, 0, BIAS, AOTHIP_F16},
    {"d128_bias_bf16", 1, 1, 256, 512, 128, 0, BIAS, AOTHIP_BF16},
    {"d128_bias_f32", 1, 1, 256, 512, 128, 0, BIAS | BIAS_F32, AOTHIP_F16},
    {"d64_keep", 1, 1, 256, 512, 64, 0, KEEP, AOTHIP_F16},
    {"d128_keep", 1, 1, 256, 512, 128, 0, KEEP, AOTHIP_F16},
    {"d64_padding", 1, 1, 256, 512, 64, 0, KEEP | PADDING, AOTHIP_F16},
    {"d128_padding", 1, 1, 256, 512, 128, 0, KEEP | PADDING, AOTHIP_F16},
    {"d64_slopes", 1, 1, 256, 512, 64, 0, SLOPES, AOTHIP_F16},
    {"d64_cap", 1, 1, 256, 512, 64, 0, CAP, AOTHIP_F16},
    {"d128_slopes", 1, 1, 256, 512, 128, 0, SLOPES, AOTHIP_F16},
    {"d128_cap", 1, 1, 256, 512, 128, 0, CAP, AOTHIP_F16},
    {"d128_sinks", 1, 1, 256, 512, 128, 0, SINKS, AOTHIP_F16},
    {"d64_dropout", 1, 1, 256, 512, 64, 0, DROPOUT, AOTHIP_F16},
    {"d128_dropout", 1, 1, 256, 512, 128, 0, DROPOUT, AOTHIP_F16},
    {"d128_bias_causal", 1, 1, 256, 256, 128, 1, BIAS, AOTHIP_F16},
    {"d128_bias_77_keys", 1, 1, 256, 77, 128, 0, BIAS, AOTHIP_F16},
    {"d128_pages", 1, 1, 256, 512, 128, 0, PAGES, AOTHIP_F16},
    {"d128_pages_16", 1, 1, 256, 512, 128, 0, SMALL_PAGES, AOTHIP_F16},
    {"d128_pages_bf16", 1, 1, 256, 512, 128, 0, PAGES, AOTHIP_BF16},
    {"d128_pages_causal", 1, 1, 256, 256, 128, 1, PAGES, AOTHIP_F16},
    {"d128_pages_cap", 1, 1, 256, 512, 128, 0, PAGES | CAP, AOTHIP_F16},
    {"d128_pages_slopes", 1, 1, 256, 512, 128, 0, PAGES | SLOPES, AOTHIP_F16},
    {"d64_pages", 1, 1, 256, 512, 64, 0, PAGES, AOTHIP_F16},
    {"d64_pages_16", 1, 1, 256, 512, 64, 0, SMALL_PAGES, AOTHIP_F16},
    {"d64_pages_bias", 1, 1, 256, 512, 64, 0, PAGES | BIAS, AOTHIP_F16},
    {"d128_odd", 1, 1, 256, 512, 128, 0, ODD, AOTHIP_F16},
    {"d128_odd_bias", 1, 1, 256, 512, 128, 0, ODD | BIAS, AOTHIP_F16},
    {"d100", 1, 1, 256, 512, 100, 0, 0, AOTHIP_F16},
    {"d63", 1, 1, 256, 512, 63, 0, 0, AOTHIP_F16},
    {"d32", 1, 1, 256, 512, 32, 0, 0, AOTHIP_F16},
    {"d72", 1, 1, 256, 512, 72, 0, 0, AOTHIP_F16},
    {"d80", 1, 1, 256, 512, 80, 0, 0, AOTHIP_F16},
    {"d96", 1, 1, 256, 512, 96, 0, 0, AOTHIP_F16},
    {"d96_bf16", 1, 1, 256, 512, 96, 0, 0, AOTHIP_BF16},
    {"d192", 1, 1, 128, 256, 192, 0, 0, AOTHIP_F16},
    {"d192x128", 1, 1, 256, 512, 192, 0, NARROW, AOTHIP_F16},
    {"d192x128_bf16", 1, 1, 256, 512, 192, 0, NARROW, AOTHIP_BF16},
    {"d256", 1, 1, 128, 256, 256, 0, 0, AOTHIP_F16},
    {"d256_bf16", 1, 1, 128, 256, 256, 0, 0, AOTHIP_BF16},
    {"d256_bias", 1, 1, 128, 256, 256, 0, BIAS, AOTHIP_F16},
    {"d256_keep", 1, 1, 128, 256, 256, 0, KEEP, AOTHIP_F16},
    {"d256_padding", 1, 1, 128, 256, 256, 0, KEEP | PADDING, AOTHIP_F16},
    {"d256_slopes", 1, 1, 128, 256, 256, 0, SLOPES, AOTHIP_F16},
    {"d256_cap", 1, 1, 128, 256, 256, 0, CAP, AOTHIP_F16},
    {"d256_cap_bf16", 1, 1, 128, 256, 256, 0, CAP, AOTHIP_BF16},
    {"d256_dropout", 1, 1, 128, 256, 256, 0, DROPOUT, AOTHIP_F16},
    {"d256_odd", 1, 1, 128, 256, 256, 0, ODD, AOTHIP_F16},
    {"d256_pages", 1, 1, 128, 256, 256, 0, PAGES, AOTHIP_F16},
    {"d256_pages_cap", 1, 1, 128, 256, 256, 0, PAGES | CAP, AOTHIP_F16},
    {"d512", 1, 1, 128, 128, 512, 0, 0, AOTHIP_F16},
    {"d512_bias", 1, 1, 128, 128, 512, 0, BIAS, AOTHIP_F16},
    {"d512_pages", 1, 1, 128, 128, 512, 0, PAGES, AOTHIP_F16},
    {"d64_77_keys", 1, 1, 256, 77, 64, 0, 0, AOTHIP_F16},
    {"d64_1_query", 2, 2, 1, 512, 64, 0, 0, AOTHIP_F16},
    {"d128_16_queries", 4, 1, 16, 512, 128, 0, 0, AOTHIP_F16},
    {"d128_kv_fp8", 1, 1, 256, 512, 128, 0, FP8, AOTHIP_BF16},
    {"d128_kv_fp8_cap", 1, 1, 256, 512, 128, 0, FP8 | CAP, AOTHIP_BF16},
    {"d256_kv_fp8", 1, 1, 128, 256, 256, 0, FP8, AOTHIP_BF16},
    {"d256_kv_fp8_cap", 1, 1, 128, 256, 256, 0, FP8 | CAP, AOTHIP_BF16},
    {"d256_fp8", 1, 1, 128, 256, 256, 0, FP8 | ALL_FP8, AOTHIP_BF16},
    {"d64_fp8", 1, 1, 256, 512, 64, 0, FP8 | ALL_FP8, AOTHIP_BF16},
    {"d128_fp8", 1, 1, 256, 512, 128, 0, FP8 | ALL_FP8, AOTHIP_BF16},
    {"d128_fp8_causal", 1, 1, 256, 256, 128, 1, FP8 | ALL_FP8, AOTHIP_BF16},
    {"d128_fp8_pages", 1, 1, 256, 512, 128, 0, FP8 | ALL_FP8 | PAGES, AOTHIP_BF16},
    {"d64_f32", 1, 1, 128, 128, 64, 0, 0, AOTHIP_F32},
};

/* The keys of the one sequence and head in pages of `rows`. */
static void page(struct aothip_attn_fwd_params *f, int rows, char *memory)
{
    const int pages = (int)f->k.size[2] / rows;

    f->k.size[0] = f->v.size[0] = pages;
    f->k.size[2] = f->v.size[2] = rows;
    f->k.stride[1] = f->k.stride[0] = f->v.stride[1] = f->v.stride[0] = rows * f->k.stride[2];
    f->block_table = (const int32_t *)(memory + (size_t)6 * ROOM + 4096);
    f->block_table_columns = pages;
    f->block_table_stride = pages;
}

static bool launch(const struct device *device, struct aothip_context *context,
                   const struct launch_problem *p, char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};
    const int apart = p->options & ODD ? 1 : 0, own = gpus_fp8(device->properties.target);
    const int kv = p->options & FP8 ? (own ? own : AOTHIP_FP8_E4M3) : p->dtype;
    const int q = p->options & ALL_FP8 ? kv : p->dtype;
    const int dim_v = p->options & NARROW ? 128 : p->dim;

    f.q = launch_tensor(memory + (size_t)0 * ROOM, q, p->heads, p->seq_q, p->dim, apart);
    f.k = launch_tensor(memory + (size_t)1 * ROOM, kv, p->heads_k, p->seq_k, p->dim, apart);
    f.v = launch_tensor(memory + (size_t)2 * ROOM, kv, p->heads_k, p->seq_k, dim_v, apart);
    f.o = launch_tensor(memory + (size_t)3 * ROOM, p->dtype, p->heads, p->seq_q, dim_v, apart);
    if (p->options & BIAS)
        f.bias =
            launch_tensor(memory + (size_t)4 * ROOM, p->options & BIAS_F32 ? AOTHIP_F32 : p->dtype,
                          p->heads, p->seq_q, p->seq_k, 0);
    if (p->options & KEEP)
        f.keep = launch_tensor(memory + (size_t)5 * ROOM, AOTHIP_BOOL, p->heads,
                               p->options & PADDING ? 1 : p->seq_q, p->seq_k, 0);
    if (p->options & SLOPES)
        f.alibi_slopes = (const float *)(memory + (size_t)6 * ROOM);
    if (p->options & SINKS)
        f.sinks = (const float *)(memory + (size_t)6 * ROOM);
    f.softcap = p->options & CAP ? 30 : 0;
    f.dropout_p = p->options & DROPOUT ? 0.1f : 0;
    if (p->options & (PAGES | SMALL_PAGES))
        page(&f, p->options & PAGES ? PAGE : SMALL_PAGE, memory);
    return !aothip_attn_fwd(context, &f, device->stream);
}

static bool has(const char *target, const struct launch_problem *p)
{
    return !(p->options & ALL_FP8) || gpus_fp8(target);
}

/* What the tensors hold: zeros, a mask of ones, slopes. */
static void fill(char *host)
{
    float *slopes = (float *)(host + (size_t)6 * ROOM);
    int32_t *table = (int32_t *)(host + (size_t)6 * ROOM + 4096);

    memset(host + (size_t)5 * ROOM, 1, ROOM);
    for (int i = 0; i < 16; i++)
        slopes[i] = 0.25f;
    for (int i = 0; i < 64; i++)
        table[i] = i;
}

int main(void)
{
    struct launch_walk w = {
        .counters_file = "attn_fwd_launches.json",
        .bytes = (size_t)TENSORS * ROOM,
        .fill = fill,
        .problems = problems,
        .count = sizeof(problems) / sizeof(*problems),
        .least = 1,
        .has = has,
        .launch = launch,
    };
    return launch_walk(&w);
}
