/*
 * Bias and boolean mask on their way to columns of S^T.
 *
 * A lane has runs of KEY_RUN consecutive keys of its row, and reads what belongs to them a run at a
 * time, whatever the alignment. In tiles that exist whole, one of the two is read for all of the
 * tile at once (struct ahead): the 16-bit bias if there is one, else the mask. All the rest is
 * read block by block, where it is used.
 */
#ifndef AOTHIP_FWD_SCORE_LOAD_H
#define AOTHIP_FWD_SCORE_LOAD_H

#include "score_columns.h"

/* Terms, as bits. */
constexpr int TERM_CAP = 1;
constexpr int TERM_SLOPE = 2;
constexpr int TERM_BIAS = 4;
constexpr int TERM_BIAS_F32 = 8;
constexpr int TERM_KEEP = 16;
constexpr int TERM_KEEP_COMMON = 32; /* the same for all queries */
constexpr int TERM_DROPOUT = 64;

/* KERNEL_SCORE: no terms, any that there are, or one which there is. */
constexpr int SCORE_NONE = 0;
constexpr int SCORE_ANY = 1;
constexpr int SCORE_BIAS = 2;
constexpr int SCORE_SLOPES = 3;
constexpr int SCORE_SOFTCAP = 4;
constexpr int SCORE_DROPOUT = 5;
constexpr int SCORE_KEEP = 7;

constexpr int TERMS_CERTAIN = KERNEL_SCORE == SCORE_BIAS      ? TERM_BIAS
                              : KERNEL_SCORE == SCORE_SLOPES  ? TERM_SLOPE
                              : KERNEL_SCORE == SCORE_SOFTCAP ? TERM_CAP
                              : KERNEL_SCORE == SCORE_DROPOUT ? TERM_DROPOUT
                              : KERNEL_SCORE == SCORE_KEEP    ? TERM_KEEP
                                                              : 0;
constexpr int TERMS_KNOWN = KERNEL_SCORE == SCORE_ANY ? 127 : TERMS_CERTAIN; /* may be there */
constexpr int TERMS_HIDING = TERM_BIAS | TERM_KEEP;

/* Of which (sequence, head) and rows. Uniform. */
struct scene {
    int number;      /* of the sequence */
    struct job job;  /* in it */
    int diagonal;    /* seq_k - seq_q */
    float slope;     /* of ALiBi and nothing else: negative, in units of the scale */
    float scale = 1; /* of FP8: |scale|, with that of K */
};

/* The terms of a workgroup. */
struct terms {
    u32 which;                         /* TERM_CAP and so on. Uniform */
    const GLOBAL char *rows[Q_BLOCKS]; /* of bias, or else mask: this lane's, at its first key */
    u32 scene;                         /* a struct scene, an element a lane: see recall() */
};

/* The walk has no scalar registers for what it needs once a tile. */
DEVICE u32 remember(const struct scene &x)
{
    const u32 lane = lane_id();
    u32 value = (u32)x.number;
    value = lane == 1 ? (u32)x.job.head : value;
    value = lane == 2 ? (u32)x.job.kv_head : value;
    value = lane == 3 ? (u32)x.job.first_row : value;
    value = lane == 4 ? (u32)x.job.last_row : value;
    value = lane == 5 ? (u32)x.diagonal : value;
#if KERNEL_SCALES
    value = lane == 11 ? __builtin_bit_cast(u32, x.scale) : value;
#endif
#if KERNEL_SPLIT
    value = lane == 7 ? (u32)x.job.rows.first : value;
    value = lane == 8 ? (u32)x.job.rows.last : value;
    value = lane == 9 ? (u32)x.job.rows.group : value;
    value = lane == 10 ? (u32)x.job.split : value;
#endif
    return lane == 6 ? __builtin_bit_cast(u32, x.slope) : value;
}

