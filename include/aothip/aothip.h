/*
 * aothip: scaled-dot-product attention on AMD GPUs from precompiled kernels.
 *
 *     S = scale * Q K^T                      (per batch entry and query head)
 *     P = softmax(S over the visible keys)
 *     O = P V,   lse = ln(sum over the visible keys of exp(S))
 *
 * (Vaswani et al. 2017, eq. 1, in the tiled form of Dao et al. 2022.)
 *
 * This header is the specification. It is plain C99 and may be included from C++.
 *
 * Common rules
 * - Tensors live in device memory; the library never reads or writes them from the host.
 * - Strides count elements of the tensor's own type, never bytes.
 * - All work is asynchronous on the caller's stream; the library never synchronises and, after the
 *   first call of a kernel on a device, can be captured in a HIP graph.
 * - Every function may be called from any number of threads at once, on one context or on several,
 *   except that aothip_close() needs the context to be idle.
 * - Every function that can fail returns an aothip_status. Alongside, the calling thread's
 *   aothip_last_error() holds one line that names the argument, file, kernel or GPU at fault.
 *   A call that fails has launched nothing and written nothing, but for one case: HIP itself
 *   refuses a later one of several launches.
 * - Nothing is printed unless the environment variable AOTHIP_LOG is set to 1 (failures) or
 *   2 (failures, image loading and every launch); it goes to stderr.
 * - For bug reports, AOTHIP_CAPTURE=DIR writes every launch of contexts opened since into DIR, with
 *   its tensors, for aothip-replay(1). It waits for the stream around each launch, and a call that
 *   cannot write the capture's end fails although it has launched. Launches that go into a HIP
 *   graph are not written; others make void what is captured on other streams meanwhile.
 */
#ifndef AOTHIP_H
#define AOTHIP_H

#include <stddef.h>
#include <stdint.h>

#define AOTHIP_VERSION_MAJOR 0
#define AOTHIP_VERSION_MINOR 1
#define AOTHIP_VERSION_PATCH 0

#if defined(__GNUC__)
#define AOTHIP_API __attribute__((visibility("default")))
#else
#define AOTHIP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Values are frozen; new ones are appended. The texts stand in lib/status/status.def. */
enum aothip_status {
    AOTHIP_OK = 0,
    AOTHIP_E_ARGUMENT = 1,    /* an argument breaks a rule stated in this header */
    AOTHIP_E_UNSUPPORTED = 2, /* legal, but no kernel in the images of this GPU computes it */
    AOTHIP_E_NO_HIP = 3,      /* no HIP runtime could be found, or it lacks a needed function */
    AOTHIP_E_HIP = 4,         /* a HIP call failed: see aothip_last_hip_error() */
    AOTHIP_E_NO_DEVICE = 5,   /* no such device, or no GPU at all */
    AOTHIP_E_NO_IMAGES = 6,   /* no image directory, or none for this GPU in it */
    AOTHIP_E_IO = 7,          /* an image file could not be read */
    AOTHIP_E_FORMAT = 8,      /* an image file breaks the format (images/FORMAT.md) */
    AOTHIP_E_CHECKSUM = 9,    /* an image file is damaged */
    AOTHIP_E_VERSION = 10,    /* an image file was made for another version of this library */
    AOTHIP_E_TARGET = 11,     /* a code object does not fit this GPU */
    AOTHIP_E_MEMORY = 12      /* host memory ran out */
};

/* Element types of tensors. Values are frozen. */
enum aothip_dtype {
    AOTHIP_F32 = 1,  /* IEEE 754 binary32 */
    AOTHIP_F16 = 2,  /* IEEE 754 binary16 */
    AOTHIP_BF16 = 3, /* upper half of a binary32 */
    AOTHIP_BOOL = 4, /* one byte, 0 is false: boolean masks only */
    /*
     * FP8, one byte: sign, exponent, fraction. The first two are those of OCP (OFP8): E4M3 has no
     * infinity, and NaN is S.1111.111 alone; E5M2 is the upper half of a binary16. FNUZ have an
     * exponent bias greater by one, neither -0 nor infinity, and one NaN, 0x80. q, k, v alone.
     */
    AOTHIP_FP8_E4M3 = 5, /* bias 7, up to 448 */
    AOTHIP_FP8_E5M2 = 6, /* bias 15, up to 57344 */
    AOTHIP_FP8_E4M3_FNUZ = 7, /* bias 8, up to 240 */
    AOTHIP_FP8_E5M2_FNUZ = 8  /* bias 16, up to 57344 */
};

