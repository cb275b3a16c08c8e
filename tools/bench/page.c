/* Writes results as a page: throughput over the length of sequences, where clocks go, a table. */
#include "page.h"

#include "chart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_page {
    FILE *f;
    char *file;
    struct bench_result *list;
    size_t count;
};

static const char style[] =
    ":root{--back:#fff;--text:#222;--faint:#ccc;--c0:#1f6fb4;--c1:#d9701a;--c2:#2a9440;"
    "--c3:#c22f3a;--c4:#8a5fc0;--c5:#8a5a4a;--c6:#d060b0;--c7:#777;--c8:#a8a820;--c9:#1aa8b8;"
    "--c10:#5b7fd0;--c11:#e0a060;--c12:#ddd}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#16181c;--text:#ddd;--faint:#444;"
    "--c0:#5aa5e8;--c1:#f09a4c;--c2:#5cc472;--c3:#e8656e;--c4:#b08fe0;--c12:#3a3d44}}\n"
    "body{background:var(--back);color:var(--text);font:15px/1.5 sans-serif;max-width:62em;"
    "margin:2em auto;padding:0 1em}\n"
    "svg{max-width:100%;height:auto;font:12px sans-serif;fill:var(--text)}\n"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:.15em .7em;text-align:right;"
    "border-bottom:1px solid var(--faint)}td:first-child,th:first-child{text-align:left}\n";

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
    p->f = fopen(file, "w");
    if (!p->f) {
        status_set(why, AOTHIP_E_IO, "%s: cannot be written: %s", file, strerror(errno));
        free(p->file);
        free(p);
        return NULL;
    }
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

/* "fwd bf16 causal d128": what a line of the picture has in common. */
static void series_name(const struct bench_shape *s, char name[CHART_NAME_MAX])
{
    static const char *const dtypes[] = {"?", "f32", "f16", "bf16"};
    static const char *const masks[] = {"", " causal", " causal br"};

    snprintf(name, CHART_NAME_MAX, "%s %s%s d%d%s%s%s", s->backward ? "backward" : "forward",
             dtypes[s->dtype], masks[s->mask], s->dim, s->feature ? " " : "",
             s->feature ? bench_feature_name(s->feature) : "",
             s->heads != s->heads_k ? " GQA" : "");
}

static int by_length(const void *a, const void *b)
{
    const struct bench_result *x = a, *y = b;
    return (x->shape.seq_k > y->shape.seq_k) - (x->shape.seq_k < y->shape.seq_k);
}

static void print_throughput(struct bench_page *p)
{
    struct chart_point *points = calloc(p->count + 1, sizeof(*points));

    for (size_t i = 0; points && i < p->count; i++) {
        const struct bench_result *r = &p->list[i];
        const double rate = bench_flops(&r->shape) / 1e12, middle = bench_seconds(r);
        const double spread = r->median > 0 ? 0 : bench_prediction_spread(&r->prediction);

        series_name(&r->shape, points[i].name);
        points[i].x = r->shape.seq_k;
        points[i].y = rate / middle;
        points[i].low = rate / (middle * (1 + spread));
        points[i].high = spread < 1 ? rate / (middle * (1 - spread)) : points[i].y;
    }
    if (points)
        chart_lines(p->f, points, p->count, "keys", "TFLOP/s");
    free(points);
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
        series_name(&r->shape, name);
        snprintf(words, sizeof(words), "%s, %d keys", name, r->shape.seq_k);
        chart_bar(p->f, words, r->prediction.causes, EMU_TIME_CAUSES, bench_cause);
    }
}

static void print_table(struct bench_page *p)
{
    fprintf(p->f, "<h2>All numbers</h2>\n<table><tr><th>what</th><th>batch</th><th>heads</th>"
                  "<th>queries</th><th>keys</th><th>measured ms</th><th>predicted ms</th>"
                  "<th>± %%</th><th>TFLOP/s</th><th>of peak</th><th>bound by</th></tr>\n");
    for (size_t i = 0; i < p->count; i++) {
        const struct bench_result *r = &p->list[i];
        const struct bench_prediction *q = &r->prediction;
        char name[CHART_NAME_MAX];
        double rate = bench_flops(&r->shape) / bench_seconds(r);

        series_name(&r->shape, name);
        fprintf(p->f, "<tr><td>%s</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td>", name,
                r->shape.batch, r->shape.heads, r->shape.seq_q, r->shape.seq_k);
        if (r->median > 0)
            fprintf(p->f, "<td>%.4f</td>", r->median * 1e3);
        else
            fprintf(p->f, "<td>–</td>");
        if (q->launches)
            fprintf(p->f, "<td>%.4f</td><td>%.0f</td>", q->middle * 1e3,
                    100 * bench_prediction_spread(q));
        else
            fprintf(p->f, "<td>–</td><td>–</td>");
        fprintf(p->f, "<td>%.1f</td>", rate / 1e12);
        if (q->peak > 0)
            fprintf(p->f, "<td>%.0f %%</td>", 100 * rate / q->peak);
        else
            fprintf(p->f, "<td>–</td>");
        fprintf(p->f, "<td>%s</td></tr>\n", q->launches ? bench_cause(q->bound) : "–");
    }
    fprintf(p->f, "</table>\n");
}

static void print_page(struct bench_page *p, const struct device *device)
{
    const int emulated = device->runtime->emulated;

    if (p->count)
        qsort(p->list, p->count, sizeof(*p->list), by_length);
    fprintf(p->f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
            "<title>aothip on %.40s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            device->properties.target, style);
    fprintf(p->f, "<h1>Attention on %.40s</h1>\n<p>aothip %s. %s</p>\n", device->properties.target,
            aothip_version(),
            emulated ? "Times are predicted by the emulator's clock, not measured; whiskers and ± "
                       "tell how far off that may be."
                     : "Times are measured; where the clocks go is predicted.");
    fprintf(p->f, "<h2>Throughput over the length of sequences</h2>\n");
    print_throughput(p);
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
    if (device->runtime)
        print_page(p, device);
    wrong = ferror(p->f);
    wrong |= fclose(p->f);
    if (wrong)
        status_set(why, AOTHIP_E_IO, "%s: cannot be written", p->file);
    free(p->file);
    free(p->list);
    free(p);
    return wrong ? why->code : AOTHIP_OK;
}