DEVICE struct scene recall(const struct terms &t)
{
    u32 lanes = t.scene;
    asm volatile("" : "+v"(lanes));
    int x[KERNEL_SPLIT ? 11 : 7];
#pragma unroll
    for (int i = 0; i < (KERNEL_SPLIT ? 11 : 7); i++)
        x[i] = (int)__builtin_amdgcn_readlane(lanes, i);
#if KERNEL_SPLIT
    const struct job_rows rows = {x[7], x[8], x[9], x[3], x[4]};
    const struct job job = {x[1], x[2], x[3], x[4], rows, x[10]};
#else
    const struct job job = {x[1], x[2], x[3], x[4]};
#endif
    return {x[0], job, x[5], __builtin_bit_cast(float, x[6])};
}

/* |scale|, of FP8 with that of K. */
DEVICE float scale_of(const struct attn_problem &a, const struct terms &t)
{
#if KERNEL_SCALES
    u32 lanes = t.scene;
    asm volatile("" : "+v"(lanes));
    (void)a;
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane((int)lanes, 11));
#else
    (void)t;
    return __builtin_fabsf(a.scale);
#endif
}

DEVICE float slope_of(const struct attn_problem &a, const struct scene &x)
{
    return -((const_float)a.alibi)[x.number * a.alibi_stride + head_of_column(x.job)];
}

DEVICE u32 which_terms(const struct attn_problem &a)
{
    u32 which = (a.softcap > 0 ? TERM_CAP : 0) | (a.alibi ? TERM_SLOPE : 0) |
                (a.flags & KERNARG_DROPOUT ? TERM_DROPOUT : 0);
    if (a.bias.data)
        which |= TERM_BIAS | (a.flags & KERNARG_BIAS_F32 ? TERM_BIAS_F32 : 0);
    if (a.keep.data)
        which |= TERM_KEEP | (!KERNEL_SPLIT && a.keep.stride[2] == 0 ? TERM_KEEP_COMMON : 0);
    return uniform(which);
}

/* Tested where it matters: each result kept in the meantime would take two registers. */
DEVICE u32 which_here(const struct terms &t)
{
    u32 which = t.which;
    asm volatile("" : "+s"(which));
    return which;
}

DEVICE bool has(const struct terms &t, u32 which)
{
    which &= TERMS_KNOWN;
    return which & TERMS_CERTAIN || (which && which_here(t) & which);
}

/* Of bias or mask, whose elements have `bytes`: the rows of this lane's columns, at key 0. */
DEVICE void find_rows(const GLOBAL char *(&rows)[Q_BLOCKS], const struct kernarg_tensor &x,
                      int bytes, const struct scene &scene)
{
    const kernarg_i64 head = scene.number * x.stride[0] + head_of_column(scene.job) * x.stride[1];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        rows[column] = (const GLOBAL char *)x.data +
                       (head + row_of_column(scene.job, column) * x.stride[2]) * bytes;
}

DEVICE int bias_bytes(const struct terms &t)
{
    return has(t, TERM_BIAS_F32) ? 4 : 2;
}

DEVICE struct terms terms_of(const struct attn_problem &a, const struct sequence &sequence,
                             const struct job &job)
{
    struct scene scene = {sequence.number, job, sequence.seq_k - sequence.seq_q, 0};
    struct terms t = {};
    if (TERMS_CERTAIN & TERM_SLOPE)
        scene.slope = slope_of(a, scene) / __builtin_fabsf(a.scale);
#if KERNEL_SCALES
    scene.scale = __builtin_fabsf(SIGNED_SCALE(a, sequence, job));
#endif
    t.scene = remember(scene);
    t.which = which_terms(a);
    if ((TERMS_KNOWN & TERMS_HIDING) == 0)
        return t;
    const int bytes = has(t, TERM_BIAS) ? bias_bytes(t) : 1;
    find_rows(t.rows, has(t, TERM_BIAS) ? a.bias : a.keep, bytes, scene);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        t.rows[column] += first_key() * (u32)bytes;
    return t;
}

