/*
 * Launches of the built images with every optional tensor, on the emulator, written down by
 * AOTHIP_CAPTURE and run again by aothip-replay to the same bytes.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attn.h"
#include "fake_problem.h"
#include "make_image.h"
#include "ref.h"
#include "tap.h"

enum { BATCH = 2, HEADS = 2, ROWS = 19, KEYS = 35, DIM = 40, VALUES = 1 << 14, BUFFERS = 32 };

static const unsigned seed = 20261121;
static unsigned state;
static void *buffers[BUFFERS]; /* of the current problem */
static int buffer_count;
static char root[256];

/* Random numbers between -2 and 2, or bytes of 0 and 1. */
static void *values(int dtype)
{
    unsigned char *memory = malloc(VALUES * sizeof(float));
    for (int i = 0; i < VALUES; i++) {
        state = state * 1664525u + 1013904223u;
        if (dtype == AOTHIP_BOOL)
            memory[i] = state >> 31;
        else
            ref_store(memory, i, dtype, (double)(int)(state >> 8 & 0xffff) / 16384 - 2);
    }
    return buffers[buffer_count++] = memory;
}

static struct aothip_tensor tensor(int64_t b, int64_t h, int64_t s, int64_t d, int dtype)
{
    struct aothip_tensor made = problem_tensor(0, b, h, s, d);
    made.dtype = dtype;
    made.data = values(dtype);
    return made;
}

static void release(void)
{
    while (buffer_count > 0)
        free(buffers[--buffer_count]);
}

/* Everything that the backward pass knows. */
static struct aothip_attn_fwd_params make_fwd(void)
{
    static const int32_t q_lengths[] = {ROWS, 5}, k_lengths[] = {KEYS, 21};
    static const uint64_t dropout[] = {42, 1000};
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p), .scale = 0.125f};
    p.q = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F16);
    p.k = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    p.v = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    p.o = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F16);
    p.lse = values(AOTHIP_F32);
    p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    p.window_left = 9;
    p.window_right = 1;
    p.q_seqs.lengths = q_lengths;
    p.k_seqs.lengths = k_lengths;
    p.bias = tensor(1, HEADS, ROWS, KEYS, AOTHIP_F32);
    p.keep = tensor(BATCH, 1, ROWS, KEYS, AOTHIP_BOOL);
    p.alibi_slopes = values(AOTHIP_F32);
    p.alibi_stride = HEADS;
    p.sinks = values(AOTHIP_F32);
    p.dropout_p = 0.25f;
    p.dropout_seed_pointer = &dropout[0];
    p.dropout_offset_pointer = &dropout[1];
    return p;
}

static struct aothip_attn_bwd_params make_bwd(const struct aothip_attn_fwd_params *p)
{
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = p};
    b.d_o = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F16);
    b.dq = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F16);
    b.dk = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    b.dv = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    b.dbias = tensor(1, HEADS, ROWS, KEYS, AOTHIP_F32);
    b.dsinks = values(AOTHIP_F32);
    b.dalibi = values(AOTHIP_F32);
    return b;
}

/* How many captures there are, none of them cut short. */
static int count_captures(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *item;
    int count = 0;
    while (dir && (item = readdir(dir)))
        if (item->d_name[0] != '.')
            count += strstr(item->d_name, ".partial") ? -1000 : 1;
    if (dir)
        closedir(dir);
    return count;
}

/* The captures since the last call, run again by a process of its own. */
static void replay(const char *name, int wanted)
{
    char command[1024];
    int status;
    is_int(count_captures(root), wanted, name);
    snprintf(command, sizeof(command),
             "unset AOTHIP_EMU_GPU AOTHIP_HIP_LIBRARY; " REPLAY " --emulate --exact %s/* >%s.out "
             "2>&1",
             root, root);
    status = system(command);
    if (!ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "run again, to the same bytes")) {
        snprintf(command, sizeof(command), "sed 's/^/# /' %s.out", root);
        (void)!system(command);
    }
    snprintf(command, sizeof(command), "rm -rf %s.out %s/*", root, root);
    (void)!system(command);
}

static void test_bwd(const struct device *device, struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = make_fwd();
    struct aothip_attn_bwd_params b = make_bwd(&p);
    struct status why;
    status_clear(&why);
    ok(attn_bwd(device, context, &b, &why) == AOTHIP_OK, "backward with all there is %s",
       why.code ? why.text : aothip_last_error());
    replay("six launches are written down", 6);
    release();
}

static void test_probs(const struct device *device, struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = make_fwd();
    struct status why;
    status_clear(&why);
    p.probs = tensor(BATCH, HEADS, ROWS, KEYS, AOTHIP_BF16);
    p.probs_dropped = 1;
    ok(attn_probs(device, context, &p, &why) == AOTHIP_OK, "probs %s",
       why.code ? why.text : aothip_last_error());
    replay("one launch is written down", 1);
    release();
}

