/*
 * Blocks of S and dP in the registers of the backward kernels: which elements a lane has, which of
 * them are visible, and how they become P~ and dS. Where registers are short, also what is kept in
 * which of them.
 */
#ifndef AOTHIP_ATTN_BWD_BLOCK_H
#define AOTHIP_ATTN_BWD_BLOCK_H

#include "gradient_score.h"

#if KERNEL_DTYPE == 1
#include "mma_f32.h"
#else
#include "mma.h"
#endif

/* Kernels with score features of aligned rows have the terms of gradient_terms.h. */
#define TERMS_NEAR (KERNEL_SCORE && !KERNEL_UNALIGNED)
#if TERMS_NEAR
#include "gradient_terms.h"
#else
#define TERMS_APART 0
#endif

#if KERNEL_DTYPE == 1
/* The names that mma.h has for what mma_f32.h calls otherwise; nothing is rounded. */
constexpr int BLOCK = SIDE;

DEVICE block_acc zero_acc()
{
    return 0;
}

DEVICE float begin_round(float x)
{
    return x;
}
#endif

typedef float f32x4 __attribute__((ext_vector_type(4)));

#define COMPUTED_ANEW                                                                              \
    ((KERNEL_SCORE && !(TAKES_PAIRS && KERNEL_DIM == 64)) || OWNED_AGAIN || WALK_SLABS == 4 ||     \
     (SUMS_DQ && KERNEL_DIM == 64)) /* see stay_here() */

/* See struct start. */
#if KERNEL_WAVE == 32 && KERNEL_DTYPE != 1 && !KERNEL_SCORE && !MMA_STRAIGHT
#define HOLDS_START 1
#else
#define HOLDS_START 0
#endif

/* Whether the product P dP is rounded as it is computed, by the instruction that rounds. */
#define FOLDS_PRODUCT HOLDS_START

/* See products_beside.h. Where registers are shortest, this would spill some of them. */
#if __clang_major__ < 22 || (defined(__gfx90a__) && KERNEL_DTYPE == 2)
#define MIXES_SCARCE 0
#else
#define MIXES_SCARCE 1
#endif
#define MIXES_PRODUCTS                                                                             \
    (KERNEL_DTYPE != 1 && KERNEL_WAVE == 64 && !KERNEL_SCORE && WALK_SLABS == 1 &&                 \
     (MIXES_SCARCE || !OWNED_AGAIN))

/*
 * dP starts from -delta, which saves subtracting it. Dropout scales dP, but not delta. Where rows
 * are owned, it is held throughout a walk.
 */
#define HOLDS_DELTA (HOLDS_START || (MIXES_PRODUCTS && !OWNS_KEYS))
#define DELTA_FIRST ((OWNS_KEYS || HOLDS_DELTA) && !KERNEL_SCORE)

/* Whether a register is left for the place where a thread stores columns. */
#if defined(__gfx950__)
#define HOLDS_COLUMNS (!SUMS_DQ && !OWNED_AGAIN)
#else
#define HOLDS_COLUMNS (!(SUMS_DQ && KERNEL_DIM == 64))
#endif

/* Whether there are registers for where a thread stores all else, too: fused_walk.h. */
#define HOLDS_PLACES (SUMS_DQ && KERNEL_DIM == 128)

/* See gradient_pairs.h. */
#define TAKES_PAIRS (TERMS_NEAR && KERNEL_WAVE == 64)

/*
 * Whether dS is multiplied and rounded at once, by the instruction that rounds one product to f16.
 * The walk then gets dP and not dS, but where keys are owned, with P~ that is not P: there pairs of
 * dS lie in the first half of dP.
 */
#if TAKES_PAIRS && KERNEL_DTYPE == 2 && !SUMS_ELEMENTS && !WALKS_WHOLE && !defined(__gfx950__)
#define ROUNDS_PRODUCTS 1
#else
#define ROUNDS_PRODUCTS 0
#endif

/* With which sign lse lies in row_vector: the compiler negates it at times when it is wanted. */
#define LSE_SIGN                                                                                   \
    (OWNS_KEYS && (MIXES_PRODUCTS || IN_PAIRS || HOLDS_START || TAKES_PAIRS) ? -1.0f : 1.0f)

