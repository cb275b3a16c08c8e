/* aothip-check: does attention work on the GPUs of this machine, and if not, why not? */
#include "environment.h"
#include "result.h"
#include "cli.h"
#include "runtime_abort.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-check [option ...]\n"
    "Computes attention in many shapes on every GPU and compares it with attention in\n"
    "double precision.\n"
    "\n"
    "      --emulate GPU,...  check emulated GPUs instead, such as gfx942; all: every\n"
    "                         GPU that there are images for\n"
    "      --device N         check this GPU only, from 0\n"
    "      --images DIR       where the kernels are; default: beside libaothip\n"
    "      --quick            a few small shapes only\n"
    "      --environment      look instead at what makes attention slow or absent:\n"
    "                         driver, HIP runtime, torch, environment variables\n"
    "      --torch DIR        the torch package to look at; default: python3's\n"
    "      --root DIR         look for the driver below DIR\n"
    "      --json             print one JSON object instead of text\n"
    "      --help, --version\n"
    "\n"
    "Exit status: 0 everything passed, 1 something failed, 2 wrong command.\n";

struct options {
    struct cli_common common; /* device -1: all */
    const char *torch, *root;
    int quick, json, environment; /* 1: asked for */
};

static void parse_options(int argc, char **argv, struct options *o)
{
    const struct cli_setting settings[] = {
        {"quick", .flag = &o->quick, .value = 1},
        {"json", .flag = &o->json, .value = 1},
        {"environment", .flag = &o->environment, .value = 1},
        {"torch", .text = &o->torch},
        {"root", .text = &o->root},
        {0},
    };

    *o = (struct options){.common.device = -1, .root = ""};
    cli_parse(argc, argv, settings, help, CHECK_DEVICES_MAX - 1, &o->common);
    if (optind < argc)
        cli_usage_error("%s is no option", argv[optind]);
}

/* The library's last failure becomes the status. */
static enum aothip_status take_failure(struct status *why, enum aothip_status code)
{
    if (code) {
        why->hip_error = aothip_last_hip_error();
        status_set(why, code, "%s", aothip_last_error());
    }
    return code;
}

/* Adds one kernel to what is known of its GPU's images. */
static int count_kernel(const struct aothip_entry *entry, void *user)
{
    struct check_report *r = user;
    struct check_image *image = r->images ? &r->image[r->images - 1] : NULL;

    if (!image || strcmp(image->gpu, entry->gpu)) {
        if (r->images == CHECK_IMAGES_MAX)
            return 1;
        image = &r->image[r->images++];
        snprintf(image->gpu, sizeof(image->gpu), "%s", entry->gpu);
        snprintf(image->file, sizeof(image->file), "%s", entry->file);
    }
    image->kernels++;
    image->bytes += entry->frame_bytes;
    return 0;
}

/* "gfx90a,gfx942,...": every GPU that there are images for. */
static void name_gpus(const struct check_report *r, char *names, size_t size)
{
    size_t used = 0;
    int i;
    *names = '\0';
    for (i = 0; i < r->images && used < size; i++)
        used += (size_t)snprintf(names + used, size - used, "%s%s", i ? "," : "", r->image[i].gpu);
}

static const char *cure_of(const struct status *why, const struct options *o)
{
    const char *tune = getenv("AOTHIP_TUNE");
    if (tune && strcmp(tune, "none") != 0 && *tune && why->code && strstr(why->text, tune))
        return "AOTHIP_TUNE names that file: unset it, or have aothip-bench --tune write it anew.";
    switch (why->code) {
    case AOTHIP_E_NO_HIP:
        return o->common.emulate ? NULL
                                 : "Install a HIP runtime (ROCm, or on Windows AMD's driver), name "
                                   "one in\nAOTHIP_HIP_LIBRARY, or try the emulator: --emulate all";
    case AOTHIP_E_NO_DEVICE:
        return o->common.emulate
                   ? NULL
                   : "Is AMD's driver there, may you open its devices (on Linux /dev/kfd and "
                     "/dev/dri), does\nHIP_VISIBLE_DEVICES hide the GPU? Without a GPU: --emulate "
                     "all";
    case AOTHIP_E_NO_IMAGES:
        return "Name the directory with --images or in AOTHIP_IMAGES.";
    case AOTHIP_E_VERSION:
        return "The images and the library must come from the same release; install both anew.";
    case AOTHIP_E_FORMAT:
    case AOTHIP_E_CHECKSUM:
        return "The file is damaged; install the images anew.";
    default:
        return NULL;
    }
}

