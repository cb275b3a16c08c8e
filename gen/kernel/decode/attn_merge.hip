/*
 * Puts the results of attn_split together, split after split, adds the sink, rounds and writes o
 * and lse. One workgroup a row:
 *
 *     o = sum of w[i] o[i] / sum of w[i],   w[i] = sum[i] exp(top[i] - max top)
 *
 * Splits that see no key (sum 0) have no o. Workgroup x: row x % seq_q of head x / seq_q.
 */
#include "element.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

enum {
    CHANNELS = KERNEL_DIM / THREADS, /* of a thread */
    TOGETHER = 4,                    /* splits whose o is loaded together */
};

static_assert(CHANNELS * THREADS == KERNEL_DIM, "whole channels");
static_assert(KERNEL_WAVE % TOGETHER == 0, "each of them has a lane");

DEVICE float exponential(float x)
{
    return __builtin_amdgcn_exp2f(x * LOG2_E);
}

/* What the splits say of a row. */
struct merged {
    float o[CHANNELS]; /* channels thread_id() + i * THREADS, not yet divided */
    float largest;     /* top */
    float sum;         /* of the weights; 0 where no key is seen */
};

/* What one lane's split says of itself: kernarg.h. */
struct part {
    float top, sum;
};

/* Of the splits from `first` on one a lane; in lanes beyond the last one, one without keys. */
DEVICE struct part part_of_lane(const GLOBAL f32x2 *parts, int first, int splits)
{
    const int split = first + (int)lane_id();
    const f32x2 x = parts[split < splits ? split : splits - 1];
    return {x.x, split < splits ? x.y : 0};
}

DEVICE float of_lane(float x, int lane)
{
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, x), lane));
}

/* How many of the splits from `first` on lanes have. */
DEVICE int in_lanes(int first, int splits)
{
    return splits - first < KERNEL_WAVE ? splits - first : KERNEL_WAVE;
}

/*
 * Each lane weighs a split, and all go through them in their order. Rows of o are loaded whatever
 * their weight, so that several are in flight together; what one without keys has in its place is
 * not used, and beyond the last one it is loaded again. `chunks`: of THREADS channels, as many as a
 * row has.
 */
template <int chunks>
DEVICE void merge(struct merged &x, const GLOBAL float *o, const GLOBAL f32x2 *parts, int splits,
                  int dim)
{
    const GLOBAL float *at[chunks];
    kernarg_i64 row = 0;
    x = {};
    x.largest = -__builtin_inff();
#pragma unroll
    for (int j = 0; j < chunks; j++) {
        const int channel = (int)thread_id() + j * THREADS;
        at[j] = o + (channel < dim ? channel : 0);
    }
    for (int first = 0; first < splits; first += KERNEL_WAVE) {
        const struct part mine = part_of_lane(parts, first, splits);
        const float top = mine.sum != 0 ? mine.top : -__builtin_inff();
        for (int i = 0; i < in_lanes(first, splits); i++)
            x.largest = __builtin_fmaxf(x.largest, of_lane(top, i));
    }
    for (int first = 0; first < splits; first += KERNEL_WAVE) {
        const struct part mine = part_of_lane(parts, first, splits);
        const bool has = mine.sum != 0;
        const float weight = has ? mine.sum * exponential(mine.top - x.largest) : 0;
        const kernarg_u64 with = __builtin_amdgcn_ballot_w64(has);
        for (int i = 0; i < in_lanes(first, splits); i += TOGETHER) {
            float rows[TOGETHER][chunks];
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
#pragma unroll
                for (int j = 0; j < chunks; j++)
                    rows[k][j] = at[j][row];
                row += first + i + k + 1 < splits ? dim : 0;
            }
#pragma unroll
            for (int k = 0; k < TOGETHER; k++) {
                const float w = of_lane(weight, i + k);
                x.sum += w;
#pragma unroll
                for (int j = 0; j < chunks; j++) {
                    const float sum = __builtin_fmaf(w, rows[k][j], x.o[j]);
                    x.o[j] = with >> (i + k) & 1 ? sum : x.o[j];
                }
            }
        }
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_split_args args)
{
    const struct attn_problem &a = args.fwd.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;
    if (x == 0 && number == 0 && thread_id() == 0)
        write_seed(a, args.fwd.seed_output, args.fwd.offset_output);

    const struct sequence sequence = sequence_of(a, (int)number);
    int head = (int)uniform(x / (u32)a.seq_q), row = (int)x - head * a.seq_q;
    if (row >= sequence.seq_q)
        return;

    kernarg_i64 first = (((kernarg_i64)number * a.heads_q + head) * a.seq_q + row) * args.splits;
    struct merged m;
    const GLOBAL float *partial_o = (const GLOBAL float *)args.partial_o + first * a.dim_v;
    const GLOBAL f32x2 *partial_sums = (const GLOBAL f32x2 *)args.partial_sums + first;
    if (a.dim_v <= THREADS)
        merge<1>(m, partial_o, partial_sums, args.splits, a.dim_v);
    else
        merge<CHANNELS>(m, partial_o, partial_sums, args.splits, a.dim_v);

    const float infinity = __builtin_inff();
    float sink = a.sinks ? ((const GLOBAL float *)a.sinks)[head] : -infinity;
    const bool blind = m.sum == 0, has_sink = sink > -infinity;
    float top = has_sink ? __builtin_fmaxf(m.largest, sink) : m.largest;
    float weight = blind ? 0 : exponential(m.largest - top);
    float total = m.sum * weight + (has_sink ? exponential(sink - top) : 0);
    float factor = blind ? 0 : weight / total;
    float lse = blind && !has_sink ? infinity : top + __builtin_amdgcn_logf(total) * LN_2;

    GLOBAL char *o = query_row(args.fwd.o, args.fwd.o_stride, sequence, head, row);
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        int channel = (int)thread_id() + j * THREADS;
        if (channel < a.dim_v)
            store_element(o + channel * ELEMENT_BYTES, m.o[j] * factor);
    }
    GLOBAL float *at = args.fwd.lse ? lse_of(a, args.fwd.lse, sequence, head, row) : nullptr;
    if (at && thread_id() == 0)
        *at = lse * a.lse_unit;
}
