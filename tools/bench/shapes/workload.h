/* What aothip-bench measures: shapes from text and from presets, their work and their traffic. */
#ifndef AOTHIP_BENCH_SHAPE_H
#define AOTHIP_BENCH_SHAPE_H

#include "aothip/aothip.h"

#include <stdint.h>

/* What attention does beside the plain thing. */
enum bench_feature {
    BENCH_PLAIN,
    BENCH_WINDOW, /* a query sees the 512 keys up to its own */
    BENCH_KEEP, /* a boolean mask of all pairs, the same for all heads, that hides every 8th key */
    BENCH_BIAS, /* a bias of all pairs, the same for all heads */
    BENCH_ALIBI,
    BENCH_SOFTCAP,
    BENCH_SINKS,
    BENCH_DROPOUT,
    BENCH_LENGTHS, /* padded sequences: each has three quarters of the keys */
    BENCH_PAGED    /* the same keys in pages of 64; forward alone */
};

struct bench_shape {
    int dtype, mask, feature;
    int batch, heads, heads_k, seq_q, seq_k, dim, dim_v;
    int kv;       /* the type of k and v where it is not that of q: one of FP8; 0: as q */
    int bshd;     /* 1: (batch, sequence, head, channel) in memory; 0: head before sequence */
    int backward; /* 1: the backward pass alone */
    int atomics;  /* 1: the backward pass may add dq up in any order */
    int splits;   /* of the keys, as aothip.h has it: 0 where the library chooses */
};

enum { BENCH_ERROR_MAX = 256 };

/*
 * Reads "batch=4,heads=32,seq=4096,dim=128": in any order batch, heads, heads_k, seq (both), seq_q,
 * seq_k, dim (both), dim_v, splits, dtype=f16|bf16|f32|e4m3|e5m2|e4m3fnuz|e5m2fnuz, kv=as_q or one
 * of the last four, mask=none|tl|br, layout=bhsd|bshd, pass=fwd|bwd, atomics=0|1,
 * with=window|keep|bias|alibi|softcap|sinks|dropout|lengths|paged.
 * What is not named is as in *shape, save that heads_k, seq_k and dim_v follow heads, seq_q and dim
 * where those are named. Returns 0, or -1 with one line in `error`.
 */
int bench_parse(const char *text, struct bench_shape *shape, char error[BENCH_ERROR_MAX]);

/* What a shape cannot have together: -1 with a line in `error`; else 0. */
int bench_refuse(const struct bench_shape *shape, char error[BENCH_ERROR_MAX]);

/* Where bench_parse() begins: one head of everything, f16, no mask. */
struct bench_shape bench_default(void);

/* The shape as bench_parse() reads it; returns text. */
enum { BENCH_TEXT_MAX = 240 };
const char *bench_text(const struct bench_shape *shape, char text[BENCH_TEXT_MAX]);

/* The shapes of a preset as lines of text, NULL behind the last; NULL if there is none. */
const char *const *bench_preset(const char *name);

/* "f16", and, where k and v have another type, "bf16/e4m3". */
enum { BENCH_DTYPES_MAX = 32 };
const char *bench_dtypes(const struct bench_shape *shape, char text[BENCH_DTYPES_MAX]);

/* The types of q, and of k and v; o has that of q, but bf16 for one of FP8. */
int bench_dtype_kv(const struct bench_shape *shape);
int bench_dtype_o(const struct bench_shape *shape);
int bench_is_fp8(const struct bench_shape *shape); /* whether k and v are of FP8 */

/* "window" and so on; "none". */
const char *bench_feature_name(int feature);

/* The masked problem as the library's parameters say it: mask, window_left, window_right. */
void bench_set_mask(const struct bench_shape *shape, struct aothip_attn_fwd_params *params);

/* A shape of the same kind that an emulator gets through in seconds. */
struct bench_shape bench_cut(const struct bench_shape *shape);

/*
 * Floating-point operations of the matrix products that are needed, two a multiplication: masked
 * pairs of query and key are not. Bytes of each input and output once.
 */
double bench_flops(const struct bench_shape *shape);
double bench_bytes(const struct bench_shape *shape);

#endif
