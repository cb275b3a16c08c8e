/*
 * Every HIP call, allocation and file operation made to fail, one after the other, in every
 * scenario: the call fails with a reason, launches nothing, leaks nothing, leaves the current
 * device alone, and the next good call works.
 */
#include "aothip/aothip.h"

#include <stdint.h>
#include <stdlib.h>

#include "fake_hip.h"
#include "fault.h"
#include "make_image.h"
#include "fake_problem.h"
#include "tap.h"

enum { HIP_CALL = FAULT_FILE + 1, CURRENT = 1, OTHER = 2 };

static char directory[256], captures[256];

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

static enum aothip_status run_pages(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    problem_page(&p);
    return aothip_attn_fwd(context, &p, NULL);
}

static enum aothip_status run_merge(struct aothip_context *context)
{
    struct aothip_attn_merge_params p = problem_merge();
    return aothip_attn_merge(context, &p, NULL);
}

/* Three launches. */
static enum aothip_status run_bwd(struct aothip_context *context)
{
    struct problem_gradients g;
    problem_gradients(&g);
    return aothip_attn_bwd(context, &g.b, NULL);
}

/* Six. */
static enum aothip_status run_bwd_all(struct aothip_context *context)
{
    static float slopes[8], sinks[8], dslopes[8], dsinks[8];
    struct problem_gradients g;
    problem_gradients(&g);
    problem_add_bias(&g.fwd);
    g.fwd.alibi_slopes = slopes;
    g.fwd.sinks = sinks;
    g.b.dbias = problem_tensor(0xb5000000, 2, 8, 100, 300);
    g.b.dalibi = dslopes;
    g.b.dsinks = dsinks;
    return aothip_attn_bwd(context, &g.b, NULL);
}

/* Each call needs the other kernel than the one before, and there is room for one. */
static enum aothip_status run_evict(struct aothip_context *context)
{
    static int turn;
    struct aothip_attn_fwd_params p = problem_make();
    p.softcap = (float)(turn ^= 1);
    return aothip_attn_fwd(context, &p, NULL);
}

