/* The libraries of a torch package where they are DLLs. */
#include "torch_libraries.h"

#include "torch_package.h"

#include <stdio.h>
#include <string.h>

/* The first DLL whose name begins so: an import library (.lib) may lie beside it. */
static int find_dll(const char *directory, const char *prefix, char path[TORCH_PATH])
{
    const char *end;
    if (torch_find_file(directory, prefix, path))
        return -1;
    end = strrchr(path, '.');
    return end && !strcmp(end, ".dll") ? 0 : -1;
}

void torch_look_at_libraries(struct env_report *report, const char *torch)
{
    char lib[TORCH_PATH], beside[TORCH_PATH], path[TORCH_PATH];
    if (snprintf(lib, sizeof(lib), "%s/lib", torch) >= (int)sizeof(lib) ||
        snprintf(beside, sizeof(beside), "%s/../_rocm_sdk_core/bin", torch) >= (int)sizeof(beside))
        return;
    if (!find_dll(lib, "amdhip64", path))
        env_add(report, ENV_INFO, "torch", NULL, "it loads its own HIP runtime, %s", path);
    else if (!find_dll(beside, "amdhip64", path))
        env_add(report, ENV_INFO, "torch", NULL,
                "it loads the HIP runtime of the package beside it, %s", path);
    else
        env_add(report, ENV_INFO, "torch", NULL, "it loads the system's HIP runtime");
    if (find_dll(lib, "aotriton_v2", path) && find_dll(lib, "libaotriton_v2", path)) {
        env_add(report, ENV_WARN, "torch",
                "Call aothip.enable() in Python to put these kernels there.",
                "it has no AOTriton: no flash attention of its own");
        return;
    }
    env_add(report, ENV_OK, "torch", NULL, "%s is %s", path,
            torch_is_ours(path) ? "aothip" : "AOTriton");
    torch_look_at_images(report, lib);
}
