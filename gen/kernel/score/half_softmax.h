/*
 * The softmax of half of a tile's keys in parts, to be spread over matrix products of the other
 * half (sliced_step.h). The scores stay until P is known to be in range. Where it is not, the shift
 * moves there, and P is made again.
 */
#ifndef AOTHIP_HALF_SOFTMAX_H
#define AOTHIP_HALF_SOFTMAX_H

#include "softmax.h"

constexpr int HALF_BLOCKS = KEY_BLOCKS / 2; /* of keys */
constexpr int HALF_GROUPS = KERNEL_TILE_K / DEPTH / KEY_SHARES / 2;
constexpr int PAIRS = HALF_BLOCKS * ACC / 2; /* of scores that a lane has of a half */
constexpr int GROUP_PAIRS = PAIRS / HALF_GROUPS;
constexpr int SOFT_PARTS = 2 * PAIRS + 2; /* of their softmax */

/* Its products, and their instructions: each has a slice of the softmax beside it. */
constexpr int KQ_PRODUCTS = USED_DIM / DEPTH * HALF_BLOCKS;
constexpr int KQ_SLICES = MMA_PARTS * KQ_PRODUCTS;
constexpr int VP_PRODUCTS = HALF_GROUPS * DIM_BLOCKS;
constexpr int VP_SLICES = MMA_PARTS * VP_PRODUCTS;

typedef block_acc half_scores[HALF_BLOCKS];

/* P of a half, rounded. */
struct packed_p {
    block_frag frag[HALF_GROUPS];
};

DEVICE f32x2 score_pair(const half_scores &s, int pair)
{
    const block_acc &block = s[pair / (ACC / 2)];
    return {block[pair * 2 % ACC], block[pair * 2 % ACC + 1]};
}

DEVICE void pack_pair(struct packed_p &p, f32x2 x, float one, int pair)
{
    p.frag[pair / 4][pair % 4] =
        end_round_pair(begin_round(x.x), begin_round(x.y), SLICES_LEAN ? one : unknown_one());
}

/* What is under way: a pair begun, one made, and the sum of those before it. */
struct soft_parts {
    partial_sum sum;
    f32x2 begun, made;
};

/* What of a half is in registers from one stage to another. */
struct half_tile {
    half_scores s;
    struct packed_p p;
    struct soft_parts soft;
    float one; /* unknown_one() */
};

/* A part begins a pair, the next one its second half, the two behind end it. */
DEVICE void soften_part(struct half_tile &h, float shift, float factor, int part)
{
    struct soft_parts &w = h.soft;
    const int pair = part / 2;
    const bool begins = pair < PAIRS;
    const bool ends = pair > 0 && pair <= PAIRS;
    if (part % 2 == 0) {
        if (begins) {
            w.begun = exponents<SCORE_PLAIN>(score_pair(h.s, pair), shift, factor);
            w.begun.x = __builtin_amdgcn_exp2f(w.begun.x);
        }
        if (ends)
            w.sum += w.made;
    } else {
        if (ends)
            pack_pair(h.p, w.made, h.one, pair - 1);
        if (begins)
            w.made = {w.begun.x, __builtin_amdgcn_exp2f(w.begun.y)};
    }
}

/* All P of a half, but the sum of the pairs from `first` to `end` alone, and that one as made: what
 * the parts up to its second have left. */
DEVICE void make_p(struct half_tile &h, float shift, float factor, int first, int end)
{
    partial_sum sum = {};
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        f32x2 x = exponents<SCORE_PLAIN>(score_pair(h.s, i), shift, factor);
        x = {__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)};
        if (i >= first && i < end)
            sum += x;
        if (i == end)
            h.soft.made = x;
        pack_pair(h.p, x, h.one, i);
    }
    h.soft.sum = sum;
}

/*
 * Counts the pairs from `first` to `end`, whose parts are done; first, if they are out of range,
 * moves the shift and makes P again. Products of it, if any, are in O. Calls where scores are for
 * the wide form, and when P is made again.
 */
