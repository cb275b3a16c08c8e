/* The kernels of --measure as code objects, which the build makes of measure_kernels.s. */
#ifndef AOTHIP_MEASURE_CODE_H
#define AOTHIP_MEASURE_CODE_H

#include <stddef.h>

struct measure_code {
    const char *gpu;
    const unsigned char *code;
    size_t size;
};

extern const struct measure_code measure_codes[]; /* the last one has no gpu */

#endif
