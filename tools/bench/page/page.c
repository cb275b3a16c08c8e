/* Writes results as a page: throughput over length, a roofline, others beside, clocks, a table. */
#include "page.h"

#include "new_file.h"

#include "points.h"
#include "roofline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_page {
    struct new_file new;
    FILE *f; /* its stream */
    char *file;
    struct bench_result *list;
    size_t count;
};

static const char style[] =
    "body{background:var(--back);color:var(--text);font:15px/1.5 sans-serif;max-width:62em;"
    "margin:2em auto;padding:0 1em}\n"
    "svg{max-width:100%;height:auto;font:12px sans-serif;fill:var(--text)}\n"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:.15em .7em;text-align:right;"
    "border-bottom:1px solid var(--faint)}td:first-child,th:first-child{text-align:left}\n"
    "div{overflow-x:auto}h3{font-size:14px;font-weight:normal;margin:1em 0 .3em}\n";

struct bench_page *bench_page_open(const char *file, struct status *why)
{
    struct bench_page *p = calloc(1, sizeof(*p));

    if (p)
        p->file = strdup(file);
    if (!p || !p->file) {
        free(p);
        status_set(why, AOTHIP_E_MEMORY, "no memory for the page");
        return NULL;
    }
    if (new_file_open(&p->new, file)) {
        status_set(why, AOTHIP_E_IO, "%s: cannot be written: %s", file, strerror(errno));
        free(p->file);
        free(p);
        return NULL;
    }
    p->f = p->new.f;
    return p;
}

enum aothip_status bench_page_add(struct bench_page *p, const struct bench_result *result,
                                  struct status *why)
{
    struct bench_result *list;

    if (result->why.code)
        return AOTHIP_OK;
    list = realloc(p->list, (p->count + 1) * sizeof(*list));
    if (!list)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for the page");
    p->list = list;
    list[p->count++] = *result;
    return AOTHIP_OK;
}

static void print_throughput(struct bench_page *p)
{
    struct chart_point *points = calloc(p->count + 1, sizeof(*points));
    size_t count = 0;

    for (size_t i = 0; points && i < p->count; i++)
        if (!p->list[i].shapeless)
            page_point(&p->list[i], p->list[i].shape.seq_k, &points[count++]);
    if (count)
        fprintf(p->f, "<h2>Throughput over the length of sequences</h2>\n");
    chart_lines(p->f, points, count, "keys", "TFLOP/s");
    free(points);
}

/* The matrix pipes' rates, each once: those of other instructions differ by more than 3 %. */
static void add_roof(struct chart_roofs *roofs, double rate)
{
    for (size_t i = 0; i < roofs->count; i++)
        if (fabs(roofs->matrix[i] / rate - 1) < 0.03)
            return;
    if (rate > 0 && roofs->count < ROOFS_MAX)
        roofs->matrix[roofs->count++] = rate;
}

static void print_roofline(struct bench_page *p)
{
    struct chart_point *points = calloc(p->count + 1, sizeof(*points));
    struct chart_roofs roofs = {0};
    size_t count = 0;

    for (size_t i = 0; points && i < p->count; i++) {
        const struct bench_prediction *q = &p->list[i].prediction;
        if (!(q->memory_bytes > 0) || !(q->memory_rate > 0) || !(page_work(&p->list[i]) > 0))
            continue;
        add_roof(&roofs, q->roof / 1e12);
        roofs.bandwidth = q->memory_rate / 1e12;
        page_point(&p->list[i], page_work(&p->list[i]) / q->memory_bytes, &points[count++]);
    }
    if (count)
        fprintf(p->f,
                "<h2>Roofline</h2>\n<p>Throughput over arithmetic intensity: FLOP that the problem "
                "needs, over the bytes that the clock says are loaded from beyond L2 and stored. "
                "The roofs are the matrix pipes at the clock they have without load, one for each "
                "rate of the instructions that the calls use, and the bandwidth of device memory, "
                "both by the table of this GPU; under load the clock is lower, and a cache before "
                "the memory may give more.</p>\n");
    chart_roofline(p->f, points, count, &roofs);
    free(points);
}

