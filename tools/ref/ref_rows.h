/*
 * The inner loops of the reference, over the channels of a row or the keys of a block: four numbers
 * at a time, by the same steps in the same order as one by one. A plain pass rounds each step to
 * f32.
 */
#ifndef REF_ROWS_H
#define REF_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* sum[i] += x y[i] */
void ref_add_products(double *sum, double x, const double *y, int64_t n, bool plain);

/* sum[i] += x y[i], squares[i] += (x y[i])^2; exact */
void ref_add_parts(double *sum, double *squares, double x, const double *y, int64_t n);

/* sum[i] += x y[i], squares[i] += (size y[i] unit)^2, which is never rounded */
void ref_add_gradient(double *sum, double *squares, double x, double size, double unit,
                      const double *y, int64_t n, bool plain);

#endif
