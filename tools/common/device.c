/* HIP devices for the command-line programs: the runtime, one device, memory, a stream. */
#include "device.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#ifndef EMULATOR
#define EMULATOR "libhipemu.so"
#endif

/* The directory of a file, without its last slash; "." if the path has none. */
static void cut_to_directory(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    else
        strcpy(path, ".");
}

/* Looks in the places below `base`; 0 if the emulator is there, and then `path` names it. */
static int find_emulator(const char *base, const char *const *places, char path[PATH_MAX])
{
    char trial[PATH_MAX];
    for (; *places; places++) {
        int length = snprintf(trial, sizeof(trial), "%s/%s%s", base, *places, EMULATOR);
        if (length < PATH_MAX && access(trial, R_OK) == 0 && realpath(trial, path))
            return 0;
    }
    return -1;
}

enum aothip_status device_emulate(const char *gpus, struct status *why)
{
    /* Installed (bin/ and lib/), and built but not installed, where libtool's wrappers may run. */
    static const char *const near_program[] = {"../lib/", "../lib/aothip/", "../lib64/",     "",
                                               "emu/",    "emu/.libs/",     "../emu/.libs/", NULL};
    static const char *const near_library[] = {"", "aothip/", "../../tools/emu/.libs/", NULL};
    char program[PATH_MAX], path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    Dl_info info;
    int found = -1;

    program[length > 0 ? length : 0] = '\0';
    cut_to_directory(program);
    found = find_emulator(program, near_program, path);
    if (found && dladdr((void *)(intptr_t)aothip_open, &info) && info.dli_fname) {
        char library[PATH_MAX];
        snprintf(library, sizeof(library), "%s", info.dli_fname);
        cut_to_directory(library);
        found = find_emulator(library, near_library, path);
    }
    if (found)
        return status_set(why, AOTHIP_E_NO_HIP,
                          "the emulator, " EMULATOR ", is neither near %s nor beside libaothip.so",
                          program);
    if (setenv("AOTHIP_HIP_LIBRARY", path, 1) || setenv("AOTHIP_EMU_GPU", gpus, 1))
        return status_set(why, AOTHIP_E_MEMORY, "no memory for the environment");
    return AOTHIP_OK;
}

enum aothip_status device_open_runtime(struct device_runtime *runtime, struct status *why)
{
    const char *base, *slash;
    hipError_t error;

    memset(runtime, 0, sizeof(*runtime));
    if (hip_open(&runtime->hip, why))
        return why->code;
    snprintf(runtime->file, sizeof(runtime->file), "%s", hip_file(&runtime->hip));
    for (base = runtime->file; (slash = strpbrk(base, PATH_SEPARATORS)); base = slash + 1)
        ;
    runtime->emulated = !strncmp(base, EMULATOR, strlen(EMULATOR));
    if (runtime->hip.runtime_get_version)
        runtime->hip.runtime_get_version(&runtime->version);
    if (hip_require_tools(&runtime->hip, why))
        return why->code;

    error = runtime->hip.get_device_count(&runtime->count);
    if (error == hipErrorNoDevice || (error == hipSuccess && runtime->count < 1)) {
        const char *gpus = getenv("AOTHIP_EMU_GPU");
        if (runtime->emulated && gpus)
            return status_set(why, AOTHIP_E_NO_DEVICE,
                              "the emulator did not start as %s; its own line says why", gpus);
        return hip_fail_no_gpu(&runtime->hip, why);
    }
    if (error != hipSuccess) {
        runtime->count = 0;
        return hip_fail(&runtime->hip, "hipGetDeviceCount", error, why);
    }
    return AOTHIP_OK;
}

const char *device_runtime_version(const struct device_runtime *runtime, char text[32])
{
    int v = runtime->version;
    *text = '\0';
    if (v > 0)
        snprintf(text, 32, "%d.%d.%d", v / 10000000, v / 100000 % 100, v % 100000);
    return text;
}

enum aothip_status device_open(const struct device_runtime *runtime, int number,
                               struct device *device, struct status *why)
{
    const struct hip *hip = &runtime->hip;
    hipError_t error;

    memset(device, 0, sizeof(*device));
    if (number < 0 || number >= runtime->count)
        return status_set(why, AOTHIP_E_NO_DEVICE, "there is no device %d; there %s %d, from 0",
                          number, runtime->count == 1 ? "is" : "are", runtime->count);
    if (hip_device_properties(hip, number, &device->properties, why))
        return why->code;
    error = hip->set_device(number);
    if (error != hipSuccess)
        return hip_fail(hip, "hipSetDevice", error, why);
    error = hip->stream_create(&device->stream);
    if (error != hipSuccess) {
        device->stream = NULL;
        return hip_fail(hip, "hipStreamCreate", error, why);
    }
    device->runtime = runtime;
    device->number = number;
    return AOTHIP_OK;
}

void device_close(struct device *device)
{
    if (device->runtime)
        device->runtime->hip.stream_destroy(device->stream);
    memset(device, 0, sizeof(*device));
}

enum aothip_status device_alloc(const struct device *device, size_t bytes, void **memory,
                                struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error;

    *memory = NULL;
    error = hip->malloc_device(memory, bytes);
    if (error == hipSuccess)
        return AOTHIP_OK;
    *memory = NULL;
    if (error == hipErrorOutOfMemory) {
        why->hip_error = (int)error;
        return status_set(why, AOTHIP_E_HIP, "device %d has no %zu bytes of memory free",
                          device->number, bytes);
    }
    return hip_fail(hip, "hipMalloc", error, why);
}

void device_free(const struct device *device, void *memory)
{
    if (memory)
        device->runtime->hip.free_device(memory);
}

enum aothip_status device_upload(const struct device *device, void *to, const void *from,
                                 size_t bytes, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error = hip->copy(to, from, bytes, hipMemcpyHostToDevice);
    return error == hipSuccess ? AOTHIP_OK : hip_fail(hip, "hipMemcpy to the GPU", error, why);
}

enum aothip_status device_download(const struct device *device, void *to, const void *from,
                                   size_t bytes, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error = hip->copy(to, from, bytes, hipMemcpyDeviceToHost);
    return error == hipSuccess ? AOTHIP_OK : hip_fail(hip, "hipMemcpy from the GPU", error, why);
}

enum aothip_status device_finish(const struct device *device, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error = hip->stream_synchronize(device->stream);
    return error == hipSuccess ? AOTHIP_OK : hip_fail(hip, "hipStreamSynchronize", error, why);
}