template <class F, class A>
DEVICE void count_p(struct half_tile &h, struct softmax_state &state, block_acc (&o)[DIM_BLOCKS],
                    float factor, int first, int end, F when_moved, A when_again)
{
    if (SELDOM(in_any_lane(total(h.soft.sum) > SOFTMAX_LIMIT))) {
        const bool begins = SLICES_LEAN && !in_any_lane(state.shift != SHIFT_UNSET);
        when_moved(in_any_lane(move_shift<SCORE_PLAIN>(state, o, h.s, factor, begins)));
        make_p(h, state.shift, factor, first, end);
        when_again();
        keep_shift<SCORE_PLAIN>(state);
    }
    state.sum += h.soft.sum;
    h.soft.sum = {};
}

#if STAGE_DIM > 64

/* Whether the softmax of both halves runs beside all products from S(b) on to the middle of the
 * last stage. */
#ifndef SPREADS
#define SPREADS 0
#endif

/*
 * Its units then, of which each instruction has about one beside it. P of a group of keys is
 * counted before its products begin; that of b's first group beside the last product with P(a), for
 * that is not made again.
 */
constexpr int GROUP_UNITS = 2 * GROUP_PAIRS + 3; /* to the first count, and with it */
constexpr int HALF_UNITS = 2 * PAIRS + 3;
constexpr int GROUP_SLICES = VP_SLICES / HALF_GROUPS;
constexpr int UNITS_OF_KQ = KQ_SLICES < GROUP_UNITS ? GROUP_UNITS
                            : KQ_SLICES > 2 * PAIRS ? 2 * PAIRS
                                                    : KQ_SLICES;
constexpr int UNITS_OF_VP = HALF_UNITS + GROUP_UNITS - UNITS_OF_KQ;
constexpr int UNITS_LEFT = HALF_UNITS - GROUP_UNITS;

/* How many units would be done before a slice, evenly, of which S(b) has the first ones. */
DEVICE constexpr int even_units(int slice)
{
    const int vp = slice - KQ_SLICES, left = vp - VP_SLICES;
    if (vp <= 0)
        return slice * UNITS_OF_KQ / KQ_SLICES;
    if (left <= 0)
        return UNITS_OF_KQ + vp * UNITS_OF_VP / VP_SLICES;
    return left < GROUP_SLICES ? UNITS_OF_KQ + UNITS_OF_VP + left * UNITS_LEFT / GROUP_SLICES
                               : 2 * HALF_UNITS;
}

/*
 * How many are. The count of a's second group makes P of the first one again, if it has to, whose
 * products are under way: not between the instructions of one, which have the same P. So it is
 * beside the last of them.
 */
DEVICE constexpr int units_before(int slice)
{
    const int count = HALF_UNITS - 1, units = even_units(slice);
    const bool begun = slice > KQ_SLICES && (slice - KQ_SLICES) % MMA_PARTS != 0;
    return begun && units > count && even_units(slice - 1) <= count ? count : units;
}

static_assert(HALF_GROUPS == 2, "two counts a half");
static_assert(MMA_PARTS <= 2, "a product's last instruction is its second");
static_assert(!SPREADS || units_before(KQ_SLICES) >= GROUP_UNITS,
              "of a, before its first group's products");
static_assert(!SPREADS || units_before(KQ_SLICES + GROUP_SLICES) >= HALF_UNITS,
              "before its second one's");
static_assert(!SPREADS || units_before(KQ_SLICES + VP_SLICES - 1) < HALF_UNITS + GROUP_UNITS,
              "of b, behind the last product with P(a)");

/* Or each half's has one stage, with so many parts beside an instruction, and what is left behind
 * it. */
constexpr int STAGE_SLICES = KQ_SLICES < VP_SLICES ? KQ_SLICES : VP_SLICES;
constexpr int SLICE_PARTS = (2 * PAIRS + STAGE_SLICES - 1) / STAGE_SLICES;

#endif

#endif
