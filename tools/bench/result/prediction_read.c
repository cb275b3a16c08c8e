/* Reads predictions from JSON: those of another aothip-bench, and launches of a counters file. */
#include "prediction.h"

#include <string.h>

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

void bench_prediction_read(const json_t *r, struct bench_prediction *p)
{
    const char *bound = json_string_value(json_object_get(r, "bound"));
    const json_t *causes = json_object_get(r, "causes"), *busy = json_object_get(r, "busy");

    memset(p, 0, sizeof(*p));
    p->middle = number(r, "predicted_ms") / 1e3;
    p->low = number(r, "low_ms") / 1e3;
    p->high = number(r, "high_ms") / 1e3;
    p->error = number(r, "uncertainty");
    p->cycles = number(r, "cycles");
    p->gigahertz = number(r, "gigahertz");
    p->peak = number(r, "peak_tflops") * 1e12;
    p->roof = number(r, "roof_tflops") * 1e12;
    p->flops = number(r, "matrix_flops");
    p->memory_bytes = number(r, "memory_bytes");
    p->memory_rate = number(r, "memory_gbytes_per_s") * 1e9;
    p->matrix_busy = number(busy, "matrix");
    p->vector_busy = number(busy, "vector");
    p->lds_busy = number(busy, "LDS");
    p->l1_busy = number(busy, "L1");
    p->dram_busy = number(busy, "memory");
    p->extrapolated = json_is_true(json_object_get(r, "extrapolated"));
    for (int i = 0; i < EMU_TIME_CAUSES; i++) {
        p->causes[i] = number(causes, bench_cause(i));
        if (bound && !strcmp(bound, bench_cause(i)))
            p->bound = i;
    }
    if (p->middle > 0)
        p->launches = (int)number(r, "launches");
}

static int read_range(const json_t *object, const char *key, struct emu_time_range *range)
{
    const json_t *list = json_object_get(object, key);

    range->low = json_number_value(json_array_get(list, 0));
    range->middle = json_number_value(json_array_get(list, 1));
    range->high = json_number_value(json_array_get(list, 2));
    return 0 < range->low && range->low <= range->middle && range->middle <= range->high ? 0 : -1;
}

static void read_numbers(const json_t *object, struct emu_time_result *r)
{
    const json_t *where = json_object_get(object, "where");

    r->gigahertz = number(object, "gigahertz");
    r->uncertainty = number(object, "uncertainty");
    r->clock_uncertainty = number(object, "clock_uncertainty");
    r->launch_us = number(object, "launch_us");
    r->launch_uncertainty = number(object, "launch_uncertainty");
    r->extrapolated = json_is_true(json_object_get(object, "extrapolated"));
    r->matrix_busy = number(object, "matrix_busy");
    r->vector_busy = number(object, "vector_busy");
    r->lds_busy = number(object, "lds_busy");
    r->l1_busy = number(object, "l1_busy");
    r->dram_busy = number(object, "dram_busy");
    r->matrix_flops = number(object, "matrix_flops");
    r->memory_bytes = number(object, "memory_bytes");
    r->memory_rate = number(object, "memory_rate");
    r->gigahertz_most = number(object, "gigahertz_most");
    for (int i = 0; i < EMU_TIME_CAUSES; i++)
        r->summary[i] = number(where, bench_cause(i));
}

enum aothip_status bench_launch_read(const json_t *object, struct emu_time_result *r,
                                     struct status *why)
{
    const char *untimed = json_string_value(json_object_get(object, "untimed"));

    memset(r, 0, sizeof(*r));
    r->size = sizeof(*r);
    r->kernel = json_string_value(json_object_get(object, "kernel"));
    r->target = json_string_value(json_object_get(object, "target"));
    if (!r->kernel || !r->target)
        return status_set(why, AOTHIP_E_FORMAT, "a launch has no \"kernel\" or no \"target\"");
    if (untimed)
        return status_set(why, AOTHIP_E_FORMAT, "%.80s was not timed: %.100s", r->kernel, untimed);
    if (json_is_true(json_object_get(object, "faulted")))
        return status_set(why, AOTHIP_E_FORMAT, "%.80s faulted", r->kernel);
    if (!json_object_get(object, "cycles"))
        return status_set(why, AOTHIP_E_FORMAT,
                          "%.80s has no times: AOTHIP_EMU_TIME was not set, or the mode was strict",
                          r->kernel);
    read_numbers(object, r);
    if (read_range(object, "cycles", &r->cycles) ||
        read_range(object, "microseconds", &r->microseconds) || !(r->gigahertz > 0))
        return status_set(why, AOTHIP_E_FORMAT, "%.80s: its cycles and times are wrong", r->kernel);
    r->timed = true;
    return AOTHIP_OK;
}
