/* Draws lines and bars as SVG. */
#include "chart.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 760, HEIGHT = 380, LEFT = 60, RIGHT = 740, TOP = 34, BOTTOM = 330, COLOURS = 12 };

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
    for (double y = 0; y <= s->y_high * 1.001; y += step)
        fprintf(f,
                "<path d=\"M%d %.1fH%d\" stroke=\"var(--faint)\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, place_y(s, y), RIGHT, LEFT - 6, place_y(s, y) + 4, y);
    fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text>\n", LEFT - 50, TOP - 18, y_label);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", RIGHT, BOTTOM + 36,
            x_label);
}

/* The line that begins at point `first`. */
static void print_line(FILE *f, const struct scale *s, const struct chart_point *points,
                       size_t first, size_t count, int line)
{
    const char *name = points[first].name;
    const int colour = line % COLOURS;

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
    fprintf(f,
            "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"var(--c%d)\"/>"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            LEFT, HEIGHT + 20 * line, colour, LEFT + 18, HEIGHT + 20 * line + 11, name);
}

/* The first point before `i` that `same` holds of: whether it is new. */
static int is_first(const struct chart_point *points, size_t i, int by_name)
{
    for (size_t j = 0; j < i; j++)
        if (by_name ? !strcmp(points[j].name, points[i].name) : points[j].x == points[i].x)
            return 0;
    return 1;
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
        lines += is_first(points, i, 1);
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "role=\"img\">\n",
            WIDTH, HEIGHT + 20 * lines, WIDTH);
    print_axes(f, &s, step, x_label, y_label);
    lines = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_first(points, i, 0))
            fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                    place_x(&s, points[i].x), BOTTOM + 18, points[i].x);
        if (is_first(points, i, 1))
            print_line(f, &s, points, i, count, lines++);
    }
    fprintf(f, "</svg>\n");
}

void chart_bar(FILE *f, const char *name, const double *parts, int count,
               const char *(*part_name)(int))
{
    double x = 280;

    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d 22\" width=\"%d\" "
            "role=\"img\"><text x=\"0\" y=\"15\">%s</text>\n",
            WIDTH, WIDTH, name);
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
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "role=\"img\">\n",
            WIDTH, 20 * ((count + 4) / 5) + 4, WIDTH);
    for (int i = 0; i < count; i++)
        fprintf(f,
                "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"var(--c%d)\"/>"
                "<text x=\"%d\" y=\"%d\">%s</text>\n",
                i % 5 * 150, i / 5 * 20 + 2, i, i % 5 * 150 + 18, i / 5 * 20 + 13, part_name(i));
    fprintf(f, "</svg>\n");
}
