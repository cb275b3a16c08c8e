/*
 * Holds other ways to store the same kernels against the image format.
 */
#ifndef AOTHIP_IMAGE_COMPARE_H
#define AOTHIP_IMAGE_COMPARE_H

#include "image.h"

#include <stdio.h>

/*
 * Prints a table: bytes on disk, and the time until the code of one kernel is inflated (the index
 * is read already). Returns 0, or -1 after saying why on stderr.
 */
int image_compare(const char *gpu, struct image_kernel *kernels, int count, FILE *out);

#endif
