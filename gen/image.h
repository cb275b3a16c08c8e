/*
 * Kernels to the bytes of an image file (lib/store/format.h).
 */
#ifndef AOTHIP_IMAGE_H
#define AOTHIP_IMAGE_H

#include "format.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGE_LEVEL 19 /* of zstd; 22 gains nothing on frames of this size */

/* One kernel of an image. */
struct image_kernel {
    struct format_entry entry; /* all but the frame and bundle fields, which image_build() sets */
    void *bundle;              /* clang offload bundle */
    size_t bundle_size;
};

/* A zstd dictionary; size 0 is none. */
struct image_dictionary {
    uint8_t *bytes;
    size_t size;
};

/*
 * Trains a dictionary of at most `size` bytes on the kernels; deterministic. Returns 0 and the
 * caller frees dictionary->bytes; -1 if the kernels are too few or too small for one.
 */
int image_train(const struct image_kernel *kernels, int count, size_t size,
                struct image_dictionary *dictionary);

/*
 * Lays out an image: header, index in the kernels' order, dictionary, frames in the same order.
 * `gpus` names the GPU and, behind it, with blanks between, those that run its code.
 * Returns NULL and the caller frees *bytes, or what went wrong; static text.
 */
const char *image_build(const char *gpus, struct image_kernel *kernels, int count,
                        const struct image_dictionary *dictionary, int level, uint8_t **bytes,
                        size_t *size);

/* The smallest of the images without and with dictionaries of several sizes. As image_build(). */
const char *image_build_smallest(const char *gpus, struct image_kernel *kernels, int count,
                                 uint8_t **bytes, size_t *size);

#endif
