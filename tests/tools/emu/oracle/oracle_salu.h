/*
 * The scalar part of the oracle.
 */
#ifndef AOTHIP_TEST_ORACLE_SALU_H
#define AOTHIP_TEST_ORACLE_SALU_H

#include "oracle.h"

enum oracle_sform { S1, S2, SC, SK, SX };

/* Sources and state in, results out. */
struct oracle_scalar {
    uint64_t s[2], old, exec;
    int64_t k;
    uint64_t d;
    uint64_t scc; /* 0 or 1; in and out */
    uint64_t open_scc;
    /* for the floating-point ones */
    enum oracle_target target;
    uint32_t mode;
    bool compare;
    uint64_t alt;
    bool has_alt, nan_open;
};

struct oracle_sop {
    enum oracle_sform form;
    const char *name[2], *sig;
    unsigned targets;
    void (*run)(struct oracle_scalar *x);
};

extern const struct oracle_sop oracle_sops[];
extern const unsigned oracle_sop_count;

#endif
