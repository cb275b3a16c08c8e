/* The table of HIP functions, and what needs knowledge of the runtime's structs. */
#include "hip.h"

#include <stdio.h>
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

static void fill_table(struct hip *hip)
{
#define FILL(need, field, symbol, parameters)                                                      \
    hip->field = (hipError_t(*) parameters)hip_function(hip, symbol);
    HIP_FUNCTIONS(FILL)
#undef FILL
    hip->error_name = (const char *(*)(hipError_t))hip_function(hip, "hipGetErrorName");
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

enum aothip_status hip_open(struct hip *hip, struct status *why)
{
    memset(hip, 0, sizeof(*hip));
    if (hip_find(hip, why))
        return why->code;
    fill_table(hip);
    return require(hip, CORE, why);
}

enum aothip_status hip_require_tools(const struct hip *hip, struct status *why)
{
    return require(hip, TOOL, why);
}

int hip_relax(const struct hip *hip, hipStreamCaptureMode *before)
{
    *before = hipStreamCaptureModeRelaxed;
    return hip->exchange_capture_mode && hip->exchange_capture_mode(before) == hipSuccess;
}

void hip_restore_mode(const struct hip *hip, hipStreamCaptureMode before)
{
    (void)hip->exchange_capture_mode(&before);
}

enum aothip_status hip_fail_no_gpu(const struct hip *hip, struct status *why)
{
    return status_set(why, AOTHIP_E_NO_DEVICE, "the HIP runtime %s finds no GPU", hip_file(hip));
}

static enum aothip_status record(const struct hip *hip, const char *subject, const char *colon,
                                 const char *symbol, hipError_t error, struct status *why)
{
    const char *name = hip->error_name ? hip->error_name(error) : NULL;
    if (why->code == AOTHIP_OK)
        why->hip_error = (int)error;
    if (error == hipErrorNoDevice)
        return hip_fail_no_gpu(hip, why);
    return status_set(why, AOTHIP_E_HIP, "%s%s%s failed with %s (%d)", subject, colon, symbol,
                      name ? name : "error", (int)error);
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

static enum aothip_status make_current(const struct hip *hip, int number, struct status *why)
{
    hipError_t error = hip->set_device(number);
    char subject[32];
    if (error == hipSuccess)
        return AOTHIP_OK;
    snprintf(subject, sizeof(subject), "device %d", number);
    return hip_fail_for(hip, subject, "hipSetDevice", error, why);
}

enum aothip_status hip_enter_device(const struct hip *hip, int number, int *before,
                                    struct status *why)
{
    hipError_t error = hip->get_device(before);
    if (error != hipSuccess)
        return hip_fail_for(hip, "current device", "hipGetDevice", error, why);
    return *before == number ? AOTHIP_OK : make_current(hip, number, why);
}

enum aothip_status hip_leave_device(const struct hip *hip, int number, int before,
                                    struct status *why)
{
    return before == number ? AOTHIP_OK : make_current(hip, before, why);
}
