/* The graph functions. */
#include "graph_nodes.h"
#include "newer_calls.h"

#include <stdlib.h>
#include <string.h>

struct hipGraphExec {
    struct ihipGraph *graph; /* a copy of its own */
    struct emu_device *device;
};

static struct ihipGraph *live_graph(hipGraph_t graph)
{
    return emu_handle_live(graph, EMU_HANDLE_GRAPH) ? (struct ihipGraph *)graph : NULL;
}

hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags)
{
    EMU_BEGIN();
    if (!graph || flags)
        return emu_hip_fail(hipErrorInvalidValue, "graph: result is null or flags %u", flags);
    *graph = (hipGraph_t)emu_graph_new();
    if (!*graph)
        return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
    return hipSuccess;
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    EMU_BEGIN();
    if (!emu_handle_drop(graph, EMU_HANDLE_GRAPH))
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph");
    emu_graph_free((struct ihipGraph *)graph);
    return hipSuccess;
}

/* Takes the operation; NULL makes an empty node. */
static hipError_t new_node(hipGraphNode_t *out, hipGraph_t graph, struct emu_operation *op)
{
    struct ihipGraph *g = live_graph(graph);
    if (!g || !out) {
        if (op)
            emu_operation_drop(op);
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph, or result is null");
    }
    *out = (hipGraphNode_t)emu_graph_add(g, op);
    if (!*out)
        return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
    return hipSuccess;
}

/* Dependencies are not looked at: nodes run in the order they were added, and a node can only
 * depend on one added before. */
hipError_t hipGraphAddKernelNode(hipGraphNode_t *out, hipGraph_t graph,
                                 const hipGraphNode_t *depends, size_t ndepends,
                                 const hipKernelNodeParams *p)
{
    struct emu_packet packet;
    (void)depends, (void)ndepends;
    EMU_BEGIN();
    if (!p || !emu_handle_live(p->func, EMU_HANDLE_FUNCTION))
        return emu_hip_fail(hipErrorInvalidDeviceFunction, "not a function of a loaded module");
    const uint32_t grid[3] = {p->gridDim.x, p->gridDim.y, p->gridDim.z};
    const uint32_t block[3] = {p->blockDim.x, p->blockDim.y, p->blockDim.z};
    hipError_t e = emu_packet_make(p->func, grid, block, p->sharedMemBytes, p->kernelParams,
                                   p->extra, &packet);
    if (e != hipSuccess)
        return e;
    struct emu_operation op = emu_launch_operation(&packet);
    return new_node(out, graph, &op);
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *out, hipGraph_t graph,
                                   const hipGraphNode_t *depends, size_t ndepends, void *dst,
                                   const void *src, size_t count, hipMemcpyKind kind)
{
    struct emu_operation op =
        emu_copy_operation((uint64_t)(uintptr_t)dst, 0, (uint64_t)(uintptr_t)src, 0, count, 1);
    (void)depends, (void)ndepends, (void)kind;
    EMU_BEGIN();
    return new_node(out, graph, &op);
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *out, hipGraph_t graph,
                                 const hipGraphNode_t *depends, size_t ndepends,
                                 const hipMemsetParams *p)
{
    (void)depends, (void)ndepends;
    EMU_BEGIN();
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
        return emu_hip_fail(hipErrorInvalidValue, "memset node: element size is not 1, 2 or 4");
    if (p->width > UINT64_MAX / 4)
        return emu_hip_fail(hipErrorInvalidValue, "memset node: %zu elements", p->width);
    struct emu_operation op = emu_fill_operation((uint64_t)(uintptr_t)p->dst, p->pitch, p->value,
                                                 p->elementSize, p->width, p->height);
    return new_node(out, graph, &op);
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *out, hipGraph_t graph,
                                const hipGraphNode_t *depends, size_t ndepends)
{
    (void)depends, (void)ndepends;
    EMU_BEGIN();
    return new_node(out, graph, NULL);
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    EMU_BEGIN();
    struct ihipGraph *g = live_graph(graph);
    if (!g || !count)
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph, or count is null");
    for (size_t i = 0; nodes && i < g->count && i < *count; i++)
        nodes[i] = (hipGraphNode_t)g->nodes[i];
    if (!nodes || *count > g->count)
        *count = g->count;
    return hipSuccess;
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType *type)
{
    EMU_BEGIN();
    if (!type || !emu_handle_live(node, EMU_HANDLE_NODE))
        return emu_hip_fail(hipErrorInvalidValue, "not a live node, or result is null");
    const struct emu_operation *op = &((struct hipGraphNode *)node)->op;
    *type = op->kind ? op->kind->type : hipGraphNodeTypeEmpty;
    return hipSuccess;
}

