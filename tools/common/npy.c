/* Reading .npy files: every length is checked before a byte is used. npy_write.c writes them. */
#include "npy.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code, *name;
    size_t size;
} types[] = {
    [NPY_F16] = {"f2", "float16", 2},
    [NPY_F32] = {"f4", "float32", 4},
    [NPY_F64] = {"f8", "float64", 8},
    [NPY_U16] = {"u2", "uint16", 2},
    [NPY_U8] = {"u1", "uint8", 1},
};

enum { TYPES = sizeof(types) / sizeof(types[0]), HEADER_MAX = 1 << 20 };

size_t npy_type_size(enum npy_type type)
{
    return types[type].size;
}

const char *npy_type_name(enum npy_type type)
{
    return types[type].name;
}

const char *npy_shape_text(const struct npy_array *array, char text[NPY_SHAPE_MAX])
{
    size_t used = 1;
    int i;
    strcpy(text, "(");
    for (i = 0; i < array->dims; i++)
        used += (size_t)snprintf(text + used, NPY_SHAPE_MAX - used, "%s%lld", i ? ", " : "",
                                 (long long)array->size[i]);
    snprintf(text + used, NPY_SHAPE_MAX - used, array->dims == 1 ? ",)" : ")");
    return text;
}

__attribute__((format(printf, 2, 3))) static void tell(char error[NPY_ERROR_MAX], const char *fmt,
                                                       ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(error, NPY_ERROR_MAX, fmt, ap);
    va_end(ap);
}

/* What went wrong, as the result that says so. */
#define fail(...) (tell(__VA_ARGS__), -1)

/* The header's text, read from left to right; `at` never passes `end`. */
struct cursor {
    const char *at, *end;
    char *error;
};

static void skip_space(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

/* Takes the character if it is the next one that is not space. */
static bool take(struct cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length))
        return false;
    c->at += length;
    return true;
}

/* A quoted string without escapes, such as 'descr' or "<f2". */
static int read_string(struct cursor *c, char *text, size_t size)
{
    char quote;
    size_t used = 0;

    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return fail(c->error, "its header lacks a quoted string where one belongs");
    quote = *c->at++;
    while (c->at < c->end && *c->at != quote) {
        if (used + 1 == size || !isprint((unsigned char)*c->at))
            return fail(c->error, "its header holds a string that cannot be right");
        text[used++] = *c->at++;
    }
    text[used] = '\0';
    if (!take(c, quote))
        return fail(c->error, "its header holds a string without an end");
    return 0;
}

/* "<f2" and the like: '<' little, '>' big, '=' and '|' this machine's order. */
static int read_type(struct cursor *c, enum npy_type *type, bool *big_endian)
{
    char text[32] = "";
    int i;

    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return fail(c->error, "it holds records; wanted is float16, float32, float64, uint16 or uint8");
    if (read_string(c, text, sizeof(text)))
        return -1;
    *big_endian = text[0] == '>';
    if (text[0] == '=' || text[0] == '|')
        *big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    for (i = 0; i < TYPES; i++)
        if (text[0] && strchr("<>=|", text[0]) && !strcmp(text + 1, types[i].code)) {
            *type = (enum npy_type)i;
            return 0;
        }
    return fail(c->error, "its type is '%s'; wanted is float16, float32, float64, uint16 or uint8", text);
}

/* A tuple of sizes: (), (2,), (2, 3), (2, 3,). Python 2 wrote 2L. */
static int read_shape(struct cursor *c, struct npy_array *array)
{
    if (!take(c, '('))
        return fail(c->error, "its header's shape is no tuple");
    for (array->dims = 0; !take(c, ')'); array->dims++) {
        int64_t size = 0;
        if (array->dims == NPY_DIMS_MAX)
            return fail(c->error, "it has more than %d dimensions", NPY_DIMS_MAX);
        skip_space(c);
        if (c->at == c->end || !isdigit((unsigned char)*c->at))
            return fail(c->error, "its header's shape is no tuple of sizes");
        for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
            if (__builtin_mul_overflow(size, 10, &size) ||
                __builtin_add_overflow(size, *c->at - '0', &size))
                return fail(c->error, "its header's shape overflows");
        take(c, 'L');
        array->size[array->dims] = size;
        if (!take(c, ',')) {
            array->dims++;
            if (!take(c, ')'))
                return fail(c->error, "its header's shape has no end");
            break;
        }
    }
    return 0;
}

