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
static int launch_on(int kernel, hipStream_t stream)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.softcap = (float)(kernel & 1);
    if (kernel & 2)
        p.q.dtype = p.k.dtype = p.v.dtype = p.o.dtype = AOTHIP_BF16;
    return aothip_attn_fwd(context, &p, stream);
}

static int launch(int kernel, int device)
{
    return launch_on(kernel, fake_hip_stream(device));
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
    is_int(fake_hip.waits, 1, "once what was launched is done");
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
    is_int(fake_hip.calls, 4, "makes four HIP calls");
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
    int busy = 0;
    /* whichever of the HIP calls before the load it is that waits */
    for (int n = 1; n <= 16 && !busy; n++) {
        restart("4K");
        launch(0, 0);
        fake_hip.calls = fake_hip.waits = 0;
        fake_hip.fail_at = n;
        fake_hip.fail_with = hipErrorStreamCaptureUnsupported;
        busy = launch(1, 0) == AOTHIP_OK && !fake_hip.waits && n > 5;
    }
    ok(busy, "a device that cannot be waited for");
    is_int(loaded(), 2, "keeps what it has");
    fake_hip.fail_at = 0;
    is_int(launch(0, 0), AOTHIP_OK, "the first kernel");
    is_int(fake_hip.loads, 2, "is still there");
    is_int(launch(2, 0), AOTHIP_OK, "later");
    is_int(loaded(), 1, "room is made");
}

static const hipStream_t *streams(void)
{
    static hipStream_t all[100];
    for (int i = 0; i < 100; i++)
        all[i] = fake_hip_stream_of(0, i);
    return all;
}

/* What is in a graph stays, also when the capture is over; and no capture is spoilt. */
static void test_graphs(void)
{
    const hipStream_t free = streams()[0], captured = streams()[1];
    for (int blocking = 0; blocking < 2; blocking++) {
        restart("8K");
        is_int(launch_on(1, free), AOTHIP_OK, blocking ? "blocking stream" : "other stream");
        fake_hip.captured = captured;
        fake_hip.captured_blocking = blocking;
        is_int(launch_on(0, captured) | launch_on(2, captured) | launch_on(3, captured), AOTHIP_OK,
               "three kernels go into a graph");
        is_int(fake_hip.unloads, 0, "for which none is unloaded");
        is_int(launch_on(1, free), AOTHIP_OK, "elsewhere meanwhile the one that is there");
        fake_hip.captured = NULL;
        restart("8K");
        fake_hip.captured = captured;
        fake_hip.captured_blocking = blocking;
        is_int(launch_on(0, captured), AOTHIP_OK, "one kernel goes into a graph");
        is_int(launch_on(1, free) | launch_on(2, free) | launch_on(3, free), AOTHIP_OK,
               "others are launched elsewhere meanwhile");
        ok(blocking ? fake_hip.unloads == 0 : loaded() == 2, "%d are unloaded", fake_hip.unloads);
        is_int(fake_hip.spoilt, 0, "the capture is not spoilt");
        fake_hip.captured = NULL;
        for (int i = 1; i < KERNELS; i++)
            is_int(launch_on(i, free), AOTHIP_OK, "each other when it is over");
        fake_hip.loads = fake_hip.unloads = 0;
        is_int(launch_on(0, free), AOTHIP_OK, "the kernel of the graph");
        is_int(fake_hip.loads, 0, "is still there");
        fake_hip.captured = captured;
        aothip_close(context);
        is_int(fake_hip.spoilt, 0, "nor is one spoilt by closing a context");
        fake_hip_reset();
        aothip_open(directory, &context);
    }
    is_int(fake_hip.unloaded_running, 0, "nothing that ran was unloaded");
}

/* Launches on more streams than are remembered: then nothing is known, and all stays. */
static void test_many_streams(void)
{
    restart("4K");
    for (int i = 0; i < 60; i++)
        launch_on(0, streams()[i]);
    fake_hip.waits = 0;
    is_int(launch_on(1, streams()[0]), AOTHIP_OK, "after launches on 60 streams");
    is_int(fake_hip.waits, 60, "60 are waited for");
    is_int(fake_hip.unloads, 1, "and the kernel goes");
    for (int i = 0; i < 100; i++)
        launch_on(1, streams()[i]);
    is_int(launch_on(0, streams()[0]) | launch_on(2, streams()[0]), AOTHIP_OK, "after 100");
    is_int(fake_hip.unloads, 1, "none does");
    is_int(fake_hip.unloaded_running + fake_hip.wrong_device, 0, "all in order");
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
    test_graphs();
    test_many_streams();
    test_warm_up();
    test_bad_limits();
    test_threads();
    aothip_close(context);
    is_int(fake_hip.loads, fake_hip.unloads, "all is unloaded in the end");
    is_int(fault_blocks(), blocks, "and freed");
    remove_directory(directory);
    return tap_done();
}
