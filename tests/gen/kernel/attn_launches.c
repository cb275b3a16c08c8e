/*
 * What the forward kernels cost: the instructions of fixed problems by the emulator's exact counts,
 * a line for each launch. launches.sh holds them against images/counts.
 */
#include "aothip/aothip.h"
#include "device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 1 << 20, /* of a tensor, in bytes */
    TENSORS = 8,    /* q, k, v, o, bias, keep, slopes and sinks, workspace */
    PAGE = 64,
    SMALL_PAGE = 16,
};

enum option {
    BIAS = 1,
    BIAS_F32 = 2,
    KEEP = 4,
    PADDING = 8, /* the mask is the same for all queries */
    SLOPES = 16,
    CAP = 32,
    SINKS = 64,
    DROPOUT = 128,
    PAGES = 256,
    ODD = 512, /* rows are one element further apart */
    SMALL_PAGES = 1024,
};

struct problem {
    const char *name;
    int heads, heads_k, seq_q, seq_k, dim, mask;
    unsigned options;
    int dtype;
};

static const struct problem problems[] = {
    {"d64", 1, 1, 256, 512, 64, 0, 0, AOTHIP_F16},
    {"d128", 1, 1, 256, 512, 128, 0, 0, AOTHIP_F16},
    {"d128_bf16", 1, 1, 256, 512, 128, 0, 0, AOTHIP_BF16},
    {"d64_causal", 1, 1, 256, 256, 64, 1, 0, AOTHIP_F16},
    {"d128_causal", 1, 1, 256, 256, 128, 1, 0, AOTHIP_F16},
    {"d64_bias", 1, 1, 256, 512, 64, 0, BIAS, AOTHIP_F16},
    {"d128_bias", 1, 1, 256, 512, 128, 0, BIAS, AOTHIP_F16},
    {"d128_bias_bf16", 1, 1, 256, 512, 128, 0, BIAS, AOTHIP_BF16},
    {"d128_bias_f32", 1, 1, 256, 512, 128, 0, BIAS | BIAS_F32, AOTHIP_F16},
    {"d64_keep", 1, 1, 256, 512, 64, 0, KEEP, AOTHIP_F16},
    {"d128_keep", 1, 1, 256, 512, 128, 0, KEEP, AOTHIP_F16},
    {"d64_padding", 1, 1, 256, 512, 64, 0, KEEP | PADDING, AOTHIP_F16},
    {"d128_padding", 1, 1, 256, 512, 128, 0, KEEP | PADDING, AOTHIP_F16},
    {"d128_slopes", 1, 1, 256, 512, 128, 0, SLOPES, AOTHIP_F16},
    {"d128_cap", 1, 1, 256, 512, 128, 0, CAP, AOTHIP_F16},
    {"d128_sinks", 1, 1, 256, 512, 128, 0, SINKS, AOTHIP_F16},
    {"d64_dropout", 1, 1, 256, 512, 64, 0, DROPOUT, AOTHIP_F16},
    {"d128_dropout", 1, 1, 256, 512, 128, 0, DROPOUT, AOTHIP_F16},
    {"d128_bias_causal", 1, 1, 256, 256, 128, 1, BIAS, AOTHIP_F16},
    {"d128_bias_77_keys", 1, 1, 256, 77, 128, 0, BIAS, AOTHIP_F16},
    {"d128_pages", 1, 1, 256, 512, 128, 0, PAGES, AOTHIP_F16},
    {"d128_pages_16", 1, 1, 256, 512, 128, 0, SMALL_PAGES, AOTHIP_F16},
    {"d128_pages_bf16", 1, 1, 256, 512, 128, 0, PAGES, AOTHIP_BF16},
    {"d128_pages_causal", 1, 1, 256, 256, 128, 1, PAGES, AOTHIP_F16},
    {"d64_pages", 1, 1, 256, 512, 64, 0, PAGES, AOTHIP_F16},
    {"d64_pages_16", 1, 1, 256, 512, 64, 0, SMALL_PAGES, AOTHIP_F16},
    {"d128_odd", 1, 1, 256, 512, 128, 0, ODD, AOTHIP_F16},
    {"d32", 1, 1, 256, 512, 32, 0, 0, AOTHIP_F16},
    {"d72", 1, 1, 256, 512, 72, 0, 0, AOTHIP_F16},
    {"d80", 1, 1, 256, 512, 80, 0, 0, AOTHIP_F16},
    {"d96", 1, 1, 256, 512, 96, 0, 0, AOTHIP_F16},
    {"d96_bf16", 1, 1, 256, 512, 96, 0, 0, AOTHIP_BF16},
    {"d256", 1, 1, 128, 256, 256, 0, 0, AOTHIP_F16},
    {"d256_bias", 1, 1, 128, 256, 256, 0, BIAS, AOTHIP_F16},
    {"d512", 1, 1, 128, 128, 512, 0, 0, AOTHIP_F16},
    {"d64_77_keys", 1, 1, 256, 77, 64, 0, 0, AOTHIP_F16},
    {"d64_1_query", 2, 2, 1, 512, 64, 0, 0, AOTHIP_F16},
    {"d128_16_queries", 4, 1, 16, 512, 128, 0, 0, AOTHIP_F16},
    {"d64_f32", 1, 1, 128, 128, 64, 0, 0, AOTHIP_F32},
};

