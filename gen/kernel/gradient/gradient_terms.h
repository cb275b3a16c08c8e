/*
 * The score features of walks over aligned rows. They take no 64-bit address for an element: bias
 * and mask are reached through descriptors of a block's rows, with 32-bit offsets, which
 * KERNARG_ALIGNED_STRIDE_MAX and select.c see to. Where rows stream by as keys, four keys of a lane
 * come in one load if memory lies so.
 */
#ifndef AOTHIP_ATTN_BWD_TERMS_H
#define AOTHIP_ATTN_BWD_TERMS_H

#include "gradient_score.h"
#include "mma.h"

/* Whether the walk writes dbias, if it is asked to. */
#define DBIAS_BESIDE (!OWNS_KEYS && !SUMS_ELEMENTS && !ONLY_KEEP)

/* Whether the terms wait in a vector register: gfx90a has the fewest scalar ones. */
#if defined(__gfx90a__)
#define TERMS_APART (OWNS_KEYS && KERNEL_DIM >= 128)
#else
#define TERMS_APART 0
#endif

/* enum kernarg_term: what the problem has of them. Uniform. */
DEVICE u32 terms_of(const struct attn_bwd_args &args)
{
    u32 terms = args.terms;
    if (TERMS_APART) /* see wait_apart() */
        asm volatile("" : "+v"(terms));
    return terms;
}

/* What decides which code a block takes. */
#define TERMS_OF_SCORE                                                                             \
    (KERNARG_TERM_SOFTCAP | KERNARG_TERM_ALIBI | KERNARG_TERM_BIAS | KERNARG_TERM_KEEP |           \
     KERNARG_TERM_DROPOUT | KERNARG_TERM_BIAS_F32)

/* The one term of kernels for problems with it alone. */
#define ONLY_TERM (ONLY_KEEP ? KERNARG_TERM_KEEP : 0)

/* Whether the answer is known for a kernel. */
DEVICE constexpr bool is_known(u32 which)
{
    return ONLY_TERM && !(which & ~(u32)TERMS_OF_SCORE);
}

/* Tested where it matters, for the result kept in the meantime would take two registers. */
DEVICE u32 terms_among(u32 terms, u32 which)
{
    if (is_known(which))
        return ONLY_TERM & which;
    if (TERMS_APART)
        terms = uniform(terms);
    asm volatile("" : "+s"(terms));
    return terms & which;
}

DEVICE bool has_term(u32 terms, u32 which)
{
    return terms_among(terms, which);
}

/*
 * Whether single terms have code of their own. Where several ways lead from a matrix instruction to
 * what reads its result, clang 22 does not always wait for it along the shortest one, which CDNA's
 * hardware does not do by itself.
 */
#define KNOWS_TERMS (!SUMS_ELEMENTS && KERNEL_WAVE == 32)

/* The terms of code that knows which of TERMS_OF_SCORE there are, but for TERMS_ASKED. */
constexpr int TERMS_ASKED = 0;

template <u32 known> struct terms_known {
    u32 terms;
};

template <u32 known> DEVICE bool has_term(const struct terms_known<known> &x, u32 which)
{
    return known == TERMS_ASKED || which & ~TERMS_OF_SCORE ? has_term(x.terms, which)
                                                           : known & which;
}

/* The elements of bias or mask that a block needs. */
struct near {
    __amdgpu_buffer_rsrc_t buffer;
    u32 at;   /* where the lane's first element lies */
    u32 step; /* bytes from row to row of the block: from query to query, or from key to key */
};

/* The rows of bias or mask of a block of queries, from the first one on. Uniform. */
struct near_rows {
    kernarg_u64 base;
    u32 bytes, pitch;
};

/* What a block of rows from `query` on takes, the last one of them `row`. */
DEVICE u32 bytes_of_rows(const struct place &p, int query, u32 pitch, u32 row)
{
    int rows = p.sequence.seq_q - query;
    rows = rows < BLOCK ? rows : BLOCK;
    return rows > 0 ? (u32)(rows - 1) * pitch + row : 0;
}

