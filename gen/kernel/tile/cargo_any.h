/*
 * Rows on their way from global memory to LDS, whatever their alignment, stride and dim, and
 * wherever they lie: dense, by batch index, in pages.
 *
 * A wave takes eight rows at a time, whose 64-bit addresses are scalar; a lane adds no more than
 * its channels. Each element is loaded by itself. Where a channel does not exist, the last one that
 * does is loaded in its place; it becomes 0 in K, and in V it only reaches channels of O that do
 * not exist either. Rows that do not exist are replaced by the last one that does; in K their
 * scores are masked, in V they become 0. So it is with pages that do not exist.
 * Codes of FP8 become elements behind the loads.
 */
#ifndef AOTHIP_CARGO_ANY_H
#define AOTHIP_CARGO_ANY_H

#include "element.h"
#include "key_order.h"
#if KERNEL_CACHE
#include "fp8.h"
#endif

constexpr int CHANNELS = STAGE_DIM / KERNEL_WAVE;               /* of one row per lane */
constexpr int ROWS = 8;                                         /* at a time: two quads of four */
constexpr int ROW_GROUPS = KERNEL_TILE_K / ROWS / KERNEL_WAVES; /* of a wave */
#if KERNEL_CACHE
constexpr int KEY_BYTES = 1; /* of an element of K and V */
#else
constexpr int KEY_BYTES = 2;
#endif

static_assert(ROW_GROUPS * KERNEL_WAVES * ROWS == KERNEL_TILE_K, "the waves have as many rows");
static_assert(CHANNELS % 2 == 0, "pairs of channels");

typedef GLOBAL u32x4 u32x4_anywhere __attribute__((aligned(2)));

/* How many of the chunk's channels exist, and where they begin. */
struct chunk_place {
    GLOBAL char *at;
    int size;
};

DEVICE struct chunk_place place_chunk(struct tile_view view, const struct slice &x, u32 row,
                                      u32 channel)
{
    return {(GLOBAL char *)view.first + row * x.pitch + channel * 2,
            (int)row < view.rows ? x.dim - (int)channel : 0};
}

/* One chunk; for what is done once. */
DEVICE u32x4 load_chunk(struct tile_view view, const struct slice &slice, u32 row, u32 channel)
{
    struct chunk_place from = place_chunk(view, slice, row, channel);
    u32x4 x = {};

    if (from.size >= CHUNK)
        return *(u32x4_anywhere *)from.at;
#pragma unroll 1
    for (int i = from.size - 1; i >= 0; i--)
        x = u32x4{x.x << 16 | ((GLOBAL u16 *)from.at)[i], __builtin_amdgcn_alignbit(x.y, x.x, 16),
                  __builtin_amdgcn_alignbit(x.z, x.y, 16), __builtin_amdgcn_alignbit(x.w, x.z, 16)};
    return x;
}

#if KERNEL_CACHE && FP8_OF_Q

/* Q, perhaps of FP8. */
struct query_slice : slice {
    bool has_codes;
    struct fp8_reader reader;
};

DEVICE struct query_slice query_slice_of(const struct attn_problem &a,
                                         const struct sequence &sequence, int head)
{
    const int type = late_arguments<with_fp8<struct attn_fwd_args>>().fp8.q_dtype;
    const struct slice x =
        slice_of(a.q, a.q_stride, sequence.batch_q, sequence.start_q, head, a.dim_qk);
    const struct slice codes = {fp8_row_of_q(a, sequence, head, 0), a.q_stride.seq, a.dim_qk};
    return {type >= FP8_E4M3 ? codes : x, type >= FP8_E4M3, fp8_reader_of(type)};
}

/* The same; in place of a row of codes that does not exist, the last one that does. */
DEVICE u32x4 load_chunk(struct tile_view view, const struct query_slice &slice, u32 row,
                        u32 channel)
{
    const u32 last = (u32)view.rows - 1, most = (u32)slice.dim - 1;
    fp8_codes *at = (fp8_codes *)view.first + (row < last ? row : last) * slice.pitch;
    u32 x[CHUNK];
    if (!slice.has_codes)
        return load_chunk(view, (const struct slice &)slice, row, channel);
#pragma unroll
    for (u32 i = 0; i < CHUNK; i++)
        x[i] = at[channel + i < most ? channel + i : most];
#pragma unroll
    for (u32 i = 0; i < CHUNK; i++)
        x[i] = channel + i <= most ? fp8_element(slice.reader, x[i]) : 0;
    return {x[0] | x[1] << 16, x[2] | x[3] << 16, x[4] | x[5] << 16, x[6] | x[7] << 16};
}

#endif

DEVICE void store_chunk(struct tile_view view, const struct slice &slice, u32 row, u32 channel,
                        u32x4 x)
{
    struct chunk_place to = place_chunk(view, slice, row, channel);

    if (to.size >= CHUNK) {
        *(u32x4_anywhere *)to.at = x;
        return;
    }
#pragma unroll 1
    for (int i = 0; i < to.size; i++) {
        ((GLOBAL u16 *)to.at)[i] = (u16)x.x;
        x = u32x4{__builtin_amdgcn_alignbit(x.y, x.x, 16), __builtin_amdgcn_alignbit(x.z, x.y, 16),
                  __builtin_amdgcn_alignbit(x.w, x.z, 16), x.w >> 16};
    }
}

/* K or V of one (sequence, head). Uniform. */
struct key_rows {
    const struct attn_problem &problem;
    const struct kernarg_strides &stride;
    const struct sequence &sequence;
    kernarg_u64 data;
    int head, dim;
#if KERNEL_CACHE
    struct fp8_reader reader;
#endif
};

