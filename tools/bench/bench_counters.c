/* Reads the emulator's counters; the file that they go to is there for as long as the program. */
#include "bench_counters.h"

#include "cli.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file that an interrupted program must not leave behind. */
static const char *left_behind;

static void clean_up(int number)
{
    unlink(left_behind);
    signal(number, SIG_DFL);
    raise(number);
}

static void clean_up_when_interrupted(const char *file)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    size_t i;

    left_behind = file;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signal(signals[i], clean_up) == SIG_IGN)
            signal(signals[i], SIG_IGN);
}

int bench_counting_open(struct bench_counting *counting)
{
    const char *tmp = getenv("TMPDIR");
    int file;

    if (getenv("AOTHIP_EMU_COUNTERS"))
        return 0;
    if (snprintf(counting->file, sizeof(counting->file), "%s/aothip-bench-XXXXXX",
                 tmp ? tmp : "/tmp") >= (int)sizeof(counting->file))
        snprintf(counting->file, sizeof(counting->file), "/tmp/aothip-bench-XXXXXX");
    file = mkstemp(counting->file);
    if (file < 0 || setenv("AOTHIP_EMU_COUNTERS", counting->file, 1)) {
        cli_say("%s: cannot be made", counting->file);
        return -1;
    }
    close(file);
    counting->own = 1;
    clean_up_when_interrupted(counting->file);
    return 0;
}

void bench_counting_close(struct bench_counting *counting)
{
    if (counting->own)
        unlink(counting->file);
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

enum aothip_status bench_counting_read(struct bench_counting *counting,
                                       struct bench_counters *counters, struct status *why)
{
    const char *file = counting->own ? counting->file : getenv("AOTHIP_EMU_COUNTERS");
    json_error_t error;
    json_t *list = json_load_file(file, 0, &error);
    size_t i;

    memset(counters, 0, sizeof(*counters));
    if (!json_is_array(list)) {
        json_decref(list);
        return status_set(why, AOTHIP_E_FORMAT, "%s: the emulator left no counters: %s", file,
                          error.text);
    }
    for (i = (size_t)counting->seen; i < json_array_size(list); i++)
        add_launch(json_array_get(list, i), counters);
    counting->seen = (long long)json_array_size(list);
    json_decref(list);
    return AOTHIP_OK;
}
