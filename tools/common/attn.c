/* Attention on host tensors: upload, launch, download, and a guard behind what is written. */
#include "attn.h"

#include "ref.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 256, GUARD = 0xa5, ALIGNMENT = 16 };

struct aothip_tensor attn_view(enum attn_layout layout, void *data, int dtype,
                               const int64_t size[4])
{
    int64_t heads = size[1], seq = size[2], dim = size[3];
    struct aothip_tensor t = {.data = data, .dtype = dtype};

    memcpy(t.size, size, sizeof(t.size));
    t.stride[3] = 1;
    t.stride[1] = layout == ATTN_BHSD ? seq * dim : dim;
    t.stride[2] = layout == ATTN_BHSD ? dim : layout == ATTN_BSHD ? heads * dim : 3 * heads * dim;
    t.stride[0] = layout == ATTN_BHSD ? heads * seq * dim : seq * t.stride[2];
    return t;
}

size_t attn_span(const struct aothip_tensor *t)
{
    return (size_t)ref_span(t);
}

/* While a problem is uploaded. */
struct upload {
    const struct device *device;
    struct attn_call *call;
    struct status *why;
};

enum direction { READ, WRITTEN };

/*
 * Replaces *slot, a pointer to `bytes` on the host, by one to a copy on the device. A pointer to
 * nothing stays as it is: NULL, or without bytes behind it.
 */
static void send(struct upload *u, const char *name, void *slot, size_t bytes, enum direction how)
{
    struct attn_buffer *b = &u->call->buffers[u->call->count];
    unsigned char guard[GUARD_BYTES];
    void *host;
    char *there;

    memcpy(&host, slot, sizeof(host));
    if (!host || !bytes || u->why->code)
        return;
    *b = (struct attn_buffer){.name = name, .host = host, .bytes = bytes};
    b->written = how == WRITTEN;
    b->shift = (size_t)((uintptr_t)host % ALIGNMENT);
    b->guard = b->written && !u->device->runtime->emulated ? GUARD_BYTES : 0;
    if (device_alloc(u->device, b->shift + bytes + b->guard, &b->base, u->why))
        return;
    u->call->count++;
    there = (char *)b->base + b->shift;
    memset(guard, GUARD, sizeof(guard));
    if (device_upload(u->device, there, host, bytes, u->why) ||
        (b->guard && device_upload(u->device, there + bytes, guard, b->guard, u->why)))
        return;
    memcpy(slot, &there, sizeof(there));
}

static void send_tensor(struct upload *u, const char *name, struct aothip_tensor *t,
                        enum direction how)
{
    send(u, name, &t->data, attn_span(t) * ref_dtype_size(t->dtype), how);
}

static void send_seqs(struct upload *u, struct aothip_seqs *s, size_t sequences, size_t element,
                      int one_more)
{
    send(u, "cumulative", &s->cumulative, (sequences + 1) * element, READ);
    send(u, "lengths", &s->lengths, sequences * element, READ);
    send(u, "starts", &s->starts, (sequences + (one_more ? 1 : 0)) * element, READ);
}

static void send_scale(struct upload *u, const char *name, struct aothip_scale *scale,
                       size_t sequences)
{
    size_t heads = (size_t)u->call->fwd.k.size[1];
    if (sequences && heads)
        send(u, name, &scale->data,
             ((size_t)scale->stride[0] * (sequences - 1) + (size_t)scale->stride[1] * (heads - 1) +
              1) *
                 sizeof(float),
             READ);
}

