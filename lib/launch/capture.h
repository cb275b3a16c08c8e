/*
 * Writes launches down, each as a directory of plain files that aothip-replay and other emulators
 * can run again. Asked for by the environment variable AOTHIP_CAPTURE=DIR, which is read when a
 * context is opened; works the same on a GPU and on the emulator. tools/replay/aothip-replay.1
 * describes the files.
 *
 * Capturing synchronises the stream twice a launch, so it cannot go on while a stream is being
 * recorded into a HIP graph: the call then fails with HIP's reason.
 */
#ifndef AOTHIP_CAPTURE_H
#define AOTHIP_CAPTURE_H

#include "capture_describe.h"
#include "hip.h"
#include "status.h"

/* A capture under way, between capture_begin() and capture_end(). */
struct capture;

/*
 * Waits for `stream`, makes a new directory "PID-N.partial" in `root` (which must exist) and writes
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
