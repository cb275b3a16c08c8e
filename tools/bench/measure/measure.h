/* aothip-bench --measure: finds parameters of the clock on a GPU and writes a file with them. */
#ifndef AOTHIP_MEASURE_H
#define AOTHIP_MEASURE_H

#include "device_time.h"

/*
 * Writes `file` ("-": stdout) in the form of the clock's tables (tools/emu/time/clock_file.h), for
 * AOTHIP_EMU_CLOCK. `time` is NULL on a real GPU. Errors: NO_IMAGES, HIP, MEMORY, IO.
 */
enum aothip_status bench_measure(const struct device *device, const struct device_time *time,
                                 const char *file, struct status *why);

#endif
