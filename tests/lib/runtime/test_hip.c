/*
 * Finding the HIP runtime: where, in which order, and what a poor one leads to. Each test is a
 * process of its own: what one of them has loaded stays.
 */
#include "hip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
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

static void test_new(void)
{
    struct hip_device_properties properties;
    is_int(open_named(FAKE_HIP_NEW), AOTHIP_OK, "a complete runtime");
    is_str(hip.origin, FAKE_HIP_NEW, "its origin is told");
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
    set_target(FAKE_HIP_NEW, "not a target");
    status_clear(&why);
    is_int(hip_device_properties(&hip, 0, &properties, &why), AOTHIP_E_NO_HIP,
           "a struct of an unknown layout");
}

static void test_old(void)
{
    struct hip_device_properties properties;
    is_int(open_named(FAKE_HIP_BEFORE_5_6), AOTHIP_OK, "a runtime before ROCm 5.6");
    ok(!hip.stream_get_device && !hip.get_properties_r0600, "lacks the newer functions");
    is_int(hip_device_properties(&hip, 0, &properties, &why), AOTHIP_OK, "properties, old layout");
    is_str(properties.target, "gfx942:sramecc+:xnack-", "target");
    is_int(properties.compute_units, 104, "compute units");
}

static void test_lacking(void)
{
    is_int(open_named(FAKE_HIP_LACKING), AOTHIP_E_NO_HIP, "a runtime without a needed function");
    contains(why.text, "lacks hipModuleLaunchKernel", "it is named");
    contains(why.text, FAKE_HIP_LACKING, "and the file");
}

/* Between a runtime in the process and AOTHIP_HIP_LIBRARY. */
static void test_order(void)
{
    void *handle = dlopen(FAKE_HIP_NEW, RTLD_NOW | RTLD_GLOBAL);
    is_int(open_named(NULL), AOTHIP_OK, "a runtime in the process is found");
    is_str(hip.origin, "this process", "as such");
    is_str(hip_file(&hip), FAKE_HIP_NEW, "and its file can be told");
    is_int(open_named(""), AOTHIP_OK, "an empty AOTHIP_HIP_LIBRARY counts as none");
    is_str(hip.origin, "this process", "so the same is found");
    is_int(open_named(FAKE_HIP_NEW), AOTHIP_OK, "AOTHIP_HIP_LIBRARY may name it");
    ok(hip.handle == handle, "which loads nothing");
    is_int(open_named(FAKE_HIP_BEFORE_5_6), AOTHIP_E_NO_HIP, "but no other one");
    contains(why.text, "AOTHIP_HIP_LIBRARY is " FAKE_HIP_BEFORE_5_6, "both are named: this");
    contains(why.text, "another HIP runtime already, " FAKE_HIP_NEW, "and that");
    ok(!dlopen(FAKE_HIP_BEFORE_5_6, RTLD_LAZY | RTLD_NOLOAD), "nothing was loaded");
}

/* As Python loads a wheel's: under a name that nobody asks for, seen by its own users alone. */
static void test_out_of_sight(void)
{
    void *handle = dlopen(FAKE_HIP_NEW, RTLD_NOW | RTLD_LOCAL);
    is_int(open_named(NULL), AOTHIP_OK, "a runtime that is out of sight is found");
    ok(hip.handle == handle, "it, and nothing else");
    is_str(hip.origin, FAKE_HIP_NEW, "its file is told");
    ok(hip_function(&hip, "fake_hip") == dlsym(handle, "fake_hip"), "any function can be had");
    ok(!hip_function(&hip, "hipMalloc"), "but none that it lacks");
    is_int(open_named(FAKE_HIP_BEFORE_5_6), AOTHIP_E_NO_HIP, "no second one is loaded beside it");
    contains(why.text, "another HIP runtime already, " FAKE_HIP_NEW, "as is told");
}

static void test_two(void)
{
    void *first = dlopen(FAKE_HIP_NEW, RTLD_NOW | RTLD_LOCAL);
    void *second = dlopen(FAKE_HIP_BEFORE_5_6, RTLD_NOW | RTLD_LOCAL);
    is_int(open_named(NULL), AOTHIP_E_NO_HIP, "of two runtimes none is guessed at");
    contains(why.text, FAKE_HIP_NEW, "the first is named");
    contains(why.text, FAKE_HIP_BEFORE_5_6, "the second");
    contains(why.text, "name the one to use in AOTHIP_HIP_LIBRARY", "and what to do");
    is_int(open_named(FAKE_HIP_BEFORE_5_6), AOTHIP_OK, "which helps");
    ok(first && hip.handle == second, "and is obeyed");
}

enum { LOADS = 2000 };
static atomic_int loads;

static void *load_again_and_again(void *unused)
{
    while (loads < LOADS) {
        void *handle = dlopen(FAKE_HIP_LACKING, RTLD_NOW | RTLD_LOCAL);
        dlclose(handle);
        loads++;
    }
    return unused;
}

/* Another thread that loads libraries must not wait for this one while this one waits for it. */
static void test_threads(void)
{
    pthread_t thread;
    int found = 0, tried = 0;
    alarm(30);
    pthread_create(&thread, NULL, load_again_and_again, dlopen(FAKE_HIP_NEW, RTLD_NOW));
    for (; loads < LOADS; tried++)
        found += open_named(NULL) == AOTHIP_OK && !strcmp(hip.origin, FAKE_HIP_NEW);
    pthread_join(thread, NULL);
    is_int(found, tried, "found while another thread loads and unloads libraries");
}

static void run_apart(void (*test)(void))
{
    int counts[2] = {0, 1}, ends[2], status = -1;
    pid_t child = pipe(ends) ? -1 : fork();
    if (child == 0) {
        test();
        counts[0] = tap_count, counts[1] = tap_failed;
        _exit(write(ends[1], counts, sizeof(counts)) != sizeof(counts));
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status ||
        read(ends[0], counts, sizeof(counts)) != sizeof(counts)) {
        ok(0, "a test ends with wait status 0x%x", (unsigned)status);
        return;
    }
    tap_count = counts[0], tap_failed = counts[1];
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    run_apart(test_none);
    run_apart(test_new);
    run_apart(test_old);
    run_apart(test_lacking);
    run_apart(test_order);
    run_apart(test_out_of_sight);
    run_apart(test_two);
    run_apart(test_threads);
    return tap_done();
}
