/*
 * Lays out image files: compresses each bundle to a frame, writes the index and its hashes.
 */
#include "image.h"

#include "kernarg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ZSTD_STATIC_LINKING_ONLY
#define ZDICT_STATIC_LINKING_ONLY
#include <zdict.h>
#include <zstd.h>

/*
 * A kernel is cut into samples, since training wants many: near-equal kernels then repeat each
 * other's samples. k and d are fastcover's segment and match length, chosen by measurement.
 */
#define SAMPLE_SIZE 4096
#define TRAIN_K 2048
#define TRAIN_D 8

int image_train(const struct image_kernel *kernels, int count, size_t size,
                struct image_dictionary *dictionary)
{
    size_t total = 0, samples = 0, at = 0;
    for (int i = 0; i < count; i++)
        total += kernels[i].bundle_size;
    uint8_t *all = malloc(total + 1);
    size_t *sizes = malloc((total / SAMPLE_SIZE + (size_t)count + 1) * sizeof(*sizes));
    dictionary->size = 0;
    dictionary->bytes = malloc(size);
    for (int i = 0; i < count && all && sizes; i++) {
        memcpy(all + at, kernels[i].bundle, kernels[i].bundle_size);
        at += kernels[i].bundle_size;
        for (size_t left = kernels[i].bundle_size; left; left -= sizes[samples - 1])
            sizes[samples++] = left < SAMPLE_SIZE ? left : SAMPLE_SIZE;
    }
    if (all && sizes && dictionary->bytes) {
        ZDICT_fastCover_params_t p = {
            .k = TRAIN_K, .d = TRAIN_D, .f = 20, .accel = 1, .splitPoint = 1.0, .nbThreads = 1};
        p.zParams.compressionLevel = 3; /* to count by: 19 takes as long as the image, for 0.5 % */
        size_t n = ZDICT_trainFromBuffer_fastCover(dictionary->bytes, size, all, sizes,
                                                   (unsigned)samples, p);
        dictionary->size = ZDICT_isError(n) ? 0 : n;
    }
    free(all);
    free(sizes);
    if (dictionary->size)
        return 0;
    free(dictionary->bytes);
    dictionary->bytes = NULL;
    return -1;
}

/* Compresses the bundles one behind the other from `at` on and fills in the entries. */
static const char *put_frames(struct image_kernel *kernels, int count,
                              const struct image_dictionary *dictionary, int level, uint8_t *file,
                              size_t room, size_t *at)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    const char *wrong = c ? NULL : "out of memory";
    if (c) {
        ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(c, ZSTD_c_forceAttachDict, ZSTD_dictForceAttach);
        if (dictionary->size &&
            ZSTD_isError(ZSTD_CCtx_loadDictionary(c, dictionary->bytes, dictionary->size)))
            wrong = "zstd refuses the dictionary";
    }
    for (int i = 0; i < count && !wrong; i++) {
        struct image_kernel *k = &kernels[i];
        size_t n = ZSTD_compress2(c, file + *at, room - *at, k->bundle, k->bundle_size);
        if (ZSTD_isError(n)) {
            wrong = ZSTD_getErrorName(n);
            break;
        }
        k->entry.frame_offset = *at;
        k->entry.frame_size = (uint32_t)n;
        k->entry.bundle_size = (uint32_t)k->bundle_size;
        k->entry.frame_hash = XXH3_64bits(file + *at, n);
        *at += n;
    }
    ZSTD_freeCCtx(c);
    return wrong;
}

static void put_header(const char *gpus, int count, size_t dictionary_size, uint8_t *file,
                       size_t size)
{
    size_t index_size = (size_t)count * sizeof(struct format_entry) + dictionary_size;
    struct format_header h = {
        .skippable_magic = FORMAT_SKIPPABLE_MAGIC,
        .skippable_size = (uint32_t)(sizeof(h) + index_size - 8),
        .magic = FORMAT_MAGIC,
        .version = FORMAT_VERSION,
        .header_size = sizeof(h),
        .entry_size = sizeof(struct format_entry),
        .entry_count = (uint32_t)count,
        .dictionary_size = (uint32_t)dictionary_size,
        .kernarg_version = FORMAT_KERNARG_VERSION,
        .file_size = size,
        .index_hash = XXH3_64bits(file + sizeof(h), index_size),
    };
    const size_t length = strcspn(gpus, " ");
    snprintf(h.gpu, sizeof(h.gpu), "%.*s", (int)length, gpus);
    snprintf(h.siblings, sizeof(h.siblings), "%s", gpus + length + (gpus[length] == ' '));
    h.header_hash = XXH3_64bits(&h, sizeof(h));
    memcpy(file, &h, sizeof(h));
}

const char *image_build(const char *gpus, struct image_kernel *kernels, int count,
                        const struct image_dictionary *dictionary, int level, uint8_t **bytes,
                        size_t *size)
{
    size_t index = sizeof(struct format_header), entries = sizeof(struct format_entry);
    size_t packed = 0, at = index + (size_t)count * entries, room;
    if (count < 1 || count > (int)FORMAT_MAX_ENTRIES)
        return "an image holds 1 to 4096 kernels";
    if (dictionary->size > FORMAT_MAX_DICTIONARY)
        return "the dictionary is too large";
    room = at + ZSTD_compressBound(dictionary->size);
    for (int i = 0; i < count; i++) {
        if (!kernels[i].bundle_size || kernels[i].bundle_size > FORMAT_MAX_BUNDLE)
            return "a bundle is empty or too large";
        room += ZSTD_compressBound(kernels[i].bundle_size);
    }
    uint8_t *file = malloc(room);
    if (!file)
        return "out of memory";
    if (dictionary->size)
        packed = ZSTD_compress(file + at, room - at, dictionary->bytes, dictionary->size, level);
    const char *wrong = ZSTD_isError(packed) ? ZSTD_getErrorName(packed) : NULL;
    at += packed;
    if (!wrong)
        wrong = put_frames(kernels, count, dictionary, level, file, room, &at);
    if (wrong) {
        free(file);
        return wrong;
    }
    for (int i = 0; i < count; i++, index += entries)
        memcpy(file + index, &kernels[i].entry, entries);
    put_header(gpus, count, packed, file, at);
    *bytes = file;
    *size = at;
    return NULL;
}

/* From the largest dictionary down: the more kernels, the larger the best. A GPU's whole image, 170
 * kernels and more, is always smallest by the largest, and trying costs as much as building. */
const char *image_build_smallest(const char *gpus, struct image_kernel *kernels, int count,
                                 uint8_t **bytes, size_t *size)
{
    enum { WHOLE = 128 };
    static const size_t candidates[] = {3145728, 262144, 131072, 65536, 32768, 16384, 4096, 0};
    *bytes = NULL;
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        struct image_dictionary dictionary = {NULL, 0};
        if (candidates[i] && image_train(kernels, count, candidates[i], &dictionary))
            continue;
        uint8_t *file;
        size_t n;
        const char *wrong = image_build(gpus, kernels, count, &dictionary, IMAGE_LEVEL, &file, &n);
        free(dictionary.bytes);
        if (wrong) {
            free(*bytes);
            return wrong;
        }
        if (*bytes && n >= *size) {
            free(file);
            break;
        }
        free(*bytes);
        *bytes = file;
        *size = n;
        if (count >= WHOLE)
            break;
    }
    /* The last build has set the kernels' entries; the best one's stand in its index. */
    for (int i = 0; i < count; i++)
        memcpy(&kernels[i].entry,
               *bytes + sizeof(struct format_header) + (size_t)i * sizeof(struct format_entry),
               sizeof(struct format_entry));
    return NULL;
}
