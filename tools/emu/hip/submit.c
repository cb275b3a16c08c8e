/* Runs an operation on a stream at once, or adds it to the graph that the stream captures. */
#include <stdlib.h>

#include "graph_nodes.h"

/* A node that follows what the stream captured last. */
static hipError_t capture(struct ihipStream_t *s, struct emu_operation *op)
{
    struct ihipGraph *g;
    hipError_t e = emu_capture_graph(s, &g);
    if (e != hipSuccess) {
        emu_operation_drop(op);
        return e;
    }
    struct hipGraphNode **only = malloc(sizeof *only), *n = NULL;
    if (only)
        n = emu_graph_add(g, op);
    else
        emu_operation_drop(op);
    if (!n) {
        free(only);
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    }
    for (size_t i = 0; i < s->last.count; i++)
        s->last.node[i]->followed = true;
    free(s->last.node);
    *only = n;
    s->last = (struct emu_nodes){only, 1};
    return hipSuccess;
}

hipError_t emu_operation_submit(struct ihipStream_t *s, struct emu_operation *op)
{
    hipError_t e = hipSuccess;
    if (s->capture)
        return capture(s, op);
    emu_stream_lock(s);
    if (!op->kind->outside)
        e = op->kind->run(op);
    emu_stream_unlock(s);
    if (op->kind->outside)
        e = op->kind->run(op);
    emu_operation_drop(op);
    return e;
}
