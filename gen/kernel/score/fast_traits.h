/*
 * What the forward kernel's fast form does differently from GPU to GPU, and from kernel to kernel.
 */
#ifndef AOTHIP_FAST_TRAITS_H
#define AOTHIP_FAST_TRAITS_H

/*
 * Where the waves are more than the blocks of queries, those that have the same block share the
 * keys of each tile, and add up what they found at the end (key_shares.h).
 */
#define KEY_SHARES (KERNEL_WAVES * BLOCK > KERNEL_TILE_Q ? KERNEL_WAVES * BLOCK / KERNEL_TILE_Q : 1)
#define TEAMS (KERNEL_WAVES / KEY_SHARES)
#define TEAM_ID (wave_id() / KEY_SHARES)

/*
 * Kernels of one score term whose fast steps have it in slices (half_terms.h). Some have no
 * registers for it: those of bf16 with dropout and 64 channels on gfx942 and, as older compilers
 * make them, those with a mask, those with a bias and 64 channels, and those of bf16 with dropout
 * on gfx90a. In pages ALiBi would have to turn, which their walk does not.
 */
#if defined(__gfx950__) || KERNEL_DTYPE == 2
#define DROPOUT_FITS 1
#elif defined(__gfx90a__)
#define DROPOUT_FITS (__clang_major__ >= 22)
#else
#define DROPOUT_FITS (KERNEL_DIM > 64)
#endif
#if KERNEL_WAVE == 64 && (!KERNEL_PAGED || KERNEL_SCORE == 4) &&                                   \
    (KERNEL_SCORE == 3 || KERNEL_SCORE == 4 || (KERNEL_SCORE == 5 && DROPOUT_FITS) ||              \
     (KERNEL_SCORE == 7 && __clang_major__ >= 22) ||                                               \
     (KERNEL_SCORE == 2 && (KERNEL_DIM > 64 || __clang_major__ >= 22)))
#define SLICES_TERMS 1
#else
#define SLICES_TERMS 0
#endif
#define SLICES_DROPOUT (SLICES_TERMS && KERNEL_SCORE == 5)

/* Whether a run of such steps goes on from the last full tile to the first one. */
#define SLICES_TURN (SLICES_TERMS && KERNEL_SCORE == 3)

/* Whether what comes before the first step is in an order of its own. With rows of any alignment
 * launches on gfx90a that do not fill it last longer with it, and rows of many heads spill. */
#if (defined(__gfx90a__) || KERNEL_SPLIT) && KERNEL_UNALIGNED
#define STARTS_LEAN 0
#else
#define STARTS_LEAN (KERNEL_WAVE == 64 && (!KERNEL_SCORE || SLICES_TERMS) && !KERNEL_FP8)
#endif

/* Whether rows of Q and O that have all channels are loaded and stored with fewer instructions, and
 * O is cleared by products. Of gfx950's rows of 128 channels launches with few keys last longer
 * when Q comes so, and O. */
#define WHOLE_ROWS (PLANS_LEAN && !KERNEL_UNALIGNED && !KERNEL_CACHE)
#if defined(__gfx950__) && KERNEL_DIM == 128 && !KERNEL_SCORE && !KERNEL_PAGED &&                  \
    !KERNEL_PADDING && !KERNEL_UNALIGNED && !KERNEL_CACHE
#define WHOLE_Q 0
#define CLEARS_BY_PRODUCT 0
#else
#define WHOLE_Q WHOLE_ROWS
#define CLEARS_BY_PRODUCT PLANS_LEAN
#endif

/* What is seldom true, where that is told. */
#define SELDOM(x) (STARTS_LEAN ? RARELY(x) : (x))

/* Whether what is wanted of sequences and outputs is read together: sequence.h. */
#define READS_TOGETHER (KERNEL_SCORE || KERNEL_PADDING)

/* Whether what is usual has a shorter way: no mask, a pitch of 32 bits; and sequences that the host
 * knows to be alike. Older compilers spill with it where dropout is in slices. */
#if defined(__GFX12__) && KERNEL_DIM == 128 && KERNEL_DTYPE == 2 &&                                \
    !KERNEL_SCORE /* of which causal launches take longer */
#define PLANS_LEAN 0
#define ASKS_ALIKE 0
#elif KERNEL_WAVE == 32 && KERNEL_SCORE != 1 && !KERNEL_FP8 && !KERNEL_PAGED && !KERNEL_PADDING && \
    !KERNEL_UNALIGNED && !KERNEL_CACHE
#define PLANS_LEAN 1
#define ASKS_ALIKE 1
#elif defined(__gfx90a__) && (KERNEL_PAGED || KERNEL_PADDING) /* which take longer with it */
#define PLANS_LEAN 0
#define ASKS_ALIKE 0
#elif defined(__gfx942__) && SLICES_DROPOUT && KERNEL_DIM <= 64 && __clang_major__ < 22
#define PLANS_LEAN 0
#define ASKS_ALIKE 0
#else
#define PLANS_LEAN STARTS_LEAN
#define ASKS_ALIKE (STARTS_LEAN && !KERNEL_PAGED && !KERNEL_PADDING)
#endif

#include "tile.h"

/*
 * Short rows of Q on RDNA 4: the operands of the first steps of Q K^T stay in registers, so that
 * LDS has room for five workgroups and not three. Waves that share keys have too few rows for it.
 */
#if defined(__GFX12__) && KERNEL_DIM == 64 && !KERNEL_SCORE && !KERNEL_FP8 && !KERNEL_PADDING &&   \
    !KERNEL_UNALIGNED && !KERNEL_PAGED && !KERNEL_CACHE && KERNEL_WAVES * 16 < KERNEL_TILE_Q
