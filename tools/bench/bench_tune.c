/*
 * Measures each tile alone on a compute unit and with others on all of them, over few keys and over
 * many. Which kernel is taken, a table of the library's own says, that makes it the fastest. Those
 * of attn_split are measured as two parts of twice the keys, the merge included.
 */
#include "bench_tune.h"

#include "cli.h"
#include "new_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys of the two launches from which a step's time follows; workgroups for each compute unit. */
enum {
    KEYS_FEW = 512,
    KEYS_MANY = 1536,
    WORKGROUPS_A_UNIT = 24,
    PARTS = 2, /* of the keys, with attn_split */
    KERNELS_MAX = 256,
    SYMBOL_MAX = 64
};

struct kernel {
    char symbol[SYMBOL_MAX], set[SYMBOL_MAX]; /* set: the symbol without its tile */
    int dtype, dim, dim_v, tile_q, tile_k;
    int parts;                   /* 1, of attn_split PARTS */
    int wanted;                  /* serves a shape */
    double start, alone, shared; /* picoseconds */
};

struct tuning {
    struct bench_session *session;
    const char *gpu;
    struct kernel kernels[KERNELS_MAX];
    int count;
    char trial[4096]; /* path of the table of one measurement */
};

/* Notes a kernel for plain aligned rows of f16 or bf16: its symbol ends with its tile, that of
 * attn_split, which knows pages, and with the smallest tiles other rows, too, says so behind it. */
static int note_kernel(const struct aothip_entry *entry, void *user)
{
    struct tuning *t = user;
    struct kernel *k = &t->kernels[t->count];
    const int splits = !strcmp(entry->op, "attn_split");
    char tile[48];
    size_t set;

    snprintf(tile, sizeof(tile), "_t%dx%d%s%s", entry->tile_q, entry->tile_k,
             entry->aligned ? "" : "_unaligned", splits ? "_paged" : "");
    if (strcmp(entry->gpu, t->gpu) || (strcmp(entry->op, "attn_fwd") && !splits) ||
        (!entry->aligned && !splits) || entry->dtype > AOTHIP_BF16 ||
        strstr(entry->symbol, "_cache_") || t->count == KERNELS_MAX ||
        strlen(entry->symbol) >= sizeof(k->symbol) || strlen(entry->symbol) < strlen(tile))
        return 0;
    set = strlen(entry->symbol) - strlen(tile);
    if (strcmp(entry->symbol + set, tile))
        return 0;
    *k = (struct kernel){.dtype = entry->dtype,
                         .dim = entry->dim_max,
                         .dim_v = entry->dim_v_max,
                         .tile_q = entry->tile_q,
                         .tile_k = entry->tile_k,
                         .parts = splits ? PARTS : 1};
    strcpy(k->symbol, entry->symbol);
    memcpy(k->set, entry->symbol, set);
    t->count++;
    return 0;
}

/* Whether a kernel has the channels of a shape. */
static int reaches(const struct kernel *k, const struct bench_shape *shape)
{
    return k->dim >= shape->dim && k->dim >= shape->dim_v && k->dim_v >= shape->dim_v;
}

/* Whether a shape may take one of the kernels' set: of those for its head dims the narrowest, and
 * where that is for fewer of v, the next one, too. */
static int serves(const struct tuning *t, const struct kernel *k, const struct bench_shape *shape)
{
    if (shape->dtype != k->dtype || shape->kv || !reaches(k, shape) || shape->backward ||
        shape->feature != BENCH_PLAIN)
        return 0;
    for (int i = 0; i < t->count; i++)
        if (t->kernels[i].dtype == k->dtype && t->kernels[i].parts == k->parts &&
            reaches(&t->kernels[i], shape) && t->kernels[i].dim < k->dim &&
            t->kernels[i].dim_v == t->kernels[i].dim)
            return 0;
    return 1;
}

static void find_wanted(struct tuning *t, const struct bench_shapes *shapes)
{
    for (int i = 0; i < t->count; i++) {
        struct kernel *k = &t->kernels[i];
        k->wanted = !shapes->count;
        for (int j = 0; j < shapes->count && !k->wanted; j++)
            k->wanted = serves(t, k, &shapes->list[j]);
    }
}

static enum aothip_status write_failed(const char *path, struct status *why)
{
    return status_set(why, AOTHIP_E_IO, "%s: cannot write: %s", path, strerror(errno));
}

/* A table by which `chosen` is the fastest of its set. */
static enum aothip_status write_trial(const struct tuning *t, const struct kernel *chosen,
                                      struct status *why)
{
    FILE *f = fopen(t->trial, "w");

    if (!f)
        return write_failed(t->trial, why);
    fprintf(f, "aothip-tune 1\ngpu %s\n", t->gpu);
    for (int i = 0; i < t->count; i++)
        if (!strcmp(t->kernels[i].set, chosen->set))
            fprintf(f, "%s %s\n", t->kernels[i].symbol,
                    &t->kernels[i] == chosen ? "1 1 1" : "1 4000000000 4000000000");
    return fclose(f) ? write_failed(t->trial, why) : AOTHIP_OK;
}

/* The library reads the table when it first meets the device. */
static enum aothip_status choose(const struct tuning *t, const struct kernel *k, struct status *why)
{
    struct bench_session *s = t->session;

    if (write_trial(t, k, why))
        return why->code;
    if (setenv("AOTHIP_TUNE", t->trial, 1))
        return status_set(why, AOTHIP_E_MEMORY, "no memory");
    aothip_close(s->context);
    s->context = NULL;
    if (aothip_open(s->wishes->images, &s->context))
        return status_set(why, AOTHIP_E_NO_IMAGES, "%s", aothip_last_error());
    return AOTHIP_OK;
}

