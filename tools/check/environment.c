/* Driver, HIP runtime and environment variables: what attention depends on outside the library. */
#include "check_env.h"

#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void env_add(struct env_report *report, enum env_level level, const char *topic, const char *cure,
             const char *format, ...)
{
    struct env_finding *f;
    va_list ap;

    if (report->count == ENV_FINDINGS_MAX)
        return;
    f = &report->finding[report->count++];
    f->level = level;
    f->topic = topic;
    f->cure = cure;
    va_start(ap, format);
    vsnprintf(f->text, sizeof(f->text), format, ap);
    va_end(ap);
}

int env_passed(const struct env_report *report)
{
    int i;
    for (i = 0; i < report->count; i++)
        if (report->finding[i].level == ENV_FAIL)
            return 0;
    return 1;
}

/* The first line of a small file; "" if there is none. */
static const char *read_line(const char *root, const char *path, char *line, size_t size)
{
    char full[PATH_MAX];
    FILE *f;

    *line = '\0';
    snprintf(full, sizeof(full), "%s%s", root, path);
    f = fopen(full, "r");
    if (!f)
        return line;
    if (!fgets(line, (int)size, f))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(f);
    return line;
}

/* gfx_target_version of one node of the driver's topology, 0 for a CPU: 90402 is gfx942. */
static int node_version(const char *root, const char *node)
{
    char path[PATH_MAX], line[256];
    int version = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%s/properties", root, node);
    f = fopen(path, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "gfx_target_version %d", &version) == 1)
            break;
    fclose(f);
    return version;
}

/* The GPUs that the driver drives. */
static void look_at_nodes(struct env_report *report, const char *root)
{
    size_t used = 0, size = sizeof(report->gpus);
    char path[PATH_MAX];
    struct dirent *entry;
    int version;
    DIR *nodes;

    snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root);
    nodes = opendir(path);
    while (nodes && (entry = readdir(nodes)) && used < size) {
        version = entry->d_name[0] == '.' ? 0 : node_version(root, entry->d_name);
        if (version > 0)
            used +=
                (size_t)snprintf(report->gpus + used, size - used, "%sgfx%d%d%x", used ? " " : "",
                                 version / 10000, version / 100 % 100, (unsigned)version % 100);
    }
    if (nodes)
        closedir(nodes);
    if (*report->gpus)
        env_add(report, ENV_OK, "driver", NULL, "it drives %s", report->gpus);
    else
        env_add(report, ENV_FAIL, "driver", "See what the kernel's log says about amdgpu.",
                "it drives no GPU");
}

void env_look_at_driver(struct env_report *report, const char *root)
{
    char path[PATH_MAX], version[256];
    int fd;

    snprintf(path, sizeof(path), "%s/sys/module/amdgpu", root);
    if (access(path, F_OK)) {
        env_add(report, ENV_FAIL, "driver", "Load it with 'modprobe amdgpu', or install it.",
                "the kernel module amdgpu is not loaded");
        return;
    }
    read_line(root, "/sys/module/amdgpu/version", version, sizeof(version));
    env_add(report, ENV_OK, "driver", NULL, "amdgpu %s", *version ? version : "of the kernel");

    snprintf(path, sizeof(path), "%s/dev/kfd", root);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        env_add(report, ENV_FAIL, "driver",
                errno == ENOENT
                    ? "In a container, pass it in with --device=/dev/kfd --device=/dev/dri."
                    : "Join the groups render and video, and log in again.",
                "%s: %s", path, strerror(errno));
        return;
    }
    close(fd);
    env_add(report, ENV_OK, "driver", NULL, "%s can be opened", path);
    look_at_nodes(report, root);
}

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
                why.code == AOTHIP_E_NO_HIP ? "Install ROCm's HIP runtime, libamdhip64."
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
    } else if (!failed) {
        env_add(report, ENV_FAIL, "images", "Install them, or name them in AOTHIP_IMAGES.",
                "aothip's images are not in %s", aothip_directory(context));
    }
    aothip_close(context);
}

/* Whether `name`, a GPU or a family as in gfx11xx or gfx90a_mod0, stands for the GPU. */
static int covers(const char *name, size_t length, const char *gpu, size_t gpu_length)
{
    const char *variant = memchr(name, '_', length);
    size_t i;

    if (variant)
        length = (size_t)(variant - name);
    for (i = 0; i < length && i < gpu_length; i++)
        if (name[i] != gpu[i] && name[i] != 'x')
            return 0;
    return length == gpu_length;
}

void env_miss_gpus(struct env_report *report, const char *topic, const char *who, const char *names)
{
    const char *gpu = report->gpus;

    while (*(gpu += strspn(gpu, " "))) {
        size_t length = strcspn(gpu, " ");
        const char *name = names;
        int found = 0;
        while (!found && *(name += strspn(name, " "))) {
            found = covers(name, strcspn(name, " "), gpu, length);
            name += strcspn(name, " ");
        }
        if (!found)
            env_add(report, ENV_WARN, topic, "That GPU is left to slower attention.",
                    "%s has no kernels for %.*s, which is in this machine", who, (int)length, gpu);
        gpu += length;
    }
}

static const struct {
    const char *name;
    enum env_level level;
    const char *values, *what, *cure;
} variables[] = {
#define VARIABLE(name, level, values, what, cure) {name, ENV_##level, values, what, cure},
#include "check_variables.def"
#undef VARIABLE
};

static int value_matches(const char *rule, const char *value)
{
    return *rule == '*' || (*rule == '1' && atoi(value) != 0) ||
           (!*rule && (!*value || *value == '-'));
}

void env_look_at_variables(struct env_report *report)
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
    env_look_at_variables(report);
}
