/* Calls of attention on memory that holds zeros. */
#include "clock_calls.h"
#include "gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TENSORS = 9,     /* q, k, v, o, d_o, dq, dk, dv, bias */
    ROOM = 64 << 20, /* of one, in bytes; nothing of it is there before a kernel touches it */
    SMALL = 4 << 20, /* lse, delta, slopes, pages */
    WORKSPACE = 64 << 20,
    PAGE = 64,
};

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
        f->keep.size[2] = p->options & PADDING ? 1 : p->seq_q;
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
static int call_backward(const struct calls *c, const struct device *device,
                         const struct problem *p, struct aothip_attn_fwd_params *f, char *memory)
{
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = f};
    char *small = memory + (size_t)TENSORS * ROOM;

    b.d_o = tensor(memory, 4, p, p->heads, p->seq_q, p->dim);
    b.dq = tensor(memory, 5, p, p->heads, p->seq_q, p->dim);
    b.dk = tensor(memory, 6, p, p->heads_k, p->seq_k, p->dim);
    b.dv = tensor(memory, 7, p, p->heads_k, p->seq_k, p->dim);
    f->lse = (float *)(small + SMALL);
    b.delta = (float *)(small + 2 * SMALL);
    b.atomics = (p->options & ATOMICS) != 0;
    b.workspace = f->workspace;
    b.workspace_size = f->workspace_size;
    f->workspace = NULL;
    f->workspace_size = 0;
    return aothip_attn_bwd(c->context, &b, device->stream);
}

static int call(const struct calls *c, const struct device *device, const struct problem *p,
                char *memory)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f, .mask = p->mask};

    const int own = gpus_fp8(device->properties.target);
    const int dim_v = p->options & NARROW ? 128 : p->dim;

    f.q = tensor(memory, 0, p, p->heads, p->seq_q, p->dim);
    f.k = tensor(memory, 1, p, p->heads_k, p->seq_k, p->dim);
    f.v = tensor(memory, 2, p, p->heads_k, p->seq_k, dim_v);
    if (p->options & FP8)
        f.k.dtype = f.v.dtype = own ? own : AOTHIP_FP8_E4M3;
    if (p->options & ALL_FP8)
        f.q.dtype = f.k.dtype;
    f.o = tensor(memory, 3, p, p->heads, p->seq_q, dim_v);
    f.workspace = memory + (size_t)TENSORS * ROOM + 3 * SMALL;
    f.workspace_size = WORKSPACE;
    set_options(&f, p, memory);
    if (p->options & BACKWARD)
        return call_backward(c, device, p, &f, memory);
    return aothip_attn_fwd(c->context, &f, device->stream);
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

int calls_open(struct calls *c, const char *gpus)
{
    struct status why = {0};

    if (!device_emulate(gpus, &why) && !device_open_runtime(&c->runtime, &why) &&
        !device_time_open(&c->runtime, &c->time, &why) && !aothip_open(NULL, &c->context))
        return 1;
    fprintf(stderr, "%s\n", why.code ? why.text : aothip_last_error());
    return 0;
}

int calls_devices(struct calls *c,
                  int (*visit)(struct calls *c, const struct device *device, char *memory))
{
    const size_t bytes = (size_t)TENSORS * ROOM + 3 * SMALL + WORKSPACE;
    struct status why = {0};
    int good = 1;

    for (int i = 0; i < c->runtime.count && good; i++) {
        struct device device = {0};
        void *memory = NULL;

        if (aothip_check_device(c->context, i) == AOTHIP_E_NO_IMAGES)
            continue;
        good = !device_open(&c->runtime, i, &device, &why) &&
               !device_alloc(&device, bytes, &memory, &why) && fill(&device, memory, &why);
        if (!good)
            fprintf(stderr, "%s\n", why.text);
        good = good && visit(c, &device, memory);
        device_free(&device, memory);
        device_close(&device);
    }
    aothip_close(c->context);
    return good;
}

int calls_run(struct calls *c, const struct device *device, char *memory, const struct problem *p)
{
    struct status why = {0};

    if (!call(c, device, p, memory) && !device_finish(device, &why))
        return 1;
    fprintf(stderr, "%s: %s\n", p->name, why.code ? why.text : aothip_last_error());
    return 0;
}

int calls_time(struct calls *c, const struct device *device, char *memory, const struct problem *p,
               unsigned flags, unsigned samples)
{
    const struct emu_time_options options = {
        .size = sizeof(options), .flags = flags, .sample_limit = samples};
    int good;

    c->time.clear();
    if (!c->time.start(&options)) {
        fprintf(stderr, "%s: the clock did not start\n", p->name);
        return 0;
    }
    good = calls_run(c, device, memory, p);
    c->time.stop();
    for (size_t i = 0; good && i < c->time.count(); i++)
        if (!c->time.get(i)->timed) {
            fprintf(stderr, "%s: %s\n", p->name, c->time.get(i)->why);
            good = 0;
        }
    return good && c->time.count() > 0;
}
