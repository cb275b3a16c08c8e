/* Pictures of numbers as SVG, in colours that the page's style gives: --c0 and so on. */
#ifndef AOTHIP_BENCH_CHART_H
#define AOTHIP_BENCH_CHART_H

#include <stddef.h>
#include <stdio.h>

enum { CHART_NAME_MAX = 96, CHART_COLOURS = 12 };

/* CSS: the colours of all pictures, for light and for dark. */
extern const char chart_colours[];

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

/* A bar of `length` of the longest, with a whisker from low to high, and words behind it. */
void chart_length(FILE *f, const char *name, double length, double low, double high, int colour,
                  const char *words);

/* For other pictures: an SVG of the page's width, the name of a colour, and whether no point before
 * number i has its name. */
void chart_begin(FILE *f, int height);
void chart_key(FILE *f, int x, int y, int colour, const char *name);
int chart_is_first(const struct chart_point *points, size_t i);

#endif
