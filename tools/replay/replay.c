/* aothip-replay: runs captured launches again, on the emulator or a GPU, and compares. */
#include "cli.h"
#include "device.h"
#include "ref_fp8.h"
#include "half.h"
#include "profile.h"
#include "recording.h"
#include "timeline.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-replay [option ...] DIR ...\n"
    "Runs launches again that a program wrote down under AOTHIP_CAPTURE, and compares\n"
    "what they leave in memory with what was captured.\n"
    "\n"
    "      --emulate[=GPU]    run on the emulator; default: as the GPU captured\n"
    "      --device N         which GPU, from 0; default 0\n"
    "      --tolerance X      largest difference allowed, as a part of the largest\n"
    "                         magnitude in the tensor; default 0.01\n"
    "      --exact            the same as --tolerance 0\n"
    "      --profile          emulated: where the clocks of a GPU would go, predicted,\n"
    "                         by cause and by instruction\n"
    "      --timeline FILE    emulated: waves and pipes over clocks, for Perfetto\n"
    "      --help, --version\n"
    "\n"
    "Exit status: 0 all launches agree, 1 one does not or failed, 2 wrong command.\n";

enum { EMULATE = 256, DEVICE, TOLERANCE, EXACT, PROFILE, TIMELINE, HELP, SHOW_VERSION };

static const struct option known[] = {{"emulate", optional_argument, NULL, EMULATE},
                                      {"device", required_argument, NULL, DEVICE},
                                      {"tolerance", required_argument, NULL, TOLERANCE},
                                      {"exact", no_argument, NULL, EXACT},
                                      {"profile", no_argument, NULL, PROFILE},
                                      {"timeline", required_argument, NULL, TIMELINE},
                                      {"help", no_argument, NULL, HELP},
                                      {"version", no_argument, NULL, SHOW_VERSION},
                                      {NULL, 0, NULL, 0}};

struct options {
    const char *emulate; /* NULL: no; "": as captured */
    int device, profile;
    double tolerance;
    const char *timeline; /* a file's name, or NULL */
};

/* What is open for all captures. */
struct session {
    struct device_runtime runtime;
    struct device device;
    int timed; /* 1: launches are timed by `time` */
    struct device_time time;
    struct timeline *timeline; /* or NULL */
};

/* Device memory of a replay. */
struct run {
    const struct device *device;
    hipModule_t module;
    void *memory[REPLAY_MAX];
};

static void run_free(struct run *run)
{
    for (int i = 0; i < REPLAY_MAX; i++)
        device_free(run->device, run->memory[i]);
    if (run->module)
        run->device->runtime->hip.module_unload(run->module);
}

static enum aothip_status upload(struct run *run, const struct replay *replay, struct status *why)
{
    for (unsigned i = 0; i < replay->buffer_count; i++) {
        const struct replay_file *before = &replay->buffers[i].before;
        if (device_alloc(run->device, before->size, &run->memory[i], why) ||
            device_upload(run->device, run->memory[i], before->bytes, before->size, why))
            return why->code;
    }
    return AOTHIP_OK;
}

/* Puts the new buffers' addresses into the kernel arguments. */
static void relocate(const struct run *run, const struct replay *replay)
{
    for (unsigned i = 0; i < replay->tensor_count; i++) {
        const struct replay_tensor *tensor = &replay->tensors[i];
        const uint64_t address = (uintptr_t)run->memory[tensor->buffer] + tensor->offset;
        memcpy(replay->kernarg.bytes + tensor->kernarg_offset, &address, sizeof(address));
    }
}

static enum aothip_status launch(struct run *run, const struct replay *replay, struct status *why)
{
    const struct hip *hip = &run->device->runtime->hip;
    const uint32_t *grid = replay->grid, *block = replay->block;
    size_t size = replay->kernarg.size;
    hipFunction_t function = NULL;
    void *arguments[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, replay->kernarg.bytes,
                         HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    hipError_t error = hip->module_load_data(&run->module, replay->code.bytes);
    if (error != hipSuccess)
        return hip_fail(hip, "hipModuleLoadData", error, why);
    error = hip->module_get_function(&function, run->module, replay->kernel);
    if (error != hipSuccess)
        return hip_fail(hip, "hipModuleGetFunction", error, why);
    error =
        hip->module_launch_kernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                  replay->dynamic_lds, run->device->stream, NULL, arguments);
    if (error != hipSuccess)
        return hip_fail(hip, "hipModuleLaunchKernel", error, why);
    return device_finish(run->device, why);
}