/*
 * Which keys a query sees: always an interval. Query row m and key n count from 0 within their
 * sequences, seq_q and seq_k are the lengths of that sequence, L = window_left, R = window_right.
 * Negative L and R are taken literally; AOTHIP_WINDOW_UNBOUNDED opens a side.
 */
enum aothip_mask {
    AOTHIP_MASK_NONE = 0,                /* all keys */
    AOTHIP_MASK_CAUSAL_TOP_LEFT = 1,     /* n <= m */
    AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT = 2, /* n <= m + seq_k - seq_q */
    AOTHIP_MASK_WINDOW_TOP_LEFT = 3,     /* m - L <= n <= m + R (AOTriton) */
    /* the same with m + seq_k - seq_q for m (flash-attention) */
    AOTHIP_MASK_WINDOW_BOTTOM_RIGHT = 4,
    AOTHIP_MASK_WINDOW_MIXED = 5 /* m - L <= n <= m + seq_k - seq_q + R */
};
#define AOTHIP_WINDOW_UNBOUNDED INT32_MAX

/* Where the elements of lse lie. */
enum aothip_lse_layout {
    AOTHIP_LSE_ROWS = 0,  /* (batch, heads_q, max_seq_q): row m of its sequence */
    AOTHIP_LSE_HEADS = 1, /* (heads_q, total_q), total_q = q.size[2]: row of q; q not packed: */
                          /* (heads_q, batch, max_seq_q) */
    AOTHIP_LSE_TOTAL = 2, /* (total_q, heads_q); q not packed: (batch, max_seq_q, heads_q) */
    /*
     * As AOTHIP_LSE_HEADS, but with the pitch between heads read on the device: starts[sequences]
     * if q_seqs.starts is given (which then needs one element more), else cumulative[sequences].
     */
    AOTHIP_LSE_HEADS_COMPACT = 3
};

/*
 * A four-dimensional view of device memory: (batch, head, sequence, channel), whatever the order in
 * memory. Element (b, h, s, d) lies at data + b*stride[0] + h*stride[1] + s*stride[2] + d.
 * stride[3] must be 1; the other strides may be any value from 0 to 2^48, so BHSD, BSHD, packed QKV
 * and broadcast tensors all fit. The stride of a dimension of size 1 is ignored. An output must not
 * overlap itself or any input; overlaps that need no search to be seen are refused. data needs the
 * natural alignment of dtype only; where all of q, k, v and o have 16-byte-aligned data, strides of
 * multiples of 8 elements and head dims of multiples of 8 (of FP8: 16), faster kernels run. Other
 * rows of 16-bit elements cost the forward pass little where they have 8 to 128 channels and
 * neither score terms (bias, keep, ALiBi, soft-cap, dropout) nor pages nor a batch index; elsewhere
 * it loads single elements of them, which takes several times the instructions. So it does of FP8
 * that is converted, but is not aligned, has more than 256 channels, or, on gfx90a, score terms.
 */
struct aothip_tensor {
    void *data;
    int64_t size[4];
    int64_t stride[4];
    int32_t dtype; /* enum aothip_dtype */
};

/*
 * Where the sequences of one side lie (q and o; k and v), for batches of sequences of different
 * length. All zero: every sequence is as long as the tensor. The arrays are in device memory, of
 * int32_t, or of int64_t if index64 is set in the params. Sequence b
 *
 *     has length  lengths[b] if given, else cumulative[b + 1] - cumulative[b], else max if that is
 *                 set and starts is given, else the tensor's
 *     starts at   starts[b] if given, else, if packed, cumulative[b], else 0
 *
 * packed: all sequences lie behind each other in one batch entry: the tensors' size[0] is 1, and
 * row r of sequence b is row start + r. Otherwise sequence b is batch entry b, perhaps padded.
 *
 *     compact (flash-attention varlen)   packed = 1, cumulative
 *     padded                             packed = 0, lengths or cumulative
 *     strided (seqused_k)                packed = 1, starts and lengths (or cumulative for lengths)
 *
 * What a sequence has beyond the end of the tensor does not exist: nothing outside the tensor is
 * accessed, whatever the arrays hold. Nor does what a sequence of k has beyond the keys that bias
 * or keep has room for (a size of 1 has for all): its length is theirs. Rows that belong to no
 * sequence are not touched.
 */
