/* The profile of an emulated launch as text. */
#include "profile.h"

#include <stdio.h>
#include <string.h>

static void print_times(const struct emu_time_result *r)
{
    printf("%s on %s: %.0f cycles (%.0f to %.0f), %.1f us (%.1f to %.1f) at %.2f GHz\n", r->kernel,
           r->target, r->cycles.middle, r->cycles.low, r->cycles.high, r->microseconds.middle,
           r->microseconds.low, r->microseconds.high, r->gigahertz);
    printf("  Predicted, not measured. The range is over the orders of waves that are plausible; "
           "beyond it\n  cycles may be off by %.0f %% (by the GPU's parameters %.0f %%), the clock "
           "by %.0f %%%s.\n",
           100 * r->uncertainty, 100 * r->parameter_uncertainty, 100 * r->clock_uncertainty,
           r->extrapolated ? "; nothing published of this GPU was held against it" : "");
    printf(
        "  %.0f workgroups of %u threads, %u at a time on each of %u compute units, %.2f rounds; "
        "%u simulated\n",
        r->workgroups, r->block[0] * r->block[1] * r->block[2], r->resident, r->units, r->rounds,
        r->sampled);
    printf("  busy: matrix %.0f %%, vector %.0f %%, LDS %.0f %%, L1 %.0f %%, memory %.0f %%\n",
           100 * r->matrix_busy, 100 * r->vector_busy, 100 * r->lds_busy, 100 * r->l1_busy,
           100 * r->dram_busy);
}

/* The causes that have most of `clocks`, the largest first; returns how many are not 0. */
static int order_causes(const double *clocks, int order[EMU_TIME_CAUSES])
{
    int count = 0;

    for (int i = 0; i < EMU_TIME_CAUSES; i++) {
        int at = count;

        if (!(clocks[i] > 0))
            continue;
        for (; at && clocks[order[at - 1]] < clocks[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        count++;
    }
    return count;
}

static double sum_of(const double *clocks)
{
    double sum = 0;

    for (int i = 0; i < EMU_TIME_CAUSES; i++)
        sum += clocks[i];
    return sum;
}

static void print_summary(const struct device_time *time, const struct emu_time_result *r)
{
    const double sum = sum_of(r->summary);
    int order[EMU_TIME_CAUSES], count = order_causes(r->summary, order);

    printf("\n  %12s %6s  %s\n", "cycles", "share", "went to");
    for (int i = 0; i < count; i++)
        printf("  %12.0f %5.1f%%  %s\n", r->summary[order[i]], 100 * r->summary[order[i]] / sum,
               time->cause_name((enum emu_time_cause)order[i]));
}

/* "LDS latency 80%, barrier 15%": what has a tenth of the stalled clocks or more. */
static const char *reasons(const struct device_time *time, const struct emu_time_instruction *x,
                           double stalled, char *text, size_t room)
{
    int order[EMU_TIME_CAUSES], count = order_causes(x->stalled, order);
    size_t used = 0;

    *text = '\0';
    for (int i = 0; i < count && i < 2 && used < room; i++)
        if (i == 0 || x->stalled[order[i]] >= 0.1 * stalled)
            used += (size_t)snprintf(text + used, room - used, "%s%s %.0f%%", i ? ", " : "",
                                     time->cause_name((enum emu_time_cause)order[i]),
                                     100 * x->stalled[order[i]] / stalled);
    return text;
}

static void print_instruction(const struct device_time *time, const struct emu_time_instruction *x,
                              double total)
{
    const double stalled = sum_of(x->stalled);
    char why[128];

    printf("  %#7x %12.0f %13.0f %13.0f %5.1f%%  %-38s %s\n", x->offset, x->executed, x->issued,
           stalled, total > 0 ? 100 * (x->issued + stalled) / total : 0,
           reasons(time, x, stalled, why, sizeof(why)), x->text);
}

void profile_print(const struct device_time *time, const struct emu_time_result *r)
{
    const char *source = NULL;
    double total = 0;

    if (!r->timed) {
        printf("%s on %s: not timed: %s\n", r->kernel, r->target, r->why);
        return;
    }
    print_times(r);
    print_summary(time, r);
    for (size_t i = 0; i < r->instructions; i++)
        total += r->instruction[i].issued + sum_of(r->instruction[i].stalled);
    printf("\n  %7s %12s %13s %13s %6s  %-38s %s\n", "pc", "executed", "issued", "stalled", "share",
           "stalled by", "instruction");
    for (size_t i = 0; i < r->instructions; i++) {
        const struct emu_time_instruction *x = &r->instruction[i];

        if (x->source && (!source || strcmp(source, x->source)))
            printf("; %s\n", x->source);
        source = x->source;
        print_instruction(time, x, total);
    }
}
