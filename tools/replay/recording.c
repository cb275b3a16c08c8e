/* Reads a captured launch: capture.json and the files it names. */
#include "recording.h"

#include <elf.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROOM = 8192 };
static const int64_t max_file = INT64_C(1) << 36; /* 64 GiB: more than any capture is */

/* What is being read, for messages. */
struct reader {
    const char *directory;
    struct status *why;
};

static enum aothip_status malformed(const struct reader *reader, const char *where,
                                    const char *what)
{
    return status_set(reader->why, AOTHIP_E_FORMAT, "%s/capture.json: %s: %s", reader->directory,
                      where, what);
}

/* A whole number in [low, high]. */
static int64_t get_int(const struct reader *reader, const json_t *value, const char *where,
                       int64_t low, int64_t high)
{
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value))
        malformed(reader, where, "is not a whole number");
    else if (number < low || number > high)
        malformed(reader, where, "is out of range");
    return number;
}

static void get_text(const struct reader *reader, const json_t *value, const char *where,
                     char *text, size_t room)
{
    const char *string = json_string_value(value);
    if (!string || !*string || strlen(string) >= room)
        malformed(reader, where, "is not a text of the right length");
    else
        memcpy(text, string, strlen(string) + 1);
}

/* `count` whole numbers. */
static void get_ints(const struct reader *reader, const json_t *array, const char *where,
                     int64_t *numbers, size_t count, int64_t low, int64_t high)
{
    if (json_array_size(array) != count) {
        malformed(reader, where, "is not an array of the right length");
        return;
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = get_int(reader, json_array_get(array, i), where, low, high);
}

static void read_stream(const struct reader *reader, const char *path, FILE *stream,
                        struct replay_file *file)
{
    long size = -1;
    if (!fseek(stream, 0, SEEK_END))
        size = ftell(stream);
    if (size <= 0 || size > max_file || fseek(stream, 0, SEEK_SET)) {
        status_set(reader->why, AOTHIP_E_IO, "%s: empty, or no plain file", path);
        return;
    }
    file->bytes = malloc((size_t)size);
    if (!file->bytes) {
        status_set(reader->why, AOTHIP_E_MEMORY, "%s: no memory for %ld bytes", path, size);
        return;
    }
    file->size = (size_t)size;
    if (fread(file->bytes, 1, file->size, stream) != file->size)
        status_set(reader->why, AOTHIP_E_IO, "%s: cannot be read whole", path);
}

/* Reads the file that `value` names. */
static void get_file(const struct reader *reader, const json_t *value, const char *where,
                     struct replay_file *file)
{
    char path[PATH_ROOM];
    const char *name = json_string_value(value);
    FILE *stream;
    if (reader->why->code)
        return;
    if (!name || !*name || strchr(name, '/')) {
        malformed(reader, where, "is not a file name");
        return;
    }
    if (snprintf(path, sizeof(path), "%s/%s", reader->directory, name) >= (int)sizeof(path)) {
        malformed(reader, where, "makes too long a path");
        return;
    }
    stream = fopen(path, "rb");
    if (!stream) {
        status_set(reader->why, AOTHIP_E_IO, "%s: %s", path, strerror(errno));
        return;
    }
    read_stream(reader, path, stream, file);
    (void)fclose(stream); /* only read */
}

static int is_inside(uint64_t offset, uint64_t bytes, size_t size)
{
    return offset <= size && bytes <= size - offset;
}

/* HIP is not told how long a code object is, and reads as far as the ELF file's tables say. */
static int is_whole_elf(const struct replay_file *file)
{
    Elf64_Ehdr header;
    if (file->size < sizeof(header))
        return 0;
    memcpy(&header, file->bytes, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) ||
        (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) ||
        !is_inside(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), file->size) ||
        !is_inside(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), file->size))
        return 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, file->bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (!is_inside(segment.p_offset, segment.p_filesz, file->size))
            return 0;
    }
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, file->bytes + header.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
            !is_inside(section.sh_offset, section.sh_size, file->size))
            return 0;
    }
    return 1;
}