DEVICE struct near_rows near_rows_of(const struct kernarg_tensor &x, u32 size, int keys,
                                     const struct place &p, int query)
{
    const u32 pitch = (u32)x.stride[2] * size;
    const kernarg_u64 base =
        (kernarg_u64)x.data + (kernarg_u64)(strides_of(p.sequence.number, far_stride(x.stride[0])) +
                                            strides_of(p.head, far_stride(x.stride[1])) +
                                            strides_of(query, far_stride(x.stride[2]))) *
                                  size;
    return {base, bytes_of_rows(p, query, pitch, (u32)keys * size), pitch};
}

/* The lane's element of them lies with query `down` of the block and key `key`. */
DEVICE struct near near_in(const struct near_rows &x, u32 size, u32 down, int key)
{
    return {__builtin_amdgcn_make_buffer_rsrc((void *)x.base, 0, (int)x.bytes, DESCRIPTOR_WORD3),
            down * x.pitch + (u32)key * size, OWNS_KEYS ? x.pitch : size};
}

/*
 * The block begins with query `query`, the lane's element with query `query` + down and key `key`.
 */
DEVICE struct near near_of(const struct kernarg_tensor &x, u32 size, const struct place &p,
                           int query, u32 down, int key)
{
    const int keys = args_here().problem.keys_most;
    return near_in(near_rows_of(x, size, keys, p, query), size, down, key);
}

/*
 * Bias, mask and dbias of a walk wait in LDS, for scalar registers are short, and reading the
 * arguments anew takes as long as a product. A wave that owns queries has the same rows of them all
 * the way; where keys are owned, the first row of the head waits, and what its last one takes.
 */
#define HOLDS_FIRST (OWNS_KEYS && !TERMS_APART && !ONLY_KEEP)
#define HOLDS_NEAR (DBIAS_BESIDE || HOLDS_FIRST)

enum held_rows { HELD_BIAS, HELD_KEEP, HELD_DBIAS, HELD_ROWS };

#if HOLDS_NEAR
static SHARED __attribute__((aligned(16))) u32x4 held_near[KERNEL_WAVES][HELD_ROWS - !DBIAS_BESIDE];

DEVICE void hold_rows(enum held_rows which, const struct near_rows &x)
{
    held_near[wave_id()][which] = u32x4{(u32)x.base, (u32)(x.base >> 32), x.bytes, x.pitch};
}

/*
 * For all blocks of a walk, of which the wave has the queries from `query` on. All at once, or one
 * read of the arguments would wait for the other.
 */
DEVICE void hold_near(const struct attn_bwd_args &args, const struct place &p, u32 terms, int query)
{
    const u32 size = args.problem.flags & KERNARG_BIAS_F32 ? 4 : 2;
    const int keys = args.problem.keys_most;
    if (terms & KERNARG_TERM_BIAS) {
        struct near_rows bias = near_rows_of(args.problem.bias, size, keys, p, query);
        bias.bytes = HOLDS_FIRST ? (u32)keys * size : bias.bytes;
        hold_rows(HELD_BIAS, bias);
    }
    if (terms & KERNARG_TERM_KEEP) {
        struct near_rows keep = near_rows_of(args.problem.keep, 1, keys, p, query);
        keep.bytes = HOLDS_FIRST ? (u32)keys : keep.bytes;
        hold_rows(HELD_KEEP, keep);
    }
#if DBIAS_BESIDE
    if (terms & (KERNARG_TERM_DBIAS | KERNARG_TERM_DBIAS_F32))
        hold_rows(HELD_DBIAS, near_rows_of(args.dbias, size, keys, p, query));
#endif
}

DEVICE struct near_rows rows_held(enum held_rows which)
{
    const u32x4 x = held_near[wave_id()][which];
    return {(kernarg_u64)uniform(x[1]) << 32 | uniform(x[0]), uniform(x[2]), uniform(x[3])};
}

