/* The C API over a fake HIP runtime: what is launched, loaded, refused and counted. */
#include "aothip/aothip.h"

#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_hip.h"
#include "fault.h"
#include "make_image.h"
#include "fake_problem.h"
#include "tap.h"

static char directory[256];
static struct aothip_context *context;

static const char *const targets[] = {"gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx1100",
                                      "gfx1151", "gfx942:sramecc+:xnack-"};

static void write_images(void)
{
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        struct make_image image = make_image(gpus[i], NULL);
        make_image_write(&image, directory, gpus[i]);
        free(image.bytes);
    }
}

static void restart(void)
{
    aothip_close(context);
    fake_hip_reset();
    fake_hip.devices = 5;
    memcpy(fake_hip.targets, targets, sizeof(targets));
    if (aothip_open(directory, &context))
        ok(0, "%s", aothip_last_error());
}

static void test_open(void)
{
    struct aothip_context *other = (struct aothip_context *)&other;
    is_int(aothip_open("/nonexistent", &other), AOTHIP_E_NO_IMAGES, "a directory that is not");
    ok(!other, "gives no context");
    is_int(aothip_open(directory, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    other = (struct aothip_context *)&other;
    is_int(aothip_open("", &other), AOTHIP_E_ARGUMENT, "a directory without a name");
    contains(aothip_last_error(), "directory is \"\"", "is told");
    ok(!other, "gives no context");
    restart();
    is_str(aothip_directory(context), directory, "the directory");
    is_int(fake_hip.calls, 0, "opening calls no HIP");
    aothip_close(NULL);
    is_str(aothip_version(), "0.1.0", "version");
}

static void test_launch(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "on the null stream");
    is_str(fake_hip.symbol, "attn_fwd_f16_d64_fast", "the fast kernel");
    is_int(fake_hip.device, 0, "on the current device");
    is_int(fake_hip.grid[0], 8, "one tile of 8 heads");
    is_int(fake_hip.grid[1] * fake_hip.grid[2], 2, "two batch entries");
    is_int(fake_hip.block[0] * fake_hip.block[1] * fake_hip.block[2], 256, "256 threads");
    is_int(fake_hip.lds, 0, "no dynamic LDS");
    is_int(fake_hip.args.problem.q, 0x10000000, "q");
    is_int(fake_hip.args.problem.group, 4, "4 query heads per key head");
    p.softcap = 30;
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(3)), AOTHIP_OK, "on device 3's stream");
    is_str(fake_hip.symbol, "attn_fwd_f16_d64_general", "the kernel for scores");
    is_int(fake_hip.device, 3, "loaded there");
    ok(fake_hip.stream == fake_hip_stream(3), "launched there");
    p.q.dtype = p.k.dtype = p.v.dtype = p.o.dtype = AOTHIP_BF16;
    p.q.size[3] = p.k.size[3] = p.v.size[3] = p.o.size[3] = 1;
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(1)), AOTHIP_OK, "head dim 1");
    is_str(fake_hip.symbol, "attn_fwd_bf16_d64_general", "the general kernel of BF16");
    is_int(aothip_attn_fwd(context, &p, (void *)1), AOTHIP_OK, "on hipStreamLegacy");
    is_int(fake_hip.device, 0, "which is the current device's");
    is_int(fake_hip.loads, 4, "each (device, kernel) is loaded once");
    is_int(fake_hip.wrong_device, 0, "always with its device current");
    hipGetDevice(&fake_hip.device);
    is_int(fake_hip.device, 0, "and the current device is restored");
}

static void test_warm(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    int blocks, allocations;
    restart();
    aothip_attn_fwd(context, &p, fake_hip_stream(2));
    fake_hip_reset();
    blocks = fault_blocks();
    allocations = fault_allocations();
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(2)), AOTHIP_OK, "a warm call");
    is_int(fake_hip.queries, 1, "asks HIP once");
    is_int(fake_hip.calls, 2, "and launches; no more");
    is_int(fault_allocations(), allocations, "and allocates nothing");
    is_int(fault_blocks(), blocks, "nor frees");
    fake_hip_reset();
    aothip_attn_fwd(context, &p, NULL);
    fake_hip_reset();
    aothip_attn_fwd(context, &p, NULL);
    is_int(fake_hip.calls, 2, "the same on the null stream");
}

/* A loaded kernel keeps one block: its code, 4096 bytes as the log of test_log() says. */
static void test_memory(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    int blocks;
    restart();
    aothip_attn_fwd(context, &p, NULL);
    blocks = fault_blocks();
    p.softcap = 30;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a second kernel");
    is_int(fault_blocks(), blocks + 1, "keeps its code and nothing else");
}

