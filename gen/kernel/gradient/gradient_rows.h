/*
 * What all backward kernels read and write: rows of tensors, whole chunks of eight 16-bit channels
 * at a time, and the f32 vectors lse and delta.
 *
 * Channels and rows that do not exist are loaded as 0 and not stored. With KERNEL_UNALIGNED 0
 * memory is reached through buffer descriptors, whose bounds do that; a chunk then exists whole or
 * not at all, and the channel stride is 1.
 */
#ifndef AOTHIP_ATTN_BWD_ROWS_H
#define AOTHIP_ATTN_BWD_ROWS_H

#define ASKS_ALIKE 1

#include "kernarg_share.h"
#include "quotient.h"
#include "sequence.h"
#include "tile.h"

#define DEAL_QUOTIENT(n, d) quotient_of(n, d)
#include "deal.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

constexpr int ELEMENT_BYTES = KERNEL_DTYPE == 1 ? 4 : 2;

/* Whether the kernel is for problems with a boolean mask and nothing else in the scores. */
#define ONLY_KEEP (KERNEL_SCORE == 7)

/* Whether there are scalar registers for arguments from before a walk on; for all, throughout it.
 */
#define ARGUMENTS_EARLY (ONLY_KEEP || (KERNEL_WAVE == 32 && !KERNEL_SCORE))
#if ARGUMENTS_EARLY && !OWNS_KEYS
#define ARGUMENTS_STAY 1
#else
#define ARGUMENTS_STAY 0
#endif

/*
 * The kernel's arguments, not to be read before this point. What a walk does not need waits in
 * memory meanwhile: held in scalar registers, it would be more than there are.
 */
DEVICE const struct attn_bwd_args &args_here()
{
    typedef const __attribute__((address_space(4))) struct attn_bwd_args *const_args;
    const_args at = (const_args)__builtin_amdgcn_kernarg_segment_ptr();
#if !ARGUMENTS_STAY
    asm volatile("" : "+s"(at));
#endif
    return *(const struct attn_bwd_args *)at;
}

/* Slabs of the results that one walk computes: lds_tiles.h has what a slab is. */
#if KERNEL_DIM == 512 && KERNEL_WAVE == 64 && !KERNEL_UNALIGNED && !SUMS_ELEMENTS
#define WALK_SLABS 4
#elif KERNEL_DIM > 128 && KERNEL_DIM <= 256 && KERNEL_WAVE == 64 && !KERNEL_UNALIGNED &&           \
    !SUMS_ELEMENTS
#define WALK_SLABS 2
#else
#define WALK_SLABS 1
#endif

/*
 * 512 channels of one result take half of the registers of one wave a SIMD. dK is of one wave, and
 * dV of another one: pair_walk.h; but score terms, for which registers are too short there, take a
 * walk for dK, and one for dV, which needs no dP: whole_walk.h.
 */
#ifndef OWNS_KEYS /* a kernel without a walk */
#define OWNS_KEYS 0
#endif
#define IN_PAIRS (WALK_SLABS == 4 && OWNS_KEYS && !KERNEL_SCORE)
#define WALKS_WHOLE (WALK_SLABS == 4 && !IN_PAIRS)
#define GRADIENTS_APART (WALKS_WHOLE && OWNS_KEYS)

/*
 * Whether teams of waves share the channels of their rows or keys: team_walk.h. On RDNA 4, where
 * operands take half of the registers, those of 128 channels fit into them beside dQ alone.
 */
#if defined(__GFX12__)
#define FITS_128 (!OWNS_KEYS)
#else
#define FITS_128 0
#endif
#define TEAM_DIM (KERNEL_SCORE || FITS_128 ? 256 : 128)
#define SHARES_CHANNELS                                                                            \
    (KERNEL_WAVE == 32 && KERNEL_DTYPE != 1 && KERNEL_DIM >= TEAM_DIM && !KERNEL_UNALIGNED &&      \
     !SUMS_ELEMENTS)

