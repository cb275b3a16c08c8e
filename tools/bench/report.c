/* Prints the results of aothip-bench: a table, JSON or CSV; reads the emulator's counters. */
#include "report.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The shape takes 46 columns; times take 33 more, which is a terminal's width. */
static const char text_head[] = "%-4s %-4s %-4s %3s %3s %3s %5s %5s %3s %3s";
static const char text_row[] = "%-4s %-4s %-4s %3d %3d %3d %5d %5d %3d %3d";
static const char *const dtype_names[] = {"?", "f32", "f16", "bf16"};
static const char *const mask_names[] = {"none", "tl", "br"};

static void print_string(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        json_dumpf(string, stdout, JSON_ENCODE_ANY);
    else
        printf("\"?\"");
    json_decref(string);
}

void bench_print_head(enum bench_format format, const struct device *device)
{
    int emulated = device->runtime->emulated;

    if (format == BENCH_JSON) {
        printf("{\"version\": \"%s\", \"device\": %d, \"name\": ", aothip_version(),
               device->number);
        print_string(device->properties.name);
        printf(", \"target\": ");
        print_string(device->properties.target);
        printf(", \"emulated\": %s, \"results\": [", emulated ? "true" : "false");
        return;
    }
    if (format == BENCH_CSV) {
        printf("pass,dtype,mask,layout,batch,heads,heads_k,seq_q,seq_k,dim,dim_v,");
        printf(emulated ? "launches,instructions,matrix,matrix_passes,lds_conflict_cycles,"
                          "bytes_loaded,bytes_stored,error\n"
                        : "median_ms,fastest_ms,tflops,gbytes_per_s,error\n");
        return;
    }
    printf("%s (%s), device %d\n", device->properties.name, device->properties.target,
           device->number);
    if (emulated)
        printf("Emulated: there are no times, but counts of one call.\n");
    printf(text_head, "pass", "type", "mask", "b", "hq", "hk", "seqq", "seqk", "d", "dv");
    if (emulated)
        printf(" %12s %8s %9s %9s %9s\n", "instructions", "matrix %", "conflicts", "MB loaded",
               "MB stored");
    else
        printf(" %8s %8s %7s %6s\n", "med. ms", "best ms", "TFLOP/s", "GB/s");
}

static void print_json(const struct bench_result *r, int emulated, int first)
{
    const struct bench_counters *c = &r->counters;
    char text[BENCH_TEXT_MAX];

    printf("%s\n  {\"shape\": ", first ? "" : ",");
    print_string(bench_text(&r->shape, text));
    if (r->cut)
        printf(", \"cut\": true");
    if (r->why.code) {
        printf(", \"error\": ");
        print_string(r->why.text);
    } else if (emulated) {
        printf(", \"launches\": %lld, \"instructions\": %lld, \"matrix\": %lld, "
               "\"matrix_passes\": %lld, \"lds_conflict_cycles\": %lld, \"bytes_loaded\": %lld, "
               "\"bytes_stored\": %lld",
               c->launches, c->instructions, c->matrix, c->matrix_passes, c->lds_conflict_cycles,
               c->bytes_loaded, c->bytes_stored);
    } else {
        printf(", \"median_ms\": %.6g, \"fastest_ms\": %.6g, \"tflops\": %.6g, "
               "\"gbytes_per_s\": %.6g",
               r->median * 1e3, r->fastest * 1e3, bench_flops(&r->shape) / r->median / 1e12,
               bench_bytes(&r->shape) / r->median / 1e9);
    }
    printf("}");
}

/* An error's text goes in quotes, its own quotes doubled. */
static void print_csv_error(const struct status *why)
{
    const char *c;

    if (why->code) {
        putchar('"');
        for (c = why->text; *c; c++)
            printf(*c == '"' ? "\"\"" : "%c", *c);
        putchar('"');
    }
    putchar('\n');
}

