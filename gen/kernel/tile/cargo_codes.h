/*
 * K and V of FP8 on their way to LDS, where they are elements of 16 bits: threads carry the same
 * chunks of eight channels as cargo_aligned.h, which includes this in place of its own, but as they
 * come from memory, in half of the registers. They become elements when they are stored.
 */
#ifndef AOTHIP_CARGO_CODES_H
#define AOTHIP_CARGO_CODES_H

#include "fp8.h"
#include "fp8_arguments.h"

struct courier {
    u32 k_from, v_from;
    u32 k_at, vt_at[VT_COLUMNS];
    int type; /* enum fp8_type */
};

struct cargo {
    u32x2 k[K_LOADS], v[4];
};

struct tile_views {
    struct tile_view k[RUNS], v[RUNS];
};

/* Of the tile's keys, the first one that views begin with: 0, or this wave's in pages. */
DEVICE u32 first_own_key()
{
    return KERNEL_PAGED ? wave_id() * OWN_KEYS : 0;
}

DEVICE u32 code_offset(const struct slice &x, u32 row, u32 channel)
{
    return (int)channel < x.dim ? row * (u32)x.pitch + channel : NOWHERE;
}

DEVICE void hire(struct courier &c, const struct slice &k, const struct slice &v)
{
    const u32 thread = thread_id(), number = KERNEL_PAGED ? lane_id() : thread;
    struct vt_duty duty = vt_duty_of(thread);
    c.k_from = code_offset(k, number / CHUNKS, thread % CHUNKS * CHUNK);
    c.k_at = k_tile_at(key_line(first_own_key() + number / CHUNKS), thread % CHUNKS);
    c.v_from =
        code_offset(v, KERNEL_PAGED ? duty.quad * 4 % RUN_KEYS : duty.quad * 4, duty.channel);
#pragma unroll
    for (int i = 0; i < VT_COLUMNS; i++)
        c.vt_at[i] = vt_tile_at(duty.channel + i, duty.quad) - vt_channel_step(i);
    c.type = late_arguments<fp8_arguments>().fp8.dtype;
}

/* The descriptor of what exists from row `below` of the view on. */
DEVICE __amdgpu_buffer_rsrc_t describe_codes(struct tile_view view, const struct slice &x,
                                             int below)
{
    int rows = view.rows - below;
    u32 bytes = (u32)(rows - 1) * (u32)x.pitch + (u32)x.dim;
    return __builtin_amdgcn_make_buffer_rsrc(view.first + below * x.pitch, 0,
                                             rows > 0 ? (int)bytes : 0, DESCRIPTOR_WORD3);
}

/* As load_chunks(). */
template <enum rows_exist exist, int count>
DEVICE void load_codes(u32x2 *to, struct tile_view view, const struct slice &x, u32 offset,
                       int step)
{
    int pitch = (int)x.pitch;
    if (PITCH_ANEW)
        asm volatile("" : "+s"(pitch));
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = exist == ROWS_ALL
                    ? __builtin_amdgcn_raw_buffer_load_b64(describe_codes(view, x, 0), (int)offset,
                                                           i * step * pitch, 0)
                    : __builtin_amdgcn_raw_buffer_load_b64(describe_codes(view, x, i * step),
                                                           (int)offset, 0, 0);
}

/* Whether rows of Q may be of FP8, too: those that no kernel of attn_fwd_fp8 takes. */
#define Q_OF_CODES (FP8_OF_Q && !KERNEL_SPLIT && (KERNEL_SCORE || KERNEL_DIM > 128))

#if Q_OF_CODES

/* Chunks of eight as elements. */
template <int type, int count>
DEVICE void elements_of_codes(u32x4 (&to)[count], const u32x2 (&from)[count])
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        const u32x2 low = fp8_elements(fp8_native<type>(), from[i].x);
        const u32x2 high = fp8_elements(fp8_native<type>(), from[i].y);
        to[i] = u32x4{low.x, low.y, high.x, high.y};
    }
}

#endif

template <enum rows_exist exist>
DEVICE void load_k(struct cargo &to, const struct courier &c, const struct slice &k,
                   const struct tile_views &from)
{
#pragma unroll
    for (int run = 0; run < RUNS; run++)
        load_codes<exist, RUN_LOADS>(to.k + run * RUN_LOADS, from.k[run], k, c.k_from,
                                     KEYS_PER_LOAD);
}

template <enum rows_exist exist>
DEVICE void load_v(struct cargo &to, const struct courier &c, const struct slice &v,
                   const struct tile_views &from)
{
    static_assert(RUNS == 1 || (RUNS == 2 && KERNEL_WAVE == 64), "a half of the lanes has a run");
    if (RUNS == 1 || lane_half() == 0)
        load_codes<exist, 4>(to.v, from.v[0], v, c.v_from, 1);
    else
        load_codes<exist, 4>(to.v, from.v[RUNS - 1], v, c.v_from, 1);
}

/* Makes V that is not finite 0; returns bits of it. See contain.h. */
DEVICE u32 isolate_codes(u32x2 (&v)[4])
{
    u32 any = 0;
    with_fp8_type<FP8_SELDOM>(late_arguments<fp8_arguments>().fp8.dtype, [&](const auto &codes) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const u32 bad = fp8_special(codes, v[i][j]);
                v[i][j] &= ~((bad >> 7) * 0xffu);
                any |= bad;
            }
    });
    return any;
}

/* If asked to, does so; returns whether any lane had to. */
DEVICE bool isolate_v(struct cargo &x, bool wanted)
{
    return wanted && in_any_lane(isolate_codes(x.v) != 0);
}

template <enum fp8_worth worth = FP8_USUAL>
DEVICE void store_k(char *tile, const struct cargo &from, const struct courier &c)
{
    with_fp8_type<worth>(c.type, [&](const auto &codes) {
#pragma unroll
        for (int i = 0; i < K_LOADS; i++) {
            if (KERNEL_WAVE == 32)
                __builtin_amdgcn_sched_barrier(0);
            const u32x2 low = fp8_elements(codes, from.k[i].x);
            const u32x2 high = fp8_elements(codes, from.k[i].y);
            *(u32x4 *)(tile + k_tile_below(c.k_at, key_line(i * KEYS_PER_LOAD))) =
                u32x4{low.x, low.y, high.x, high.y};
        }
    });
}

/* Four rows of eight channels become eight rows of a quad of keys. */
template <enum fp8_worth worth = FP8_USUAL>
DEVICE void store_v(char *tile, const struct cargo &from, const struct courier &c)
{
    const int pair = KEY_PAIR_STEP, next = 3 - pair; /* quad = (0, pair), (next, 3) */
    with_fp8_type<worth>(c.type, [&](const auto &codes) {
#pragma unroll
        for (int word = 0; word < 2; word++) {
            float x[4][4];
            if (KERNEL_WAVE == 32) /* which has no registers for both */
                __builtin_amdgcn_sched_barrier(0);
#pragma unroll
            for (int row = 0; row < 4; row++)
                fp8_floats(x[row], codes, from.v[row][word]);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int i = 4 * word + j;
                *(u32x2 *)(tile + c.vt_at[i % VT_COLUMNS] + vt_channel_step(i)) =
                    u32x2{fp8_pair(x[0][j], x[pair][j]), fp8_pair(x[next][j], x[3][j])};
            }
        }
    });
}

#endif