DEVICE struct near near_held(enum held_rows which, u32 size, u32 down, int key)
{
    return near_in(rows_held(which), size, down, key);
}
#endif

/* near_of(), or what is held of it. */
DEVICE struct near near_here(enum held_rows which, const struct kernarg_tensor &x, u32 size,
                             const struct place &p, int query, u32 down, int key)
{
#if DBIAS_BESIDE
    (void)x;
    (void)p;
    (void)query;
    return near_held(which, size, down, key);
#elif HOLDS_FIRST
    (void)x;
    struct near_rows rows = rows_held(which);
    rows.base += (kernarg_u64)(u32)query * rows.pitch;
    rows.bytes = bytes_of_rows(p, query, rows.pitch, rows.bytes);
    return near_in(rows, size, down, key);
#else
    (void)which;
    return near_of(x, size, p, query, down, key);
#endif
}

DEVICE float bias_of(u32 word, int upper)
{
#if KERNEL_DTYPE == 2
    return (float)__builtin_bit_cast(_Float16, (u16)(upper ? word >> 16 : word));
#else
    return __builtin_bit_cast(float, upper ? word & 0xffff0000u : word << 16);
#endif
}

/* Where the lane's element i lies, after element i - 1 at `at`. */
DEVICE u32 next_at(u32 at, const struct near &x, int i)
{
    if (i > 0)
        at += (acc_row((u32)i) - acc_row((u32)i - 1)) * x.step;
    asm volatile("" : "+v"(at)); /* or the places of all would be held */
    return at;
}

/* Whether there are registers for all of a block's 16-bit bias before the first of it is used. */
#define BIAS_AT_ONCE (KERNEL_DIM <= 64)

/* Calls f(i, bias) for each of the lane's elements. */
template <int count, u32 known, class F>
DEVICE void each_bias(const struct near &x, const struct terms_known<known> &terms, F f)
{
    const bool wide = has_term(terms, KERNARG_TERM_BIAS_F32);
    u32 at = x.at;
    if (!OWNS_KEYS && KERNEL_WAVE == 64 && has_term(terms, KERNARG_TERM_BIAS_QUADS)) {
        /* All loads before the first use, as far as there are registers. */
        if (wide) {
#pragma unroll
            for (int i = 0; i < count; i += 8) {
                u32x4 quads[2];
#pragma unroll
                for (int j = 0; j < 2; j++)
                    quads[j] = __builtin_amdgcn_raw_buffer_load_b128(
                        x.buffer, (int)(at + (acc_row((u32)(i + 4 * j)) - acc_row(0)) * 4), 0, 0);
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    u32 word = quads[j / 4][j % 4];
                    f(i + j, __builtin_bit_cast(float, word));
                }
            }
        } else {
            u32x2 quads[count < 4 ? 1 : count / 4];
#pragma unroll
            for (int i = 0; i < count; i += 4)
                quads[i / 4] = __builtin_amdgcn_raw_buffer_load_b64(
                    x.buffer, (int)(at + (acc_row((u32)i) - acc_row(0)) * 2), 0, 0);
#pragma unroll
            for (int i = 0; i < count; i++)
                f(i, bias_of(quads[i / 4][i % 4 / 2], i % 2));
        }
        return;
    }
    if (wide) {
        each_element<count>([&](int i) {
            at = next_at(at, x, i);
            f(i, __builtin_bit_cast(float,
                                    __builtin_amdgcn_raw_buffer_load_b32(x.buffer, (int)at, 0, 0)));
        });
        return;
    }
    u16 all[count];
    each_element<count>([&](int i) {
        at = next_at(at, x, i);
        all[i] = (u16)__builtin_amdgcn_raw_buffer_load_b16(x.buffer, (int)at, 0, 0);
        if (!BIAS_AT_ONCE)
            f(i, bias_of(all[i], 0));
    });
    if (BIAS_AT_ONCE)
