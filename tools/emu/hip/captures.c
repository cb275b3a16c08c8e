/*
 * Stream capture, with the rules of AMD's HIP runtime (clr's hip_graph.cpp, hip_stream.cpp,
 * hip_event.cpp and the CHECK_ macros of hip_internal.hpp): who may call what while a stream
 * captures, and what a wrong call does to the captures that are under way: it ends none, but
 * hipStreamEndCapture will give no graph.
 */
#include "graph_nodes.h"
#include "newer_calls.h"

#include <stdlib.h>
#include <string.h>

struct emu_capture {
    uint64_t id;
    struct ihipGraph *graph;
    struct ihipStream_t *origin;
    struct ihipStream_t **streams; /* origin and those that waited for its events */
    size_t nstreams;
    hipStreamCaptureMode mode;
    const void *thread;  /* in which it began */
    atomic_bool invalid; /* read without the lock */
    struct emu_capture *next;
};

static struct {
    pthread_mutex_t lock; /* of the list and of what hangs on it */
    struct emu_capture *captures;
    uint64_t last_id;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local hipStreamCaptureMode thread_mode = hipStreamCaptureModeGlobal;
static _Thread_local char this_thread;

/* What a call that is forbidden finds: captures that it spoils. */
enum reach {
    REACH_ALL,    /* every capture */
    REACH_GLOBAL, /* of global mode, by whichever thread */
    REACH_MINE,   /* of global or thread-local mode, begun by this thread */
};

static bool spoil(enum reach reach)
{
    bool any = false;
    pthread_mutex_lock(&state.lock);
    for (struct emu_capture *c = state.captures; c; c = c->next) {
        bool hit = reach == REACH_ALL ||
                   (reach == REACH_GLOBAL && c->mode == hipStreamCaptureModeGlobal) ||
                   (reach == REACH_MINE && c->mode != hipStreamCaptureModeRelaxed &&
                    c->thread == &this_thread);
        if (hit)
            c->invalid = true;
        any |= hit;
    }
    pthread_mutex_unlock(&state.lock);
    return any;
}

/* Of the calling thread's mode: relaxed, it may do what it likes. */
static bool spoil_unsafe(void)
{
    if (thread_mode == hipStreamCaptureModeRelaxed)
        return false;
    if (spoil(REACH_MINE))
        return true;
    return thread_mode == hipStreamCaptureModeGlobal && spoil(REACH_GLOBAL);
}

hipError_t emu_capture_unsafe(const char *what)
{
    return spoil_unsafe()
               ? emu_hip_fail(hipErrorStreamCaptureUnsupported, "%s while a stream captures", what)
               : hipSuccess;
}

hipError_t emu_capture_none(hipError_t error, const char *what)
{
    return spoil(REACH_ALL) ? emu_hip_fail(error, "%s while a stream captures", what) : hipSuccess;
}

hipError_t emu_capture_wait(struct ihipStream_t *s, const char *what)
{
    if (s == s->device->null_stream)
        return hipSuccess;
    if (s->capture) {
        pthread_mutex_lock(&state.lock);
        s->capture->invalid = true;
        pthread_mutex_unlock(&state.lock);
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "%s: the stream is capturing", what);
    }
    return emu_capture_unsafe(what);
}

/* The active capture of that number; lock held. */
static struct emu_capture *find(uint64_t id)
{
    struct emu_capture *c = state.captures;
    while (c && (c->id != id || c->invalid))
        c = c->next;
    return id ? c : NULL;
}

bool emu_capture_active(uint64_t id)
{
    pthread_mutex_lock(&state.lock);
    bool active = find(id) != NULL;
    pthread_mutex_unlock(&state.lock);
    return active;
}

void emu_capture_invalidate(uint64_t id)
{
    pthread_mutex_lock(&state.lock);
    struct emu_capture *c = find(id);
    if (c)
        c->invalid = true;
    pthread_mutex_unlock(&state.lock);
}

uint64_t emu_capture_id(const struct ihipStream_t *s)
{
    return s->capture ? s->capture->id : 0;
}

hipStreamCaptureStatus emu_capture_status(const struct ihipStream_t *s)
{
    return !s->capture           ? hipStreamCaptureStatusNone
           : s->capture->invalid ? hipStreamCaptureStatusInvalidated
                                 : hipStreamCaptureStatusActive;
}

hipError_t emu_capture_graph(const struct ihipStream_t *s, struct ihipGraph **graph)
{
    *graph = NULL;
    if (!s->capture)
        return hipSuccess;
    if (s->capture->invalid)
        return emu_hip_fail(hipErrorStreamCaptureInvalidated,
                            "the capture was invalidated by an earlier call");
    *graph = s->capture->graph;
    return hipSuccess;
}

/* Lock held. */
static bool enrol(struct emu_capture *c, struct ihipStream_t *s)
{
    void *more = realloc(c->streams, (c->nstreams + 1) * sizeof *c->streams);
    if (!more)
        return false;
    c->streams = more;
    c->streams[c->nstreams++] = s;
    s->capture = c;
    return true;
}

hipError_t emu_capture_join(uint64_t id, struct ihipStream_t *s)
{
    hipError_t e = hipSuccess;
    pthread_mutex_lock(&state.lock);
    struct emu_capture *c = find(id);
    if (s->capture && s->capture != c)
        e = emu_hip_fail(hipErrorStreamCaptureMerge, "event and stream belong to two captures");
    else if (!s->capture && s == s->device->null_stream)
        e = emu_hip_fail(hipErrorStreamCaptureImplicit, "the null stream cannot join a capture");
    else if (!s->capture && c && !enrol(c, s))
        e = emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    pthread_mutex_unlock(&state.lock);
    return e;
}

