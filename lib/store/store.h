/*
 * The image directory: finds it, reads an image file, checks every number in it, inflates frames.
 * The only room that reads files and calls zstd.
 */
#ifndef AOTHIP_STORE_H
#define AOTHIP_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "status.h"

/* An image file in memory whose header and index have passed every check. Read-only; threads share
 * it.
 */
struct store {
    char *path;
    char gpu[16]; /* whose images they are, which need not be that of the code: see format.h */
    const uint8_t *bytes;
    size_t size;
    const struct format_header *header;
    const struct format_entry *entries; /* header->entry_count of them */
    uint8_t *dictionary;                /* inflated; NULL if there is none */
    size_t dictionary_size;             /* its bytes */
};

/*
 * The image directory by the rule of aothip_open(), as an absolute path that the caller frees.
 * Errors: NO_IMAGES, MEMORY.
 */
enum aothip_status store_find_directory(const char *argument, char **directory, struct status *why);

/*
 * Reads and checks the image file of `gpu` ("gfx942") below `directory`. On failure `store` is all
 * zero. Errors: NO_IMAGES (there is none), IO, FORMAT, CHECKSUM, VERSION, TARGET, MEMORY.
 */
enum aothip_status store_open(struct store *store, const char *directory, const char *gpu,
                              struct status *why);

/* Frees what store_check() allocated; on success only there is something. */
void store_release(struct store *store);

/* Frees; allowed on a store that is all zero. */
void store_close(struct store *store);

/* The same checks on a file in memory; `path` only names it. For store_open() and for the fuzzer.
 * store_release() frees what it allocates.
 */
enum aothip_status store_check(struct store *store, const char *path, const uint8_t *bytes,
                               size_t size, const char *gpu, struct status *why);

/*
 * Checks and inflates the frame of entry `index` into *bundle: entries[index].bundle_size bytes,
 * which the caller frees. It names store->gpu, whatever GPU of the family the code was made for.
 * Errors: FORMAT, CHECKSUM, MEMORY.
 */
enum aothip_status store_inflate(const struct store *store, uint32_t index, uint8_t **bundle,
                                 struct status *why);

/*
 * Checks that every frame is as the index says: its checksum, its sizes, one whole zstd frame.
 * Inflates none. Errors: FORMAT, CHECKSUM.
 */
enum aothip_status store_check_frames(const struct store *store, struct status *why);

/* GPU names that have a directory "amd-<gpu>", sorted. */
struct store_gpus {
    size_t count;
    char (*names)[16];
};

/* The caller frees gpus->names. Errors: IO, MEMORY. */
enum aothip_status store_list_gpus(const char *directory, struct store_gpus *gpus,
                                   struct status *why);

#endif
