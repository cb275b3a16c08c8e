/* What the parts of --measure share: the GPU, the probe, what was found so far. */
#ifndef AOTHIP_MEASURING_H
#define AOTHIP_MEASURING_H

#include "probe.h"

enum { MEASURE_MOST = 64 };

struct measure_found {
    const char *name, *how;
    double value, uncertainty; /* percent */
};

struct measuring {
    struct probe probe;
    int gfx11;
    double slot;         /* clocks between two issue slots of a SIMD */
    unsigned wave, dies; /* lanes; dies with an L2 each */
    unsigned units;
    double cached;   /* bytes of the cache before memory; 0: there is none */
    double dram;     /* bytes that do not fit there, to be read once */
    size_t next;     /* where no chase has been yet */
    double valu_use; /* clocks from a vector instruction to one that needs it */
    double matrix;   /* clocks of a matrix instruction */
    double light;    /* GHz without matrix load */
    struct measure_found found[MEASURE_MOST];
    int count;
};

/* Two kernels whose difference is `more` times one operation, each with two numbers of loops. */
struct measure_pair {
    const char *name; /* of the kernels, without _few and _many */
    unsigned few, many, loops[2];
    struct probe_launch launch; /* all but kernel and loops */
};

/* Clocks of one operation; 0: it failed, and probe.why says why. *spread: what repeated launches
 * differ by, as a part. */
double measure_operation(struct measuring *m, const struct measure_pair *pair, double *spread);

/* Notes a parameter; a value that cannot be is a failure. quantum: what the value may be off by
 * because clocks come in whole numbers. */
int measure_note(struct measuring *m, const char *name, double value, double quantum,
                 double percent, const char *how);

/* What lies within a compute unit: ports, pipes, LDS, scalars, branches, barriers. */
int measure_unit(struct measuring *m);
/* What lies beyond: latencies and rates of caches and memory, the clock, a launch. */
int measure_chip(struct measuring *m);

#endif
