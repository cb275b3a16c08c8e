/* Reads what the emulator has counted, in the file that AOTHIP_EMU_COUNTERS names, by launch. */
#ifndef AOTHIP_TEST_LAUNCH_COUNTERS_H
#define AOTHIP_TEST_LAUNCH_COUNTERS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one launch. */
struct launch_counters {
    char kernel[80], target[40];
    long long conflicts, lds_bytes, bytes_loaded, workgroups, instructions;
};

static inline long long launch_number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* Of all classes; they follow each other as "name": number. */
static inline long long launch_instructions(const char *at)
{
    long long sum = 0;

    at = strstr(at, "\"instructions\": {");
    for (const char *end = at ? strchr(at, '}') : NULL; at && at < end; at++)
        if (at[0] == ':' && at[1] == ' ')
            sum += strtoll(at + 1, NULL, 10);
    return sum;
}

/* The text of all launches up to now; overwritten by the next call. */
static inline const char *launch_counters_read(const char *file)
{
    static char text[1 << 20];
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        fclose(f);
    text[n] = '\0';
    return text;
}

/* The next launch, from *at on. */
static inline bool launch_counters_next(const char **at, struct launch_counters *l)
{
    const char *found = strstr(*at, "{\"kernel\": ");

    if (!found ||
        sscanf(found, "{\"kernel\": \"%79[^\"]\", \"device\": %*d, \"target\": \"%39[^:\"]",
               l->kernel, l->target) != 2)
        return false;
    l->conflicts = launch_number_after(found, "\"lds_conflict_cycles\": ");
    l->lds_bytes = launch_number_after(found, "\"lds_bytes\": ");
    l->bytes_loaded = launch_number_after(found, "\"bytes_loaded\": ");
    l->workgroups = launch_number_after(found, "\"workgroups\": ");
    l->instructions = launch_instructions(found);
    *at = found + 1;
    return true;
}

#endif