/*
 * The owned operands stay where they are throughout a walk, but where they are too many: then each
 * slab of them comes from memory, where it is in the cache, again for every tile. For OWNED_AGAIN
 * see below.
 */
#define OWNED_PER_TILE                                                                             \
    (KERNEL_DTYPE != 1 &&                                                                          \
     ((KERNEL_DIM > 128 && WALK_SLABS == 1 && !SHARES_CHANNELS) || WALKS_WHOLE ||                  \
      (KERNEL_DIM == 128 && OWNS_KEYS && KERNEL_SCORE && KERNEL_WAVE == 64)))

/*
 * The owned operands fit into the registers of wave64 hardware, but for V beside dK and dV of 128
 * channels: two waves a SIMD leave 256 registers, of which the results take half. V comes from
 * memory, where it is in the cache, again for every block of rows. With dQ there is one wave.
 */
#define OWNED_AGAIN                                                                                \
    (OWNS_KEYS && KERNEL_WAVE == 64 && KERNEL_DIM >= 128 && !KERNEL_UNALIGNED &&                   \
     !OWNED_PER_TILE && !IN_PAIRS && !SUMS_DQ)

/*
 * A uniform number that is not wanted for long waits in a vector register where scalar registers
 * are short. awaited() is the number.
 */
#define WAITS_APART (KERNEL_SCORE && (KERNEL_WAVE == 64 || KERNEL_DTYPE == 1))

DEVICE int wait_apart(int x)
{
    if (WAITS_APART)
        asm volatile("" : "+v"(x));
    return x;
}

DEVICE int awaited(int x)
{
    return WAITS_APART ? (int)uniform((u32)x) : x;
}

/* The (sequence, head) matrix of a tensor, from row 0 of the sequence on. Uniform. */
struct rows {
    char *base;
    kernarg_i64 pitch;   /* bytes from row to row */
    kernarg_i64 channel; /* bytes from channel to channel */
    int dim;
};

/* A number that is not negative: the extension of its sign is spared. */
DEVICE kernarg_i64 wide(int n)
{
    return (kernarg_i64)(u32)n;
}

/* n strides, of which there are not less than none. */
DEVICE kernarg_i64 strides_of(int n, kernarg_i64 stride)
{
    return wide(n) * stride;
}

/* From row to row of aligned tensors, which KERNARG_ALIGNED_STRIDE_MAX keeps within 32 bits where
 * there are two rows: half of the instructions that multiply by it. */
DEVICE kernarg_i64 row_stride(kernarg_i64 stride)
{
    return KERNEL_SCORE && KERNEL_WAVE == 64 && !KERNEL_UNALIGNED ? wide((int)stride) : stride;
}

/* From head to head and batch entry to batch entry, which lib/select keeps within 32 bits where the
 * kernel is for a mask alone. */
DEVICE kernarg_i64 far_stride(kernarg_i64 stride)
{
    return ONLY_KEEP ? wide((int)stride) : stride;
}

DEVICE struct rows rows_of(kernarg_u64 data, const struct kernarg_strides &stride, int batch,
                           int start, int head, int dim)
{
    const kernarg_i64 first = strides_of(batch, far_stride(stride.batch)) +
                              strides_of(head, far_stride(stride.head)) +
                              strides_of(start, row_stride(stride.seq));
    return {(char *)data + first * ELEMENT_BYTES, row_stride(stride.seq) * ELEMENT_BYTES,
            ELEMENT_BYTES, dim};
}

/* What a workgroup works on: a sequence and a query head. Uniform. */
struct place {
    struct sequence sequence;
    int head, kv_head;
};

/*
 * A caller who promised fewer rows than a sequence has gets those that it promised, as from the
 * forward pass. Diagonals stay where they are.
 */
DEVICE struct sequence promised_sequence(const struct attn_problem &a, int number)
{
    struct sequence s = sequence_of(a, number);
    if (!(a.flags & KERNARG_ALIKE))
        s.seq_q = s.seq_q < a.seq_q ? s.seq_q : a.seq_q;
    return s;
}