/* What the header says beside type and shape. */
struct layout {
    bool big_endian, fortran_order;
};

/* {'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }, keys in any order. */
static int read_header(struct cursor *c, struct npy_array *array, struct layout *layout)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };
    char key[32];
    int seen = 0, found;

    if (!take(c, '{'))
        return fail(c->error, "its header is no dictionary");
    while (!take(c, '}')) {
        if (read_string(c, key, sizeof(key)))
            return -1;
        if (!take(c, ':'))
            return fail(c->error, "its header lacks a ':' after '%s'", key);
        found = !strcmp(key, "descr")           ? DESCR
                : !strcmp(key, "fortran_order") ? ORDER
                : !strcmp(key, "shape")         ? SHAPE
                                                : 0;
        if (!found || (seen & found))
            return fail(c->error, "its header has %s key '%s'", found ? "two of the" : "an unknown",
                        key);
        seen |= found;
        if (found == DESCR && read_type(c, &array->type, &layout->big_endian))
            return -1;
        if (found == SHAPE && read_shape(c, array))
            return -1;
        if (found == ORDER) {
            layout->fortran_order = take_word(c, "True");
            if (!layout->fortran_order && !take_word(c, "False"))
                return fail(c->error, "its header's fortran_order is neither True nor False");
        }
        if (!take(c, ',')) {
            if (!take(c, '}'))
                return fail(c->error, "its header has no end");
            break;
        }
    }
    skip_space(c);
    if (c->at != c->end)
        return fail(c->error, "its header goes on after its end");
    if (seen != ALL)
        return fail(c->error, "its header lacks '%s'",
                    !(seen & DESCR)   ? "descr"
                    : !(seen & ORDER) ? "fortran_order"
                                      : "shape");
    return 0;
}

/* Moves one element to where it belongs, turning its bytes round if need be. */
static void copy_element(unsigned char *to, const unsigned char *from, size_t size, bool swap)
{
    size_t i;
    for (i = 0; i < size; i++)
        to[i] = from[swap ? size - 1 - i : i];
}

/* Fills array->data from the file's elements. */
static void copy_elements(struct npy_array *array, const unsigned char *from,
                          const struct layout *layout)
{
    size_t size = types[array->type].size, index[NPY_DIMS_MAX] = {0}, i;
    bool swap = layout->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    bool reorder = layout->fortran_order && array->dims > 1;

    if (!array->count)
        return;
    if (!swap && !reorder) {
        memcpy(array->data, from, array->count * size);
        return;
    }
    /* The index counts up as Fortran counts: the first dimension fastest. */
    for (i = 0; i < array->count; i++) {
        size_t to = i;
        int d;
        if (reorder) {
            for (to = 0, d = 0; d < array->dims; d++)
                to = to * (size_t)array->size[d] + index[d];
            for (d = 0; d < array->dims && ++index[d] == (size_t)array->size[d]; d++)
                index[d] = 0;
        }
        copy_element((unsigned char *)array->data + to * size, from + i * size, size, swap);
    }
}

/* Where the header's text lies; -1 if the first bytes do not fit. */
static int find_header(const unsigned char *bytes, size_t length, struct cursor *c)
{
    size_t start, size;

    if (length >= 4 && !memcmp(bytes, "PK\3\4", 4))
        return fail(c->error, "it is an .npz archive; unpack it and give one of its .npy files");
    if (length < 6 || memcmp(bytes, "\x93NUMPY", 6))
        return fail(c->error, "it is no .npy file");
    if (length < 10)
        return fail(c->error, "it ends within its header");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return fail(c->error, "its version is %d.%d; known are 1.0, 2.0 and 3.0", bytes[6],
                    bytes[7]);
    start = bytes[6] == 1 ? 10 : 12;
    if (length < start)
        return fail(c->error, "it ends within its header");
    size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (size > HEADER_MAX)
        return fail(c->error, "its header claims %zu bytes", size);
    if (size > length - start)
        return fail(c->error, "it ends within its header");
    c->at = (const char *)bytes + start;
    c->end = c->at + size;
    return 0;
}

