/*
 * What XLA hands to the handler of a custom call, as its header xla/ffi/api/c_api.h lays it out
 * (interface 0.*, which only grows at its ends). Declared here so that building needs no jaxlib; a
 * test holds each offset against the header of an installed one.
 */
#ifndef XLA_ABI_H
#define XLA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Every struct begins with its size and a list of extensions. */
struct xla_extension {
    size_t struct_size;
    int type; /* XLA_EXTENSION_METADATA */
    struct xla_extension *next;
};
enum { XLA_EXTENSION_METADATA = 1 };

struct xla_version {
    size_t struct_size;
    struct xla_extension *extension;
    int major, minor;
};

/* Asked for when a handler is registered: which interface it was written for. */
struct xla_metadata {
    size_t struct_size;
    struct xla_version version;
    uint32_t traits;
};
struct xla_metadata_extension {
    struct xla_extension base;
    struct xla_metadata *metadata;
};

enum xla_type {
    XLA_BOOL = 1,
    XLA_S32 = 4,
    XLA_F16 = 10,
    XLA_F32 = 11,
    XLA_BF16 = 16,
};

/* Dense, the last dimension the fastest. */
struct xla_buffer {
    size_t struct_size;
    struct xla_extension *extension;
    int type; /* enum xla_type */
    void *data;
    int64_t rank;
    int64_t *dims;
};

/* Arguments, and in the same form results; all kinds are XLA_KIND_BUFFER. */
struct xla_values {
    size_t struct_size;
    struct xla_extension *extension;
    int64_t count;
    int *kinds;
    void **values; /* struct xla_buffer */
};
enum { XLA_KIND_BUFFER = 1 };

struct xla_text {
    const char *data;
    size_t length;
};
struct xla_scalar {
    int type; /* enum xla_type */
    void *value;
};

/* Numbers with names. */
struct xla_attributes {
    size_t struct_size;
    struct xla_extension *extension;
    int64_t count;
    int *kinds;
    struct xla_text **names;
    void **values; /* struct xla_scalar where the kind is XLA_KIND_SCALAR */
};
enum { XLA_KIND_SCALAR = 3 };

struct xla_error;   /* XLA's */
struct xla_context; /* XLA's: of one execution */

enum xla_error_code { XLA_INVALID_ARGUMENT = 3, XLA_UNIMPLEMENTED = 12, XLA_INTERNAL = 13 };

struct xla_error_create {
    size_t struct_size;
    struct xla_extension *extension;
    const char *message;
    int code; /* enum xla_error_code */
};
struct xla_stream_get {
    size_t struct_size;
    struct xla_extension *extension;
    struct xla_context *context;
    void *stream; /* out */
};
struct xla_memory_allocate {
    size_t struct_size;
    struct xla_extension *extension;
    struct xla_context *context;
    size_t size, alignment;
    void *data; /* out */
};
struct xla_memory_free {
    size_t struct_size;
    struct xla_extension *extension;
    struct xla_context *context;
    size_t size;
    void *data;
};

struct xla_api {
    size_t struct_size;
    struct xla_extension *extension;
    struct xla_version version;
    void *internal;
    struct xla_error *(*error_create)(struct xla_error_create *);
    void *error_message, *error_destroy, *handler_register;
    struct xla_error *(*stream_get)(struct xla_stream_get *);
    void *type_register, *context_get, *state_set, *state_get;
    struct xla_error *(*memory_allocate)(struct xla_memory_allocate *);
    struct xla_error *(*memory_free)(struct xla_memory_free *);
};

struct xla_call {
    size_t struct_size;
    struct xla_extension *extension;
    const struct xla_api *api;
    struct xla_context *context;
    int stage; /* XLA_EXECUTE */
    struct xla_values arguments, results;
    struct xla_attributes attributes;
};
enum { XLA_EXECUTE = 3 };

#endif