/* seq_k - seq_q of the whole sequence. */
DEVICE int diagonal_of(const struct place &p)
{
    const struct sequence s = sequence_of(args_here().problem, p.sequence.number);
    return s.seq_k - s.seq_q;
}

DEVICE struct place place_of(const struct attn_problem &a, int entry, int head)
{
    return {promised_sequence(a, entry), head, (int)uniform((u32)head / (u32)a.group)};
}

/* Rows of the side of the queries, of that of the keys. */
DEVICE struct rows query_rows(const struct attn_bwd_args &args, const struct place &p,
                              kernarg_u64 data, const struct kernarg_strides &stride, int dim)
{
    const struct sequence &s = p.sequence;
    int batch = args.problem.q_seqs.packed ? 0 : s.number;
    return rows_of(data, stride, batch, s.start_q, p.head, dim);
}

DEVICE struct rows key_rows(const struct attn_bwd_args &args, const struct place &p,
                            kernarg_u64 data, const struct kernarg_strides &stride, int dim)
{
    const struct sequence &s = p.sequence;
    int batch = args.problem.k_seqs.packed ? 0 : s.number;
    return rows_of(data, stride, batch, s.start_k, p.kv_head, dim);
}

DEVICE struct rows q_rows(const struct attn_bwd_args &args, const struct place &p)
{
    const struct attn_problem &a = args.problem;
    return query_rows(args, p, a.q, a.q_stride, a.dim_qk);
}

DEVICE struct rows k_rows(const struct attn_bwd_args &args, const struct place &p)
{
    const struct attn_problem &a = args.problem;
    return key_rows(args, p, a.k, a.k_stride, a.dim_qk);
}

DEVICE struct rows v_rows(const struct attn_bwd_args &args, const struct place &p)
{
    const struct attn_problem &a = args.problem;
    return key_rows(args, p, a.v, a.v_stride, a.dim_v);
}

DEVICE struct rows o_rows(const struct attn_bwd_args &args, const struct place &p)
{
    return query_rows(args, p, args.o, args.o_stride, args.problem.dim_v);
}

DEVICE struct rows do_rows(const struct attn_bwd_args &args, const struct place &p)
{
    struct rows x = query_rows(args, p, args.d_o, args.do_stride, args.problem.dim_v);
    if (KERNEL_UNALIGNED)
        x.channel = args.do_channel * ELEMENT_BYTES;
    return x;
}

DEVICE struct rows dq_rows(const struct attn_bwd_args &args, const struct place &p)
{
    return query_rows(args, p, args.dq, args.dq_stride, args.problem.dim_qk);
}

DEVICE struct rows dk_rows(const struct attn_bwd_args &args, const struct place &p)
{
    return key_rows(args, p, args.dk, args.dk_stride, args.problem.dim_qk);
}

DEVICE struct rows dv_rows(const struct attn_bwd_args &args, const struct place &p)
{
    return key_rows(args, p, args.dv, args.dv_stride, args.problem.dim_v);
}

/* Rows first .. first + count - 1 of a matrix; count <= 0: none exist. Uniform. */
struct rows_view {
    char *first;
    int count;
};

DEVICE struct rows_view view_of(const struct rows &x, int first, int end)
{
    return {x.base + wide(first) * x.pitch, end - first};
}

#if KERNEL_WAVE == 64
#define DESCRIPTOR_WORD3 0x00027000 /* raw buffer, 32-bit data format (CDNA) */
#else
#define DESCRIPTOR_WORD3 0x31004000 /* raw buffer, bounds checked on the offset (RDNA 3) */
#endif

#if KERNEL_DTYPE != 1

#if !KERNEL_UNALIGNED

/* An offset that lies outside every descriptor, and still does with a tile's rows added to it. */
#define NOWHERE 0x80000000u

