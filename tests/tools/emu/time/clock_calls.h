/* Calls of attention on memory that holds zeros, for what looks at their clocks alone. */
#ifndef CLOCK_CALLS_H
#define CLOCK_CALLS_H

#include "aothip/aothip.h"
#include "device_time.h"

enum option {
    BIAS = 1,
    KEEP = 2,
    SLOPES = 4,
    CAP = 8,
    DROPOUT = 16,
    PAGES = 32,
    ODD = 64, /* rows are one element further apart */
    BACKWARD = 128,
    PADDING = 256, /* the mask is the same for all queries */
    FP8 = 512, /* k and v of the GPU's e4m3, or of OCP's; with ALL_FP8 q, too, where it has one */
    ALL_FP8 = 1024,
    ATOMICS = 2048, /* of gradients: allowed */
    NARROW = 4096,  /* 128 channels of v */
};

struct problem {
    const char *name;
    int batch, heads, heads_k, seq_q, seq_k, dim, mask;
    unsigned options; /* enum option */
    int dtype;
};

struct calls {
    struct device_runtime runtime;
    struct device_time time;
    struct aothip_context *context;
};

/* The emulator as these GPUs, its clock and the library; a message on stderr if not. */
int calls_open(struct calls *c, const char *gpus);
/* Calls `visit` with each device that there are images for, and memory for calls_run; 0 when one
 * of them did not return 1. */
int calls_devices(struct calls *c,
                  int (*visit)(struct calls *c, const struct device *device, char *memory));
/* Launches of the problem and waits; 1 if all went well, else a message is on stderr. */
int calls_run(struct calls *c, const struct device *device, char *memory, const struct problem *p);
/* The same under the clock; flags of enum emu_time_flags, samples of each launch at most. */
int calls_time(struct calls *c, const struct device *device, char *memory, const struct problem *p,
               unsigned flags, unsigned samples);

#endif
