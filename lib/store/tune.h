/*
 * What launches of kernels take: a table of text beside the images, by which tiles are chosen.
 * images/FORMAT.md tells what stands in it.
 */
#ifndef AOTHIP_TUNE_H
#define AOTHIP_TUNE_H

#include "store.h"

#define TUNE_MAX_FILE (64u << 10)

/*
 * Reads the rows for the GPU of `store` from text of `size` bytes into `costs`, which are zero and
 * one for each entry; those for kernels that the store lacks count for nothing. `path` only names
 * it. Errors: FORMAT, VERSION; they name the line.
 */
enum aothip_status tune_parse(const struct store *store, const char *path, const char *text,
                              size_t size, struct format_cost *costs, struct status *why);

/*
 * The same of a file: `*costs`, which the caller frees, or NULL where there is no such file.
 * Errors: those of tune_parse(), IO, MEMORY.
 */
enum aothip_status tune_read(const struct store *store, const char *path,
                             struct format_cost **costs, struct status *why);

/* The path of the table that lies below `directory`, which the caller frees; NULL: no memory. */
char *tune_path(const struct store *store, const char *directory);

#endif