/* For what the cases came to. */
static const char *cure_of_cases(const struct check_device *d)
{
    int i;
    for (i = 0; i < d->ran; i++)
        if (strstr(d->results[i].why.text, "hipModuleLoadData failed"))
            return "The HIP runtime does not take the kernels' code. Are the images whole "
                   "(aothip-images verify)?\nThe code objects are of version 5; HIP 5.2 and older "
                   "take none of that version.";
    return NULL;
}

/* Opens everything up to the devices. */
static enum aothip_status prepare(const struct options *o, struct check_report *r,
                                  struct aothip_context **context)
{
    char all[sizeof(r->image[0].gpu) * CHECK_IMAGES_MAX];
    const char *gpus = o->common.emulate;

    if (take_failure(&r->error, aothip_open(o->common.images, context)))
        return r->error.code;
    r->directory = aothip_directory(*context);
    /* The images of another GPU may be broken; that fails the check, but does not end it. */
    take_failure(&r->list, aothip_list(*context, count_kernel, r));
    if (!r->images && !r->list.code)
        return status_set(&r->error, AOTHIP_E_NO_IMAGES, "%s holds no images of any GPU",
                          r->directory);
    if (gpus && !strcmp(gpus, "all")) {
        if (!r->images)
            return status_set(&r->error, r->list.code, "%s", r->list.text);
        name_gpus(r, all, sizeof(all));
        gpus = all;
    }
    if (gpus && device_emulate(gpus, &r->error))
        return r->error.code;
    if (device_open_runtime(&r->runtime, &r->error))
        return r->error.code;
    if (o->common.device >= r->runtime.count)
        return status_set(&r->error, AOTHIP_E_NO_DEVICE,
                          "there is no device %d; there %s %d, from 0", o->common.device,
                          r->runtime.count == 1 ? "is" : "are", r->runtime.count);
    if (r->runtime.count > CHECK_DEVICES_MAX)
        r->runtime.count = CHECK_DEVICES_MAX;
    r->device = calloc((size_t)r->runtime.count, sizeof(*r->device));
    if (!r->device)
        return status_set(&r->error, AOTHIP_E_MEMORY, "no memory for the report");
    return AOTHIP_OK;
}

static int applies(const struct options *o, const struct check_case *c,
                   const struct check_device *d, struct aothip_context *context)
{
    return (!o->quick || c->quick) && check_applies(c, d->properties.target, context);
}

/* All cases on one device. */
static void check_device(const struct options *o, struct check_report *r, int number,
                         struct aothip_context *context)
{
    struct check_device *d = &r->device[r->devices++];
    struct device device;
    int i, total = 0;

    d->number = number;
    if (device_open(&r->runtime, number, &device, &r->error))
        return;
    d->properties = device.properties;
    take_failure(&d->check, aothip_check_device(context, number));
    if (!o->json)
        check_print_device(r, d);
    for (i = 0; i < check_case_count; i++)
        total += applies(o, &check_cases[i], d, context);
    for (i = 0; i < check_case_count && !d->check.code; i++) {
        if (!applies(o, &check_cases[i], d, context))
            continue;
        cli_progress("device %d: case %d of %d", number, d->ran + 1, total);
        runtime_abort_in(number, d->ran + 1);
        check_run(&check_cases[i], &device, context, &d->results[i]);
        cli_progress_end();
        d->ran++;
        d->passed += d->results[i].passed;
        if (!o->json) {
            check_print_result(&check_cases[i], &d->results[i]);
            fflush(stdout);
        }
    }
    device_close(&device);
}

/* --environment */
static int check_environment(const struct options *o)
{
    static struct env_report report;

    env_look(&report, o->root, o->common.images, o->torch);
    if (o->json)
        env_print_json(&report);
    else
        env_print(&report);
    return env_passed(&report);
}

int main(int argc, char **argv)
{
    static struct check_report report;
    struct aothip_context *context = NULL;
    struct options o;
    int i, passed;

    cli_name = "aothip-check";
    parse_options(argc, argv, &o);
    if (o.environment)
        return cli_end(check_environment(&o) ? CLI_OK : CLI_FAILED);
    prepare(&o, &report, &context);
    if (!o.json)
        check_print_head(&report);
    for (i = 0; !report.error.code && i < report.runtime.count; i++)
        if (o.common.device < 0 || o.common.device == i)
            check_device(&o, &report, i, context);
    report.cure = cure_of(report.error.code ? &report.error : &report.list, &o);
    for (i = 0; i < report.devices && !report.cure; i++)
        report.cure = report.device[i].check.code ? cure_of(&report.device[i].check, &o)
                                                  : cure_of_cases(&report.device[i]);
    if (o.json)
        check_print_json(&report);
    else
        check_print_tail(&report);
    passed = check_passed(&report);
    free(report.device);
    aothip_close(context);
    return cli_end(passed ? CLI_OK : CLI_FAILED);
}
