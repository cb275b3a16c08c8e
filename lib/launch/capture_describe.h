/* What a launch reads and writes, for captures. */
#ifndef AOTHIP_CAPTURE_DESCRIBE_H
#define AOTHIP_CAPTURE_DESCRIBE_H

#include "args.h"

enum { CAPTURE_MAX_TENSORS = 32 };

/* Types of arrays that are no tensors of the API; beside enum aothip_dtype. */
enum capture_dtype { CAPTURE_I32 = 16, CAPTURE_I64 = 17 };

/* A tensor of the launch and where its address stands in the kernel arguments. */
struct capture_tensor {
    const char *name;
    struct aothip_tensor view; /* data is the device address; dtype may be a capture_dtype */
    uint32_t kernarg_offset;
    int written; /* 1 for an output */
};

struct capture_launch {
    const char *symbol; /* of the kernel */
    const char *target; /* of the device, "gfx942:sramecc+:xnack-" */
    const void *code;   /* the code object, code_size bytes */
    size_t code_size;
    const void *kernarg; /* kernarg_size bytes */
    size_t kernarg_size;
    struct args_grid grid;
    struct capture_tensor tensors[CAPTURE_MAX_TENSORS];
    unsigned tensor_count;
};

/*
 * Adds to `launch` every tensor that a kernel `op` with these arguments reads or writes, down to
 * cumulative lengths; `bwd` is NULL in the forward pass. Pure.
 */
void capture_describe(struct capture_launch *launch, enum format_op op, const union args_any *args,
                      const struct aothip_attn_fwd_params *fwd,
                      const struct aothip_attn_bwd_params *bwd);

/* The same for attn_merge_part. Pure. */
void capture_describe_merge(struct capture_launch *launch, const union args_any *args,
                            const struct aothip_attn_merge_params *merge);

/* Bytes of an element of a captured tensor. */
uint64_t capture_dtype_bytes(int32_t dtype);

#endif
