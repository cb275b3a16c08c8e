/*
 * Makes and compares .npy files, for tests of aothip-run that have no NumPy:
 *
 *   npy_tool make FILE TYPE SIZE,SIZE,... SEED   noise on [-2, 2]; TYPE: f16, bf16, f32, f64
 *   npy_tool swap FROM TO                        exchanges the last but one dimension and the one
 *                                                before it: bhsd to bshd and back
 *   npy_tool narrow FROM TO f16|bf16             float32 or float64 rounded
 *   npy_tool same A B                            exit 0 if type, shape and bytes are equal
 *   npy_tool tell FILE                           "float16 (1, 2, 3, 4)"
 */
#include "npy.h"
#include "ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop(const char *text)
{
    fprintf(stderr, "npy_tool: %s\n", text);
    exit(2);
}

static struct npy_array load(const char *path)
{
    char error[NPY_ERROR_MAX];
    struct npy_array a;
    if (npy_read(path, &a, error))
        stop(error);
    return a;
}

static void save(const char *path, struct npy_array *a)
{
    char error[NPY_ERROR_MAX];
    if (npy_write(path, a, error))
        stop(error);
    npy_free(a);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        stop("no memory");
    return memory;
}

/* "f16" to the type in the file and that of the values. */
static enum npy_type type_of(const char *name, int *dtype)
{
    *dtype = !strcmp(name, "f16")    ? AOTHIP_F16
             : !strcmp(name, "bf16") ? AOTHIP_BF16
             : !strcmp(name, "e5m2") ? AOTHIP_FP8_E5M2
                                     : AOTHIP_F32;
    return !strcmp(name, "f16")    ? NPY_F16
           : !strcmp(name, "e5m2") ? NPY_U8
           : !strcmp(name, "bf16") ? NPY_U16
           : !strcmp(name, "f64")  ? NPY_F64
                                   : NPY_F32;
}

static void make(char **argv)
{
    int dtype;
    struct npy_array a = {.type = type_of(argv[1], &dtype), .count = 1};
    uint64_t state = strtoull(argv[3], NULL, 10);
    char *text = argv[2];
    size_t i;

    for (; *text && a.dims < NPY_DIMS_MAX; text += *text == ',') {
        a.size[a.dims] = strtoll(text, &text, 10);
        a.count *= (size_t)a.size[a.dims++];
    }
    a.data = allocate(a.count, npy_type_size(a.type));
    for (i = 0; i < a.count; i++) {
        double value;
        state = state * 6364136223846793005U + 1442695040888963407U;
        value = (double)(int64_t)(state >> 11) / 0x1p51 - 2;
        if (a.type == NPY_F64)
            ((double *)a.data)[i] = value;
        else
            ref_store(a.data, (int64_t)i, dtype, value);
    }
    save(argv[0], &a);
}

static void swap(char **argv)
{
    struct npy_array a = load(argv[0]), b = a;
    size_t size = npy_type_size(a.type), i, j, k, outer = 1, rows, columns, row;

    if (a.dims < 3)
        stop("swap needs three dimensions");
    b.size[a.dims - 3] = a.size[a.dims - 2];
    b.size[a.dims - 2] = a.size[a.dims - 3];
    for (i = 0; i + 3 < (size_t)a.dims; i++)
        outer *= (size_t)a.size[i];
    rows = (size_t)a.size[a.dims - 3];
    columns = (size_t)a.size[a.dims - 2];
    row = (size_t)a.size[a.dims - 1] * size;
    b.data = allocate(a.count, size);
    for (i = 0; i < outer; i++)
        for (j = 0; j < rows; j++)
            for (k = 0; k < columns; k++)
                memcpy((char *)b.data + ((i * columns + k) * rows + j) * row,
                       (char *)a.data + ((i * rows + j) * columns + k) * row, row);
    npy_free(&a);
    save(argv[1], &b);
}

static void narrow(char **argv)
{
    struct npy_array a = load(argv[0]), b = a;
    int dtype;
    size_t i;

    b.type = type_of(argv[2], &dtype);
    b.data = allocate(a.count, npy_type_size(b.type));
    for (i = 0; i < a.count; i++)
        ref_store(b.data, (int64_t)i, dtype,
                  a.type == NPY_F64 ? ((double *)a.data)[i] : (double)((float *)a.data)[i]);
    npy_free(&a);
    save(argv[1], &b);
}

static int same(char **argv)
{
    struct npy_array a = load(argv[0]), b = load(argv[1]);
    int equal = a.type == b.type && a.dims == b.dims && !memcmp(a.size, b.size, sizeof(a.size)) &&
                !memcmp(a.data, b.data, a.count * npy_type_size(a.type));
    npy_free(&a);
    npy_free(&b);
    return !equal;
}

static void tell(char **argv)
{
    struct npy_array a = load(argv[0]);
    char shape[NPY_SHAPE_MAX];
    printf("%s %s\n", npy_type_name(a.type), npy_shape_text(&a, shape));
    npy_free(&a);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "make") && argc == 6)
        make(argv + 2);
    else if (!strcmp(what, "swap") && argc == 4)
        swap(argv + 2);
    else if (!strcmp(what, "narrow") && argc == 5)
        narrow(argv + 2);
    else if (!strcmp(what, "same") && argc == 4)
        return same(argv + 2);
    else if (!strcmp(what, "tell") && argc == 3)
        tell(argv + 2);
    else
        stop("wrong arguments");
    return 0;
}
