/* Reads image files and checks every number in them before anybody uses it. */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "variable.h"
#include "file.h"
#include "retarget.h"
#include "kernarg_part.h"
#include "kernarg_fp8.h"
#include "kernarg_share.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "image files are read in place: this host must be little-endian"
#endif

enum aothip_status store_find_directory(const char *argument, char **directory, struct status *why)
{
    const char *variable = variable_get("AOTHIP_IMAGES"), *origin;
    char subject[STATUS_TEXT_MAX];
    char *path;
    if (argument) {
        origin = "argument directory of aothip_open";
        path = strdup(argument);
    } else if (variable && *variable) {
        origin = "environment variable AOTHIP_IMAGES";
        path = strdup(variable);
    } else {
        origin = "beside the library";
        path = file_beside_code(FORMAT_DIRECTORY);
    }
    /* A context outlives changes of the working directory. */
    path = file_absolute(path);
    *directory = NULL;
    if (!path)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for the image directory's name");
    snprintf(subject, sizeof(subject), "image directory %s (%s)", path, origin);
    if (file_need_directory(path, subject, why)) {
        free(path);
        return why->code;
    }
    *directory = path;
    return AOTHIP_OK;
}

/*
 * A copy and no mapping: who truncates a mapped file, or copies a new one over it in place, takes
 * pages away under a running program, which ends with SIGBUS; and what was checked must stay so.
 */
static enum aothip_status read_file(struct store *store, const char *gpu, struct status *why)
{
    uint8_t *bytes = NULL;
    int absent;
    if (file_read(store->path, FORMAT_MAX_FILE, &bytes, &store->size, &absent, why))
        return why->code;
    if (absent)
        return status_set(why, AOTHIP_E_NO_IMAGES, "no images for %s: %s does not exist", gpu,
                          store->path);
    store->bytes = bytes;
    return AOTHIP_OK;
}

static int is_zero(const void *memory, size_t size)
{
    const uint8_t *bytes = memory;
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return 0;
    return 1;
}

/* Whether text of `size` bytes is a name: printable, ended by a NUL, and nothing but NULs behind.
 */
static int is_padded_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return 0;
    return length < size && is_zero(text + length, size - length);
}

static int is_padded_name(const char *text, size_t size)
{
    return is_padded_text(text, size) && *text && !strchr(text, ' ');
}

/* Whether a name is among those of a text, with blanks between. */
static int is_among(const char *name, const char *text)
{
    const size_t length = strlen(name);
    for (const char *at = text; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !memcmp(at, name, length))
            return length > 0;
    return 0;
}

#define FORMAT_FAIL(...) status_set(why, AOTHIP_E_FORMAT, __VA_ARGS__)

/* What must hold before the rest of the header can be believed. */
static enum aothip_status
check_header_identity(const char *path, const struct format_header *header, struct status *why)
{
    struct format_header hashed = *header;
    if (header->skippable_magic != FORMAT_SKIPPABLE_MAGIC)
        return FORMAT_FAIL("%s: header: skippable_magic is 0x%08x, not 0x%08x", path,
                           header->skippable_magic, FORMAT_SKIPPABLE_MAGIC);
    if (memcmp(header->magic, FORMAT_MAGIC, sizeof(header->magic)) != 0)
        return FORMAT_FAIL("%s: header: magic is not \"%s\": no image file", path, FORMAT_MAGIC);
    if (header->version != FORMAT_VERSION)
        return status_set(why, AOTHIP_E_VERSION, "%s: header: version is %u, this library reads %u",
                          path, header->version, FORMAT_VERSION);
    hashed.header_hash = 0;
    if (XXH3_64bits(&hashed, sizeof(hashed)) != header->header_hash)
        return status_set(why, AOTHIP_E_CHECKSUM, "%s: header: header_hash does not match", path);
    if (header->kernarg_version != FORMAT_KERNARG_VERSION)
        return status_set(why, AOTHIP_E_VERSION,
                          "%s: header: kernarg_version is %u, this library fills %d", path,
                          header->kernarg_version, FORMAT_KERNARG_VERSION);
    return AOTHIP_OK;
}

