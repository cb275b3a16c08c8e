/* Attention on host tensors: upload, launch, download, and a guard behind what is written. */
#include "attn.h"

#include "ref.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 256, GUARD = 0xa5 };

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

/* One tensor on its way: where it lies on the host and on the device. */
struct buffer {
    void *host, *device;
    size_t bytes, guard;
};

enum { Q, K, V, O, LSE, BUFFERS };

/* What is only read needs no guard, and the emulator itself catches the first byte beyond. */
static size_t guard_bytes(const struct device *device, int which)
{
    return which < O || device->runtime->emulated ? 0 : GUARD_BYTES;
}

static enum aothip_status upload(const struct device *device, struct buffer *b, struct status *why)
{
    unsigned char guard[GUARD_BYTES];

    memset(guard, GUARD, sizeof(guard));
    if (device_alloc(device, b->bytes + b->guard, &b->device, why) ||
        device_upload(device, b->device, b->host, b->bytes, why))
        return why->code;
    if (b->guard)
        device_upload(device, (char *)b->device + b->bytes, guard, b->guard, why);
    return why->code;
}

static enum aothip_status download(const struct device *device, const struct buffer *b,
                                   const char *name, struct status *why)
{
    unsigned char guard[GUARD_BYTES];
    size_t i;

    if (device_download(device, b->host, b->device, b->bytes, why))
        return why->code;
    if (b->guard && device_download(device, guard, (char *)b->device + b->bytes, b->guard, why))
        return why->code;
    for (i = 0; i < b->guard; i++)
        if (guard[i] != GUARD)
            return status_set(why, AOTHIP_E_HIP, "the kernel wrote %zu bytes behind the end of %s",
                              i, name);
    return AOTHIP_OK;
}

static enum aothip_status launch(const struct device *device, struct aothip_context *context,
                                 const struct aothip_attn_fwd_params *params,
                                 const struct buffer b[BUFFERS], struct status *why)
{
    struct aothip_attn_fwd_params there = *params;
    enum aothip_status status;

    there.q.data = b[Q].device;
    there.k.data = b[K].device;
    there.v.data = b[V].device;
    there.o.data = b[O].device;
    there.lse = b[LSE].device;
    status = aothip_attn_fwd(context, &there, device->stream);
    if (status) {
        why->hip_error = aothip_last_hip_error();
        return status_set(why, status, "%s", aothip_last_error());
    }
    return device_finish(device, why);
}

enum aothip_status attn_fwd(const struct device *device, struct aothip_context *context,
                            const struct aothip_attn_fwd_params *params, struct status *why)
{
    const struct aothip_tensor *tensors[] = {&params->q, &params->k, &params->v, &params->o};
    struct buffer b[BUFFERS] = {{0}};
    int i;

    for (i = Q; i <= O; i++) {
        b[i].host = tensors[i]->data;
        b[i].bytes = attn_span(tensors[i]) * ref_dtype_size(tensors[i]->dtype);
    }
    b[LSE].host = params->lse;
    b[LSE].bytes =
        (size_t)(params->q.size[0] * params->q.size[1] * params->q.size[2]) * sizeof(float);
    for (i = 0; i < BUFFERS; i++) {
        b[i].guard = guard_bytes(device, i);
        if (b[i].host && upload(device, &b[i], why))
            goto done;
    }
    if (launch(device, context, params, b, why) || download(device, &b[O], "o", why))
        goto done;
    if (params->lse)
        download(device, &b[LSE], "lse", why);
done:
    for (i = 0; i < BUFFERS; i++)
        device_free(device, b[i].device);
    return why->code;
}