/* The header, with the number of elements; behind it `c` is at its end. */
static int parse_header(const void *bytes, size_t length, struct cursor *c, struct npy_array *array,
                        struct layout *layout)
{
    int i;

    if (find_header(bytes, length, c) || read_header(c, array, layout))
        return -1;
    array->count = 1;
    for (i = 0; i < array->dims; i++)
        if (__builtin_mul_overflow(array->count, (size_t)array->size[i], &array->count) ||
            array->count > PTRDIFF_MAX / types[array->type].size)
            return fail(c->error, "its header's shape overflows");
    return 0;
}

int npy_parse(const void *bytes, size_t length, struct npy_array *array, char error[NPY_ERROR_MAX])
{
    struct cursor c = {.error = error};
    struct layout layout = {0};
    size_t size, given;

    memset(array, 0, sizeof(*array));
    if (parse_header(bytes, length, &c, array, &layout))
        goto bad;
    size = types[array->type].size;
    given = length - (size_t)(c.end - (const char *)bytes);
    if (given != array->count * size) {
        char shape[NPY_SHAPE_MAX];
        tell(error, "its shape %s of %s needs %zu bytes and it holds %zu",
             npy_shape_text(array, shape), types[array->type].name, array->count * size, given);
        goto bad;
    }
    array->data = malloc(array->count ? array->count * size : 1);
    if (!array->data) {
        tell(error, "no memory for its %zu bytes", array->count * size);
        goto bad;
    }
    copy_elements(array, (const unsigned char *)c.end, &layout);
    return 0;
bad:
    memset(array, 0, sizeof(*array));
    return -1;
}

/*
 * How many bytes a file can have that begins with these, or 0 if it is none: what never ends, such
 * as /dev/zero or a pipe, must not be read until memory is full.
 */
static size_t most_bytes(const unsigned char *bytes, size_t length)
{
    char error[NPY_ERROR_MAX];
    struct cursor c = {.error = error};
    struct layout layout = {0};
    struct npy_array array = {0};

    if (length < 6 || (!memcmp(bytes, "\x93NUMPY", 6) && length < HEADER_MAX + 12 &&
                       find_header(bytes, length, &c)))
        return SIZE_MAX; /* too early to say */
    if (parse_header(bytes, length, &c, &array, &layout))
        return 0;
    return (size_t)(c.end - (const char *)bytes) + array.count * types[array.type].size;
}

/* The whole file, whatever kind it is, or enough to see what is wrong; NULL with a line in `error`. */
static unsigned char *read_all(const char *path, size_t *length, char error[NPY_ERROR_MAX])
{
    size_t room = 1 << 16, used = 0, got;
    unsigned char *bytes = NULL, *more;
    FILE *f = fopen(path, "rb");

    if (!f) {
        tell(error, "%s: %s", path, strerror(errno));
        return NULL;
    }
    do {
        room *= 2;
        more = realloc(bytes, room);
        if (!more) {
            tell(error, "%s: no memory for %zu bytes", path, room);
            goto bad;
        }
        bytes = more;
        got = fread(bytes + used, 1, room - used, f);
        used += got;
    } while (used == room && used <= most_bytes(bytes, used));
    if (ferror(f)) {
        tell(error, "%s: %s", path, strerror(errno));
        goto bad;
    }
    fclose(f);
    *length = used;
    return bytes;
bad:
    fclose(f);
    free(bytes);
    return NULL;
}

int npy_read(const char *path, struct npy_array *array, char error[NPY_ERROR_MAX])
{
    char reason[NPY_ERROR_MAX];
    size_t length;
    unsigned char *bytes;
    int result;

    memset(array, 0, sizeof(*array));
    bytes = read_all(path, &length, error);
    if (!bytes)
        return -1;
    result = npy_parse(bytes, length, array, reason);
    free(bytes);
    if (result)
        snprintf(error, NPY_ERROR_MAX, "%.300s: %.200s", path, reason);
    return result;
}

void npy_free(struct npy_array *array)
{
    free(array->data);
    memset(array, 0, sizeof(*array));
}