/* Of 128 rows at most, which KERNARG_ALIGNED_STRIDE_MAX keeps within 2^31 bytes. */
DEVICE __amdgpu_buffer_rsrc_t describe(const struct rows_view &view, const struct rows &x)
{
    int count = view.count < 128 ? view.count : 128;
#if KERNEL_WAVE == 64 && !KERNEL_SCORE
    /* Without a branch: the compiler would move things from beside products to behind it. */
    count = count > 0 ? count : 0;
    const u32 none = (u32)((count - 1) >> 31);
    u32 bytes = ((u32)(count - 1) * (u32)x.pitch + (u32)x.dim * 2) & ~none;
#else
    u32 bytes = count > 0 ? (u32)(count - 1) * (u32)x.pitch + (u32)x.dim * 2 : 0;
#endif
    return __builtin_amdgcn_make_buffer_rsrc(view.first, 0, (int)bytes, DESCRIPTOR_WORD3);
}

DEVICE u32 offset_of(const struct rows &x, u32 row, u32 channel)
{
    return (int)channel < x.dim ? row * (u32)x.pitch + channel * 2 : NOWHERE;
}

/* Chunks of rows row, row + 1, ... */
template <int count>
DEVICE void load_chunks(u32x4 (&to)[count], const struct rows_view &view, const struct rows &x,
                        u32 row, u32 channel)
{
    __amdgpu_buffer_rsrc_t buffer = describe(view, x);
    u32 offset = offset_of(x, row, channel);
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] =
            __builtin_amdgcn_raw_buffer_load_b128(buffer, (int)(offset + i * (u32)x.pitch), 0, 0);
}

/* The one `below` rows below. */
DEVICE u32x4 load_chunk_below(const struct rows_view &view, const struct rows &x, u32 row,
                              u32 channel, u32 below)
{
    return __builtin_amdgcn_raw_buffer_load_b128(
        describe(view, x), (int)(offset_of(x, row, channel) + below * (u32)x.pitch), 0, 0);
}

/* The chunk `step` bytes behind `offset`. */
DEVICE u32x4 load_chunk_at(__amdgpu_buffer_rsrc_t buffer, u32 offset, u32 step)
{
    return __builtin_amdgcn_raw_buffer_load_b128(buffer, (int)(offset + step), 0, 0);
}

/* A chunk, or half of one. */
DEVICE void store_chunk(const struct rows_view &view, const struct rows &x, u32 row, u32 channel,
                        u32x4 chunk)
{
    __builtin_amdgcn_raw_buffer_store_b128(chunk, describe(view, x),
                                           (int)offset_of(x, row, channel), 0, 0);
}

DEVICE void store_chunk(const struct rows_view &view, const struct rows &x, u32 row, u32 channel,
                        u32x2 half)
{
    __builtin_amdgcn_raw_buffer_store_b64(half, describe(view, x), (int)offset_of(x, row, channel),
                                          0, 0);
}

#else

typedef GLOBAL u32x4 u32x4_anywhere __attribute__((aligned(2)));
typedef GLOBAL u32x2 u32x2_anywhere __attribute__((aligned(2)));

DEVICE u32x4 load_one_chunk(const struct rows_view &view, const struct rows &x, u32 row,
                            u32 channel)
{
    const GLOBAL char *at = (const GLOBAL char *)view.first + row * x.pitch + channel * x.channel;
    int size = (int)row < view.count ? x.dim - (int)channel : 0;
    u32x4 c = {};

    if (size >= CHUNK && x.channel == 2)
        return *(const u32x4_anywhere *)at;
    size = size < CHUNK ? size : CHUNK;
#pragma unroll 1
    for (int i = size - 1; i >= 0; i--)
        c = u32x4{c.x << 16 | *(const GLOBAL u16 *)(at + i * x.channel),
                  __builtin_amdgcn_alignbit(c.y, c.x, 16), __builtin_amdgcn_alignbit(c.z, c.y, 16),
                  __builtin_amdgcn_alignbit(c.w, c.z, 16)};
    return c;
}

