/*
 * The GPUs that tests run kernels on: each that images/matrix.def has code of its own for. Four are
 * the reference and go through all tests. What make check asks of every GPU is: each pair of
 * features, forward and backward, strictly too; what kernels need and how long they take. The rest
 * is gone through on gfx950 or gfx1201, too, by `make check-gpu GPU=gfx950`, which sets
 * AOTHIP_TEST_GPUS.
 */
#ifndef AOTHIP_TEST_GPUS_H
#define AOTHIP_TEST_GPUS_H

#include "tap.h"

#include <stdlib.h>

#define GPUS_REFERENCE "gfx90a,gfx942,gfx1100,gfx1151"
/* Sanitizers do not reach the kernels, and the host's code is the same for all. */
#define GPUS_EVERY (TAP_SANITIZED ? GPUS_REFERENCE : GPUS_REFERENCE ",gfx950,gfx1201")

/* What the caller of the tests asked for, else `usual`. */
__attribute__((unused)) static const char *gpus_asked(const char *usual)
{
    const char *asked = getenv("AOTHIP_TEST_GPUS");
    return asked && *asked ? asked : usual;
}

#endif