/*
 * Whether each wave has lse of a tile in its lanes, that of a row each, and none of it in LDS: see
 * lane_row(). With it, LDS would have more than two and a half accesses a product.
 */
#define LSE_IN_LANES (OWNS_KEYS && HOLDS_START && KERNEL_DIM == 64)

#if OWNS_KEYS
static SHARED __attribute__((aligned(16))) float row_vector[2][STREAM_ROWS]; /* lse, delta */
#endif

/* Place of row `row` in row_vector: a lane's rows of a block one after another. */
DEVICE u32 vector_slot(u32 row)
{
#if KERNEL_DTYPE == 1 || MMA_STRAIGHT
    return row;
#elif SHARES_CHANNELS && KERNEL_DIM == 128 /* OWNS_QUADS of team_walk.h */
    return row / 4 * 4 + row % 2 * 2 + row / 2 % 2;
#else
    return row / 16 * 16 + row % 2 * 8 + row % 16 / 2;
#endif
}

/*
 * Where registers are short, what follows from x is computed anew in every step rather than held
 * throughout the walk.
 */
template <class T> DEVICE T stay_here(T x)
{
    if (COMPUTED_ANEW)
        asm volatile("" : "+v"(x));
    return x;
}

/* As wait_apart(), for what is wanted once a block of rows, where scalar registers are shortest. */
#define WAITS_LONG                                                                                 \
    (OWNS_KEYS && KERNEL_SCORE && KERNEL_WAVE == 64 && !KERNEL_UNALIGNED && KERNEL_DTYPE != 1 &&   \
     !(OWNED_PER_TILE && TERMS_APART && !WALKS_WHOLE))

DEVICE int wait_long(int x)
{
    if (WAITS_LONG)
        asm volatile("" : "+v"(x));
    return x;
}

DEVICE int awaited_long(int x)
{
    return WAITS_LONG ? (int)uniform((u32)x) : x;
}

/* The same for a number that vector instructions take as it is. */
template <class T> DEVICE T stay_apart(T x)
{
    if (WAITS_APART && KERNEL_DTYPE != 1)
        asm volatile("" : "+v"(x));
    return x;
}

/* What the compiler may neither compute anew nor begin elsewhere. Uniform. */
template <class T> DEVICE T hold_scalar(T x)
{
    asm volatile("" : "+s"(x));
    return x;
}

/*
 * On wave32 hardware operands are the largest thing in the registers: those of one instruction are
 * there while those of the next one are on their way, and the compiler may not load more ahead.
 */
DEVICE void no_further()
{
    if (KERNEL_WAVE == 32)
        __builtin_amdgcn_sched_barrier(0);
}

/* Nothing is moved from here on to what is before, or the other way round. */
DEVICE void in_order()
{
    __builtin_amdgcn_sched_barrier(0);
}

/* What the n-th of `of` shares of `all` begins with. */
DEVICE constexpr int share_begin(int all, int n, int of)
{
    return n <= 0 ? 0 : n >= of ? all : n * all / of;
}

/* Calls f(i) for those of `all` in share n of `of`. */
template <class F> DEVICE void each_of_share(int all, int n, int of, F f)
{
#pragma unroll
    for (int i = share_begin(all, n, of); i < share_begin(all, n + 1, of); i++)
        f(i);
}

/* Tiles of the stream that some column of the workgroup sees. Uniform. */
struct walk {
    int begin, end;
};

DEVICE struct walk plan_walk(const struct sequence &s, int first_column, int last_column)
{
    int first = visible_rows(s, first_column).first, last = visible_rows(s, last_column).last;
    if (first > last)
        return {0, 0};
    return {first / STREAM_ROWS, last / STREAM_ROWS + 1};
}

/* What a lane knows of its column. */
struct column {
    int index;
    struct row_interval visible;
    u32 count;                /* rows in it */
    struct row_interval full; /* rows that all columns of the wave see. Uniform */
    struct row_interval any;  /* rows that some column of the wave sees. Uniform */
#if !OWNS_KEYS
    float lse, delta;
#endif
#if LIFTS && OWNS_KEYS
    float raise = 0; /* is added to the exponents of P where lse is natural */
#elif LIFTS
    u32 lifts = 0; /* in f16 each: what undoes the lift of dS; the raise */
#endif
};