/* The rows of a quad that begins with `first`. */
struct quad_rows {
    u32 x[4][CHANNELS];
};

/*
 * `from`: this lane's channels, in bytes from the row's beginning. Returns how many keys exist from
 * `first` on; of those in a page that does not exist, none.
 */
DEVICE int load_quad(struct quad_rows &to, const struct key_rows &k, const u32 (&from)[CHANNELS],
                     int first)
{
    int last = k.sequence.seq_k - 1, row = first < last ? first : last;
    const struct key_place place =
        place_of_key(k.problem, k.data, k.stride, k.sequence, k.head, row);
    const GLOBAL char *at = place.row;
#if KERNEL_CACHE /* place_of_key() counts elements; of bytes there are as many */
    at = (const GLOBAL char *)(k.data + ((kernarg_i64)at - (kernarg_i64)k.data) / 2);
#endif
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
#if KERNEL_CACHE
            to.x[i][c] = fp8_element(k.reader, *(const GLOBAL unsigned char *)(at + from[c]));
#else
            to.x[i][c] = *(const GLOBAL u16 *)(at + from[c]);
#endif
        at += row + i < last ? k.stride.seq * KEY_BYTES : 0;
    }
    return KERNEL_PAGED && !place.exists ? 0 : last + 1 - first;
}

DEVICE u32 channel_or_last(u32 channel, int dim)
{
    return (int)channel < dim ? channel : (u32)dim - 1;
}

/* The lane's number; what is computed of it is computed here, not kept throughout the key loop. */
DEVICE u32 lane_here()
{
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane));
    return lane;
}

/* Channels first_channel .. of the tile of keys that begins with `key`. */
DEVICE void stage_k(char *tile, const struct key_rows &k, int key, int first_channel)
{
    const u32 lane = lane_here();
    u32 from[CHANNELS], keep[CHANNELS / 2];
#pragma unroll
    for (int c = 0; c < CHANNELS; c += 2) {
        u32 channel = (u32)first_channel + 2 * lane + c * KERNEL_WAVE;
        from[c] = channel_or_last(channel, k.dim) * KEY_BYTES;
        from[c + 1] = channel_or_last(channel + 1, k.dim) * KEY_BYTES;
        keep[c / 2] =
            ((int)channel < k.dim ? 0xffffu : 0) | ((int)channel + 1 < k.dim ? 0xffff0000u : 0);
    }
#pragma unroll 1
    for (int group = 0; group < ROW_GROUPS; group++) {
        u32 row = (wave_id() * ROW_GROUPS + group) * ROWS;
        struct quad_rows quad[2];
        load_quad(quad[0], k, from, key + (int)row);
        load_quad(quad[1], k, from, key + (int)row + 4);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int c = 0; c < CHANNELS; c += 2) {
                const u32(&x)[CHANNELS] = quad[i / 4].x[i % 4];
                u32 channel = 2 * lane + c * KERNEL_WAVE;
                *(u32 *)(tile + k_tile_at(key_line(row + i), channel / CHUNK) +
                         channel % CHUNK * 2) = (x[c] | x[c + 1] << 16) & keep[c / 2];
            }
    }
}

/* One channel of four keys, in the order of V^T in LDS. `left`: how many keys exist. */
DEVICE u32x2 join_quad(const struct quad_rows &quad, int c, int left)
{
    const int pair = KEY_PAIR_STEP, next = 3 - pair; /* (0, pair), (next, 3) */
    u32 x[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = i < left ? quad.x[i][c] : 0;
    return {x[0] | x[pair] << 16, x[next] | x[3] << 16};
}

/*
 * Likewise V. If asked to, makes what is not finite 0; returns whether any lane had to. See
 * contain.h.
 */
DEVICE bool stage_v(char *tile, const struct key_rows &v, int key, int first_channel, bool isolate)
{
    const u32 number = lane_here(), lane = vt_lane_channel(number);
    const u32 want = isolate ? 0xffffffffu : 0;
    const bool swapped = number & 8;
    u32 from[CHANNELS], any = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        from[c] = channel_or_last((u32)first_channel + lane + c * KERNEL_WAVE, v.dim) * KEY_BYTES;
#pragma unroll 1
    for (int group = 0; group < ROW_GROUPS; group++) {
        u32 quad = vt_pair_quad(wave_id() * ROW_GROUPS + group), other = quad + VT_QUAD_STEP;
        struct quad_rows x, y;
        int left_x = load_quad(x, v, from, key + (int)quad * 4);
        int left_y = load_quad(y, v, from, key + (int)other * 4);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            u32x2 a = join_quad(x, c, left_x);
            u32x2 b = join_quad(y, c, left_y);
            u32x2 mask_a = {select_nonfinite(a.x) & want, select_nonfinite(a.y) & want};
            u32x2 mask_b = {select_nonfinite(b.x) & want, select_nonfinite(b.y) & want};
            any |= mask_a.x | mask_a.y | mask_b.x | mask_b.y;
            a &= ~mask_a;
            b &= ~mask_b;
            u32 channel = lane + c * KERNEL_WAVE;
            *(u32x2 *)(tile + vt_tile_at(channel, swapped ? other : quad)) = swapped ? b : a;
            *(u32x2 *)(tile + vt_tile_at(channel, swapped ? quad : other)) = swapped ? a : b;
        }
    }
    return in_any_lane(any != 0);
}

#endif
