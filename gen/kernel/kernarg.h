/*
 * The kernel arguments, byte for byte as the GPU reads them: one description, compiled into the
 * kernels (HIP) and into the library that fills them (lib/select/args.c, C11).
 *
 * Raise FORMAT_KERNARG_VERSION with any change: the loader refuses images of another version.
 */
#ifndef AOTHIP_KERNARG_H
#define AOTHIP_KERNARG_H

#ifdef __HIP__
typedef signed int kernarg_i32;
typedef unsigned int kernarg_u32;
typedef signed long kernarg_i64;
typedef unsigned long kernarg_u64;
#define KERNARG_ASSERT(e, text) static_assert(e, text)
#else
#include <stddef.h>
#include <stdint.h>
typedef int32_t kernarg_i32;
typedef uint32_t kernarg_u32;
typedef int64_t kernarg_i64;
typedef uint64_t kernarg_u64;
#define KERNARG_ASSERT(e, text) _Static_assert(e, text)
#endif

#define FORMAT_KERNARG_VERSION 13

/* Strides of a (batch, head, sequence, channel) tensor in elements; the channel stride is 1. */
struct kernarg_strides {
    kernarg_i64 batch, head, seq;
};

/* A tensor whose strides are all free, such as a bias (batch, head, query, key). */
struct kernarg_tensor {
    kernarg_u64 data; /* 0: there is none */
    kernarg_i64 stride[4];
};

/*
 * Kernels without FORMAT_FEATURE_UNALIGNED address a tile of up to 128 rows with 32-bit offsets:
 * the sequence strides of q, k, v and o must not exceed this. Beside that, they need
 * 16-byte-aligned tensors, outer strides that are multiples of 8 elements, and dims that are
 * multiples of 8.
 */
#define KERNARG_ALIGNED_STRIDE_MAX (1 << 23) /* elements */

/* Bits of attn_problem.flags. */
enum kernarg_flag {
    KERNARG_INDEX64 = 1 << 0,        /* q_seqs and k_seqs name arrays of i64; else i32 */
    KERNARG_FIRST_FROM_END = 1 << 1, /* key_first counts from the bottom-right diagonal: the */
                                     /* sequence's own seq_k - seq_q is added to it */
    KERNARG_LAST_FROM_END = 1 << 2,  /* key_last likewise */
    KERNARG_LSE_PACKED = 1 << 3,     /* rows of lse and delta count from start_q, not from 0 */
    KERNARG_LSE_PITCH_READ = 1 << 4, /* their head stride is q_seqs.starts[batch], or else */
                                     /* q_seqs.cumulative[batch], instead of lse_stride.head */
    KERNARG_BIAS_F32 = 1 << 5,       /* type of bias; else that of q */
    KERNARG_DROPOUT = 1 << 6,        /* dropout_p > 0 */
    KERNARG_PROBS_DROPPED = 1 << 7,  /* attn_probs writes P / (1 - p), negative where dropped; */
                                     /* else +0.5 kept, -0.5 dropped */
    KERNARG_ROTARY_INTERLEAVED = 1 << 8,
    KERNARG_ROTARY_CONSTANT_Q = 1 << 9, /* all rows of q are rotated for position old length */
    KERNARG_ALIKE = 1 << 10,            /* each sequence has q_seqs.max and */
                                        /* k_seqs.max rows of its own batch entry, from row 0 on, */
                                        /* keys_most is not below that, and all of its lse exists */
    KERNARG_TILES_ALONG_Z = 1 << 11,    /* of attn_fwd's grid, and those like it */
};

/*
 * Bits of attn_bwd_args.terms: what the problem has of score terms, for walks over aligned rows.
 * Quads are four keys that one aligned load has.
 */
enum kernarg_term {
    KERNARG_TERM_SOFTCAP = 1 << 0,
    KERNARG_TERM_ALIBI = 1 << 1,
    KERNARG_TERM_BIAS = 1 << 2,
    KERNARG_TERM_KEEP = 1 << 3,
    KERNARG_TERM_DROPOUT = 1 << 4,
    KERNARG_TERM_BIAS_F32 = 1 << 5,
    KERNARG_TERM_BIAS_QUADS = 1 << 6,
    KERNARG_TERM_KEEP_QUADS = 1 << 7,
    KERNARG_TERM_DBIAS = 1 << 8, /* attn_bwd_dq writes it: of the type of q */
    KERNARG_TERM_DBIAS_F32 = 1 << 9,
    KERNARG_TERM_DBIAS_QUADS = 1 << 10,
};