DEVICE float raise_of(const struct column &column)
{
#if LIFTS && OWNS_KEYS
    return column.raise;
#elif LIFTS
    return (float)__builtin_bit_cast(_Float16, (u16)(column.lifts >> 16));
#else
    (void)column;
    return 0;
#endif
}

#if !OWNS_KEYS
/* What undoes the lift of the lane's row. */
DEVICE float lowered(const struct column &column)
{
#if LIFTS
    return (float)__builtin_bit_cast(_Float16, (u16)column.lifts);
#else
    (void)column;
    return 1;
#endif
}
#endif

/* Everything that turns S and dP of one head into P~ and dS. Uniform. */
struct context {
#if KERNEL_SCORE
    struct place place;
#if TERMS_NEAR
    u32 terms;               /* KERNARG_TERM_BIAS and so on */
    struct bias_ahead ahead; /* of the block that is next */
#if KEEP_AHEAD
    struct near_rows keep; /* see fetch_keep() */
#endif
#elif KERNEL_DTYPE == 1
    u32 plain; /* whether the problem has no score features. In one register: a bool takes two */
#endif
#else
    float factor;      /* scale, or that * log2(e); not 0: the smallest number does what 0 would */
    float masked;      /* a score that gives P = 0 */
#if OWNED_AGAIN
    f32x2 factor_pair; /* as scalars, which vector instructions take */
#endif
#endif
#if SUMS_DQ
    GLOBAL char *dq;   /* the wave's first block */
    u32 dq_band_bytes; /* 0: the wave has none */
#endif
};

DEVICE struct context context_of(const struct attn_bwd_args &args, const struct place &p,
                                 enum lse_form form = LSE_USUAL)
{
    const struct attn_problem &a = args.problem;
    struct context c = {};
#if KERNEL_SCORE
    (void)form;
    c.place = p;
#if TERMS_NEAR
    (void)a;
    c.terms = terms_of(args);
#if KEEP_AHEAD && OWNS_KEYS
    c.keep = near_rows_of(a.keep, 1, a.keys_most, p, 0);
    c.keep.bytes = (u32)a.keys_most;
#endif
#elif KERNEL_DTYPE == 1
    c.plain = !a.bias.data && !a.keep.data && !a.alibi && !(a.softcap > 0) &&
              !(a.flags & KERNARG_DROPOUT);
    asm("" : "+s"(c.plain));
#else
    (void)a;
#endif
#else
    (void)p;
    c.factor = form == LSE_BASE2 ? a.scale * LOG2_E : a.scale;
    if (__builtin_fabsf(c.factor) < 0x1p-149f)
        c.factor = 0x1p-149f;
#if LSE_IN_LANES /* a scalar: multiply-adds go in pairs */
    c.factor = hold_scalar(__builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, c.factor))));
#endif
    c.masked = c.factor > 0 ? -__builtin_inff() : __builtin_inff();
#if OWNED_AGAIN
    c.factor_pair = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, c.factor)));
    asm("" : "+s"(c.factor_pair));
    c.masked = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, c.masked)));
#endif
#endif
    return c;
}

#if OWNS_KEYS
/* What row_vector[which] has for this lane's rows 4 * i .. of a block, of consecutive ones. */
DEVICE f32x4 row_four(int which, int block, int i)
{
    return *(const f32x4 *)&row_vector[which][block * BLOCK + vector_slot(acc_row(4 * i))];
}

/* The same for those of its rows that are elements of V: from `first` on, or with waves of 32 where
 * row_vector[0] has those of block 0. */
template <class V = block_acc>
DEVICE V row_values(int which, int block, const char *from = nullptr, u32 first = 0)
{
    if (KERNEL_WAVE == 32 && elements_of<V>() < ACC)
        return *(const V *)(from + (which * STREAM_ROWS + block * BLOCK) * 4);
    V x;
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i += 4) {
        const f32x4 four = row_four(which, block, ((int)first + i) / 4);
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[i + j] = four[j];
    }
    return x;
}
#endif

/* Rows from a lane's first one of a block to its element `first`. */
DEVICE int rows_to(u32 first)
{
#if KERNEL_DTYPE != 1 && (KERNEL_WAVE == 64 || !MMA_STRAIGHT)
    return 2 * (int)first;
#else
    return (int)first;
#endif
}