#pragma unroll
        for (int i = 0; i < count; i++)
            f(i, bias_of(all[i], 0));
}

DEVICE u32 keep_at(const struct near &x, u32 at)
{
    return (unsigned char)__builtin_amdgcn_raw_buffer_load_b8(x.buffer, (int)at, 0, 0);
}

/* Quads of the lane's elements; from both ways, or elements would be copied where they meet. */
template <int quads> DEVICE void load_keep(u32 (&to)[quads], const struct near &x, u32 terms)
{
    u32 at = x.at;
    if (has_term(terms, KERNARG_TERM_KEEP_QUADS)) {
#pragma unroll
        for (int i = 0; i < quads; i++)
            to[i] = __builtin_amdgcn_raw_buffer_load_b32(
                x.buffer, (int)(at + (acc_row((u32)i * 4) - acc_row(0))), 0, 0);
    } else {
#pragma unroll
        for (int i = 0; i < 4 * quads; i++) {
            at = next_at(at, x, i);
            const u32 byte = keep_at(x, at);
            to[i / 4] = i % 4 ? to[i / 4] | byte << i % 4 * 8 : byte;
        }
    }
}

/* Calls f(i, byte) for each of the lane's elements. */
template <int count, u32 known, class F>
DEVICE void each_keep(const struct near &x, const struct terms_known<known> &terms, F f)
{
    u32 at = x.at;
    if constexpr (!OWNS_KEYS && KERNEL_WAVE == 64) {
        u32 quads[count / 4];
        load_keep(quads, x, terms.terms);
#pragma unroll
        for (int i = 0; i < count; i++)
            f(i, (u32)(unsigned char)(quads[i / 4] >> i % 4 * 8));
    } else {
        each_element<count>([&](int i) {
            at = next_at(at, x, i);
            f(i, keep_at(x, at));
        });
    }
}

/* Where there are registers for it, bias is on its way while the products of its block are made. */
#define BIAS_AHEAD (DBIAS_BESIDE && KERNEL_WAVE == 64 && KERNEL_DIM <= 64)

/* Likewise the mask, of problems with it alone. */
#define KEEP_AHEAD (ONLY_KEEP && KERNEL_WAVE == 64 && KERNEL_DIM <= 64)

/* Quads of a block of 16-bit bias, or of mask. */
struct bias_ahead {
#if KEEP_AHEAD
    u32 keep[OWNS_KEYS ? ACC : ACC / 4]; /* where keys are owned, bytes */
#elif BIAS_AHEAD
    u32x2 quads[ACC / 4];
#endif
};

/* A score that is not to be seen, before it is multiplied by `unit`, a normal number. Uniform. */
DEVICE float hidden_score(float unit)
{
    const u32 sign = __builtin_bit_cast(u32, unit) & 0x80000000u;
    return __builtin_bit_cast(float, __builtin_bit_cast(u32, -__builtin_inff()) ^ sign);
}

DEVICE bool comes_ahead(u32 terms)
{
    if (is_known(KERNARG_TERM_BIAS))
        return false;
    asm volatile("" : "+s"(terms));
    return BIAS_AHEAD &&
           (terms & (KERNARG_TERM_BIAS | KERNARG_TERM_BIAS_F32 | KERNARG_TERM_BIAS_QUADS)) ==
               (KERNARG_TERM_BIAS | KERNARG_TERM_BIAS_QUADS);
}

/* For the block whose first row is `row`. */
DEVICE struct bias_ahead fetch_bias(u32 terms, int row)
{
    struct bias_ahead ahead;
#if BIAS_AHEAD
    if (comes_ahead(terms)) {
        const struct near x = near_held(HELD_BIAS, 2, lane_column(), row + (int)acc_row(0));
#pragma unroll
        for (int i = 0; i < ACC / 4; i++)
            ahead.quads[i] = __builtin_amdgcn_raw_buffer_load_b64(
                x.buffer, (int)(x.at + (acc_row((u32)i * 4) - acc_row(0)) * 2), 0, 0);
    }
#else
    (void)terms;
    (void)row;
#endif
    return ahead;
}

