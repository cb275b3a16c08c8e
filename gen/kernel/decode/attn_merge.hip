/*
 * Puts the results of attn_split together, split after split, adds the sink, rounds and writes o
 * and lse:
 *
 *     o = sum of w[i] o[i] / sum of w[i],   w[i] = sum[i] exp(top[i] - max top)
 *
 * Splits that see no key (sum 0) have no o. LANES lanes have a part of a row, KERNARG_MERGE_PART
 * channels; kernarg.h says which. All that they say to each other goes through DPP, within a row of
 * 16 lanes as the hardware has them.
 */
#define STARTS_LEAN 1
#include "element.h"
#if KERNEL_DTYPE != ELEMENT_F32
#include "round.h"
#endif

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

/* As RARELY(), which is for kernels that have less room. */
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

constexpr int LANES = KERNARG_MERGE_LANES;
constexpr int PARTS = THREADS / LANES; /* of a workgroup */
constexpr int EACH = 8;                /* channels of a lane */
constexpr int TOGETHER = 4;            /* splits whose o is loaded together */

static_assert(LANES * EACH == KERNARG_MERGE_PART && LANES == 16, "a part of a row, a DPP row");
static_assert(KERNEL_DIM <= 4 * KERNARG_MERGE_PART, "parts of a row");
static_assert(KERNEL_WAVES == 1, "what is of a wave is of all");

DEVICE float exponential(float x)
{
    return __builtin_amdgcn_exp2f(x * LOG2_E);
}

/* Of the lane that DPP control `from` names. */
template <int from> DEVICE int through_dpp(int x)
{
    return __builtin_amdgcn_update_dpp(0, x, from, 0xf, 0xf, true);
}

template <int from> DEVICE float through_dpp(float x)
{
    return __builtin_bit_cast(float, through_dpp<from>(__builtin_bit_cast(int, x)));
}

enum dpp { ROW_ROR = 0x120, ROW_SHARE = 0x150 /* gfx9: row_newbcast */ };

/* Of lane i of the lanes of a part. */
template <int i> DEVICE float of_lane(float x)
{
    return through_dpp<ROW_SHARE + i>(x);
}

/* Each lane gets that of the lane TOGETHER further on. */
DEVICE float next_lanes(float x)
{
    return through_dpp<ROW_ROR + LANES - TOGETHER>(x);
}

/*
 * Floats as integers of the same order, and back: the largest one of integers is one instruction,
 * of floats it is several, since NaNs are made quiet.
 */
DEVICE int order_of(float x)
{
    const int bits = __builtin_bit_cast(int, x);
    return bits ^ (int)((u32)(bits >> 31) >> 1);
}

DEVICE float of_order(int x)
{
    return __builtin_bit_cast(float, x ^ (int)((u32)(x >> 31) >> 1));
}

DEVICE int larger(int x, int y)
{
    return x > y ? x : y;
}

DEVICE int largest_of_lanes(int x)
{
    x = larger(x, through_dpp<ROW_ROR + 8>(x));
    x = larger(x, through_dpp<ROW_ROR + 4>(x));
    x = larger(x, through_dpp<ROW_ROR + 2>(x));
    return larger(x, through_dpp<ROW_ROR + 1>(x));
}

/* The splits of a wave's parts. */
struct splits {
    const GLOBAL char *o, *sums; /* split 0 of the first one's row. Uniform */
    u32 o_lane, sums_lane;       /* from there to this lane's: bytes */
    u32 o_last;                  /* and to the o of its last split */
    u32 count, pitch;            /* how many; bytes from the o of one to that of the next */
};

/* What one lane's split says of itself: kernarg.h. */
struct words {
    float top, sum;
};

/* Of the splits from `first` on one a lane; in lanes beyond the last one, one without keys. */
DEVICE struct words words_of_lane(const struct splits &s, u32 first)
{
    const u32 split = first + lane_id() % LANES, last = s.count - 1;
    const f32x2 x = *(const GLOBAL f32x2 *)(s.sums + (s.sums_lane + (split < last ? split : last) *
                                                                        (u32)sizeof(f32x2)));
    const float sum = split <= last ? x.y : 0;
    return {sum != 0 ? x.x : -__builtin_inff(), sum};
}

template <int each> struct channels {
    float x[each];
};

/* Those of TOGETHER splits; in place of those beyond the last one, that one's. */
template <int each> struct loaded {
    channels<each> split[TOGETHER];
};

/* `at`: from s.o to the first one's; then to that of the one behind them. */
template <int each> DEVICE loaded<each> load_splits(const struct splits &s, u32 &at)
{
    loaded<each> o;
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
        typedef float run __attribute__((ext_vector_type(each)));
        typedef run anywhere __attribute__((aligned(4)));
        const run x = *(const GLOBAL anywhere *)(s.o + (i == 0 || at < s.o_last ? at : s.o_last));
#pragma unroll
        for (int j = 0; j < each; j++)
            o.split[i].x[j] = x[j];
        at += s.pitch;
    }
    asm("" : "+v"(at)); /* or each of them would be kept */
    return o;
}

