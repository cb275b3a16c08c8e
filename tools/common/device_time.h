/*
 * The emulator's clock (tools/emu/time/clock.h) as the programs use it: its functions are looked up
 * in the runtime, because no program is linked with the emulator.
 */
#ifndef AOTHIP_DEVICE_TIME_H
#define AOTHIP_DEVICE_TIME_H

#include "clock.h"
#include "device.h"

struct device_time {
    bool (*start)(const struct emu_time_options *options);
    void (*stop)(void);
    size_t (*count)(void);
    const struct emu_time_result *(*get)(size_t i);
    void (*clear)(void);
    const char *(*cause_name)(enum emu_time_cause cause);
};

/* Errors: NO_HIP, where the runtime is not the emulator or one without a clock. */
enum aothip_status device_time_open(const struct device_runtime *runtime, struct device_time *time,
                                    struct status *why);

/*
 * Times launches from now on, with flags of enum emu_time_flags; older results are forgotten.
 * Errors: HIP, in strict mode.
 */
enum aothip_status device_time_start(const struct device_time *time, unsigned flags,
                                     struct status *why);

#endif
