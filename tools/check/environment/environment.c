/* HIP runtime, images and environment variables: what attention depends on outside the library. */
#include "environment.h"

#include "device.h"
#include "driver.h"
#include "torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look_at_runtime(struct env_report *report)
{
    struct device_runtime runtime;
    struct status why;
    char version[32];

    status_clear(&why);
    device_open_runtime(&runtime, &why);
    if (*runtime.file)
        env_add(report, ENV_INFO, "HIP", NULL, "this process loads %s, version %s", runtime.file,
                *device_runtime_version(&runtime, version) ? version : "unknown");
    if (why.code)
        env_add(report, ENV_FAIL, "HIP",
                why.code == AOTHIP_E_NO_HIP
                    ? "Install a HIP runtime: ROCm, or on Windows AMD's display driver."
                    : "Look at the driver and at the variables below.",
                "%s", why.text);
    else
        env_add(report, ENV_OK, "HIP", NULL, "it shows %d GPU%s", runtime.count,
                runtime.count == 1 ? "" : "s");
}

/* Adds an entry's GPU to a list with a space before each: " gfx90a gfx942". */
static int add_gpu(const struct aothip_entry *entry, void *user)
{
    char *names = user;
    size_t used = strlen(names), length = strlen(entry->gpu);

    if (used < length || strcmp(names + used - length, entry->gpu))
        snprintf(names + used, ENV_TEXT_MAX / 2 - used, " %s", entry->gpu);
    return 0;
}

static void look_at_images(struct env_report *report, const char *images)
{
    struct aothip_context *context = NULL;
    char names[ENV_TEXT_MAX / 2] = "";
    int failed = aothip_open(images, &context);

    if (!failed)
        failed = aothip_list(context, add_gpu, names);
    if (failed)
        env_add(report, ENV_FAIL, "images", "Install them anew, or name them in AOTHIP_IMAGES.",
                "%s", aothip_last_error());
    if (*names) {
        env_add(report, ENV_OK, "images", NULL, "aothip %s has kernels for%s in %s",
                aothip_version(), names, aothip_directory(context));
        env_miss_gpus(report, "images", "aothip", names);
        env_look_at_rights(report, aothip_directory(context));
    } else if (!failed) {
        env_add(report, ENV_FAIL, "images", "Install them, or name them in AOTHIP_IMAGES.",
                "aothip's images are not in %s", aothip_directory(context));
    }
    aothip_close(context);
}

static const struct {
    const char *name;
    enum env_level level;
    const char *values, *what, *cure;
} variables[] = {
#define VARIABLE(name, level, values, what, cure) {name, ENV_##level, values, what, cure},
#include "variables.def"
#undef VARIABLE
};

static int value_matches(const char *rule, const char *value)
{
    return *rule == '*' || (*rule == '1' && atoi(value) != 0) ||
           (!*rule && (!*value || *value == '-'));
}

static void look_at_variables(struct env_report *report)
{
    size_t i;
    for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i].name);
        int matches = value && value_matches(variables[i].values, value);
        if (value)
            env_add(report, matches ? variables[i].level : ENV_OK, "variable",
                    matches ? variables[i].cure : NULL, "%s=%s: %s", variables[i].name, value,
                    variables[i].what);
    }
    for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (!getenv(variables[i].name))
            env_add(report, ENV_INFO, "not set", NULL, "%s: %s", variables[i].name,
                    variables[i].what);
}

void env_look(struct env_report *report, const char *root, const char *images, const char *torch)
{
    env_look_at_driver(report, root);
    look_at_runtime(report);
    look_at_images(report, images);
    env_look_at_torch(report, torch);
    look_at_variables(report);
}
