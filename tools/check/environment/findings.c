/* Collects findings. */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
