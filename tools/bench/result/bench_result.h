/* What aothip-bench finds out of a shape, and in which style it is printed. */
#ifndef AOTHIP_BENCH_RESULT_H
#define AOTHIP_BENCH_RESULT_H

#include "prediction.h"
#include "variants.h"

/* Sums over the launches of one call, as the emulator counts them. */
struct bench_counters {
    long long launches, instructions, matrix, matrix_passes, lds_conflict_cycles, bytes_loaded,
        bytes_stored;
};

enum { BENCH_BY_MAX = 25 };

struct bench_result {
    struct bench_shape shape;
    char by[BENCH_BY_MAX];         /* whose code object it was; "": ours */
    int shapeless;                 /* 1: of another's problem, which nobody told */
    char words[BENCH_VARIANT_MAX]; /* in a table of features: which one */
    double plain;                  /* there: seconds without it, or 0 */
    struct status why;             /* why there is none */
    int cut;                       /* 1: the shape was made smaller for the emulator */
    double median, fastest;        /* measured: seconds of one call */
    struct bench_counters counters;
    struct bench_prediction prediction;
};

/* What results have: times of a GPU, and beside them a prediction; a prediction; counts. */
enum bench_kind { BENCH_TIMED, BENCH_PREDICTED, BENCH_COUNTED };
enum bench_format { BENCH_TEXT, BENCH_JSON, BENCH_CSV };

struct bench_style {
    enum bench_format format;
    enum bench_kind kind;
    int beside;   /* 1: measured times have a prediction beside them */
    int features; /* 1: a table of features */
};

/* Seconds of one call, measured or predicted; 0 if there is neither. */
static inline double bench_seconds(const struct bench_result *result)
{
    return result->median > 0 ? result->median : result->prediction.middle;
}

#endif
