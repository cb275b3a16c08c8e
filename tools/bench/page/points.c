/* What a result is called in pictures, and where it stands in them. */
#include "points.h"

#include <string.h>

void page_series(const struct bench_result *r, char name[CHART_NAME_MAX])
{
    static const char *const masks[] = {"", " causal", " causal br"};
    const struct bench_shape *s = &r->shape;
    char types[BENCH_DTYPES_MAX];

    if (r->shapeless) {
        snprintf(name, CHART_NAME_MAX, "%s", r->by);
        return;
    }
    snprintf(name, CHART_NAME_MAX, "%s%s%s %s%s d%d%s%s%s", r->by, *r->by ? ": " : "",
             s->backward ? "backward" : "forward", bench_dtypes(s, types), masks[s->mask], s->dim,
             s->feature ? " " : "", s->feature ? bench_feature_name(s->feature) : "",
             s->heads != s->heads_k ? " GQA" : "");
}

int page_order(const void *a, const void *b)
{
    const struct bench_result *x = a, *y = b;

    if (x->shape.seq_k != y->shape.seq_k)
        return x->shape.seq_k < y->shape.seq_k ? -1 : 1;
    return strcmp(x->by, y->by);
}

double page_work(const struct bench_result *r)
{
    return r->shapeless ? r->prediction.flops : bench_flops(&r->shape);
}

double page_spread(const struct bench_result *r)
{
    return r->median > 0 ? 0 : bench_prediction_spread(&r->prediction);
}

void page_point(const struct bench_result *r, double x, struct chart_point *point)
{
    const double rate = page_work(r) / 1e12 / bench_seconds(r), spread = page_spread(r);

    page_series(r, point->name);
    point->x = x;
    point->y = rate;
    point->low = rate / (1 + spread);
    point->high = spread < 1 ? rate / (1 - spread) : rate;
}
