/* Finds the HIP runtime and fills the table of its functions: the only place that calls dlopen. */
#include "hip.h"

#include <dlfcn.h>
#include "old_glibc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

/*
 * hipDeviceProp_t has two layouts. The function's name says which one it fills, whatever the
 * headers at compile time.
 */
struct layout {
    const char *symbol;
    size_t size, memory, compute_units, target;
};
static const struct layout layout_r0600 = {"hipGetDevicePropertiesR0600", 1472, 288, 388, 1160};
static const struct layout layout_old = {"hipGetDeviceProperties", 792, 256, 336, 396};

#if HIP_VERSION_MAJOR >= 6
_Static_assert(sizeof(hipDeviceProp_t) == 1472, "properties R0600");
_Static_assert(offsetof(hipDeviceProp_t, totalGlobalMem) == 288, "properties R0600");
_Static_assert(offsetof(hipDeviceProp_t, multiProcessorCount) == 388, "properties R0600");
_Static_assert(offsetof(hipDeviceProp_t, gcnArchName) == 1160, "properties R0600");
#else
_Static_assert(sizeof(hipDeviceProp_t) == 792, "properties before R0600");
_Static_assert(offsetof(hipDeviceProp_t, totalGlobalMem) == 256, "properties before R0600");
_Static_assert(offsetof(hipDeviceProp_t, multiProcessorCount) == 336, "properties before R0600");
_Static_assert(offsetof(hipDeviceProp_t, gcnArchName) == 396, "properties before R0600");
#endif

enum { PROPERTIES_ROOM = 8192 }; /* several times the largest layout, in case one grows */

static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
enum { SONAMES = sizeof(sonames) / sizeof(sonames[0]) };

static void *find_by_soname(struct hip *hip, int flags)
{
    for (int i = 0; i < SONAMES; i++) {
        void *handle = dlopen(sonames[i], flags);
        if (handle) {
            snprintf(hip->origin, sizeof(hip->origin), "%s", sonames[i]);
            return handle;
        }
    }
    return NULL;
}

static void fill_table(struct hip *hip, void *handle)
{
#define FILL(need, field, symbol, parameters)                                                      \
    hip->field = (hipError_t(*) parameters)dlsym(handle, symbol);
    HIP_FUNCTIONS(FILL)
#undef FILL
    hip->error_name = (const char *(*)(hipError_t))dlsym(handle, "hipGetErrorName");
}

enum need { CORE, MAYBE, TOOL };

/* The first absent function of class `wanted`, or NULL. */
static const char *missing_symbol(const struct hip *hip, enum need wanted)
{
#define MISSING(need, field, symbol, parameters)                                                   \
    if (need == wanted && !hip->field)                                                             \
        return symbol;
    HIP_FUNCTIONS(MISSING)
#undef MISSING
    return NULL;
}

static enum aothip_status require(const struct hip *hip, enum need wanted, struct status *why)
{
    const char *symbol = missing_symbol(hip, wanted);
    if (!symbol)
        return AOTHIP_OK;
    return status_set(why, AOTHIP_E_NO_HIP, "the HIP runtime in %s lacks %s", hip->origin, symbol);
}

/* The runtime to use, with its origin noted, or an error. RTLD_DEFAULT is a null pointer. */
static enum aothip_status find_runtime(struct hip *hip, void **handle, struct status *why)
{
    const char *file = getenv("AOTHIP_HIP_LIBRARY");
    if (file && *file) {
        snprintf(hip->origin, sizeof(hip->origin), "%s", file);
        *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (!*handle)
            return status_set(why, AOTHIP_E_NO_HIP, "AOTHIP_HIP_LIBRARY: %s", dlerror());
        return AOTHIP_OK;
    }
    if (dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel")) {
        snprintf(hip->origin, sizeof(hip->origin), "this process");
        *handle = RTLD_DEFAULT;
        return AOTHIP_OK;
    }
    *handle = find_by_soname(hip, RTLD_NOW | RTLD_NOLOAD);
    if (!*handle)
        *handle = find_by_soname(hip, RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        return status_set(why, AOTHIP_E_NO_HIP,
                          "no HIP runtime is in this process, and libamdhip64.so.7, .6 or .5 "
                          "cannot be loaded: %s",
                          dlerror());
    return AOTHIP_OK;
}

enum aothip_status hip_open(struct hip *hip, struct status *why)
{
    void *handle;
    memset(hip, 0, sizeof(*hip));
    if (find_runtime(hip, &handle, why))
        return why->code;
    fill_table(hip, handle);
    return require(hip, CORE, why);
}

enum aothip_status hip_require_tools(const struct hip *hip, struct status *why)
{
    return require(hip, TOOL, why);
}

static enum aothip_status record(const struct hip *hip, const char *subject, const char *colon,
                                 const char *symbol, hipError_t error, struct status *why)
{
    const char *name = hip->error_name ? hip->error_name(error) : NULL;
    if (why->code == AOTHIP_OK)
        why->hip_error = (int)error;
    return status_set(why, error == hipErrorNoDevice ? AOTHIP_E_NO_DEVICE : AOTHIP_E_HIP,
                      "%s%s%s failed with %s (%d)", subject, colon, symbol, name ? name : "error",
                      (int)error);
}

enum aothip_status hip_fail(const struct hip *hip, const char *symbol, hipError_t error,
                            struct status *why)
{
    return record(hip, "", "", symbol, error, why);
}

enum aothip_status hip_fail_for(const struct hip *hip, const char *subject, const char *symbol,
                                hipError_t error, struct status *why)
{
    return record(hip, subject, ": ", symbol, error, why);
}

static enum aothip_status read_layout(const struct layout *layout, const unsigned char *raw,
                                      int device, struct hip_device_properties *properties,
                                      struct status *why)
{
    uint64_t memory;
    int32_t units;
    memcpy(properties->name, raw, sizeof(properties->name) - 1);
    properties->name[sizeof(properties->name) - 1] = '\0';
    memcpy(properties->target, raw + layout->target, sizeof(properties->target) - 1);
    properties->target[sizeof(properties->target) - 1] = '\0';
    memcpy(&memory, raw + layout->memory, sizeof(memory));
    memcpy(&units, raw + layout->compute_units, sizeof(units));
    properties->memory_bytes = memory;
    properties->compute_units = units;
    if (strncmp(properties->target, "gfx", 3) != 0)
        return status_set(why, AOTHIP_E_NO_HIP,
                          "device %d: %s puts no gfx name where its struct should hold one", device,
                          layout->symbol);
    return AOTHIP_OK;
}

enum aothip_status hip_device_properties(const struct hip *hip, int device,
                                         struct hip_device_properties *properties,
                                         struct status *why)
{
    _Alignas(16) unsigned char raw[PROPERTIES_ROOM] = {0};
    const struct layout *layout = hip->get_properties_r0600 ? &layout_r0600 : &layout_old;
    hipError_t error;
    if (hip->get_properties_r0600)
        error = hip->get_properties_r0600(raw, device);
    else if (hip->get_properties_old)
        error = hip->get_properties_old(raw, device);
    else
        return status_set(why, AOTHIP_E_NO_HIP,
                          "the HIP runtime in %s lacks hipGetDeviceProperties", hip->origin);
    if (error != hipSuccess) {
        char subject[32];
        snprintf(subject, sizeof(subject), "device %d", device);
        return hip_fail_for(hip, subject, layout->symbol, error, why);
    }
    return read_layout(layout, raw, device, properties, why);
}
