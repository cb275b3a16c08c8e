/* Collects the shapes that aothip-bench measures. */
#include "shape_list.h"

#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_one(struct bench_shapes *s, const struct bench_shape *shape)
{
    struct bench_shape *list = realloc(s->list, (size_t)(s->count + 1) * sizeof(*list));
    if (!list) {
        cli_say("no memory for %d shapes", s->count + 1);
        exit(CLI_FAILED);
    }
    s->list = list;
    list[s->count++] = *shape;
}

void bench_add_shape(struct bench_shapes *s, const char *where, const char *text)
{
    struct bench_shape shape = bench_default();
    char error[BENCH_ERROR_MAX];

    if (bench_parse(text, &shape, error))
        cli_usage_error("%s: %s", where, error);
    if (s->passes == BENCH_PASS_AS_GIVEN && shape.atomics && !shape.backward)
        cli_usage_error("%s: atomics: of the backward pass alone", where);
    if (s->passes == BENCH_PASS_BOTH) {
        struct bench_shape forward = shape;

        forward.backward = forward.atomics = 0;
        add_one(s, &forward);
    }
    if (s->passes != BENCH_PASS_AS_GIVEN) {
        shape.backward = 1;
        if (s->passes == BENCH_PASS_BOTH)
            shape.splits = 0;
        if (bench_refuse(&shape, error))
            cli_usage_error("%s: %s", where, error);
    }
    add_one(s, &shape);
}

void bench_add_file(struct bench_shapes *s, const char *file)
{
    FILE *f = strcmp(file, "-") ? fopen(file, "r") : stdin;
    char *line = NULL, where[300];
    size_t room = 0;
    int number = 0, before = s->count;

    if (!f) {
        cli_say("%s: cannot be read: %s", file, strerror(errno));
        exit(CLI_FAILED);
    }
    while (getline(&line, &room, f) >= 0) {
        number++;
        line[strcspn(line, "#\r\n")] = '\0';
        if (!line[strspn(line, " \t")])
            continue;
        snprintf(where, sizeof(where), "%.256s, line %d", file, number);
        bench_add_shape(s, where, line);
    }
    if (ferror(f)) {
        cli_say("%s: cannot be read: %s", file, strerror(errno));
        exit(CLI_FAILED);
    }
    free(line);
    if (f != stdin)
        fclose(f);
    if (s->count == before)
        cli_usage_error("%s: holds no shape", file);
}

void bench_add_preset(struct bench_shapes *s, const char *name)
{
    const char *const *line;
    s->preset = s->count;
    for (line = bench_preset(name); *line; line++)
        bench_add_shape(s, name, *line);
}
