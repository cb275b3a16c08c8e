/*
 * images/matrix.def as data: the GPUs and the kernels that exist. The syntax stands at the top of
 * that file; this is what the generator and the packer see of it.
 */
#ifndef AOTHIP_MATRIX_H
#define AOTHIP_MATRIX_H

#include "matrix_query.h"

/*
 * Reads a matrix from a file, or from `text`, which `file` names in messages. Every error found is
 * printed to `errors` as "FILE:LINE: text". Returns the number of errors; on 0 the caller owns
 * *m and gives it to matrix_free(), otherwise *m is empty.
 */
int matrix_read(struct matrix *m, const char *file, FILE *errors);
int matrix_parse(struct matrix *m, const char *text, const char *file, FILE *errors);

#endif
