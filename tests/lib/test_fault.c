/*
 * Every HIP call, allocation and file operation made to fail, one after the other, in every
 * scenario: the call fails with a reason, launches nothing, leaks nothing, leaves the current
 * device alone, and the next good call works.
 */
#include "aothip/aothip.h"

#include <stdint.h>

#include "fake_hip.h"
#include "fault.h"
#include "make_image.h"
#include "fake_problem.h"
#include "tap.h"

enum { HIP_CALL = FAULT_FILE + 1, CURRENT = 1, OTHER = 2 };

static char directory[256];

static int visit(const struct aothip_entry *entry, void *user)
{
    (void)user;
    return entry->struct_size == 0;
}

static enum aothip_status attend(struct aothip_context *context, void *stream)
{
    struct aothip_attn_fwd_params p = problem_make();
    return aothip_attn_fwd(context, &p, stream);
}

/* Scenarios; each gets an open context, but for the first, which makes one. */
static enum aothip_status run_open(struct aothip_context *context)
{
    struct aothip_context *opened;
    enum aothip_status status = aothip_open(directory, &opened);
    (void)context;
    if ((status == AOTHIP_OK) != (opened != NULL))
        ok(0, "a context exactly on success");
    aothip_close(opened);
    return status;
}

static enum aothip_status run_check(struct aothip_context *context)
{
    return aothip_check_device(context, OTHER);
}

static enum aothip_status run_check_stream(struct aothip_context *context)
{
    return aothip_check_stream(context, fake_hip_stream(OTHER));
}

static enum aothip_status run_info(struct aothip_context *context)
{
    struct aothip_device_info info = {.struct_size = sizeof(info)};
    return aothip_stream_device(context, NULL, &info);
}

static enum aothip_status run_null_stream(struct aothip_context *context)
{
    return attend(context, NULL);
}

static enum aothip_status run_other_stream(struct aothip_context *context)
{
    return attend(context, fake_hip_stream(OTHER));
}

/* Appends to a cache, splits keys, merges and writes probs: four launches. */
static enum aothip_status run_options(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.k_new = problem_tensor(0x90000000, 2, 2, 3, 64);
    p.v_new = problem_tensor(0x91000000, 2, 2, 3, 64);
    p.k_seqs.lengths = (void *)(uintptr_t)0x61000000;
    p.probs = problem_tensor(0x80000000, 2, 8, 100, 300);
    p.splits = 4;
    p.workspace = (void *)(uintptr_t)0xa0000000;
    p.workspace_size = 1 << 24;
    return aothip_attn_fwd(context, &p, NULL);
}

static enum aothip_status run_probs(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.probs = problem_tensor(0x80000000, 2, 8, 100, 300);
    return aothip_attn_probs(context, &p, fake_hip_stream(OTHER));
}

/* Three launches. */
static enum aothip_status run_bwd(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &p};
    b.d_o = problem_tensor(0xb0000000, 2, 8, 100, 64);
    b.dq = problem_tensor(0xb1000000, 2, 8, 100, 64);
    b.dk = problem_tensor(0xb2000000, 2, 2, 300, 64);
    b.dv = problem_tensor(0xb3000000, 2, 2, 300, 64);
    b.delta = (void *)(uintptr_t)0xb4000000;
    return aothip_attn_bwd(context, &b, NULL);
}

static enum aothip_status run_workspace(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    size_t bytes = 77;
    enum aothip_status status =
        aothip_attn_fwd_workspace(context, &p, fake_hip_stream(OTHER), &bytes);
    if (bytes != 0)
        ok(0, "no workspace is wanted, nor is any after a failure");
    return status;
}

static enum aothip_status run_warm_up(struct aothip_context *context)
{
    return aothip_warm_up(context, NULL);
}

static enum aothip_status run_list(struct aothip_context *context)
{
    return aothip_list(context, visit, NULL);
}

static const struct scenario {
    const char *name;
    enum aothip_status (*run)(struct aothip_context *context);
    int warm;     /* run once before */
    int launches; /* how many it makes */
} scenarios[] = {
    {"open and close", run_open, 0, 0},
    {"check a device", run_check, 0, 0},
    {"check a stream", run_check_stream, 0, 0},
    {"describe a device", run_info, 0, 0},
    {"first launch on the current device", run_null_stream, 0, 1},
    {"first launch on another device", run_other_stream, 0, 1},
    {"warm launch on the current device", run_null_stream, 1, 1},
    {"warm launch on another device", run_other_stream, 1, 1},
    {"first call with options", run_options, 0, 4},
    {"warm call with options", run_options, 1, 4},
    {"probs on another device", run_probs, 0, 1},
    {"first backward call", run_bwd, 0, 3},
    {"warm backward call", run_bwd, 1, 3},
    {"workspace", run_workspace, 0, 0},
    {"warm up", run_warm_up, 0, 0},
    {"list", run_list, 0, 0},
};

