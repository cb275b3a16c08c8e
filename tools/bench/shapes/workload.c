/* Shapes of aothip-bench: parsing, presets, work and traffic. */
#include "workload.h"

#include "ref.h"
#include "ref_fp8.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_shape bench_default(void)
{
    return (struct bench_shape){.dtype = AOTHIP_F16,
                                .batch = 1,
                                .heads = 1,
                                .heads_k = 1,
                                .seq_q = 1024,
                                .seq_k = 1024,
                                .dim = 128,
                                .dim_v = 128};
}

/* A number: where it goes, and what follows it unless named itself. */
static const struct number {
    const char *key;
    size_t at, follower;
    int most;
} numbers[] = {
    {"batch", offsetof(struct bench_shape, batch), 0, 1 << 20},
    {"heads", offsetof(struct bench_shape, heads), offsetof(struct bench_shape, heads_k), 1 << 16},
    {"heads_k", offsetof(struct bench_shape, heads_k), 0, 1 << 16},
    {"seq", offsetof(struct bench_shape, seq_q), offsetof(struct bench_shape, seq_k), 1 << 30},
    {"seq_q", offsetof(struct bench_shape, seq_q), offsetof(struct bench_shape, seq_k), 1 << 30},
    {"seq_k", offsetof(struct bench_shape, seq_k), 0, 1 << 30},
    {"dim", offsetof(struct bench_shape, dim), offsetof(struct bench_shape, dim_v), 512},
    {"dim_v", offsetof(struct bench_shape, dim_v), 0, 512},
    {"splits", offsetof(struct bench_shape, splits), 0, 256},
};

/* A word: the value of each of its spellings. */
static const struct word {
    const char *key, *spelling;
    size_t at;
    int value;
} words[] = {
    {"dtype", "f16", offsetof(struct bench_shape, dtype), AOTHIP_F16},
    {"dtype", "bf16", offsetof(struct bench_shape, dtype), AOTHIP_BF16},
    {"dtype", "f32", offsetof(struct bench_shape, dtype), AOTHIP_F32},
    {"dtype", "e4m3", offsetof(struct bench_shape, dtype), AOTHIP_FP8_E4M3},
    {"dtype", "e5m2", offsetof(struct bench_shape, dtype), AOTHIP_FP8_E5M2},
    {"dtype", "e4m3fnuz", offsetof(struct bench_shape, dtype), AOTHIP_FP8_E4M3_FNUZ},
    {"dtype", "e5m2fnuz", offsetof(struct bench_shape, dtype), AOTHIP_FP8_E5M2_FNUZ},
    {"kv", "as_q", offsetof(struct bench_shape, kv), 0},
    {"kv", "e4m3", offsetof(struct bench_shape, kv), AOTHIP_FP8_E4M3},
    {"kv", "e5m2", offsetof(struct bench_shape, kv), AOTHIP_FP8_E5M2},
    {"kv", "e4m3fnuz", offsetof(struct bench_shape, kv), AOTHIP_FP8_E4M3_FNUZ},
    {"kv", "e5m2fnuz", offsetof(struct bench_shape, kv), AOTHIP_FP8_E5M2_FNUZ},
    {"mask", "none", offsetof(struct bench_shape, mask), AOTHIP_MASK_NONE},
    {"mask", "tl", offsetof(struct bench_shape, mask), AOTHIP_MASK_CAUSAL_TOP_LEFT},
    {"mask", "br", offsetof(struct bench_shape, mask), AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT},
    {"layout", "bhsd", offsetof(struct bench_shape, bshd), 0},
    {"layout", "bshd", offsetof(struct bench_shape, bshd), 1},
    {"pass", "fwd", offsetof(struct bench_shape, backward), 0},
    {"pass", "bwd", offsetof(struct bench_shape, backward), 1},
    {"atomics", "0", offsetof(struct bench_shape, atomics), 0},
    {"atomics", "1", offsetof(struct bench_shape, atomics), 1},
    {"with", "none", offsetof(struct bench_shape, feature), BENCH_PLAIN},
    {"with", "window", offsetof(struct bench_shape, feature), BENCH_WINDOW},
    {"with", "keep", offsetof(struct bench_shape, feature), BENCH_KEEP},
    {"with", "bias", offsetof(struct bench_shape, feature), BENCH_BIAS},
    {"with", "alibi", offsetof(struct bench_shape, feature), BENCH_ALIBI},
    {"with", "softcap", offsetof(struct bench_shape, feature), BENCH_SOFTCAP},
    {"with", "sinks", offsetof(struct bench_shape, feature), BENCH_SINKS},
    {"with", "dropout", offsetof(struct bench_shape, feature), BENCH_DROPOUT},
    {"with", "lengths", offsetof(struct bench_shape, feature), BENCH_LENGTHS},
    {"with", "paged", offsetof(struct bench_shape, feature), BENCH_PAGED},
};

