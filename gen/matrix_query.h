/* What a matrix that has been read says of its GPUs and kernels. */
#ifndef AOTHIP_MATRIX_QUERY_H
#define AOTHIP_MATRIX_QUERY_H

#include "matrix_record.h"

void matrix_free(struct matrix *m);

/* Index of the GPU of that name, -1 if there is none. */
int matrix_find_gpu(const struct matrix *m, const char *name);

/* Takes out what another compiler than clang 22 does not make. */
void matrix_leave_out(struct matrix *m);

/* enum format_feature bits. */
uint32_t matrix_features(const struct matrix_kernel *k);

/* Prints the macros that the kernel's source sees: " -DKERNEL_SYMBOL=... -DKERNEL_DTYPE=...". */
void matrix_print_macros(const struct matrix *m, const struct matrix_kernel *k, FILE *out);

#endif