/* The sizes, which make every later access to header, index and dictionary safe. */
static enum aothip_status check_header_sizes(const char *path, const struct format_header *header,
                                             size_t size, struct status *why)
{
    uint64_t front;
    if (header->header_size != sizeof(*header))
        return FORMAT_FAIL("%s: header: header_size is %u, not %zu", path, header->header_size,
                           sizeof(*header));
    if (header->entry_size != sizeof(struct format_entry))
        return FORMAT_FAIL("%s: header: entry_size is %u, not %zu", path, header->entry_size,
                           sizeof(struct format_entry));
    if (header->entry_count < 1 || header->entry_count > FORMAT_MAX_ENTRIES)
        return FORMAT_FAIL("%s: header: entry_count is %u, not 1 to %u", path, header->entry_count,
                           FORMAT_MAX_ENTRIES);
    if (header->dictionary_size > FORMAT_MAX_DICTIONARY)
        return FORMAT_FAIL("%s: header: dictionary_size is %u, more than %u", path,
                           header->dictionary_size, FORMAT_MAX_DICTIONARY);
    front = sizeof(*header) + (uint64_t)header->entry_count * sizeof(struct format_entry) +
            header->dictionary_size;
    if (header->skippable_size != front - 8)
        return FORMAT_FAIL("%s: header: skippable_size is %u, but header, index and dictionary "
                           "make %llu",
                           path, header->skippable_size, (unsigned long long)(front - 8));
    if (header->file_size != size)
        return FORMAT_FAIL("%s: header: file_size is %llu, but the file has %zu bytes", path,
                           (unsigned long long)header->file_size, size);
    if (front > size)
        return FORMAT_FAIL("%s: header: index and dictionary end at %llu, the file at %zu", path,
                           (unsigned long long)front, size);
    if (!is_padded_text(header->siblings, sizeof(header->siblings)))
        return FORMAT_FAIL("%s: header: siblings are no NUL-padded text", path);
    return AOTHIP_OK;
}

static enum aothip_status check_header(const struct store *store, const char *path, const char *gpu,
                                       struct status *why)
{
    const struct format_header *header = store->header;
    if (check_header_identity(path, header, why) ||
        check_header_sizes(path, header, store->size, why))
        return why->code;
    if (!is_padded_name(header->gpu, sizeof(header->gpu)))
        return FORMAT_FAIL("%s: header: gpu is no NUL-padded name", path);
    if (strcmp(header->gpu, gpu) != 0 && !is_among(gpu, header->siblings))
        return status_set(why, AOTHIP_E_TARGET, "%s: header: gpu is %s, but %s was asked for", path,
                          header->gpu, gpu);
    return AOTHIP_OK;
}

static const size_t kernarg_sizes[FORMAT_OP_END] = {
    [FORMAT_OP_ATTN_FWD] = sizeof(struct attn_fwd_args),
    [FORMAT_OP_ATTN_SPLIT] = sizeof(struct attn_split_args),
    [FORMAT_OP_ATTN_MERGE] = sizeof(struct attn_split_args),
    [FORMAT_OP_ATTN_APPEND] = sizeof(struct attn_append_args),
    [FORMAT_OP_ATTN_PROBS] = sizeof(struct attn_probs_args),
    [FORMAT_OP_ATTN_BWD_DELTA] = sizeof(struct attn_bwd_args),
    [FORMAT_OP_ATTN_BWD_DKDV] = sizeof(struct attn_bwd_share_args),
    [FORMAT_OP_ATTN_BWD_DQ] = sizeof(struct attn_bwd_share_args),
    [FORMAT_OP_ATTN_BWD_DBIAS] = sizeof(struct attn_bwd_args),
    [FORMAT_OP_ATTN_BWD_DSCALAR] = sizeof(struct attn_bwd_args),
    [FORMAT_OP_ATTN_MERGE_PART] = sizeof(struct attn_merge_part_args),
    [FORMAT_OP_ATTN_BWD_SUM] = sizeof(struct attn_bwd_share_args),
    [FORMAT_OP_ATTN_BWD_FUSED] = sizeof(struct attn_bwd_share_args),
    [FORMAT_OP_ATTN_BWD_BEGIN] = sizeof(struct attn_bwd_share_args),
};

/* Bytes of the arguments that the library passes to it. */
static size_t least_kernarg(const struct format_entry *entry)
{
    const int fp8 = entry->features & FORMAT_FEATURE_FP8_CACHE || entry->dtype > AOTHIP_BOOL;
    return kernarg_sizes[entry->op] + (fp8 ? sizeof(struct kernarg_fp8) : 0);
}

