/* Prints the results of aothip-bench as JSON or CSV. */
#include "report_machine.h"

#include <jansson.h>
#include <stdio.h>

void bench_print_string(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        json_dumpf(string, stdout, JSON_ENCODE_ANY);
    else
        printf("\"?\"");
    json_decref(string);
}

static void print_times(const struct bench_result *r)
{
    printf(", \"median_ms\": %.6g, \"fastest_ms\": %.6g, \"tflops\": %.6g, "
           "\"gbytes_per_s\": %.6g",
           r->median * 1e3, r->fastest * 1e3, bench_flops(&r->shape) / r->median / 1e12,
           bench_bytes(&r->shape) / r->median / 1e9);
}

static void print_counts(const struct bench_counters *c)
{
    printf(", \"launches\": %lld, \"instructions\": %lld, \"matrix\": %lld, "
           "\"matrix_passes\": %lld, \"lds_conflict_cycles\": %lld, \"bytes_loaded\": %lld, "
           "\"bytes_stored\": %lld",
           c->launches, c->instructions, c->matrix, c->matrix_passes, c->lds_conflict_cycles,
           c->bytes_loaded, c->bytes_stored);
}

void bench_print_json(const struct bench_style *style, const struct bench_result *r, int first)
{
    char text[BENCH_TEXT_MAX];

    printf("%s\n  {\"shape\": ", first ? "" : ",");
    bench_print_string(bench_text(&r->shape, text));
    if (style->features)
        printf(", \"variant\": \"%s\"", r->words);
    if (r->cut)
        printf(", \"cut\": true");
    if (r->why.code) {
        printf(", \"error\": ");
        bench_print_string(r->why.text);
    } else if (style->kind == BENCH_COUNTED) {
        print_counts(&r->counters);
    } else {
        if (style->kind == BENCH_TIMED)
            print_times(r);
        if (r->prediction.launches) {
            printf(", ");
            bench_prediction_print(stdout, &r->shape, &r->prediction);
        }
        if (r->plain > 0)
            printf(", \"times_plain\": %.4g", bench_seconds(r) / r->plain);
    }
    printf("}");
}

static const char predicted_head[] = "predicted_ms,low_ms,high_ms,uncertainty";

void bench_print_csv_head(const struct bench_style *style)
{
    printf("pass,dtype,mask,layout,batch,heads,heads_k,seq_q,seq_k,dim,dim_v,");
    if (style->kind == BENCH_COUNTED)
        printf("launches,instructions,matrix,matrix_passes,lds_conflict_cycles,bytes_loaded,"
               "bytes_stored,");
    else if (style->kind == BENCH_PREDICTED)
        printf("%s,cycles,gigahertz,tflops,peak_tflops,gbytes_per_s,bound,bound_share,"
               "extrapolated,",
               predicted_head);
    else
        printf("median_ms,fastest_ms,tflops,gbytes_per_s,");
    printf("error,with");
    if (style->beside)
        printf(",%s", predicted_head);
    if (style->features)
        printf(",times_plain");
    putchar('\n');
}

/* An error's text goes in quotes, its own quotes doubled. */
static void print_csv_error(const struct status *why)
{
    const char *c;

    if (!why->code)
        return;
    putchar('"');
    for (c = why->text; *c; c++)
        printf(*c == '"' ? "\"\"" : "%c", *c);
    putchar('"');
}

static void print_predicted(const struct bench_result *r)
{
    const struct bench_prediction *p = &r->prediction;

    if (p->launches)
        printf("%.6g,%.6g,%.6g,%.4g", p->middle * 1e3, p->low * 1e3, p->high * 1e3, p->error);
    else
        printf(",,,");
}

static void print_csv_values(const struct bench_style *style, const struct bench_result *r)
{
    const struct bench_counters *c = &r->counters;
    const struct bench_prediction *p = &r->prediction;
    double flops = bench_flops(&r->shape) / 1e12, bytes = bench_bytes(&r->shape) / 1e9;

    if (r->why.code) {
        printf(style->kind == BENCH_TIMED     ? ",,,,"
               : style->kind == BENCH_COUNTED ? ",,,,,,,"
                                              : ",,,,,,,,,,,,");
    } else if (style->kind == BENCH_COUNTED) {
        printf("%lld,%lld,%lld,%lld,%lld,%lld,%lld,", c->launches, c->instructions, c->matrix,
               c->matrix_passes, c->lds_conflict_cycles, c->bytes_loaded, c->bytes_stored);
    } else if (style->kind == BENCH_TIMED) {
        printf("%.6g,%.6g,%.6g,%.6g,", r->median * 1e3, r->fastest * 1e3, flops / r->median,
               bytes / r->median);
    } else {
        print_predicted(r);
        printf(",%.0f,%.4g,%.6g,%.6g,%.6g,%s,%.4g,%d,", p->cycles, p->gigahertz, flops / p->middle,
               p->peak / 1e12, bytes / p->middle, bench_cause(p->bound), p->causes[p->bound],
               p->extrapolated);
    }
}

void bench_print_csv(const struct bench_style *style, const struct bench_result *r)
{
    static const char *const mask_names[] = {"none", "tl", "br"};
    const struct bench_shape *s = &r->shape;
    char types[BENCH_DTYPES_MAX];

    printf("%s,%s,%s,%s,%d,%d,%d,%d,%d,%d,%d,", s->backward ? "bwd" : "fwd", bench_dtypes(s, types),
           mask_names[s->mask], s->bshd ? "bshd" : "bhsd", s->batch, s->heads, s->heads_k, s->seq_q,
           s->seq_k, s->dim, s->dim_v);
    print_csv_values(style, r);
    print_csv_error(&r->why);
    printf(",%s%s%s", s->feature ? bench_feature_name(s->feature) : "",
           s->feature && (s->atomics || s->splits) ? "+" : "", s->atomics ? "atomics" : "");
    if (s->splits)
        printf("splits=%d", s->splits);
    if (style->beside) {
        putchar(',');
        print_predicted(r);
    }
    if (style->features && r->plain > 0)
        printf(",%.4g", bench_seconds(r) / r->plain);
    else if (style->features)
        putchar(',');
    putchar('\n');
}