struct aothip_seqs {
    const void *cumulative; /* (sequences + 1) or NULL */
    const void *lengths;    /* (sequences) or NULL */
    const void *starts;     /* (sequences), or one more: see AOTHIP_LSE_HEADS_COMPACT; or NULL */
    int32_t packed;         /* 0 or 1 */
    /*
     * No sequence is longer (of one that is all the same, the rows of o and lse beyond are not
     * defined); 0: no longer than the tensor. For k: a hint, and the pitch of dropout; rows of dk
     * and dv beyond it may be left unwritten.
     */
    int32_t max;
};

/*
 * What elements of FP8 stand for: their value times data[b * stride[0] + g * stride[1]], where b is
 * the sequence and g the key head, also for q: all query heads of a group have the same. The scales
 * are in device memory; strides count floats, from 0 to 2^48, where 0 is the same scale for all.
 * Zero and negative scales work. One of NaN or infinity makes rows of o that use it NaN or
 * undefined, no others.
 */
struct aothip_scale {
    const float *data; /* NULL: 1 */
    int64_t stride[2];
};

/*
 * Arguments of aothip_attn_fwd(). Zero the struct, set struct_size = sizeof(struct ...), fill in
 * what applies; whatever is zero is absent. Fields are only ever appended, and a field beyond the
 * caller's struct_size counts as zero, so a program built with an older header keeps its meaning;
 * one built with a newer header works as long as the fields that this library does not know are
 * zero.
 *
 *   q    (batch, heads_q, seq_q, dim_qk)   F16, BF16, F32 or FP8
 *   k    (batch, heads_k, seq_k, dim_qk)   type of q, or FP8 where q is F16 or BF16
 *   v    (batch, heads_k, seq_k, dim_v)    type of k
 *   o    (batch, heads_q, seq_q, dim_v)    type of q; F16 or BF16 where q is FP8; written
 *   lse  F32, layout by lse_layout, contiguous; written; may be NULL
 *
 * FP8 comes in two ways. Where k and v alone are FP8, a cache that takes half the memory, they are
 * converted, without rounding, to q's type: this goes on all GPUs, with any of the four types, but
 * on RDNA 3 beyond head dims of 256 where keys are not shared out (see splits).
 * Where q is FP8, too, the GPU must multiply that type, which is FNUZ on gfx942, the others on
 * gfx950, gfx1200 and gfx1201; else it is UNSUPPORTED. Where head dims are multiples of 16 up to
 * 128, rows of q, k and v begin at multiples of 16 bytes, bias, keep, alibi_slopes, softcap and
 * dropout are absent and keys are not shared out (see splits), the products are of FP8, and P is
 * rounded to the e4m3 of their kind. Elsewhere all three are converted to o's type.
 * probs_dropped, the backward pass and aothip_attn_merge() refuse FP8, k_new refuses FP8 of q.
 *
 * All sizes at most 2^30. dim_qk and dim_v from 1 to 512.
 * heads_q must be a multiple of heads_k: query head h reads key head h / (heads_q / heads_k).
 * Where batch, heads_q or seq_q is 0 there is nothing to do. Where seq_k is 0 no row sees a key.
 * The data of a tensor without elements may be NULL.
 *
 * Score of row m and key n, the steps in this order:
 *
 *     s = scale * (q[m] . k[n])
 *     s = softcap * tanh(s / softcap)                            if softcap > 0
 *     s = s - alibi_slopes[h] * |m + seq_k - seq_q - n|          if alibi_slopes
 *     s = s + bias[m, n]                                         if bias.data
 *     s = -infinity                                              if masked, or keep[m, n] == 0
 *
 * (ALiBi: Press et al. 2022; soft-cap: Gemma 2, 2024.) A row that sees no key, or whose scores are
 * all -infinity, gets o = 0 and lse = +infinity (with a sink: lse = the sink).
 * scale is used as it is: 0 and negative values work; NaN and infinities are refused. tanh is off
 * by up to 2^-22, and s so by up to 2^-22 softcap: by 1 with a softcap of 4 million.
 *
 * Sums and scores are F32: as long as q . k and each step's s stay within its range, the result is
 * finite, however large they are. NaN or infinity in q, k, v or bias reaches those rows of o and
 * lse alone that see it: not those from which mask or keep hides it, nor, if it is in v, a bias of
 * -infinity; in v, only its channel of o. A row that sees NaN becomes NaN; what a row becomes that
 * sees an infinity is not defined, nor one in which NaN or infinity of q or k meets such a bias.
 */
