/* Prints where the clocks of an emulated launch go: by cause, and by instruction. */
#ifndef AOTHIP_PROFILE_H
#define AOTHIP_PROFILE_H

#include "device_time.h"

/*
 * On standard output: the predicted time, a summary by cause, and the disassembly with, for each
 * instruction, how often waves executed it, the clocks they spent issuing it and waiting before it,
 * and for what. Of a result with EMU_TIME_INSTRUCTIONS.
 */
void profile_print(const struct device_time *time, const struct emu_time_result *result);

#endif