static void get_buffer(const struct reader *reader, const json_t *object, struct replay *replay)
{
    struct replay_buffer *buffer = &replay->buffers[replay->buffer_count++];
    const json_t *before = json_object_get(object, "before"),
                 *after = json_object_get(object, "after");
    int64_t size = get_int(reader, json_object_get(object, "size"), "buffers: size", 1, max_file);
    get_file(reader, before, "buffers: before", &buffer->before);
    if (json_is_null(after))
        replay->complete = 0;
    else
        get_file(reader, after, "buffers: after", &buffer->after);
    if (reader->why->code)
        return;
    if (buffer->before.size != (size_t)size)
        malformed(reader, json_string_value(before), "is not as large as the buffer");
    else if (buffer->after.bytes && buffer->after.size != (size_t)size)
        malformed(reader, json_string_value(after), "is not as large as the buffer");
}

static const struct {
    const char *name;
    int dtype;
    size_t bytes;
} dtypes[] = {{"f32", AOTHIP_F32, 4},
              {"f16", AOTHIP_F16, 2},
              {"bf16", AOTHIP_BF16, 2},
              {"bool", AOTHIP_BOOL, 1},
              {"e4m3", AOTHIP_FP8_E4M3, 1},
              {"e5m2", AOTHIP_FP8_E5M2, 1},
              {"e4m3fnuz", AOTHIP_FP8_E4M3_FNUZ, 1},
              {"e5m2fnuz", AOTHIP_FP8_E5M2_FNUZ, 1},
              {"i32", REPLAY_I32, 4},
              {"i64", REPLAY_I64, 8}};

enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

size_t replay_dtype_bytes(int dtype)
{
    size_t i = 0;
    while (i + 1 < DTYPES && dtypes[i].dtype != dtype)
        i++;
    return dtypes[i].bytes;
}

static int parse_dtype(const char *name)
{
    for (size_t i = 0; name && i < DTYPES; i++)
        if (!strcmp(name, dtypes[i].name))
            return dtypes[i].dtype;
    return 0;
}

/* Whether all elements lie in the tensor's buffer. */
static int tensor_fits(const struct replay *replay, const struct replay_tensor *tensor)
{
    const uint64_t width = replay_dtype_bytes(tensor->dtype);
    const uint64_t room = replay->buffers[tensor->buffer].before.size;
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t step;
        if (__builtin_mul_overflow((uint64_t)(tensor->size[i] - 1), (uint64_t)tensor->stride[i],
                                   &step) ||
            __builtin_add_overflow(last, step, &last) || last > room)
            return 0;
    }
    return tensor->offset <= room && (last + 1) * width <= room - tensor->offset;
}

static void get_tensor(const struct reader *reader, const json_t *object, struct replay *replay)
{
    struct replay_tensor *tensor = &replay->tensors[replay->tensor_count++];
    const char *role = json_string_value(json_object_get(object, "role"));
    get_text(reader, json_object_get(object, "name"), "tensors: name", tensor->name,
             sizeof(tensor->name));
    tensor->dtype = parse_dtype(json_string_value(json_object_get(object, "dtype")));
    if (!tensor->dtype)
        malformed(reader, "tensors: dtype", "is none that a capture has");
    if (!role || (strcmp(role, "in") != 0 && strcmp(role, "out") != 0))
        malformed(reader, "tensors: role", "is not in or out");
    else
        tensor->written = !strcmp(role, "out");
    get_ints(reader, json_object_get(object, "size"), "tensors: size", tensor->size, 4, 1,
             INT32_MAX);
    get_ints(reader, json_object_get(object, "stride"), "tensors: stride", tensor->stride, 4, 0,
             INT64_C(1) << 48);
    tensor->buffer = (unsigned)get_int(reader, json_object_get(object, "buffer"), "tensors: buffer",
                                       0, (int64_t)replay->buffer_count - 1);
    tensor->offset = (uint64_t)get_int(reader, json_object_get(object, "offset"), "tensors: offset",
                                       0, max_file);
    tensor->kernarg_offset =
        (uint32_t)get_int(reader, json_object_get(object, "kernarg_offset"),
                          "tensors: kernarg_offset", 0, (int64_t)replay->kernarg.size - 8);
    if (!reader->why->code && !tensor_fits(replay, tensor))
        malformed(reader, "tensors", "one reaches beyond its buffer");
}

