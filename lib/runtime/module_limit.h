/* Keeps the code loaded on a device within a limit. */
#ifndef AOTHIP_MODULE_LIMIT_H
#define AOTHIP_MODULE_LIMIT_H

#include "module_device.h"

/*
 * Unloads kernels that nobody uses and no graph refers to, the longest unused first, until `wanted`
 * bytes more keep within the limit or none is left; waits for what was launched before it does.
 * Under the lock, with the device current. While a blocking stream is being captured, or if what
 * was launched cannot be waited for, all stays and the limit is exceeded. Returns how many kernels
 * were unloaded.
 */
int module_make_room(const struct hip *hip, struct module_device *device, size_t wanted);

/* hipModuleUnload(), which would spoil a capture that is under way on whatever stream. */
hipError_t module_unload_quietly(const struct hip *hip, hipModule_t module);

/* Whether launches on `stream` go into a graph, or cannot be made because of one. */
int module_is_captured(const struct hip *hip, hipStream_t stream);

/* Adds `stream` to those of the device: under the lock, by module_note_launch() alone. */
hipEvent_t module_add_stream(const struct hip *hip, struct module_device *device,
                             hipStream_t stream);

#endif