static const struct {
    const char *name;
    int kind;
    enum aothip_status status; /* what such a failure must be */
} kinds[] = {
    {"HIP call", HIP_CALL, AOTHIP_E_HIP},
    {"allocation", FAULT_MEMORY, AOTHIP_E_MEMORY},
    {"file operation", FAULT_FILE, AOTHIP_E_IO},
};

static void restart(void)
{
    fake_hip_reset();
    fake_hip.devices = 3;
    fake_hip.targets[0] = "gfx942:sramecc+:xnack-";
    fake_hip.targets[1] = "gfx90a:sramecc+:xnack-";
    fake_hip.targets[2] = "gfx942:sramecc+:xnack-";
    hipSetDevice(CURRENT);
    fake_hip.calls = 0;
}

static void arm(int kind, int n)
{
    fake_hip.calls = 0;
    fake_hip.launches = 0;
    if (kind == HIP_CALL) {
        fake_hip.fail_at = n;
        fake_hip.fail_with = hipErrorOutOfMemory;
    } else {
        fault_arm((enum fault_kind)kind, n);
    }
}

/* Returns whether the fault came about. */
static int disarm(int kind, int n)
{
    if (kind != HIP_CALL)
        return fault_disarm() >= n;
    fake_hip.fail_at = 0;
    return fake_hip.calls >= n;
}

/* One scenario with its n-th call of one kind failing; 0 if it makes fewer. */
static int run_one(const struct scenario *scenario, int kind, enum aothip_status wanted, int n,
                   int *bad)
{
    const int blocks = fault_blocks();
    struct aothip_context *context;
    enum aothip_status status;
    int happened, current = -1;
    restart();
    if (aothip_open(directory, &context) || (scenario->warm && scenario->run(context)))
        ok(0, "preparing: %s", aothip_last_error());
    arm(kind, n);
    status = scenario->run(context);
    happened = disarm(kind, n);
    hipGetDevice(&current);
    if (happened) {
        /* stat() on the directory tells that there is none */
        int as_wanted = status == wanted || (kind == FAULT_FILE && status == AOTHIP_E_NO_IMAGES);
        int restoring = kind == HIP_CALL && current == OTHER &&
                        (scenario->run == run_other_stream || scenario->run == run_probs);
        /* all kernels are loaded before the first launch; HIP may yet refuse a later one */
        int early = fake_hip.launches && (fake_hip.launches >= scenario->launches ||
                                          !strstr(aothip_last_error(), "hipModuleLaunchKernel"));
        if (!as_wanted || !aothip_last_error()[0] || early ||
            (kind == HIP_CALL && aothip_last_hip_error() != hipErrorOutOfMemory) ||
            (current != CURRENT && !restoring)) {
            tap_diag("%s, call %d: status %d, \"%s\", %d launches, device %d", scenario->name, n,
                     status, aothip_last_error(), fake_hip.launches, current);
            ++*bad;
        }
    } else if (status != AOTHIP_OK) {
        ++*bad;
    }
    hipSetDevice(CURRENT);
    if (scenario->run(context) != AOTHIP_OK) {
        tap_diag("%s, call %d: afterwards \"%s\"", scenario->name, n, aothip_last_error());
        ++*bad;
    }
    aothip_close(context);
    if (fake_hip.loads != fake_hip.unloads || fault_blocks() != blocks || fake_hip.wrong_device) {
        tap_diag("%s, call %d: %d loads, %d unloads, %d blocks left", scenario->name, n,
                 fake_hip.loads, fake_hip.unloads, fault_blocks() - blocks);
        ++*bad;
    }
    return happened;
}

/* hipModuleUnload failing in aothip_close(): all memory is freed nevertheless. */
static void test_close(void)
{
    const int blocks = fault_blocks();
    int bad = 0, n = 0, happened;
    do {
        struct aothip_context *context;
        restart();
        if (aothip_open(directory, &context) || attend(context, NULL) ||
            attend(context, fake_hip_stream(OTHER)))
            ok(0, "preparing: %s", aothip_last_error());
        arm(HIP_CALL, ++n);
        aothip_close(context);
        happened = disarm(HIP_CALL, n);
        bad += fault_blocks() != blocks;
    } while (happened);
    ok(!bad && n > 3, "close: each of %d HIP calls failing, and nothing leaks", n - 1);
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    image = make_image("gfx90a", NULL);
    make_image_write(&image, directory, "gfx90a");
    free(image.bytes);
    for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            int n = 1, bad = 0;
            while (run_one(&scenarios[s], kinds[k].kind, kinds[k].status, n, &bad))
                n++;
            ok(!bad, "%s: each of %d %ss failing", scenarios[s].name, n - 1, kinds[k].name);
        }
    test_close();
    remove_directory(directory);
    return tap_done();
}