/* Sets all streams of a capture free and forgets it; lock held. The graph is the caller's. */
static void dissolve(struct emu_capture *c)
{
    struct emu_capture **at = &state.captures;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    for (size_t i = 0; i < c->nstreams; i++) {
        c->streams[i]->capture = NULL;
        emu_graph_forget(c->streams[i]);
    }
    free(c->streams);
    free(c);
}

static void destroy(struct ihipGraph *g)
{
    if (emu_handle_drop(g, EMU_HANDLE_GRAPH))
        emu_graph_free(g);
}

void emu_capture_leave(struct ihipStream_t *s)
{
    struct ihipGraph *abandoned = NULL;
    pthread_mutex_lock(&state.lock);
    struct emu_capture *c = s->capture;
    if (c && c->origin == s) {
        abandoned = c->graph;
        dissolve(c);
    } else if (c) {
        size_t i = 0;
        while (c->streams[i] != s)
            i++;
        c->streams[i] = c->streams[--c->nstreams];
        s->capture = NULL;
        emu_graph_forget(s);
    }
    pthread_mutex_unlock(&state.lock);
    if (abandoned)
        destroy(abandoned);
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    if (s == s->device->null_stream)
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "the null stream cannot capture");
    if ((unsigned)mode > hipStreamCaptureModeRelaxed)
        return emu_hip_fail(hipErrorInvalidValue, "capture mode %d", (int)mode);
    if (s->capture)
        return emu_hip_fail(hipErrorIllegalState, "the stream is capturing already");
    struct emu_capture *c = calloc(1, sizeof *c);
    struct ihipGraph *graph = c ? emu_graph_new() : NULL;
    if (!graph) {
        free(c);
        return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
    }
    c->graph = graph;
    c->origin = s;
    c->mode = mode;
    c->thread = &this_thread;
    pthread_mutex_lock(&state.lock);
    bool enrolled = enrol(c, s);
    if (enrolled) {
        c->id = ++state.last_id;
        c->next = state.captures;
        state.captures = c;
    }
    pthread_mutex_unlock(&state.lock);
    if (enrolled)
        return hipSuccess;
    destroy(graph);
    free(c);
    return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
}

/* Takes the graph out of a capture that may end, or says why it has none to give; lock held. */
static hipError_t end(struct emu_capture *c, struct ihipStream_t *s, struct ihipGraph **lost,
                      hipGraph_t *graph)
{
    hipError_t e = hipSuccess;
    if (c->origin != s)
        return emu_hip_fail(hipErrorStreamCaptureUnmatched, "the capture began on another stream");
    if (c->mode != hipStreamCaptureModeRelaxed && c->thread != &this_thread)
        return emu_hip_fail(hipErrorStreamCaptureWrongThread,
                            "the capture was begun by another thread");
    if (c->invalid)
        e = emu_hip_fail(hipErrorStreamCaptureInvalidated,
                         "the capture was invalidated by an earlier call");
    else if (!emu_graph_joined(c->graph, s))
        e = emu_hip_fail(hipErrorStreamCaptureUnjoined,
                         "work of another stream was not joined to the capture's own");
    if (e == hipSuccess)
        *graph = (hipGraph_t)c->graph;
    else
        *lost = c->graph;
    dissolve(c);
    return e;
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t *graph)
{
    struct ihipGraph *lost = NULL;
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!graph)
        return emu_hip_fail(hipErrorInvalidValue, "result is null");
    *graph = NULL;
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    pthread_mutex_lock(&state.lock);
    hipError_t e = s->capture ? end(s->capture, s, &lost, graph)
                              : emu_hip_fail(hipErrorIllegalState, "no capture began here");
    pthread_mutex_unlock(&state.lock);
    if (lost)
        destroy(lost);
    return e;
}

bool emu_capture_blocking(void)
{
    bool any = false;
    pthread_mutex_lock(&state.lock);
    for (struct emu_capture *c = state.captures; c; c = c->next)
        for (size_t i = 0; i < c->nstreams; i++)
            any |= !(c->streams[i]->flags & hipStreamNonBlocking);
    pthread_mutex_unlock(&state.lock);
    return any;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !status)
        return emu_hip_fail(s ? hipErrorInvalidValue : hipErrorInvalidHandle,
                            "not a live stream, or result is null");
    if (s == s->device->null_stream && emu_capture_blocking()) /* HIP refuses to answer */
        return emu_hip_fail(hipErrorStreamCaptureImplicit,
                            "a stream that waits for the null stream is capturing");
    *status = emu_capture_status(s);
    return hipSuccess;
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus *status,
                                   unsigned long long *id)
{
    hipError_t e = hipStreamIsCapturing(stream, status);
    if (e == hipSuccess && id)
        *id = emu_capture_id(emu_stream_get(stream));
    return e;
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status,
                                      unsigned long long *id, hipGraph_t *graph,
                                      const hipGraphNode_t **nodes, size_t *count)
{
    hipError_t e = hipStreamGetCaptureInfo(stream, status, id);
    if (e != hipSuccess)
        return e;
    struct ihipStream_t *s = emu_stream_get(stream);
    if (graph)
        *graph = s->capture ? (hipGraph_t)s->capture->graph : NULL;
    if (nodes)
        *nodes = (const hipGraphNode_t *)s->last.node;
    if (count)
        *count = s->last.count;
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    EMU_BEGIN();
    if (!mode || (unsigned)*mode > hipStreamCaptureModeRelaxed)
        return emu_hip_fail(hipErrorInvalidValue, "mode is null or none");
    hipStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return hipSuccess;
}