/* What they come to. */
template <int each> struct merged {
    channels<each> o; /* not yet divided */
    float largest;    /* top */
    float sum;        /* of the weights; 0 where no key is seen */
};

/* The weight of a split without keys: no number changes when it is added to it. */
DEVICE bool has_keys(float weight)
{
    return __builtin_bit_cast(u32, weight) != 0x80000000;
}

/* Clears what is in the place of an o of split i where it has no keys: any bits. */
template <int i, int each> DEVICE void clear_split(loaded<each> &o, float weight)
{
    const bool has = has_keys(of_lane<i>(weight));
#pragma unroll
    for (int j = 0; j < each; j++)
        o.split[i].x[j] = has ? o.split[i].x[j] : 0;
}

template <int i, int each>
DEVICE void add_split(merged<each> &m, const loaded<each> &o, float weight)
{
    const float w = of_lane<i>(weight);
    m.sum += w;
#pragma unroll
    for (int j = 0; j < each; j++)
        m.o.x[j] = __builtin_fmaf(w, o.split[i].x[j], m.o.x[j]);
}

/* Lanes that weigh a split without keys, a bit each. */
#if KERNEL_WAVE == 32
typedef u32 lane_bits;
#else
typedef kernarg_u64 lane_bits;
#endif

/* Adds splits, each in its place; then the next ones' weights and bits are where theirs were. */
template <int each>
DEVICE void add_splits(merged<each> &m, loaded<each> &o, float &weight, lane_bits &without)
{
    static_assert(TOGETHER == 4, "each of them");
    if (UNLIKELY(without & (lane_bits)0x000f000f000f000f)) {
        clear_split<0>(o, weight);
        clear_split<1>(o, weight);
        clear_split<2>(o, weight);
        clear_split<3>(o, weight);
    }
    add_split<0>(m, o, weight);
    add_split<1>(m, o, weight);
    add_split<2>(m, o, weight);
    add_split<3>(m, o, weight);
    weight = next_lanes(weight);
    without >>= TOGETHER;
}

/*
 * Each lane weighs a split, and all go through them in their order. Rows of o are loaded whatever
 * their weight, so that several are in flight together.
 */
template <int each> DEVICE void merge(merged<each> &m, const struct splits &s)
{
    struct words mine = words_of_lane(s, 0);
    u32 at = s.o_lane;
    loaded<each> even = load_splits<each>(s, at), odd;
    if (s.count > TOGETHER)
        odd = load_splits<each>(s, at);
    int top = order_of(mine.top);
    for (u32 first = LANES; UNLIKELY(first < s.count); first += LANES)
        top = larger(top, order_of(words_of_lane(s, first).top));
    m = {};
    m.largest = of_order(largest_of_lanes(top));

    float weight = 0;
    lane_bits without = 0;
    for (u32 first = 0, left = s.count;; first += 2 * TOGETHER, left -= 2 * TOGETHER) {
        if (first % LANES == 0) {
            if (first)
                mine = words_of_lane(s, first);
            weight = mine.sum * exponential(mine.top - m.largest);
            asm("" : "+v"(weight)); /* or there would be a branch around it */
            weight = mine.sum != 0 ? weight : -0.0f;
            without = (lane_bits)__builtin_amdgcn_ballot_w64(mine.sum == 0);
        }
        add_splits(m, even, weight, without);
        if (left <= TOGETHER)
            break;
        if (UNLIKELY(left > 2 * TOGETHER))
            even = load_splits<each>(s, at);
        add_splits(m, odd, weight, without);
        if (!UNLIKELY(left > 2 * TOGETHER))
            break;
        if (left > 3 * TOGETHER)
            odd = load_splits<each>(s, at);
    }
}

/* Channels of a row of o, rounded, wherever they are. */
template <int each>
DEVICE void store_channels(GLOBAL char *at, const channels<each> &o, float factor)
{
#if KERNEL_DTYPE != ELEMENT_F32
    if (each > 1) {
        typedef GLOBAL u32x4 anywhere __attribute__((aligned(2)));
        u32x4 words;
#pragma unroll
        for (int i = 0; i < 4; i++)
            words[i] =
                round_pair_even(o.x[2 * i % each] * factor, o.x[(2 * i + 1) % each] * factor);
        *(anywhere *)at = words;
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < each; i++)
        store_element(at + i * ELEMENT_BYTES, o.x[i] * factor);
}

/* What a lane has. */
struct place {
    int head, row, channel;
};

/* Where a lane's row of o begins: elements. */
DEVICE kernarg_i64 row_of(const struct kernarg_strides &stride, const struct sequence &sequence,
                          const struct place &at)
{
    return (u32)sequence.batch_q * stride.batch + (u32)at.head * stride.head +
           (u32)(sequence.start_q + at.row) * stride.seq;
}

