/* Streams by their handles, and the order of the operations of one. */
#include "handles.h"

/* Value of hipStreamPerThread in HIP 5; hipStreamLegacy of HIP 6 is 1. */
#define STREAM_LEGACY ((hipStream_t)1)
#define STREAM_PER_THREAD ((hipStream_t)2)

struct ihipStream_t *emu_stream_get(hipStream_t stream)
{
    struct emu_device *d = emu_hip_current();
    /* Host threads need no stream of their own when every call is synchronous. */
    if (stream == NULL || stream == STREAM_LEGACY || stream == STREAM_PER_THREAD)
        return d->null_stream;
    return emu_handle_live(stream, EMU_HANDLE_STREAM) ? stream : NULL;
}

static pthread_mutex_t *stream_order(struct ihipStream_t *s)
{
    return s->flags & hipStreamNonBlocking ? &s->own : &s->device->order;
}

void emu_stream_lock(struct ihipStream_t *s)
{
    pthread_mutex_lock(stream_order(s));
}

void emu_stream_unlock(struct ihipStream_t *s)
{
    pthread_mutex_unlock(stream_order(s));
}