struct aothip_attn_fwd_params {
    size_t struct_size;
    struct aothip_tensor q, k, v, o;
    float *lse;
    float scale;
    int32_t mask; /* enum aothip_mask */

    int32_t window_left, window_right; /* AOTHIP_MASK_WINDOW_* only */
    int32_t lse_layout;                /* enum aothip_lse_layout */
    int32_t lse_base2;                 /* 1: lse is the logarithm to base 2; 0: natural */
    /* Elements that lse has room for: none beyond is accessed. 0: as many as the layout takes. */
    int64_t lse_size;

    /* Sequences of different length. */
    int32_t sequences; /* how many there are; 0: q.size[0] */
    int32_t index64;   /* 1: the arrays in q_seqs and k_seqs are of int64_t */
    struct aothip_seqs q_seqs, k_seqs;

    /* What goes into the scores. */
    /*
     * bias is (batch, heads_q, max_seq_q, max_seq_k), type of o or F32. keep has the same shape
     * and is AOTHIP_BOOL; 0 masks the key. Each of the sizes may also be 1, which stands for all;
     * all strides are free from 0 to 2^48, also stride[3]. No data: none. A keep of one row for all
     * queries, such as that of padded keys, costs the forward pass least: tiles that it hides are
     * passed over.
     */
    struct aothip_tensor bias, keep;
    const float *alibi_slopes; /* (heads_q), or (batch, heads_q) with a batch stride; or NULL */
    int64_t alibi_stride;      /* from sequence to sequence; 0: the same slopes for all */
    float softcap;             /* 0: none; else positive */

    /*
     * Dropout: keeps each element of P with probability 1 - dropout_p and multiplies what it keeps
     * by 1 / (1 - dropout_p). The words of Philox4x32-10 (Salmon et al. 2011), lower halves first,
     * are eight numbers of 16 bits. Element (b, h, m, n) of the mask is dropped if one of them, as
     * a signed number plus 2^15, is less than 2^16 dropout_p rounded (halves down), but to 1 at
     * least: number n % 4 + n / 16 % 2 * 4 of those with key = seed and counter = offset +
     * ((b * heads_q + h) * M + m) * W + n / 32 * 4 + n / 4 % 4 (64 bits, the upper ones 0), with
     * M = max_seq_q and W = 4 ceil(max_seq_k / 32); where k_seqs is packed and its max 0, W = 2^28.
     * seed and offset are the sum of the value and what the device pointer, if any, points at.
     * With dropout_p = 0 nothing of all this is read or written.
     */
    float dropout_p;       /* 0 .. 1 */
    int32_t probs_dropped; /* what probs gets, see there */
    uint64_t dropout_seed, dropout_offset;
    const uint64_t *dropout_seed_pointer, *dropout_offset_pointer; /* device; NULL counts as 0 */
    uint64_t *dropout_seed_output, *dropout_offset_output;         /* device; the sums; or NULL */
    /*
     * (batch, heads_q, max_seq_q, max_seq_k), F16, BF16 or F32; written; no data: not wanted.
     * +0.5 where the element is kept and -0.5 where it is dropped; with probs_dropped = 1
     * P / (1 - dropout_p), negative where it is dropped (then lse must be given). All strides are
     * free. Sizes 2 and 3 may be smaller or larger than the longest sequence: what does not fit is
     * left out, and what belongs to no sequence is not touched.
     */
    struct aothip_tensor probs;

    /* One float a query head that is added to the softmax's denominator as exp(sink); or NULL. */
    const float *sinks;

