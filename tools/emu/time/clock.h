/*
 * The clock: how long a launch takes on the card. This is what programs see of it; libhipemu.so
 * exports the functions.
 *
 *     emu_time_start(&(struct emu_time_options){.size = sizeof(struct emu_time_options)});
 *     ... launches, of any module, on any stream ...
 *     for (size_t i = 0; i < emu_time_count(); i++) {
 *         const struct emu_time_result *r = emu_time_get(i);
 *         printf("%s: %.0f cycles, %.1f us\n", r->kernel, r->cycles.middle,
 * r->microseconds.middle);
 *     }
 *     emu_time_stop();
 *
 * Launches are run as always, and some of their workgroups are recorded, instruction by
 * instruction. After the launch the model of one compute unit (work-group processor on gfx11) with
 * all its resident waves replays them; the rest of the chip is shares of bandwidth and rounds of
 * workgroups. AOTHIP_EMU_TIME=1 does the same for a whole process; the counters file then has the
 * fields "cycles" and so on (tools/emu/README.md). Neither works in strict mode: there nothing is
 * timed.
 *
 * Only C types, so that a program without the emulator's other headers can use it. Results are
 * ordered as the launches ended. Functions may be called from any thread.
 */
#ifndef EMU_CLOCK_H
#define EMU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where clocks go. */
enum emu_time_cause {
    EMU_TIME_MATRIX,       /* a matrix instruction occupies the matrix pipe */
    EMU_TIME_ISSUE,        /* vector instructions occupy the vector port */
    EMU_TIME_TRANS,        /* transcendental ones do */
    EMU_TIME_LDS,          /* bandwidth of LDS */
    EMU_TIME_CONFLICT,     /* bank conflicts of LDS */
    EMU_TIME_MEMORY,       /* bandwidth between L1 and device memory */
    EMU_TIME_LATENCY_LDS,  /* s_waitcnt for LDS (and scalar loads) */
    EMU_TIME_LATENCY_VMEM, /* s_waitcnt for device memory */
    EMU_TIME_DEPENDENCE,   /* results of vector, matrix and scalar instructions not there yet */
    EMU_TIME_SCALAR,  /* scalar instructions, branches, s_nop, s_sleep: the wave itself is busy */
    EMU_TIME_FETCH,   /* instructions not in the cache */
    EMU_TIME_BARRIER, /* other waves have not arrived */
    EMU_TIME_TAIL,    /* no wave is there: dispatch, the last round, units without work */
    EMU_TIME_CAUSES
};

/* Over the plausible orders of waves and offsets of workgroups, which nobody knows. */
struct emu_time_range {
    double low, middle, high;
};

/* One instruction of the kernel, summed over the whole launch (the sampled workgroups stand for all
 * others). A wave's clocks are the sum of issued and stalled. */
struct emu_time_instruction {
    uint32_t offset;                 /* bytes from the start of the text */
    uint32_t size;                   /* bytes */
    const char *text;                /* disassembly */
    const char *source;              /* "file:line", or NULL */
    double executed;                 /* by waves */
    double issued;                   /* clocks of waves spent issuing it */
    double stalled[EMU_TIME_CAUSES]; /* clocks that waves waited before it, by cause */
};

enum emu_time_pipe {
    EMU_TIME_PIPE_WAVE, /* the wave is resident: start to end; op is 0 */
    EMU_TIME_PIPE_SALU, /* scalar, branches, messages */
    EMU_TIME_PIPE_VALU,
    EMU_TIME_PIPE_TRANS,
    EMU_TIME_PIPE_MATRIX,
    EMU_TIME_PIPE_LDS,  /* issue until the result is there */
    EMU_TIME_PIPE_VMEM, /* likewise */
    EMU_TIME_PIPE_WAIT, /* at s_waitcnt */
    EMU_TIME_PIPE_BARRIER,
    EMU_TIME_PIPES
};

/* Something that happened on the compute unit that was simulated. */
struct emu_time_event {
    uint64_t start, end; /* clocks since the launch began there */
    uint32_t offset;     /* of the instruction in the text */
    uint16_t wave;       /* of the workgroup */
    uint16_t group;      /* number on this compute unit, from 0 */
    uint8_t simd;
    uint8_t pipe; /* enum emu_time_pipe */
    uint8_t pad[2];
};