/* Has elements in pairs of registers where ways meet: CDNA's instructions take them so. */
template <class V> DEVICE void stay_pairs(V &x)
{
    if constexpr (KERNEL_WAVE == 64)
#pragma unroll
        for (int i = 0; i < elements_of<V>(); i += 2) {
            f32x2 pair = {x[i], x[i + 1]};
            asm volatile("" : "+v"(pair));
            x[i] = pair.x;
            x[i + 1] = pair.y;
        }
}

/* s * factor and the bias that is there. */
template <class V> DEVICE void add_ahead(V &s, const struct bias_ahead &ahead, float factor)
{
#if BIAS_AHEAD
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i++)
        s[i] = __builtin_fmaf(s[i], factor, bias_of(ahead.quads[i / 4][i % 4 / 2], i % 2));
#else
    (void)s;
    (void)ahead;
    (void)factor;
#endif
}

/* One register at a time: what is loaded for the next terms has no registers yet. */
DEVICE void next_term()
{
    __builtin_amdgcn_sched_barrier(0);
}

/* x + step. Of pairs the compiler would hold all that are added in scalar registers. */
DEVICE float apart_from(float x, float step)
{
#if KERNEL_WAVE == 64
    float sum;
    asm("v_add_f32_e32 %0, %1, %2" : "=v"(sum) : "i"(__builtin_bit_cast(u32, step)), "v"(x));
    return sum;
#else
    return x + step;
#endif
}

/* s becomes cap * tanh(s / cap), two at a time: tanh(x) = 1 - 2 / (exp(2 x) + 1). Multiplies its
 * slope to dp if that is wanted. */
template <enum gradient of, class V> DEVICE void cap_elements(V &s, V &dp, float cap, float inside)
{
    const f32x2 one = {1, 1};
    const int count = elements_of<V>();
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        const int j = i + 1 < count ? i + 1 : i; /* a wave of a large team has one element */
        f32x2 x = f32x2{s[i], s[j]} * inside;
        x = f32x2{__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)} + 1;
        x = f32x2{__builtin_amdgcn_rcpf(x.x), __builtin_amdgcn_rcpf(x.y)};
        const f32x2 capped = __builtin_elementwise_fma(x, -2 * one, one);
        const f32x2 slope = __builtin_elementwise_fma(-capped, capped, one);
        s[i] = cap * capped.x;
        if (j > i)
            s[j] = cap * capped.y;
        if (of == OF_PRODUCT)
            dp[i] *= slope.x;
        if (of == OF_PRODUCT && j > i)
            dp[j] *= slope.y;
    }
}

/*
 * s, scale * q . k, becomes the score but for bias and mask, as add_terms() makes it. The lane's
 * elements are those of column `index` from row `row` of the stream on.
 */
template <enum gradient of, u32 known, class V>
DEVICE void add_curve_and_slope(V &s, V &dp, const struct place &p,
                                const struct terms_known<known> &terms, int index, int row)
{
    const int count = elements_of<V>();
    next_term();
    if (has_term(terms, KERNARG_TERM_SOFTCAP)) {
        const float cap = args_here().problem.softcap, inside = 2 * LOG2_E / cap;
        cap_elements<of>(s, dp, cap, inside);
        next_term();
    }
    if (has_term(terms, KERNARG_TERM_ALIBI)) {
        const float slope = terms_here(p).slope;
        const float of_first = (float)((OWNS_KEYS ? row - index : index - row) + diagonal_of(p) +
                                       (OWNS_KEYS ? 1 : -1) * (int)acc_row(0));
        each_element<count>([&](int i) {
            const float step = (float)(int)(acc_row((u32)i) - acc_row(0));
            s[i] -= slope * __builtin_fabsf(apart_from(of_first, OWNS_KEYS ? step : -step));
        });
        next_term();
    }
}

