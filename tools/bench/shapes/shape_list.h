/* The list of shapes to measure: from the command, a file, a preset. */
#ifndef AOTHIP_BENCH_SHAPE_LIST_H
#define AOTHIP_BENCH_SHAPE_LIST_H

#include "workload.h"

enum bench_passes { BENCH_PASS_AS_GIVEN, BENCH_PASS_BACKWARD, BENCH_PASS_BOTH };

struct bench_shapes {
    struct bench_shape *list;
    int count, preset; /* those from number `preset` on are a preset's */
    int passes;        /* enum bench_passes: what becomes of each that is added */
};

/* Each of these ends the program if the shape is wrong, naming where it stands. */
void bench_add_shape(struct bench_shapes *shapes, const char *where, const char *text);
void bench_add_file(struct bench_shapes *shapes, const char *file); /* "-": standard input */
void bench_add_preset(struct bench_shapes *shapes, const char *name);

#endif