static double element(const uint8_t *bytes, int dtype)
{
    int32_t narrow;
    int64_t number;
    uint16_t bits;
    float wide;
    switch (dtype) {
    case AOTHIP_BOOL:
        return *bytes;
    case REPLAY_I32:
        memcpy(&narrow, bytes, sizeof(narrow));
        return narrow;
    case REPLAY_I64:
        memcpy(&number, bytes, sizeof(number));
        return (double)number;
    default:
        break;
    }
    if (dtype == AOTHIP_F32) {
        memcpy(&wide, bytes, sizeof(wide));
        return wide;
    }
    if (fp8_is(dtype))
        return fp8_widen(*bytes, dtype);
    memcpy(&bits, bytes, sizeof(bits));
    return dtype == AOTHIP_F16 ? half_from_f16(bits) : half_from_bf16(bits);
}

/* How an output differs from the captured one. */
struct difference {
    int64_t elements, unequal; /* unequal in their bits */
    double largest, magnitude; /* largest |difference|, infinite for a lone NaN; largest |value| */
    int64_t at[4];
};

static void compare_element(struct difference *difference, const uint8_t *got, const uint8_t *want,
                            int dtype, const int64_t at[4])
{
    const double a = element(got, dtype), b = element(want, dtype);
    double distance = fabs(a - b);
    difference->elements++;
    if (isfinite(b) && fabs(b) > difference->magnitude)
        difference->magnitude = fabs(b);
    if (!memcmp(got, want, replay_dtype_bytes(dtype)))
        return;
    difference->unequal++;
    if (isnan(distance))
        distance = isnan(a) && isnan(b) ? 0 : (double)INFINITY;
    if (distance > difference->largest) {
        difference->largest = distance;
        memcpy(difference->at, at, 4 * sizeof(at[0]));
    }
}

/* Compares the elements of `tensor`, and makes them equal in `got`, so that only bytes between and
 * around tensors are left to compare. */
static struct difference compare_tensor(const struct replay_tensor *tensor, uint8_t *got,
                                        const uint8_t *want)
{
    const size_t width = replay_dtype_bytes(tensor->dtype);
    struct difference difference = {0};
    int64_t at[4];
    for (at[0] = 0; at[0] < tensor->size[0]; at[0]++)
        for (at[1] = 0; at[1] < tensor->size[1]; at[1]++)
            for (at[2] = 0; at[2] < tensor->size[2]; at[2]++)
                for (at[3] = 0; at[3] < tensor->size[3]; at[3]++) {
                    size_t place = tensor->offset;
                    for (int i = 0; i < 4; i++)
                        place += (size_t)(at[i] * tensor->stride[i]) * width;
                    compare_element(&difference, got + place, want + place, tensor->dtype, at);
                    memcpy(got + place, want + place, width);
                }
    return difference;
}

static bool report_tensor(const struct replay_tensor *tensor, const struct difference *difference,
                          double tolerance)
{
    const bool good = difference->largest <= tolerance * difference->magnitude;
    printf("  %-5s %lld of %lld elements differ", tensor->name, (long long)difference->unequal,
           (long long)difference->elements);
    if (difference->unequal)
        printf(", by at most %.3g at [%lld, %lld, %lld, %lld] (largest value %.3g)",
               difference->largest, (long long)difference->at[0], (long long)difference->at[1],
               (long long)difference->at[2], (long long)difference->at[3], difference->magnitude);
    printf("  %s\n", good ? "OK" : "FAIL");
    return good;
}

/* Compares buffer `index` after the run with its captured state. */
static bool compare_buffer(const struct replay *replay, unsigned index, uint8_t *got,
                           double tolerance)
{
    const struct replay_buffer *buffer = &replay->buffers[index];
    bool good = true;
    for (unsigned i = 0; i < replay->tensor_count; i++) {
        const struct replay_tensor *tensor = &replay->tensors[i];
        if (tensor->buffer == index && tensor->written) {
            struct difference difference = compare_tensor(tensor, got, buffer->after.bytes);
            good &= report_tensor(tensor, &difference, tolerance);
        }
    }
    for (size_t i = 0; i < buffer->after.size; i++)
        if (got[i] != buffer->after.bytes[i]) {
            printf("  buffer %u: byte %zu, in no output tensor, differs  FAIL\n", index, i);
            return false;
        }
    return good;
}

static bool compare(const struct run *run, const struct replay *replay, double tolerance,
                    struct status *why)
{
    bool good = true;
    for (unsigned i = 0; i < replay->buffer_count; i++) {
        const size_t size = replay->buffers[i].before.size;
        uint8_t *got = malloc(size);
        if (!got) {
            status_set(why, AOTHIP_E_MEMORY, "no memory for %zu bytes", size);
            return false;
        }
        good &= !device_download(run->device, got, run->memory[i], size, why) &&
                compare_buffer(replay, i, got, tolerance);
        free(got);
    }
    return good;
}

/* Prints what the clock made of the capture's launch. */
static void show_times(const struct session *session, const struct options *options,
                       struct status *why)
{
    const struct device_time *time = &session->time;