/*
 * Where the sequences of one side (q and o; k and v) lie. Sequence b has
 *
 *     length(b)   lengths ? lengths[b] : cumulative ? cumulative[b + 1] - cumulative[b] : max
 *     start(b)    starts ? starts[b] : packed && cumulative ? cumulative[b] : 0
 *
 * plus `extra` rows of length, and its row r is row start(b) + r of batch entry packed ? 0 : b.
 * Lengths are cut to [0, rows - start], negative starts make the length 0, so that no access leaves
 * the tensor. Dense: all 0 but max and rows.
 */
struct kernarg_seqs {
    kernarg_u64 cumulative, lengths, starts; /* device addresses or 0 */
    kernarg_i32 max;    /* where neither cumulative nor lengths is given: the length of all */
    kernarg_i32 rows;   /* size of the tensor along the sequence (paged: table width * page size) */
    kernarg_i32 packed; /* 0 or 1 */
    kernarg_i32 extra;  /* rows appended to k in this call, which `lengths` does not count yet */
};

/*
 * What forward and backward kernels share.
 *
 * Visible keys of row m of a sequence: the interval [max(0, m + first), min(seq_k - 1, m + last)],
 * where first = key_first, plus the sequence's seq_k - seq_q if KERNARG_FIRST_FROM_END is set, and
 * last alike. Additions saturate.
 *
 * Score of row m and key n, in this order (x is q . k as a plain dot product):
 *
 *     s = scale * x
 *     s = softcap * tanh(s / softcap)                 softcap > 0
 *     s = s - slope * |m + seq_k - seq_q - n|         alibi
 *     s = s + bias[m, n]                              bias
 *     s = -infinity                                   not visible, or keep[m, n] == 0
 *
 * P = exp(s - lse), where lse = ln(sum exp(s) + exp(sink)). A row whose every s is -infinity and
 * that has no sink gets o = 0, lse = +infinity; with a sink o = 0, lse = sink.
 * Everything below `score features` is read by kernels with FORMAT_FEATURE_SCORE only, except that
 * sinks are for all.
 *
 * Dropout: element (b, h, m, n) is kept iff (i16)number > threshold, where number is number
 * n % 4 + n / 16 % 2 * 4 of the eight in the words of Philox4x32-10 (lower halves first) with
 * key = seed and
 *
 *     counter (128 bit, low 64) = offset + (b * heads_q + h) * dropout_head_pitch
 *                                        + m * dropout_row_pitch + n / 32 * 4 + n / 4 % 4
 *
 * and b, m, n count within the batch and the sequences. Both halves of dropout_thresholds are the
 * threshold. Kept elements of P are multiplied by dropout_scale = 1 / (1 - p) in the output; lse is
 * that without dropout.
 * seed = dropout_seed + (seed_pointer ? *seed_pointer : 0) and offset alike (u64). With
 * KERNARG_DROPOUT unset no pointer here is followed.
 */
struct attn_problem {
    kernarg_u64 q, k, v; /* device addresses; type of the kernel's name */
    struct kernarg_strides q_stride, k_stride, v_stride;
    kernarg_i32 batch; /* sequences */
    kernarg_i32 heads_q, heads_k;
    kernarg_i32 group; /* heads_q / heads_k */
    kernarg_i32 seq_q; /* longest: the grid covers this many rows of every sequence */
    kernarg_i32 seq_k; /* length of k where all are alike; not to be relied on otherwise */
    kernarg_i32 dim_qk, dim_v;
    kernarg_i32 grid_y;    /* sequences by which z goes on: the workgroups along y, or 0 */
    kernarg_i32 heads_x;   /* heads along x */
    kernarg_i32 heads_z;   /* heads by which z goes on: heads_x, or 0 */
    kernarg_u32 flags;     /* enum kernarg_flag */
    float scale;           /* softmax scale, natural units */
    kernarg_i32 key_first; /* in [-2^30, 2^30]; -2^30 where unbounded */
    kernarg_i32 key_last;  /* in [-2^30, 2^30];  2^30 where unbounded */
    float lse_unit;        /* what lse is in memory: natural log times this (1 or log2(e)) */
    struct kernarg_seqs q_seqs, k_seqs;
    /* lse and delta, f32: element (b, h, m) lies at b * batch + h * head + (m or start_q + m) * seq
     */
    struct kernarg_strides lse_stride;
    kernarg_i64 lse_size; /* elements that exist; nothing at or beyond is accessed */
    kernarg_u64 sinks;    /* f32 (heads_q) or 0 */

    /* score features */
    struct kernarg_tensor bias; /* (batch, heads_q, seq_q, seq_k) */
    struct kernarg_tensor keep; /* bytes, the same shape; 0 masks */
    kernarg_u64 alibi;          /* f32 slopes: element b * alibi_stride + h; or 0 */
    kernarg_i64 alibi_stride;
    float softcap; /* 0: none */
    float dropout_scale;
    kernarg_u32 dropout_thresholds;
    kernarg_i32 page_shift; /* log2 of the rows of a page of k and v */
    kernarg_u64 dropout_seed, dropout_offset;
    kernarg_u64 dropout_seed_pointer, dropout_offset_pointer; /* device addresses or 0 */
    kernarg_i64 dropout_row_pitch, dropout_head_pitch;        /* in counters */

