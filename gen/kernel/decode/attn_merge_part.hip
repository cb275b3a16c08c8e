/*
 * Merges a partial result of attention, o and lse of the same rows over other keys, into another
 * one in place: kernarg_part.h has the formulas. LANES lanes share a row and take STEP channels at
 * a time, 16 bytes of what is 16 bits wide; a workgroup has ROWS rows at a time.
 */
#include "element.h"
#include "kernarg_part.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

constexpr int LANES = 16;
constexpr int ROWS = THREADS / LANES;
constexpr int STEP = KERNEL_UNALIGNED ? 1 : 8; /* channels of a lane at a time */

static_assert(KERNEL_TILE_Q % ROWS == 0, "a tile has whole steps");

struct channels {
    float x[STEP];
};

/* Channels channel .. channel + STEP - 1 of a row. */
template <int DTYPE> DEVICE struct channels load_channels(const GLOBAL char *row, int channel)
{
    struct channels c;
#if KERNEL_UNALIGNED
    if (DTYPE == ELEMENT_F32)
        c.x[0] = ((const GLOBAL float *)row)[channel];
    else
        c.x[0] = load_element(row + (kernarg_i64)channel * 2);
#else
    constexpr int bytes = DTYPE == ELEMENT_F32 ? 4 : 2, words = STEP * bytes / 16;
    const GLOBAL u32x4 *at = (const GLOBAL u32x4 *)(row + (kernarg_i64)channel * bytes);
#pragma unroll
    for (int i = 0; i < words; i++) {
        const u32x4 word = at[i];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const u32 bits = word[j];
            if (DTYPE == ELEMENT_F32) {
                c.x[i * 4 + j] = __builtin_bit_cast(float, bits);
            } else if (DTYPE == ELEMENT_F16) {
                c.x[2 * j] = element_from_f16(bits);
                c.x[2 * j + 1] = element_from_f16(bits >> 16);
            } else {
                c.x[2 * j] = element_from_bf16(bits);
                c.x[2 * j + 1] = __builtin_bit_cast(float, bits & 0xffff0000u);
            }
        }
    }
#endif
    return c;
}

#if !KERNEL_UNALIGNED
DEVICE u32 pack(int dtype, float low, float high)
{
    const bool f16 = dtype == ELEMENT_F16;
    return (f16 ? element_to_f16(low) : element_to_bf16(low)) |
           (u32)(f16 ? element_to_f16(high) : element_to_bf16(high)) << 16;
}
#endif

template <int DTYPE> DEVICE void store_channels(GLOBAL char *row, int channel, struct channels c)
{
#if KERNEL_UNALIGNED
    store_element_as(DTYPE, row, channel, c.x[0]);
#else
    constexpr int bytes = DTYPE == ELEMENT_F32 ? 4 : 2, words = STEP * bytes / 16;
    GLOBAL u32x4 *at = (GLOBAL u32x4 *)(row + (kernarg_i64)channel * bytes);
#pragma unroll
    for (int i = 0; i < words; i++) {
        u32x4 word;
#pragma unroll
        for (int j = 0; j < 4; j++)
            word[j] = DTYPE == ELEMENT_F32 ? __builtin_bit_cast(u32, c.x[(i * 4 + j) % STEP])
                                           : pack(DTYPE, c.x[2 * j], c.x[2 * j + 1]);
        at[i] = word;
    }
#endif
}

/* What becomes of a row: the factors of o and part_o, which is read only if it has one. */
struct shares {
    float keep, add;
    bool has, has_part;
};

template <int DTYPE>
DEVICE void merge_row(GLOBAL char *o, const GLOBAL char *part, const struct shares &s, int dim)
{
#pragma unroll 1
    for (int channel = (int)(thread_id() % LANES) * STEP; channel < dim; channel += LANES * STEP) {
        struct channels x = {}, y = {};
        if (s.has)
            x = load_channels<DTYPE>(o, channel);
        if (s.has_part)
            y = load_channels<KERNEL_DTYPE>(part, channel);
#pragma unroll
        for (int i = 0; i < STEP; i++)
            x.x[i] = __builtin_fmaf(s.keep, x.x[i], s.add * y.x[i]);
        store_channels<DTYPE>(o, channel, x);
    }
}

/*
 * The shares of two logarithms, of which one is `unit` binary ones; *total is the logarithm of
 * both's sum.
 */
DEVICE struct shares share(float a, float b, float unit, float *total)
{
    const float infinity = __builtin_inff();
    const bool has = __builtin_fabsf(a) != infinity, has_part = __builtin_fabsf(b) != infinity;
    const float top = has && has_part ? __builtin_fmaxf(a, b) : has ? a : b;
    const float keep = has ? __builtin_amdgcn_exp2f((a - top) * unit) : 0;
    const float add = has_part ? __builtin_amdgcn_exp2f((b - top) * unit) : 0;
    const bool any = has || has_part;
    const float sum = any ? keep + add : 1;
    *total = any ? top + __builtin_amdgcn_logf(sum) * (unit == 1 ? 1 : LN_2) : infinity;
    return {keep / sum, add / sum, has, has_part};
}

/* Where row `row` of a head begins, in elements. */
DEVICE kernarg_i64 place(const struct kernarg_strides &stride, u32 entry, int head, int row)
{
    return entry * stride.batch + head * stride.head + row * stride.seq;
}

DEVICE void merge_part(const struct attn_merge_part_args &a, u32 entry, int head, int row)
{
    GLOBAL float *lse = (GLOBAL float *)a.lse + place(a.lse_stride, entry, head, row);
    const float part_lse =
        ((const GLOBAL float *)a.part_lse)[place(a.part_lse_stride, entry, head, row)];
    float total;
    const struct shares s =
        share(*lse, part_lse, a.flags & KERNARG_PART_BASE2 ? 1 : LOG2_E, &total);
    if (s.has && !s.has_part)
        return;

    const kernarg_i64 at = place(a.o_stride, entry, head, row);
    const GLOBAL char *part =
        (const GLOBAL char *)a.part_o + place(a.part_o_stride, entry, head, row) * ELEMENT_BYTES;
    if (KERNEL_DTYPE == ELEMENT_F32 || a.flags & KERNARG_PART_O_F32)
        merge_row<ELEMENT_F32>((GLOBAL char *)a.o + at * 4, part, s, a.dim);
    else
        merge_row<KERNEL_DTYPE>((GLOBAL char *)a.o + at * ELEMENT_BYTES, part, s, a.dim);
    if (thread_id() % LANES == 0)
        *lse = total;
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_merge_part_args a)
{
    const u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    const u32 x = __builtin_amdgcn_workgroup_id_x();
    if (entry >= (u32)a.batch)
        return;
    const u32 tile = uniform(x / (u32)a.heads);
    const int head = (int)(x - tile * (u32)a.heads);
    const int first = (int)(tile * KERNEL_TILE_Q + thread_id() / LANES);
    const int end = (int)(tile + 1) * KERNEL_TILE_Q;
#pragma unroll 1
    for (int row = first; row < end && row < a.seq_q; row += ROWS)
        merge_part(a, entry, head, row);
}
