/*
 * Single-instruction kernels: a case is one instruction, as text for the assembler and as a
 * function on a wave's state. All cases of a target are assembled together, run on the emulator
 * through its HIP functions with many states (values, EXEC, MODE), and every register is compared
 * bit for bit.
 */
#ifndef AOTHIP_TEST_SEMANTICS_H
#define AOTHIP_TEST_SEMANTICS_H

#include <stdio.h>

#include "oracle.h"

enum { SEM_GROUPS = 16, SEM_MEMORY = 4096, SEM_WINDOW = 16384, SEM_LDS = 4096 };

/* One group's memory beside its registers: the kernel's private window of device memory, and LDS.
 */
struct sem_memory {
    uint64_t address; /* of the window, on the device */
    uint8_t window[SEM_WINDOW], lds[SEM_LDS];
};

struct sem_case {
    const char *group; /* cases with the same group make one line of output */
    char text[320];
    char *long_text; /* instead, when given; freed by sem_free */
    struct oracle_insn insn;
    /* What the instruction does; insn is for its use. */
    void (*run)(const struct sem_case *c, const struct oracle_wave *before,
                struct oracle_wave *after, struct sem_memory *m);
    const void *row;
    unsigned arg[6];
    /* Operand type that fills each register, 'b' where 0; an upper case letter for the high half of
     * a 64-bit value is not needed: 'd' and 'q' take two registers. */
    char vtype[ORACLE_VGPRS], stype[ORACLE_SGPRS];
    /* May adjust the state that the generator made: addresses, equal operands. */
    void (*prepare)(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m);
    bool memory;  /* uses LDS and the first SEM_MEMORY bytes of the window */
    bool matrix;  /* uses the whole window and 128 VGPRs, the same of AGPRs */
    bool numbers; /* no NaN */
    bool full_exec;
    void *own_row; /* row, where it is freed with the list; or NULL */
    bool fresh; /* gfx950: an instruction that gfx942 has not; of the others every eighth is run */
    bool keep_exec; /* cmpx and saveexec: EXEC is a result */
};

struct sem_list {
    struct sem_case *c;
    size_t count, room;
};

/* A new case, zeroed; valid until the next call. */
struct sem_case *sem_add(struct sem_list *l);
void sem_free(struct sem_list *l);

/* Starts the emulator with all targets; skips the whole test when a tool or the library lacks. */
void sem_begin(const char *test);
/* Can the assembler make code for it? Says so if not. */
bool sem_knows(enum oracle_target t);
/* Runs all cases on one target and prints one TAP line per group. */
void sem_run(enum oracle_target t, struct sem_list *l);
/* Ends the TAP output; the exit status of the test. */
int sem_done(void);

/* Random numbers of the test: seed fixed, printed by sem_begin. */
uint64_t sem_random(void);
/* A value of an operand type, special ones included; a pair of halves for 'y' and 'Y'. */
uint64_t sem_value(char type, bool numbers);

/* The case's VALU instruction, through oracle_run_valu. */
void sem_run_valu(const struct sem_case *c, const struct oracle_wave *before,
                  struct oracle_wave *after, struct sem_memory *m);

/* "v7", or "v[7:8]" where they are more bytes; of the last four calls. */
static inline const char *sem_vgprs(unsigned reg, unsigned bytes)
{
    static char text[4][32];
    static unsigned turn;
    char *p = text[turn++ % 4];

    if (bytes <= 4)
        snprintf(p, sizeof *text, "v%u", reg);
    else
        snprintf(p, sizeof *text, "v[%u:%u]", reg, reg + bytes / 4 - 1);
    return p;
}

#endif
