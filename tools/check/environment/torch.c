/* Which libaotriton, images and HIP runtime a torch package would load. */
#include "torch.h"

#include "live.h"
#include "python.h"
#include "torch_libraries.h"
#include "torch_package.h"

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
        env_try_torch(report, directory);
        return;
    }
    env_add(report, ENV_OK, "torch", NULL, "%s is version %s, for HIP %s", directory, version, hip);
    torch_look_at_libraries(report, directory);
    env_try_torch(report, directory);
}