    /*
     * Keys and values in pages: k and v are (pages, heads_k, page_size, dim), and row r of
     * sequence b is row r % page_size of page block_table[b * block_table_stride + r / page_size].
     * page_size is a power of two from 16 to 4096. seq_k is then k_seqs.max, or
     * block_table_columns * page_size where that is 0; k_seqs.lengths gives the lengths. Keys in
     * pages that do not exist, of an entry that is negative or not below k.size[0], are masked;
     * what would be appended there is dropped.
     */
    const int32_t *block_table; /* device, (sequences, block_table_columns); or NULL */
    int64_t block_table_stride;
    int32_t block_table_columns;
    int32_t rotary_interleaved; /* pairs are channels (2i, 2i+1), else (i, i + rotary_dim / 2) */
    /*
     * Sequence b reads batch entry batch_index[b] of k and v; device, (sequences); or NULL. One
     * whose entry does not exist has no keys.
     */
    const int32_t *batch_index;

    /*
     * A cache that grows: before attention, the rows of k_new and v_new, (sequences, heads_k,
     * seq_new, dim), are written behind the rows that sequence b has by k_seqs.lengths (or
     * cumulative; one of them must be given, and packed must not), into k and v, and count as keys.
     * Rows that do not fit the cache are dropped. They have the type of q; where k and v are FP8,
     * what is written is, after rotation, divided by the scale, rounded to nearest even and not
     * beyond the largest number of their type, while NaN stays NaN. Not where q is FP8. No data:
     * none.
     */
    struct aothip_tensor k_new, v_new;
    /*
     * (rotary_rows, rotary_dim / 2), type of q, row stride rotary_stride; both or neither: rotate q
     * and k_new by rotary position embedding (Su et al. 2021). With old the rows that the sequence
     * has before this call, plus k_seqs.starts[b] if given and not packed, row m of k_new is at
     * position old + m, and row m of q too, or all of q's at position old where mask is NONE. What
     * is rotated of q goes to the workspace, which must be given; not with q_seqs.packed or
     * q_seqs.starts, nor where q is FP8.
     */
    const void *rotary_cos, *rotary_sin;
    int64_t rotary_stride;
    int32_t rotary_dim;  /* even, at most dim_qk */
    int32_t rotary_rows; /* positions; those beyond are not rotated */

    /*
     * Few queries for many keys: the keys can be shared out to `splits` workgroups; 0 lets the
     * library choose, 1 is none. Needs workspace; with less of it there are as many as fit.
     */
    int32_t splits;
    int32_t reserved;      /* 0 */
    void *workspace;       /* device, 16-byte aligned; contents irrelevant before and after */
    size_t workspace_size; /* aothip_attn_fwd_workspace() says how much is of use */

    struct aothip_scale q_scale, k_scale, v_scale; /* each only with its tensor of FP8 */
};

