/*
 * Image directories as trees of files: which GPUs one holds, whether two GPUs' files are the same,
 * and changes that a reader sees whole or not at all.
 */
#ifndef AOTHIP_IMAGES_TREE_H
#define AOTHIP_IMAGES_TREE_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Below, `directory` is one that holds amd-gfxNNN directories. All functions complain by cli_say(),
 * naming the file, and return false if they fail.
 */

/* The GPUs in it; the caller frees gpus->names. */
bool images_gpus(const char *directory, struct store_gpus *gpus);

/* Whether the files of `gpu` in both directories have the same names and bytes. */
bool images_same(const char *a, const char *b, const char *gpu, bool *same);

/*
 * Keeps other writers away from a directory until images_unlock(), and removes what a writer that
 * was interrupted has left. Creates the directory if `create`.
 */
bool images_lock(const char *directory, bool create, intptr_t *lock);
void images_unlock(intptr_t lock);

/* Copies the files of `gpu` to another directory, in the place of what is there. */
bool images_copy(const char *from, const char *to, const char *gpu);

/* Removes the files of `gpu`. */
bool images_remove(const char *directory, const char *gpu);

/* Creates a directory and what is missing above it. */
bool images_make_directory(const char *path);

#endif