enum { NUMBERS = sizeof(numbers) / sizeof(*numbers), WORDS = sizeof(words) / sizeof(*words) };

static int *field(struct bench_shape *shape, size_t at)
{
    return (int *)(void *)((char *)shape + at);
}

static int set_number(const char *key, const char *value, struct bench_shape *shape, int *known,
                      unsigned *named)
{
    char *end;
    long number;
    int i;

    for (i = 0; i < NUMBERS; i++) {
        if (strcmp(numbers[i].key, key))
            continue;
        *known = 1;
        errno = 0;
        number = strtol(value, &end, 10);
        if (end == value || *end || errno || number < 1 || number > numbers[i].most)
            return -1;
        *field(shape, numbers[i].at) = (int)number;
        *named |= 1U << i;
        return 0;
    }
    return -1;
}

/* What was not named takes the number of what it follows, if that was. */
static void follow(struct bench_shape *shape, unsigned named)
{
    int i, j;

    for (i = 0; i < NUMBERS; i++) {
        if (!(named >> i & 1) || !numbers[i].follower)
            continue;
        for (j = 0; j < NUMBERS; j++)
            if (numbers[j].at == numbers[i].follower && !(named >> j & 1))
                *field(shape, numbers[j].at) = *field(shape, numbers[i].at);
    }
}

static int set_word(const char *key, const char *value, struct bench_shape *shape, int *known)
{
    int i;

    for (i = 0; i < WORDS; i++) {
        if (strcmp(words[i].key, key))
            continue;
        *known = 1;
        if (strcmp(words[i].spelling, value))
            continue;
        *field(shape, words[i].at) = words[i].value;
        return 0;
    }
    return -1;
}

static int given_twice(const char *text, const char *key)
{
    const size_t length = strlen(key);
    int times = 0;

    for (const char *item = text; *item; item += strspn(item, ", \t")) {
        times += !strncmp(item, key, length) && item[length] == '=';
        item += strcspn(item, ", \t");
    }
    return times > 1;
}

int bench_refuse(const struct bench_shape *s, char error[BENCH_ERROR_MAX])
{
    const int fp8 = s->kv || fp8_is(s->dtype);

    if (s->feature == BENCH_PAGED && s->backward)
        snprintf(error, BENCH_ERROR_MAX, "with=paged: there is no such backward pass");
    else if (s->splits && s->backward)
        snprintf(error, BENCH_ERROR_MAX, "splits: of the forward pass alone");
    else if (fp8 && s->backward)
        snprintf(error, BENCH_ERROR_MAX, "%s: there is no such backward pass",
                 s->kv ? "kv" : "dtype");
    else if (s->kv && s->dtype != AOTHIP_F16 && s->dtype != AOTHIP_BF16)
        snprintf(error, BENCH_ERROR_MAX, "kv: a type of its own goes with dtype=f16 or bf16");
    else if (s->heads % s->heads_k)
        snprintf(error, BENCH_ERROR_MAX, "heads=%d is no multiple of heads_k=%d", s->heads,
                 s->heads_k);
    else
        return 0;
    return -1;
}

