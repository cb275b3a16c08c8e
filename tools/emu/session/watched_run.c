/* Runs launches under strict mode, counters and the clock, as the settings ask. */
#include "watched_run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

static _Thread_local char fault_text[2048], warning_text[16384];

const char *emu_last_fault(void)
{
    return fault_text;
}

const char *emu_last_warnings(void)
{
    return warning_text;
}

/*
 * Strict mode: the seed says in which order waves and workgroups run: 1 to 3 as in run_launch.c, 4
 * ascending, above at random; seed 0 changes it from launch to launch: ascending, descending,
 * random.
 */
static unsigned run_order(const struct emu_settings *set)
{
    static atomic_uint launches;

    if (!set->strict)
        return 0;
    if (set->seed)
        return set->seed < 4 ? (unsigned)set->seed : set->seed == 4 ? 0 : 2;
    return atomic_fetch_add(&launches, 1) % 3;
}

static void give_warnings(const struct emu_launch *l)
{
    snprintf(warning_text, sizeof warning_text, "%s", l->warnings ? l->warnings : "");
    if (l->warnings)
        fputs(l->warnings, stderr);
    free(l->warnings);
}

bool emu_watched_run(struct emu_launch *l, const struct emu_gpu *gpu, bool trusted)
{
    const struct emu_settings *set = emu_settings();

    l->strict = set->strict && !trusted;
    l->warn_waits = set->warn_waits;
    l->count_memory = set->counters != NULL;
    l->matrix = set->matrix;
    l->order = trusted ? 0 : run_order(set);
    l->seed = set->seed;
    l->threads = set->threads;
    l->limit = set->limit;
    fault_text[0] = 0;
    struct emu_timing timing = emu_timing_begin(l, trusted);
    bool ok = emu_run(l);
    emu_timing_end(&timing, l, gpu, ok);
    give_warnings(l);
    if (set->counters)
        emu_counters_write(l, gpu, timing.result);
    emu_timing_give(&timing);
    if (!ok)
        snprintf(fault_text, sizeof fault_text, "%s", l->fault.text);
    return ok;
}
