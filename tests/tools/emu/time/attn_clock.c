/*
 * How long the emulator's clock says that fixed problems take, a line each: clocks of all launches
 * of a call that fills the GPU. clock.sh holds them against images/counts.
 */
#include "aothip/aothip.h"
#include "device_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TENSORS = 9,     /* q, k, v, o, d_o, dq, dk, dv, bias */
    ROOM = 64 << 20, /* of one, in bytes; nothing of it is there before a kernel touches it */
    SMALL = 4 << 20, /* lse, delta, slopes, pages */
    WORKSPACE = 64 << 20,
    PAGE = 64,
    SAMPLES = 12, /* workgroups recorded of a launch */
};

enum option {
    BIAS = 1,
    KEEP = 2,
    SLOPES = 4,
    CAP = 8,
    DROPOUT = 16,
    PAGES = 32,
    ODD = 64, /* rows are one element further apart */
    BACKWARD = 128,
};

struct problem {
    const char *name;
    int batch, heads, heads_k, seq_q, seq_k, dim, mask;
    unsigned options;
    int dtype;
};

static const struct problem problems[] = {
    {"d64", 8, 16, 16, 1024, 512, 64, 0, 0, AOTHIP_F16},
    {"d128", 8, 16, 16, 1024, 512, 128, 0, 0, AOTHIP_F16},
    {"d128_bf16", 8, 16, 16, 1024, 512, 128, 0, 0, AOTHIP_BF16},
    {"d96", 8, 16, 16, 1024, 512, 96, 0, 0, AOTHIP_F16},
    {"d256", 8, 16, 16, 512, 256, 256, 0, 0, AOTHIP_F16},
    {"d512", 8, 8, 8, 256, 128, 512, 0, 0, AOTHIP_F16},
    {"d64_f32", 8, 8, 8, 512, 128, 64, 0, 0, AOTHIP_F32},
    {"d64_77_keys", 8, 16, 16, 1024, 77, 64, 0, 0, AOTHIP_F16},
    {"d64_causal", 8, 16, 16, 768, 768, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d128_causal", 8, 16, 16, 768, 768, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d128_gqa", 8, 16, 4, 1024, 512, 128, 0, 0, AOTHIP_F16},
    {"d64_bias", 8, 16, 16, 1024, 256, 64, 0, BIAS, AOTHIP_F16},
    {"d128_bias", 8, 16, 16, 1024, 256, 128, 0, BIAS, AOTHIP_F16},
    {"d128_keep", 8, 16, 16, 1024, 256, 128, 0, KEEP, AOTHIP_F16},
    {"d128_slopes", 8, 16, 16, 1024, 256, 128, 0, SLOPES, AOTHIP_F16},
    {"d128_cap", 8, 16, 16, 1024, 256, 128, 0, CAP, AOTHIP_F16},
    {"d128_dropout", 8, 16, 16, 1024, 256, 128, 0, DROPOUT, AOTHIP_F16},
    {"d128_odd", 8, 16, 16, 1024, 128, 128, 0, ODD, AOTHIP_F16},
    {"d128_pages", 8, 16, 16, 1024, 128, 128, 0, PAGES, AOTHIP_F16},
    {"decode_d64", 16, 32, 32, 1, 512, 64, 0, 0, AOTHIP_F16},
    {"decode_d128", 16, 32, 32, 1, 512, 128, 0, 0, AOTHIP_F16},
    {"decode_d128_gqa", 16, 32, 4, 1, 2048, 128, 0, 0, AOTHIP_F16},
    {"bwd_d64", 8, 8, 8, 512, 512, 64, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d128", 8, 8, 8, 512, 512, 128, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d128_bf16", 8, 8, 8, 512, 512, 128, 0, BACKWARD, AOTHIP_BF16},
    {"bwd_d128_causal", 8, 8, 8, 512, 512, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, BACKWARD, AOTHIP_F16},
    {"bwd_d128_gqa", 8, 8, 2, 512, 512, 128, 0, BACKWARD, AOTHIP_F16},
    {"bwd_d64_bias", 8, 8, 8, 512, 256, 64, 0, BACKWARD | BIAS, AOTHIP_F16},
};

static struct device_runtime runtime;
static struct device_time clock_of;
static struct aothip_context *context;

static struct aothip_tensor tensor(char *memory, int number, const struct problem *p, int heads,
                                   int rows, int columns)
{
    struct aothip_tensor t = {
        .data = memory + (size_t)number * ROOM,
        .size = {p->batch, heads, rows, columns},
        .dtype = p->dtype,
    };
    t.stride[3] = 1;
    t.stride[2] = columns + (p->options & ODD ? 1 : 0);
    t.stride[1] = rows * t.stride[2];
    t.stride[0] = heads * t.stride[1];
    return t;
}

/* Mask and bias are the same for all heads; pages follow each other. */
static void set_options(struct aothip_attn_fwd_params *f, const struct problem *p, char *memory)
{
    char *small = memory + (size_t)TENSORS * ROOM;
    struct aothip_tensor t = tensor(memory, 8, p, 1, p->seq_q, p->seq_k);

    t.size[0] = 1;
    if (p->options & BIAS)
        f->bias = t;
    if (p->options & KEEP) {
        f->keep = t;
        f->keep.dtype = AOTHIP_BOOL;
    }
    if (p->options & SLOPES)
        f->alibi_slopes = (const float *)small;
    f->softcap = p->options & CAP ? 30 : 0;
    f->dropout_p = p->options & DROPOUT ? 0.1f : 0;
    if (p->options & PAGES) {
        f->k.size[0] = f->v.size[0] = p->batch * p->seq_k / PAGE;
        f->k.size[2] = f->v.size[2] = PAGE;
        f->k.stride[1] = f->v.stride[1] = PAGE * f->k.stride[2];
        f->k.stride[0] = f->v.stride[0] = p->heads_k * f->k.stride[1];
        f->block_table = (const int32_t *)(small + 4096);
        f->block_table_columns = f->block_table_stride = p->seq_k / PAGE;
    }
}