static struct device_runtime runtime;
static struct aothip_context *context;
static const char counters_file[] = "attn_launches.json"; /* in the build directory */

static struct aothip_tensor tensor(char *memory, int number, int dtype, int heads, int rows,
                                   int columns, int apart)
{
    struct aothip_tensor t = {
        .data = memory + (size_t)number * ROOM,
        .size = {1, heads, rows, columns},
        .dtype = dtype,
    };
    t.stride[3] = 1;
    t.stride[2] = columns + apart;
    t.stride[1] = rows * t.stride[2];
    t.stride[0] = heads * t.stride[1];
    return t;
}

/* The launches behind the first *seen: kernel of the first, instructions of all. False: none. */
static int read_launches(size_t *seen, char *kernel, long long *instructions)
{
    static char text[1 << 20];
    FILE *f = fopen(counters_file, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    const char *at = text, *next;
    size_t number = 0;

    if (f)
        fclose(f);
    text[n] = '\0';
    *instructions = 0;
    for (; (next = strstr(at, "{\"kernel\": \"")); at = next + 1) {
        const char *counts = strstr(next, "\"instructions\": {"), *end;
        if (number++ < *seen || !counts)
            continue;
        if (*instructions == 0)
            sscanf(next, "{\"kernel\": \"%79[^\"]\"", kernel);
        end = strchr(counts, '}');
        for (const char *c = counts + 16; end && c < end; c++)
            if (c[0] == ':' && c[1] == ' ' && c[2] != '{')
                *instructions += strtoll(c + 1, NULL, 10);
    }
    *seen = number;
    return *instructions > 0;
}

/* The keys of the one sequence and head in pages of `rows`. */
static void page(struct aothip_attn_fwd_params *f, int rows, char *memory)
{
    const int pages = (int)f->k.size[2] / rows;

    f->k.size[0] = f->v.size[0] = pages;
    f->k.size[2] = f->v.size[2] = rows;
    f->k.stride[1] = f->k.stride[0] = f->v.stride[1] = f->v.stride[0] = rows * f->k.stride[2];
    f->block_table = (const int32_t *)(memory + (size_t)6 * ROOM + 4096);
    f->block_table_columns = pages;
    f->block_table_stride = pages;
}

static int launch(const struct device *device, const struct problem *p, char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};
    const int apart = p->options & ODD ? 1 : 0;

    f.q = tensor(memory, 0, p->dtype, p->heads, p->seq_q, p->dim, apart);
    f.k = tensor(memory, 1, p->dtype, p->heads_k, p->seq_k, p->dim, apart);
    f.v = tensor(memory, 2, p->dtype, p->heads_k, p->seq_k, p->dim, apart);
    f.o = tensor(memory, 3, p->dtype, p->heads, p->seq_q, p->dim, apart);
    if (p->options & BIAS)
        f.bias = tensor(memory, 4, p->options & BIAS_F32 ? AOTHIP_F32 : p->dtype, p->heads,
                        p->seq_q, p->seq_k, 0);
    if (p->options & KEEP)
        f.keep = tensor(memory, 5, AOTHIP_BOOL, p->heads, p->options & PADDING ? 1 : p->seq_q,
                        p->seq_k, 0);
    if (p->options & SLOPES)
        f.alibi_slopes = (const float *)(memory + (size_t)6 * ROOM);
    if (p->options & SINKS)
        f.sinks = (const float *)(memory + (size_t)6 * ROOM);
    f.softcap = p->options & CAP ? 30 : 0;
    f.dropout_p = p->options & DROPOUT ? 0.1f : 0;
    if (p->options & (PAGES | SMALL_PAGES))
        page(&f, p->options & PAGES ? PAGE : SMALL_PAGE, memory);
    if (aothip_attn_fwd(context, &f, device->stream)) {
        fprintf(stderr, "%s: %s\n", p->name, aothip_last_error());
        return 0;
    }
    return 1;
}