/* Everything that attention reads, whichever way it goes. */
static void send_inputs(struct upload *u, struct aothip_attn_fwd_params *p, int grows)
{
    size_t sequences = (size_t)(p->sequences ? p->sequences : p->q.size[0]);
    size_t heads = (size_t)p->q.size[1], element = p->index64 ? 8 : 4, rows;
    int compact = p->lse_layout == AOTHIP_LSE_HEADS_COMPACT;

    send_tensor(u, "q", &p->q, READ);
    send_tensor(u, "k", &p->k, grows ? WRITTEN : READ);
    send_tensor(u, "v", &p->v, grows ? WRITTEN : READ);
    send_tensor(u, "bias", &p->bias, READ);
    send_tensor(u, "keep", &p->keep, READ);
    send_tensor(u, "k_new", &p->k_new, READ);
    send_tensor(u, "v_new", &p->v_new, READ);
    send_seqs(u, &p->q_seqs, sequences, element, compact);
    send_seqs(u, &p->k_seqs, sequences, element, 0);
    if (sequences) {
        rows = (size_t)p->alibi_stride * (sequences - 1) + heads;
        send(u, "alibi_slopes", &p->alibi_slopes, rows * sizeof(float), READ);
        rows = (size_t)p->block_table_stride * (sequences - 1) + (size_t)p->block_table_columns;
        send(u, "block_table", &p->block_table, rows * sizeof(int32_t), READ);
    }
    send_scale(u, "q_scale", &p->q_scale, sequences);
    send_scale(u, "k_scale", &p->k_scale, sequences);
    send_scale(u, "v_scale", &p->v_scale, sequences);
    send(u, "sinks", &p->sinks, heads * sizeof(float), READ);
    send(u, "batch_index", &p->batch_index, sequences * sizeof(int32_t), READ);
    send(u, "dropout_seed_pointer", &p->dropout_seed_pointer, sizeof(uint64_t), READ);
    send(u, "dropout_offset_pointer", &p->dropout_offset_pointer, sizeof(uint64_t), READ);
    if (p->rotary_rows) {
        rows = (size_t)p->rotary_stride * (size_t)(p->rotary_rows - 1);
        rows = (rows + (size_t)p->rotary_dim / 2) * ref_dtype_size(p->q.dtype);
        send(u, "rotary_cos", &p->rotary_cos, rows, READ);
        send(u, "rotary_sin", &p->rotary_sin, rows, READ);
    }
}

static void take_failure(struct status *why, enum aothip_status code)
{
    if (!code)
        return;
    why->hip_error = aothip_last_hip_error();
    status_set(why, code, "%s", aothip_last_error());
}

/* A workspace of `wanted` bytes, or of as many as the library asks for. */
static void make_workspace(struct upload *u, struct aothip_context *context, size_t wanted,
                           void **workspace, size_t *size)
{
    const struct attn_call *call = u->call;
    const struct hip *hip = &u->device->runtime->hip;
    void *stream = u->device->stream;
    hipError_t error;

    if (u->why->code)
        return;
    *workspace = NULL;
    *size = wanted;
    if (!wanted && call->kind == ATTN_BWD)
        take_failure(u->why, aothip_attn_bwd_workspace(context, &call->bwd, stream, size));
    else if (!wanted)
        take_failure(u->why, aothip_attn_fwd_workspace(context, &call->fwd, stream, size));
    if (u->why->code || !*size || device_alloc(u->device, *size, &u->call->workspace, u->why))
        return;
    *workspace = u->call->workspace;
    error = hip->fill(*workspace, REF_POISON, *size);
    if (error != hipSuccess)
        hip_fail(hip, "hipMemset", error, u->why);
}

enum aothip_status attn_upload_fwd(const struct device *device, struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *params, enum attn_kind kind,
                                   struct attn_call *call, struct status *why)
{
    struct upload u = {device, call, why};
    struct aothip_attn_fwd_params *p = &call->fwd;

    memset(call, 0, sizeof(*call));
    call->kind = kind;
    *p = *params;
    send_inputs(&u, p, p->k_new.data != NULL);
    send_tensor(&u, "o", &p->o, WRITTEN);
    send(&u, "lse", &p->lse, (size_t)ref_lse_count(params) * sizeof(float), WRITTEN);
    send_tensor(&u, "probs", &p->probs, WRITTEN);
    send(&u, "dropout_seed_output", &p->dropout_seed_output, sizeof(uint64_t), WRITTEN);
    send(&u, "dropout_offset_output", &p->dropout_offset_output, sizeof(uint64_t), WRITTEN);
    if (kind == ATTN_FWD)
        make_workspace(&u, context, params->workspace_size, &p->workspace, &p->workspace_size);
    if (why->code)
        attn_release(device, call);
    return why->code;
}

enum aothip_status attn_upload_bwd(const struct device *device, struct aothip_context *context,
                                   const struct aothip_attn_bwd_params *params,
                                   struct attn_call *call, struct status *why)
{
    struct upload u = {device, call, why};
    struct aothip_attn_bwd_params *b = &call->bwd;
    struct aothip_attn_fwd_params *p = &call->fwd;
    size_t lse = (size_t)ref_lse_count(params->fwd) * sizeof(float);
    size_t batch = params->fwd->alibi_stride ? (size_t)params->fwd->q.size[0] : 1;

