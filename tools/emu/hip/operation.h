/*
 * An operation on a stream: a launch, a copy, a fill, a call of the host. Streams run it or put it
 * into the graph that they capture, and graphs keep it; neither knows the kinds.
 */
#ifndef EMU_HIP_OPERATION_H
#define EMU_HIP_OPERATION_H

#include "handles.h"

struct emu_operation;

struct emu_operation_kind {
    hipGraphNodeType type; /* what a graph says of it */
    hipError_t (*run)(const struct emu_operation *op);
    /* Whether it can be run still; NULL: always. */
    hipError_t (*ready)(const struct emu_operation *op);
    /* Gives a copy storage of its own, false when out of memory; and frees that. NULL: it has none.
     */
    bool (*own)(struct emu_operation *copy);
    void (*drop)(struct emu_operation *op);
    bool outside; /* runs when the stream is idle, without keeping its order meanwhile */
};

struct emu_operation {
    const struct emu_operation_kind *kind;
    union {
        struct emu_packet launch;
        uint64_t args[6]; /* of a copy or a fill */
        struct {
            void (*fn)(void *);
            void *data;
        } host;
    };
};

static inline void emu_operation_drop(struct emu_operation *op)
{
    if (op->kind->drop)
        op->kind->drop(op);
}

/* Runs it in the stream's order, or adds it to the graph that the stream captures. Takes it. */
hipError_t emu_operation_submit(struct ihipStream_t *s, struct emu_operation *op);

/* As graph nodes; emu_launch_operation takes the packet. */
struct emu_operation emu_launch_operation(const struct emu_packet *p);
struct emu_operation emu_copy_operation(uint64_t dst, uint64_t dst_pitch, uint64_t src,
                                        uint64_t src_pitch, uint64_t width, uint64_t height);
struct emu_operation emu_fill_operation(uint64_t dst, uint64_t pitch, uint32_t value,
                                        unsigned width, uint64_t count, uint64_t height);

#endif