/* Whether the column sees row `row` + acc_row(i). */
DEVICE bool sees(const struct column &column, int row, int i)
{
    u32 above = (u32)(row + (int)acc_row(0) - column.visible.first);
    return above + (acc_row(i) - acc_row(0)) < column.count;
}

#if KERNEL_SCORE

/* Whether there are no scalar registers for the twenty round keys of Philox, in a block of rows. */
#define KEYS_ANEW (KERNEL_WAVE == 32 || KERNEL_UNALIGNED || TERMS_APART)

#if KERNEL_WAVE == 32 && KERNEL_DTYPE != 1
/*
 * Which elements of a block of 16 keys dropout keeps, where rows are keys: each half of the wave
 * asks for eight of them. On RDNA 3 it has every other one of all.
 */
DEVICE u32 kept_by_halves(const struct dropout &d, int query, int key)
{
    const u32 half = lane_half(), quad = (u32)key / 4 + 2 * half;
    const u32 own = kept_quad(d, query, quad) | kept_quad(d, query, quad + 1) << 4;
    if (MMA_STRAIGHT)
        return own;
    const u32 other = exchange_halves(own, 0);
    u32 kept = (half ? other | own << 8 : own | other << 8) >> half & 0x5555;
    kept = (kept | kept >> 1) & 0x3333;
    kept = (kept | kept >> 2) & 0x0f0f;
    return (kept | kept >> 4) & 0xff;
}
#endif

/*
 * Which of this lane's `count` elements from row `row` + acc_row(0) on dropout keeps. A counter of
 * Philox has four keys and those 16 further on. Where rows are queries, the lanes that have the
 * same ones share out the rows: eight lanes in a block of 32 keys, else four.
 */
template <int count = ACC>
DEVICE u32 kept_elements(struct dropout d, const struct column &column, int row)
{
    const u32 index = stay_here((u32)column.index);
    u32 kept = 0;
#if OWNS_KEYS
    const u32 run = count < 4 ? count : 4;
    u32 own = index % 4;
    asm volatile("" : "+s"(d.seed)); /* or its round keys would be kept in a walk */
#pragma unroll 1
    for (u32 i = 0; BLOCK == 32 && count >= 8 && i < count; i += 8) {
        if (KEYS_ANEW)
            asm volatile("" : "+s"(d.seed));
        const u32 second = index / 16 % 2;
        const int mine = (int)kept_eight(d, row + (int)acc_row(i + 4 * second + own), index - own);
        const int others = __builtin_amdgcn_ds_swizzle(mine, 0x401f); /* of lane ^ 16 */
        const int all = second ? others | mine << 8 : mine | others << 8;
        const u32 x[4] = {(u32)__builtin_amdgcn_mov_dpp(all, 0x00, 0xf, 0xf, true),
                          (u32)__builtin_amdgcn_mov_dpp(all, 0x55, 0xf, 0xf, true),
                          (u32)__builtin_amdgcn_mov_dpp(all, 0xaa, 0xf, 0xf, true),
                          (u32)__builtin_amdgcn_mov_dpp(all, 0xff, 0xf, 0xf, true)};
#pragma unroll
        for (u32 j = 0; j < 8; j++)
            kept |= (x[j % 4] >> (own + 4 * second + j / 4 * 8) & 1) << (i + j);
    }
#pragma unroll KERNEL_WAVE == 32 ? count / run : 1
    for (u32 i = 0; (BLOCK == 16 || count < 8) && i < count; i += run) {
        if (KEYS_ANEW && KERNEL_WAVE == 64)
            asm volatile("" : "+s"(d.seed));
        int quad = (int)kept_quad(d, row + (int)acc_row(i + own % run), index / 4);
        u32 x[4] = {(u32)__builtin_amdgcn_mov_dpp(quad, 0x00, 0xf, 0xf, true),
                    (u32)__builtin_amdgcn_mov_dpp(quad, 0x55, 0xf, 0xf, true),
                    (u32)__builtin_amdgcn_mov_dpp(quad, 0xaa, 0xf, 0xf, true),
                    (u32)__builtin_amdgcn_mov_dpp(quad, 0xff, 0xf, 0xf, true)};
#pragma unroll
        for (u32 j = 0; j < run; j++)
            kept |= (x[j] >> own & 1) << (i + j);
    }
#else
    /* elements of a quad of keys */
    const u32 most = KERNEL_WAVE == 64 || KERNEL_DTYPE == 1 ? 4 : 2;
    const u32 run = count < most ? count : most;
    const u32 from = count < ACC ? (u32)row : 0;    /* blocks begin with a quad */
    const bool pairs = BLOCK == 32 && count == ACC; /* of quads that a counter is for */
    asm volatile("" : "+s"(d.seed));                /* as above */
#if KERNEL_WAVE == 32 && KERNEL_DTYPE != 1
    if (count == ACC)
        return kept_by_halves(d, (int)index, row);
#endif
#pragma unroll 1
    for (u32 i = 0; pairs && i < 8; i += 4) {
        if (KEYS_ANEW)
            asm volatile("" : "+s"(d.seed));
        const u32 x = kept_eight(d, (int)index, (u32)row + acc_row(i));
        kept |= ((x & 15) | x >> 4 << 8) << i;
    }
#pragma unroll 1
    for (u32 i = 0; !pairs && i < count; i += run) {
        if (KEYS_ANEW)
            asm volatile("" : "+s"(d.seed));
        u32 first = (u32)row + acc_row(i), quad = kept_quad(d, (int)index, first / 4);
#pragma unroll
        for (u32 j = 0; j < run; j++)
            kept |= (quad >> ((from + acc_row(i + j)) % 4) & 1) << (i + j);
    }
#endif
    return kept;
}

