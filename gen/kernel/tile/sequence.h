/*
 * The sequence that a workgroup works on: its lengths, where it lies, which keys its rows see. All
 * of it is uniform and read once, with scalar loads. kernarg.h has the rules.
 */
#ifndef AOTHIP_SEQUENCE_H
#define AOTHIP_SEQUENCE_H

#include "kernarg.h"

/* Whether all queries have the same boolean mask, and the kernel is for that alone. */
#ifndef KERNEL_PADDING
#define KERNEL_PADDING 0
#endif

/* Whether what comes before the first step is as short as may be, and in an order of its own. */
#ifndef STARTS_LEAN
#define STARTS_LEAN 0
#endif

/* Whether what is usual has a shorter way there. */
#ifndef PLANS_LEAN
#define PLANS_LEAN 0
#endif

/* Whether signs of Q, and what is not a number in O, are looked for once. */
#ifndef ENDS_LEAN
#define ENDS_LEAN 0
#endif

/* Whether KERNARG_ALIKE is looked at. */
#ifndef ASKS_ALIKE
#define ASKS_ALIKE 0
#endif

/* Whether bias and mask may have room for fewer keys than there are. */
#if KERNEL_PADDING
#define KEYS_LIMITED 1
#else
#define KEYS_LIMITED KERNEL_SCORE
#endif

struct sequence {
    int number;
    int seq_q, seq_k;        /* rows, of which any may be 0 */
    int start_q, start_k;    /* where row 0 lies along the tensors' sequence dimension */
    int batch_q, batch_k;    /* and along the batch dimension (paged keys: not used) */
    int key_first, key_last; /* row m sees m + key_first .. m + key_last within 0 .. seq_k - 1 */
};

static __attribute__((device)) inline __attribute__((always_inline)) kernarg_i64
sequence_entry(kernarg_u64 array, kernarg_u32 flags, int i)
{
    typedef const __attribute__((address_space(4))) kernarg_i64 *const_i64;
    typedef const __attribute__((address_space(4))) kernarg_i32 *const_i32;
    return flags & KERNARG_INDEX64 ? ((const_i64)array)[i] : ((const_i32)array)[i];
}

struct sequence_place {
    int start, length;
};

static __attribute__((device)) inline __attribute__((always_inline)) struct sequence_place
sequence_place(const struct kernarg_seqs &s, kernarg_u32 flags, int number)
{
    if (STARTS_LEAN && __builtin_expect(!(s.cumulative | s.lengths | s.starts),
                                        1)) { /* the same without 64 bits */
        const kernarg_u32 length = (kernarg_u32)(s.max < s.rows ? s.max : s.rows) + s.extra;
        return {0, length < (kernarg_u32)s.rows ? (int)length : s.rows};
    }
    kernarg_i64 start = 0, length = s.max;
    if (s.cumulative) {
        start = sequence_entry(s.cumulative, flags, number);
        length = (kernarg_i64)((kernarg_u64)sequence_entry(s.cumulative, flags, number + 1) -
                               (kernarg_u64)start); /* it may overflow */
        start = s.packed ? start : 0;
    }
    if (s.lengths)
        length = sequence_entry(s.lengths, flags, number);
    if (s.starts)
        start = sequence_entry(s.starts, flags, number);
    if (start < 0 || start > s.rows)
        return {0, 0};
    length = length > 0 ? length : 0;
    length = (length < s.rows ? length : s.rows) + s.extra;
    int first = (int)start;
    if (ASKS_ALIKE) /* or 64 bits of it would be kept */
        asm("" : "+s"(first));
    return {first, (int)(length < s.rows - start ? length : s.rows - start)};
}

static __attribute__((device)) inline __attribute__((always_inline)) kernarg_i32
batch_entry(const struct attn_problem &a, int number)
{
    return ((const __attribute__((address_space(4))) kernarg_i32 *)a.batch_index)[number];
}

/*
 * Whether what is wanted of sequences is read together: not a little at a time, behind one branch
 * after the other, for each of which scalar loads are waited for.
 */
#ifndef READS_TOGETHER
#define READS_TOGETHER 0
#endif

static __attribute__((device)) inline __attribute__((always_inline)) void
read_sequences(const struct attn_problem &a)
{
    const struct kernarg_seqs &q = a.q_seqs, &k = a.k_seqs;
    asm volatile("" ::"s"(a.flags), "s"(a.key_first), "s"(a.key_last), "s"(q.cumulative),
                 "s"(q.lengths), "s"(q.starts), "s"(q.max), "s"(q.rows), "s"(q.extra),
                 "s"(q.packed), "s"(k.cumulative), "s"(k.lengths), "s"(k.starts), "s"(k.max),
                 "s"(k.rows), "s"(k.extra), "s"(k.packed));
}

/* A side of what rows see; a scalar again, where that is wanted. */
#if PLANS_LEAN || (KERNEL_PAGED && KERNEL_SCORE && !KERNEL_UNALIGNED)
#define KEY_SIDE(x) __builtin_amdgcn_readfirstlane(x)
#else
#define KEY_SIDE(x) (x)
#endif

static __attribute__((device)) inline __attribute__((always_inline)) struct sequence
sequence_of(const struct attn_problem &a, int number)
{
    if (READS_TOGETHER)
        read_sequences(a);
    if (ASKS_ALIKE && __builtin_expect(a.flags & KERNARG_ALIKE, 1))
        return {number, a.q_seqs.max, a.k_seqs.max, 0, 0, number, number, a.key_first, a.key_last};
    struct sequence_place q = sequence_place(a.q_seqs, a.flags, number);
    struct sequence_place k = sequence_place(a.k_seqs, a.flags, number);
    if (KEYS_LIMITED)
        k.length = k.length < a.keys_most ? k.length : a.keys_most;
    if (KERNEL_PAGED && a.batch_index &&
        (kernarg_u32)batch_entry(a, number) >= (kernarg_u32)a.pages)
        k.length = 0;
    int from_end = k.length - q.length;
    return {number,
            q.length,
            k.length,
            q.start,
            k.start,
            a.q_seqs.packed ? 0 : number,
            a.k_seqs.packed ? 0 : number,
            KEY_SIDE(__builtin_elementwise_add_sat(
                a.key_first, a.flags & KERNARG_FIRST_FROM_END ? from_end : 0)),
            KEY_SIDE(__builtin_elementwise_add_sat(
                a.key_last, a.flags & KERNARG_LAST_FROM_END ? from_end : 0))};
}

#endif
