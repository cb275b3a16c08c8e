/* The libraries of a torch package where they are ELF files. */
#include "torch_libraries.h"

#include "elf_names.h"
#include "torch_package.h"

#include <stdio.h>
#include <string.h>

static int needs(const struct elf_names *names, const char *prefix)
{
    int i;
    for (i = 0; i < names->needed; i++)
        if (!strncmp(names->need[i], prefix, strlen(prefix)))
            return 1;
    return 0;
}

static void look_at_library(struct env_report *report, const char *lib)
{
    struct elf_names names;
    char path[TORCH_PATH];
    const char *version;

    if (torch_find_file(lib, "libaotriton_v2.so", path)) {
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
            needs(&names, "libaothip") || torch_is_ours(path) ? "aothip" : "AOTriton",
            version ? version + 4 : "unknown");
    if (needs(&names, "libaothip") && torch_find_file(lib, "libaothip.so", path))
        env_add(report, ENV_WARN, "torch", "Copy libaothip.so beside it.",
                "%s has no libaothip.so, so the system's is loaded", lib);
    torch_look_at_images(report, lib);
}

void torch_look_at_libraries(struct env_report *report, const char *torch)
{
    char lib[TORCH_PATH], runtime[TORCH_PATH];
    if (snprintf(lib, sizeof(lib), "%s/lib", torch) >= (int)sizeof(lib))
        return;
    if (torch_find_file(lib, "libamdhip64.so", runtime))
        env_add(report, ENV_INFO, "torch", NULL, "it loads the system's HIP runtime");
    else
        env_add(report, ENV_INFO, "torch", NULL, "it loads its own HIP runtime, %s", runtime);
    look_at_library(report, lib);
}
