/* Prints the results of aothip-bench: a table for people. */
#include "report.h"

#include "report_machine.h"

#include <stdio.h>

/* The shape takes 46 columns; times take 33 more, which is a terminal's width. */
static const char text_head[] = "%-4s %-4s %-4s %3s %3s %3s %5s %5s %3s %3s";
static const char text_row[] = "%-4s %-4s %-4s %3d %3d %3d %5d %5d %3d %3d";
static const char *const dtype_names[] = {"?",   "f32", "f16", "bf16", "?",
                                          "fp8", "fp8", "fp8", "fp8"}; /* which is said behind */
static const char *const mask_names[] = {"none", "tl", "br"};

/* 100 columns in all, also for a table of features. */
static void print_text_head(const struct bench_style *style, const struct device *device)
{
    printf("%s (%s), device %d\n", device->properties.name, device->properties.target,
           device->number);
    if (style->kind == BENCH_COUNTED)
        printf("Emulated: counts of one call.\n");
    if (style->kind == BENCH_PREDICTED)
        printf(
            "Emulated: times are predicted, not measured; +-%%: how far off that may be. peak: "
            "share of\nthe matrix pipes' rate at the predicted clock. *: nothing published of this "
            "GPU was held\nagainst the model.\n");
    if (style->features)
        printf("%-27s", "feature");
    else
        printf(text_head, "pass", "type", "mask", "b", "hq", "hk", "seqq", "seqk", "d", "dv");
    if (style->kind == BENCH_COUNTED)
        printf(" %12s %8s %9s %9s %9s", "instructions", "matrix %", "conflicts", "MB loaded",
               "MB stored");
    else if (style->kind == BENCH_PREDICTED)
        printf(" %9s %4s %7s %4s", "ms", "+-%", "TFLOP/s", "peak");
    else
        printf(" %8s %8s %7s %6s", "med. ms", "best ms", "TFLOP/s", "GB/s");
    if (style->beside)
        printf(" %9s %4s", "predicted", "+-%");
    if (style->features)
        printf(" %7s", "x plain");
    printf(style->kind == BENCH_PREDICTED ? "  bound by\n" : "\n");
}

void bench_print_head(const struct bench_style *style, const struct device *device)
{
    if (style->format == BENCH_JSON) {
        printf("{\"version\": \"%s\", \"device\": %d, \"name\": ", aothip_version(),
               device->number);
        bench_print_string(device->properties.name);
        printf(", \"target\": ");
        bench_print_string(device->properties.target);
        printf(", \"emulated\": %s, \"results\": [", device->runtime->emulated ? "true" : "false");
    } else if (style->format == BENCH_CSV) {
        bench_print_csv_head(style);
    } else {
        print_text_head(style, device);
    }
}

static void print_counts(const struct bench_counters *c)
{
    printf(" %12lld %8.1f %9lld %9.3f %9.3f", c->instructions,
           100.0 * (double)c->matrix / (double)(c->instructions ? c->instructions : 1),
           c->lds_conflict_cycles, (double)c->bytes_loaded / 1e6, (double)c->bytes_stored / 1e6);
}

static void print_predicted(const struct bench_shape *s, const struct bench_prediction *p)
{
    double rate = bench_flops(s) / p->middle;

    printf(" %9.4f %4.0f %7.2f", p->middle * 1e3, 100 * bench_prediction_spread(p), rate / 1e12);
    if (p->peak > 0)
        printf(" %3.0f%%", 100 * rate / p->peak);
    else
        printf(" %4s", "-");
}

static void print_measured(const struct bench_style *style, const struct bench_result *r)
{
    const struct bench_prediction *p = &r->prediction;

    printf(" %8.4f %8.4f %7.2f %6.1f", r->median * 1e3, r->fastest * 1e3,
           bench_flops(&r->shape) / r->median / 1e12, bench_bytes(&r->shape) / r->median / 1e9);
    if (style->beside && p->launches)
        printf(" %9.4f %4.0f", p->middle * 1e3, 100 * bench_prediction_spread(p));
    else if (style->beside)
        printf(" %9s %4s", "-", "-");
}

static void print_text(const struct bench_style *style, const struct bench_result *r)
{
    const struct bench_shape *s = &r->shape;
    const struct bench_prediction *p = &r->prediction;
    char text[BENCH_TEXT_MAX];

    if (style->features && !(r->plain > 0))
        printf("%s\n", bench_text(s, text));
    if (style->features)
        printf("%-27s", r->words);
    else
        printf(text_row, s->backward ? "bwd" : "fwd", dtype_names[s->dtype], mask_names[s->mask],
               s->batch, s->heads, s->heads_k, s->seq_q, s->seq_k, s->dim, s->dim_v);
    if (r->why.code) {
        printf(" FAILED: %s\n", r->why.text);
        return;
    }
    if (style->kind == BENCH_COUNTED)
        print_counts(&r->counters);
    else if (style->kind == BENCH_PREDICTED)
        print_predicted(s, p);
    else
        print_measured(style, r);
    if (style->features && r->plain > 0)
        printf(" %6.2fx", bench_seconds(r) / r->plain);
    else if (style->features)
        printf(" %7s", "");
    if (style->kind == BENCH_PREDICTED)
        printf("  %s %.0f%%%s", bench_cause(bench_most(p)), 100 * p->causes[bench_most(p)],
               p->extrapolated ? " *" : "");
    if (s->feature && !style->features)
        printf("  with %s", bench_feature_name(s->feature));
    if (s->atomics && !style->features)
        printf("  atomics");
    if (s->splits && !style->features)
        printf("  splits=%d", s->splits);
    if (bench_is_fp8(s) && !style->features)
        printf("  %s", bench_dtypes(s, text));
    printf(r->cut ? "  (cut)\n" : "\n");
}

void bench_print_result(const struct bench_style *style, const struct bench_result *result,
                        int first)
{
    if (style->format == BENCH_JSON)
        bench_print_json(style, result, first);
    else if (style->format == BENCH_CSV)
        bench_print_csv(style, result);
    else
        print_text(style, result);
    fflush(stdout);
}

void bench_print_tail(const struct bench_style *style)
{
    if (style->format == BENCH_JSON)
        printf("\n]}\n");
}
