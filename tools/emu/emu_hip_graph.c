/* Stream capture and graphs: a graph is the list of its operations in the order of their capture.
 */
#include "emu_hip_newer.h"

#include <stdlib.h>
#include <string.h>

enum node_kind { NODE_LAUNCH, NODE_COPY, NODE_FILL, NODE_EMPTY };

struct hipGraphNode {
    enum node_kind kind;
    struct emu_packet launch;
    uint64_t args[6]; /* of emu_copy_run or emu_fill_run */
};

struct ihipGraph {
    struct hipGraphNode **nodes;
    size_t count;
    struct ihipStream_t **streams; /* drawn into the capture */
    size_t nstreams;
};

struct hipGraphExec {
    struct ihipGraph *graph; /* a copy of its own */
    struct emu_device *device;
};

static void free_node(struct hipGraphNode *n)
{
    emu_handle_drop(n, EMU_HANDLE_NODE);
    free(n->launch.kernarg);
    free(n);
}

static void free_graph(struct ihipGraph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++)
        free_node(g->nodes[i]);
    free(g->nodes);
    free(g->streams);
    free(g);
}

static struct hipGraphNode *add_node(struct ihipGraph *g, enum node_kind kind)
{
    struct hipGraphNode *n = calloc(1, sizeof *n);
    void *more = n ? realloc(g->nodes, (g->count + 1) * sizeof *g->nodes) : NULL;
    if (more)
        g->nodes = more;
    if (!more || !emu_handle_add(n, EMU_HANDLE_NODE)) {
        free(n);
        return NULL;
    }
    n->kind = kind;
    g->nodes[g->count++] = n;
    return n;
}

hipError_t emu_capture_launch(struct ihipStream_t *s, struct emu_packet *p)
{
    struct hipGraphNode *n = add_node(s->graph, NODE_LAUNCH);
    if (!n) {
        free(p->kernarg);
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    }
    n->launch = *p;
    return hipSuccess;
}

static hipError_t capture_args(struct ihipStream_t *s, enum node_kind kind, const uint64_t args[6])
{
    struct hipGraphNode *n = add_node(s->graph, kind);
    if (!n)
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    memcpy(n->args, args, sizeof n->args);
    return hipSuccess;
}

hipError_t emu_capture_copy(struct ihipStream_t *s, const uint64_t args[6])
{
    return capture_args(s, NODE_COPY, args);
}

hipError_t emu_capture_fill(struct ihipStream_t *s, const uint64_t args[6])
{
    return capture_args(s, NODE_FILL, args);
}

hipError_t emu_capture_join(struct ihipGraph *g, struct ihipStream_t *s)
{
    void *more = realloc(g->streams, (g->nstreams + 1) * sizeof *g->streams);
    if (!more)
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    g->streams = more;
    g->streams[g->nstreams++] = s;
    s->graph = g;
    return hipSuccess;
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    if (s == s->device->null_stream)
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "the null stream cannot capture");
    if (s->graph)
        return emu_hip_fail(hipErrorIllegalState, "the stream is capturing already");
    struct ihipGraph *g = calloc(1, sizeof *g);
    if (!g || !emu_handle_add(g, EMU_HANDLE_GRAPH) || emu_capture_join(g, s) != hipSuccess) {
        if (g)
            emu_handle_drop(g, EMU_HANDLE_GRAPH);
        free_graph(g);
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    }
    s->origin = true;
    s->mode = mode;
    return hipSuccess;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !graph)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream, or result is null");
    if (!s->graph || !s->origin)
        return emu_hip_fail(s->graph ? hipErrorStreamCaptureUnmatched : hipErrorIllegalState,
                            "no capture began on this stream");
    struct ihipGraph *g = s->graph;
    for (size_t i = 0; i < g->nstreams; i++)
        if (g->streams[i]->graph == g)
            g->streams[i]->graph = NULL;
    g->nstreams = 0;
    s->origin = false;
    *graph = (hipGraph_t)g;
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !status)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream, or result is null");
    *status = s->graph ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return hipSuccess;
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status,
                                   unsigned long long *id)
{
    hipError_t e = hipStreamIsCapturing(stream, status);
    if (e == hipSuccess && id)
        *id = (unsigned long long)(uintptr_t)emu_stream_get(stream)->graph;
    return e;
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status,
                                      unsigned long long *id, hipGraph_t *graph,
                                      const hipGraphNode_t **nodes, size_t *count)
{
    hipError_t e = hipStreamGetCaptureInfo(stream, status, id);
    if (e != hipSuccess)
        return e;
    struct ihipGraph *g = emu_stream_get(stream)->graph;
    if (graph)
        *graph = (hipGraph_t)g;
    /* The next operation depends on the last one, since a graph is a line here. */
    if (nodes)
        *nodes = g && g->count ? (const hipGraphNode_t *)&g->nodes[g->count - 1] : NULL;
    if (count)
        *count = g && g->count ? 1 : 0;
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    static _Thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
    EMU_BEGIN();
    if (!mode)
        return emu_hip_fail(hipErrorInvalidValue, "mode is null");
    hipStreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    return hipSuccess;
}