template <int count>
DEVICE void load_chunks(u32x4 (&to)[count], const struct rows_view &view, const struct rows &x,
                        u32 row, u32 channel)
{
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = load_one_chunk(view, x, row + i, channel);
}

/* A chunk, or half of one. */
DEVICE void store_chunk(const struct rows_view &view, const struct rows &x, u32 row, u32 channel,
                        u32x2 half)
{
    GLOBAL char *at = (GLOBAL char *)view.first + row * x.pitch + channel * 2;
    int size = (int)row < view.count ? x.dim - (int)channel : 0;

    if (size >= 4) {
        *(u32x2_anywhere *)at = half;
        return;
    }
#pragma unroll 1
    for (int i = 0; i < size; i++) {
        ((GLOBAL u16 *)at)[i] = (u16)half.x;
        half = u32x2{__builtin_amdgcn_alignbit(half.y, half.x, 16), half.y >> 16};
    }
}

DEVICE void store_chunk(const struct rows_view &view, const struct rows &x, u32 row, u32 channel,
                        u32x4 chunk)
{
    store_chunk(view, x, row, channel, chunk.lo);
    store_chunk(view, x, row, channel + 4, chunk.hi);
}

#endif

DEVICE u32x4 load_chunk(const struct rows_view &view, const struct rows &x, u32 row, u32 channel)
{
    u32x4 one[1];
    load_chunks<1>(one, view, x, row, channel);
    return one[0];
}

#endif

/* Element x of a tensor as f32. */
DEVICE float element_at(const struct rows &x, int row, int channel)
{
    const GLOBAL char *at = (const GLOBAL char *)x.base + row * x.pitch + channel * x.channel;
#if KERNEL_DTYPE == 1
    return *(const GLOBAL float *)at;
#elif KERNEL_DTYPE == 2
    return (float)*(const GLOBAL _Float16 *)at;
#else
    return __builtin_bit_cast(float, (u32) * (const GLOBAL u16 *)at << 16);
#endif
}

/*
 * Where all scores of a row are as large as WIDE_LSE, exponents of 2 made of its scores and of its
 * lse are rounded apart. The kernels without score features, which subtract such ones, then turn to
 * the wide form, a walk that subtracts natural ones. They learn of it by delta, which is NaN in
 * such rows: delta in 22 bits behind WIDE_DELTA. Those with score features always subtract natural
 * ones, and so do those of dK and dV of 512 channels on wave64, which have no registers for two
 * walks.
 */
#define WIDE_LSE 0x1p20f
#define WIDE_DELTA 0xffc00000u
enum lse_form { LSE_BASE2, LSE_NATURAL };
#define LSE_USUAL (KERNEL_SCORE || IN_PAIRS ? LSE_NATURAL : LSE_BASE2)

DEVICE float lse_unit_of(const struct attn_problem &a, enum lse_form form)
{
    const float one = form == LSE_BASE2 ? LOG2_E : 1.0f;
    /* Where there are matrix cores the quotient's ten instructions count. */
    const float unit =
        KERNEL_WAVE == 64 ? one * __builtin_amdgcn_rcpf(a.lse_unit) : one / a.lse_unit;
    return __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, unit)));
}

/* delta as it is kept for a row with this natural lse, and back. */
DEVICE float keep_delta(float delta, float lse)
{
    const float size = __builtin_fabsf(lse);
    if (KERNEL_DTYPE == 1 || !(size > WIDE_LSE && size < __builtin_inff()))
        return delta;
    return __builtin_bit_cast(float, WIDE_DELTA | (__builtin_bit_cast(u32, delta) + 0x200) >> 10);
}

DEVICE float kept_delta(float kept)
{
    const u32 bits = __builtin_bit_cast(u32, kept);
    return KERNEL_DTYPE == 1 || bits < WIDE_DELTA ? kept : __builtin_bit_cast(float, bits << 10);
}