int bench_parse(const char *text, struct bench_shape *shape, char error[BENCH_ERROR_MAX])
{
    char copy[BENCH_TEXT_MAX], *item, *rest = copy;
    unsigned named = 0;

    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy)) {
        snprintf(error, BENCH_ERROR_MAX, "the shape is longer than %d bytes", BENCH_TEXT_MAX - 1);
        return -1;
    }
    while ((item = strsep(&rest, ", \t"))) {
        char *value = strchr(item, '=');
        int known = 0;
        if (!*item)
            continue;
        if (!value) {
            snprintf(error, BENCH_ERROR_MAX, "%s: wanted is key=value", item);
            return -1;
        }
        *value++ = '\0';
        if (given_twice(text, item)) {
            snprintf(error, BENCH_ERROR_MAX, "%s: given twice", item);
            return -1;
        }
        if (!set_number(item, value, shape, &known, &named) ||
            !set_word(item, value, shape, &known))
            continue;
        if (known)
            snprintf(error, BENCH_ERROR_MAX, "%s=%s: no such value", item, value);
        else
            snprintf(error, BENCH_ERROR_MAX, "%s: no such key", item);
        return -1;
    }
    follow(shape, named);
    return bench_refuse(shape, error);
}

static const char *spelling(const char *key, int value)
{
    int i;
    for (i = 0; i < WORDS; i++)
        if (!strcmp(words[i].key, key) && words[i].value == value)
            return words[i].spelling;
    return "?";
}

const char *bench_feature_name(int feature)
{
    return spelling("with", feature);
}

int bench_dtype_kv(const struct bench_shape *s)
{
    return s->kv ? s->kv : s->dtype;
}

int bench_dtype_o(const struct bench_shape *s)
{
    return fp8_is(s->dtype) ? AOTHIP_BF16 : s->dtype;
}

int bench_is_fp8(const struct bench_shape *s)
{
    return fp8_is(bench_dtype_kv(s));
}

const char *bench_dtypes(const struct bench_shape *s, char text[BENCH_DTYPES_MAX])
{
    snprintf(text, BENCH_DTYPES_MAX, "%s%s%s", spelling("dtype", s->dtype), s->kv ? "/" : "",
             s->kv ? spelling("kv", s->kv) : "");
    return text;
}

const char *bench_text(const struct bench_shape *s, char text[BENCH_TEXT_MAX])
{
    snprintf(text, BENCH_TEXT_MAX,
             "batch=%d,heads=%d,heads_k=%d,seq_q=%d,seq_k=%d,dim=%d,dim_v=%d,dtype=%s,mask=%s,"
             "layout=%s,pass=%s%s%s%s%s%s%s%.0d",
             s->batch, s->heads, s->heads_k, s->seq_q, s->seq_k, s->dim, s->dim_v,
             spelling("dtype", s->dtype), spelling("mask", s->mask), spelling("layout", s->bshd),
             spelling("pass", s->backward), s->atomics ? ",atomics=1" : "",
             s->feature ? ",with=" : "", s->feature ? bench_feature_name(s->feature) : "",
             s->kv ? ",kv=" : "", s->kv ? spelling("kv", s->kv) : "", s->splits ? ",splits=" : "",
             s->splits);
    return text;
}

/* 16k tokens a launch, as in the flash-attention papers; a language model's prompt and decoding. */
static const char *const mi300x[] = {
    "batch=16,heads=16,seq=1024,dim=128,dtype=bf16",
    "batch=4,heads=16,seq=4096,dim=128,dtype=bf16",
    "batch=1,heads=16,seq=16384,dim=128,dtype=bf16",
    "batch=4,heads=16,seq=4096,dim=128,dtype=f16",
    "batch=4,heads=16,seq=4096,dim=128,dtype=bf16,mask=tl",
    "batch=1,heads=16,seq=16384,dim=128,dtype=bf16,mask=tl",
    "batch=4,heads=32,seq=4096,dim=64,dtype=bf16",
    "batch=4,heads=32,seq=4096,dim=64,dtype=bf16,mask=tl",
    "batch=2,heads=64,heads_k=8,seq=4096,dim=128,dtype=bf16,mask=br,layout=bshd",
    "batch=64,heads=64,heads_k=8,seq_q=1,seq_k=8192,dim=128,dtype=bf16,mask=br,layout=bshd",
    ("batch=64,heads=64,heads_k=8,seq_q=1,seq_k=8192,dim=128,dtype=bf16,mask=br,layout=bshd,"
     "kv=e4m3fnuz"),
    "batch=2,heads=24,seq=4608,dim=128,dtype=bf16,layout=bshd",
    NULL,
};

