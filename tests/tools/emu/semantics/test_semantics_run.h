/*
 * Between the parts of the semantics harness: the layout of a state in memory, the assembly text,
 * code objects and states.
 */
#ifndef AOTHIP_TEST_SEMANTICS_RUN_H
#define AOTHIP_TEST_SEMANTICS_RUN_H

#include <stdio.h>

#include "test_semantics.h"

enum {
    SEM_SCALARS = ORACLE_VGPRS * 256, /* s16..s63, VCC, EXEC, SCC, M0, MODE, 0 */
    SEM_LDS_AT = SEM_SCALARS + 512,
    SEM_STATE_BYTES = SEM_LDS_AT + SEM_LDS
};

/* A module with kernels k0, k1, ...: one for each case. */
void sem_write_text(FILE *f, const struct oracle_machine *m, const struct sem_case *c,
                    size_t count);

/* Skips the test when a tool lacks; false without a temporary directory. */
bool sem_build_begin(void);
/* The code object of these cases, to be freed, or null after telling why. */
void *sem_build(const struct oracle_machine *m, const struct sem_case *c, size_t count);

/* The seed where sem_random is. */
uint64_t sem_seed(void);
/* The state that workgroup g of a case starts from, and its memory: elements of an operand type. */
void sem_make_state(const struct sem_case *c, enum oracle_target t, struct oracle_wave *w,
                    unsigned g);
void sem_fill_memory(struct sem_memory *m, char type, bool numbers);
/* A state as the kernels read it, SEM_STATE_BYTES. */
void sem_to_memory(const struct oracle_wave *w, const struct sem_memory *m, uint8_t *at);

#endif
