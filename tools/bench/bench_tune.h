/* --tune: what launches of each tile take, as a table that the library chooses by. */
#ifndef AOTHIP_BENCH_TUNE_H
#define AOTHIP_BENCH_TUNE_H

#include "session.h"
#include "shape_list.h"

/*
 * Measures the kernels of attn_fwd among which a table chooses, all of them or those that would
 * serve one of the shapes, and writes `file`. A message on stderr, and -1, if it cannot be.
 */
int bench_tune(struct bench_session *session, const struct bench_shapes *shapes, const char *file);

#endif
