/*
 * The softmax of a team of waves that have the same queries (team_form.h, whose names and k_tile
 * this has): each wave makes P of its own blocks of S, and through LDS all come by all of it.
 *
 * A query keeps a base and P = exp2((S - base) * factor + BIAS). The base is the largest score, but
 * for its growing by less than SOFTMAX_SLACK: then neither it nor O changes. P is made with the
 * base as it is. Only if a wave finds a score that is farther from it, which is rare after the
 * first tile, all of them tell each other their largest scores, move the bases and make P once
 * more.
 */
#ifndef AOTHIP_TEAM_SOFTMAX_H
#define AOTHIP_TEAM_SOFTMAX_H

#include "key_order.h"
#include "softmax.h"

constexpr int P_GROUPS = BLOCK / 16;            /* of sixteen keys, of a block */
constexpr int P_GROUP_BYTES = KERNEL_WAVE * 16; /* in LDS */
constexpr int P_BLOCK_BYTES = P_GROUPS * P_GROUP_BYTES;
constexpr int P_BYTES = TEAMS * Q_BLOCKS * KEY_BLOCKS * P_BLOCK_BYTES;
constexpr int FAR_BYTES = KERNEL_WAVES * 4; /* a word a wave */
constexpr int LARGEST_BYTES = TEAMS * COLUMNS * KEY_BLOCKS * 4;

static_assert(TEAM == 1 || P_BYTES + FAR_BYTES + LARGEST_BYTES <= K_TILE_BYTES,
              "all of it fits where K was");

/* What the base may fall behind, in exponents; not where its unit in the last place matters. */
#define SOFTMAX_SLACK 4.0f
#define SLACK_MOST 1024.0f

struct team_softmax {
    float base[Q_BLOCKS]; /* of columns: both halves agree; -infinity before any key is seen */
    float own_base[OWN];  /* those of this wave's own blocks of S */
    partial_sum sum[OWN]; /* of this lane's P */
};

/* Which of its team a wave is; its blocks of S: which keys, and from which column on. */
DEVICE u32 share_id()
{
    return wave_id() % TEAM;
}

DEVICE int own_keys()
{
    return (int)share_id() % KEY_BLOCKS;
}

DEVICE int own_column()
{
    return (int)share_id() / KEY_BLOCKS * OWN;
}

DEVICE void start_softmax(struct team_softmax &x)
{
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        x.own_base[i] = -__builtin_inff();
        x.sum[i] = {};
    }
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        x.base[column] = -__builtin_inff();
}

/* P of own scores, as the second product takes it; sums of it. */
DEVICE void weigh(u32x4 (&p)[OWN][P_GROUPS], partial_sum (&sum)[OWN], const block_acc (&s)[OWN],
                  const float (&bases)[OWN], float factor)
{
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const float base = bases[own] == -__builtin_inff() ? 0 : bases[own];
        block_acc x;
        sum[own] = {};
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            const f32x2 pair = exponents<SCORE_WIDE>(f32x2{s[own][i], s[own][i + 1]}, base, factor);
            x[i] = pair.x;
            x[i + 1] = pair.y;
        }
        if (HELD == ACC) /* two operations as one */
            asm("" : "+v"(x));
#pragma unroll
        for (int i = 0; i < ACC; i++)
            x[i] = __builtin_amdgcn_exp2f(x[i]);
        if (HELD == ACC)
            asm("" : "+v"(x));
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            sum[own] += f32x2{x[i], x[i + 1]};
            p[own][i / 8][i / 2 % 4] = end_round_pair(begin_round(x[i]), begin_round(x[i + 1]));
        }
    }
}

DEVICE void show_weights(const u32x4 (&p)[OWN][P_GROUPS], u32 place)
{
#pragma unroll
    for (int own = 0; own < OWN; own++)
#pragma unroll
        for (int group = 0; group < P_GROUPS; group++)
            *(u32x4 *)(k_tile + place + own * KEY_BLOCKS * P_BLOCK_BYTES + group * P_GROUP_BYTES) =
                p[own][group];
}