static hipError_t node_ready(const struct hipGraphNode *n)
{
    return n->op.kind && n->op.kind->ready ? n->op.kind->ready(&n->op) : hipSuccess;
}

hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *bad,
                               char *log, size_t log_size)
{
    EMU_BEGIN();
    struct ihipGraph *g = live_graph(graph);
    if (bad)
        *bad = NULL;
    if (log && log_size)
        *log = 0;
    if (!g || !exec)
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph, or result is null");
    for (size_t i = 0; i < g->count; i++) {
        hipError_t e = node_ready(g->nodes[i]);
        if (e != hipSuccess) {
            if (bad)
                *bad = (hipGraphNode_t)g->nodes[i];
            return e;
        }
    }
    struct hipGraphExec *x = calloc(1, sizeof *x);
    if (x)
        x->graph = emu_graph_copy(g);
    if (!x || !x->graph || !emu_handle_add(x, EMU_HANDLE_GRAPH_EXEC)) {
        if (x)
            emu_graph_free(x->graph);
        free(x);
        return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
    }
    x->device = emu_hip_current();
    *exec = (hipGraphExec_t)x;
    return hipSuccess;
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                        unsigned long long flags)
{
    (void)flags;
    return hipGraphInstantiate(exec, graph, NULL, NULL, 0);
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    EMU_BEGIN();
    if (!emu_handle_drop(exec, EMU_HANDLE_GRAPH_EXEC))
        return emu_hip_fail(hipErrorInvalidValue, "not a live executable graph");
    emu_graph_free(((struct hipGraphExec *)exec)->graph);
    free(exec);
    return hipSuccess;
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !emu_handle_live(exec, EMU_HANDLE_GRAPH_EXEC))
        return emu_hip_fail(s ? hipErrorInvalidValue : hipErrorInvalidHandle,
                            "not a live executable graph or stream");
    if (s->capture)
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "the stream is capturing");
    const struct ihipGraph *g = ((struct hipGraphExec *)exec)->graph;
    hipError_t e = hipSuccess;
    for (size_t i = 0; i < g->count && e == hipSuccess; i++)
        e = node_ready(g->nodes[i]);
    emu_stream_lock(s);
    for (size_t i = 0; i < g->count && e == hipSuccess; i++)
        if (g->nodes[i]->op.kind)
            e = g->nodes[i]->op.kind->run(&g->nodes[i]->op);
    emu_stream_unlock(s);
    return e;
}

hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count,
                                    unsigned flags)
{
    enum { MOVE = 1 }; /* HIP's only flag */
    EMU_BEGIN();
    struct ihipGraph *g = live_graph(graph);
    if (!g || flags > MOVE)
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph, or flags %u", flags);
    return emu_references_add(&g->references, object, count, flags == MOVE);
}

hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count)
{
    EMU_BEGIN();
    struct ihipGraph *g = live_graph(graph);
    if (!g)
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph");
    return emu_references_remove(&g->references, object, count);
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    EMU_BEGIN();
    if (!emu_stream_get(stream) || !emu_handle_live(exec, EMU_HANDLE_GRAPH_EXEC))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live executable graph or stream");
    return hipSuccess;
}
