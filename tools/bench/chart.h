/* Pictures of numbers as SVG, in colours that the page's style gives: --c0 and so on. */
#ifndef AOTHIP_BENCH_CHART_H
#define AOTHIP_BENCH_CHART_H

#include <stddef.h>
#include <stdio.h>

enum { CHART_NAME_MAX = 64 };

struct chart_point {
    char name[CHART_NAME_MAX]; /* of its line */
    double x, y, low, high;    /* low and high: ends of its whisker */
};

/* Lines over a logarithmic axis; points of a line stand in order of x. */
void chart_lines(FILE *f, const struct chart_point *points, size_t count, const char *x_label,
                 const char *y_label);

/* A bar of parts that make 1, and what the colours of all bars mean. */
void chart_bar(FILE *f, const char *name, const double *parts, int count,
               const char *(*part_name)(int));
void chart_legend(FILE *f, int count, const char *(*part_name)(int));

#endif
