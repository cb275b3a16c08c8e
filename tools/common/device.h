/*
 * HIP devices as the command-line programs use them: find the runtime, take a device, move bytes.
 * It is lib/runtime/'s runtime, so that the programs and the library always speak to the same one.
 *
 * Functions that can fail return an aothip_status and, in *why, the line that explains it.
 */
#ifndef AOTHIP_DEVICE_H
#define AOTHIP_DEVICE_H

#include "hip.h"
#include "status.h"

struct device_runtime {
    struct hip hip;
    char file[4096]; /* the runtime's path */
    int version;     /* as hipRuntimeGetVersion() gives it; 0 if unknown */
    int emulated;    /* 1 if it is libhipemu.so */
    int count;       /* of devices; at least 1 */
};

/*
 * Lets the process use the emulator, as the GPUs named ("gfx942", "gfx942,gfx1100"). Finds
 * libhipemu.so near the program or near libaothip.so. Call it before device_open_runtime() and
 * before any context of the library is used. Errors: NO_HIP, MEMORY.
 */
enum aothip_status device_emulate(const char *gpus, struct status *why);

/*
 * Finds the runtime and counts its devices. Errors: NO_HIP, NO_DEVICE, HIP. After NO_DEVICE and HIP
 * *runtime tells what was found.
 */
enum aothip_status device_open_runtime(struct device_runtime *runtime, struct status *why);

/* "6.2.41133", or "" if the version is unknown. */
const char *device_runtime_version(const struct device_runtime *runtime, char text[32]);

struct device {
    const struct device_runtime *runtime;
    int number;
    struct hip_device_properties properties;
    hipStream_t stream; /* its own */
};

/* Makes device `number` the current one and gives it a stream. Errors: NO_DEVICE, NO_HIP, HIP. */
enum aothip_status device_open(const struct device_runtime *runtime, int number,
                               struct device *device, struct status *why);
void device_close(struct device *device); /* a zeroed struct is fine */

/* Device memory; *memory is NULL after a failure. */
enum aothip_status device_alloc(const struct device *device, size_t bytes, void **memory,
                                struct status *why);
void device_free(const struct device *device, void *memory); /* NULL is fine */

enum aothip_status device_upload(const struct device *device, void *to, const void *from,
                                 size_t bytes, struct status *why);
enum aothip_status device_download(const struct device *device, void *to, const void *from,
                                   size_t bytes, struct status *why);

/* Waits until all work on the device's stream is done. */
enum aothip_status device_finish(const struct device *device, struct status *why);

#endif
