/* Writes a launch to a directory: code object, arguments, and the buffers before and after. */
#include "capture.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_disk.h"

enum { PATH_ROOM = 4096, NAME_ROOM = 32, TARGET_ROOM = 128 };

/* A stretch of device memory; tensors that overlap (packed QKV) share one. */
struct buffer {
    uint64_t address, size;
    uint8_t *before;
    int changed;
};

struct capture {
    const struct hip *hip;
    hipStream_t stream;
    struct capture_launch launch;
    char target[TARGET_ROOM];  /* launch.target, which need not live as long */
    char directory[PATH_ROOM]; /* ends in ".partial" */
    struct buffer buffers[CAPTURE_MAX_TENSORS];
    unsigned buffer_count;
};

static const char suffix[] = ".partial";

/* Bytes from a tensor's first element to the end of its last. */
static uint64_t tensor_bytes(const struct aothip_tensor *view)
{
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) {
        if (view->size[i] == 0)
            return 0;
        last += (uint64_t)(view->size[i] - 1) * (uint64_t)view->stride[i];
    }
    return (last + 1) * capture_dtype_bytes(view->dtype);
}

static int compare_buffers(const void *left, const void *right)
{
    const struct buffer *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Sorts the tensors' stretches and joins those that overlap. */
static void find_buffers(struct capture *capture)
{
    struct buffer *buffers = capture->buffers;
    unsigned count = 0, joined = 0;
    for (unsigned i = 0; i < capture->launch.tensor_count; i++) {
        const struct aothip_tensor *view = &capture->launch.tensors[i].view;
        buffers[count].address = (uintptr_t)view->data;
        buffers[count].size = tensor_bytes(view);
        count += buffers[count].size > 0;
    }
    qsort(buffers, count, sizeof(buffers[0]), compare_buffers);
    for (unsigned i = 1; i < count; i++) {
        struct buffer *last = &buffers[joined];
        uint64_t end = buffers[i].address + buffers[i].size;
        if (buffers[i].address >= last->address + last->size)
            buffers[++joined] = buffers[i];
        else if (end > last->address + last->size)
            last->size = end - last->address;
    }
    capture->buffer_count = count ? joined + 1 : 0;
}

static enum aothip_status fail_io(const char *what, const char *path, struct status *why)
{
    return status_set(why, errno == ENOMEM ? AOTHIP_E_MEMORY : AOTHIP_E_IO,
                      "AOTHIP_CAPTURE: cannot %s %s: %s", what, path, strerror(errno));
}

static FILE *create(const struct capture *capture, const char *name, char path[2 * PATH_ROOM],
                    struct status *why)
{
    FILE *file;
    snprintf(path, 2 * PATH_ROOM, "%s/%s", capture->directory, name);
    file = disk_create(path);
    if (!file)
        fail_io("create", path, why);
    return file;
}

/* Closes `file`; what could not be written is a failure. */
static enum aothip_status finish(FILE *file, const char *path, struct status *why)
{
    const int before = errno, failed = ferror(file), open = fclose(file);
    if (failed && !open)
        errno = before;
    return failed || open ? fail_io("write", path, why) : AOTHIP_OK;
}

static enum aothip_status write_file(const struct capture *capture, const char *name,
                                     const void *bytes, size_t size, struct status *why)
{
    char path[2 * PATH_ROOM];
    FILE *file = create(capture, name, path, why);
    if (!file)
        return why->code;
    (void)fwrite(bytes, 1, size, file); /* finish() looks at the file's error flag */
    return finish(file, path, why);
}

static void write_tensors(const struct capture *capture, FILE *file)
{
    static const char *const dtypes[] = {[AOTHIP_F32] = "f32",
                                         [AOTHIP_F16] = "f16",
                                         [AOTHIP_BF16] = "bf16",
                                         [AOTHIP_BOOL] = "bool",
                                         [AOTHIP_FP8_E4M3] = "e4m3",
                                         [AOTHIP_FP8_E5M2] = "e5m2",
                                         [AOTHIP_FP8_E4M3_FNUZ] = "e4m3fnuz",
                                         [AOTHIP_FP8_E5M2_FNUZ] = "e5m2fnuz",
                                         [CAPTURE_I32] = "i32",
                                         [CAPTURE_I64] = "i64"};
    for (unsigned i = 0; i < capture->launch.tensor_count; i++) {
        const struct capture_tensor *tensor = &capture->launch.tensors[i];
        const int64_t *size = tensor->view.size, *stride = tensor->view.stride;
        const uint64_t address = (uintptr_t)tensor->view.data;
        unsigned home = 0;
        while (home + 1 < capture->buffer_count && capture->buffers[home + 1].address <= address)
            home++;
        (void)fprintf(file,
                      "    {\"name\": \"%s\", \"role\": \"%s\", \"dtype\": \"%s\",\n"
                      "     \"size\": [%lld, %lld, %lld, %lld],\n"
                      "     \"stride\": [%lld, %lld, %lld, %lld],\n"
                      "     \"buffer\": %u, \"offset\": %llu, \"kernarg_offset\": %u}%s\n",
                      tensor->name, tensor->written ? "out" : "in", dtypes[tensor->view.dtype],
                      (long long)size[0], (long long)size[1], (long long)size[2],
                      (long long)size[3], (long long)stride[0], (long long)stride[1],
                      (long long)stride[2], (long long)stride[3], home,
                      (unsigned long long)(address - capture->buffers[home].address),
                      tensor->kernarg_offset, i + 1 < capture->launch.tensor_count ? "," : "");
    }
}

/* capture.json; `complete` says whether the buffers' later state is known. */
static enum aothip_status write_description(const struct capture *capture, int complete,
                                            struct status *why)
{
    const struct capture_launch *launch = &capture->launch;
    char path[2 * PATH_ROOM];
    FILE *file = create(capture, "capture.json", path, why);
    if (!file)
        return why->code;
    (void)fprintf(file,
                  "{\n  \"format\": \"aothip-capture\",\n  \"version\": 1,\n"
                  "  \"library\": \"%s\",\n  \"target\": \"%s\",\n"
                  "  \"code\": \"code.co\",\n  \"kernel\": \"%s\",\n"
                  "  \"grid\": [%u, %u, %u],\n  \"block\": [%u, 1, 1],\n"
                  "  \"dynamic_lds\": 0,\n  \"kernarg\": \"kernarg.bin\",\n  \"buffers\": [\n",
                  aothip_version(), launch->target, launch->symbol, launch->grid.x, launch->grid.y,
                  launch->grid.z, launch->grid.threads);
    for (unsigned i = 0; i < capture->buffer_count; i++) {
        const struct buffer *buffer = &capture->buffers[i];
        (void)fprintf(file, "    {\"size\": %llu, \"before\": \"buffer%u.before\", \"after\": ",
                      (unsigned long long)buffer->size, i);
        if (complete)
            (void)fprintf(file, "\"buffer%u.%s\"", i, buffer->changed ? "after" : "before");
        else
            (void)fprintf(file, "null");
        (void)fprintf(file, "}%s\n", i + 1 < capture->buffer_count ? "," : "");
    }
    (void)fprintf(file, "  ],\n  \"tensors\": [\n");
    write_tensors(capture, file);
    (void)fprintf(file, "  ]\n}\n");
    return finish(file, path, why);
}

/*
 * In relaxed mode this leaves the captures of other streams alone (clr, hip_stream.cpp,
 * Stream::StreamCaptureOngoing).
 */
static enum aothip_status wait_for_stream(const struct capture *capture, struct status *why)
{
    hipError_t error = capture->hip->stream_synchronize(capture->stream);
    return error == hipSuccess ? AOTHIP_OK
                               : hip_fail(capture->hip, "hipStreamSynchronize", error, why);
}

/*
 * Copies a buffer off the device into `bytes`. Not by hipMemcpy, which makes every capture that is
 * under way void, whatever the thread's mode (clr, hip_internal.hpp, CHECK_STREAM_CAPTURING).
 */
static enum aothip_status fetch(const struct capture *capture, const struct buffer *buffer,
                                void *bytes, struct status *why)
{
    /* An address from the launch's arguments; HIP takes it as a pointer. */
    const void *address = (const void *)(uintptr_t)buffer->address;
    hipError_t error = capture->hip->copy_async(bytes, address, buffer->size, hipMemcpyDeviceToHost,
                                                capture->stream);
    return error == hipSuccess ? wait_for_stream(capture, why)
                               : hip_fail(capture->hip, "hipMemcpyAsync", error, why);
}

static enum aothip_status write_before(struct capture *capture, struct status *why)
{
    char name[NAME_ROOM];
    for (unsigned i = 0; i < capture->buffer_count; i++) {
        struct buffer *buffer = &capture->buffers[i];
        buffer->before = malloc(buffer->size);
        if (!buffer->before)
            return status_set(why, AOTHIP_E_MEMORY,
                              "AOTHIP_CAPTURE: no memory for a buffer of %llu bytes",
                              (unsigned long long)buffer->size);
        snprintf(name, sizeof(name), "buffer%u.before", i);
        if (fetch(capture, buffer, buffer->before, why) ||
            write_file(capture, name, buffer->before, buffer->size, why))
            return why->code;
    }
    return AOTHIP_OK;
}

static enum aothip_status write_after(struct capture *capture, struct status *why)
{
    char name[NAME_ROOM];
    for (unsigned i = 0; i < capture->buffer_count && !why->code; i++) {
        struct buffer *buffer = &capture->buffers[i];
        uint8_t *after = malloc(buffer->size);
        if (!after)
            return status_set(why, AOTHIP_E_MEMORY,
                              "AOTHIP_CAPTURE: no memory for a buffer of %llu bytes",
                              (unsigned long long)buffer->size);
        snprintf(name, sizeof(name), "buffer%u.after", i);
        if (!fetch(capture, buffer, after, why)) {
            buffer->changed = memcmp(after, buffer->before, buffer->size) != 0;
            if (buffer->changed)
                write_file(capture, name, after, buffer->size, why);
        }
        free(after);
    }
    return why->code;
}

static void free_capture(struct capture *capture)
{
    for (unsigned i = 0; i < capture->buffer_count; i++)
        free(capture->buffers[i].before);
    free(capture);
}

/* The name without its suffix, which the directory gets in the end. */
static void final_name(const struct capture *capture, char name[PATH_ROOM])
{
    const size_t length = strlen(capture->directory) - strlen(suffix);
    memcpy(name, capture->directory, length);
    name[length] = '\0';
}

/*
 * The next unused "ROOT/PID-N.partial". Processes of equal number, in containers that share ROOT or
 * one after another, leave each other's captures alone: who makes PID-N.partial owns both names,
 * unless PID-N was there before, as its owner may just have renamed it.
 */
static enum aothip_status make_directory(struct capture *capture, const char *root,
                                         struct status *why)
{
    static atomic_uint launches;
    char final[PATH_ROOM];
    int made, taken;
    do {
        const unsigned number = atomic_fetch_add(&launches, 1);
        int length = snprintf(capture->directory, sizeof(capture->directory), "%s/%ld-%u%s", root,
                              disk_process(), number, suffix);
        if (length >= (int)sizeof(capture->directory))
            return status_set(why, AOTHIP_E_IO, "AOTHIP_CAPTURE: the path %s is too long", root);
        made = disk_make_directory(capture->directory) == 0;
        if (!made && errno != EEXIST)
            return fail_io("create", capture->directory, why);
        final_name(capture, final);
        taken = made ? disk_has(final) : 0;
        if (taken < 0)
            fail_io("look for", final, why);
        if (taken)
            disk_remove_directory(capture->directory);
        if (taken < 0)
            return why->code;
        made = made && !taken;
    } while (!made);
    return AOTHIP_OK;
}

enum aothip_status capture_begin(const char *root, const struct hip *hip, hipStream_t stream,
                                 const struct capture_launch *launch, struct capture **capture,
                                 struct status *why)
{
    hipStreamCaptureMode mode;
    struct capture *made;
    int relaxed;
    *capture = NULL;
    if (hip_require_tools(hip, why))
        return why->code;
    made = calloc(1, sizeof(*made));
    if (!made)
        return status_set(why, AOTHIP_E_MEMORY, "AOTHIP_CAPTURE: no memory");
    made->hip = hip;
    made->stream = stream;
    made->launch = *launch;
    snprintf(made->target, sizeof(made->target), "%s", launch->target);
    made->launch.target = made->target;
    find_buffers(made);
    relaxed = hip_relax(hip, &mode);
    if (wait_for_stream(made, why) || make_directory(made, root, why) ||
        write_file(made, "code.co", launch->code, launch->code_size, why) ||
        write_file(made, "kernarg.bin", launch->kernarg, launch->kernarg_size, why) ||
        write_before(made, why) || write_description(made, 0, why))
        free_capture(made);
    else
        *capture = made;
    if (relaxed)
        hip_restore_mode(hip, mode);
    return why->code;
}

enum aothip_status capture_end(struct capture *capture, struct status *why)
{
    const struct hip *const hip = capture->hip;
    hipStreamCaptureMode mode;
    const int relaxed = hip_relax(hip, &mode);
    char final[PATH_ROOM];
    final_name(capture, final);
    if (!wait_for_stream(capture, why) && !write_after(capture, why) &&
        !write_description(capture, 1, why) && disk_rename(capture->directory, final))
        fail_io("rename", capture->directory, why);
    free_capture(capture);
    if (relaxed)
        hip_restore_mode(hip, mode);
    return why->code;
}