static void print_csv(const struct bench_result *r, int emulated)
{
    const struct bench_shape *s = &r->shape;
    const struct bench_counters *c = &r->counters;

    printf("%s,%s,%s,%s,%d,%d,%d,%d,%d,%d,%d,", s->backward ? "bwd" : "fwd", dtype_names[s->dtype],
           mask_names[s->mask], s->bshd ? "bshd" : "bhsd", s->batch, s->heads, s->heads_k, s->seq_q,
           s->seq_k, s->dim, s->dim_v);
    if (r->why.code)
        printf(emulated ? ",,,,,,," : ",,,,");
    else if (emulated)
        printf("%lld,%lld,%lld,%lld,%lld,%lld,%lld,", c->launches, c->instructions, c->matrix,
               c->matrix_passes, c->lds_conflict_cycles, c->bytes_loaded, c->bytes_stored);
    else
        printf("%.6g,%.6g,%.6g,%.6g,", r->median * 1e3, r->fastest * 1e3,
               bench_flops(s) / r->median / 1e12, bench_bytes(s) / r->median / 1e9);
    print_csv_error(&r->why);
}

static void print_text(const struct bench_result *r, int emulated)
{
    const struct bench_shape *s = &r->shape;
    const struct bench_counters *c = &r->counters;

    printf(text_row, s->backward ? "bwd" : "fwd", dtype_names[s->dtype], mask_names[s->mask],
           s->batch, s->heads, s->heads_k, s->seq_q, s->seq_k, s->dim, s->dim_v);
    if (r->why.code)
        printf(" FAILED: %s\n", r->why.text);
    else if (emulated)
        printf(" %12lld %8.1f %9lld %9.3f %9.3f%s\n", c->instructions,
               100.0 * (double)c->matrix / (double)(c->instructions ? c->instructions : 1),
               c->lds_conflict_cycles, (double)c->bytes_loaded / 1e6, (double)c->bytes_stored / 1e6,
               r->cut ? "  (cut)" : "");
    else
        printf(" %8.4f %8.4f %7.2f %6.1f\n", r->median * 1e3, r->fastest * 1e3,
               bench_flops(s) / r->median / 1e12, bench_bytes(s) / r->median / 1e9);
}

void bench_print_result(enum bench_format format, const struct bench_result *result, int emulated,
                        int first)
{
    if (format == BENCH_JSON)
        print_json(result, emulated, first);
    else if (format == BENCH_CSV)
        print_csv(result, emulated);
    else
        print_text(result, emulated);
    fflush(stdout);
}

void bench_print_tail(enum bench_format format)
{
    if (format == BENCH_JSON)
        printf("\n]}\n");
}

static long long number(const json_t *launch, const char *key)
{
    return json_integer_value(json_object_get(launch, key));
}

static void add_launch(const json_t *launch, struct bench_counters *c)
{
    json_t *classes = json_object_get(launch, "instructions"), *count;
    const char *name;

    c->launches++;
    json_object_foreach(classes, name, count)
    {
        c->instructions += json_integer_value(count);
        if (!strcmp(name, "matrix"))
            c->matrix += json_integer_value(count);
    }
    c->matrix_passes += number(launch, "matrix_passes");
    c->lds_conflict_cycles += number(launch, "lds_conflict_cycles");
    c->bytes_loaded += number(launch, "bytes_loaded");
    c->bytes_stored += number(launch, "bytes_stored");
}

enum aothip_status bench_read_counters(const char *file, long long *seen,
                                       struct bench_counters *counters, struct status *why)
{
    json_error_t error;
    json_t *list = json_load_file(file, 0, &error);
    size_t i;

    memset(counters, 0, sizeof(*counters));
    if (!json_is_array(list)) {
        json_decref(list);
        return status_set(why, AOTHIP_E_FORMAT, "%s: the emulator left no counters: %s", file,
                          error.text);
    }
    for (i = (size_t)*seen; i < json_array_size(list); i++)
        add_launch(json_array_get(list, i), counters);
    *seen = (long long)json_array_size(list);
    json_decref(list);
    return AOTHIP_OK;
}
