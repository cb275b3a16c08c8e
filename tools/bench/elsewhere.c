/* A prediction for a real GPU: another aothip-bench makes it, on the emulator. */
#include "elsewhere.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "own_program.h"

int bench_prediction_elsewhere(const char *target, const char *images,
                               const struct bench_shape *shape, struct bench_prediction *p)
{
    char gpu[64], text[BENCH_TEXT_MAX];
    char name[] = "aothip-bench", json[] = "--json", emulate[] = "--emulate", where[] = "--images";
    char *copy = images ? strdup(images) : NULL;
    char *arguments[] = {name, json, emulate, gpu, text, copy ? where : NULL, copy, NULL};
    struct own_program run;
    json_t *report;
    int failed;

    memset(p, 0, sizeof(*p));
    snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(target, ":"), target);
    bench_text(shape, text);
    failed = own_program_start(&run, arguments);
    if (!failed) {
        report = json_loadf(run.output, 0, NULL);
        bench_prediction_read(json_array_get(json_object_get(report, "results"), 0), p);
        json_decref(report);
        failed = own_program_end(&run);
    }
    free(copy);
    return !failed && p->launches ? 0 : -1;
}