    /*
     * Kernels with FORMAT_FEATURE_PAGED only. block_table, i32: row r of k and v of sequence b is
     * row r % page of entry block_table[b * block_table_stride + r / page] along the batch
     * dimension of k and v. batch_index, i32: sequence b has the keys and values of batch entry
     * batch_index[b]. At most one of the two is given. Entries that are not below `pages`, or
     * negative, name pages that do not exist: nothing is read or written there, and their keys are
     * not seen; a sequence of such a batch entry has no keys.
     */
    kernarg_u64 block_table, batch_index;
    kernarg_i64 block_table_stride;
    kernarg_i32 pages; /* entries of k and v along the batch dimension */

    /* A score feature: keys that bias and keep have room for. Lengths of k are cut to it. */
    kernarg_i32 keys_most;
};

/*
 * attn_fwd. Passed by value as the kernel's only parameter.
 *
 * Grid: x = tiles_q * heads_x with tiles_q = ceil(seq_q / tile_q), heads_x = heads_q and y * z >=
 * batch. Or grid_y = 0, y = batch and either KERNARG_TILES_ALONG_Z, x = heads_q, z = tiles_q, or,
 * on RDNA, heads_x * z = heads_q, the heads of one z being those of whole groups, which start
 * before those of the next. A workgroup (x, y, z) handles head x % heads_x + z * heads_z, query
 * tile tiles_q - 1 - x / heads_x (long causal rows start first), or tiles_q - 1 - z, and sequence
 * z * grid_y + y; it returns at once where that is >= batch or the tile is beyond the sequence's
 * rows. On gfx942 and gfx950 the heads of a tile are in the order of deal.h.
 */
struct attn_fwd_args {
    struct attn_problem problem;
    kernarg_u64 o; /* device address; type of q */
    struct kernarg_strides o_stride;
    kernarg_u64 lse;                        /* f32, or 0 */
    kernarg_u64 seed_output, offset_output; /* u64, or 0: written by one thread with dropout */
};

/* attn_merge: threads that share a part of a row, and its channels. */
enum { KERNARG_MERGE_LANES = 16, KERNARG_MERGE_PART = 128 };

/*
 * attn_split: the keys of each sequence are cut into `splits` runs of whole tiles, each computed by
 * its own workgroup as if it were all; attn_merge puts them together in a fixed order.
 *
 * attn_split grid: x = tiles * heads_k * splits, y * z >= batch. A tile holds tile_q of the
 * group * seq_q rows (m, head in group) that share a key head, m slowest. Workgroup x handles
 * split x % splits, key head x / splits % heads_k, tile x / splits / heads_k; on gfx942 and
 * gfx950 as deal.h says.
 * partial_o, f32: (batch, heads_q, seq_q, splits, dim_v) contiguous, normalised within its split.
 * partial_sums, f32: (batch, heads_q, seq_q, splits, 2), a score t and the sum of exp(s - t) over
 * the split's scores, without sink; a sum of 0 where it has no visible key. One number, their
 * log-sum-exp, would not tell apart sums beside scores of millions.
 *
 * attn_merge grid: x = ceil((heads_q * seq_q << merge_shift) * KERNARG_MERGE_LANES / threads),
 * y * z >= batch. A row of o has 1 << merge_shift parts of KERNARG_MERGE_PART channels, of which
 * some may lie beyond dim_v, and KERNARG_MERGE_LANES threads have a part: those of number i along
 * x part i % (1 << merge_shift) of row i >> merge_shift of all heads' rows. Adds the sink, writes o
 * and lse.
 */
struct attn_split_args {
    struct attn_fwd_args fwd;
    kernarg_u64 partial_o, partial_sums;
    kernarg_i32 splits;
    kernarg_i32 merge_shift; /* of attn_merge */
};

/*
 * attn_append: writes `rows` new rows of k and v behind each sequence of a cache, and rotates them
 * and q (rotary position embedding, Su et al. 2021). The new rows of sequence b become rows
 * old .. old + rows - 1, old = length(b) without k_seqs.extra; problem.k and problem.v are the
 * caches. Row at position p, channel pair (x, y) of number i < rotary_dim / 2, which is channels
 * (2i, 2i + 1) if interleaved, else (i, i + rotary_dim / 2):
 *
 *     (x, y)  ->  (x cos[p, i] - y sin[p, i],  x sin[p, i] + y cos[p, i])
 *
 * With first = packed ? 0 : start(b), row r of a sequence of k is at position first + r, and row m
 * of q at first + old + m, or first + old with KERNARG_ROTARY_CONSTANT_Q; it goes to q_out, (batch,
 * heads_q, seq_q, dim_qk) contiguous (packed q: by sequence, seq_q rows each). Rows that do not fit
 * k_seqs.rows are dropped.
 *
 * Grid: x = heads_q * seq_q (if q_out) + heads_k * rows, y * z >= batch: one workgroup a row.
 */
