/* The variants of a shape: each feature, type and head dim beside the plain one. */
#ifndef AOTHIP_BENCH_VARIANTS_H
#define AOTHIP_BENCH_VARIANTS_H

#include "workload.h"

/*
 * The i-th variant of a shape for a table of all features, the plain one first, with a few words
 * that tell it; returns 0 if there is none.
 */
enum { BENCH_VARIANT_MAX = 32 };
int bench_variant(const struct bench_shape *plain, int i, struct bench_shape *variant,
                  char words[BENCH_VARIANT_MAX]);

#endif