    memset(call, 0, sizeof(*call));
    call->kind = ATTN_BWD;
    *p = *params->fwd;
    *b = *params;
    b->fwd = p;
    if (params->fwd->sequences && params->fwd->alibi_stride)
        batch = (size_t)params->fwd->sequences;
    send_inputs(&u, p, 0);
    send_tensor(&u, "o", &p->o, READ);
    send(&u, "lse", &p->lse, lse, READ);
    send_tensor(&u, "d_o", &b->d_o, READ);
    send_tensor(&u, "dq", &b->dq, WRITTEN);
    send_tensor(&u, "dk", &b->dk, WRITTEN);
    send_tensor(&u, "dv", &b->dv, WRITTEN);
    send_tensor(&u, "dbias", &b->dbias, WRITTEN);
    send(&u, "dsinks", &b->dsinks, (size_t)p->q.size[1] * sizeof(float), WRITTEN);
    if (batch)
        send(&u, "dalibi", &b->dalibi,
             ((size_t)p->alibi_stride * (batch - 1) + (size_t)p->q.size[1]) * sizeof(float),
             WRITTEN);
    send(&u, "delta", &b->delta, lse, WRITTEN);
    make_workspace(&u, context, params->workspace_size, &b->workspace, &b->workspace_size);
    if (why->code)
        attn_release(device, call);
    return why->code;
}

enum aothip_status attn_launch(const struct device *device, struct aothip_context *context,
                               const struct attn_call *call, struct status *why)
{
    if (call->kind == ATTN_BWD)
        take_failure(why, aothip_attn_bwd(context, &call->bwd, device->stream));
    else if (call->kind == ATTN_MERGE)
        take_failure(why, aothip_attn_merge(context, &call->merge, device->stream));
    else if (call->kind == ATTN_PROBS)
        take_failure(why, aothip_attn_probs(context, &call->fwd, device->stream));
    else
        take_failure(why, aothip_attn_fwd(context, &call->fwd, device->stream));
    return why->code;
}

static enum aothip_status fetch(const struct device *device, const struct attn_buffer *b,
                                struct status *why)
{
    const char *there = (const char *)b->base + b->shift;
    unsigned char guard[GUARD_BYTES];
    size_t i;

    if (device_download(device, b->host, there, b->bytes, why) ||
        (b->guard && device_download(device, guard, there + b->bytes, b->guard, why)))
        return why->code;
    for (i = 0; i < b->guard; i++)
        if (guard[i] != GUARD)
            return status_set(why, AOTHIP_E_HIP, "a kernel wrote %zu bytes behind the end of %s", i,
                              b->name);
    return AOTHIP_OK;
}

enum aothip_status attn_download(const struct device *device, const struct attn_call *call,
                                 struct status *why)
{
    int i;

    device_finish(device, why);
    for (i = 0; i < call->count && !why->code; i++)
        if (call->buffers[i].written)
            fetch(device, &call->buffers[i], why);
    return why->code;
}

void attn_release(const struct device *device, struct attn_call *call)
{
    int i;

    for (i = 0; i < call->count; i++)
        device_free(device, call->buffers[i].base);
    device_free(device, call->workspace);
    call->count = 0;
    call->workspace = NULL;
}

static enum aothip_status finish(const struct device *device, struct aothip_context *context,
                                 struct attn_call *call, struct status *why)
{
    if (!attn_launch(device, context, call, why))
        attn_download(device, call, why);
    attn_release(device, call);
    return why->code;
}

enum aothip_status attn_fwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_fwd_params *params, struct status *why)
{
    struct attn_call call;

    if (attn_upload_fwd(device, context, params, ATTN_FWD, &call, why))
        return why->code;
    return finish(device, context, &call, why);
}

enum aothip_status attn_probs(const struct device *device, struct aothip_context *context,
                              const struct aothip_attn_fwd_params *params, struct status *why)
{
    struct attn_call call;

    if (attn_upload_fwd(device, context, params, ATTN_PROBS, &call, why))
        return why->code;
    return finish(device, context, &call, why);
}

enum aothip_status attn_bwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_bwd_params *params, struct status *why)
{
    struct attn_call call;

    if (attn_upload_bwd(device, context, params, &call, why))
        return why->code;
    return finish(device, context, &call, why);
}

enum aothip_status attn_merge(const struct device *device, struct aothip_context *context,
                              const struct aothip_attn_merge_params *params, struct status *why)
{
    struct attn_call call = {.kind = ATTN_MERGE, .merge = *params};
    struct upload u = {device, &call, why};

    send_tensor(&u, "o", &call.merge.o, WRITTEN);
    send_tensor(&u, "lse", &call.merge.lse, WRITTEN);
    send_tensor(&u, "part_o", &call.merge.part_o, READ);
    send_tensor(&u, "part_lse", &call.merge.part_lse, READ);
    if (why->code) {
        attn_release(device, &call);
        return why->code;
    }
    return finish(device, context, &call, why);
}