struct attn_append_args {
    struct attn_problem problem;
    kernarg_u64 k_new, v_new; /* (batch, heads_k, rows, dim); 0: only q is rotated */
    struct kernarg_strides k_new_stride, v_new_stride;
    kernarg_u64 q_out;                  /* 0 if q is not rotated */
    kernarg_u64 rotary_cos, rotary_sin; /* (rotary_rows, rotary_dim / 2), type of q; or 0 */
    kernarg_i64 rotary_stride;
    kernarg_i32 rows, rotary_dim, rotary_rows, padding;
};

/*
 * attn_probs: the matrix of kept and dropped elements, or of probabilities (KERNARG_PROBS_DROPPED,
 * which needs lse, q and k). One thread an element.
 * Grid: x = heads_q * seq_q * ceil(probs_k / threads), y * z >= batch.
 */
struct attn_probs_args {
    struct attn_problem problem;
    kernarg_u64 lse;             /* f32 */
    struct kernarg_tensor probs; /* (batch, heads_q, seq_q, probs_k) */
    kernarg_i32 probs_k;
    kernarg_i32 probs_dtype; /* enum aothip_dtype */
};

/*
 * attn_bwd_delta, attn_bwd_dkdv, attn_bwd_dq, attn_bwd_dbias, attn_bwd_dscalar.
 *
 * delta[m] = sum over channels of do * o. attn_bwd_delta writes it, the others read it.
 *
 *     grid of attn_bwd_dq                    as attn_fwd
 *     grid of attn_bwd_delta                 as attn_fwd with heads_x = heads_q
 *     grid of attn_bwd_dkdv                  as attn_fwd with heads_k, tile_k and seq_k: x =
 *                                            ceil(seq_k / tile_k) * heads_x; key head x % heads_x +
 *                                            z * heads_z (gfx942, gfx950: deal.h), key tile
 *                                            x / heads_x or z; sums over the heads of a group in a
 *                                            fixed order
 *     grid of attn_bwd_dbias                 x = ceil(dbias_rows / tile_q) *
 *                                            ceil(dbias_keys / tile_k) * dbias_heads,
 *                                            y * z >= dbias_batch: sums over what is broadcast in
 *                                            a fixed order
 *     grid of attn_bwd_dscalar               x = heads_q, y * z >= 1 (sinks) or batch (alibi)
 *
 * attn_bwd_dkdv and attn_bwd_dq have more behind these: kernarg_share.h.
 */
struct attn_bwd_args {
    struct attn_problem problem;
    kernarg_u64 o, d_o;
    struct kernarg_strides o_stride, do_stride;
    kernarg_i64 do_channel; /* channel stride of d_o in elements: 1, but where the kernel has */
                            /* FORMAT_FEATURE_UNALIGNED */
    kernarg_u64 lse, delta; /* f32; both in the layout of problem.lse_stride */
    kernarg_u64 dq, dk, dv; /* type of q; 0 where not wanted */
    struct kernarg_strides dq_stride, dk_stride, dv_stride;
    struct kernarg_tensor dbias;        /* type of bias; attn_bwd_dq writes it if it is given */
    kernarg_i32 dbias_batch;            /* 1 or batch: size of dbias there; 1 sums over it */
    kernarg_i32 dbias_heads;            /* 1 or heads_q */
    kernarg_i32 dbias_rows, dbias_keys; /* its sizes there; 1 sums over the rows, the keys */
    kernarg_u64 dsinks, dalibi;         /* f32, shape of sinks, alibi; or 0 */
    kernarg_i32 tiles_k;                /* ceil(seq_k / tile_k) of the grid */
    kernarg_u32 terms;                  /* enum kernarg_term */
};

KERNARG_ASSERT(sizeof(struct kernarg_strides) == 24, "kernarg layout");
KERNARG_ASSERT(sizeof(struct kernarg_tensor) == 40, "kernarg layout");
KERNARG_ASSERT(sizeof(struct kernarg_seqs) == 40, "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_problem) == 24 + 72 + 64 + 80 + 40 + 80 + 16 + 16 + 48 + 32,
               "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_fwd_args) == sizeof(struct attn_problem) + 56, "kernarg layout");

#endif
