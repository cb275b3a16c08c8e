/*
 * How K, V and Q get to the lanes that team_f32.h computes with: what a wave works on, where the
 * rows of its keys lie, chunks of channels, and the loads.
 *
 * Who includes it says before:
 *
 *     SLICE_MOST       channels of a wave at most
 *     TEAMS_OF_ROWS    how many of the teams have rows of their own: TEAMS or 1
 */
#ifndef AOTHIP_ATTN_F32_LOAD_H
#define AOTHIP_ATTN_F32_LOAD_H

/* Whether elements have 16 bits, and are multiplied as they are. */
#define PRODUCTS_OF_PAIRS (KERNEL_DTYPE != 1)

#include "element.h"
#if KERNEL_CACHE
#include "fp8.h"
#endif
#include "finite.h"
#include "mask.h"
#if PRODUCTS_OF_PAIRS
#include "mma_16.h"
#else
#include "mma_f32.h"
#endif

/*
 * Whether steps that need nothing of the few problems' have a loop of their own, whose loads take
 * offsets that were computed once: where there are registers for it.
 */
#define PLAIN_STEPS (KERNEL_WAVE == 64 || (PRODUCTS_OF_PAIRS && !KERNEL_SCORE))

constexpr int SLICE = KERNEL_DIM < SLICE_MOST ? KERNEL_DIM : SLICE_MOST; /* channels of a wave */
constexpr int SLICES = KERNEL_DIM / SLICE;
constexpr int TEAMS = KERNEL_WAVES / SLICES;

#if KERNEL_CACHE
constexpr int KEY_BYTES = 1; /* of an element of K and V */
#else
constexpr int KEY_BYTES = ELEMENT_BYTES;
#endif
constexpr int CHUNK_ELEMENTS = 16 / ELEMENT_BYTES; /* of K: a load of 16 bytes; of FP8, 8 */
constexpr int K_STEPS = SLICE / (A_PARTS * CHUNK_ELEMENTS);

constexpr int V_CHUNK = SLICE / SIDE < CHUNK_ELEMENTS ? SLICE / SIDE : CHUNK_ELEMENTS;
constexpr int V_WORDS = V_CHUNK * ELEMENT_BYTES / 4;
constexpr int V_GROUPS = SLICE / (SIDE * V_CHUNK);

/* Floats from row to row in LDS: no two rows share their banks. */
constexpr int Q_PITCH = KERNEL_DIM + 4;

static_assert(SLICE % 64 == 0 && KERNEL_DIM % SLICE == 0, "whole chunks in every lane");
static_assert(TEAMS * SLICES == KERNEL_WAVES, "whole teams");

typedef u32 v_words __attribute__((ext_vector_type(V_WORDS)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));
typedef const GLOBAL u32x4 k_chunk_anywhere __attribute__((aligned(ELEMENT_BYTES)));

struct k_block {
    u32x4 chunk[K_STEPS];
};

struct v_block {
    v_words chunk[V_GROUPS][B_OF_C];
};

/* The same as they are loaded. */
#if KERNEL_CACHE

constexpr int V_CODE_WORDS = V_CHUNK / 4;
typedef u32x2 k_codes;
typedef u32 v_codes __attribute__((ext_vector_type(V_CODE_WORDS)));

struct k_load {
    k_codes chunk[K_STEPS];
};

struct v_load {
    v_codes chunk[V_GROUPS][B_OF_C];
};

typedef struct v_block v_elements;

#else
typedef u32x4 k_codes;
typedef v_words v_codes;
typedef struct k_block k_load;
typedef struct v_block v_load;
typedef struct v_block &v_elements;
#endif

typedef const GLOBAL k_codes k_codes_anywhere __attribute__((aligned(KEY_BYTES)));
typedef const GLOBAL v_codes v_codes_anywhere __attribute__((aligned(KEY_BYTES)));

/* The rows of K or V of one key head. Uniform. */
struct key_rows {
    const GLOBAL char *base; /* row 0; of page 0 */
    kernarg_i64 pitch;       /* in bytes */
    int dim;
};

/* What few problems need. In one register: as bools they would take two each. */
constexpr int NEED_PAGES = 1;
constexpr int NEED_TERMS = 2;
constexpr int NEED_DROPOUT = 4;
constexpr int NEED_SHORT_K = 8; /* rows shorter than a chunk */
constexpr int NEED_SHORT_V = 16;
constexpr int NEED_HIDING = 32;  /* terms that make scores -infinity */
constexpr int NEED_PART_K = 64;  /* fewer channels than KERNEL_DIM, or rows that are far apart */
constexpr int NEED_PART_V = 128; /* fewer than a chunk, or such rows */

