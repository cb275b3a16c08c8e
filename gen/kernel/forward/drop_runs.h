/*
 * Dropout of fast steps, in kernels for it alone on RDNA: what stays the same along the keys is
 * found once before them, and the words of several counters are made side by side.
 */
#ifndef AOTHIP_FWD_DROP_RUNS_H
#define AOTHIP_FWD_DROP_RUNS_H

#include "score_load.h"

/* What fast steps want of dropout. All but the runs, which are of the next tile, is uniform. */
struct drops {
    kernarg_u64 seed;
    int threshold;
    struct philox_run run[Q_BLOCKS];
};

enum {
    DROP_QUADS = KEY_BLOCKS * ACC / 4,          /* of a column */
    DROP_RUN = DROP_QUADS < 4 ? DROP_QUADS : 4, /* of them side by side */
};

/*
 * Before fast steps of so many tiles, the first of which begins with `key`. Returns whether upper
 * words of counters differ in them: their steps are then to be general ones.
 */
DEVICE bool begin_drops(struct drops &x, const struct terms &t, int key, int tiles)
{
    const struct scene scene = recall(t);
    const struct dropout dropout = dropout_of(late_problem(), scene.number, scene.job.head);
    const u32 most = 0xffffffffu - (u32)tiles * (KERNEL_TILE_K / 4);
    bool differ = false;
    x.seed = dropout.seed;
    x.threshold = dropout.threshold;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const kernarg_u64 counter = first_counter(dropout, scene.job, column, (u32)key);
        differ |= (u32)counter > most;
        x.run[column] = begin_philox(dropout.seed, counter);
    }
    return in_any_lane(differ);
}

/* As drop_tile(). */
DEVICE void drop_run(score_blocks &p, struct drops &x)
{
    const int per_block = ACC / 4;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
#pragma unroll
        for (int first = 0; first < DROP_QUADS; first += DROP_RUN) {
            u32 further[DROP_RUN];
            u32x4 word[DROP_RUN];
#pragma unroll
            for (int i = 0; i < DROP_RUN; i++) {
                const int n = first + i, key = n / per_block * BLOCK + key_step(n % per_block * 4);
                further[i] = (u32)key / 4;
            }
            philox_words(word, x.run[column], x.seed, further);
#pragma unroll
            for (int i = 0; i < DROP_RUN; i++)
                drop_quad(p[column][(first + i) / per_block], (first + i) % per_block * 4,
                          x.threshold, word[i]);
            __builtin_amdgcn_sched_barrier(0); /* few at a time, for the registers */
        }
        x.run[column].x += (kernarg_u64)(KERNEL_TILE_K / 4) * PHILOX_X;
    }
}

#endif
