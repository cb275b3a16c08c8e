/* Which libaotriton, images and HIP runtime a torch package would load. */
#include "torch.h"

#include "live.h"
#include "python.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds torch without importing it. */
static const char find_torch[] =
    PYTHON_PATH_FIRST "import importlib.util as u; s = u.find_spec('torch')\n"
                      "print(s.submodule_search_locations[0] if s else '')\n";

/* Asks Python where torch is; "" if it is nowhere. */
static void ask_python(char directory[TORCH_PATH])
{
    struct python python;
    char why[64];
    *directory = '\0';
    python_start(&python, find_torch, NULL);
    if (python.output && !fgets(directory, TORCH_PATH, python.output))
        *directory = '\0';
    directory[strcspn(directory, "\r\n")] = '\0';
    if (python_end(&python, why, sizeof(why)))
        *directory = '\0';
}

/* A value of torch/version.py, such as __version__ = '2.9.0+rocm6.4'; "" if it is not there. */
static void read_version(const char *torch, const char *key, char value[64])
{
    char path[TORCH_PATH + 16], line[256];
    const size_t length = strlen(key);
    FILE *f;

    *value = '\0';
    snprintf(path, sizeof(path), "%s/version.py", torch);
    f = fopen(path, "r");
    if (!f)
        return;
    while (fgets(line, sizeof(line), f)) {
        const char *quote = strpbrk(line, "'\"");
        if (!strncmp(line, key, length) && strchr(" :=", line[length]) && quote)
            snprintf(value, 64, "%.*s", (int)strcspn(quote + 1, "'\"\n"), quote + 1);
    }
    fclose(f);
}

int torch_find_file(const char *directory, const char *prefix, char path[TORCH_PATH])
{
    char best[TORCH_PATH] = "";
    struct dirent *entry;
    DIR *d = opendir(directory);

    while (d && (entry = readdir(d)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            (!*best || strcmp(entry->d_name, best) < 0))
            snprintf(best, sizeof(best), "%s", entry->d_name);
    if (d)
        closedir(d);
    if (!*best || snprintf(path, TORCH_PATH, "%s/%s", directory, best) >= TORCH_PATH)
        return -1;
    return 0;
}

int torch_is_ours(const char *library)
{
    static const char text[] = "AOTHIP_IMAGES";
    const size_t length = strlen(text);
    size_t used = 0, n;
    char block[1 << 16];
    FILE *f = fopen(library, "rb");
    int found = 0;

    while (f && !found && !feof(f) && !ferror(f)) {
        n = fread(block + used, 1, sizeof(block) - used, f);
        used += n;
        found = memmem(block, used, text, length) != NULL;
        if (used >= length) { /* what is at the end may be the beginning of it */
            memmove(block, block + used - length + 1, length - 1);
            used = length - 1;
        }
    }
    if (f)
        fclose(f);
    return found;
}

void torch_look_at_images(struct env_report *report, const char *lib)
{
    char path[TORCH_PATH + sizeof("/aotriton.images")], names[ENV_TEXT_MAX / 2] = "";
    struct dirent *entry;
    size_t used = 0;
    DIR *d;

    snprintf(path, sizeof(path), "%s/aotriton.images", lib);
    d = opendir(path);
    while (d && (entry = readdir(d)) && used < sizeof(names))
        if (!strncmp(entry->d_name, "amd-", 4))
            used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", entry->d_name + 4);
    if (d)
        closedir(d);
    if (*names) {
        env_add(report, ENV_OK, "torch", NULL, "images for%s", names);
        env_miss_gpus(report, "torch", "torch's libaotriton", names);
    } else {
        env_add(report, ENV_FAIL, "torch",
                "Copy lib/aotriton.images of the same build to where the library is.",
                "%s holds no images", path);
    }
}

void env_look_at_torch(struct env_report *report, const char *torch)
{
    char directory[TORCH_PATH], version[64], hip[64], cuda[64];

    if (torch)
        snprintf(directory, sizeof(directory), "%s", torch);
    else
        ask_python(directory);
    if (!*directory) {
        env_add(report, ENV_INFO, "torch", NULL, "%s finds no torch", python_name);
        return;
    }
    read_version(directory, "__version__", version);
    if (!*version) {
        env_add(report, ENV_FAIL, "torch", "Name the directory that holds torch's version.py.",
                "%s is no torch package", directory);
        return;
    }
    read_version(directory, "hip", hip);
    read_version(directory, "cuda", cuda);
    if (!*hip) {
        env_add(
            report, ENV_FAIL, "torch",
            "Install a PyTorch that was built for ROCm: its version ends in +rocm and a number.",
            "%s is version %s, which was not built for ROCm but for %s%s: it uses no AMD GPU",
            directory, version, *cuda ? "CUDA " : "the processor alone", cuda);
        return;
    }
    env_add(report, ENV_OK, "torch", NULL, "%s is version %s, for HIP %s", directory, version, hip);
    torch_look_at_libraries(report, directory);
    env_try_torch(report, directory);
}
