/* Sums up the clock's results of a call, and prints them as JSON. */
#include "prediction.h"

#include <math.h>
#include <string.h>

/* The same names as emu_time_cause_name() gives, for a process without the emulator. */
static const char *const cause_names[EMU_TIME_CAUSES] = {
    [EMU_TIME_MATRIX] = "matrix",
    [EMU_TIME_ISSUE] = "issue port",
    [EMU_TIME_TRANS] = "transcendental",
    [EMU_TIME_LDS] = "LDS bandwidth",
    [EMU_TIME_CONFLICT] = "LDS conflicts",
    [EMU_TIME_MEMORY] = "memory bandwidth",
    [EMU_TIME_LATENCY_LDS] = "LDS latency",
    [EMU_TIME_LATENCY_VMEM] = "memory latency",
    [EMU_TIME_DEPENDENCE] = "dependence",
    [EMU_TIME_SCALAR] = "scalar",
    [EMU_TIME_FETCH] = "instruction fetch",
    [EMU_TIME_BARRIER] = "barrier",
    [EMU_TIME_TAIL] = "tail",
};

const char *bench_cause(int cause)
{
    return cause_names[cause];
}

void bench_prediction_add(struct bench_prediction *p, const struct emu_time_result *r)
{
    const double seconds = r->microseconds.middle / 1e6,
                 launch = fmin(r->launch_us / r->microseconds.middle, 1),
                 error = hypot((1 - launch) * hypot(r->uncertainty, r->clock_uncertainty),
                               launch * r->launch_uncertainty),
                 matrix = r->matrix_busy * r->cycles.middle / 1e9;

    p->launches++;
    p->low += r->microseconds.low / 1e6;
    p->middle += seconds;
    p->high += r->microseconds.high / 1e6;
    p->error += error * seconds; /* all launches may be off the same way */
    p->cycles += r->cycles.middle;
    p->gigahertz += r->gigahertz * seconds;
    p->matrix_busy += r->matrix_busy * seconds;
    p->vector_busy += r->vector_busy * seconds;
    p->lds_busy += r->lds_busy * seconds;
    p->l1_busy += r->l1_busy * seconds;
    p->dram_busy += r->dram_busy * seconds;
    p->extrapolated |= r->extrapolated;
    for (int i = 0; i < EMU_TIME_CAUSES && r->cycles.middle > 0; i++)
        p->causes[i] += r->summary[i] / r->cycles.middle * seconds;
    p->flops += r->matrix_flops;
    p->matrix_seconds += matrix / r->gigahertz;
    p->matrix_least += r->gigahertz_most > 0 ? matrix / r->gigahertz_most : 0;
    p->memory_bytes += r->memory_bytes;
    p->memory_rate = r->memory_rate;
}

enum aothip_status bench_prediction_finish(struct bench_prediction *p, struct status *why)
{
    if (!(p->middle > 0))
        return status_set(why, AOTHIP_E_HIP, "nothing was timed");
    p->error /= p->middle;
    p->gigahertz /= p->middle;
    p->matrix_busy /= p->middle;
    p->vector_busy /= p->middle;
    p->lds_busy /= p->middle;
    p->l1_busy /= p->middle;
    p->dram_busy /= p->middle;
    for (int i = 0; i < EMU_TIME_CAUSES; i++) {
        p->causes[i] /= p->middle;
        if (i != EMU_TIME_TAIL && p->causes[i] > p->causes[p->bound])
            p->bound = i;
    }
    p->peak = p->matrix_seconds > 0 ? p->flops / p->matrix_seconds : 0;
    p->roof = p->matrix_least > 0 ? p->flops / p->matrix_least : 0;
    return AOTHIP_OK;
}

enum aothip_status bench_prediction_sum(const struct device_time *time, struct bench_prediction *p,
                                        struct status *why)
{
    memset(p, 0, sizeof(*p));
    for (size_t i = 0; i < time->count(); i++) {
        const struct emu_time_result *r = time->get(i);
        if (!r->timed)
            return status_set(why, AOTHIP_E_HIP, "%s: not timed: %s", r->kernel, r->why);
        bench_prediction_add(p, r);
    }
    return bench_prediction_finish(p, why);
}

double bench_prediction_spread(const struct bench_prediction *p)
{
    return (p->high - p->low) / 2 / p->middle + p->error;
}

void bench_prediction_print(FILE *f, const struct bench_shape *shape,
                            const struct bench_prediction *p)
{
    const double rate = bench_flops(shape) / p->middle;

    fprintf(f,
            "\"predicted_ms\": %.6g, \"low_ms\": %.6g, \"high_ms\": %.6g, \"uncertainty\": %.4g, "
            "\"launches\": %d, \"cycles\": %.0f, \"gigahertz\": %.4g, \"extrapolated\": %s, "
            "\"predicted_tflops\": %.6g, \"peak_tflops\": %.6g, \"predicted_gbytes_per_s\": %.6g, "
            "\"bound\": \"%s\", ",
            p->middle * 1e3, p->low * 1e3, p->high * 1e3, p->error, p->launches, p->cycles,
            p->gigahertz, p->extrapolated ? "true" : "false", rate / 1e12, p->peak / 1e12,
            bench_bytes(shape) / p->middle / 1e9, bench_cause(p->bound));
    fprintf(f,
            "\"matrix_flops\": %.6g, \"memory_bytes\": %.6g, \"memory_gbytes_per_s\": %.6g, "
            "\"roof_tflops\": %.6g, ",
            p->flops, p->memory_bytes, p->memory_rate / 1e9, p->roof / 1e12);
    fprintf(f,
            "\"busy\": {\"matrix\": %.4g, \"vector\": %.4g, \"LDS\": %.4g, \"L1\": %.4g, "
            "\"memory\": %.4g}, \"causes\": {",
            p->matrix_busy, p->vector_busy, p->lds_busy, p->l1_busy, p->dram_busy);
    for (int i = 0; i < EMU_TIME_CAUSES; i++)
        fprintf(f, "%s\"%s\": %.4g", i ? ", " : "", bench_cause(i), p->causes[i]);
    putc('}', f);
}
