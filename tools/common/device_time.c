/* The emulator's clock: its functions, found in the runtime. */
#include "device_time.h"

#include <string.h>

static int look_up(const struct device_runtime *runtime, const char *symbol, void *slot)
{
    void *found = hip_function(&runtime->hip, symbol);

    memcpy(slot, &found, sizeof(found)); /* of a type that points to functions */
    return found ? 0 : -1;
}

enum aothip_status device_time_open(const struct device_runtime *runtime, struct device_time *time,
                                    struct status *why)
{
    memset(time, 0, sizeof(*time));
    if (!runtime->emulated)
        return status_set(why, AOTHIP_E_NO_HIP,
                          "clocks can be predicted on the emulator alone, and this is %s",
                          runtime->file);
    if (look_up(runtime, "emu_time_start", &time->start) ||
        look_up(runtime, "emu_time_stop", &time->stop) ||
        look_up(runtime, "emu_time_count", &time->count) ||
        look_up(runtime, "emu_time_get", &time->get) ||
        look_up(runtime, "emu_time_clear", &time->clear) ||
        look_up(runtime, "emu_time_cause_name", &time->cause_name))
        return status_set(why, AOTHIP_E_NO_HIP, "%s has no clock", runtime->file);
    return AOTHIP_OK;
}

enum aothip_status device_time_start(const struct device_time *time, unsigned flags,
                                     struct status *why)
{
    const struct emu_time_options options = {.size = sizeof(options), .flags = flags};

    time->clear();
    if (time->start(&options))
        return AOTHIP_OK;
    return status_set(why, AOTHIP_E_HIP, "in strict mode (AOTHIP_EMU_MODE) nothing is timed");
}
