/* Writes the counters of each launch to the file that AOTHIP_EMU_COUNTERS names: one JSON list. */
#include "handles.h"

#include <stdio.h>
#include <string.h>

static const char *const class_names[EMU_CLASSES] = {
    "salu", "branch", "message", "smem", "valu", "trans", "matrix", "lds", "vmem",
};

static void write_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(f, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, f);
    fputc('"', f);
}

static void write_launch(FILE *f, const struct emu_launch *l, const struct emu_device *d)
{
    const struct emu_counters *c = &l->counters;
    fprintf(f, "{\"kernel\": ");
    write_string(f, l->kernel->name);
    fprintf(f,
            ", \"device\": %d, \"target\": \"%s\", \"grid\": [%u, %u, %u], "
            "\"block\": [%u, %u, %u], \"lds\": %u,\n  \"instructions\": {",
            d->index, d->arch, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
            l->block[2], l->lds_bytes);
    for (int i = 0; i < EMU_CLASSES; i++)
        fprintf(f, "%s\"%s\": %llu", i ? ", " : "", class_names[i],
                (unsigned long long)c->instructions[i]);
    fprintf(f, "},\n  ");
    const struct {
        const char *name;
        uint64_t value;
    } rest[] = {
        {"matrix_passes", c->matrix_passes}, {"lds_conflict_cycles", c->lds_conflict_cycles},
        {"lds_bytes", c->lds_bytes},         {"vmem_transactions", c->vmem_transactions},
        {"bytes_loaded", c->bytes_loaded},   {"bytes_stored", c->bytes_stored},
        {"barriers", c->barriers},           {"waves", c->waves},
        {"workgroups", c->workgroups},       {"missing_waits", c->missing_waits},
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        fprintf(f, "%s\"%s\": %llu", i ? ", " : "", rest[i].name,
                (unsigned long long)rest[i].value);
    fprintf(f, ", \"faulted\": %s}", l->fault.text[0] ? "true" : "false");
}

/* The file is a whole list after each launch: its closing "\n]\n" is overwritten by the next. */
static bool add_launch(const char *name, bool begun, const struct emu_launch *l,
                       const struct emu_device *d)
{
    FILE *f = fopen(name, begun ? "r+" : "w");
    bool good = f && (!begun || fseek(f, -3, SEEK_END) == 0);
    if (good) {
        fputs(begun ? ",\n" : "[\n", f);
        write_launch(f, l, d);
        fputs("\n]\n", f);
        good = !ferror(f);
    }
    if (f && fclose(f) != 0)
        good = false;
    return good;
}

void emu_counters_write(const struct emu_launch *l, const struct emu_device *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool begun, failed;
    const char *name = emu_hip_settings()->counters;
    pthread_mutex_lock(&lock);
    if (!add_launch(name, begun, l, d) && !failed) {
        failed = true;
        fprintf(stderr, "hipemu: cannot write %s\n", name);
    }
    begun = true;
    pthread_mutex_unlock(&lock);
}