/*
 * Arguments of aothip_attn_bwd(): the gradients of sum(o * d_o) for the forward problem *fwd, of
 * which o and lse are now inputs: what aothip_attn_fwd() has written there, lse not NULL unless it
 * has no element. Fields of fwd that concern outputs or a cache (probs, dropout outputs,
 * block_table, batch_index, k_new, rotary, splits) must be zero.
 *
 *   d_o        shape of o; any strides, stride[3] included (0 for an expanded gradient)
 *   dq dk dv   shapes of q, k, v, type of q; written; each may be absent (no data). Rows of
 *              sequences are overwritten, all other rows stay untouched
 *   dbias      shape of fwd->bias with its sizes of 1 summed over, type of bias; may be absent
 *   dsinks     (heads_q) F32, dalibi shape of alibi_slopes; may be NULL
 *   delta      F32, as many elements as lse, in its layout: scratch; NULL: taken from workspace
 *
 * Results do not depend on the order in which workgroups run: no atomic sums. Where the workspace
 * has room for it and a launch would leave units of the GPU idle, several workgroups share the rows,
 * keys or grouped heads that one would walk through, and what they find is added up in a fixed
 * order: the same problem on the same GPU with a workspace as large gives the same bits.
 *
 * That is with atomics = 0. With 1 one walk may give all gradients in place of two, dq as sums in
 * F32 that workgroups add to in any order: its last bits, not those of dk and dv, differ from call
 * to call. It is done where the emulator's clock says that it is faster: gfx942 and gfx950, F16 and
 * BF16, 16-byte-aligned rows of up to 128 and 64 channels, scores of q and k alone with mask and
 * sinks, dq wanted and dk or dv, from 512 queries and 0.7 blocks of 128 keys a compute unit on (1,
 * causal of over 2,048 a group), with workspace for sums. AOTHIP_ATOMICS overrides it: aothip(3).
 *
 * P is exp(S - lse), as in every backward pass that is given lse: rounded to F32 it is off by up to
 * |lse| 2^-24, and P by that part of itself, which F32 problems with scores of thousands show. P is
 * never more than 1: large scores give finite gradients.
 *
 * NaN and infinity in the inputs: where a sequence and key head have any, all gradients of that
 * sequence and its query heads may become NaN, also of rows that do not see it, and so may what
 * sums over them: dbias, dsinks, dalibi. Gradients of other sequences and key heads are what they
 * are without, to the bit.
 *
 * The matrix unit of gfx90a takes F16 subnormals, below 2^-14, for 0. There d_o, P and dS are
 * lifted by powers of two before they enter it, and the gradients, in F32, brought back: without
 * loss scaling, at d_o of 2^-16 and less, they are as exact as on other GPUs, without a detour by
 * bfloat16. What remains: elements of q, k and v below 2^-14 count as 0, in the forward pass, too
 * (whose P are lifted: only those below 2^-22 of the largest of their row are lost). Elements of
 * d_o below 2^-14 may count as 0 that are also below 2^-12 of the largest one: for dq, dbias and
 * dalibi, of those in their row; for dk and dv, of those in all rows that are read for the same
 * block of keys, at most of a sequence and key head. And dS must stay below 2^9 times that largest
 * one, or 2^16 if that is less.
 */
struct aothip_attn_bwd_params {
    size_t struct_size;
    const struct aothip_attn_fwd_params *fwd; /* its own struct_size counts */
    struct aothip_tensor d_o, dq, dk, dv, dbias;
    float *dsinks, *dalibi;
    float *delta;
    void *workspace;       /* device, 16-byte aligned; see aothip_attn_bwd_workspace() */
    size_t workspace_size; /* bytes */
    int32_t atomics;       /* 0 or 1; 1 allows atomic sums: see above */
    int32_t reserved;      /* 0 */
};

/*
 * Arguments of aothip_attn_merge(): o and lse of attention of the same queries over two sets of
 * keys become, in the place of the first, those over both:
 *
 *     o = (exp(lse) o + exp(part_lse) part_o) / (exp(lse) + exp(part_lse))
 *     lse = ln(exp(lse) + exp(part_lse))
 *
 *   o         (batch, heads_q, seq_q, dim_v)  F16, BF16 or F32; dim_v from 1 to 512; read, written
 *   part_o    shape of o; F16, BF16 or F32; type of o, or any where o is F32
 *   lse       (batch, heads_q, seq_q, 1)      F32; any strides; read, written
 *   part_lse  the same; read
 *
 * A row with an lse of infinity, of either sign, has seen no key, and its o is not read: so a
 * running result begins with an lse of +infinity and any o. Where both have seen none, o is 0 and
 * lse +infinity. Rows whose part_lse is infinite and whose lse is not are not written. NaN in what
 * is read of a row reaches that row alone. An o of F16 or BF16 is rounded by each merge; for long
 * rings let it be F32.
 *
 * It has no gradient: a backward pass takes o and lse as they are in the end.
 */
struct aothip_attn_merge_params {
    size_t struct_size;
    struct aothip_tensor o, lse;
    struct aothip_tensor part_o, part_lse;
    int32_t lse_base2; /* 1: lse and part_lse are logarithms to base 2; 0: natural */
    int32_t reserved;  /* 0 */
};

/* An opened image directory and what has been loaded from it. */
struct aothip_context;

