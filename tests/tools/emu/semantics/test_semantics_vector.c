/*
 * Vector ALU semantics. Built four times, each for one part of the table, so that the parts run in
 * parallel: VECTOR_PART 1: VOP1; 2: VOP2; 3: VOP3; 4: VOP3P and literal forms; 5: comparisons.
 */
#include "test_semantics_forms.h"

static int part_of(const struct oracle_op *op)
{
    switch (op->kind) {
    case V1:
        return 1;
    case V2:
        return 2;
    case V3:
        return 3;
    case VC:
        return 5;
    default:
        return 4;
    }
}

int main(void)
{
    bool compares = VECTOR_PART == 5;
    const struct oracle_op *ops = compares ? oracle_compares : oracle_valu;
    unsigned count = compares ? oracle_compare_count : oracle_valu_count;

    sem_begin("vector ALU");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        struct sem_list l = {0};
        size_t made;

        if (!sem_knows((enum oracle_target)t))
            continue;

        for (unsigned i = 0; i < count; i++) {
            if (part_of(&ops[i]) != VECTOR_PART)
                continue;
            made = l.count;
            forms_add(&l, (enum oracle_target)t, &ops[i], false);
            for (; made < l.count; made++)
                l.c[made].fresh = !(ops[i].targets & (oracle_is_gfx12((enum oracle_target)t) ? G1100 : G942));
            if (compares)
                forms_add(&l, (enum oracle_target)t, &ops[i], true);
        }
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
