/*
 * The model of one compute unit (work-group processor on gfx11): SIMDs with their resident waves,
 * which execute what was recorded, and what they share: LDS, the path to memory, the instruction
 * cache. Time is in clocks, from the launch of the first workgroup on.
 */
#ifndef EMU_CLOCK_UNIT_STATE_H
#define EMU_CLOCK_UNIT_STATE_H

#include "clock.h"
#include "clock_ops.h"
#include "clock_trace.h"

/* UNIT_QUEUE: vector instructions of a wave of gfx11 that are under way at most. */
enum { UNIT_QUEUE = 11, UNIT_QUEUE_EVENTS = 16 };
enum { EMU_UNIT_SIMDS = 4, EMU_UNIT_GROUPS = 32, EMU_UNIT_FLIGHT = 64 };

/* Which of several ready waves goes first. s_setprio stands above. */
enum emu_unit_policy { EMU_UNIT_OLDEST, EMU_UNIT_ROTATE, EMU_UNIT_MATRIX, EMU_UNIT_POLICIES };

/* Memory operations of one counter: when each is done, and what held it up. */
struct unit_flight {
    uint64_t done[EMU_UNIT_FLIGHT]; /* by number modulo the size; never falls */
    uint8_t cause[EMU_UNIT_FLIGHT];
    uint32_t issued;
};

struct unit_wave {
    const struct emu_clock_wave *trace;
    size_t at, line_at;
    unsigned group, index, simd, priority;
    bool ended, at_barrier;
    unsigned signals; /* that it gave (gfx12) */
    uint64_t free;    /* the wave's last instruction is out of the way */
    uint64_t wake;    /* nothing can happen before */
    uint64_t since;   /* waiting with `cause` since then */
    uint64_t age, last;
    uint8_t cause; /* enum emu_time_cause */
    uint32_t row[512], chain[512], scalar[EMU_S_REGS];
    uint64_t rows_until; /* all of row[] have passed */
    uint64_t exec;       /* a branch can see the EXEC that a vector instruction wrote */
    struct unit_flight vm, lgkm, vs, km;
    /* gfx11: its vector instructions, by number modulo the size: when they execute, their events */
    uint32_t executes[UNIT_QUEUE_EVENTS];
    size_t event[UNIT_QUEUE_EVENTS];
    uint32_t vectors;
    bool after_vector; /* the last instruction was one */
    uint64_t lds_next; /* the next LDS operation's data can follow */
    uint64_t code_line;
};

struct unit_simd {
    struct unit_wave *wave[16 * 2];
    unsigned waves;
    uint64_t next;   /* slot to look at */
    uint64_t vector; /* port is free */
    uint64_t pipe;   /* matrix pipe is free */
    uint64_t trans;  /* transcendental unit is free (gfx11) */
    bool port_trans; /* a transcendental instruction has the port */
    uint64_t seen;   /* accounted for so far */
    uint64_t matrix_from;
};

/* One of the two halves of a unit: a pair of SIMDs. */
struct unit_half {
    uint64_t lds;     /* LDS port is free */
    uint64_t bank;    /* and the banks (all of the unit's on gfx9) */
    uint64_t address; /* address unit and L1 (all of the unit's on gfx9) */
    bool conflicts;   /* most of the LDS work under way is conflicts */
    struct unit_cache *l1;
};

struct unit_group {
    const struct emu_clock_group *trace;
    unsigned number;                 /* of those launched here, from 0 */
    unsigned alive, arrived, passed; /* passed: how often all have arrived (gfx12) */
    uint64_t start, end, opens;      /* opens: those who come then may go on */
    uint64_t tag; /* keeps apart the lines of workgroups that are copies of a recorded one */
};

/* Of one instruction. */
struct unit_count {
    double executed, issued, stalled[EMU_TIME_CAUSES];
};

struct unit {
    const struct emu_clock_gpu *gpu;
    const struct emu_clock_op *ops;
    unsigned nops;
    uint32_t slot;       /* a power of two */
    uint32_t code_shift; /* of an op's number to that of its line of code */
    bool gfx11, gfx12;   /* or later */
    bool whole;          /* a workgroup has both halves (WGP mode) */
    enum emu_unit_policy policy;
    struct unit_simd simd[EMU_UNIT_SIMDS];
    struct unit_half half[2];
    struct unit_cache *l2;
    uint64_t l2_free, far_free; /* this unit's share of their bandwidth */
    double l2_rate, far_rate;   /* bytes a clock of that share */
    double l2_debt, far_debt;   /* parts of a clock */
    uint32_t far_latency;
    uint32_t far_share; /* of 1024 lines that are new to this unit so many are new to L2 as well */
    uint32_t *code;     /* clock + 1 at which each line of the code arrives */
    bool *scalar_seen;  /* by op: its scalar load has missed once */
    struct unit_group group[EMU_UNIT_GROUPS];
    struct unit_wave *wave[EMU_UNIT_GROUPS];
    unsigned groups, alive; /* launched so far; on it now */
    unsigned next_simd;
    uint64_t ages, now;
    uint64_t done, stop; /* instructions; emu_unit_run returns when so many are done; 0: never */
    struct unit_count *count;                                  /* by op */
    bool counts_alone;                                         /* it is this unit's own */
    double summary[EMU_TIME_CAUSES];                           /* clocks of SIMDs */
    double matrix_busy, vector_busy, lds_busy, l1_busy, flops; /* clocks */
    double far_bytes, stored_bytes; /* loaded from beyond L2; stored, in whole lines */
    struct emu_time_event *event;   /* NULL: not wanted */
    size_t events, event_room;
};

/* What the rest of the chip does to this unit. */
struct emu_unit_share {
    double l2_rate, far_rate; /* bytes a clock for each unit */
    double far_latency;
    double far_share;
};

/* The first slot of a SIMD from t on. Those of gfx9's SIMDs take turns. */
static inline uint64_t emu_unit_slot(const struct unit *u, unsigned simd, uint64_t t)
{
    const uint64_t phase = u->slot > 1 ? simd : 0;

    return t <= phase ? phase : ((t - phase + u->slot - 1) & ~(uint64_t)(u->slot - 1)) + phase;
}

static inline void emu_unit_fly(struct unit_flight *f, uint64_t done, enum emu_time_cause cause)
{
    uint64_t before = f->done[(f->issued - 1) % EMU_UNIT_FLIGHT];

    f->done[f->issued % EMU_UNIT_FLIGHT] = done > before ? done : before;
    f->cause[f->issued % EMU_UNIT_FLIGHT] = (uint8_t)cause;
    f->issued++;
}

#endif
