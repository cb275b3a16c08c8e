/*
 * Waves and pipes over clocks, as the emulator's clock saw them, in the JSON of Chrome's trace
 * events that Perfetto and chrome://tracing open. A clock is a microsecond there. A launch is a
 * process; its tracks are the pipes of each SIMD, and for each wave its life and its waits. On no
 * track do two things overlap: where a pipe has several under way, it has as many tracks.
 */
#ifndef AOTHIP_TIMELINE_H
#define AOTHIP_TIMELINE_H

#include "clock.h"
#include "status.h"

struct timeline;

/* A file to be filled, which is there when it is closed; NULL, and why, if it cannot be written. */
struct timeline *timeline_open(const char *file, struct status *why);

/* One launch's events, made with EMU_TIME_EVENTS and EMU_TIME_INSTRUCTIONS. Errors: MEMORY. */
enum aothip_status timeline_add(struct timeline *timeline, const struct emu_time_result *result,
                                struct status *why);

/* Ends and closes the file, which is none without a launch; NULL is fine. Errors: IO. */
enum aothip_status timeline_close(struct timeline *timeline, struct status *why);

#endif
