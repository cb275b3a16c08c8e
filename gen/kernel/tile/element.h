/*
 * Elements of any type as f32, rows of keys wherever they lie (dense, by batch index, in pages),
 * and the place of a row's lse: what the kernels of attn_split, attn_append and their like share.
 * One element, row or chunk at a time, of any alignment.
 */
#ifndef AOTHIP_ELEMENT_H
#define AOTHIP_ELEMENT_H

#include "sequence.h"
#include "tile.h"

#define ELEMENT_F32 1 /* values of KERNEL_DTYPE, enum aothip_dtype */
#define ELEMENT_F16 2
#define ELEMENT_BF16 3

constexpr int ELEMENT_BYTES = KERNEL_DTYPE == ELEMENT_F32 ? 4 : CHANNEL_BYTES;

DEVICE float element_from_f16(u32 bits)
{
    return (float)__builtin_bit_cast(_Float16, (u16)bits);
}

DEVICE float element_from_bf16(u32 bits)
{
    return __builtin_bit_cast(float, bits << 16);
}

DEVICE u16 element_to_f16(float x)
{
    asm("" : "+v"(x)); /* as in mma.h: no fusing with the multiplication that made it */
    return __builtin_bit_cast(u16, (_Float16)x);
}

/* To nearest even; NaN stays NaN. */
DEVICE u16 element_to_bf16(float x)
{
    u32 bits = __builtin_bit_cast(u32, x);
    return (u16)((x == x ? bits + 0x7fff + (bits >> 16 & 1) : bits | 0x00400000) >> 16);
}

DEVICE float load_element(const GLOBAL char *at)
{
#if KERNEL_DTYPE == ELEMENT_F32
    return *(const GLOBAL float *)at;
#elif KERNEL_DTYPE == ELEMENT_F16
    return (float)*(const GLOBAL _Float16 *)at;
#else
    return element_from_bf16(*(const GLOBAL u16 *)at);
#endif
}

/* Stores element `i` of an array of any type, rounded to nearest even. */
DEVICE void store_element_as(int dtype, GLOBAL char *array, kernarg_i64 i, float x)
{
    if (dtype == ELEMENT_F32)
        ((GLOBAL float *)array)[i] = x;
    else
        ((GLOBAL u16 *)array)[i] = dtype == ELEMENT_F16 ? element_to_f16(x) : element_to_bf16(x);
}

DEVICE void store_element(GLOBAL char *at, float x)
{
    store_element_as(KERNEL_DTYPE, at, 0, x);
}

/* Row 0, channel 0 of one head of one batch entry. */
DEVICE GLOBAL char *head_of(kernarg_u64 data, const struct kernarg_strides &stride,
                            kernarg_i64 entry, int head)
{
    return (GLOBAL char *)data + (entry * stride.batch + head * stride.head) * ELEMENT_BYTES;
}

/* Row m of q or o of a sequence. */
DEVICE GLOBAL char *query_row(kernarg_u64 data, const struct kernarg_strides &stride,
                              const struct sequence &sequence, int head, int m)
{
    return head_of(data, stride, sequence.batch_q, head) +
           ((kernarg_i64)sequence.start_q + m) * stride.seq * ELEMENT_BYTES;
}

DEVICE int table_entry(kernarg_u64 table, kernarg_i64 i)
{
    return ((const __attribute__((address_space(4))) kernarg_i32 *)table)[i];
}

/* The page that holds row `key` of a sequence, as the block table has it. */
DEVICE int page_of(const struct attn_problem &a, const struct sequence &sequence, int key)
{
    return table_entry(a.block_table,
                       sequence.number * a.block_table_stride + (key >> a.page_shift));
}

DEVICE bool page_exists(const struct attn_problem &a, const struct sequence &sequence, int key)
{
    return (u32)page_of(a, sequence, key) < (u32)a.pages;
}

struct key_place {
    GLOBAL char *row;
    bool exists;
};

/*
 * Row `key` of k or v of a sequence. One in pages begins with row 0 of its first page; in place of
 * a page that does not exist it is one of page 0, to be loaded and not to be used.
 */
DEVICE struct key_place place_of_key(const struct attn_problem &a, kernarg_u64 data,
                                     const struct kernarg_strides &stride,
                                     const struct sequence &sequence, int head, int key)
{
    kernarg_i64 entry = sequence.batch_k, row = (kernarg_i64)sequence.start_k + key;
    bool exists = true;
    if (a.block_table) {
        int page = page_of(a, sequence, key);
        exists = (u32)page < (u32)a.pages;
        entry = exists ? page : 0;
        row = key & ((1 << a.page_shift) - 1);
    } else if (a.batch_index) {
        entry = batch_entry(a, sequence.number);
    }
    return {head_of(data, stride, entry, head) + row * stride.seq * ELEMENT_BYTES, exists};
}

DEVICE GLOBAL char *key_row(const struct attn_problem &a, kernarg_u64 data,
                            const struct kernarg_strides &stride, const struct sequence &sequence,
                            int head, int key)
{
    return place_of_key(a, data, stride, sequence, head, key).row;
}

/* Where the lse of row m is, or NULL if the array does not reach so far. */
DEVICE GLOBAL float *lse_of(const struct attn_problem &a, kernarg_u64 lse,
                            const struct sequence &sequence, int head, int m)
{
    kernarg_i64 pitch = a.lse_stride.head;
    kernarg_i64 row = m + (a.flags & KERNARG_LSE_PACKED ? (kernarg_i64)sequence.start_q : 0);
    if (a.flags & KERNARG_LSE_PITCH_READ)
        pitch = sequence_entry(a.q_seqs.starts ? a.q_seqs.starts : a.q_seqs.cumulative, a.flags,
                               a.batch);
    kernarg_i64 at = sequence.number * a.lse_stride.batch + head * pitch + row * a.lse_stride.seq;
    return at >= 0 && at < a.lse_size ? (GLOBAL float *)lse + at : nullptr;
}

/*
 * The kernel's arguments once more, not to be read before this point: what is loaded early and used
 * late occupies scalar registers, of which these kernels have too few.
 */
template <class T> DEVICE const T &late_arguments()
{
    auto at = (const __attribute__((address_space(4))) T *)__builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(at));
    return *(const T *)at;
}

/* The sequence that a workgroup's y and z name; it may not exist. */
DEVICE u32 sequence_number(const struct attn_problem &a)
{
    return __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
}

/* The seed and offset that dropout used, for the caller; by one thread of a launch. */
DEVICE void write_seed(const struct attn_problem &a, kernarg_u64 seed, kernarg_u64 offset)
{
    typedef GLOBAL kernarg_u64 *u64s;
    if (!(a.flags & KERNARG_DROPOUT))
        return;
    if (seed)
        *(u64s)seed = a.dropout_seed + (a.dropout_seed_pointer ? *(u64s)a.dropout_seed_pointer : 0);
    if (offset)
        *(u64s)offset =
            a.dropout_offset + (a.dropout_offset_pointer ? *(u64s)a.dropout_offset_pointer : 0);
}

#endif