static struct ihipGraph *live_graph(hipGraph_t graph)
{
    return emu_handle_live(graph, EMU_HANDLE_GRAPH) ? (struct ihipGraph *)graph : NULL;
}

hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags)
{
    EMU_BEGIN();
    if (!graph || flags)
        return emu_hip_fail(hipErrorInvalidValue, "graph: result is null or flags %u", flags);
    struct ihipGraph *g = calloc(1, sizeof *g);
    if (!g || !emu_handle_add(g, EMU_HANDLE_GRAPH)) {
        free(g);
        return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
    }
    *graph = (hipGraph_t)g;
    return hipSuccess;
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    EMU_BEGIN();
    if (!emu_handle_drop(graph, EMU_HANDLE_GRAPH))
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph");
    free_graph((struct ihipGraph *)graph);
    return hipSuccess;
}

static hipError_t new_node(hipGraphNode_t *out, hipGraph_t graph, enum node_kind kind,
                           struct hipGraphNode **node)
{
    EMU_BEGIN();
    struct ihipGraph *g = live_graph(graph);
    if (!g || !out)
        return emu_hip_fail(hipErrorInvalidValue, "not a live graph, or result is null");
    *node = add_node(g, kind);
    if (!*node)
        return emu_hip_fail(hipErrorOutOfMemory, "graph: out of memory");
    *out = (hipGraphNode_t)*node;
    return hipSuccess;
}

/* Dependencies are not looked at: nodes run in the order they were added, and a node can only
 * depend on one added before. */
hipError_t hipGraphAddKernelNode(hipGraphNode_t *out, hipGraph_t graph,
                                 const hipGraphNode_t *depends, size_t ndepends,
                                 const hipKernelNodeParams *p)
{
    struct emu_packet packet;
    struct hipGraphNode *n;
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
    e = new_node(out, graph, NODE_LAUNCH, &n);
    if (e != hipSuccess) {
        free(packet.kernarg);
        return e;
    }
    n->launch = packet;
    return hipSuccess;
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t *out, hipGraph_t graph,
                                   const hipGraphNode_t *depends, size_t ndepends, void *dst,
                                   const void *src, size_t count, hipMemcpyKind kind)
{
    struct hipGraphNode *n;
    (void)depends, (void)ndepends, (void)kind;
    hipError_t e = new_node(out, graph, NODE_COPY, &n);
    if (e != hipSuccess)
        return e;
    const uint64_t args[6] = {(uint64_t)(uintptr_t)dst, 0, (uint64_t)(uintptr_t)src, 0, count, 1};
    memcpy(n->args, args, sizeof args);
    return hipSuccess;
}