/* Where the lane's elements lie among bias and mask. */
struct near_place {
    int query; /* the block's first one, for a buffer of its rows */
    u32 down;  /* from there to the lane's first element */
    int key;
};

DEVICE struct near_place near_place_of(int index, int row)
{
    return {OWNS_KEYS ? row : (int)uniform((u32)index - lane_column()),
            OWNS_KEYS ? acc_row(0) : lane_column(), OWNS_KEYS ? index : row + (int)acc_row(0)};
}

#if KEEP_AHEAD
/*
 * For the block whose first row is `row`, of column `index`. `rows` are those of the mask from the
 * wave's first query on; where keys are owned, from the head's first one, one of them.
 */
DEVICE struct bias_ahead fetch_keep(struct near_rows rows, const struct place &p, u32 terms,
                                    int index, int row)
{
    const struct near_place at = near_place_of(index, row);
    struct bias_ahead ahead;
#if OWNS_KEYS
    (void)terms;
    rows.base += (kernarg_u64)(u32)at.query * rows.pitch;
    rows.bytes = bytes_of_rows(p, at.query, rows.pitch, rows.bytes);
    const struct near x = near_in(rows, 1, at.down, at.key);
#pragma unroll
    for (int i = 0; i < ACC; i++)
        ahead.keep[i] = (unsigned char)__builtin_amdgcn_raw_buffer_load_b8(
            x.buffer, (int)(x.at + (acc_row((u32)i / 4 * 4) - acc_row(0)) * x.step),
            (int)((u32)i % 4 * x.step), 0);
#else
    (void)p;
    load_keep(ahead.keep, near_in(rows, 1, at.down, at.key), terms);
#endif
    return ahead;
}
#endif

/*
 * Adds bias and mask: s * unit, with `unit` as it is then, becomes the score. A bias multiplies by
 * it.
 */
template <u32 known, class V>
DEVICE void add_near_terms(V &s, const struct place &p, const struct terms_known<known> &terms,
                           const struct near_place &at, const struct bias_ahead &ahead, float &unit)
{
    const int count = elements_of<V>();
    float factor = unit;
    asm("" : "+s"(factor)); /* the product takes no instruction, and converts F16 */
    if (has_term(terms, KERNARG_TERM_BIAS)) {
        if (BIAS_AHEAD && comes_ahead(terms.terms)) {
            add_ahead(s, ahead, factor);
        } else {
            const u32 size = has_term(terms, KERNARG_TERM_BIAS_F32) ? 4 : 2;
            each_bias<count>(
                near_here(HELD_BIAS, args_here().problem.bias, size, p, at.query, at.down, at.key),
                terms, [&](int i, float bias) { s[i] = __builtin_fmaf(s[i], factor, bias); });
        }
        unit = 1;
        stay_pairs(s);
        next_term();
    }
    stay_pairs(s);
    if (has_term(terms, KERNARG_TERM_KEEP)) {
        const float hidden = hidden_score(unit);
#if KEEP_AHEAD
#pragma unroll
        for (int i = 0; i < count; i++)
            s[i] = (OWNS_KEYS ? ahead.keep[i] : (unsigned char)(ahead.keep[i / 4] >> i % 4 * 8))
                       ? s[i]
                       : hidden;
        return;
#endif
        each_keep<count>(
            near_here(HELD_KEEP, args_here().problem.keep, 1, p, at.query, at.down, at.key), terms,
            [&](int i, u32 keep) { s[i] = keep ? s[i] : hidden; });
        next_term();
    }
}

/* x where bit i of `kept` is set, else 0. */
DEVICE float keep_bit(float x, u32 kept, u32 i)
{
    const u32 mask = (u32)((int)(kept << (31 - i)) >> 31);
    return __builtin_bit_cast(float, __builtin_bit_cast(u32, x) & mask);
}

#endif
