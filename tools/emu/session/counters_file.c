/* Writes the counters of each launch to the file that AOTHIP_EMU_COUNTERS names: one JSON list. */
#include "timing.h"

#include <errno.h>
#include <pthread.h>
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

static void write_range(FILE *f, const char *name, const struct emu_time_range *r)
{
    fprintf(f, ", \"%s\": [%.6g, %.6g, %.6g]", name, r->low, r->middle, r->high);
}

/* What the clock says: cycles, microseconds and the rest of struct emu_time_result. */
static void write_time(FILE *f, const struct emu_time_result *r)
{
    if (!r->timed) {
        fprintf(f, ",\n  \"untimed\": ");
        write_string(f, r->why);
        return;
    }
    fprintf(f, ",\n  \"bound\": \"%s\"", emu_time_cause_name(r->bound));
    write_range(f, "cycles", &r->cycles);
    write_range(f, "microseconds", &r->microseconds);
    fprintf(f,
            ", \"gigahertz\": %.4g, \"uncertainty\": %.3g, \"clock_uncertainty\": %.3g, "
            "\"parameter_uncertainty\": %.3g, \"launch_us\": %.4g, "
            "\"launch_uncertainty\": %.3g, \"extrapolated\": %s,\n"
            "  \"matrix_busy\": %.4f, \"vector_busy\": %.4f, \"lds_busy\": %.4f, "
            "\"l1_busy\": %.4f, \"dram_busy\": %.4f, \"matrix_flops\": %.0f,\n"
            "  \"memory_bytes\": %.0f, \"memory_rate\": %.6g, \"gigahertz_most\": %.4g,\n"
            "  \"sampled\": %u, \"units\": %u, \"resident\": %u, \"rounds\": %.3f, "
            "\"group_cycles\": %.0f,\n  \"where\": {",
            r->gigahertz, r->uncertainty, r->clock_uncertainty, r->parameter_uncertainty,
            r->launch_us, r->launch_uncertainty, r->extrapolated ? "true" : "false", r->matrix_busy,
            r->vector_busy, r->lds_busy, r->l1_busy, r->dram_busy, r->matrix_flops, r->memory_bytes,
            r->memory_rate, r->gigahertz_most, r->sampled, r->units, r->resident, r->rounds,
            r->group_cycles);
    for (int i = 0; i < EMU_TIME_CAUSES; i++)
        fprintf(f, "%s\"%s\": %.0f", i ? ", " : "", emu_time_cause_name((enum emu_time_cause)i),
                r->summary[i]);
    fputc('}', f);
}

static void write_launch(FILE *f, const struct emu_launch *l, const struct emu_gpu *gpu,
                         const struct emu_time_result *r)
{
    const struct emu_counters *c = &l->counters;
    fprintf(f, "{\"kernel\": ");
    write_string(f, l->kernel->name);
    fprintf(f,
            ", \"device\": %d, \"target\": \"%s\", \"grid\": [%u, %u, %u], "
            "\"block\": [%u, %u, %u], \"lds\": %u,\n  \"instructions\": {",
            gpu->index, gpu->arch, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
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
    fprintf(f, ", \"faulted\": %s", l->fault.text[0] ? "true" : "false");
    if (r)
        write_time(f, r);
    fputc('}', f);
}

/* The file is a whole list after each launch: its closing "\n]\n" is overwritten by the next. */
static bool add_launch(const char *name, bool begun, const struct emu_launch *l,
                       const struct emu_gpu *gpu, const struct emu_time_result *r)
{
    FILE *f = fopen(name, begun ? "r+" : "w");
    bool good = f && (!begun || fseek(f, -3, SEEK_END) == 0);
    if (good) {
        fputs(begun ? ",\n" : "[\n", f);
        write_launch(f, l, gpu, r);
        fputs("\n]\n", f);
        good = !ferror(f);
    }
    if (f && fclose(f) != 0)
        good = false;
    return good;
}

void emu_counters_write(const struct emu_launch *l, const struct emu_gpu *gpu,
                        const struct emu_time_result *r)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool begun, failed;
    const char *name = emu_settings()->counters;
    pthread_mutex_lock(&lock);
    if (!add_launch(name, begun, l, gpu, r) && !failed) {
        failed = true;
        fprintf(stderr, "hipemu: cannot write %s: %s\n", name, strerror(errno));
    }
    begun = true;
    pthread_mutex_unlock(&lock);
}
