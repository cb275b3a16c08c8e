/* The variants of a shape that a table of all features shows. */
#include "variants.h"

#include <stdio.h>

/* Who differs, and how: from the plain shape on, one thing at a time. */
static const struct variant {
    const char *words;
    int mask, feature, dtype, kv, dim, heads_part, bshd;
} variants[] = {
    {.words = "plain", .mask = -1},
    {.words = "causal, top left", .mask = AOTHIP_MASK_CAUSAL_TOP_LEFT},
    {.words = "causal, bottom right", .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT},
    {.words = "window of 512 keys", .mask = -1, .feature = BENCH_WINDOW},
    {.words = "boolean mask", .mask = -1, .feature = BENCH_KEEP},
    {.words = "bias", .mask = -1, .feature = BENCH_BIAS},
    {.words = "ALiBi", .mask = -1, .feature = BENCH_ALIBI},
    {.words = "soft-cap", .mask = -1, .feature = BENCH_SOFTCAP},
    {.words = "sinks", .mask = -1, .feature = BENCH_SINKS},
    {.words = "dropout", .mask = -1, .feature = BENCH_DROPOUT},
    {.words = "padded sequences", .mask = -1, .feature = BENCH_LENGTHS},
    {.words = "paged keys", .mask = -1, .feature = BENCH_PAGED},
    {.words = "a quarter of the kv heads", .mask = -1, .heads_part = 4},
    {.words = "BSHD layout", .mask = -1, .bshd = 1},
    {.words = "f16", .mask = -1, .dtype = AOTHIP_F16},
    {.words = "bf16", .mask = -1, .dtype = AOTHIP_BF16},
    {.words = "f32", .mask = -1, .dtype = AOTHIP_F32},
    {.words = "k and v of FP8 (e4m3)", .mask = -1, .kv = AOTHIP_FP8_E4M3},
    {.words = "head dim 64", .mask = -1, .dim = 64},
    {.words = "head dim 96", .mask = -1, .dim = 96},
    {.words = "head dim 128", .mask = -1, .dim = 128},
    {.words = "head dim 192", .mask = -1, .dim = 192},
    {.words = "head dim 256", .mask = -1, .dim = 256},
};

/* 0 where it would be the plain shape again, or cannot be. */
static int apply(const struct variant *v, const struct bench_shape *plain, struct bench_shape *s)
{
    char error[BENCH_ERROR_MAX];

    *s = *plain;
    if (v->mask >= 0)
        s->mask = v->mask;
    if (v->feature)
        s->feature = v->feature;
    if (v->dtype)
        s->dtype = v->dtype;
    if (v->dtype && s->kv)
        return 0;
    if (v->kv)
        s->kv = v->kv;
    if (v->dim)
        s->dim = s->dim_v = v->dim;
    if (v->bshd)
        s->bshd = 1;
    if (v->heads_part && plain->heads % v->heads_part == 0)
        s->heads_k = plain->heads / v->heads_part;
    if (s->feature == BENCH_PAGED && s->seq_k % 64)
        return 0;
    if (bench_refuse(s, error))
        return 0;
    return s->kv != plain->kv || s->mask != plain->mask || s->feature != plain->feature ||
           s->dtype != plain->dtype || s->dim != plain->dim || s->dim_v != plain->dim_v ||
           s->heads_k != plain->heads_k || s->bshd != plain->bshd;
}

int bench_variant(const struct bench_shape *plain, int i, struct bench_shape *variant,
                  char words[BENCH_VARIANT_MAX])
{
    enum { VARIANTS = sizeof(variants) / sizeof(*variants) };
    int seen = 0, at;

    for (at = 0; at < VARIANTS; at++) {
        int differs = apply(&variants[at], plain, variant);
        if (at && !differs)
            continue;
        if (seen++ < i)
            continue;
        snprintf(words, BENCH_VARIANT_MAX, "%s", variants[at].words);
        return 1;
    }
    return 0;
}