/* Of o and lse that are zeros. */
static int call_backward(const struct device *device, const struct problem *p,
                         struct aothip_attn_fwd_params *f, char *memory)
{
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = f};
    char *small = memory + (size_t)TENSORS * ROOM;

    b.d_o = tensor(memory, 4, p, p->heads, p->seq_q, p->dim);
    b.dq = tensor(memory, 5, p, p->heads, p->seq_q, p->dim);
    b.dk = tensor(memory, 6, p, p->heads_k, p->seq_k, p->dim);
    b.dv = tensor(memory, 7, p, p->heads_k, p->seq_k, p->dim);
    f->lse = (float *)(small + SMALL);
    b.delta = (float *)(small + 2 * SMALL);
    b.workspace = f->workspace;
    b.workspace_size = f->workspace_size;
    f->workspace = NULL;
    f->workspace_size = 0;
    return aothip_attn_bwd(context, &b, device->stream);
}

static int call(const struct device *device, const struct problem *p, char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};

    f.q = tensor(memory, 0, p, p->heads, p->seq_q, p->dim);
    f.k = tensor(memory, 1, p, p->heads_k, p->seq_k, p->dim);
    f.v = tensor(memory, 2, p, p->heads_k, p->seq_k, p->dim);
    f.o = tensor(memory, 3, p, p->heads, p->seq_q, p->dim);
    f.workspace = memory + (size_t)TENSORS * ROOM + 3 * SMALL;
    f.workspace_size = WORKSPACE;
    set_options(&f, p, memory);
    if (p->options & BACKWARD)
        return call_backward(device, p, &f, memory);
    return aothip_attn_fwd(context, &f, device->stream);
}

/* Prints the longest launch's kernel, the number of launches, the clocks of all. */
static int print_one(const struct device *device, const struct problem *p)
{
    const char *target = device->properties.target, *kernel = "";
    const size_t n = clock_of.count();
    double most = 0, sum = 0;

    for (size_t i = 0; i < n; i++) {
        const struct emu_time_result *r = clock_of.get(i);

        if (!r->timed) {
            fprintf(stderr, "%s: %s\n", p->name, r->why);
            return 0;
        }
        sum += r->cycles.middle;
        if (r->cycles.middle > most) {
            most = r->cycles.middle;
            kernel = r->kernel;
        }
    }
    printf("%-8.*s %-16s %-50s %zu %9.0f\n", (int)strcspn(target, ":"), target, p->name, kernel, n,
           sum);
    return n > 0;
}

static int time_all(const struct device *device, char *memory)
{
    static const struct emu_time_options options = {
        .size = sizeof(options), .flags = EMU_TIME_SAMPLES_ONLY, .sample_limit = SAMPLES};
    struct status why = {0};

    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        clock_of.clear();
        if (!clock_of.start(&options) || call(device, &problems[i], memory) ||
            device_finish(device, &why)) {
            fprintf(stderr, "%s: %s\n", problems[i].name,
                    why.code ? why.text : aothip_last_error());
            return 0;
        }
        clock_of.stop();
        if (!print_one(device, &problems[i]))
            return 0;
    }
    return 1;
}

/* What the tensors hold: zeros, as device memory of the emulator begins; a mask of ones, slopes. */
static int fill(const struct device *device, char *memory, struct status *why)
{
    enum { MASK = 1024 * 256 };
    char *ones = malloc(MASK), *small = calloc(1, SMALL);
    int bad = !ones || !small;

    if (!bad) {
        memset(ones, 1, MASK);
        for (int i = 0; i < 16; i++)
            ((float *)small)[i] = 0.25f;
        for (int i = 0; i < 1024; i++)
            ((int32_t *)(small + 4096))[i] = i;
        bad = device_upload(device, memory + (size_t)8 * ROOM, ones, MASK, why) ||
              device_upload(device, memory + (size_t)TENSORS * ROOM, small, SMALL, why);
    }
    free(ones);
    free(small);
    return !bad;
}

int main(void)
{
    const size_t bytes = (size_t)TENSORS * ROOM + 3 * SMALL + WORKSPACE;
    struct status why = {0};
    int good = 1;

    if (device_emulate("gfx90a,gfx942,gfx1100,gfx1151", &why) ||
        device_open_runtime(&runtime, &why) || device_time_open(&runtime, &clock_of, &why) ||
        aothip_open(NULL, &context)) {
        fprintf(stderr, "%s\n", why.code ? why.text : aothip_last_error());
        return 1;
    }
    for (int i = 0; i < runtime.count && good; i++) {
        struct device device = {0};
        void *memory = NULL;

        if (aothip_check_device(context, i) == AOTHIP_E_NO_IMAGES)
            continue;
        good = !device_open(&runtime, i, &device, &why) &&
               !device_alloc(&device, bytes, &memory, &why) && fill(&device, memory, &why);
        if (!good)
            fprintf(stderr, "%s\n", why.text);
        good = good && time_all(&device, memory);
        device_free(&device, memory);
        device_close(&device);
    }
    aothip_close(context);
    return !good;
}
