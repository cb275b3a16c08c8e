/*
 * The measurement behind images/FORMAT.md: single frames, dictionaries, shared frames.
 */
#include "image_compare.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zstd.h>

#define REPEAT 25

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void print_row(FILE *out, const char *way, size_t raw, size_t bytes, double us)
{
    if (us < 0)
        fprintf(out, "| %-38s | %9zu | %5.1f %% |    -    |\n", way, bytes,
                100.0 * (double)bytes / (double)raw);
    else
        fprintf(out, "| %-38s | %9zu | %5.1f %% | %4.0f us |\n", way, bytes,
                100.0 * (double)bytes / (double)raw, us);
}

/* Fastest of some runs: dictionary made ready (first use of a file) and one frame inflated. */
static double first_use(const uint8_t *frame, size_t frame_size, size_t inflated,
                        const struct image_dictionary *dictionary)
{
    double best = 1e30;
    char *bundle = malloc(inflated);
    for (int i = 0; i < REPEAT && bundle; i++) {
        double start = now_us();
        size_t n;
        ZSTD_DCtx *d = ZSTD_createDCtx();
        if (dictionary->size) {
            ZSTD_DDict *dd = ZSTD_createDDict(dictionary->bytes, dictionary->size);
            n = ZSTD_decompress_usingDDict(d, bundle, inflated, frame, frame_size, dd);
            ZSTD_freeDDict(dd);
        } else {
            n = ZSTD_decompressDCtx(d, bundle, inflated, frame, frame_size);
        }
        ZSTD_freeDCtx(d);
        double took = now_us() - start;
        if (n == inflated && took < best)
            best = took;
    }
    free(bundle);
    return best;
}

static int compare_frames(const char *gpu, struct image_kernel *kernels, int count, size_t raw,
                          size_t dictionary_size, int level, FILE *out)
{
    struct image_dictionary dictionary = {NULL, 0};
    uint8_t *file;
    size_t size;
    char way[80];
    if (dictionary_size && image_train(kernels, count, dictionary_size, &dictionary))
        return 0; /* too few kernels for this one */
    const char *wrong = image_build(gpu, kernels, count, &dictionary, level, &file, &size);
    if (wrong) {
        fprintf(stderr, "aothip-pack: %s\n", wrong);
        free(dictionary.bytes);
        return -1;
    }
    int largest = 0;
    for (int i = 0; i < count; i++)
        if (kernels[i].bundle_size > kernels[largest].bundle_size)
            largest = i;
    const struct format_entry *e = &kernels[largest].entry;
    double us = first_use(file + e->frame_offset, e->frame_size, e->bundle_size, &dictionary);
    if (dictionary_size)
        snprintf(way, sizeof(way), "frames, level %d, dictionary of %zu", level, dictionary.size);
    else
        snprintf(way, sizeof(way), "frames, level %d, no dictionary", level);
    print_row(out, way, raw, size, us);
    free(dictionary.bytes);
    free(file);
    return 0;
}

/* `shared` kernels a frame: smaller, but the first use of one inflates them all. */
static int compare_shared(const struct image_kernel *kernels, int count, size_t raw, int shared,
                          FILE *out)
{
    struct image_dictionary none = {NULL, 0};
    size_t bytes = sizeof(struct format_header) + (size_t)count * sizeof(struct format_entry);
    char *joined = malloc(raw), way[80];
    char *packed = malloc(ZSTD_compressBound(raw));
    double slowest = 0;
    for (int first = 0; first < count && joined && packed; first += shared) {
        size_t at = 0;
        for (int i = first; i < count && i < first + shared; i++) {
            memcpy(joined + at, kernels[i].bundle, kernels[i].bundle_size);
            at += kernels[i].bundle_size;
        }
        size_t n = ZSTD_compress(packed, ZSTD_compressBound(raw), joined, at, IMAGE_LEVEL);
        if (ZSTD_isError(n))
            break;
        bytes += n;
        double us = first_use((uint8_t *)packed, n, at, &none);
        slowest = us > slowest ? us : slowest;
    }
    int failed = !joined || !packed;
    free(joined);
    free(packed);
    if (failed) {
        fputs("aothip-pack: out of memory\n", stderr);
        return -1;
    }
    snprintf(way, sizeof(way), "%d kernels a frame, level %d", shared, IMAGE_LEVEL);
    print_row(out, way, raw, bytes, slowest);
    return 0;
}

int image_compare(const char *gpu, struct image_kernel *kernels, int count, FILE *out)
{
    static const size_t dictionaries[] = {4096,   8192,   16384,  32768,   65536,
                                          131072, 262144, 524288, 1048576, 2097152, 3145728};
    static const int levels[] = {3, 19, 22};
    size_t raw = 0;
    int result = 0;
    for (int i = 0; i < count; i++)
        raw += kernels[i].bundle_size;
    fprintf(out, "%s: %d kernels; index %zu bytes\n\n", gpu, count,
            sizeof(struct format_header) + (size_t)count * sizeof(struct format_entry));
    fprintf(out, "| %-38s | %9s | %7s | %7s |\n", "stored as", "bytes", "of raw", "first");
    fprintf(out, "|%s|%s|%s|%s|\n", "----------------------------------------",
            "----------:", "--------:", "--------:");
    print_row(out, "bundles as they are", raw, raw, -1);
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]) && !result; i++)
        result = compare_frames(gpu, kernels, count, raw, 0, levels[i], out);
    for (size_t i = 0; i < sizeof(dictionaries) / sizeof(dictionaries[0]) && !result; i++)
        result = compare_frames(gpu, kernels, count, raw, dictionaries[i], IMAGE_LEVEL, out);
    for (int shared = 2; shared < count && !result; shared *= 2)
        result = compare_shared(kernels, count, raw, shared, out);
    if (!result && count > 1)
        result = compare_shared(kernels, count, raw, count, out);
    return result;
}
