/* Finding the HIP runtime: where, in which order, and what a poor one leads to. */
#include "hip.h"

#include <dlfcn.h>
#include <unistd.h>

#include "fake_hip.h"
#include "status.h"
#include "tap.h"

static struct hip hip;
static struct status why;

static enum aothip_status open_named(const char *file)
{
    if (file)
        setenv("AOTHIP_HIP_LIBRARY", file, 1);
    else
        unsetenv("AOTHIP_HIP_LIBRARY");
    status_clear(&why);
    return hip_open(&hip, &why);
}

/* Puts `target` as the one device's name into the fake runtime loaded from `file`. */
static void set_target(const char *file, const char *target)
{
    void *handle = dlopen(file, RTLD_NOW);
    struct fake_hip *fake = handle ? dlsym(handle, "fake_hip") : NULL;
    if (!fake)
        ok(0, "%s: %s", file, dlerror());
    else
        fake->targets[0] = target;
}

static void test_none(void)
{
    is_int(open_named("/nonexistent.so"), AOTHIP_E_NO_HIP, "a file that is not there");
    contains(why.text, "AOTHIP_HIP_LIBRARY: /nonexistent.so", "is named");
    is_int(open_named("/dev/null"), AOTHIP_E_NO_HIP, "a file that is no library");
    if (open_named(NULL) == AOTHIP_E_NO_HIP)
        contains(why.text, "libamdhip64.so.7, .6 or .5", "without a runtime, what was tried");
    else
        tap_diag("a HIP runtime is installed here: %s", hip.origin);
}

static void test_new(const char *file)
{
    struct hip_device_properties properties;
    is_int(open_named(file), AOTHIP_OK, "a complete runtime");
    is_str(hip.origin, file, "its origin is told");
    is_int(hip_device_properties(&hip, 0, &properties, &why), AOTHIP_OK, "properties R0600");
    is_str(properties.target, "gfx942:sramecc+:xnack-", "target");
    is_str(properties.name, "Fake GPU 0", "name");
    is_int(properties.compute_units, 304, "compute units");
    is_int(hip_device_properties(&hip, 5, &properties, &why), AOTHIP_E_HIP, "no such device");
    is_int(why.hip_error, hipErrorInvalidDevice, "HIP's code");
    contains(why.text, "device 5: hipGetDevicePropertiesR0600 failed with hipErrorOfTheFake (101)",
             "text");
    is_int(hip_require_tools(&hip, &why), AOTHIP_E_HIP, "the first failure stays");
    status_clear(&why);
    is_int(hip_require_tools(&hip, &why), AOTHIP_E_NO_HIP, "it has nothing for tools");
    contains(why.text, "lacks hipMalloc", "the missing function is named");
    set_target(file, "not a target");
    status_clear(&why);
    is_int(hip_device_properties(&hip, 0, &properties, &why), AOTHIP_E_NO_HIP,
           "a struct of an unknown layout");
}

static void test_old(const char *file)
{
    struct hip_device_properties properties;
    is_int(open_named(file), AOTHIP_OK, "a runtime before ROCm 5.6");
    ok(!hip.stream_get_device && !hip.get_properties_r0600, "lacks the newer functions");
    is_int(hip_device_properties(&hip, 0, &properties, &why), AOTHIP_OK, "properties, old layout");
    is_str(properties.target, "gfx942:sramecc+:xnack-", "target");
    is_int(properties.compute_units, 104, "compute units");
}

static void test_lacking(const char *file)
{
    is_int(open_named(file), AOTHIP_E_NO_HIP, "a runtime without a needed function");
    contains(why.text, "lacks hipModuleLaunchKernel", "it is named");
    contains(why.text, file, "and the file");
}

/* The order between a runtime in the process and AOTHIP_HIP_LIBRARY. */
static void test_order(const char *first, const char *second)
{
    if (!dlopen(first, RTLD_NOW | RTLD_GLOBAL))
        ok(0, "%s", dlerror());
    is_int(open_named(NULL), AOTHIP_OK, "a runtime in the process is found");
    is_str(hip.origin, "this process", "as such");
    is_int(open_named(""), AOTHIP_OK, "an empty AOTHIP_HIP_LIBRARY counts as none");
    is_str(hip.origin, "this process", "so the same is found");
    is_int(open_named(second), AOTHIP_OK, "AOTHIP_HIP_LIBRARY comes before it");
    is_str(hip.origin, second, "as told");
}

int main(void)
{
    test_none();
    test_new(FAKE_HIP_NEW);
    test_old(FAKE_HIP_BEFORE_5_6);
    test_lacking(FAKE_HIP_LACKING);
    test_order(FAKE_HIP_NEW, FAKE_HIP_BEFORE_5_6);
    return tap_done();
}