#define Q_HELD 3
#endif

/* All of Q where a wave of RDNA 4 has one block of queries, and registers; for begun sums, too. */
#if defined(__GFX12__) && !KERNEL_FP8 && KERNEL_WAVES * 16 == KERNEL_TILE_Q &&                     \
    !(KERNEL_SPLIT && KERNEL_SCORE)
#define Q_IN_LDS 0
#define SHIFT_OF_SCORES (KERNEL_SCORE != 1)
#endif

/* Whether the softmax of fast steps is in slices (spread_softmax.h): RDNA 4. Dropout comes between
 * the sums and P, and 64 channels with padding are slower with it. */
#if defined(__GFX12__) && !KERNEL_FP8 && !KERNEL_CACHE && KERNEL_SCORE != 1 &&                     \
    KERNEL_SCORE != 5 && !(KERNEL_PADDING && KERNEL_DIM <= 64)
#define FAST_SPREAD 1
#else
#define FAST_SPREAD 0
#endif

/* Whether products are paced ones: RDNA 3, and one score term at most. */
#if KERNEL_WAVE == 32 && !defined(__GFX12__) && KERNEL_SCORE != 1 && !KERNEL_FP8 &&                \
    (!KERNEL_CACHE || KERNEL_WAVES * 16 == KERNEL_TILE_Q)
#define FAST_PACED 1
#else
#define FAST_PACED 0
#endif

/*
 * Waves of RDNA 3 that have one block of queries: with Q in registers LDS has room for more
 * workgroups, and P becomes an operand by way of LDS (paced_products.h). With two blocks there are
 * fewer instructions, for each operand from LDS serves two products, but by the clock more time.
 */
#if FAST_PACED && KERNEL_WAVES * 16 == KERNEL_TILE_Q
#define Q_IN_LDS 0
#define P_IN_LDS 1
#endif

/* Whether a fast step's sums begin with what terms add to the scores: RDNA, see score_runs.h. */
#if KERNEL_SCORE > 1 && KERNEL_WAVE == 32
#define FOLDS_TERMS 1
#endif

/*
 * On RDNA 3 K and V^T take turns in one place in LDS where more workgroups then share it. That is
 * worth the two barriers more. Waves that share keys need both places in the end.
 */
#if KERNEL_WAVE == 32 && !defined(__GFX12__) && KERNEL_WAVES * 16 <= KERNEL_TILE_Q &&              \
    (KERNEL_SCORE || defined(P_IN_LDS))
#define ONE_TILE 1
#endif

/*
 * Whether waves of fast steps have priorities. On RDNA a wave at the softmax goes before those
 * that multiply. On CDNA, in kernels of one score term and 128 channels, the further a wave is in
 * its step the sooner it goes; with fewer channels, and on gfx90a, that loses as much as it gains.
 */
#if FAST_PACED || FAST_SPREAD ||                                                                   \
    (KERNEL_WAVE == 64 && !defined(__gfx90a__) && KERNEL_SCORE > 1 && KERNEL_DIM > 64)
#define RANKED 1
#else
#define RANKED 0
#endif

/*
 * Whether a fast step whose P leave their range moves the shift itself: the scores are still in
 * registers, where RDNA 4's waves of one block of queries have room for them.
 */
#if FAST_SPREAD && !KERNEL_SCORE && !KERNEL_PADDING && KERNEL_WAVES * 16 == KERNEL_TILE_Q
#define FAST_MOVES 1
#else
#define FAST_MOVES 0
#endif

/* Whether fast steps are sliced ones: a wave has two blocks of keys or more, and no score terms or
 * such a one. */
#if KERNEL_WAVE == 64 && KERNEL_TILE_Q * KERNEL_TILE_K >= KERNEL_WAVES * 32 * 64 &&                \
    (!KERNEL_SCORE || SLICES_TERMS) && !KERNEL_FP8 && !KERNEL_CACHE
#define FAST_SLICED 1
#else
#define FAST_SLICED 0
#endif

/* Whether one of them can be a walk's first step, and one its last. */
#if FAST_SLICED && !KERNEL_PAGED && !KERNEL_PADDING && !KERNEL_UNALIGNED
#define SLICES_FIRST 1
#else
#define SLICES_FIRST 0
#endif

/* Whether one of them can be a walk's last step where its first one is another. What is loaded
 * behind the last tile is then of the sequence's last page, and not used. */
#if FAST_SLICED && KERNEL_PAGED && !KERNEL_PADDING
#define SLICES_LAST 1
#else
#define SLICES_LAST 0
#endif

/* Whether they keep the 1 that they round with, and do not scale an O of zeros. On gfx90a other
 * walks take longer with it. */
#if SLICES_FIRST ? !PLANS_LEAN : defined(__gfx90a__)
#define SLICES_LEAN 0
#else
#define SLICES_LEAN 1
#endif

/* Whether what is seldom in Q and O, a sign and NaNs, is looked for once. */
#define ENDS_LEAN (STARTS_LEAN || PLANS_LEAN || FAST_MOVES || FAST_PACED)

/* Whether a fast step can be a walk's last one: it asks for no rows of a next tile. With one score
 * term on RDNA 3, too, where its term is then that of the same tile again. */
#if (defined(FOLDS_TERMS) && !defined(__GFX12__)) ||                                               \
    (KERNEL_WAVE == 32 && !KERNEL_SCORE && !KERNEL_FP8 && !KERNEL_CACHE && !KERNEL_PADDING &&      \
     !KERNEL_UNALIGNED)
#define ENDS_FAST 1
#else
#define ENDS_FAST 0
#endif

#endif