/*
 * Opens the images in `directory`, or, if that is NULL, in the directory named by the environment
 * variable AOTHIP_IMAGES, or, if that is unset or empty, in "aotriton.images" beside this library.
 * Only the directory is looked at; image files, and the table that the environment variable
 * AOTHIP_TUNE names (see aothip(3)), are opened on the first use of a GPU, and no HIP function is
 * called. *context is NULL after a failure; else the caller owns it.
 * Errors: ARGUMENT (context NULL, directory "", AOTHIP_CODE_LIMIT is no number of bytes, or
 * AOTHIP_ATOMICS neither 0 nor 1), NO_IMAGES, MEMORY.
 */
AOTHIP_API enum aothip_status aothip_open(const char *directory, struct aothip_context **context);

/*
 * Unloads everything and frees the context; NULL is allowed. No call on it may be under way, and
 * no launched kernel may still be running.
 */
AOTHIP_API void aothip_close(struct aothip_context *context);

/* The directory the context reads from. Valid until aothip_close(). */
AOTHIP_API const char *aothip_directory(const struct aothip_context *context);

/*
 * Says whether attention can run on HIP device number `device`: the device exists, its image file
 * is present and undamaged to the last byte (all checksums are held against it), and its code
 * objects fit the device. Launches nothing and loads nothing onto the GPU.
 * Errors: ARGUMENT, NO_HIP, HIP, NO_DEVICE, NO_IMAGES, IO, FORMAT, CHECKSUM, VERSION, TARGET,
 * MEMORY.
 */
AOTHIP_API enum aothip_status aothip_check_device(struct aothip_context *context, int device);

/* The same for the device of `stream` (a hipStream_t; NULL is the current device's null stream). */
AOTHIP_API enum aothip_status aothip_check_stream(struct aothip_context *context, void *stream);

/*
 * Forward attention on `stream` (a hipStream_t; NULL is the current device's null stream), on that
 * stream's device. The struct is not referred to after the call.
 * Errors: ARGUMENT, UNSUPPORTED and all those of aothip_check_device().
 */
AOTHIP_API enum aothip_status aothip_attn_fwd(struct aothip_context *context,
                                              const struct aothip_attn_fwd_params *params,
                                              void *stream);

/*
 * How many bytes of workspace aothip_attn_fwd() can use for these arguments on the device of
 * `stream`; 0 is frequent. workspace and workspace_size in the params are not looked at.
 * Errors: as aothip_attn_fwd(), without those of loading kernels.
 */
AOTHIP_API enum aothip_status aothip_attn_fwd_workspace(struct aothip_context *context,
                                                        const struct aothip_attn_fwd_params *params,
                                                        void *stream, size_t *bytes);

/*
 * Backward attention on `stream`, on that stream's device. Deterministic without `atomics`. Errors:
 * as aothip_attn_fwd(); ARGUMENT also where delta is NULL and the workspace too small.
 */
AOTHIP_API enum aothip_status aothip_attn_bwd(struct aothip_context *context,
                                              const struct aothip_attn_bwd_params *params,
                                              void *stream);

/*
 * How many bytes of workspace are of use to aothip_attn_bwd(): with those of delta, which it needs
 * where that is NULL, come the sums that workgroups share or, with `atomics`, add to. Errors: as
 * aothip_attn_fwd_workspace().
 */
AOTHIP_API enum aothip_status aothip_attn_bwd_workspace(struct aothip_context *context,
                                                        const struct aothip_attn_bwd_params *params,
                                                        void *stream, size_t *bytes);

/*
 * Writes params->probs alone (see there), without computing attention: of q and k only the sizes
 * are used, unless probs_dropped is set. Errors: as aothip_attn_fwd().
 */
AOTHIP_API enum aothip_status aothip_attn_probs(struct aothip_context *context,
                                                const struct aothip_attn_fwd_params *params,
                                                void *stream);

/*
 * Merges a partial result into another one in place, in one launch on `stream`, on that stream's
 * device; for attention whose keys lie on several GPUs or come one after the other. Errors: as
 * aothip_attn_fwd().
 */
AOTHIP_API enum aothip_status aothip_attn_merge(struct aothip_context *context,
                                                const struct aothip_attn_merge_params *params,
                                                void *stream);

/*
 * Loads every kernel of the images onto the device of `stream` (a hipStream_t; NULL is the current
 * device's null stream), so that no later call there reads a file or loads a module: for programs
 * that must not stall, and before capturing a HIP graph. What is loaded already costs nothing.
 * After a failure some kernels may be loaded; a later call goes on from there. It stops where the
 * environment variable AOTHIP_CODE_LIMIT (see aothip(3)) bounds the code on a device.
 * Errors: all those of aothip_check_device().
 */
