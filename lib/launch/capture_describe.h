/*
 * Writes launches down, each as a directory of plain files that aothip-replay and other emulators
 * can run again. Asked for by the environment variable AOTHIP_CAPTURE=DIR, which is read when a
 * context is opened; works the same on a GPU and on the emulator. tools/aothip-replay.1 describes
 * the files.
 *
 * Capturing synchronises the stream twice a launch, so it cannot go on while a stream is being
 * recorded into a HIP graph: the call then fails with HIP's reason.
 */
#ifndef AOTHIP_CAPTURE_H
#define AOTHIP_CAPTURE_H

#include "args.h"
#include "hip.h"
#include "status.h"

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

/* Bytes of an element of a captured tensor. */
uint64_t capture_dtype_bytes(int32_t dtype);

/* A capture under way, between capture_begin() and capture_end(). */
struct capture;

/*
 * Waits for `stream`, makes a directory "PID-N.partial" in `root` (which must exist) and writes
 * into it all there is before the launch. If the GPU then hangs or the process dies, the directory
 * stays and can be replayed. Errors: NO_HIP (the runtime cannot copy), HIP, IO, MEMORY.
 */
enum aothip_status capture_begin(const char *root, const struct hip *hip, hipStream_t stream,
                                 const struct capture_launch *launch, struct capture **capture,
                                 struct status *why);

/*
 * After the launch: waits for `stream`, adds what the buffers hold now, renames the directory to
 * "PID-N" and frees `capture`. Errors: HIP, IO, MEMORY; `capture` is freed all the same.
 */
enum aothip_status capture_end(struct capture *capture, struct status *why);

#endif