struct emu_time_result {
    uint32_t size;      /* of this struct: later versions add at the end */
    const char *kernel; /* name */
    const char *target; /* such as "gfx942" */
    uint32_t grid[3], block[3], lds;

    bool timed;      /* false: nothing below holds; `why` says why */
    const char *why; /* "" if timed */

    struct emu_time_range cycles;       /* from the first dispatch to the end of the last wave */
    struct emu_time_range microseconds; /* those at `gigahertz`, and launch_us */
    double gigahertz;                   /* the clock that the law says; see clock_law */
    const char *clock_law;              /* in words */
    double launch_us;                   /* fixed cost of a launch */
    double uncertainty;                 /* of cycles, as a fraction, beside the range; in all */
    double clock_uncertainty;           /* of gigahertz */
    bool extrapolated; /* no published time or trace of this GPU was held against the model */

    enum emu_time_cause bound;       /* the largest of summary[], without tail */
    double summary[EMU_TIME_CAUSES]; /* clocks; their sum is cycles.middle */

    /* shares of cycles.middle, on all compute units */
    double matrix_busy, vector_busy, lds_busy, l1_busy, dram_busy;
    double matrix_flops; /* executed by matrix instructions */

    /* Of the launch; where these take pieces of work from a counter, such pieces, and workgroups
     * that found none. */
    double workgroups;
    uint32_t sampled;        /* of them were recorded */
    uint32_t units;          /* compute units (work-group processors) of the GPU */
    uint32_t resident;       /* workgroups that fit on one */
    uint32_t waves_per_simd; /* at most, with that many */
    double rounds;           /* workgroups / (units * resident) */
    double group_cycles;     /* mean duration of a workgroup */

    size_t instructions; /* with EMU_TIME_INSTRUCTIONS: in order of offset, those executed */
    const struct emu_time_instruction *instruction;
    size_t events; /* with EMU_TIME_EVENTS */
    const struct emu_time_event *event;

    /* for a roofline, with matrix_flops */
    double memory_bytes;   /* loaded from beyond L2 (MALL or device memory) and stored */
    double memory_rate;    /* bytes a second that device memory gives, by the GPU's table */
    double gigahertz_most; /* the table's clock without matrix load */

    double parameter_uncertainty; /* the part of `uncertainty` that the table's own make */
    double launch_uncertainty;    /* of launch_us */
};

enum emu_time_flags {
    EMU_TIME_INSTRUCTIONS = 1, /* results have instruction[] */
    EMU_TIME_EVENTS = 2,       /* results have event[] */
    /* Only the workgroups that are recorded are run: for sizes that would take hours. Memory that
     * the others write stays as it is, so results of the kernels are wrong. */
    EMU_TIME_SAMPLES_ONLY = 4,
    /* Every workgroup is recorded and every unit simulated, one after the other: to judge sampling
     * by. For launches of at most 1024 workgroups; larger ones are sampled. */
    EMU_TIME_EVERYTHING = 8,
    /* Small launches are not simulated whole, but sampled as large ones are. */
    EMU_TIME_LARGE = 16,
};

struct emu_time_options {
    uint32_t size;        /* sizeof(struct emu_time_options) */
    uint32_t flags;       /* enum emu_time_flags */
    uint32_t event_limit; /* events of a launch at most; 0: 1 000 000 */
    /* Workgroups recorded of a launch at most, and no launch is simulated whole, which is faster
     * and a few percent off; 0: the model's choice */
    uint32_t sample_limit;
};

#if defined __GNUC__
#pragma GCC visibility push(default)
#endif
/* Launches from now on are timed; false when the options are wrong, or in strict mode. */
bool emu_time_start(const struct emu_time_options *options);
void emu_time_stop(void);
/* Results so far; they stay until emu_time_clear. */
size_t emu_time_count(void);
const struct emu_time_result *emu_time_get(size_t i);
void emu_time_clear(void);
/* "matrix", "issue port", ...: for people. */
const char *emu_time_cause_name(enum emu_time_cause cause);
#if defined __GNUC__
#pragma GCC visibility pop
#endif

#endif
