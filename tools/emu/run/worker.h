/*
 * What a thread that runs workgroups holds, and what the threads of a launch share.
 */
#ifndef EMU_WORKER_H
#define EMU_WORKER_H

#include <pthread.h>

#include "arena.h"
#include "clock_trace.h"
#include "strict.h"

/* A launch. */
struct run {
    struct emu_launch *launch;
    uint64_t groups;
    uint64_t wanted; /* so many of them are run */
    bool rest;       /* only those that have not run for the clock */
    uint64_t stride; /* random order: group i runs as i * stride % groups; coprime to groups */
    unsigned waves;
    atomic_uint_fast64_t next;
    atomic_bool stop;
    struct emu_strict_global *global; /* strict mode */
    pthread_mutex_t lock;             /* guards launch->counters */
};

/* One thread's storage. */
struct worker {
    struct run *run;
    pthread_t thread;
    struct emu_group group;
    struct emu_strict strict;
    struct emu_wave *wave;
    struct emu_counters counters;
    struct emu_clock_group *clock; /* records the workgroup at hand; NULL: nobody does */
    uint32_t *hits;                /* executions of each op */
    struct emu_arena arena;        /* registers, scratch and LDS of all waves */
    uint64_t rng;
    jmp_buf escape;
};

/* Storage for the waves of a workgroup, their registers 0. False: out of memory; free it, too. */
bool emu_worker_make(struct worker *t, struct run *r);
void emu_worker_free(struct worker *t);

#endif