/* The team's P^T as operands: sixteen keys. */
DEVICE void see_weights(block_frag (&p)[Q_BLOCKS], u32 place, int group)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const u32x4 *at = (const u32x4 *)(k_tile + place + column * KEY_BLOCKS * P_BLOCK_BYTES +
                                          group * P_GROUP_BYTES);
#if MMA_STRAIGHT
        p[column] = *at;
#else
        p[column] = join_chunks(at[0], at[BLOCK]);
#endif
    }
}

DEVICE float largest_of(const block_acc &s)
{
    float largest = -__builtin_inff();
#pragma unroll
    for (int i = 0; i < ACC; i++)
        largest = __builtin_fmaxf(largest, s[i]);
    return largest;
}

/* Whether a base is to move up to a score. */
DEVICE bool is_far(float score, float base, float factor)
{
    const float slack = __builtin_fabsf(score) * factor < SLACK_MOST ? SOFTMAX_SLACK : 0;
    return (score - base) * factor > slack;
}

/* Tells the others whether own scores ask for the bases to move. */
DEVICE void show_far(const block_acc (&s)[OWN], const float (&bases)[OWN], float factor)
{
    bool far = false;
#pragma unroll
    for (int own = 0; own < OWN; own++)
        far |= is_far(largest_of(s[own]), bases[own], factor);
    ((u32 *)(k_tile + P_BYTES))[wave_id()] = in_any_lane(far);
}

/* Whether those of any wave of the workgroup do. The waves find the same. */
DEVICE bool is_any_far()
{
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < KERNEL_WAVES; i++)
        any |= ((const u32 *)(k_tile + P_BYTES))[i];
    return uniform(any) != 0;
}

/*
 * Moves bases up to the largest scores of all, and rescales what was summed so far, O by calls of
 * rescale(column, ratio): in the columns that ask for it, so that no row depends on another one.
 */
template <class F>
DEVICE void move_bases(struct team_softmax &x, const block_acc (&s)[OWN], float factor, F rescale)
{
    float *const all = (float *)(k_tile + P_BYTES + FAR_BYTES) + TEAM_ID * COLUMNS + lane_column();
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const float largest = largest_of(s[own]);
        all[own_keys() * KERNEL_TILE_Q + (own_column() + own) * BLOCK] =
            __builtin_fmaxf(largest, other_half(largest));
    }
    lds_barrier();
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        float most = -__builtin_inff();
#pragma unroll
        for (int keys = 0; keys < KEY_BLOCKS; keys++)
            most = __builtin_fmaxf(most, all[keys * KERNEL_TILE_Q + column * BLOCK]);
        const bool far = is_far(most, x.base[column], factor);
        const float next = far ? most : x.base[column];
        const float ratio = far ? __builtin_amdgcn_exp2f((x.base[column] - next) * factor) : 1;
        x.base[column] = next;
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const bool mine = own_column() + own == column;
            x.own_base[own] = mine ? next : x.own_base[own];
            x.sum[own] *= mine ? ratio : 1;
        }
        rescale(column, ratio);
    }
}

/* The sums of a column over all keys: those of all waves, which have arrived, and both halves. */
DEVICE void add_up(float (&sums)[Q_BLOCKS], const partial_sum (&own)[OWN])
{
    float *const all = (float *)k_tile + TEAM_ID * COLUMNS + lane_column();
#pragma unroll
    for (int i = 0; i < OWN; i++) {
        const float sum = total(own[i]);
        all[own_keys() * KERNEL_TILE_Q + (own_column() + i) * BLOCK] = sum + other_half(sum);
    }
    lds_barrier();
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        sums[column] = 0;
#pragma unroll
        for (int keys = 0; keys < KEY_SHARERS; keys++)
            sums[column] += all[keys * KERNEL_TILE_Q + column * BLOCK];
    }
}

#endif
