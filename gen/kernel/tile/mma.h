/*
 * Matrix multiply-accumulate on blocks, in one interface for three kinds of hardware:
 * mma_mfma.h (CDNA: gfx90a, gfx942, gfx950) and mma_wmma.h (RDNA 3: gfx1100, gfx1151; RDNA 4:
 * gfx1201).
 *
 *     C[BLOCK, BLOCK] += A[BLOCK, 16] B[16, BLOCK]          (f32 += 16 bit x 16 bit)
 *
 * The kernels compute S^T = K Q^T and O^T = V^T P^T, so that a column is a query from the first
 * product to the last, and each lane owns whole columns:
 *
 *     block_acc    this lane's ACC rows of one column of a C block. The BLOCK rows of a column are
 *                  spread over LANE_ROWS = BLOCK / ACC lanes, which differ in lane_half().
 *     acc_row(i)   the row of C that element i of a block_acc is
 *     block_frag   this lane's part of a row of A or of a column of B
 *     mma(C,A,B)
 *
 * The order of the sixteen k is free as long as A and B agree on it. For S^T it is the order in
 * memory. For O^T it is the order in which S^T leaves P in the registers, so that
 *
 *     pack_p()     turns a block of P^T, f32 in C layout after begin_round(), into B fragments
 *                  without a round trip through LDS,
 *
 * and V^T lies in LDS in that order. The order of the rows of A is free too: row i of a block of
 * V^T is the channel row_channel(i), chosen such that a lane ends up with ACC consecutive
 * channels of O, BLOCK * block + ACC * lane_half() + 0, 1, ...
 *
 * LDS layouts, each free of bank conflicts for stores and for loads:
 *
 *     k_tile_*     K as in memory: row = key, chunks of eight channels
 *     vt_tile_*    V^T: row = channel; quads of four consecutive keys, in the order of pack_p()
 */
#ifndef AOTHIP_MMA_H
#define AOTHIP_MMA_H

#include "finite.h"
#include "round.h"
#include "tile.h"

#if KERNEL_WAVE == 64
#include "mma_mfma.h"
#elif KERNEL_WAVE == 32
#include "mma_wmma.h"
#else
#error "KERNEL_WAVE must be 64 (MFMA) or 32 (WMMA)"
#endif

/* What one product takes of A and of B: the fragments of FRAGS * DEPTH k. */
#if !KERNEL_FP8 || !defined(__gfx950__)
constexpr int FRAGS = 1;
typedef block_frag operand;
#define OPERAND_OF(frag, i) frag(i)
#endif

#if KERNEL_FP8
#include "mma_fp8.h"
#else
#define mma_vp mma /* V^T P^T: of operands of the same type */
#define SIGN_BITS 0x80008000u
#define TIMES_SIGN(x, sign) x ^ sign
#endif

#endif