    for (size_t i = 0; session->timed && i < time->count() && !why->code; i++) {
        const struct emu_time_result *result = time->get(i);
        if (options->profile)
            profile_print(time, result);
        if (!result->timed)
            status_set(why, AOTHIP_E_HIP, "not timed: %s", result->why);
        else if (session->timeline)
            timeline_add(session->timeline, result, why);
    }
}

/* One capture on the session's device; prints what came of it. */
static bool replay_on(const struct session *session, const char *directory,
                      const struct replay *replay, const struct options *options)
{
    const struct device *device = &session->device;
    struct run run = {.device = device};
    struct status why;
    bool good = false;
    status_clear(&why);
    printf("%s\n  %s, captured on %s, grid %u x %u x %u of %u threads, on %s\n", directory,
           replay->kernel, replay->target, replay->grid[0], replay->grid[1], replay->grid[2],
           replay->block[0] * replay->block[1] * replay->block[2], device->properties.target);
    if (session->timed)
        session->time.clear();
    if (!upload(&run, replay, &why)) {
        relocate(&run, replay);
        if (!launch(&run, replay, &why)) {
            good = true;
            if (replay->complete)
                good = compare(&run, replay, options->tolerance, &why);
            else
                printf("  ran to its end; the capture was cut short, so there is nothing to "
                       "compare with\n");
            show_times(session, options, &why);
        }
    }
    fflush(stdout);
    if (why.code)
        cli_say("%s: %s", directory, why.text);
    run_free(&run);
    return good && !why.code;
}

static void parse_options(int argc, char **argv, struct options *options)
{
    int option;
    while ((option = cli_option(argc, argv, ":", known)) != -1)
        switch (option) {
        case EMULATE:
            options->emulate = optarg ? optarg : "";
            break;
        case DEVICE:
            options->device = cli_int("--device", optarg, 0, 4095);
            break;
        case TOLERANCE:
            options->tolerance = cli_number("--tolerance", optarg);
            if (options->tolerance < 0)
                cli_usage_error("--tolerance %s: must not be negative", optarg);
            break;
        case EXACT:
            options->tolerance = 0;
            break;
        case PROFILE:
            options->profile = 1;
            break;
        case TIMELINE:
            options->timeline = optarg;
            break;
        case HELP:
            fputs(help, stdout);
            exit(cli_end(CLI_OK));
        default:
            cli_print_version();
            exit(cli_end(CLI_OK));
        }
    if (optind == argc)
        cli_usage_error("no capture directory given");
}

/* Begins to time launches, if that is wanted. */
static enum aothip_status start_clock(const struct options *options, struct session *session,
                                      struct status *why)
{
    const unsigned flags =
        EMU_TIME_INSTRUCTIONS | (options->timeline ? (unsigned)EMU_TIME_EVENTS : 0);

    if (!options->profile && !options->timeline)
        return AOTHIP_OK;
    if (device_time_open(&session->runtime, &session->time, why) ||
        device_time_start(&session->time, flags, why))
        return why->code;
    session->timed = 1;
    if (options->timeline)
        session->timeline = timeline_open(options->timeline, why);
    return why->code;
}

/* The device that all captures run on; chosen by the options and the first capture. */
static enum aothip_status open_session(const struct options *options, const char *target,
                                       struct session *session, struct status *why)
{
    const char *gpu = options->emulate && *options->emulate ? options->emulate : target;
    if (options->emulate && device_emulate(gpu, why))
        return why->code;
    device_open_runtime(&session->runtime, why);
    if (!options->emulate && (why->code == AOTHIP_E_NO_DEVICE || why->code == AOTHIP_E_NO_HIP))
        cli_say("without a GPU, add --emulate");
    if (why->code || device_open(&session->runtime, options->device, &session->device, why))
        return why->code;
    return start_clock(options, session, why);
}

static bool close_session(struct session *session)
{
    struct status why;

    status_clear(&why);
    if (timeline_close(session->timeline, &why))
        cli_say("%s", why.text);
    if (session->timed)
        session->time.stop();
    device_close(&session->device);
    return !why.code;
}

int main(int argc, char **argv)
{
    struct options options = {.tolerance = 0.01};
    static struct session session;
    bool good = true, open = false;
    cli_name = "aothip-replay";
    parse_options(argc, argv, &options);
    for (int i = optind; i < argc; i++) {
        struct replay replay;
        struct status why;
        status_clear(&why);
        if (!replay_read(argv[i], &replay, &why) && !open)
            open = !open_session(&options, replay.target, &session, &why);
        if (why.code) {
            cli_say("%s", why.text);
            good = false;
        } else {
            good &= replay_on(&session, argv[i], &replay, &options);
        }
        replay_free(&replay);
        if (!open && why.code != AOTHIP_E_IO && why.code != AOTHIP_E_FORMAT &&
            why.code != AOTHIP_E_VERSION)
            break; /* no device: the others would fail alike */
    }
    good &= close_session(&session);
    return cli_end(good ? CLI_OK : CLI_FAILED);
}
