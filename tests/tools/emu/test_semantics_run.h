/*
 * Between the parts of the semantics harness: the layout of a state in memory and the assembly
 * text.
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

#endif