#if KERNEL_DTYPE == 1
/* The same for a problem without score features. */
DEVICE void differentiate_plain(block_acc &s, block_acc &dp, const block_acc &lse,
                                const block_acc &delta, const struct column &column, int row)
{
    s *= args_here().problem.scale;
    dp -= delta;
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        s[i] = weight_of(s[i], lse[i]);
        dp[i] *= s[i];
    }
    if (row < awaited_long(column.full.first) || row + BLOCK - 1 > awaited_long(column.full.last))
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            s[i] = sees(column, row, i) ? s[i] : 0;
            dp[i] = sees(column, row, i) ? dp[i] : 0;
        }
}
#endif

#if TERMS_NEAR
/* What becomes an operand. */
template <class V> DEVICE void begin_block(V &x)
{
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i++)
        x[i] = begin_round(x[i]);
}

/*
 * Scores less lse, which are above 0 only where lse was rounded to less than a score: seldom, so
 * that it is asked of all at once. NaN stays NaN.
 */
template <class V> DEVICE void limit_exponents(V &less)
{
    float largest = less[0];
#pragma unroll
    for (int i = 1; i < elements_of<V>(); i++)
        largest = __builtin_fmaxf(largest, less[i]);
    if (!in_any_lane(largest > 0))
        return;
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i++)
        less[i] = less[i] > 0 ? 0 : less[i];
}
#endif

#if TAKES_PAIRS

#include "gradient_pairs.h"

#elif TERMS_NEAR

#include "gradient_alone.h"

#else

/* S to P~ and dP to dX, after begin_round(), or to dS, in place, for the block whose first row is
 * `row`. */
template <enum gradient of, enum lse_form>
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    const struct sequence &q = context.place.sequence;
    const int last = (OWNS_KEYS ? q.seq_q : q.seq_k) - 1;
    const int last_column = (OWNS_KEYS ? q.seq_k : q.seq_q) - 1;
    const int own = (int)stay_here((u32)column.index);
    const int index = own < last_column ? own : last_column;
#if OWNS_KEYS
    const block_acc lse = row_values(0, block), delta = row_values(1, block);
#else
    const block_acc lse = column.lse, delta = column.delta;
    (void)block;
#endif
#if KERNEL_DTYPE == 1
    if (context.plain) {
        differentiate_plain(s, dp, lse, delta, column, row);
        return;
    }
#endif
    differentiate<of, ACC>(
        s, dp, lse, delta, raise_of(column), context.place,
        [&](int i) {
            int r = row + (int)acc_row(i);
            r = r < last ? r : last;
            return OWNS_KEYS ? element{r, index} : element{index, r};
        },
        [&](int i) { return sees(column, row, i); },
        [&](const struct dropout &d) { return kept_elements(d, column, row); });
    if (of == OF_PRODUCT)
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            s[i] = begin_round(s[i]);
            dp[i] = begin_round(dp[i]);
        }
}

#endif

#endif

#endif
