/* A prediction for a real GPU: another aothip-bench makes it, on the emulator. */
#include "elsewhere.h"

#include <jansson.h>

#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Runs this program with its output in *out; returns its process, or -1. */
static pid_t start(char *const *arguments, FILE **out)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error;
    pid_t process;

    if (pipe(ends))
        return -1;
    error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        error = posix_spawn(&process, "/proc/self/exe", &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    *out = error ? NULL : fdopen(ends[0], "r");
    if (*out)
        return process;
    close(ends[0]);
    if (!error)
        waitpid(process, NULL, 0);
    return -1;
}

int bench_prediction_elsewhere(const char *target, const char *images,
                               const struct bench_shape *shape, struct bench_prediction *p)
{
    char gpu[64], text[BENCH_TEXT_MAX];
    char name[] = "aothip-bench", json[] = "--json", emulate[] = "--emulate", where[] = "--images";
    char *copy = images ? strdup(images) : NULL;
    char *arguments[] = {name, json, emulate, gpu, text, copy ? where : NULL, copy, NULL};
    FILE *out;
    json_t *report;
    pid_t process;
    int status = -1;

    memset(p, 0, sizeof(*p));
    snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(target, ":"), target);
    bench_text(shape, text);
    process = start(arguments, &out);
    if (process >= 0) {
        report = json_loadf(out, 0, NULL);
        bench_prediction_read(json_array_get(json_object_get(report, "results"), 0), p);
        json_decref(report);
        fclose(out);
        waitpid(process, &status, 0);
    }
    free(copy);
    return status == 0 && p->launches ? 0 : -1;
}
