/* Makes small image files in memory, sound by default, for tests that then spoil them. */
#ifndef AOTHIP_MAKE_IMAGE_H
#define AOTHIP_MAKE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

enum { MAKE_IMAGE_FWD = 8, MAKE_IMAGE_ENTRIES = 21, MAKE_IMAGE_TARGETS = 4 };

/* A whole image file. Free bytes with free(). */
struct make_image {
    uint8_t *bytes;
    size_t size;
};

/*
 * An image of `gpu`: eight entries of attn_fwd, for each dtype F16 and BF16 and each of dim_max 64
 * and 128 one aligned without features and one that can do everything; then one of each other
 * operation for F16, dim_max 128, that can do everything. Each frame is a bundle with one code
 * object for each target ID in `targets` (a NULL ends the list; NULL means just `gpu`).
 */
struct make_image make_image(const char *gpu, const char *const *targets);

/* A bundle as make_image() puts into its frames, for kernel `symbol`; `seed` varies the filling. */
struct make_image make_bundle(const char *const *targets, const char *symbol, unsigned seed);

/* An image of `gpu` whose first entry's frame inflates to `bundle`; the rest is as usual. */
struct make_image make_image_with_bundle(const char *gpu, const struct make_image *bundle);

static inline struct format_header *make_image_header(struct make_image *image)
{
    return (struct format_header *)image->bytes;
}

static inline struct format_entry *make_image_entry(struct make_image *image, int index)
{
    return (struct format_entry *)(image->bytes + sizeof(struct format_header)) + index;
}

/* Makes the frame hash of entry `index`, the index hash and the header hash right again. */
void make_image_rehash_frame(struct make_image *image, int index);
void make_image_rehash_index(struct make_image *image);
void make_image_rehash_header(struct make_image *image);

/* Writes it to directory/amd-<gpu>/flash/attn.zst, making directories; exits on failure. */
void make_image_write(const struct make_image *image, const char *directory, const char *gpu);

/* A fresh directory below $TMPDIR or /tmp, and its removal with all it holds. */
void make_directory(char path[256]);
void remove_directory(const char *path);

#endif