template <int each>
DEVICE void merge_part(const struct attn_split_args &args, const struct sequence &sequence,
                       struct splits s, const struct place &at)
{
    const struct attn_problem &a = args.fwd.problem;
    /* the last lane's channels may be some of those before, which both have alike */
    const int last = a.dim_v - each, channel = at.channel < last ? at.channel : last;
    s.o_lane += (u32)channel * 4;
    s.o_last = s.o_lane + (s.count - 1) * s.pitch;
    merged<each> m;
    merge(m, s);

    const bool blind = m.sum == 0;
    float top = m.largest, total = m.sum, factor = 1;
    if (UNLIKELY(a.sinks)) {
        const float sink = ((const GLOBAL float *)a.sinks)[(u32)at.head];
        const bool has_sink = sink > -__builtin_inff();
        top = has_sink ? __builtin_fmaxf(top, sink) : top;
        factor = blind ? 0 : exponential(m.largest - top);
        total = total * factor + (has_sink ? exponential(sink - top) : 0);
    }
    factor = blind ? 0 : factor / total;

    if (at.channel < a.dim_v)
        store_channels((GLOBAL char *)args.fwd.o +
                           (row_of(args.fwd.o_stride, sequence, at) + (u32)channel) * ELEMENT_BYTES,
                       m.o, factor);
    if (!args.fwd.lse)
        return;
    if (at.channel == 0)
        if (GLOBAL float *to = lse_of(a, args.fwd.lse, sequence, at.head, at.row))
            *to = (total == 0 ? __builtin_inff() : top + __builtin_amdgcn_logf(total) * LN_2) *
                  a.lse_unit;
}

/* n / d, where both are below `most`: quotient.h has why. */
DEVICE u32 quotient(u32 n, u32 d, u32 most)
{
    if (__builtin_expect(most <= 1 << 20, 1))
        return (u32)(((float)n + 0.5f) * __builtin_amdgcn_rcpf((float)d));
    return n / d;
}

/* Loads all arguments that are of use together: each time that some are waited for is long here. */
DEVICE void read_arguments(const struct attn_split_args &args)
{
    const struct attn_fwd_args &f = args.fwd;
    const struct attn_problem &a = f.problem;
    const struct kernarg_seqs &q = a.q_seqs;
    asm volatile("" ::"s"(a.batch), "s"(a.heads_q), "s"(a.seq_q), "s"(a.dim_v), "s"(a.grid_y),
                 "s"(a.flags), "s"(a.lse_unit), "s"(q.cumulative), "s"(q.lengths), "s"(q.starts),
                 "s"(q.max), "s"(q.rows), "s"(q.packed), "s"(q.extra), "s"(a.lse_stride.batch),
                 "s"(a.lse_stride.head), "s"(a.lse_stride.seq), "s"(a.lse_size), "s"(a.sinks),
                 "s"(f.o), "s"(f.o_stride.batch), "s"(f.o_stride.head), "s"(f.o_stride.seq),
                 "s"(f.lse), "s"(args.partial_o), "s"(args.partial_sums), "s"(args.splits),
                 "s"(args.merge_shift));
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_split_args args)
{
    const struct attn_problem &a = args.fwd.problem;
    read_arguments(args);
    const u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;
    if (UNLIKELY(a.flags & KERNARG_DROPOUT)) {
        asm volatile(""); /* or the threads would be told apart before this is asked */
        if (x == 0 && number == 0 && thread_id() == 0)
            write_seed(a, args.fwd.seed_output, args.fwd.offset_output);
    }

    const struct sequence sequence = sequence_of(a, (int)number);
    const u32 first = x * PARTS, part = first + thread_id() / LANES, lane = thread_id() % LANES;
    const u32 rows = (u32)a.heads_q * (u32)a.seq_q, first_row = first >> args.merge_shift;
    const u32 row = part >> args.merge_shift, head = quotient(row, (u32)a.seq_q, rows);
    const int m = (int)(row - head * (u32)a.seq_q);
    if (row >= rows || m >= sequence.seq_q)
        return;
    __builtin_assume(m >= 0 && (int)head >= 0);

    const u32 of_row = part & ((1u << args.merge_shift) - 1),
              ahead = (row - first_row) * (u32)args.splits;
    const kernarg_u64 splits = ((kernarg_u64)number * rows + first_row) * (u32)args.splits;
    const struct splits s = {(const GLOBAL char *)args.partial_o + splits * (u32)a.dim_v * 4,
                             (const GLOBAL char *)args.partial_sums + splits * 8,
                             ahead * (u32)a.dim_v * 4,
                             ahead * 8,
                             0,
                             (u32)args.splits,
                             (u32)a.dim_v * 4};
    if (UNLIKELY(a.dim_v < EACH)) {
        merge_part<1>(args, sequence, s, {(int)head, m, (int)lane});
        return;
    }
    merge_part<EACH>(args, sequence, s,
                     {(int)head, m, (int)(of_row * KERNARG_MERGE_PART + lane * EACH)});
}