/* Whether heads may share K and V without their rows becoming those of a larger tile: which of
 * attn_split is taken follows from how many rows that do so. */
static int may_group(const struct tuning *t, const struct kernel *k)
{
    for (int i = 0; i < t->count; i++) {
        const struct kernel *other = &t->kernels[i];
        if (k->parts > 1 && other->parts > 1 && other->dtype == k->dtype && other->dim == k->dim &&
            other->tile_q > k->tile_q)
            return 0;
    }
    return 1;
}

/* Picoseconds of a launch of so many workgroups of the chosen kernel; 0 after a failure. */
static double time_of(const struct tuning *t, const struct kernel *k, int workgroups, int keys,
                      struct status *why)
{
    struct bench_result r = {.shape = bench_default()};

    r.shape.dtype = k->dtype;
    r.shape.dim = k->dim;
    r.shape.dim_v = k->dim_v;
    r.shape.heads = (workgroups + k->parts - 1) / k->parts;
    r.shape.heads_k = r.shape.heads;
    if (may_group(t, k))
        r.shape.heads_k = (r.shape.heads + WORKGROUPS_A_UNIT - 1) / WORKGROUPS_A_UNIT;
    r.shape.seq_q = k->tile_q;
    r.shape.seq_k = keys * k->parts;
    r.shape.splits = k->parts;
    status_clear(&r.why);
    bench_session_run(t->session, &r);
    if (r.why.code)
        *why = r.why;
    return bench_seconds(&r) * 1e12;
}

static double at_least_1(double x)
{
    return x < 1 ? 1 : x > 4e9 ? 4e9 : floor(x + 0.5);
}

static enum aothip_status measure(const struct tuning *t, struct kernel *k, struct status *why)
{
    const int all = t->session->device.properties.compute_units * WORKGROUPS_A_UNIT;
    const int few = (KEYS_FEW + k->tile_k - 1) / k->tile_k;
    const int more = (KEYS_MANY + k->tile_k - 1) / k->tile_k - few;
    double one, all_few;

    if (choose(t, k, why))
        return why->code;
    one = time_of(t, k, 1, KEYS_FEW, why);
    k->alone = why->code ? 0 : (time_of(t, k, 1, KEYS_MANY, why) - one) / more;
    all_few = why->code ? 0 : time_of(t, k, all, KEYS_FEW, why);
    k->shared = why->code ? 0 : time_of(t, k, all, KEYS_MANY, why) - all_few;
    k->shared = at_least_1(k->shared / more / WORKGROUPS_A_UNIT);
    k->alone = at_least_1(k->alone);
    k->start = at_least_1(one - few * k->alone);
    return why->code;
}

static enum aothip_status write_table(const struct tuning *t, const char *file, struct status *why)
{
    const struct bench_session *s = t->session;
    struct new_file new;
    FILE *f;

    if (new_file_open(&new, file))
        return write_failed(file, why);
    f = new.f;
    fprintf(f, "# What launches of tiles take, by aothip-bench --tune: %s %s, %d compute units.\n",
            s->kind == BENCH_PREDICTED ? "predicted for" : "measured on",
            s->kind == BENCH_PREDICTED ? t->gpu : s->device.properties.name,
            s->device.properties.compute_units);
    fprintf(f,
            "# Picoseconds: start, a step alone, a step's share of a compute unit.\n"
            "aothip-tune 1\ngpu %s\n",
            t->gpu);
    for (int i = 0; i < t->count; i++) {
        const struct kernel *k = &t->kernels[i];
        if (k->wanted)
            fprintf(f, "%-32s %10.0f %9.0f %9.0f\n", k->symbol, k->start, k->alone, k->shared);
    }
    return new_file_keep(&new) ? write_failed(file, why) : AOTHIP_OK;
}

static enum aothip_status measure_all(struct tuning *t, struct status *why)
{
    int all = 0, done = 0;

    for (int i = 0; i < t->count; i++)
        all += t->kernels[i].wanted;
    if (!all)
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "--tune: the images of %s have no tiles to choose between%s", t->gpu,
                          t->count ? " for these shapes" : "");
    for (int i = 0; i < t->count && !why->code; i++)
        if (t->kernels[i].wanted) {
            cli_progress("kernel %d of %d", ++done, all);
            measure(t, &t->kernels[i], why);
        }
    cli_progress_end();
    unlink(t->trial);
    return why->code;
}

int bench_tune(struct bench_session *session, const struct bench_shapes *shapes, const char *file)
{
    struct tuning *t = calloc(1, sizeof(*t));
    struct aothip_device_info info = {.struct_size = sizeof(info)};
    struct status why;

    status_clear(&why);
    if (!t) {
        cli_say("no memory");
        return -1;
    }
    t->session = session;
    if (aothip_stream_device(session->context, session->device.stream, &info)) {
        status_set(&why, AOTHIP_E_NO_DEVICE, "%s", aothip_last_error());
    } else {
        t->gpu = info.gpu;
        if ((size_t)snprintf(t->trial, sizeof(t->trial), "%s.trial", file) >= sizeof(t->trial))
            status_set(&why, AOTHIP_E_ARGUMENT, "--tune: the name is too long");
        else if (aothip_list(session->context, note_kernel, t))
            status_set(&why, AOTHIP_E_NO_IMAGES, "%s", aothip_last_error());
        find_wanted(t, shapes);
        if (!why.code && !measure_all(t, &why))
            write_table(t, file, &why);
    }
    if (why.code)
        cli_say("%s", why.text);
    free(t);
    return why.code ? -1 : 0;
}