constexpr int AHEAD_WORDS = KEY_BLOCKS * ACC / 2; /* of a column of 16-bit bias */
/* Keys of a tile of which a lane asks what all share. */
constexpr int COMMON = KERNEL_TILE_K / KERNEL_WAVE;

/* What is read of a tile at once, before the product with K, in whose time it arrives. */
struct ahead {
    u32 word[Q_BLOCKS][AHEAD_WORDS]; /* in the order of a column's elements */
    u32 common;                      /* of the mask */
};

/* Keys of a tile as loads see them. Uniform. */
struct term_tile {
    int key;   /* the first one */
    int seq_k; /* how many exist in all */
};

template <int bytes, int count> struct run_of_keys {
    typedef u32 words __attribute__((ext_vector_type(count * bytes / 4)));
    typedef const GLOBAL words anywhere __attribute__((aligned(1)));
};

/*
 * Four elements from `key` on of a row that has at least four; those beyond `seq_k` are some other
 * ones. Elements that the row's last four have in common with them move to where they belong.
 */
template <int bytes>
DEVICE void load_last(u32 (&to)[bytes], const GLOBAL char *row, int key, int seq_k)
{
    int last = seq_k > 4 ? seq_k - 4 : 0, first = key < last ? key : last;
    if (bytes == 4) {
#pragma unroll
        for (int i = 0; i < bytes; i++) {
            int n = key + i < last + 3 ? key + i : last + 3;
            to[i] = *(const GLOBAL u32 *)(row + n * 4);
        }
        return;
    }
    auto x = *(typename run_of_keys<bytes, 4>::anywhere *)(row + first * bytes);
    u32 shift = (u32)(key - first) * bytes * 8;
    kernarg_u64 all = 0;
#pragma unroll
    for (int i = 0; i < bytes; i++)
        all |= (kernarg_u64)x[i] << 32 * i;
    all = bytes == 1 ? (u32)all >> (shift & 31) : all >> (shift & 63);
#pragma unroll
    for (int i = 0; i < bytes; i++)
        to[i] = (u32)(all >> 32 * i);
}

/* Block `block` of a column whose row is `row`; of a tile that may not exist whole. */
template <int bytes>
DEVICE void load_block(u32 *to, const GLOBAL char *row, int block, const struct term_tile &tile)
{
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        u32 x[bytes];
        load_last<bytes>(x, row, tile.key + block * BLOCK + key_step(i) + (int)first_key(),
                         tile.seq_k);
#pragma unroll
        for (int j = 0; j < bytes; j++)
            to[i * bytes / 4 + j] = x[j];
    }
}

/* Of a tile that does; `at` is where this lane's first key of the tile is. From element i on. */
template <int bytes> DEVICE void load_whole_run(u32 *to, const GLOBAL char *at, int block, int i)
{
    constexpr int WORDS = KEY_RUN * bytes / 4;
    auto x =
        *(typename run_of_keys<bytes, KEY_RUN>::anywhere *)(at +
                                                            (block * BLOCK + key_step(i)) * bytes);
#pragma unroll
    for (int j = 0; j < WORDS; j++)
        to[i * bytes / 4 + j] = x[j];
}

template <int bytes> DEVICE void load_whole_block(u32 *to, const GLOBAL char *at, int block)
{
#pragma unroll
    for (int i = 0; i < ACC; i += KEY_RUN)
        load_whole_run<bytes>(to, at, block, i);
}

/* Whether the rows of bias and mask are found anew, but for what is read ahead. */
#define ROWS_ANEW (TERMS_CERTAIN == 0 || FOLDS_TERMS)

/*
 * Calls f(column, block, its words) for each block of bias or mask. Those of all blocks at once
 * would be too many registers.
 */