/* What the bars of one problem have in common; 0: nothing of others is about it. */
static int is_compared(const struct bench_page *p, size_t at)
{
    char text[BENCH_TEXT_MAX], other[BENCH_TEXT_MAX];
    int foreign = 0;

    bench_text(&p->list[at].shape, text);
    for (size_t i = 0; i < p->count; i++) {
        const int same =
            !p->list[i].shapeless && !strcmp(text, bench_text(&p->list[i].shape, other));
        if (same && i < at)
            return 0;
        foreign |= same && *p->list[i].by;
    }
    return foreign && !p->list[at].shapeless;
}

static void print_one_length(struct bench_page *p, const struct bench_result *r, double longest,
                             int colour)
{
    const double seconds = bench_seconds(r), spread = page_spread(r);
    char words[CHART_NAME_MAX];

    if (r->median > 0)
        snprintf(words, sizeof(words), "%.4f ms measured, %.1f TFLOP/s", seconds * 1e3,
                 page_work(r) / seconds / 1e12);
    else
        snprintf(words, sizeof(words), "%.4f ms ± %.0f %%, %.1f TFLOP/s", seconds * 1e3,
                 100 * spread, page_work(r) / seconds / 1e12);
    chart_length(p->f, *r->by ? r->by : "aothip", seconds / longest,
                 seconds * (1 - spread) / longest, seconds * (1 + spread) / longest, colour, words);
}

/* The problem in words. */
static void print_problem(FILE *f, const struct bench_result *r)
{
    struct bench_result plain = *r;
    char name[CHART_NAME_MAX];

    *plain.by = 0;
    page_series(&plain, name);
    fprintf(f, "<h3>%s: batch %d, %d heads (%d of keys), %d queries, %d keys%s</h3>\n", name,
            r->shape.batch, r->shape.heads, r->shape.heads_k, r->shape.seq_q, r->shape.seq_k,
            r->shape.bshd ? ", heads behind the sequence" : "");
}

/* Each problem that others' code objects ran, with ours. */
static void print_compared(struct bench_page *p)
{
    int headed = 0;

    for (size_t at = 0; at < p->count; at++) {
        char text[BENCH_TEXT_MAX], other[BENCH_TEXT_MAX];
        double longest = 0;
        int colour = 0;

        if (!is_compared(p, at))
            continue;
        if (!headed++)
            fprintf(p->f, "<h2>Beside other code objects</h2>\n<p>Time of one call: shorter is "
                          "better. Others' come from the files given.</p>\n");
        bench_text(&p->list[at].shape, text);
        print_problem(p->f, &p->list[at]);
        for (int draw = 0; draw < 2; draw++)
            for (size_t i = at; i < p->count; i++) {
                const struct bench_result *r = &p->list[i];
                if (r->shapeless || strcmp(text, bench_text(&r->shape, other)))
                    continue;
                if (draw)
                    print_one_length(p, r, longest, colour++);
                else
                    longest = fmax(longest, bench_seconds(r) * (1 + page_spread(r)));
            }
    }
}

static void print_clocks(struct bench_page *p)
{
    fprintf(p->f, "<h2>Where the clocks go</h2>\n");
    chart_legend(p->f, EMU_TIME_CAUSES, bench_cause);
    for (size_t i = 0; i < p->count; i++) {
        const struct bench_result *r = &p->list[i];
        char name[CHART_NAME_MAX], words[CHART_NAME_MAX + 32];

        if (!r->prediction.launches)
            continue;
        page_series(r, name);
        if (r->shapeless)
            snprintf(words, sizeof(words), "%s", name);
        else
            snprintf(words, sizeof(words), "%s, %d keys", name, r->shape.seq_k);
        chart_bar(p->f, words, r->prediction.causes, EMU_TIME_CAUSES, bench_cause);
    }
}

