/* Fixed problems on all GPUs that kernels are written for, and what their launches cost. */
#ifndef AOTHIP_TEST_LAUNCH_WALK_H
#define AOTHIP_TEST_LAUNCH_WALK_H

#include "each_gpu.h"
#include "launch_counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct launch_problem {
    const char *name;
    int heads, heads_k, seq_q, seq_k, dim, mask;
    unsigned options; /* as the list of problems defines them */
    int dtype;
};

/* BHSD of one sequence; rows are `apart` elements further apart than they need be. */
static inline struct aothip_tensor launch_tensor(char *data, int dtype, int heads, int rows,
                                                 int columns, int apart)
{
    struct aothip_tensor t = {.data = data, .size = {1, heads, rows, columns}, .dtype = dtype};

    t.stride[3] = 1;
    t.stride[2] = columns + apart;
    t.stride[1] = rows * t.stride[2];
    t.stride[0] = heads * t.stride[1];
    return t;
}

struct launch_walk {
    const char *counters_file; /* in the build directory; removed at the end */
    size_t bytes;              /* of device memory, zeros but for what fill() makes of them */
    void (*fill)(char *host);
    const struct launch_problem *problems;
    size_t count, least; /* of problems; launches that each of them has at least */
    /* Whether the GPU has a kernel for it; NULL: each has one for all. */
    bool (*has)(const char *target, const struct launch_problem *p);
    /* Starts the problem. False: it failed, aothip_last_error() says why. */
    bool (*launch)(const struct device *device, struct aothip_context *context,
                   const struct launch_problem *p, char *memory);
    size_t seen; /* launches up to now; 0 at first */
};

/* A line for each launch of the problem: GPU, problem, kernel, instructions. */
static inline bool launch_print(struct launch_walk *w, const char *name)
{
    struct launch_counters l;
    size_t number = 0;

    for (const char *at = launch_counters_read(w->counters_file); launch_counters_next(&at, &l);)
        if (number++ >= w->seen)
            printf("%-8s %-20s %-48s %9lld\n", l.target, name, l.kernel, l.instructions);
    if (number < w->seen + w->least) {
        fprintf(stderr, "%s: not counted\n", name);
        return false;
    }
    w->seen = number;
    return true;
}

static inline bool launch_all(struct launch_walk *w, const struct device *device,
                              struct aothip_context *context, char *memory)
{
    struct status why = {0};

    for (size_t i = 0; i < w->count; i++) {
        if (w->has && !w->has(device->properties.target, &w->problems[i]))
            continue;
        if (!w->launch(device, context, &w->problems[i], memory) || device_finish(device, &why)) {
            fprintf(stderr, "%s: %s\n", w->problems[i].name,
                    why.code ? why.text : aothip_last_error());
            return false;
        }
        if (!launch_print(w, w->problems[i].name))
            return false;
    }
    return true;
}

static inline int launch_visit(const struct device *device, struct aothip_context *context,
                               void *with)
{
    struct launch_walk *w = with;
    struct status why = {0};
    void *memory = NULL;
    char *host = calloc(1, w->bytes);
    bool good = host != NULL;

    if (good)
        w->fill(host);
    if (good && (device_alloc(device, w->bytes, &memory, &why) ||
                 device_upload(device, memory, host, w->bytes, &why))) {
        fprintf(stderr, "%s\n", why.text);
        good = false;
    }
    good = good && launch_all(w, device, context, memory);
    device_free(device, memory);
    free(host);
    return !good;
}

/* All problems; main()'s result. */
static inline int launch_walk(struct launch_walk *w)
{
    int result;

    setenv("AOTHIP_EMU_COUNTERS", w->counters_file, 1);
    remove(w->counters_file);
    result = each_gpu(gpus_asked(GPUS_EVERY), 1, launch_visit, w);
    remove(w->counters_file);
    return result;
}

#endif