static void test_warm_up(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    restart();
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(3)), AOTHIP_OK, "one kernel loaded");
    is_int(aothip_warm_up(context, fake_hip_stream(3)), AOTHIP_OK, "warming up the device");
    is_int(fake_hip.loads, MAKE_IMAGE_ENTRIES, "loads the others");
    is_int(fake_hip.launches, 1, "and launches none");
    is_int(aothip_warm_up(context, fake_hip_stream(3)), AOTHIP_OK, "a second time");
    is_int(fake_hip.loads, MAKE_IMAGE_ENTRIES, "loads nothing");
    fake_hip_reset();
    p.softcap = 30;
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(3)), AOTHIP_OK, "another kernel");
    is_int(fake_hip.calls, 2, "is launched at once");
    is_int(aothip_warm_up(context, NULL), AOTHIP_OK, "the current device");
    is_int(fake_hip.loads, MAKE_IMAGE_ENTRIES, "by itself");
    is_int(aothip_warm_up(NULL, NULL), AOTHIP_E_ARGUMENT, "context NULL");
}

static void test_check(void)
{
    restart();
    for (int i = 0; i < 5; i++)
        ok(aothip_check_device(context, i) == AOTHIP_OK, "device %d can", i);
    is_int(fake_hip.driver_calls, 0, "checking loads and launches nothing");
    is_int(aothip_check_stream(context, fake_hip_stream(3)), AOTHIP_OK, "device 3's stream can");
    is_int(aothip_check_stream(context, NULL), AOTHIP_OK, "the null stream can");
    is_int(aothip_check_device(context, 5), AOTHIP_E_NO_DEVICE, "there is no device 5");
    contains(aothip_last_error(), "device 5: HIP has 5", "as is told");
    is_int(aothip_check_device(context, -1), AOTHIP_E_NO_DEVICE, "nor a device -1");
    is_int(aothip_check_device(context, 1000), AOTHIP_E_NO_DEVICE, "nor a device 1000");
    is_int(aothip_check_device(NULL, 0), AOTHIP_E_ARGUMENT, "context NULL");
    is_int(aothip_check_stream(NULL, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    restart();
    fake_hip.targets[0] = "gfx906:sramecc+:xnack-";
    is_int(aothip_check_device(context, 0), AOTHIP_E_NO_IMAGES, "a GPU without images");
    contains(aothip_last_error(), "no images for gfx906", "is named");
    restart();
    fake_hip.devices = 0;
    is_int(aothip_check_device(context, 0), AOTHIP_E_NO_DEVICE, "a machine without GPUs");
}

static void test_info(void)
{
    struct aothip_device_info info = {.struct_size = sizeof(info)};
    restart();
    is_int(aothip_stream_device(context, fake_hip_stream(1), &info), AOTHIP_OK, "describe");
    is_str(info.gpu, "gfx942", "GPU");
    is_str(info.target, "gfx942:sramecc+:xnack-", "target");
    is_str(info.name, "Fake GPU 1", "name");
    is_int(info.compute_units, 304, "compute units");
    is_int(info.device, 1, "device number");
    memset(&info, 0x55, sizeof(info));
    info.struct_size = offsetof(struct aothip_device_info, memory_bytes);
    is_int(aothip_stream_device(context, NULL, &info), AOTHIP_OK, "an older, shorter struct");
    is_int(info.memory_bytes, 0x5555555555555555, "is not written beyond its size");
    is_int(info.device, 0, "but up to it");
    info.struct_size = 0;
    is_int(aothip_stream_device(context, NULL, &info), AOTHIP_E_ARGUMENT, "struct_size 0");
    is_int(aothip_stream_device(context, NULL, NULL), AOTHIP_E_ARGUMENT, "info NULL");
}

static void test_refusals(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    restart();
    is_int(aothip_attn_fwd(NULL, &p, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    is_int(aothip_attn_fwd(context, NULL, NULL), AOTHIP_E_ARGUMENT, "params NULL");
    p.q.data = NULL;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_ARGUMENT, "q.data NULL");
    contains(aothip_last_error(), "q: data is NULL", "is told");
    is_int(fake_hip.calls, 0, "HIP was not called");
    p = problem_make();
    p.q.size[3] = p.k.size[3] = p.q.stride[2] = p.k.stride[2] = 136;
    p.softcap = 30;
    p.k.data = (void *)0x900000000;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "head dim 136");
    contains(aothip_last_error(), "no kernel attn_fwd for F16, head dim 136, score of gfx90a in ",
             "is told");
    contains(aothip_last_error(), "amd-gfx90a", "with the file");
    is_int(fake_hip.driver_calls, 0, "nothing was launched");
    p = problem_make();
    p.q.size[0] = p.k.size[0] = p.v.size[0] = p.o.size[0] = 0;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "batch 0");
    is_int(fake_hip.driver_calls, 0, "launches nothing");
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(77)), AOTHIP_E_HIP, "no such stream");
    is_int(aothip_last_hip_error(), hipErrorInvalidHandle, "HIP's code");
    contains(aothip_last_error(), "hipStreamGetDevice", "and function");
}