/* Names that a process of the same number, in another container, has taken. */
static void test_taken_names(const struct device *device, struct aothip_context *context)
{
    struct aothip_attn_fwd_params p = make_fwd();
    char command[1024];
    struct status why;
    status_clear(&why);
    snprintf(command, sizeof(command),
             "cd %s && mkdir %d-0 %d-1.partial && echo mine >%d-0/capture.json", root, getpid(),
             getpid(), getpid());
    is_int(system(command), 0, "two names are taken");
    p.probs = tensor(BATCH, HEADS, ROWS, KEYS, AOTHIP_BF16);
    ok(attn_probs(device, context, &p, &why) == AOTHIP_OK, "a capture beside them %s",
       why.code ? why.text : aothip_last_error());
    snprintf(command, sizeof(command),
             "cd %s && test -s %d-2/capture.json && test \"`cat %d-0/capture.json`\" = mine && "
             "test ! -e %d-1 && rm -r %d-0 && rmdir %d-1.partial",
             root, getpid(), getpid(), getpid(), getpid(), getpid());
    is_int(system(command), 0, "takes the next name, and touches neither");
    replay("one launch is written down", 1);
    release();
}

/* A cache that grows, with rotated queries in the workspace. */
static void test_append(const struct device *device, struct aothip_context *context)
{
    static const int32_t lengths[] = {KEYS - 4, 11};
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p), .scale = 0.125f};
    struct status why;
    status_clear(&why);
    p.q = tensor(BATCH, HEADS, 3, DIM, AOTHIP_F16);
    p.k = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    p.v = tensor(BATCH, HEADS, KEYS, DIM, AOTHIP_F16);
    p.o = tensor(BATCH, HEADS, 3, DIM, AOTHIP_F16);
    p.k_new = tensor(BATCH, HEADS, 3, DIM, AOTHIP_F16);
    p.v_new = tensor(BATCH, HEADS, 3, DIM, AOTHIP_F16);
    p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    p.k_seqs.lengths = lengths;
    p.rotary_cos = values(AOTHIP_F16);
    p.rotary_sin = values(AOTHIP_F16);
    p.rotary_dim = 16;
    p.rotary_stride = 8;
    p.rotary_rows = KEYS;
    p.splits = 1;
    ok(attn_fwd(device, context, &p, &why) == AOTHIP_OK, "a growing cache %s",
       why.code ? why.text : aothip_last_error());
    replay("two launches are written down", 2);
    release();
}

static void test_merge(const struct device *device, struct aothip_context *context)
{
    struct aothip_attn_merge_params p = {.struct_size = sizeof(p)};
    struct status why;
    status_clear(&why);
    p.o = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F32);
    p.part_o = tensor(BATCH, HEADS, ROWS, DIM, AOTHIP_F16);
    p.lse = tensor(BATCH, HEADS, ROWS, 1, AOTHIP_F32);
    p.part_lse = tensor(BATCH, HEADS, ROWS, 1, AOTHIP_F32);
    ok(attn_merge(device, context, &p, &why) == AOTHIP_OK, "a merge %s",
       why.code ? why.text : aothip_last_error());
    replay("one launch is written down", 1);
    release();
}

int main(void)
{
    static const char *const gpus[] = {"gfx942", "gfx1151"};
    static struct device_runtime runtime;
    struct aothip_context *context;
    struct status why;
    struct stat info;
    int tested = 0;
    if (stat(IMAGES, &info) || stat(EMULATOR, &info) || stat(REPLAY, &info))
        tap_skip_all("there are no images, no emulator or no aothip-replay");
    tap_diag("seed %u", seed);
    state = seed;
    make_directory(root);
    setenv("AOTHIP_CAPTURE", root, 1);
    setenv("AOTHIP_HIP_LIBRARY", EMULATOR, 1);
    setenv("AOTHIP_EMU_GPU", "gfx942,gfx1151", 1);
    status_clear(&why);
    if (device_open_runtime(&runtime, &why) || aothip_open(IMAGES, &context)) {
        ok(0, "%s %s", why.text, aothip_last_error());
        return tap_done();
    }
    for (int i = 0; i < 2; i++) {
        struct device device = {0};
        char images[1024];
        snprintf(images, sizeof(images), IMAGES "/amd-%s", gpus[i]);
        if (stat(images, &info))
            continue; /* built for other GPUs */
        if (!ok(!device_open(&runtime, i, &device, &why), "%s", gpus[i]))
            break;
        if (!tested++)
            test_taken_names(&device, context);
        test_bwd(&device, context);
        test_probs(&device, context);
        test_append(&device, context);
        test_merge(&device, context);
        device_close(&device);
    }
    aothip_close(context);
    remove_directory(root);
    return tap_done();
}
