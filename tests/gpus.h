/*
 * The GPUs that tests run kernels on: each that images/matrix.def has code of its own for, and
 * gfx1151, the other kind of GPU (with fewer units and shared memory) that runs gfx1100's. Four are
 * the reference and go through all tests. What make check asks of every GPU is: each pair of
 * features, forward and backward, strictly too; what kernels need and how long they take. The rest
 * is gone through on gfx950 or gfx1201, too, by `make check-gpu GPU=gfx950`, which sets
 * AOTHIP_TEST_GPUS.
 */
#ifndef AOTHIP_TEST_GPUS_H
#define AOTHIP_TEST_GPUS_H

#include "tap.h"

#include "aothip/aothip.h"

#include <stdlib.h>
#include <string.h>

#define GPUS_REFERENCE "gfx90a,gfx942,gfx1100,gfx1151"
/* Sanitizers do not reach the kernels, and the host's code is the same for all. */
#define GPUS_EVERY (TAP_SANITIZED ? GPUS_REFERENCE : GPUS_REFERENCE ",gfx950,gfx1201")

/* What the caller of the tests asked for, else `usual`. */
__attribute__((unused)) static const char *gpus_asked(const char *usual)
{
    const char *asked = getenv("AOTHIP_TEST_GPUS");
    return asked && *asked ? asked : usual;
}

/* The e4m3 that a GPU multiplies, whose e5m2 is the next number; 0: it multiplies no FP8. */
__attribute__((unused)) static int gpus_fp8(const char *target)
{
    if (strncmp(target, "gfx942", 6) == 0)
        return AOTHIP_FP8_E4M3_FNUZ;
    return strncmp(target, "gfx950", 6) == 0 || strncmp(target, "gfx120", 6) == 0 ? AOTHIP_FP8_E4M3
                                                                                  : 0;
}

#endif
