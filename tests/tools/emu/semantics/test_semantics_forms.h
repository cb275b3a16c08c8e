/*
 * The forms of a vector ALU operation: encodings, kinds of operands, modifiers, DPP and SDWA.
 */
#ifndef AOTHIP_TEST_SEMANTICS_FORMS_H
#define AOTHIP_TEST_SEMANTICS_FORMS_H

#include "test_semantics.h"

/* Adds every form of the operation that the target has. cmpx: the twin of a comparison that writes
 * EXEC. */
void forms_add(struct sem_list *l, enum oracle_target t, const struct oracle_op *op, bool cmpx);

#endif