/* What an entry says of its kernel. */
static enum aothip_status check_entry_kernel(const char *path, const struct format_entry *entry,
                                             struct status *why)
{
    const uint32_t features = FORMAT_FEATURE_ALL;
    if (!entry->op || entry->op >= FORMAT_OP_END)
        return FORMAT_FAIL("%s: entry %s: op is %u", path, entry->symbol, entry->op);
    if (!entry->dtype || entry->dtype == AOTHIP_BOOL || entry->dtype > AOTHIP_FP8_E5M2_FNUZ)
        return FORMAT_FAIL("%s: entry %s: dtype is %u", path, entry->symbol, entry->dtype);
    if (entry->features & ~features)
        return FORMAT_FAIL("%s: entry %s: features are 0x%x, known are 0x%x", path, entry->symbol,
                           entry->features, features);
    if (!entry->dim_max || !entry->tile_q || !entry->tile_k)
        return FORMAT_FAIL("%s: entry %s: dim_max, tile_q or tile_k is 0", path, entry->symbol);
    if (entry->dim_v_max > entry->dim_max || entry->dim_min > entry->dim_max)
        return FORMAT_FAIL("%s: entry %s: dim_v_max %u or dim_min %u exceeds dim_max %u", path,
                           entry->symbol, entry->dim_v_max, entry->dim_min, entry->dim_max);
    if (entry->wave_size != 32 && entry->wave_size != 64)
        return FORMAT_FAIL("%s: entry %s: wave_size is %u", path, entry->symbol, entry->wave_size);
    if (!entry->threads || entry->threads > 1024 || entry->threads % entry->wave_size)
        return FORMAT_FAIL("%s: entry %s: threads is %u", path, entry->symbol, entry->threads);
    if (entry->kernarg_size < least_kernarg(entry))
        return FORMAT_FAIL("%s: entry %s: kernarg_size is %u, less than %zu", path, entry->symbol,
                           entry->kernarg_size, least_kernarg(entry));
    if (entry->lds_size > 160 * 1024)
        return FORMAT_FAIL("%s: entry %s: lds_size is %u", path, entry->symbol, entry->lds_size);
    if (!is_zero(entry->reserved, sizeof(entry->reserved)))
        return FORMAT_FAIL("%s: entry %s: reserved is not zero", path, entry->symbol);
    return AOTHIP_OK;
}

/* `end` is where the frames before this entry end; moved to where this one ends. */
static enum aothip_status check_entry_frame(const char *path, const struct format_entry *entry,
                                            const struct format_entry *before, uint64_t file_size,
                                            uint64_t *end, struct status *why)
{
    if (entry->bundle_size < 1 || entry->bundle_size > FORMAT_MAX_BUNDLE)
        return FORMAT_FAIL("%s: entry %s: bundle_size is %u, not 1 to %u", path, entry->symbol,
                           entry->bundle_size, FORMAT_MAX_BUNDLE);
    if (!entry->frame_size)
        return FORMAT_FAIL("%s: entry %s: frame_size is 0", path, entry->symbol);
    if (before && entry->frame_offset == before->frame_offset) {
        if (entry->frame_size != before->frame_size || entry->frame_hash != before->frame_hash ||
            entry->bundle_size != before->bundle_size)
            return FORMAT_FAIL("%s: entry %s: shares frame_offset with %s, but differs in "
                               "frame_size, frame_hash or bundle_size",
                               path, entry->symbol, before->symbol);
        return AOTHIP_OK;
    }
    if (entry->frame_offset != *end)
        return FORMAT_FAIL("%s: entry %s: frame_offset is %llu, but the part before ends at %llu",
                           path, entry->symbol, (unsigned long long)entry->frame_offset,
                           (unsigned long long)*end);
    if (entry->frame_size > file_size - *end)
        return FORMAT_FAIL("%s: entry %s: frame_size is %u, but the file ends after %llu bytes",
                           path, entry->symbol, entry->frame_size,
                           (unsigned long long)(file_size - *end));
    *end += entry->frame_size;
    return AOTHIP_OK;
}

static enum aothip_status check_index(const struct store *store, const char *path,
                                      struct status *why)
{
    const struct format_header *header = store->header;
    uint8_t seen[AOTHIP_FP8_E5M2_FNUZ + 1][(UINT16_MAX + 1) / 8];
    uint64_t end = (uint64_t)header->skippable_size + 8;
    if (XXH3_64bits(store->bytes + sizeof(*header), end - sizeof(*header)) != header->index_hash)
        return status_set(why, AOTHIP_E_CHECKSUM,
                          "%s: header: index_hash does not match index and dictionary", path);
    memset(seen, 0, sizeof(seen));
    for (uint32_t i = 0; i < header->entry_count; i++) {
        const struct format_entry *entry = &store->entries[i];
        uint8_t *ranks, bit = (uint8_t)(1u << (entry->rank % 8));
        if (!is_padded_name(entry->symbol, sizeof(entry->symbol)))
            return FORMAT_FAIL("%s: entry %u: symbol is no NUL-padded name", path, i);
        if (check_entry_kernel(path, entry, why) ||
            check_entry_frame(path, entry, i ? entry - 1 : NULL, header->file_size, &end, why))
            return why->code;
        ranks = seen[entry->dtype];
        if (ranks[entry->rank / 8] & bit)
            return FORMAT_FAIL("%s: entry %s: rank %u occurs twice for its op and dtype", path,
                               entry->symbol, entry->rank);
        ranks[entry->rank / 8] |= bit;
    }
    if (end != header->file_size)
        return FORMAT_FAIL("%s: the frames end at %llu, the file at %llu", path,
                           (unsigned long long)end, (unsigned long long)header->file_size);
    return AOTHIP_OK;
}