/* The query row of a column; if there is none, one that exists. */
struct job_row {
    int row, head;
    struct key_interval visible;
};

/* What a wave works on. Uniform, but for the rows. */
struct wave_job {
    struct sequence sequence;
    struct key_rows k, v;
    int team, slice;
    struct job_row at;        /* of this lane's column */
    int full_first, full_end; /* keys that all the team's rows see */
    float scale;
    u32 needs; /* NEED_PAGES and so on */
#if PLAIN_STEPS
    u32 k_from, v_from[V_GROUPS]; /* of this lane's chunks of a block, from its first row on */
#endif
#if KERNEL_CACHE
    int type; /* enum fp8_type */
    int kv_head;
#endif
};

constexpr int NEEDS_OF_SCORES = NEED_TERMS | NEED_DROPOUT | NEED_HIDING;

/* Tested where it matters, for the result kept in the meantime would take two registers. */
DEVICE bool needs(const struct wave_job &job, int need)
{
    if (!KERNEL_SCORE && need & NEEDS_OF_SCORES)
        return false;
    u32 x = job.needs;
    asm volatile("" : "+s"(x));
    return x & need;
}

constexpr int PER_WORD = 4 / ELEMENT_BYTES;

DEVICE struct key_rows key_rows_of(const struct attn_problem &a, kernarg_u64 data,
                                   const struct kernarg_strides &stride,
                                   const struct sequence &sequence, int head, int dim)
{
    kernarg_i64 pitch = stride.seq * KEY_BYTES;
    kernarg_u64 first = (u32)head * (kernarg_u64)stride.head; /* none is negative */
    if (!a.block_table) {
        const int entry = a.batch_index ? batch_entry(a, sequence.number) : sequence.batch_k;
        first += (u32)entry * (kernarg_u64)stride.batch;
        if (sequence.start_k)
            first += (u32)sequence.start_k * (kernarg_u64)stride.seq;
    }
    return {(const GLOBAL char *)data + (kernarg_i64)first * KEY_BYTES, pitch, dim};
}

/* Whether 32 bits are too few for the distance of what a block of rows has. */
DEVICE bool is_far(const struct key_rows &x)
{
    return (kernarg_u64)x.pitch >> 27 != 0;
}

/* Of the problem, for args begins with one. */
template <class args> DEVICE const struct attn_problem &late_problem()
{
    return *(const struct attn_problem *)&late_arguments<args>();
}

/*
 * Row `key`, a multiple of 16, of k or v, whose strides `stride` points at; the 15 rows behind it
 * lie in the same page. Like all that few problems need it is read from the arguments where it is
 * used, since scalar registers are few.
 */
template <class args>
DEVICE const GLOBAL char *block_row(const struct wave_job &job, const struct key_rows &x,
                                    struct kernarg_strides attn_problem::*stride, int key)
{
    if (!needs(job, NEED_PAGES))
        return x.base + (kernarg_i64)((u32)key * (kernarg_u64)x.pitch);
    const struct attn_problem &a = late_problem<args>();
    int entry = page_of(a, job.sequence, key);
    entry = (u32)entry < (u32)a.pages ? entry : 0; /* see key_row() */
    return x.base + entry * (a.*stride).batch * KEY_BYTES +
           (key & ((1 << a.page_shift) - 1)) * x.pitch;
}

/*
 * Chunks of channels as they are loaded: chunk `channel` .. channel + size - 1, but not beyond dim;
 * it begins earlier where it would, and then shares some channels with the one before. Rows shorter
 * than a chunk have one, of which the last element stands for those that do not exist.
 */
DEVICE int chunk_begin(int channel, int size, int dim)
{
    int most = dim > size ? dim - size : 0;
    return channel < most ? channel : most;
}

/* Element i of that chunk, if it is a channel that no other chunk has; else -1. */
DEVICE int chunk_channel(int channel, int i, int size, int dim)
{
    int c = chunk_begin(channel, size, dim) + i;
    return channel < dim && c >= channel && c < dim ? c : -1;
}

template <int words> DEVICE void load_short(u32 (&to)[words], const GLOBAL char *row, int dim)
{
    if (KERNEL_WAVE == 64) /* which has no registers to hold its offsets throughout the walk */
        asm volatile("" : "+s"(dim));
#pragma unroll
    for (int i = 0; i < words * 4 / KEY_BYTES; i++) {
        int c = i < dim ? i : dim - 1;
#if KERNEL_CACHE
        u32 x = ((const GLOBAL unsigned char *)row)[c];
        to[i / 4] = i % 4 ? to[i / 4] | x << 8 * (i % 4) : x;
#elif KERNEL_DTYPE == ELEMENT_F32
        to[i] = ((const GLOBAL u32 *)row)[c];
#else
        u32 x = ((const GLOBAL u16 *)row)[c];
        to[i / 2] = i % 2 ? to[i / 2] | x << 16 : x;
#endif
    }
}

