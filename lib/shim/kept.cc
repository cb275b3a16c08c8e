/*
 * Device memory that is kept from call to call: for each stream that launches, whose launches use
 * it one after the other, and for each stream that a graph was captured from, as long as the graph
 * or an executable of it lives. HIP's pools would cost a marker a call, give memory back whenever
 * somebody waits for a stream, and refuse while another stream is in capture.
 */
#include "shim.h"

#include <atomic>
#include <mutex>

namespace shim
{

namespace
{

constexpr std::size_t least_memory = std::size_t{256} << 10;

struct block {
    std::atomic<bool> taken; /* by a call or by a graph, which gives it free without the lock */
    void *data;              /* null: the rest does not count */
    std::size_t size;
    int device;
    hipStream_t stream;
    unsigned long long capture; /* number of the one that the graph came from; 0: no graph's */
};

enum { BLOCKS = 256 };
std::mutex lock;       /* of the blocks, but for `taken` */
block blocks[BLOCKS];  /* never given back: graphs may outlive whatever would do it */
std::size_t all_bytes; /* of them */

/* What HIP's headers before 5.3 do not declare. */
struct user_object;
enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };

struct graph_functions {
    hipError_t (*capture_info)(hipStream_t, hipStreamCaptureStatus *, unsigned long long *,
                               hipGraph_t *, const hipGraphNode_t **, std::size_t *);
    hipError_t (*create)(user_object **, void *, void (*)(void *), unsigned, unsigned);
    hipError_t (*release)(user_object *, unsigned);
    hipError_t (*retain_by_graph)(hipGraph_t, user_object *, unsigned, unsigned);
    hipError_t (*get_device)(int *);
    hipError_t (*set_device)(int);
    hipError_t (*stream_device)(hipStream_t, int *);
    bool all;

    graph_functions()
    {
        find_hip(&capture_info, "hipStreamGetCaptureInfo_v2");
        find_hip(&create, "hipUserObjectCreate");
        find_hip(&release, "hipUserObjectRelease");
        find_hip(&retain_by_graph, "hipGraphRetainUserObject");
        find_hip(&get_device, "hipGetDevice");
        find_hip(&set_device, "hipSetDevice");
        find_hip(&stream_device, "hipStreamGetDevice");
        all = capture_info && create && release && retain_by_graph;
    }
};

const graph_functions &graphs()
{
    static const graph_functions found;
    return found;
}

/* Handles of the null stream mean another stream on each device. */
bool is_null_stream(hipStream_t stream)
{
    return reinterpret_cast<std::uintptr_t>(stream) <= 1; /* hipStreamLegacy is 1 */
}

/* The device of a stream. */
bool find_device(hipStream_t stream, int *device)
{
    const graph_functions &hip = graphs();
    if (!is_null_stream(stream) && hip.stream_device)
        return succeeds(hip.stream_device(stream, device));
    return hip.get_device && succeeds(hip.get_device(device));
}

/* Called by HIP, which may hold locks: calls nothing. */
void give_free(void *held)
{
    static_cast<block *>(held)->taken.store(false, std::memory_order_release);
}

/* Makes a graph in capture hold a block. */
bool bind(block *held, hipGraph_t graph)
{
    const graph_functions &hip = graphs();
    user_object *object;
    held->taken.store(true, std::memory_order_relaxed);
    if (!succeeds(hip.create(&object, held, give_free, 1, NO_DESTRUCTOR_SYNC))) {
        give_free(held);
        return false;
    }
    if (succeeds(hip.retain_by_graph(graph, object, 1, MOVE)))
        return true;
    (void)succeeds(hip.release(object, 1)); /* which gives the block free */
    return false;
}

/* Memory for `bytes`, in place of what a block has, which stays where there is none to be had. */
bool fill(block *each, std::size_t bytes)
{
    const graph_functions &hip = graphs();
    const std::size_t others = all_bytes - (each->data ? each->size : 0);
    int current;
    std::size_t size = least_memory;
    while (size < bytes)
        size *= 2;
    if (size > most_kept - others || !hip.get_device || !succeeds(hip.get_device(&current)))
        return false;
    if (current != each->device && !(hip.set_device && succeeds(hip.set_device(each->device))))
        return false;
    void *const data = allocate_now(size);
    if (data && each->data)
        free_now(each->data); /* waits for what uses it */
    if (current != each->device)
        (void)succeeds(hip.set_device(current));
    if (!data)
        return false;
    each->data = data;
    each->size = size;
    all_bytes = others + size;
    return true;
}

/* A block without memory; null if all have some. */
block *find_empty(hipStream_t stream, int device)
{
    for (block &each : blocks)
        if (!each.data) {
            each.stream = stream;
            each.device = device;
            each.capture = 0;
            return &each;
        }
    return nullptr;
}

/* For a stream that launches; null while another thread's call has it. */
block *find_for_stream(hipStream_t stream, int device, std::size_t bytes)
{
    block *found = nullptr;
    for (block &each : blocks)
        if (each.data && !each.capture && each.stream == stream && each.device == device)
            found = &each;
    if (found && found->taken.load(std::memory_order_acquire))
        return nullptr;
    if (!found)
        found = find_empty(stream, device);
    if (!found || ((!found->data || found->size < bytes) && !fill(found, bytes)))
        return nullptr;
    found->taken.store(true, std::memory_order_relaxed);
    return found;
}

/* For the graph that is captured from a stream: what it has already, or the smallest that fits. */
block *find_for_graph(hipStream_t stream, int device, std::size_t bytes)
{
    hipStreamCaptureStatus status;
    unsigned long long id = 0;
    hipGraph_t graph;
    block *found = nullptr;
    if (!succeeds(graphs().capture_info(stream, &status, &id, &graph, nullptr, nullptr)) ||
        status != hipStreamCaptureStatusActive || !id)
        return nullptr;
    for (block &each : blocks) {
        if (!each.data || !each.capture || each.device != device || each.size < bytes)
            continue;
        if (!each.taken.load(std::memory_order_acquire))
            found = found && found->size <= each.size ? found : &each;
        else if (each.capture == id && each.stream == stream)
            return &each;
    }
    if (!found)
        found = find_empty(stream, device);
    if (!found || (!found->data && !fill(found, bytes)))
        return nullptr;
    found->stream = stream;
    found->capture = id;
    return bind(found, graph) ? found : nullptr;
}

} // namespace

kept::kept(hipStream_t stream, std::size_t bytes)
{
    int device;
    if (!bytes || bytes > most_memory || stream == hipStreamPerThread)
        return;
    const bool captured = in_capture(stream);
    if (captured && (is_null_stream(stream) || !graphs().all))
        return;
    const std::lock_guard<std::mutex> guard(lock);
    if (!find_device(stream, &device))
        return;
    block *const found =
        captured ? find_for_graph(stream, device, bytes) : find_for_stream(stream, device, bytes);
    if (!found)
        return;
    data_ = found->data;
    call_ = captured ? nullptr : found;
}

kept::~kept()
{
    if (call_)
        give_free(call_);
}

} // namespace shim
