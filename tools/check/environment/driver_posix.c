/* The kernel driver, and who may write where the images are, on Linux. */
#include "driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* One node of the driver's topology. */
struct node {
    int version;   /* gfx_target_version: 90402 is gfx942, 0 a CPU */
    int save_size; /* cwsr_size, bytes for the registers of interrupted waves; 0 if it is not told
                    */
};

static struct node read_node(const char *root, const char *name)
{
    char path[PATH_MAX], line[256];
    struct node node = {0, 0};
    FILE *f;

    snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes/%s/properties", root, name);
    f = fopen(path, "r");
    if (!f)
        return node;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "gfx_target_version %d", &node.version) != 1)
            (void)sscanf(line, "cwsr_size %d", &node.save_size);
    fclose(f);
    return node;
}

/*
 * gfx1151 has half as many registers again as other GPUs of gfx11, and a driver that does not tell
 * the size of the area for interrupted waves (before Linux 6.18.4; its ABI is 1.19 or less) makes
 * it a third too small: page faults, or the GPU hangs (ROCm/rocm-systems, pull requests 1988, 2200
 * and 2324; ROCm/TheRock, issue 2151).
 */
static void look_at_save_area(struct env_report *report, const struct node *node)
{
    if (node->version == 110501 && !node->save_size)
        env_add(report, ENV_WARN, "driver",
                "Use Linux 6.18.4 or later, or a driver with the change; until then start the "
                "kernel with amdgpu.cwsr_enable=0.",
                "it does not know how many registers gfx1151 has (no cwsr_size): page faults, "
                "and hangs of the GPU");
}

/* AMD calls this firmware of gfx1151's scheduler broken (ROCm/ROCm, issues 5724 and 5991). */
static void look_at_firmware(struct env_report *report, const char *root)
{
    char path[80], line[64];
    int card;

    for (card = 0; card < 16 && strstr(report->gpus, "gfx1151"); card++) {
        snprintf(path, sizeof(path), "/sys/class/drm/card%d/device/fw_version/mes_fw_version",
                 card);
        if (strtoul(read_line(root, path, line, sizeof(line)), NULL, 16) == 0x83)
            env_add(report, ENV_WARN, "driver",
                    "Install your distribution's linux-firmware, and remove amdgpu-dkms-firmware.",
                    "card%d has the MES firmware 0x83, with which gfx1151 hangs", card);
    }
}

/* The GPUs that the driver drives. */
static void look_at_nodes(struct env_report *report, const char *root)
{
    size_t used = 0, size = sizeof(report->gpus);
    char path[PATH_MAX];
    struct dirent *entry;
    struct node node;
    DIR *nodes;

    snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/topology/nodes", root);
    nodes = opendir(path);
    while (nodes && (entry = readdir(nodes)) && used < size) {
        if (entry->d_name[0] == '.')
            continue;
        node = read_node(root, entry->d_name);
        if (node.version <= 0)
            continue;
        used += (size_t)snprintf(report->gpus + used, size - used, "%sgfx%d%d%x", used ? " " : "",
                                 node.version / 10000, node.version / 100 % 100,
                                 (unsigned)node.version % 100);
        look_at_save_area(report, &node);
    }
    if (nodes)
        closedir(nodes);
    if (*report->gpus)
        env_add(report, ENV_OK, "driver", NULL, "it drives %s", report->gpus);
    else
        env_add(report, ENV_FAIL, "driver", "See what the kernel's log says about amdgpu.",
                "it drives no GPU");
    look_at_firmware(report, root);
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

/* Warns of a file or directory that everybody may change; where the sticky bit is, nobody may. */
static int look_at_mode(struct env_report *report, const char *path, const struct stat *st)
{
    const int is_directory = S_ISDIR(st->st_mode);

    if (!(st->st_mode & S_IWOTH) || (is_directory && st->st_mode & S_ISVTX))
        return 0;
    env_add(report, ENV_WARN, "images", "Take that right away with chmod o-w.",
            "everybody may write in %s, and so decide what runs on your GPU", path);
    return 1;
}

/* The same for what is in a directory, to a depth; the first one that is found is enough. */
static int look_below(struct env_report *report, const char *directory, int depth)
{
    DIR *dir = opendir(directory);
    struct dirent *item;
    int found = 0;

    while (dir && !found && (item = readdir(dir))) {
        char path[PATH_MAX];
        struct stat st;
        if (item->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "%s/%s", directory, item->d_name) >= (int)sizeof(path) ||
            stat(path, &st))
            continue;
        found = look_at_mode(report, path, &st);
        if (!found && S_ISDIR(st.st_mode) && depth > 1)
            found = look_below(report, path, depth - 1);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Who may write images decides what runs on the GPU, in every process that uses them. */
void env_look_at_rights(struct env_report *report, const char *directory)
{
    char path[PATH_MAX], *slash;
    struct stat st;

    if (!realpath(directory, path))
        return;
    look_below(report, path, 3); /* amd-gfx942/flash/attn.zst */
    do {                         /* and what it is in: who may rename it may replace it */
        if (!stat(path, &st))
            look_at_mode(report, path, &st);
        slash = strrchr(path, '/');
        *slash = '\0';
    } while (slash > path);
}
