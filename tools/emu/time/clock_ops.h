/* What the clock wants to know of each instruction of a kernel, all of it fixed before it runs. */
#ifndef EMU_CLOCK_OPS_H
#define EMU_CLOCK_OPS_H

#include "clock_params.h"
#include "strict.h"

enum emu_clock_kind {
    EMU_CK_NONE, /* not the first dword of an instruction */
    EMU_CK_SCALAR,
    EMU_CK_BRANCH,
    EMU_CK_END,
    EMU_CK_BARRIER,
    EMU_CK_SIGNAL, /* gfx12: arrives; EMU_CK_BARRIER_WAIT waits for all others */
    EMU_CK_BARRIER_WAIT,
    EMU_CK_WAIT,
    EMU_CK_NOP,
    EMU_CK_PRIORITY,
    EMU_CK_SLEEP,
    EMU_CK_OTHER, /* messages, cache control, s_delay_alu */
    EMU_CK_SMEM,
    EMU_CK_VALU,
    EMU_CK_TRANS,
    EMU_CK_MATRIX,
    EMU_CK_LDS,
    EMU_CK_VMEM
};

/* SCC as a scalar register; nothing else has this number. */
#define EMU_CLOCK_SCC EMU_S_NULL

struct emu_clock_op {
    uint8_t kind;     /* enum emu_clock_kind */
    uint8_t size;     /* bytes */
    uint8_t counters; /* enum emu_counter */
    uint8_t dwords;   /* memory: of a lane */
    bool store, dma, exchange, packed, conditional;
    bool exec; /* vector: writes EXEC; branch: on it */
    uint8_t nread, nwrite, nsread, nswrite;
    uint16_t port;            /* clocks that it takes the vector port */
    uint16_t pipe;            /* matrix: clocks of the pipe; transcendental: of its unit */
    uint16_t latency;         /* from issue to that of a dependent one; 0: the next slot will do */
    uint16_t chain;           /* matrix: to one that adds to the result */
    uint16_t argument;        /* s_nop, s_sleep, s_setprio */
    int16_t vm, lgkm, vs, km; /* s_waitcnt: so many may be left; -1: any */
    uint32_t flops;
    struct emu_range read[6], write[2], sread[8], swrite[4];
};

/* One entry a dword of code, as program->ops. NULL when out of memory; free() it. */
struct emu_clock_op *emu_clock_describe(const struct emu_kernel *k,
                                        const struct emu_clock_gpu *gpu);

#endif