AOTHIP_API enum aothip_status aothip_warm_up(struct aothip_context *context, void *stream);

/* A GPU as the HIP runtime describes it. Set struct_size before the call. */
struct aothip_device_info {
    size_t struct_size;
    int32_t device;        /* HIP device number */
    int32_t compute_units; /* as HIP counts them: work-group processors on RDNA */
    uint64_t memory_bytes;
    char target[48]; /* "gfx942:sramecc+:xnack-" */
    char gpu[16];    /* "gfx942" */
    char name[256];  /* "AMD Instinct MI300X" */
};

/*
 * Describes the device of `stream` (a hipStream_t; NULL is the current device's null stream). Needs
 * no images. Errors: ARGUMENT, NO_HIP, HIP, NO_DEVICE, MEMORY.
 */
AOTHIP_API enum aothip_status aothip_stream_device(struct aothip_context *context, void *stream,
                                                   struct aothip_device_info *info);

/*
 * The function `name` ("hipMalloc") of the HIP runtime that this context calls; NULL, with the
 * thread's last error set, if there is no runtime or it lacks the function. For programs that do
 * not link HIP: what another runtime allocates or creates means nothing to this library. One that
 * is in the process on the context's first use of HIP is taken, whatever its file is called; so
 * load yours before. Errors: ARGUMENT, NO_HIP, MEMORY.
 */
AOTHIP_API void *aothip_hip_function(struct aothip_context *context, const char *name);

/* One kernel in the images, as aothip_list() shows it. Strings live during the callback only. */
struct aothip_entry {
    size_t struct_size;
    const char *gpu;    /* "gfx942" */
    const char *file;   /* full path of the image file */
    const char *symbol; /* the kernel's name */
    const char *op;     /* "attn_fwd", "attn_bwd_dq", ... */
    int32_t dtype;      /* enum aothip_dtype */
    int32_t dim_max;    /* serves head dims up to this; of v up to dim_v_max */
    int32_t aligned;    /* 1 if it needs 16-byte-aligned rows */
    int32_t score;      /* 1 if it knows bias, boolean mask, ALiBi, soft-cap and dropout */
    int32_t paged;      /* 1 if it knows block tables */
    int32_t tile_q, tile_k, threads, lds_bytes, vgprs, sgprs;
    uint64_t frame_bytes, code_bytes; /* compressed; inflated */
    int32_t dim_v_max;
};

/*
 * Calls `visit` for every entry of every GPU in the directory, sorted by GPU and position in the
 * file, until it returns non-zero; that is no error. Needs no GPU and no HIP.
 * Errors: ARGUMENT, IO, FORMAT, CHECKSUM, VERSION, MEMORY.
 */
AOTHIP_API enum aothip_status
aothip_list(struct aothip_context *context,
            int (*visit)(const struct aothip_entry *entry, void *user), void *user);

/* "AOTHIP_E_FORMAT"; "AOTHIP_E_?" for a value that is none. Static. */
AOTHIP_API const char *aothip_status_name(enum aothip_status status);

/* A short sentence for the code. Static. */
AOTHIP_API const char *aothip_status_text(enum aothip_status status);

/*
 * One line on the calling thread's last failure, "" if there was none. A success does not clear it.
 * Valid until the thread's next failing call.
 */
AOTHIP_API const char *aothip_last_error(void);

/* The hipError_t behind the calling thread's last failure; 0 if HIP was not the cause. */
AOTHIP_API int aothip_last_hip_error(void);

/*
 * Makes `text` the calling thread's last failure as if a function here had returned `status`, and
 * returns `status`. For libraries on top of this one that refuse what they cannot pass on. The text
 * is copied and cut to 511 bytes; NULL counts as "".
 */
AOTHIP_API enum aothip_status aothip_set_error(enum aothip_status status, const char *text);

/* "0.1.0": the version of the library that runs, as against AOTHIP_VERSION_* of this header. */
AOTHIP_API const char *aothip_version(void);

#ifdef __cplusplus
}
#endif
#endif