static void print_row(FILE *f, const struct bench_result *r)
{
    const struct bench_prediction *q = &r->prediction;
    const double rate = page_work(r) / bench_seconds(r);
    char name[CHART_NAME_MAX];

    page_series(r, name);
    fprintf(f, "<tr><td>%s</td>", name);
    if (r->shapeless)
        fprintf(f, "<td>–</td><td>–</td><td>–</td><td>–</td>");
    else
        fprintf(f, "<td>%d</td><td>%d</td><td>%d</td><td>%d</td>", r->shape.batch, r->shape.heads,
                r->shape.seq_q, r->shape.seq_k);
    if (r->median > 0)
        fprintf(f, "<td>%.4f</td>", r->median * 1e3);
    else
        fprintf(f, "<td>–</td>");
    if (q->launches)
        fprintf(f, "<td>%.4f</td><td>%.0f</td>", q->middle * 1e3, 100 * bench_prediction_spread(q));
    else
        fprintf(f, "<td>–</td><td>–</td>");
    fprintf(f, "<td>%.1f</td>", rate / 1e12);
    if (q->peak > 0)
        fprintf(f, "<td>%.0f %%</td>", 100 * rate / q->peak);
    else
        fprintf(f, "<td>–</td>");
    fprintf(f, "<td>%s</td></tr>\n", q->launches ? bench_cause(bench_most(q)) : "–");
}

static void print_table(struct bench_page *p)
{
    int shapeless = 0;

    fprintf(p->f, "<h2>All numbers</h2>\n<div><table><tr><th>what</th><th>batch</th><th>heads</th>"
                  "<th>queries</th><th>keys</th><th>measured ms</th><th>predicted ms</th>"
                  "<th>± %%</th><th>TFLOP/s</th><th>of peak</th><th>bound by</th></tr>\n");
    for (size_t i = 0; i < p->count; i++) {
        shapeless |= p->list[i].shapeless;
        print_row(p->f, &p->list[i]);
    }
    fprintf(p->f,
            "</table></div>\n<p>Of peak: share of the matrix pipes' rate at the clock "
            "predicted for that row.%s</p>\n",
            shapeless ? " Without a shape, TFLOP/s are those that matrix instructions executed."
                      : "");
}

static void print_page(struct bench_page *p, const struct device *device)
{
    const int emulated = device->runtime->emulated;
    const int length = (int)strcspn(device->properties.target, ":"); /* features follow */
    int extrapolated = 0;

    for (size_t i = 0; i < p->count; i++)
        extrapolated |= p->list[i].prediction.extrapolated;
    if (p->count)
        qsort(p->list, p->count, sizeof(*p->list), page_order);
    fprintf(p->f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
            "<title>aothip on %.*s</title>\n<style>\n%s%s</style>\n</head>\n<body>\n",
            length, device->properties.target, chart_colours, style);
    fprintf(p->f, "<h1>Attention on %.*s</h1>\n<p>aothip %s. %s%s</p>\n", length,
            device->properties.target, aothip_version(),
            emulated ? "Times are predicted by the emulator's clock, not measured; whiskers and ± "
                       "tell how far off that may be."
                     : "Times are measured; where the clocks go is predicted.",
            extrapolated ? " Predictions are extrapolated: nothing published of this GPU was held "
                           "against the model."
                         : "");
    print_throughput(p);
    print_roofline(p);
    print_compared(p);
    print_clocks(p);
    print_table(p);
    fprintf(p->f, "</body>\n</html>\n");
}

enum aothip_status bench_page_close(struct bench_page *p, const struct device *device,
                                    struct status *why)
{
    int wrong;

    if (!p)
        return AOTHIP_OK;
    if (device->runtime && p->count)
        print_page(p, device);
    else
        new_file_drop(&p->new);
    wrong = new_file_keep(&p->new);
    if (wrong)
        status_set(why, AOTHIP_E_IO, "%s: cannot be written: %s", p->file, strerror(errno));
    free(p->file);
    free(p->list);
    free(p);
    return wrong ? why->code : AOTHIP_OK;
}