template <int bytes, bool whole, class F>
DEVICE void walk_blocks(const struct kernarg_tensor &x, const struct terms &t,
                        const struct term_tile &tile, F f)
{
    const GLOBAL char *rows[Q_BLOCKS];
    if (ROWS_ANEW)
        find_rows(rows, x, bytes, recall(t));
#pragma unroll
    for (int column = 0; !ROWS_ANEW && column < Q_BLOCKS; column++)
        rows[column] = t.rows[column] - first_key() * (u32)bytes;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            u32 word[ACC * bytes / 4];
            __builtin_amdgcn_sched_barrier(0);
            if (whole)
                load_whole_block<bytes>(word, rows[column] + (tile.key + (int)first_key()) * bytes,
                                        block);
            else
                load_block<bytes>(word, rows[column], block, tile);
            f(column, block, word);
        }
}

/*
 * The same; whether the tile exists whole is found out where not `whole`. Where the bias of
 * wave64's long tiles is read ahead there are no registers for both ways.
 */
template <int bytes, bool whole, class F>
DEVICE void each_block(const struct kernarg_tensor &x, const struct terms &t,
                       const struct term_tile &tile, F f)
{
    const bool asks = ROWS_ANEW || STAGE_DIM > 64 || KEY_BLOCKS <= 2;
    if (whole || (asks && tile.key + KERNEL_TILE_K <= tile.seq_k))
        return walk_blocks<bytes, true>(x, t, tile, f);
    walk_blocks<bytes, false>(x, t, tile, f);
}

/* Whether the tile is read at once: 16-bit bias; mask. */
DEVICE bool bias_ahead(const struct terms &t)
{
    if (TERMS_CERTAIN != 0)
        return TERMS_CERTAIN & TERM_BIAS;
    return (which_here(t) & (TERM_BIAS | TERM_BIAS_F32)) == TERM_BIAS;
}

DEVICE bool keep_ahead(const struct terms &t)
{
    if (TERMS_CERTAIN != 0)
        return TERMS_CERTAIN & TERM_KEEP;
    return (which_here(t) & (TERM_KEEP | TERM_KEEP_COMMON | TERM_BIAS)) == TERM_KEEP;
}

template <int bytes>
DEVICE void load_columns(struct ahead &x, const struct terms &t, const struct term_tile &tile)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const GLOBAL char *at = t.rows[column] + tile.key * bytes;
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            load_whole_block<bytes>(x.word[column] + block * (ACC * bytes / 4), at, block);
    }
}

/* What all queries share of the mask: of COMMON keys a lane, those of all lanes a tile. */
DEVICE u32 load_common(const struct attn_problem &a, const struct scene &scene, int key)
{
    typedef const GLOBAL u16 pair __attribute__((aligned(1)));
    static_assert(COMMON == 1 || COMMON == 2, "a byte or a pair of them");
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in a register */
    const GLOBAL char *at = (const GLOBAL char *)a.keep.data +
                            (scene.number * a.keep.stride[0] + scene.job.head * a.keep.stride[1]) +
                            key + lane * COMMON;
    return COMMON == 1 ? *(const GLOBAL unsigned char *)at : *(pair *)at;
}

/* Whether none of the keys is hidden from all queries. */
DEVICE bool all_kept(u32 common)
{
    bool zero = (common & 0xff) == 0;
    if (COMMON == 2)
        zero |= common >> 8 == 0;
    return !in_any_lane(zero);
}

/* Of a tile that exists whole. */
DEVICE void load_ahead(struct ahead &x, const struct terms &t, const struct term_tile &tile)
{
    if (!has(t, TERM_BIAS | TERM_KEEP))
        return;
    if (bias_ahead(t))
        load_columns<2>(x, t, tile);
    else if (keep_ahead(t))
        load_columns<1>(x, t, tile);
    if (has(t, TERM_KEEP_COMMON))
        x.common = load_common(late_problem(), recall(t), tile.key);
}

/* Element i of 16-bit ones. */
DEVICE float bias_element(const u32 *word, int i)
{
#if KERNEL_DTYPE == MMA_F16
    return (float)__builtin_bit_cast(f16x2, word[i / 2])[i % 2];
#else
    return __builtin_bit_cast(float, i % 2 ? word[i / 2] & 0xffff0000u : word[i / 2] << 16);
#endif
}

#endif
