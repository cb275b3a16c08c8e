/*
 * Forward attention:  S = scale * Q K^T,  P = softmax(S),  O = P V,  lse = ln(sum(exp(S)))
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   O (seq_q, dim_v)
 *
 * A workgroup computes TILE_Q rows of O of one head; each of its waves owns COLUMNS = TILE_Q /
 * WAVES of them and walks over the keys in tiles of TILE_K, which the whole workgroup brings to
 * LDS. Everything is transposed, so that P never leaves the registers (see mma.h):
 *
 *     S^T[TILE_K, COLUMNS] = K Q^T             K from LDS, Q in registers (or LDS)
 *     P^T = exp2(S^T * factor - shift)         softmax.h
 *     O^T[DIM, COLUMNS]   += V^T P^T           V^T from LDS
 *
 * Three forms of the walk over the keys: fast_form.h, for rows of up to 128 channels that can be
 * loaded in chunks, and on CDNA for some of more, of which all are in LDS at once (KERNEL_WHOLE);
 * team_form.h, for other ones of more channels; and general_form.h for everything else.
 *
 * Compile-time parameters (images/matrix.def says who sets them):
 *
 *     KERNEL_SYMBOL                    name of the kernel
 *     KERNEL_DTYPE                     2 f16, 3 bf16
 *     KERNEL_DIM                       a multiple of BLOCK up to 128, or of 128, or where all are in
 *                                      LDS, of 64: serves dim_qk and dim_v from 1 to this
 *     KERNEL_DIM_V                     where defined, dim_v from 1 to this
 *     KERNEL_UNALIGNED                 0: 16-byte-aligned rows and dims; 1: anything; 2: rows of
 *                                      eight or more channels, one after the other
 *     KERNEL_SCORE                     SCORE_NONE and so on: the score terms and dropout that it
 *                                      knows; 6: a boolean mask that is the same for all queries,
 *                                      and no terms (key_padding.h)
 *     KERNEL_PAGED                     1: knows block tables
 *     KERNEL_TILE_Q, KERNEL_TILE_K, KERNEL_WAVES, KERNEL_WAVES_PER_EU
 *     KERNEL_WAVE                      64 (MFMA) or 32 (WMMA)
 */
#if KERNEL_SCORE == 6
#undef KERNEL_SCORE
#define KERNEL_SCORE 0
#define KERNEL_PADDING 1
#endif
#if KERNEL_DIM > 128 && KERNEL_DIM <= 256 && !KERNEL_UNALIGNED &&                                  \
    KERNEL_TILE_Q == 32 * KERNEL_WAVES && KERNEL_WAVE == 64
#define KERNEL_WHOLE 1
#endif
#if KERNEL_DIM > 128 && KERNEL_UNALIGNED != 1 && !KERNEL_WHOLE
#include "team_form.h"
#elif KERNEL_UNALIGNED == 1
#include "general_form.h"
#else
#include "fast_form.h"
#endif
