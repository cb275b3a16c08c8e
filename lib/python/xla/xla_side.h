/* Where the buffers of a call are: on the GPU, or on the host and copied for its time. */
#ifndef XLA_SIDE_H
#define XLA_SIDE_H

#include "xla.h"

extern struct aothip_xla_library xla_library;

enum { XLA_BLOCKS_MAX = 16 };

/* One call on its way; fill in `call` and `host`, and xla_side_close() it whatever happens. */
struct xla_side {
    struct xla_call *call;
    int host;     /* buffers are in host memory */
    void *stream; /* NULL for those */
    struct xla_block {
        void *device, *host; /* host: to be copied back; else NULL */
        size_t size;
    } block[XLA_BLOCKS_MAX];
    int blocks;
    struct xla_error *error; /* the first; then the functions below do nothing */
};

/* The stream. */
void xla_side_open(struct xla_side *side);

/* Address of a buffer on the device: an argument, or a result, which can be cleared first. */
void *xla_side_argument(struct xla_side *side, const struct xla_buffer *buffer);
void *xla_side_result(struct xla_side *side, const struct xla_buffer *buffer, int clear);

/* Memory of the device until the end of the call. */
void *xla_side_scratch(struct xla_side *side, size_t size);

/* Brings results back and frees what was allocated; the call's own result. */
struct xla_error *xla_side_close(struct xla_side *side);

/* Notes an error, if it is the first: with a text of its own, or as the library says. */
void xla_side_fail(struct xla_side *side, enum xla_error_code code, const char *text);
void xla_side_check(struct xla_side *side, enum aothip_status status);

#endif