/* Damage in one entry's frame: check_device refuses the GPU, other entries still work. */
static void test_damaged_image(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    struct make_image image = make_image("gfx90a", NULL);
    image.bytes[make_image_entry(&image, 1)->frame_offset + 20] ^= 16;
    make_image_write(&image, directory, "gfx90a");
    restart();
    is_int(aothip_check_device(context, 0), AOTHIP_E_CHECKSUM, "a damaged frame");
    contains(aothip_last_error(), "attn_fwd_f16_d64_general: frame_hash", "is named");
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "another frame works");
    p.softcap = 30;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_CHECKSUM, "the damaged one does not");
    is_int(fake_hip.loads, 1, "and never reaches the driver");
    make_image_header(&image)->version++;
    make_image_write(&image, directory, "gfx90a");
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_VERSION, "another version");
    is_int(fake_hip.driver_calls, 0, "never reaches the driver");
    write_images();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a repaired file works at once");
    free(image.bytes);
}

/* Code for another setting of xnack than the device's. */
static void test_no_fit(void)
{
    const char *const only_on[] = {"gfx90a:xnack+", NULL};
    struct aothip_attn_fwd_params p = problem_make();
    struct make_image image = make_image("gfx90a", only_on);
    make_image_write(&image, directory, "gfx90a");
    restart();
    is_int(aothip_check_device(context, 0), AOTHIP_E_TARGET, "code for xnack+ on xnack-");
    contains(aothip_last_error(), "no code object fits gfx90a:sramecc+:xnack-", "is told");
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_TARGET, "and not launched");
    fake_hip.targets[0] = "gfx90a:sramecc+:xnack+";
    restart();
    fake_hip.targets[0] = "gfx90a:sramecc+:xnack+";
    is_int(aothip_check_device(context, 0), AOTHIP_OK, "on xnack+ it fits");
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "and runs");
    write_images();
    free(image.bytes);
}

/* What a good and a bad call print at a level of AOTHIP_LOG; "" at none. */
static const char *logged(const char *level, char text[4096])
{
    struct aothip_attn_fwd_params p = problem_make();
    const int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    size_t size;
    aothip_close(context);
    if (level)
        setenv("AOTHIP_LOG", level, 1);
    else
        unsetenv("AOTHIP_LOG");
    dup2(fileno(file), STDERR_FILENO);
    aothip_open(directory, &context);
    aothip_attn_fwd(context, &p, fake_hip_stream(4));
    p.scale = INFINITY;
    aothip_attn_fwd(context, &p, fake_hip_stream(4));
    aothip_set_error(AOTHIP_E_UNSUPPORTED, "from above");
    dup2(saved, STDERR_FILENO);
    close(saved);
    unsetenv("AOTHIP_LOG");
    rewind(file);
    size = fread(text, 1, 4095, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static void test_log(void)
{
    char text[4096];
    restart();
    is_str(logged(NULL, text), "", "nothing is printed unasked");
    is_str(logged("0", text), "", "nor at AOTHIP_LOG=0");
    is_str(logged("1", text),
           "aothip: AOTHIP_E_ARGUMENT: scale is inf\naothip: AOTHIP_E_UNSUPPORTED: from above\n",
           "AOTHIP_LOG=1 prints failures");
    logged("2", text);
    contains(text, "aothip: HIP runtime: this process\n", "AOTHIP_LOG=2 prints the runtime");
    contains(text, "amd-gfx942/flash/attn.zst: 21 entries\n", "the image file");
    contains(text, "aothip: device 4: loaded attn_fwd_f16_d64_fast, 4096 bytes\n", "each load");
    contains(text, "device 4: launch attn_fwd_f16_d64_fast, grid 8 x 2 x 1 of 256 threads\n",
             "each launch");
    contains(text, "scale is inf", "and failures");
}

/* Of a table that is wrong: where it is the images' own, and where AOTHIP_TUNE names it. */
static void test_costs(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    char text[4096], path[512];
    FILE *f;
    unsetenv("AOTHIP_TUNE"); /* all tests are run with "none" */
    restart();
    contains(logged("2", text), "/tune.txt does not exist: kernels by order of preference\n",
             "no table is told at AOTHIP_LOG=2");
    snprintf(path, sizeof(path), "%s/amd-gfx942/flash/tune.txt", directory);
    f = fopen(path, "w");
    if (!f || fputs("aothip-tune 1\ngpu\n", f) < 0 || fclose(f))
        exit(99);
    contains(logged("1", text), "/tune.txt:2: 1 words instead of \"gpu NAME\": kernels by order of",
             "a wrong one at AOTHIP_LOG=1");
    ok(!strstr(text, "launch"), "and nothing else fails");
    aothip_close(context);
    setenv("AOTHIP_TUNE", path, 1);
    is_int(aothip_open(directory, &context), AOTHIP_OK, "AOTHIP_TUNE names it");
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(4)), AOTHIP_E_FORMAT,
           "then it fails calls");
    contains(aothip_last_error(), "/tune.txt:2: ", "and is told");
    aothip_close(context);
    remove(path);
    aothip_open(directory, &context);
    is_int(aothip_attn_fwd(context, &p, fake_hip_stream(4)), AOTHIP_E_IO, "one that is not there");
    contains(aothip_last_error(), "AOTHIP_TUNE: ", "likewise");
    setenv("AOTHIP_TUNE", "none", 1);
    ok(!strstr(logged("2", text), "preference"), "none asks for none");
    unsetenv("AOTHIP_TUNE");
}

