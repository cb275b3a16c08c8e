/* What other people's code objects took, from files, to stand beside our results. */
#ifndef AOTHIP_BENCH_BESIDE_H
#define AOTHIP_BENCH_BESIDE_H

#include "bench_result.h"

struct bench_beside {
    struct bench_result result; /* by: the name that was given */
    char target[32];            /* the GPU that it is of, without features */
    const char *file;           /* as long as the argument */
};

struct bench_besides {
    struct bench_beside *list;
    size_t count;
};

/*
 * Adds what "NAME=FILE" or "NAME=FILE@SHAPE" names. FILE has the counters of the emulator, written
 * with AOTHIP_EMU_TIME: its launches together are one call, of SHAPE if that is told; or it is the
 * output of aothip-bench --json. Errors: ARGUMENT if the argument is wrong, IO, FORMAT, MEMORY.
 */
enum aothip_status bench_beside_read(struct bench_besides *besides, char *argument,
                                     struct status *why);
void bench_besides_free(struct bench_besides *besides);

/* FORMAT if one is of another GPU than `target`. */
enum aothip_status bench_besides_fit(const struct bench_besides *besides, const char *target,
                                     struct status *why);

#endif