/*
 * Behind the loads of the few problems: what the compiler counts of loads in flight is then what
 * the others have, for which it would wait too long.
 */
DEVICE void end_rare_loads()
{
    if (PRODUCTS_OF_PAIRS && KERNEL_WAVE == 32)
        __builtin_amdgcn_s_waitcnt(0x03f7); /* vmcnt(0) of gfx11 */
}

/* Keys first .. first + 15, of which those up to `last` exist; for the others, the last one. */
template <class args>
DEVICE void load_k(k_load &to, const struct wave_job &job, int first, int last)
{
    const struct key_rows &k = job.k;
    int row = (int)a_row(), most = last - first;
    const GLOBAL char *base = block_row<args>(job, k, &attn_problem::k_stride, first);
    row = row < most ? row : most;
    int channel = job.slice * SLICE + (int)a_part() * CHUNK_ELEMENTS;
    asm volatile("" : "+v"(channel)); /* keeps the offsets out of registers across the walk */
    if (PRODUCTS_OF_PAIRS && !needs(job, NEED_PART_K)) {
        const u32 from = (u32)row * (u32)k.pitch + (u32)channel * KEY_BYTES;
#pragma unroll
        for (int step = 0; step < K_STEPS; step++)
            to.chunk[step] =
                *(k_codes_anywhere *)(base + from + step * (A_PARTS * CHUNK_ELEMENTS * KEY_BYTES));
        return;
    }
    const GLOBAL char *at = base + row * k.pitch;
    if (needs(job, NEED_SHORT_K)) {
        u32 words[sizeof(k_codes) / 4];
        load_short(words, at, k.dim);
#pragma unroll
        for (int step = 0; step < K_STEPS; step++)
#pragma unroll
            for (u32 i = 0; i < sizeof(words) / 4; i++)
                to.chunk[step][i] = words[i];
        end_rare_loads();
        return;
    }
#pragma unroll
    for (int step = 0; step < K_STEPS; step++) {
        int c = chunk_begin(channel + step * (A_PARTS * CHUNK_ELEMENTS), CHUNK_ELEMENTS, k.dim);
        to.chunk[step] = *(k_codes_anywhere *)(at + c * KEY_BYTES);
    }
    end_rare_loads();
}

/* The same keys' values: one group of the wave's channels. */
template <class args>
DEVICE void load_v(v_load &to, const struct wave_job &job, int group, int first, int last)
{
    const struct key_rows &v = job.v;
    const GLOBAL char *base = block_row<args>(job, v, &attn_problem::v_stride, first);
    int channel = job.slice * SLICE + (group * SIDE + (int)a_row()) * V_CHUNK;
    asm volatile("" : "+v"(channel));
    int begin = chunk_begin(channel, V_CHUNK, v.dim), most = last - first;
    /* One branch: see end_rare_loads(). */
    const u32 rare = PRODUCTS_OF_PAIRS ? uniform(needs(job, NEED_PART_V) | (most < SIDE - 1)) : 1;
    if (rare == 0) {
        u32 from = c_row(0) * (u32)v.pitch + (u32)begin * KEY_BYTES;
#pragma unroll
        for (int t = 0; t < B_OF_C; t++) {
            to.chunk[group][t] = *(v_codes_anywhere *)(base + from);
            from += (u32)v.pitch;
        }
        return;
    }
#pragma unroll
    for (int t = 0; t < B_OF_C; t++) {
        int key = (int)c_row(t);
        const GLOBAL char *at = base + (key < most ? key : most) * v.pitch;
        if (needs(job, NEED_SHORT_V)) {
            u32 words[sizeof(v_codes) / 4];
            load_short(words, at, v.dim);
#pragma unroll
            for (u32 i = 0; i < sizeof(words) / 4; i++)
                to.chunk[group][t][i] = words[i];
        } else {
            to.chunk[group][t] = *(v_codes_anywhere *)(at + begin * KEY_BYTES);
        }
    }
    end_rare_loads();
}

#if PLAIN_STEPS

DEVICE void keep_offsets(struct wave_job &job)
{
    const u32 first = (u32)(job.slice * SLICE);
    job.k_from = a_row() * (u32)job.k.pitch + (first + a_part() * CHUNK_ELEMENTS) * KEY_BYTES;
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++) {
        const int channel = (int)(first + (group * SIDE + a_row()) * V_CHUNK);
        job.v_from[group] =
            c_row(0) * (u32)job.v.pitch + (u32)chunk_begin(channel, V_CHUNK, job.v.dim) * KEY_BYTES;
    }
}

