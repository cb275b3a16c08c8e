/* A captured launch as it lies on disk (lib/launch/capture.h), read and checked. */
#ifndef AOTHIP_REPLAY_READ_H
#define AOTHIP_REPLAY_READ_H

#include <stddef.h>
#include <stdint.h>

#include "aothip/aothip.h"
#include "status.h"

enum { REPLAY_MAX = 32 }; /* buffers, and tensors */

/* Types beside enum aothip_dtype. */
enum replay_dtype { REPLAY_I32 = 16, REPLAY_I64 = 17 };

struct replay_file {
    uint8_t *bytes; /* NULL where the capture has no such file */
    size_t size;
};

struct replay_buffer {
    struct replay_file before, after; /* `after` is absent from a capture that was cut short */
};

struct replay_tensor {
    char name[32];
    int written;
    int dtype; /* enum aothip_dtype or replay_dtype */
    int64_t size[4], stride[4];
    unsigned buffer;
    uint64_t offset; /* of the first element in the buffer, bytes */
    uint32_t kernarg_offset;
};

struct replay {
    char target[64], kernel[128];
    uint32_t grid[3], block[3], dynamic_lds;
    struct replay_file code, kernarg;
    struct replay_buffer buffers[REPLAY_MAX];
    unsigned buffer_count;
    struct replay_tensor tensors[REPLAY_MAX];
    unsigned tensor_count;
    int complete; /* every buffer has its `after` */
};

/*
 * Reads the capture in `directory`. Every number and every file's size is checked, and a file name
 * with a '/' is refused. On failure `replay` is all zero.
 * Errors: IO, FORMAT, VERSION, MEMORY.
 */
enum aothip_status replay_read(const char *directory, struct replay *replay, struct status *why);

/* Bytes of an element. */
size_t replay_dtype_bytes(int dtype);

void replay_free(struct replay *replay); /* all zero is fine */

#endif
