/* Launches of the kernels of --measure, timed by the GPU or by the emulator's clock. */
#ifndef AOTHIP_MEASURE_PROBE_H
#define AOTHIP_MEASURE_PROBE_H

#include "device_time.h"

struct probe {
    const struct device *device;
    const struct device_time *time; /* of the emulator; NULL on a real GPU */
    hipModule_t module;
    char *data;   /* what kernels load */
    size_t bytes; /* of it */
    void *out;    /* clocks of each workgroup, of at most PROBE_GROUPS */
    struct status *why;
};

enum { PROBE_GROUPS = 65536 };

struct probe_launch {
    const char *kernel;
    unsigned groups, block, loops;
    unsigned stride, mask, region; /* bytes; see measure_kernels.s */
    size_t offset;                 /* of the data that is loaded */
};

struct probe_result {
    double clocks;  /* of a workgroup, mean */
    double seconds; /* of the launch */
    double spread;  /* of either over repeated launches, as a part; 0 on the emulator */
};

/* The device's kernels and memory. Errors: NO_IMAGES, where there are no kernels for it; HIP. */
enum aothip_status probe_open(struct probe *probe, const struct device *device,
                              const struct device_time *time, size_t bytes, struct status *why);
void probe_close(struct probe *probe);

/* The fastest of several launches; 0 and *probe->why if one failed. */
int probe_run(struct probe *probe, const struct probe_launch *launch, struct probe_result *result);

/* On a real GPU launches it again and again for about a second, until its clock is sustained. */
int probe_warm(struct probe *probe, const struct probe_launch *launch);

#endif