/* The loop keeps an offset as it is, and not as all that it is added up to. */
DEVICE u32 kept_offset(u32 x)
{
    asm volatile("" : "+v"(x));
    return x;
}

/* All of the block of keys from `key` on, in problems that need nothing of the few. */
DEVICE void load_plain_k(k_load &to, const struct wave_job &job, int key)
{
    const GLOBAL char *row = job.k.base + (kernarg_u64)(u32)key * (u32)job.k.pitch;
    const u32 from = kept_offset(job.k_from);
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        to.chunk[step] =
            *(k_codes_anywhere *)(row + from + step * (A_PARTS * CHUNK_ELEMENTS * KEY_BYTES));
}

DEVICE void load_plain_v(v_load &to, const struct wave_job &job, int group, int key)
{
    const GLOBAL char *row = job.v.base + (kernarg_u64)(u32)key * (u32)job.v.pitch;
    u32 from = kept_offset(job.v_from[group]);
#pragma unroll
    for (int t = 0; t < B_OF_C; t++) {
        to.chunk[group][t] = *(v_codes_anywhere *)(row + from);
        from += (u32)job.v.pitch;
    }
}

#endif

/* What walks elements are for. */
enum elements_use { FOR_PLAIN, FOR_ANY, FOR_MARKS };

/* What was loaded, as elements. */
#if KERNEL_CACHE

/* What code is worth that makes K's: with the same as V's, RDNA 4's registers would spill. */
#if defined(__GFX12__)
#define K_WORTH(use) (use == FOR_ANY ? FP8_OFTEN : FP8_USUAL)
#else
#define K_WORTH(use) FP8_USUAL
#endif

template <enum elements_use use>
DEVICE struct k_block elements_of(const struct wave_job &job, const k_load &x)
{
    struct k_block k;
    with_fp8_type<K_WORTH(use)>(job.type, [&](const auto &codes) {
#pragma unroll
        for (int step = 0; step < K_STEPS; step++) {
            const u32x2 low = fp8_elements(codes, x.chunk[step].x);
            const u32x2 high = fp8_elements(codes, x.chunk[step].y);
            k.chunk[step] = u32x4{low.x, low.y, high.x, high.y};
        }
    });
    return k;
}

template <enum elements_use use>
DEVICE v_elements elements_of(const struct wave_job &job, const v_load &x, int first, int end)
{
    struct v_block v;
    with_fp8_type<use == FOR_MARKS ? FP8_SELDOM : FP8_USUAL>(job.type, [&](const auto &codes) {
#pragma unroll
        for (int group = first; group < end; group++)
#pragma unroll
            for (int t = 0; t < B_OF_C; t++)
#pragma unroll
                for (int i = 0; i < V_CODE_WORDS; i++) {
                    const u32x2 pairs = fp8_elements(codes, x.chunk[group][t][i]);
                    v.chunk[group][t][2 * i] = pairs.x;
                    v.chunk[group][t][2 * i + 1] = pairs.y;
                }
    });
    return v;
}

#else

template <enum elements_use use>
DEVICE const struct k_block &elements_of(const struct wave_job &, const k_load &x)
{
    return x;
}

template <enum elements_use use>
DEVICE v_elements elements_of(const struct wave_job &, v_load &x, int, int)
{
    return x;
}

#endif

/* Whether the keys from `first`, a multiple of 16, on lie in a page that does not exist. */
template <class args> DEVICE bool page_is_missing(const struct wave_job &job, int first)
{
    u32 missing = 0; /* in one register: a bool would take two */
    if (needs(job, NEED_PAGES))
        missing = uniform(!page_exists(late_problem<args>(), job.sequence, first));
    asm("" : "+s"(missing));
    return missing;
}

/*
 * Makes V that is not finite 0, which a P of 0 would make NaN of; returns whether any lane had to.
 * Of keys whose page is missing all that was loaded in their place becomes 0.
 */
DEVICE bool isolate_v(struct v_block &v, bool missing)
{
    const u32 keep = missing ? 0 : 0xffffffffu;
    u32 any = 0;
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
        for (int t = 0; t < B_OF_C; t++)
#pragma unroll
            for (int i = 0; i < V_WORDS; i++) {
                u32 word = v.chunk[group][t][i] & keep, mask = select_nonfinite(word);
                any |= mask;
                v.chunk[group][t][i] = word & ~mask;
            }
    return in_any_lane(any != 0);
}

#endif
