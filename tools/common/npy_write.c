/* Writing .npy files: the old file stays until the new one is complete. */
#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* 51 bytes of fixed text and a shape, rounded up to a multiple of 64. */
enum { HEADER_MAX = 320 };

static int fail_errno(char error[NPY_ERROR_MAX], const char *path)
{
    snprintf(error, NPY_ERROR_MAX, "%s: %s", path, strerror(errno));
    return -1;
}

/* Version 1.0; padded with spaces so that the elements begin at a multiple of 64 bytes. */
static size_t make_header(const struct npy_array *array, char header[HEADER_MAX])
{
    static const char *const codes[] = {[NPY_F16] = "<f2",
                                        [NPY_F32] = "<f4",
                                        [NPY_F64] = "<f8",
                                        [NPY_U16] = "<u2",
                                        [NPY_U8] = "|u1"};
    char shape[NPY_SHAPE_MAX], text[HEADER_MAX];
    size_t length, total;

    length = (size_t)snprintf(text, sizeof(text),
                              "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                              codes[array->type], npy_shape_text(array, shape));
    total = (10 + length + 1 + 63) / 64 * 64;
    memset(header, ' ', total);
    memcpy(header, "\x93NUMPY\x01", 7);
    header[7] = 0;
    header[8] = (char)((total - 10) & 0xff);
    header[9] = (char)((total - 10) >> 8);
    memcpy(header + 10, text, length);
    header[total - 1] = '\n';
    return total;
}

static int write_all(FILE *f, const struct npy_array *array)
{
    char header[HEADER_MAX];
    size_t length = make_header(array, header), size = npy_type_size(array->type), i;
    const unsigned char *data = array->data;

    if (fwrite(header, 1, length, f) != length)
        return -1;
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        return fwrite(data, size, array->count, f) == array->count ? 0 : -1;
    for (i = 0; i < array->count * size; i++)
        if (putc(data[i / size * size + size - 1 - i % size], f) == EOF)
            return -1;
    return 0;
}

int npy_stage(const char *path, const struct npy_array *array, struct npy_new *new,
              char error[NPY_ERROR_MAX])
{
    if (new_file_open(&new->file, path))
        return fail_errno(error, path);
    if (!write_all(new->file.f, array))
        return new_file_complete(&new->file) ? fail_errno(error, path) : 0;
    fail_errno(error, path);
    npy_drop(new);
    return -1;
}

int npy_keep(struct npy_new *new, char error[NPY_ERROR_MAX])
{
    char target[NPY_ERROR_MAX / 2]; /* strerror() has the other half */

    snprintf(target, sizeof(target), "%s", new->file.target ? new->file.target : "");
    return new_file_keep(&new->file) ? fail_errno(error, target) : 0;
}

void npy_drop(struct npy_new *new)
{
    new_file_drop(&new->file);
}

int npy_write(const char *path, const struct npy_array *array, char error[NPY_ERROR_MAX])
{
    struct npy_new new;

    return npy_stage(path, array, &new, error) || npy_keep(&new, error) ? -1 : 0;
}
