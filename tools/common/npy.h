/*
 * NumPy's .npy files, versions 1.0, 2.0 and 3.0 (numpy.lib.format): one array, its type and shape
 * in a small text header, then the elements.
 *
 * Read are float16, float32, float64, uint16 and uint8 in either byte order and in C or Fortran order;
 * what comes out is in host byte order and C order. Written is version 1.0, little-endian, C order.
 */
#ifndef AOTHIP_NPY_H
#define AOTHIP_NPY_H

#include "new_file.h"

#include <stddef.h>
#include <stdint.h>

enum npy_type { NPY_F16, NPY_F32, NPY_F64, NPY_U16, NPY_U8 };

enum { NPY_DIMS_MAX = 8, NPY_ERROR_MAX = 512, NPY_SHAPE_MAX = 200 };

struct npy_array {
    enum npy_type type;
    int dims; /* 0 for a scalar */
    int64_t size[NPY_DIMS_MAX];
    size_t count; /* of elements */
    void *data;   /* C order, host byte order */
};

/*
 * Reads a file, or a file's bytes. Returns 0; the caller then owns *array and frees it with
 * npy_free(). Returns -1 with *array zeroed and one line in `error`; npy_read() names the file in
 * it. A file must end where its array ends.
 */
int npy_read(const char *path, struct npy_array *array, char error[NPY_ERROR_MAX]);
int npy_parse(const void *bytes, size_t length, struct npy_array *array, char error[NPY_ERROR_MAX]);
void npy_free(struct npy_array *array); /* a zeroed struct is fine */

/*
 * Writes array->data to `path`: whole, or not at all. The bytes go to a new file in the same
 * directory, which then takes the place of an old one; only where `path` is no regular file (a
 * pipe, /dev/stdout) they go there directly. Returns 0, or -1 with one line in `error`.
 */
int npy_write(const char *path, const struct npy_array *array, char error[NPY_ERROR_MAX]);

/*
 * The same in two steps, for files of which all are to be written or none: npy_stage() writes the
 * new file, npy_keep() lets it take its place, npy_drop() removes it. The last two end what the
 * first began; it has nothing to end where it fails, nor does a zeroed struct.
 */
struct npy_new {
    struct new_file file;
};
int npy_stage(const char *path, const struct npy_array *array, struct npy_new *new,
              char error[NPY_ERROR_MAX]);
int npy_keep(struct npy_new *new, char error[NPY_ERROR_MAX]);
void npy_drop(struct npy_new *new);

size_t npy_type_size(enum npy_type type);
const char *npy_type_name(enum npy_type type); /* "float16" */

/* "(2, 3)", "(2,)", "()"; returns text. */
const char *npy_shape_text(const struct npy_array *array, char text[NPY_SHAPE_MAX]);

#endif