hipError_t hipGraphAddMemsetNode(hipGraphNode_t *out, hipGraph_t graph,
                                 const hipGraphNode_t *depends, size_t ndepends,
                                 const hipMemsetParams *p)
{
    struct hipGraphNode *n;
    (void)depends, (void)ndepends;
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
        return emu_hip_fail(hipErrorInvalidValue, "memset node: element size is not 1, 2 or 4");
    if (p->width > UINT64_MAX / 4)
        return emu_hip_fail(hipErrorInvalidValue, "memset node: %zu elements", p->width);
    hipError_t e = new_node(out, graph, NODE_FILL, &n);
    if (e != hipSuccess)
        return e;
    const uint64_t args[6] = {
        (uint64_t)(uintptr_t)p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
    memcpy(n->args, args, sizeof args);
    return hipSuccess;
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t *out, hipGraph_t graph,
                                const hipGraphNode_t *depends, size_t ndepends)
{
    struct hipGraphNode *n;
    (void)depends, (void)ndepends;
    return new_node(out, graph, NODE_EMPTY, &n);
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
    static const hipGraphNodeType types[] = {hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy,
                                             hipGraphNodeTypeMemset, hipGraphNodeTypeEmpty};
    EMU_BEGIN();
    if (!type || !emu_handle_live(node, EMU_HANDLE_NODE))
        return emu_hip_fail(hipErrorInvalidValue, "not a live node, or result is null");
    *type = types[((struct hipGraphNode *)node)->kind];
    return hipSuccess;
}

static struct ihipGraph *copy_graph(const struct ihipGraph *g)
{
    struct ihipGraph *c = calloc(1, sizeof *c);
    for (size_t i = 0; c && i < g->count; i++) {
        const struct hipGraphNode *from = g->nodes[i];
        struct hipGraphNode *n = add_node(c, from->kind);
        if (!n) {
            free_graph(c);
            return NULL;
        }
        memcpy(n->args, from->args, sizeof n->args);
        n->launch = from->launch;
        n->launch.kernarg = NULL;
        if (from->kind != NODE_LAUNCH)
            continue;
        size_t size = from->launch.function->meta->kernarg_size + 1;
        n->launch.kernarg = malloc(size);
        if (!n->launch.kernarg) {
            free_graph(c);
            return NULL;
        }
        memcpy(n->launch.kernarg, from->launch.kernarg, size);
    }
    return c;
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
    struct hipGraphExec *x = calloc(1, sizeof *x);
    if (x)
        x->graph = copy_graph(g);
    if (!x || !x->graph || !emu_handle_add(x, EMU_HANDLE_GRAPH_EXEC)) {
        if (x)
            free_graph(x->graph);
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
    free_graph(((struct hipGraphExec *)exec)->graph);
    free(exec);
    return hipSuccess;
}

static hipError_t run_node(const struct hipGraphNode *n)
{
    const uint64_t *a = n->args;
    switch (n->kind) {
    case NODE_LAUNCH:
        if (!emu_handle_live(n->launch.function, EMU_HANDLE_FUNCTION))
            return emu_hip_fail(hipErrorInvalidHandle, "graph: its module was unloaded");
        return emu_packet_run(&n->launch);
    case NODE_COPY:
        return emu_copy_run(a[0], a[1], a[2], a[3], a[4], a[5]);
    case NODE_FILL:
        return emu_fill_run(a[0], a[1], (uint32_t)a[2], (unsigned)a[3], a[4], a[5]);
    default:
        return hipSuccess;
    }
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !emu_handle_live(exec, EMU_HANDLE_GRAPH_EXEC))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live executable graph or stream");
    if (s->graph)
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "the stream is capturing");
    const struct ihipGraph *g = ((struct hipGraphExec *)exec)->graph;
    hipError_t e = hipSuccess;
    emu_stream_lock(s);
    for (size_t i = 0; i < g->count && e == hipSuccess; i++)
        e = run_node(g->nodes[i]);
    emu_stream_unlock(s);
    return e;
}

hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream)
{
    EMU_BEGIN();
    if (!emu_stream_get(stream) || !emu_handle_live(exec, EMU_HANDLE_GRAPH_EXEC))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live executable graph or stream");
    return hipSuccess;
}
