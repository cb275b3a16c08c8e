/* Which libaotriton, images and HIP runtime a torch package would load. */
#include "torch.h"

#include "elf_names.h"
#include "live.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * `python3 -c` puts the current directory first on its path, and a torch/ there would be run. -I and
 * -P are no way out: the one hides what the user has installed and PYTHONPATH, the other came with
 * 3.11. So the script takes it away before it imports anything but sys, which is built in; what else
 * Python itself imports when it starts does not come from there. Names in PYTHONPATH that stand for
 * the current directory go too.
 */
static const char find_torch[] =
    "python3 -c '" ENV_PYTHON_PATH "import importlib.util as u; s = u.find_spec(\"torch\"); "
    "print(s.submodule_search_locations[0] if s else \"\")' 2>/dev/null";

/* Asks python3 where torch is, without importing it; "" if it is nowhere. */
static void ask_python(char directory[PATH_MAX])
{
    FILE *f = popen(find_torch, "r");
    *directory = '\0';
    if (!f)
        return;
    if (!fgets(directory, PATH_MAX, f))
        *directory = '\0';
    directory[strcspn(directory, "\n")] = '\0';
    pclose(f);
}

/* A value of torch/version.py, such as __version__ = '2.9.0+rocm6.4'; "" if it is not there. */
static void read_version(const char *torch, const char *key, char value[64])
{
    char path[PATH_MAX], line[256];
    size_t length = strlen(key);
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

/* The first file in `directory` whose name begins with `prefix`, by the alphabet; 0 if found. */
static int find_file(const char *directory, const char *prefix, char path[PATH_MAX])
{
    char best[NAME_MAX + 1] = "";
    struct dirent *entry;
    DIR *d = opendir(directory);

    while (d && (entry = readdir(d)))
        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            (!*best || strcmp(entry->d_name, best) < 0))
            snprintf(best, sizeof(best), "%s", entry->d_name);
    if (d)
        closedir(d);
    if (!*best || snprintf(path, PATH_MAX, "%s/%s", directory, best) >= PATH_MAX)
        return -1;
    return 0;
}

static int needs(const struct elf_names *names, const char *prefix)
{
    int i;
    for (i = 0; i < names->needed; i++)
        if (!strncmp(names->need[i], prefix, strlen(prefix)))
            return 1;
    return 0;
}

/* Whether the bytes of `text` are anywhere in a file. */
static int holds(const char *path, const char *text)
{
    size_t length = strlen(text), used = 0, n;
    char block[1 << 16];
    FILE *f = fopen(path, "rb");
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

/* "gfx90a gfx942": the GPUs that lib/aotriton.images has. */
static void look_at_images(struct env_report *report, const char *lib)
{
    char path[PATH_MAX + sizeof("/aotriton.images")], names[ENV_TEXT_MAX / 2] = "";
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

static void look_at_library(struct env_report *report, const char *lib)
{
    struct elf_names names;
    char path[PATH_MAX];
    const char *version;

    if (find_file(lib, "libaotriton_v2.so", path)) {
        env_add(report, ENV_WARN, "torch",
                "Build PyTorch with AOTRITON_INSTALLED_PREFIX, or take one built for ROCm.",
                "%s has no libaotriton_v2.so: no flash attention by AOTriton or aothip", lib);
        return;
    }
    if (elf_read_names(path, &names)) {
        env_add(report, ENV_FAIL, "torch", "Install it anew.", "%s is no library", path);
        return;
    }
    version = strstr(names.soname, ".so.");
    env_add(report, ENV_OK, "torch", NULL, "%s is %s, interface %s", path,
            needs(&names, "libaothip") || holds(path, "AOTHIP_IMAGES") ? "aothip" : "AOTriton",
            version ? version + 4 : "unknown");
    if (needs(&names, "libaothip") && find_file(lib, "libaothip.so", path))
        env_add(report, ENV_WARN, "torch", "Copy libaothip.so beside it.",
                "%s has no libaothip.so, so the system's is loaded", lib);
    look_at_images(report, lib);
}

void env_look_at_torch(struct env_report *report, const char *torch)
{
    char directory[PATH_MAX], lib[PATH_MAX], runtime[PATH_MAX], version[64], hip[64], cuda[64];

    if (torch)
        snprintf(directory, sizeof(directory), "%s", torch);
    else
        ask_python(directory);
    if (!*directory) {
        env_add(report, ENV_INFO, "torch", NULL, "python3 finds no torch");
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
    if (snprintf(lib, sizeof(lib), "%s/lib", directory) >= (int)sizeof(lib))
        return;
    if (find_file(lib, "libamdhip64.so", runtime))
        env_add(report, ENV_INFO, "torch", NULL, "it loads the system's HIP runtime");
    else
        env_add(report, ENV_INFO, "torch", NULL, "it loads its own HIP runtime, %s", runtime);
    look_at_library(report, lib);
    env_try_torch(report, directory);
}
