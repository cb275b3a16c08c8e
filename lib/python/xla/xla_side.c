/* Memory and errors of one call: what differs between a GPU's buffers and the host's. */
#include "xla_side.h"

#include <stdio.h>

struct aothip_xla_library xla_library;

enum { TO_DEVICE = 1, TO_HOST = 2 }; /* hipMemcpyKind */

void xla_side_fail(struct xla_side *side, enum xla_error_code code, const char *text)
{
    struct xla_error_create error = {.struct_size = sizeof(error), .message = text, .code = code};
    if (!side->error)
        side->error = side->call->api->error_create(&error);
}

void xla_side_check(struct xla_side *side, enum aothip_status status)
{
    char text[600];
    if (status == AOTHIP_OK)
        return;
    snprintf(text, sizeof(text), "aothip: %s", xla_library.last_error());
    xla_side_fail(side,
                  status == AOTHIP_E_ARGUMENT      ? XLA_INVALID_ARGUMENT
                  : status == AOTHIP_E_UNSUPPORTED ? XLA_UNIMPLEMENTED
                                                   : XLA_INTERNAL,
                  text);
}

/* A function of the HIP runtime; NULL, with an error, if there is none. */
static void *hip(struct xla_side *side, const char *name)
{
    void *found = side->error ? NULL : xla_library.hip_function(xla_library.context, name);
    if (!found && !side->error)
        xla_side_check(side, AOTHIP_E_NO_HIP);
    return found;
}

static void hip_check(struct xla_side *side, int code, const char *name)
{
    char text[80];
    if (!code)
        return;
    snprintf(text, sizeof(text), "aothip: %s() failed with HIP's error %d", name, code);
    xla_side_fail(side, XLA_INTERNAL, text);
}

/* hipMemcpy, of what there is. */
static void copy(struct xla_side *side, void *to, const void *from, size_t size, int kind)
{
    int (*function)(void *, const void *, size_t, int) = hip(side, "hipMemcpy");
    if (function && size)
        hip_check(side, function(to, from, size, kind), "hipMemcpy");
}

static size_t size_of(const struct xla_buffer *buffer)
{
    size_t size = buffer->type == XLA_BOOL                              ? 1
                  : buffer->type == XLA_F16 || buffer->type == XLA_BF16 ? 2
                                                                        : 4;
    for (int64_t i = 0; i < buffer->rank; i++)
        size *= (size_t)buffer->dims[i];
    return size;
}

void xla_side_open(struct xla_side *side)
{
    struct xla_stream_get get = {.struct_size = sizeof(get), .context = side->call->context};
    if (side->host)
        return;
    side->error = side->call->api->stream_get(&get);
    side->stream = get.stream;
}

static void *allocate(struct xla_side *side, size_t size)
{
    /* XLA grants no higher alignment, and the library needs none. */
    struct xla_memory_allocate get = {
        .struct_size = sizeof(get), .context = side->call->context, .size = size, .alignment = 16};
    if (side->host) {
        int (*function)(void **, size_t) = hip(side, "hipMalloc");
        if (function)
            hip_check(side, function(&get.data, size ? size : 16), "hipMalloc");
    } else {
        side->error = side->call->api->memory_allocate(&get);
        if (!get.data)
            xla_side_fail(side, XLA_INTERNAL, "aothip: XLA has no memory for a workspace");
    }
    return side->error ? NULL : get.data;
}

void *xla_side_scratch(struct xla_side *side, size_t size)
{
    void *data;
    if (side->error)
        return NULL;
    if (side->blocks == XLA_BLOCKS_MAX) {
        xla_side_fail(side, XLA_INTERNAL, "aothip: too many buffers in one call");
        return NULL;
    }
    data = allocate(side, size);
    if (data)
        side->block[side->blocks++] = (struct xla_block){.device = data, .size = size};
    return data;
}

void *xla_side_argument(struct xla_side *side, const struct xla_buffer *buffer)
{
    void *device;
    if (!side->host)
        return buffer->data;
    device = xla_side_scratch(side, size_of(buffer));
    if (device)
        copy(side, device, buffer->data, size_of(buffer), TO_DEVICE);
    return device;
}

void *xla_side_result(struct xla_side *side, const struct xla_buffer *buffer, int clear)
{
    void *device = side->host ? xla_side_scratch(side, size_of(buffer)) : buffer->data;
    int (*function)(void *, int, size_t, void *);
    if (side->host && device)
        side->block[side->blocks - 1].host = buffer->data;
    if (clear && device && size_of(buffer)) {
        function = hip(side, "hipMemsetAsync");
        if (function)
            hip_check(side, function(device, 0, size_of(buffer), side->stream), "hipMemsetAsync");
    }
    return device;
}

struct xla_error *xla_side_close(struct xla_side *side)
{
    int (*wait)(void) = side->host ? hip(side, "hipDeviceSynchronize") : NULL;
    if (wait)
        hip_check(side, wait(), "hipDeviceSynchronize");
    for (int i = 0; i < side->blocks; i++) {
        struct xla_block *b = &side->block[i];
        struct xla_memory_free done = {.struct_size = sizeof(done),
                                       .context = side->call->context,
                                       .size = b->size,
                                       .data = b->device};
        int (*release)(void *) = NULL;
        struct xla_error *kept = NULL;
        if (b->host)
            copy(side, b->host, b->device, b->size, TO_HOST);
        if (side->host)
            release = xla_library.hip_function(xla_library.context, "hipFree");
        if (release)
            (void)release(b->device);
        else if (!side->host) /* what comes later on this stream may use it again */
            kept = side->call->api->memory_free(&done);
        if (!side->error)
            side->error = kept;
    }
    return side->error;
}