/* Few bytes, since all of them are written to files. */
static enum aothip_status run_captured(struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.q = problem_tensor(0x10000000, 1, 1, 2, 64);
    p.k = problem_tensor(0x20000000, 1, 1, 3, 64);
    p.v = problem_tensor(0x30000000, 1, 1, 3, 64);
    p.o = problem_tensor(0x40000000, 1, 1, 2, 64);
    return aothip_attn_fwd(context, &p, NULL);
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
    int ignored; /* HIP calls that may fail without harm: all that unloading takes, and questions */
    const char *limit; /* AOTHIP_CODE_LIMIT */
    int captured;      /* with AOTHIP_CAPTURE, so that a call may fail behind its launch */
} scenarios[] = {
    {"open and close", run_open, .launches = 0},
    {"check a device", run_check, .launches = 0},
    {"check a stream", run_check_stream, .launches = 0},
    {"describe a device", run_info, .launches = 0},
    {"first launch on the current device", run_null_stream, .launches = 1},
    {"first launch on another device", run_other_stream, .launches = 1},
    {"warm launch on the current device", run_null_stream, .warm = 1, .launches = 1},
    {"warm launch on another device", run_other_stream, .warm = 1, .launches = 1},
    {"first call with options", run_options, .launches = 4},
    {"warm call with options", run_options, .warm = 1, .launches = 4},
    {"probs on another device", run_probs, .launches = 1},
    {"first merge", run_merge, .launches = 1},
    {"warm merge", run_merge, .warm = 1, .launches = 1},
    {"first backward call", run_bwd, .launches = 3},
    {"warm backward call", run_bwd, .warm = 1, .launches = 3},
    {"first call with pages", run_pages, .launches = 1},
    {"first backward call for all gradients", run_bwd_all, .launches = 6},
    {"warm backward call for all gradients", run_bwd_all, .warm = 1, .launches = 6},
    {"call that unloads a kernel", run_evict, .warm = 1, .launches = 1, .ignored = 9, .limit = "1"},
    {"first captured call", run_captured, .launches = 1, .captured = 1, .ignored = 5},
    {"warm captured call", run_captured, .warm = 1, .launches = 1, .captured = 1, .ignored = 5},
    {"workspace", run_workspace, .launches = 0},
    {"warm up", run_warm_up, .launches = 0},
    {"warm up within a limit", run_warm_up, .launches = 0, .limit = "40K"},
    {"list", run_list, .launches = 0},
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

/* The environment is read by aothip_open(). */
static enum aothip_status open_for(const struct scenario *scenario, struct aothip_context **context)
{
    enum aothip_status status;
    if (scenario->limit)
        setenv("AOTHIP_CODE_LIMIT", scenario->limit, 1);
    if (scenario->captured)
        setenv("AOTHIP_CAPTURE", captures, 1);
    status = aothip_open(directory, context);
    unsetenv("AOTHIP_CODE_LIMIT");
    unsetenv("AOTHIP_CAPTURE");
    return status;
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

/* Whether a call that met with a failure did what it must; it returned `status`. */
static int failed_well(const struct scenario *scenario, int kind, enum aothip_status wanted,
                       enum aothip_status status, int *ignored)
{
    /* stat() on the directory tells that there is none */
    const int as_wanted = status == wanted || (kind == FAULT_FILE && status == AOTHIP_E_NO_IMAGES);
    int current = -1, restoring, early;
    hipGetDevice(&current);
    if (status == AOTHIP_OK && kind == HIP_CALL && *ignored < scenario->ignored) {
        ++*ignored;
        return fake_hip.launches == scenario->launches && current == CURRENT;
    }
    restoring = kind == HIP_CALL && current == OTHER &&
                (scenario->run == run_other_stream || scenario->run == run_probs);
    /* all kernels are loaded before the first launch; HIP may yet refuse a later one */
    early = fake_hip.launches && !scenario->captured &&
            (fake_hip.launches >= scenario->launches ||
             !strstr(aothip_last_error(), "hipModuleLaunchKernel"));
    return as_wanted && aothip_last_error()[0] && !early &&
           (kind != HIP_CALL || aothip_last_hip_error() == hipErrorOutOfMemory) &&
           (current == CURRENT || restoring);
}

/* One scenario with its n-th call of one kind failing; 0 if it makes fewer. */
static int run_one(const struct scenario *scenario, int kind, enum aothip_status wanted, int n,
                   int *ignored, int *bad)
{
    const int blocks = fault_blocks();
    struct aothip_context *context;
    enum aothip_status status;
    int happened;
    restart();
    if (open_for(scenario, &context) || (scenario->warm && scenario->run(context)))
        ok(0, "preparing: %s", aothip_last_error());
    arm(kind, n);
    status = scenario->run(context);
    happened = disarm(kind, n);
    if (happened ? !failed_well(scenario, kind, wanted, status, ignored) : status != AOTHIP_OK) {
        tap_diag("%s, call %d: status %d, \"%s\", %d launches", scenario->name, n, status,
                 aothip_last_error(), fake_hip.launches);
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

/* Each call of one kind that a scenario makes, failing by itself. */
static void run_all(const struct scenario *scenario, const char *name, int kind,
                    enum aothip_status wanted)
{
    int n = 1, bad = 0, ignored = 0;
    while (run_one(scenario, kind, wanted, n, &ignored, &bad))
        n++;
    ok(!bad && ignored == (kind == HIP_CALL ? scenario->ignored : 0), "%s: each of %d %ss failing",
       scenario->name, n - 1, name);
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

/* What a thread makes once and keeps: where thread-local data are emulated, the last error's text
 * and a variable's value. */
static void make_once(void)
{
    const struct scenario first = {"a first call", run_null_stream, .limit = "1"};
    struct aothip_context *context;
    restart();
    if (open_for(&first, &context) || first.run(context))
        ok(0, "%s: %s", first.name, aothip_last_error());
    aothip_close(context);
    aothip_set_error(AOTHIP_E_ARGUMENT, "a failure");
}

/* Beside the images of one of the GPUs. */
static void write_costs(void)
{
    char path[512];
    FILE *f;
    snprintf(path, sizeof(path), "%s/amd-gfx942/" FORMAT_COSTS, directory);
    f = fopen(path, "w");
    if (!f || fputs("aothip-tune 1\ngpu gfx942\nattn_fwd_f16_d64_fast 1 2 3\n", f) < 0 || fclose(f))
        exit(99);
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_directory(captures);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    image = make_image("gfx90a", NULL);
    make_image_write(&image, directory, "gfx90a");
    free(image.bytes);
    write_costs();
    make_once();
    for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            run_all(&scenarios[s], kinds[k].name, kinds[k].kind, kinds[k].status);
    test_close();
    remove_directory(directory);
    remove_directory(captures);
    return tap_done();
}