struct listing {
    int count, stop_at, bad;
    char last[64];
};

static int visit(const struct aothip_entry *entry, void *user)
{
    struct listing *listing = user;
    listing->bad += entry->struct_size != sizeof(*entry) || !strstr(entry->file, entry->gpu) ||
                    entry->code_bytes != 8192 || entry->frame_bytes == 0 || entry->threads != 256 ||
                    entry->score != (entry->aligned == 0) || entry->paged != entry->score ||
                    entry->vgprs != 200 || entry->dim_v_max != entry->dim_max;
    snprintf(listing->last, sizeof(listing->last), "%s %s", entry->gpu, entry->symbol);
    return ++listing->count == listing->stop_at;
}

static void test_list(void)
{
    struct listing listing = {0};
    char path[512];
    restart();
    snprintf(path, sizeof(path), "%s/amd-gfx950", directory);
    mkdir(path, 0777);
    is_int(aothip_list(context, visit, &listing), AOTHIP_OK, "list");
    is_int(listing.count, 4 * MAKE_IMAGE_ENTRIES, "every entry of every GPU");
    is_int(listing.bad, 0, "with what it says");
    is_str(listing.last, "gfx942 attn_bwd_begin_f16_d128_general", "sorted by GPU");
    is_int(fake_hip.calls, 0, "without HIP");
    listing = (struct listing){.stop_at = 3};
    is_int(aothip_list(context, visit, &listing), AOTHIP_OK, "a visitor that stops");
    is_int(listing.count, 3, "is called no more");
    is_int(aothip_list(context, NULL, NULL), AOTHIP_E_ARGUMENT, "visit NULL");
    is_int(aothip_list(NULL, visit, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    rmdir(path);
}

/* Eight threads, each over all devices in its own order, on a cold context. */
static void *run_thread(void *number)
{
    intptr_t failures = 0;
    for (int i = 0; i < 200; i++) {
        struct aothip_attn_fwd_params p = problem_make();
        int device = (int)((i + (intptr_t)number) % 5);
        p.mask = i % 3;
        p.softcap = (float)(i % 3);
        p.q.dtype = p.k.dtype = p.v.dtype = p.o.dtype = i % 2 ? AOTHIP_F16 : AOTHIP_BF16;
        failures += aothip_check_device(context, device) != AOTHIP_OK;
        failures += aothip_attn_fwd(context, &p, fake_hip_stream(device)) != AOTHIP_OK;
        failures += aothip_attn_fwd(context, NULL, NULL) != AOTHIP_E_ARGUMENT;
    }
    return (void *)failures;
}

static void test_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    void *failures;
    restart();
    fake_hip.load_microseconds = 2000;
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failures);
        is_int((intptr_t)failures, 0, "a thread without failures");
    }
    is_int(fake_hip.launches, THREADS * 200, "every launch happened");
    is_int(fake_hip.loads, 5 * 4, "every (device, kernel) was loaded once");
    is_int(fake_hip.wrong_device, 0, "on its own device");
}

int main(void)
{
    make_directory(directory);
    write_images();
    test_open();
    test_launch();
    test_warm();
    test_memory();
    test_warm_up();
    test_check();
    test_info();
    test_refusals();
    test_damaged_image();
    test_no_fit();
    test_log();
    test_costs();
    test_list();
    test_threads();
    aothip_close(context);
    is_int(fake_hip.unloads, fake_hip.loads, "closing unloads everything");
    remove_directory(directory);
    return tap_done();
}