static int count_all(const struct device *device, char *memory, size_t *seen)
{
    const char *target = device->properties.target;
    char kernel[80] = "";
    struct status why = {0};
    long long instructions;

    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        if (!launch(device, &problems[i], memory))
            return 0;
        if (device_finish(device, &why) || !read_launches(seen, kernel, &instructions)) {
            fprintf(stderr, "%s: %s\n", problems[i].name, why.code ? why.text : "not counted");
            return 0;
        }
        printf("%-8.*s %-20s %-48s %9lld\n", (int)strcspn(target, ":"), target, problems[i].name,
               kernel, instructions);
    }
    return 1;
}

/* What the tensors hold: zeros, a mask of ones, slopes. */
static char *fill(void)
{
    char *host = calloc(TENSORS, ROOM);
    float *slopes;
    int32_t *table;

    if (!host)
        abort();
    memset(host + (size_t)5 * ROOM, 1, ROOM);
    slopes = (float *)(host + (size_t)6 * ROOM);
    table = (int32_t *)(host + (size_t)6 * ROOM + 4096);
    for (int i = 0; i < 16; i++)
        slopes[i] = 0.25f;
    for (int i = 0; i < 64; i++)
        table[i] = i;
    return host;
}

int main(void)
{
    struct status why = {0};
    char *host = fill();
    size_t seen = 0;
    int good = 1;

    setenv("AOTHIP_EMU_COUNTERS", counters_file, 1);
    remove(counters_file);
    if (device_emulate("gfx90a,gfx942,gfx1100,gfx1151", &why) ||
        device_open_runtime(&runtime, &why) || aothip_open(NULL, &context)) {
        fprintf(stderr, "%s\n", why.code ? why.text : aothip_last_error());
        return 1;
    }
    for (int i = 0; i < runtime.count && good; i++) {
        struct device device;
        void *memory = NULL;

        if (aothip_check_device(context, i) == AOTHIP_E_NO_IMAGES)
            continue;
        good = !device_open(&runtime, i, &device, &why) &&
               !device_alloc(&device, (size_t)TENSORS * ROOM, &memory, &why) &&
               !device_upload(&device, memory, host, (size_t)TENSORS * ROOM, &why);
        if (!good)
            fprintf(stderr, "%s\n", why.text);
        good = good && count_all(&device, memory, &seen);
        device_free(&device, memory);
        device_close(&device);
    }
    aothip_close(context);
    remove(counters_file);
    free(host);
    return !good;
}