/* Where the row vectors lse and delta of one (sequence, head) lie, in elements. Uniform. */
struct vector_place {
    kernarg_i64 first, step, size;
    float lse_unit; /* what makes lse what it is subtracted from */
};

DEVICE struct vector_place vector_of(const struct attn_problem &a, const struct place &p)
{
    kernarg_i64 head = a.lse_stride.head;
    if (__builtin_expect(a.flags & KERNARG_ALIKE, 1))
        return {strides_of(p.sequence.number, a.lse_stride.batch) + strides_of(p.head, head),
                a.lse_stride.seq, a.lse_size, lse_unit_of(a, LSE_USUAL)};
    if (a.flags & KERNARG_LSE_PITCH_READ)
        head = sequence_entry(a.q_seqs.starts ? a.q_seqs.starts : a.q_seqs.cumulative, a.flags,
                              a.batch);
    kernarg_i64 first =
        strides_of(p.sequence.number, a.lse_stride.batch) + strides_of(p.head, head);
    if (a.flags & KERNARG_LSE_PACKED)
        first += strides_of(p.sequence.start_q, a.lse_stride.seq);
    return {first, a.lse_stride.seq, a.lse_size, lse_unit_of(a, LSE_USUAL)};
}

/* The element of row `row`; `otherwise` where none exists in memory. */
DEVICE float vector_at(kernarg_u64 vector, const struct vector_place &place, int row,
                       float otherwise)
{
    kernarg_i64 at = place.first + row * place.step;
    return (kernarg_u64)at < (kernarg_u64)place.size ? ((const GLOBAL float *)vector)[at]
                                                     : otherwise;
}

/* lse in the usual form; +infinity for rows that do not exist or see nothing. */
DEVICE float lse_at(const struct attn_bwd_args &args, const struct vector_place &place, int row,
                    int seq_q)
{
    if (row >= seq_q)
        return __builtin_inff();
    return vector_at(args.lse, place, row, __builtin_inff()) * place.lse_unit;
}

DEVICE float delta_at(const struct attn_bwd_args &args, const struct vector_place &place, int row,
                      int seq_q)
{
    return row < seq_q ? kept_delta(vector_at(args.delta, place, row, 0)) : 0;
}

/* Of lse or delta the first `rows` > 0 elements of one (sequence, head), as far as they exist in
 * memory. Uniform. */
struct vector_span {
    kernarg_i64 first; /* an element */
    u32 bytes, step;   /* elements from row to row */
};

DEVICE struct vector_span vector_span_of(const struct attn_problem &a, const struct place &p,
                                         int rows)
{
    if (__builtin_expect(a.flags & KERNARG_ALIKE, 1)) {
        const u32 step = (u32)a.lse_stride.seq;
        return {strides_of(p.sequence.number, a.lse_stride.batch) +
                    strides_of(p.head, a.lse_stride.head),
                (u32)(rows - 1) * step * 4 + 4, step};
    }
    const struct vector_place place = vector_of(a, p);
    kernarg_i64 span = (rows - 1) * place.step + 1, room = place.size - place.first;
    kernarg_i64 bytes = (span < room ? span : room) * 4;
    bytes = place.first >= 0 && bytes > 0 ? bytes : 0;
    return {place.first, (u32)(bytes < 0xfffffffc ? bytes : 0xfffffffc), (u32)place.step};
}

/* What lies beyond is loaded as 0. Uniform. */
DEVICE __amdgpu_buffer_rsrc_t describe_vector(kernarg_u64 vector, const struct vector_span &span)
{
    return __builtin_amdgcn_make_buffer_rsrc((char *)vector + span.first * 4, 0, (int)span.bytes,
                                             DESCRIPTOR_WORD3);
}

/* As args_here(). */
DEVICE const struct attn_bwd_share_args &share_here()
{
    return (const struct attn_bwd_share_args &)args_here();
}

#endif