/* Image generation, a language model's prompt and decoding, on a GPU of a fortieth of the size. */
static const char *const strix_halo[] = {
    "batch=2,heads=10,seq=4096,dim=64,dtype=f16,layout=bshd",
    "batch=2,heads=20,seq=1024,dim=64,dtype=f16,layout=bshd",
    "batch=2,heads=10,seq_q=4096,seq_k=77,dim=64,dtype=f16,layout=bshd",
    "batch=1,heads=24,seq=4608,dim=128,dtype=bf16,layout=bshd",
    "batch=1,heads=32,heads_k=8,seq=2048,dim=128,dtype=f16,mask=br,layout=bshd",
    "batch=1,heads=32,heads_k=8,seq_q=1,seq_k=4096,dim=128,dtype=f16,mask=br,layout=bshd",
    "batch=1,heads=16,seq=4096,dim=128,dtype=f16",
    "batch=1,heads=16,seq=4096,dim=128,dtype=bf16,mask=tl",
    NULL,
};

const char *const *bench_preset(const char *name)
{
    return !strcmp(name, "mi300x") ? mi300x : !strcmp(name, "strix-halo") ? strix_halo : NULL;
}

static int at_most(int value, int limit)
{
    return value < limit ? value : limit;
}

struct bench_shape bench_cut(const struct bench_shape *shape)
{
    struct bench_shape s = *shape;
    int group = s.heads / s.heads_k;

    s.batch = 1;
    s.heads_k = 1;
    s.heads = at_most(group, 4);
    s.seq_q = at_most(s.seq_q, 256);
    s.seq_k = at_most(s.seq_k, 512);
    return s;
}

void bench_set_mask(const struct bench_shape *s, struct aothip_attn_fwd_params *params)
{
    params->mask = s->mask;
    if (s->feature != BENCH_WINDOW)
        return;
    params->mask = s->mask == AOTHIP_MASK_CAUSAL_TOP_LEFT ? AOTHIP_MASK_WINDOW_TOP_LEFT
                                                          : AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    params->window_left = 511;
}

/* Pairs of a query and a key that it sees, of one head. */
static double pairs(const struct bench_shape *s)
{
    struct aothip_attn_fwd_params params = {0};
    int seq_k = s->feature == BENCH_LENGTHS ? (s->seq_k * 3 + 3) / 4 : s->seq_k, m;
    double sum = 0;

    bench_set_mask(s, &params);
    for (m = 0; m < s->seq_q; m++) {
        struct ref_interval seen = ref_visible(&params, m, s->seq_q, seq_k);
        sum += (double)(seen.hi - seen.lo);
    }
    return sum;
}

/* Forward: Q K^T and P V. Backward: Q K^T, dO V^T, P^T dO, dS K, dS^T Q. */
double bench_flops(const struct bench_shape *s)
{
    double dims = s->backward ? 3.0 * s->dim + 2.0 * s->dim_v : (double)s->dim + s->dim_v;
    return 2 * dims * pairs(s) * s->batch * s->heads;
}

double bench_bytes(const struct bench_shape *s)
{
    double rows_q = (double)s->batch * s->heads * s->seq_q;
    double rows_k = (double)s->batch * s->heads_k * s->seq_k;
    double q = rows_q * s->dim, o = rows_q * s->dim_v, k = rows_k * s->dim, v = rows_k * s->dim_v;
    double bytes = q * (double)ref_dtype_size(s->dtype) +
                   (k + v) * (double)ref_dtype_size(bench_dtype_kv(s)) +
                   o * (double)ref_dtype_size(bench_dtype_o(s));
    double pairs = (double)s->seq_q * s->seq_k;

    if (s->backward)
        bytes *= 2;
    if (s->feature == BENCH_BIAS)
        bytes += pairs * (double)ref_dtype_size(bench_dtype_o(s));
    else if (s->feature == BENCH_KEEP)
        bytes += pairs;
    return bytes + rows_q * sizeof(float);
}
