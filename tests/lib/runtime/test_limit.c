/* AOTHIP_CODE_LIMIT: the code loaded on a device stays within it, and what is in use stays. */
#include "aothip/aothip.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "fake_hip.h"
#include "fault.h"
#include "make_image.h"
#include "fake_problem.h"
#include "tap.h"

enum { KERNELS = 4, THREADS = 4, CALLS = 2000 };

static char directory[256];
static struct aothip_context *context;

static void restart(const char *limit)
{
    aothip_close(context);
    fake_hip_reset();
    fake_hip.devices = 2;
    fake_hip.targets[0] = fake_hip.targets[1] = "gfx942:sramecc+:xnack-";
    setenv("AOTHIP_CODE_LIMIT", limit, 1);
    if (aothip_open(directory, &context))
        ok(0, "%s", aothip_last_error());
}

/* A launch of one of four kernels, of 4096 bytes of code each. */
static int launch(int kernel, int device)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.softcap = (float)(kernel & 1);
    if (kernel & 2)
        p.q.dtype = p.k.dtype = p.v.dtype = p.o.dtype = AOTHIP_BF16;
    return aothip_attn_fwd(context, &p, fake_hip_stream(device));
}

static int loaded(void)
{
    return fake_hip.loads - fake_hip.unloads;
}

static void test_least_recent(void)
{
    restart("8K");
    is_int(launch(0, 0) | launch(1, 0), AOTHIP_OK, "two kernels fit");
    is_int(fake_hip.unloads, 0, "both stay");
    is_int(launch(0, 0), AOTHIP_OK, "the first one again");
    is_int(launch(2, 0), AOTHIP_OK, "a third one");
    is_int(fake_hip.unloads, 1, "takes the place of one");
    is_int(fake_hip.synchronized, 1, "once the device has come to rest");
    is_int(launch(0, 0), AOTHIP_OK, "the first one");
    is_int(fake_hip.loads, 3, "is still there, being used later than the second");
    is_int(launch(1, 0), AOTHIP_OK, "the second one");
    is_int(fake_hip.loads, 4, "is loaded again");
    is_int(launch(0, 1) | launch(1, 1), AOTHIP_OK, "another device");
    is_int(loaded(), 4, "has a limit of its own");
    is_int(fake_hip.unloaded_running, 0, "nothing that ran was unloaded");
    is_int(fake_hip.wrong_device, 0, "nor launched after that");
}

static void test_small_limit(void)
{
    restart("1");
    is_int(launch(0, 0) | launch(1, 0) | launch(2, 0), AOTHIP_OK, "a limit below any kernel");
    is_int(loaded(), 1, "keeps one at a time");
    fake_hip_reset();
    is_int(launch(2, 0), AOTHIP_OK, "the same once more");
    is_int(fake_hip.calls, 2, "makes two HIP calls");
    restart("0");
    is_int(launch(0, 0) | launch(1, 0) | launch(2, 0), AOTHIP_OK, "0");
    is_int(loaded(), 3, "is no limit");
}

/* All kernels of one call stay until they are launched, whatever the limit. */
static void test_one_call(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.k_new = problem_tensor(0x90000000, 2, 2, 3, 64);
    p.v_new = problem_tensor(0x91000000, 2, 2, 3, 64);
    p.k_seqs.lengths = (void *)(uintptr_t)0x61000000;
    p.probs = problem_tensor(0x80000000, 2, 8, 100, 300);
    restart("5000");
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a call of three kernels");
    is_int(fake_hip.launches, 3, "launches them");
    is_int(loaded(), 3, "beyond the limit");
    is_int(launch(3, 0), AOTHIP_OK, "the next call");
    is_int(loaded(), 1, "unloads them");
    p.probs.dtype = 0;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_ARGUMENT, "a call that fails");
    is_int(launch(0, 0), AOTHIP_OK, "holds on");
    is_int(loaded(), 1, "to nothing");
    is_int(fake_hip.wrong_device + fake_hip.unloaded_running, 0, "all in order");
}

static void test_busy_device(void)
{
    /* whichever of the HIP calls before the load it is that waits */
    for (int n = 1; n <= 4; n++) {
        restart("4K");
        launch(0, 0);
        fake_hip.calls = 0;
        fake_hip.fail_at = n;
        fake_hip.fail_with = hipErrorStreamCaptureUnsupported;
        if (launch(1, 0) == AOTHIP_OK)
            break;
    }
    is_int(fake_hip.failed, 1, "a device that cannot be waited for");
    is_int(loaded(), 2, "keeps what it has");
    fake_hip.fail_at = 0;
    is_int(launch(0, 0), AOTHIP_OK, "the first kernel");
    is_int(fake_hip.loads, 2, "is still there");
    is_int(launch(2, 0), AOTHIP_OK, "later");
    is_int(loaded(), 1, "room is made");
}

static void test_warm_up(void)
{
    restart("40K");
    is_int(aothip_warm_up(context, NULL), AOTHIP_OK, "warming up");
    ok(loaded() >= 9 && loaded() <= 10, "loads what fits: %d", loaded());
    is_int(fake_hip.unloads, 0, "and unloads nothing");
    is_int(launch(0, 0) | launch(1, 0), AOTHIP_OK, "the first kernels");
    is_int(fake_hip.unloads, 0, "are there");
}

static void test_bad_limits(void)
{
    static const char *const bad[] = {
        "many", "-1", "12Q", "12KB", " 5", "99999999999999999999", "99999999999G"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct aothip_context *opened;
        setenv("AOTHIP_CODE_LIMIT", bad[i], 1);
        is_int(aothip_open(directory, &opened), AOTHIP_E_ARGUMENT, bad[i]);
        contains(aothip_last_error(), "AOTHIP_CODE_LIMIT is \"", "is told");
    }
    restart("");
    is_int(launch(0, 0), AOTHIP_OK, "an empty one is none");
}

static void *run_thread(void *number)
{
    intptr_t failures = 0;
    for (int i = 0; i < CALLS; i++)
        failures += launch((int)((i + (intptr_t)number) % KERNELS), i % 2) != AOTHIP_OK;
    return (void *)failures;
}

/* Four threads that all want other kernels: none is unloaded between being found and launched. */
static void test_threads(void)
{
    pthread_t threads[THREADS];
    intptr_t failures = 0;
    restart("8K");
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        failures += (intptr_t)failed;
    }
    is_int(failures, 0, "four threads, four kernels, room for two");
    is_int(fake_hip.launches, THREADS * CALLS, "every launch is made");
    ok(fake_hip.unloads > 2, "kernels come and go: %d unloaded", fake_hip.unloads);
    is_int(fake_hip.wrong_device, 0, "none is launched unloaded");
    is_int(fake_hip.unloaded_running, 0, "none is unloaded while it runs");
}

int main(void)
{
    const int blocks = fault_blocks();
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    test_least_recent();
    test_small_limit();
    test_one_call();
    test_busy_device();
    test_warm_up();
    test_bad_limits();
    test_threads();
    aothip_close(context);
    is_int(fake_hip.loads, fake_hip.unloads, "all is unloaded in the end");
    is_int(fault_blocks(), blocks, "and freed");
    remove_directory(directory);
    return tap_done();
}
