/* Reads what other people's code objects took: counters of the emulator, or another's results. */
#include "beside.h"

#include <jansson.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "NAME=FILE@SHAPE", taken apart. */
struct argument {
    const char *name, *file, *shape; /* shape: NULL if there is none */
};

static enum aothip_status take_apart(char *text, struct argument *a, struct status *why)
{
    char *file = strchr(text, '='), *shape = strrchr(text, '@');
    const char *c = text;

    if (!file || file == text || !file[1] || file[1] == '@')
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "--beside %s: wanted is NAME=FILE or NAME=FILE@SHAPE", text);
    while (isalnum((unsigned char)*c) || strchr(" .+-_", *c) != NULL)
        c++;
    if (c != file || file - text >= BENCH_BY_MAX)
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "--beside %s: a name is of up to %d letters, digits, blanks and .+-_",
                          text, BENCH_BY_MAX - 1);
    *a = (struct argument){text, file + 1, shape && shape > file ? shape + 1 : NULL};
    *file = 0;
    if (a->shape)
        *shape = 0;
    return AOTHIP_OK;
}

static struct bench_beside *add(struct bench_besides *b, const struct argument *a,
                                const char *target, struct status *why)
{
    struct bench_beside *list = realloc(b->list, (b->count + 1) * sizeof(*list)), *x;

    if (!list) {
        status_set(why, AOTHIP_E_MEMORY, "no memory for %s", a->file);
        return NULL;
    }
    b->list = list;
    x = &list[b->count++];
    memset(x, 0, sizeof(*x));
    x->file = a->file;
    x->result.shape = bench_default();
    snprintf(x->result.by, sizeof(x->result.by), "%s", a->name);
    snprintf(x->target, sizeof(x->target), "%.*s", (int)strcspn(target, ":"), target);
    return x;
}

static enum aothip_status set_shape(struct bench_beside *x, const char *text, struct status *why)
{
    char error[BENCH_ERROR_MAX];

    if (bench_parse(text, &x->result.shape, error))
        return status_set(why, AOTHIP_E_ARGUMENT, "--beside %s: shape %s: %s", x->result.by, text,
                          error);
    return AOTHIP_OK;
}

/* All launches of a counters file, as one call. */
static enum aothip_status read_launches(struct bench_besides *b, const struct argument *a,
                                        const json_t *launches, struct status *why)
{
    const char *target = json_string_value(json_object_get(json_array_get(launches, 0), "target"));
    struct bench_beside *x;
    struct status cause;

    status_clear(&cause);
    if (!json_array_size(launches))
        return status_set(why, AOTHIP_E_FORMAT, "%s: no launch is in it", a->file);
    x = add(b, a, target ? target : "?", why);
    if (!x)
        return why->code;
    for (size_t i = 0; i < json_array_size(launches); i++) {
        struct emu_time_result r;

        if (bench_launch_read(json_array_get(launches, i), &r, &cause))
            return status_set(why, cause.code, "%s: launch %zu: %s", a->file, i + 1, cause.text);
        if (strncmp(r.target, x->target, strcspn(r.target, ":")))
            return status_set(why, AOTHIP_E_FORMAT, "%s: launches of %.20s and of %.20s", a->file,
                              x->target, r.target);
        bench_prediction_add(&x->result.prediction, &r);
    }
    x->result.shapeless = !a->shape;
    if (a->shape && set_shape(x, a->shape, why))
        return why->code;
    return bench_prediction_finish(&x->result.prediction, why);
}

/* The results of an aothip-bench, each with its shape; those that failed are left out. */
static enum aothip_status read_results(struct bench_besides *b, const struct argument *a,
                                       const json_t *report, struct status *why)
{
    const json_t *results = json_object_get(report, "results");
    const char *target = json_string_value(json_object_get(report, "target"));
    size_t before = b->count;

    if (a->shape)
        return status_set(why, AOTHIP_E_ARGUMENT, "%s has its own shapes: leave @%s out", a->file,
                          a->shape);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *r = json_array_get(results, i);
        const char *shape = json_string_value(json_object_get(r, "shape"));
        struct bench_prediction p;
        struct bench_beside *x;
        double median = json_number_value(json_object_get(r, "median_ms")) / 1e3;

        bench_prediction_read(r, &p);
        if (!shape || (!(median > 0) && !p.launches))
            continue;
        x = add(b, a, target ? target : "?", why);
        if (!x || set_shape(x, shape, why))
            return why->code;
        x->result.prediction = p;
        x->result.median = median > 0 ? median : 0;
        x->result.fastest = json_number_value(json_object_get(r, "fastest_ms")) / 1e3;
    }
    if (b->count == before)
        return status_set(why, AOTHIP_E_FORMAT, "%s: no result with a time is in it", a->file);
    return AOTHIP_OK;
}

enum aothip_status bench_beside_read(struct bench_besides *b, char *text, struct status *why)
{
    struct argument a;
    json_error_t error;
    json_t *root;
    FILE *f;

    if (take_apart(text, &a, why))
        return why->code;
    f = fopen(a.file, "r");
    if (!f)
        return status_set(why, AOTHIP_E_IO, "%s: cannot be read: %s", a.file, strerror(errno));
    root = json_loadf(f, 0, &error);
    fclose(f);
    if (!root)
        return status_set(why, AOTHIP_E_FORMAT, "%s: line %d: %.100s", a.file, error.line,
                          error.text);
    if (json_is_array(root))
        read_launches(b, &a, root, why);
    else if (json_is_array(json_object_get(root, "results")))
        read_results(b, &a, root, why);
    else
        status_set(why, AOTHIP_E_FORMAT,
                   "%s: neither counters of the emulator nor results of aothip-bench --json",
                   a.file);
    json_decref(root);
    return why->code;
}

void bench_besides_free(struct bench_besides *b)
{
    free(b->list);
    *b = (struct bench_besides){0};
}

enum aothip_status bench_besides_fit(const struct bench_besides *b, const char *target,
                                     struct status *why)
{
    const size_t length = strcspn(target, ":");

    for (size_t i = 0; i < b->count; i++)
        if (strlen(b->list[i].target) != length || strncmp(b->list[i].target, target, length))
            return status_set(why, AOTHIP_E_FORMAT, "%s is of %s, and the report of %.*s",
                              b->list[i].file, b->list[i].target, (int)length, target);
    return AOTHIP_OK;
}
