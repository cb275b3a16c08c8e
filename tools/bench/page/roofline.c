/* Draws a roofline as SVG: both axes are logarithmic. */
#include "roofline.h"

#include <math.h>
#include <string.h>

enum { LEFT = 60, RIGHT = 740, TOP = 34, BOTTOM = 350, HEIGHT = 400 };

/* The picture's range. */
struct frame {
    double x_low, x_high, y_low, y_high;
};

static double place_x(const struct frame *s, double x)
{
    return LEFT + (RIGHT - LEFT) * log(x / s->x_low) / log(s->x_high / s->x_low);
}

static double place_y(const struct frame *s, double y)
{
    return BOTTOM - (BOTTOM - TOP) * log(y / s->y_low) / log(s->y_high / s->y_low);
}

/* All points and, where there is one, the ridge of the highest roof. */
static struct frame find_frame(const struct chart_point *points, size_t count,
                               const struct chart_roofs *roofs)
{
    struct frame s = {HUGE_VAL, 0, HUGE_VAL, 0};

    for (size_t i = 0; i < count; i++) {
        s.x_low = fmin(s.x_low, points[i].x);
        s.x_high = fmax(s.x_high, points[i].x);
        s.y_low = fmin(s.y_low, points[i].low);
        s.y_high = fmax(s.y_high, points[i].high);
    }
    for (size_t i = 0; i < roofs->count; i++) {
        s.x_low = fmin(s.x_low, roofs->matrix[i] / roofs->bandwidth);
        s.x_high = fmax(s.x_high, roofs->matrix[i] / roofs->bandwidth);
        s.y_high = fmax(s.y_high, roofs->matrix[i]);
    }
    s.x_low /= 2.5;
    s.x_high *= 2.5;
    s.y_low = fmin(s.y_low, s.x_low * roofs->bandwidth) / 1.3;
    s.y_high *= 1.8;
    return s;
}

/* Lines at 1, 2 and 5 times each power of ten; at the powers alone where there are many. */
static void print_grid(FILE *f, const struct frame *s)
{
    static const double steps[] = {1, 2, 5};

    for (int axis = 0; axis < 2; axis++) {
        const double low = axis ? s->y_low : s->x_low, high = axis ? s->y_high : s->x_high;
        const int each = high / low < 2000 ? 3 : 1;

        for (int n = (int)floor(log10(low)); pow(10, n) <= high; n++)
            for (int i = 0; i < each; i++) {
                const double at = pow(10, n) * steps[i];
                if (at < low || at > high)
                    continue;
                if (axis)
                    fprintf(f,
                            "<path d=\"M%d %.1fH%d\" stroke=\"var(--faint)\"/>"
                            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                            LEFT, place_y(s, at), RIGHT, LEFT - 6, place_y(s, at) + 4, at);
                else
                    fprintf(f,
                            "<path d=\"M%.1f %dV%d\" stroke=\"var(--faint)\"/>"
                            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                            place_x(s, at), TOP, BOTTOM, place_x(s, at), BOTTOM + 18, at);
            }
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\">TFLOP/s</text>\n", LEFT - 50, TOP - 18);
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">FLOP a byte of memory</text>\n", RIGHT,
            BOTTOM + 36);
}

/* The slope up to the highest roof, and each roof from its ridge on. */
static void print_roofs(FILE *f, const struct frame *s, const struct chart_roofs *roofs)
{
    double highest = roofs->count ? 0 : s->y_high;
    double ridge, x, y, turn;

    for (size_t i = 0; i < roofs->count; i++) {
        const double at = place_y(s, roofs->matrix[i]);

        highest = fmax(highest, roofs->matrix[i]);
        fprintf(f,
                "<path d=\"M%.1f %.1fH%d\" stroke=\"var(--text)\" stroke-width=\"2\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">matrix pipes: %.0f TFLOP/s</text>\n",
                place_x(s, roofs->matrix[i] / roofs->bandwidth), at, RIGHT, RIGHT - 4, at - 6,
                roofs->matrix[i]);
    }
    ridge = fmin(highest / roofs->bandwidth, s->x_high);
    x = fmax(s->x_low, s->y_low / roofs->bandwidth);
    fprintf(f,
            "<path fill=\"none\" d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"var(--text)\" "
            "stroke-width=\"2\"/>\n",
            place_x(s, x), place_y(s, x * roofs->bandwidth), place_x(s, ridge),
            place_y(s, ridge * roofs->bandwidth));
    turn = atan2(place_y(s, x * roofs->bandwidth) - place_y(s, ridge * roofs->bandwidth),
                 place_x(s, ridge) - place_x(s, x));
    y = sqrt(x * ridge);
    fprintf(f,
            "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" text-anchor=\"middle\">"
            "memory: %.3g TB/s</text>\n",
            place_x(s, y) - 7 * sin(turn), place_y(s, y * roofs->bandwidth) - 7 * cos(turn),
            -turn * 180 / acos(-1), roofs->bandwidth);
}

/* The points of the line that begins at `first`, and its name. */
static void print_points(FILE *f, const struct frame *s, const struct chart_point *points,
                         size_t first, size_t count, int line)
{
    const char *name = points[first].name;

    for (size_t i = first; i < count; i++) {
        const double x = place_x(s, points[i].x);
        if (strcmp(points[i].name, name))
            continue;
        fprintf(f, "<path opacity=\".5\" d=\"M%.1f %.1fV%.1f\" stroke=\"var(--c%d)\"/>", x,
                place_y(s, points[i].low), place_y(s, points[i].high), line % CHART_COLOURS);
        fprintf(f,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"var(--c%d)\"><title>%s: %.4g "
                "FLOP/B, %.4g TFLOP/s</title></circle>\n",
                x, place_y(s, points[i].y), line % CHART_COLOURS, name, points[i].x, points[i].y);
    }
    chart_key(f, LEFT, HEIGHT + 20 * line, line, name);
}

void chart_roofline(FILE *f, const struct chart_point *points, size_t count,
                    const struct chart_roofs *roofs)
{
    struct frame s;
    int lines = 0;

    if (!count || !(roofs->bandwidth > 0))
        return;
    s = find_frame(points, count, roofs);
    for (size_t i = 0; i < count; i++)
        lines += chart_is_first(points, i);
    chart_begin(f, HEIGHT + 20 * lines);
    print_grid(f, &s);
    print_roofs(f, &s, roofs);
    lines = 0;
    for (size_t i = 0; i < count; i++)
        if (chart_is_first(points, i))
            print_points(f, &s, points, i, count, lines++);
    fprintf(f, "</svg>\n");
}
