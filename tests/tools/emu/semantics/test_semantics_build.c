/*
 * Assembles and links the kernels of some cases, in a temporary directory that goes with the
 * program.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_semantics_run.h"
#include "tap.h"

static char directory[] = "/tmp/aothip-semantics-XXXXXX";

static void clean_up(void)
{
    char path[128];

    for (const char *const *n = (const char *const[]){"s", "o", "co", "err", NULL}; *n; n++) {
        snprintf(path, sizeof path, "%s/%s", directory, *n);
        unlink(path);
    }
    rmdir(directory);
}

static const char *tool(const char *variable, const char *otherwise)
{
    const char *v = getenv(variable);

    return v && *v ? v : otherwise;
}

static void *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *p;

    if (!f || fstat(fileno(f), &st)) {
        if (f)
            fclose(f);
        return NULL;
    }
    p = malloc((size_t)st.st_size + 1);
    if (p)
        *size = fread(p, 1, (size_t)st.st_size, f);
    fclose(f);
    if (p)
        p[*size] = 0;
    return p;
}

void *sem_build(const struct oracle_machine *m, const struct sem_case *c, size_t count)
{
    char path[128], command[768];
    size_t size = 0, used;
    FILE *f;
    char *text;

    snprintf(path, sizeof path, "%s/s", directory);
    f = fopen(path, "w");
    if (!f)
        return NULL;
    sem_write_text(f, m, c, count);
    fclose(f);
    if (!strcmp(m->gpu, "gfx950")) /* unknown to llvm-mc 19 */
        snprintf(command, sizeof command,
                 "%s -x assembler --target=amdgcn-amd-amdhsa -mcpu=%s -c -o %s/o %s/s 2>%s/err && ",
                 tool("DEVICE_CLANG", "clang-22"), m->gpu, directory, directory, directory);
    else
        snprintf(
            command, sizeof command,
            "%s -triple=amdgcn-amd-amdhsa -mcpu=%s %s%s -filetype=obj -o %s/o %s/s 2>%s/err && ",
            tool("LLVM_MC", "llvm-mc-19"), m->gpu, *m->attributes ? "-mattr=" : "", m->attributes,
            directory, directory, directory);
    used = strlen(command);
    snprintf(command + used, sizeof command - used, "%s -shared -o %s/co %s/o 2>>%s/err",
             tool("LD_LLD", "ld.lld-19"), directory, directory, directory);
    if (system(command)) {
        snprintf(path, sizeof path, "%s/err", directory);
        text = slurp(path, &size);
        for (char *line = text ? strtok(text, "\n") : NULL, *end = line; line && end;
             line = strtok(NULL, "\n"))
            tap_diag("%s", line);
        free(text);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/co", directory);
    return slurp(path, &size);
}

bool sem_knows(enum oracle_target t)
{
    const char *clang = tool("DEVICE_CLANG", "clang-22");
    char command[512];

    if (t != T_GFX950)
        return true;
    snprintf(command, sizeof command,
             "echo s_endpgm | %s -x assembler --target=amdgcn-amd-amdhsa -mcpu=gfx950 -c -o "
             "/dev/null - >/dev/null 2>&1",
             clang);
    if (system(command) == 0)
        return true;
    tap_diag("%s does not know gfx950: left out", clang);
    return false;
}

bool sem_build_begin(void)
{
    char command[128];

    snprintf(command, sizeof command,
             "%s --version >/dev/null 2>&1 && %s --version >/dev/null 2>&1",
             tool("LLVM_MC", "llvm-mc-19"), tool("LD_LLD", "ld.lld-19"));
    if (system(command))
        tap_skip_all("llvm-mc or ld.lld (version 19) is missing");
    return mkdtemp(directory) && !atexit(clean_up);
}