static void get_launch(const struct reader *reader, const json_t *root, struct replay *replay)
{
    int64_t grid[3] = {0}, block[3] = {0};
    get_text(reader, json_object_get(root, "target"), "target", replay->target,
             sizeof(replay->target));
    get_text(reader, json_object_get(root, "kernel"), "kernel", replay->kernel,
             sizeof(replay->kernel));
    get_ints(reader, json_object_get(root, "grid"), "grid", grid, 3, 1, UINT32_MAX);
    get_ints(reader, json_object_get(root, "block"), "block", block, 3, 1, 1024);
    replay->dynamic_lds =
        (uint32_t)get_int(reader, json_object_get(root, "dynamic_lds"), "dynamic_lds", 0, 1 << 20);
    for (int i = 0; i < 3; i++) {
        replay->grid[i] = (uint32_t)grid[i];
        replay->block[i] = (uint32_t)block[i];
    }
    get_file(reader, json_object_get(root, "code"), "code", &replay->code);
    if (!reader->why->code && !is_whole_elf(&replay->code))
        malformed(reader, "code", "names a file that is no whole ELF file");
    get_file(reader, json_object_get(root, "kernarg"), "kernarg", &replay->kernarg);
}

static void get_capture(const struct reader *reader, const json_t *root, struct replay *replay)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *buffers = json_object_get(root, "buffers");
    const json_t *tensors = json_object_get(root, "tensors");
    if (!format || strcmp(format, "aothip-capture") != 0) {
        malformed(reader, "format", "is not aothip-capture");
        return;
    }
    if (json_integer_value(json_object_get(root, "version")) != 1) {
        status_set(reader->why, AOTHIP_E_VERSION, "%s/capture.json: version is not 1",
                   reader->directory);
        return;
    }
    if (json_array_size(buffers) < 1 || json_array_size(buffers) > REPLAY_MAX)
        malformed(reader, "buffers", "is not an array of 1 to 32");
    if (json_array_size(tensors) < 1 || json_array_size(tensors) > REPLAY_MAX)
        malformed(reader, "tensors", "is not an array of 1 to 32");
    if (!reader->why->code)
        get_launch(reader, root, replay);
    replay->complete = 1;
    for (size_t i = 0; i < json_array_size(buffers) && !reader->why->code; i++)
        get_buffer(reader, json_array_get(buffers, i), replay);
    for (size_t i = 0; i < json_array_size(tensors) && !reader->why->code; i++)
        get_tensor(reader, json_array_get(tensors, i), replay);
}

enum aothip_status replay_read(const char *directory, struct replay *replay, struct status *why)
{
    const struct reader reader = {directory, why};
    struct replay_file text = {NULL, 0};
    json_t *name = json_string("capture.json");
    json_t *root = NULL;
    json_error_t error;
    memset(replay, 0, sizeof(*replay));
    get_file(&reader, name, "capture.json", &text);
    json_decref(name);
    if (!why->code) {
        root = json_loadb((const char *)text.bytes, text.size, JSON_REJECT_DUPLICATES, &error);
        if (root)
            get_capture(&reader, root, replay);
        else
            status_set(why, AOTHIP_E_FORMAT, "%s/capture.json: line %d: %s", directory, error.line,
                       error.text);
    }
    json_decref(root);
    free(text.bytes);
    if (why->code)
        replay_free(replay);
    return why->code;
}

void replay_free(struct replay *replay)
{
    free(replay->code.bytes);
    free(replay->kernarg.bytes);
    for (unsigned i = 0; i < replay->buffer_count; i++) {
        free(replay->buffers[i].before.bytes);
        free(replay->buffers[i].after.bytes);
    }
    memset(replay, 0, sizeof(*replay));
}