/* The dictionary's frame must be exactly one that declares its size. */
static enum aothip_status inflate_dictionary(struct store *store, const char *path,
                                             struct status *why)
{
    const uint8_t *frame = (const uint8_t *)(store->entries + store->header->entry_count);
    const size_t bytes = store->header->dictionary_size;
    const unsigned long long size = bytes ? ZSTD_getFrameContentSize(frame, bytes) : 0;
    size_t whole;
    store->dictionary = NULL;
    store->dictionary_size = 0;
    if (!bytes)
        return AOTHIP_OK;
    whole = ZSTD_findFrameCompressedSize(frame, bytes);
    if (ZSTD_isError(whole) || whole != bytes || !size || size > FORMAT_MAX_DICTIONARY)
        return FORMAT_FAIL("%s: the dictionary is no single zstd frame of %zu bytes that declares "
                           "1 to %u",
                           path, bytes, FORMAT_MAX_DICTIONARY);
    store->dictionary = malloc((size_t)size);
    if (!store->dictionary)
        return status_set(why, AOTHIP_E_MEMORY, "%s: no memory for a dictionary of %llu bytes",
                          path, size);
    store->dictionary_size = ZSTD_decompress(store->dictionary, (size_t)size, frame, bytes);
    if (store->dictionary_size == size)
        return AOTHIP_OK;
    whole = store->dictionary_size;
    store_release(store);
    if (ZSTD_getErrorCode(whole) == ZSTD_error_memory_allocation)
        return status_set(why, AOTHIP_E_MEMORY, "%s: no memory to inflate the dictionary", path);
    return FORMAT_FAIL("%s: the dictionary does not inflate to the %llu bytes that it declares",
                       path, size);
}

void store_release(struct store *store)
{
    free(store->dictionary);
    store->dictionary = NULL;
    store->dictionary_size = 0;
}

enum aothip_status store_check(struct store *store, const char *path, const uint8_t *bytes,
                               size_t size, const char *gpu, struct status *why)
{
    store->bytes = bytes;
    store->size = size;
    if (size < sizeof(struct format_header))
        return FORMAT_FAIL("%s: the file has %zu bytes, the header alone %zu", path, size,
                           sizeof(struct format_header));
    store->header = (const struct format_header *)bytes;
    if (check_header(store, path, gpu, why))
        return why->code;
    snprintf(store->gpu, sizeof(store->gpu), "%s", gpu);
    store->entries = (const struct format_entry *)(bytes + sizeof(struct format_header));
    return check_index(store, path, why) ? why->code : inflate_dictionary(store, path, why);
}

enum aothip_status store_open(struct store *store, const char *directory, const char *gpu,
                              struct status *why)
{
    char name[16 + sizeof("amd-/" FORMAT_FILE)];
    memset(store, 0, sizeof(*store));
    snprintf(name, sizeof(name), "amd-%.15s/%s", gpu, FORMAT_FILE);
    store->path = file_join(directory, strlen(directory), name);
    if (!store->path)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for the name of the images of %s", gpu);
    if (read_file(store, gpu, why) ||
        store_check(store, store->path, store->bytes, store->size, gpu, why)) {
        store_close(store);
        return why->code;
    }
    return AOTHIP_OK;
}

void store_close(struct store *store)
{
    store_release(store);
    free((void *)(uintptr_t)store->bytes);
    free(store->path);
    memset(store, 0, sizeof(*store));
}

/* The frame must be exactly one zstd frame that declares the size which the index promises. */
static enum aothip_status check_frame(const struct store *store, const struct format_entry *entry,
                                      const uint8_t *frame, struct status *why)
{
    size_t whole;
    if (XXH3_64bits(frame, entry->frame_size) != entry->frame_hash)
        return status_set(why, AOTHIP_E_CHECKSUM, "%s: entry %s: frame_hash does not match",
                          store->path, entry->symbol);
    if (ZSTD_getFrameContentSize(frame, entry->frame_size) != entry->bundle_size)
        return FORMAT_FAIL("%s: entry %s: the frame does not declare bundle_size, %u", store->path,
                           entry->symbol, entry->bundle_size);
    whole = ZSTD_findFrameCompressedSize(frame, entry->frame_size);
    if (ZSTD_isError(whole) || whole != entry->frame_size)
        return FORMAT_FAIL("%s: entry %s: no single zstd frame of %u bytes", store->path,
                           entry->symbol, entry->frame_size);
    return AOTHIP_OK;
}

