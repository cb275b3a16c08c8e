/* Which HIP runtime and attention a torch package would load, on Windows. */
#include "torch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "wide_windows.h"

enum { PATH_ROOM = 4096 };

/* Without the current directory on the path, whose torch would be run; see torch.c. */
static const char find_torch[] =
    "python -c \"import sys; sys.path[:] = [p for p in sys.path if p[1:2] == chr(58)]; "
    "import importlib.util as u; s = u.find_spec('torch'); "
    "print(s.submodule_search_locations[0] if s else '')\" 2>nul";

static void ask_python(char directory[PATH_ROOM])
{
    FILE *f = _popen(find_torch, "r");
    *directory = '\0';
    if (!f)
        return;
    if (!fgets(directory, PATH_ROOM, f))
        *directory = '\0';
    directory[strcspn(directory, "\r\n")] = '\0';
    _pclose(f);
}

/* A value of torch/version.py, such as __version__ = '2.9.0+rocm7.0'; "" if it is not there. */
static void read_version(const char *torch, const char *key, char value[64])
{
    const size_t length = strlen(key);
    char path[PATH_ROOM + 16], line[256];
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

/* The first file of `pattern` below `directory`, with its directory; 0 if found. */
static int find_file(const char *directory, const char *pattern, char path[PATH_ROOM])
{
    char whole[PATH_ROOM];
    WIN32_FIND_DATAW item;
    wchar_t *wide;
    HANDLE list;
    char *name;
    snprintf(whole, sizeof(whole), "%s/%s", directory, pattern);
    wide = wide_path(whole);
    list = wide ? FindFirstFileW(wide, &item) : INVALID_HANDLE_VALUE;
    free(wide);
    if (list == INVALID_HANDLE_VALUE)
        return -1;
    FindClose(list);
    name = wide_to(item.cFileName);
    *strrchr(whole, '/') = '\0';
    snprintf(path, PATH_ROOM, "%s/%s", whole, name ? name : pattern);
    free(name);
    return 0;
}

static void look_at_libraries(struct env_report *report, const char *torch)
{
    char path[PATH_ROOM];
    if (!find_file(torch, "lib/amdhip64*.dll", path))
        env_add(report, ENV_INFO, "torch", NULL, "it loads its own HIP runtime, %s", path);
    else if (!find_file(torch, "../_rocm_sdk_core/bin/amdhip64*.dll", path))
        env_add(report, ENV_INFO, "torch", NULL,
                "it loads the HIP runtime of the package beside it, %s", path);
    else
        env_add(report, ENV_INFO, "torch", NULL, "it loads the system's HIP runtime");
    if (!find_file(torch, "lib/aotriton*.dll", path) ||
        !find_file(torch, "lib/libaotriton*.dll", path))
        env_add(report, ENV_OK, "torch", NULL, "%s is there: flash attention by AOTriton", path);
    else
        env_add(report, ENV_WARN, "torch",
                "Call aothip.enable() in Python to put these kernels there.",
                "it has no AOTriton: no flash attention of its own");
}

void env_look_at_torch(struct env_report *report, const char *torch)
{
    char directory[PATH_ROOM], version[64], hip[64];
    if (torch)
        snprintf(directory, sizeof(directory), "%s", torch);
    else
        ask_python(directory);
    if (!*directory) {
        env_add(report, ENV_INFO, "torch", NULL, "python finds no torch");
        return;
    }
    read_version(directory, "__version__", version);
    if (!*version) {
        env_add(report, ENV_FAIL, "torch", "Name the directory that holds torch's version.py.",
                "%s is no torch package", directory);
        return;
    }
    read_version(directory, "hip", hip);
    if (!*hip) {
        env_add(
            report, ENV_FAIL, "torch",
            "Install a PyTorch that was built for ROCm: its version ends in +rocm and a number.",
            "%s is version %s, which was not built for ROCm: it uses no AMD GPU", directory,
            version);
        return;
    }
    env_add(report, ENV_OK, "torch", NULL, "%s is version %s, for HIP %s", directory, version, hip);
    look_at_libraries(report, directory);
}
