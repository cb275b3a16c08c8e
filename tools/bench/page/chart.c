/* Draws lines and bars as SVG. */
#include "chart.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 380, LEFT = 60, RIGHT = 740, TOP = 34, BOTTOM = 330 };

const char chart_colours[] =
    ":root{--back:#fff;--text:#222;--faint:#ccc;--c0:#1f6fb4;--c1:#d9701a;--c2:#2a9440;"
    "--c3:#c22f3a;--c4:#8a5fc0;--c5:#8a5a4a;--c6:#d060b0;--c7:#777;--c8:#a8a820;--c9:#1aa8b8;"
    "--c10:#5b7fd0;--c11:#e0a060;--c12:#ddd}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#16181c;--text:#ddd;--faint:#444;"
    "--c0:#5aa5e8;--c1:#f09a4c;--c2:#5cc472;--c3:#e8656e;--c4:#b08fe0;--c12:#3a3d44}}\n";

/* Where numbers stand in the picture. */
struct scale {
    double x_low, x_high, y_high;
};

static double place_x(const struct scale *s, double x)
{
    const double span = log2(s->x_high / s->x_low);
    return span > 0 ? LEFT + 30 + (RIGHT - LEFT - 60) * log2(x / s->x_low) / span
                    : (LEFT + RIGHT) / 2.0;
}

static double place_y(const struct scale *s, double y)
{
    return BOTTOM - (BOTTOM - TOP) * y / s->y_high;
}

/* 1, 2 or 5 times a power of ten, so that at most six steps make `high`. */
static double step_of(double high)
{
    double step = pow(10, floor(log10(high / 6)));

    if (step * 6 >= high)
        return step;
    return step * 12 >= high ? 2 * step : step * 30 >= high ? 5 * step : 10 * step;
}

static struct scale find_scale(const struct chart_point *points, size_t count, double *step)
{
    struct scale s = {points[0].x, points[0].x, 0};

    for (size_t i = 0; i < count; i++) {
        s.x_low = fmin(s.x_low, points[i].x);
        s.x_high = fmax(s.x_high, points[i].x);
        s.y_high = fmax(s.y_high, fmax(points[i].y, points[i].high));
    }
    *step = step_of(s.y_high);
    s.y_high = *step * ceil(s.y_high / *step);
    return s;
}

static void print_axes(FILE *f, const struct scale *s, double step, const char *x_label,
                       const char *y_label)
{
    for (int i = 0; i * step <= s->y_high * 1.001; i++) {
        const double y = i * step;
        fprintf(f,
                "<path d=\"M%d %.1fH%d\" stroke=\"var(--faint)\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, place_y(s, y), RIGHT, LEFT - 6, place_y(s, y) + 4, y);
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 50, TOP - 18, y_label);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", RIGHT, BOTTOM + 36,
            x_label);
}

/* The line that begins at point `first`. */
static void print_line(FILE *f, const struct scale *s, const struct chart_point *points,
                       size_t first, size_t count, int line)
{
    const char *name = points[first].name;
    const int colour = line % CHART_COLOURS;

    fprintf(f, "<path fill=\"none\" stroke=\"var(--c%d)\" stroke-width=\"2\" d=\"", colour);
    for (size_t i = first; i < count; i++)
        if (!strcmp(points[i].name, name))
            fprintf(f, "%s%.1f %.1f", i == first ? "M" : "L", place_x(s, points[i].x),
                    place_y(s, points[i].y));
    fprintf(f, "\"/>\n");
    for (size_t i = first; i < count; i++) {
        const double x = place_x(s, points[i].x);
        if (strcmp(points[i].name, name))
            continue;
        fprintf(f,
                "<path stroke=\"var(--c%d)\" opacity=\".5\" d=\"M%.1f %.1fV%.1f\"/>"
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"var(--c%d)\">"
                "<title>%s, %g: %.1f</title></circle>\n",
                colour, x, place_y(s, points[i].low), place_y(s, points[i].high), x,
                place_y(s, points[i].y), colour, name, points[i].x, points[i].y);
    }
    chart_key(f, LEFT, HEIGHT + 20 * line, line, name);
}

int chart_is_first(const struct chart_point *points, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (!strcmp(points[j].name, points[i].name))
            return 0;
    return 1;
}

/* Whether no point before has its place. */
static int is_first_there(const struct chart_point *points, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (points[j].x == points[i].x)
            return 0;
    return 1;
}

void chart_begin(FILE *f, int height)
{
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n",
            WIDTH, height, WIDTH, height);
}

void chart_key(FILE *f, int x, int y, int colour, const char *name)
{
    fprintf(f,
            "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"var(--c%d)\"/>"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            x, y, colour % CHART_COLOURS, x + 18, y + 11, name);
}

void chart_lines(FILE *f, const struct chart_point *points, size_t count, const char *x_label,
                 const char *y_label)
{
    struct scale s;
    double step;
    int lines = 0;

    if (!count)
        return;
    s = find_scale(points, count, &step);
    for (size_t i = 0; i < count; i++)
        lines += chart_is_first(points, i);
    chart_begin(f, HEIGHT + 20 * lines);
    print_axes(f, &s, step, x_label, y_label);
    lines = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_first_there(points, i))
            fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                    place_x(&s, points[i].x), BOTTOM + 18, points[i].x);
        if (chart_is_first(points, i))
            print_line(f, &s, points, i, count, lines++);
    }
    fprintf(f, "</svg>\n");
}

void chart_bar(FILE *f, const char *name, const double *parts, int count,
               const char *(*part_name)(int))
{
    double x = 280;

    chart_begin(f, 22);
    fprintf(f, "<text x=\"0\" y=\"15\">%s</text>\n", name);
    for (int i = 0; i < count; i++) {
        const double width = parts[i] * (RIGHT - 280);
        if (width < 0.1)
            continue;
        fprintf(f,
                "<rect x=\"%.1f\" y=\"2\" width=\"%.1f\" height=\"18\" fill=\"var(--c%d)\">"
                "<title>%s: %.1f %%</title></rect>\n",
                x, width, i, part_name(i), 100 * parts[i]);
        x += width;
    }
    fprintf(f, "</svg>\n");
}

void chart_legend(FILE *f, int count, const char *(*part_name)(int))
{
    chart_begin(f, 20 * ((count + 4) / 5) + 4);
    for (int i = 0; i < count; i++)
        fprintf(f,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"var(--c%d)\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                i % 5 * 150, i / 5 * 20 + 2, i, i % 5 * 150 + 18, i / 5 * 20 + 13, part_name(i));
    fprintf(f, "</svg>\n");
}

void chart_length(FILE *f, const char *name, double length, double low, double high, int colour,
                  const char *words)
{
    enum { FROM = 150, ROOM = 330 };

    chart_begin(f, 22);
    fprintf(f,
            "<text x=\"0\" y=\"15\">%s</text><rect x=\"%d\" y=\"2\" width=\"%.1f\" "
            "height=\"18\" fill=\"var(--c%d)\"/><path d=\"M%.1f 11H%.1f\" "
            "stroke=\"var(--text)\"/><text x=\"%.1f\" y=\"15\">%s</text>\n</svg>\n",
            name, FROM, ROOM * length, colour % CHART_COLOURS, FROM + ROOM * low,
            FROM + ROOM * high, FROM + ROOM * high + 8, words);
}