enum aothip_status store_check_frames(const struct store *store, struct status *why)
{
    const struct format_entry *entries = store->entries;
    for (uint32_t i = 0; i < store->header->entry_count; i++) {
        if (i && entries[i].frame_offset == entries[i - 1].frame_offset)
            continue;
        if (check_frame(store, &entries[i], store->bytes + entries[i].frame_offset, why))
            return why->code;
    }
    return AOTHIP_OK;
}

/* A sibling's drivers want its own name in the code. */
static void name_gpu(const struct store *store, const struct format_entry *entry, uint8_t *bundle,
                     struct status *why)
{
    const char *wrong = NULL;
    if (strcmp(store->gpu, store->header->gpu) != 0)
        wrong = retarget_bundle(bundle, entry->bundle_size, store->header->gpu, store->gpu);
    if (wrong)
        FORMAT_FAIL("%s: entry %s: as code for %s: %s", store->path, entry->symbol, store->gpu,
                    wrong);
}

enum aothip_status store_inflate(const struct store *store, uint32_t index, uint8_t **bundle,
                                 struct status *why)
{
    const struct format_entry *entry = &store->entries[index];
    const uint8_t *frame = store->bytes + entry->frame_offset;
    ZSTD_DCtx *inflater;
    size_t size;
    *bundle = NULL;
    if (check_frame(store, entry, frame, why))
        return why->code;
    inflater = ZSTD_createDCtx();
    *bundle = malloc(entry->bundle_size);
    if (!inflater || !*bundle) {
        status_set(why, AOTHIP_E_MEMORY, "%s: entry %s: no memory for %u bytes", store->path,
                   entry->symbol, entry->bundle_size);
    } else {
        size =
            ZSTD_decompress_usingDict(inflater, *bundle, entry->bundle_size, frame,
                                      entry->frame_size, store->dictionary, store->dictionary_size);
        if (ZSTD_isError(size))
            FORMAT_FAIL("%s: entry %s: cannot inflate: %s", store->path, entry->symbol,
                        ZSTD_getErrorName(size));
        else if (size != entry->bundle_size)
            FORMAT_FAIL("%s: entry %s: inflates to %zu bytes, not %u", store->path, entry->symbol,
                        size, entry->bundle_size);
        else
            name_gpu(store, entry, *bundle, why);
    }
    ZSTD_freeDCtx(inflater);
    if (why->code) {
        free(*bundle);
        *bundle = NULL;
    }
    return why->code;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* Appends one name; room doubles, so that a directory of n GPUs costs log n allocations. */
static int append_gpu(struct store_gpus *gpus, size_t *room, const char *name)
{
    if (gpus->count == *room) {
        size_t more = *room ? 2 * *room : 8;
        void *names = realloc(gpus->names, more * sizeof(gpus->names[0]));
        if (!names)
            return -1;
        gpus->names = names;
        *room = more;
    }
    snprintf(gpus->names[gpus->count++], sizeof(gpus->names[0]), "%s", name);
    return 0;
}

struct gpu_list {
    struct store_gpus *gpus;
    size_t room;
    const char *directory;
};

static void note_gpu(void *context, const char *name, struct status *why)
{
    struct gpu_list *list = context;
    const char *gpu = name + 4;
    if (strncmp(name, "amd-gfx", 7) != 0 || strlen(gpu) >= sizeof(list->gpus->names[0]))
        return;
    if (append_gpu(list->gpus, &list->room, gpu))
        status_set(why, AOTHIP_E_MEMORY, "%s: no memory to list it", list->directory);
}

enum aothip_status store_list_gpus(const char *directory, struct store_gpus *gpus,
                                   struct status *why)
{
    struct gpu_list list = {.gpus = gpus, .directory = directory};
    memset(gpus, 0, sizeof(*gpus));
    if (file_list(directory, note_gpu, &list, why)) {
        free(gpus->names);
        memset(gpus, 0, sizeof(*gpus));
    } else if (gpus->count) {
        qsort(gpus->names, gpus->count, sizeof(gpus->names[0]), compare_names);
    }
    return why->code;
}
