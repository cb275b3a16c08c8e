/*
 * What a matrix cannot mean: contradictions, kernels that the hardware cannot hold, kernels that
 * would never be taken. Each check prints every fault as "FILE:LINE: text" and returns their
 * number.
 */
#ifndef AOTHIP_MATRIX_CHECK_H
#define AOTHIP_MATRIX_CHECK_H

#include "matrix_record.h"

int matrix_check_gpu(const struct matrix_gpu *gpu, const char *file, FILE *errors);

/* Whether each wave of 64 lanes has rows of its own, and all channels of K and V are in LDS at
 * once: attn_fwd.hip. */
int matrix_is_whole(const struct matrix *m, const struct matrix_kernel *k);

/* Whether it has, and channels come to LDS in parts: alone_step.h. */
int matrix_is_alone(const struct matrix *m, const struct matrix_kernel *k);

/* `k` is not yet among the matrix's kernels; those that are come before it in preference. */
int matrix_check_kernel(const struct matrix *m, const struct matrix_kernel *k, const char *file,
                        FILE *errors);

/* After the last line: every GPU has kernels. */
int matrix_check_whole(const struct matrix *m, FILE *errors);

#endif
