/* .npy files: what NumPy writes is read, what is written NumPy reads, and nothing else is believed.
 */
#include "npy.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/test_npy.XXXXXX";
static char error[NPY_ERROR_MAX];

static const char *in_directory(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

/* A file in memory: magic, version, header of the given text, elements. */
struct file {
    unsigned char bytes[1024];
    size_t length;
};

static struct file make(int version, const char *header, const void *data, size_t size)
{
    struct file f = {.bytes = "\x93NUMPY"};
    size_t length = strlen(header), start = version == 1 ? 10 : 12;
    f.bytes[6] = (unsigned char)version;
    f.bytes[8] = (unsigned char)length;
    f.bytes[9] = (unsigned char)(length >> 8);
    memcpy(f.bytes + start, header, length);
    if (size)
        memcpy(f.bytes + start + length, data, size);
    f.length = start + length + size;
    return f;
}

static void test_reading(void)
{
    static const unsigned char little[] = {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};
    static const unsigned char big[] = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
    static const unsigned char fortran[] = {1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0};
    static const struct {
        const char *what, *header;
        const void *data;
        int version;
    } cases[] = {
        {"version 1.0", "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }    \n", little,
         1},
        {"version 2.0", "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n", little, 2},
        {"version 3.0", "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n", little, 3},
        {"other quotes, order and spaces, no comma at the end",
         "{ \"shape\":(2,3,),'fortran_order':False , 'descr' : \"<u2\"}", little, 1},
        {"sizes as Python 2 wrote them",
         "{'descr': '<u2', 'fortran_order': False, 'shape': (2L, 3L), }\n", little, 1},
        {"big-endian elements", "{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3), }\n",
         big, 1},
        {"Fortran order", "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }\n", fortran,
         1},
    };
    static const uint16_t want[] = {1, 2, 3, 4, 5, 6};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct file f = make(cases[i].version, cases[i].header, cases[i].data, 12);
        struct npy_array a;
        int failed = npy_parse(f.bytes, f.length, &a, error);
        ok(!failed && a.type == NPY_U16 && a.dims == 2 && a.size[0] == 2 && a.size[1] == 3 &&
               !memcmp(a.data, want, 12),
           "%s", cases[i].what);
        if (failed)
            tap_diag("%s", error);
        npy_free(&a);
    }
}

static void test_fortran_3d(void)
{
    /* Element (i, j, k) of a (2, 3, 4) array is 100 i + 10 j + k. */
    float data[24];
    struct file f;
    struct npy_array a;
    int i, j, k, at = 0, wrong = 0;

    for (k = 0; k < 4; k++)
        for (j = 0; j < 3; j++)
            for (i = 0; i < 2; i++)
                data[at++] = (float)(100 * i + 10 * j + k);
    f = make(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }", data,
             sizeof(data));
    is_int(npy_parse(f.bytes, f.length, &a, error), 0, "three dimensions in Fortran order");
    for (at = 0; at < 24; at++)
        wrong += ((float *)a.data)[at] != (float)(100 * (at / 12) + 10 * (at / 4 % 3) + at % 4);
    is_int(wrong, 0, "come out in C order");
    npy_free(&a);
}

#define SHAPE(text) "{'descr': '<f2', 'fortran_order': False, 'shape': " text ", }"

static void test_malformed(void)
{
    static const struct {
        const char *header, *message;
        size_t data;
    } cases[] = {
        {"", "no dictionary", 0},
        {"[]", "no dictionary", 0},
        {"{", "quoted string", 0},
        {"{}", "lacks 'descr'", 0},
        {"{'descr': '<f2', 'shape': (), }", "lacks 'fortran_order'", 2},
        {"{'descr': '<f2', 'fortran_order': False}", "lacks 'shape'", 2},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (1,)", "no end", 2},
        {"{'descr': '<f2', 'descr': '<f2', }", "two of the key 'descr'", 0},
        {"{'descr': '<f2', 'fortran_order': Maybe, 'shape': (1,), }", "neither True nor", 2},
        {"{'descr': '<f2', 'size': (1,), }", "unknown key 'size'", 0},
        {"{'descr' '<f2'}", "lacks a ':'", 0},
        {"{'descr': '<f2}", "without an end", 0},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "its type is '<i8'", 8},
        {"{'descr': 'f2', 'fortran_order': False, 'shape': (1,), }", "its type is 'f2'", 2},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "its type is ''", 2},
        {"{'descr': [('x', '<f2')], 'fortran_order': False, 'shape': (1,), }", "records", 2},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "its type is '|O'", 2},
        {SHAPE("3"), "no tuple", 6},
        {SHAPE("(3"), "no tuple of sizes", 6},
        {SHAPE("(3,"), "no tuple of sizes", 6},
        {SHAPE("(-3,)"), "no tuple of sizes", 6},
        {SHAPE("(3 4)"), "no end", 24},
        {SHAPE("(1,1,1,1,1,1,1,1,1)"), "more than 8 dimensions", 2},
        {SHAPE("(99999999999999999999,)"), "overflows", 2},
        {SHAPE("(9223372036854775807,)"), "overflows", 2},
        {SHAPE("(4294967296, 4294967296)"), "overflows", 2},
        {SHAPE("(2, 3)"), "needs 12 bytes and it holds 11", 11},
        {SHAPE("(2, 3)"), "needs 12 bytes and it holds 14", 14},
        {SHAPE("(2, 3)") " x", "goes on after its end", 12},
    };
    static const unsigned char zeros[64];
    struct npy_array a;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct file f = make(1, cases[i].header, zeros, cases[i].data);
        *error = '\0';
        if (!ok(npy_parse(f.bytes, f.length, &a, error) == -1 && strstr(error, cases[i].message) &&
                    !a.data,
                "refused: %s", cases[i].message))
            tap_diag("header %s: \"%s\"", cases[i].header, error);
        npy_free(&a);
    }
}

static void test_envelope(void)
{
    static const uint16_t data[6] = {1, 2, 3, 4, 5, 6};
    struct file good = make(1, SHAPE("(2, 3)"), data, 12), f;
    struct npy_array a;
    size_t i, accepted = 0;
    unsigned bit;

    /* From the heap, so that a sanitizer sees a read beyond the end. */
    for (i = 0; i < good.length; i++) {
        unsigned char *part = malloc(i ? i : 1);
        memcpy(part, good.bytes, i);
        accepted += npy_parse(part, i, &a, error) == 0;
        npy_free(&a);
        free(part);
    }
    is_int(accepted, 0, "a file cut anywhere is refused");

    /* Any flipped bit gives a file that is refused or read; never a crash. */
    for (bit = 0; bit < good.length * 8; bit++) {
        unsigned char *copy = malloc(good.length);
        memcpy(copy, good.bytes, good.length);
        copy[bit / 8] ^= (unsigned char)(1U << bit % 8);
        npy_parse(copy, good.length, &a, error);
        npy_free(&a);
        free(copy);
    }
    ok(1, "a flipped bit anywhere is survived");

    f = good, f.bytes[0] = 'N';
    is_int(npy_parse(f.bytes, f.length, &a, error), -1, "another magic");
    contains(error, "no .npy file", "is named");
    f = good, memcpy(f.bytes, "PK\3\4", 4);
    is_int(npy_parse(f.bytes, f.length, &a, error), -1, "an archive");
    contains(error, ".npz", "is named");
    f = good, f.bytes[6] = 4;
    is_int(npy_parse(f.bytes, f.length, &a, error), -1, "another version");
    contains(error, "version is 4.0", "is named");
    f = make(2, SHAPE("(2, 3)"), data, 12), f.bytes[11] = 0xff;
    is_int(npy_parse(f.bytes, f.length, &a, error), -1, "a header of 4 GB");
    contains(error, "claims", "is named");
}

static void test_round_trip(void)
{
    static const int64_t shapes[][4] = {{0}, {7}, {2, 3}, {2, 1, 3}, {1, 2, 3, 4}};
    unsigned char data[24 * 8];
    struct npy_array a, b;
    size_t i;
    int dims, type;

    for (i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 37 + 11);
    for (type = NPY_F16; type <= NPY_U8; type++)
        for (dims = 0; dims <= 4; dims++) {
            a = (struct npy_array){.type = (enum npy_type)type, .dims = dims, .count = 1};
            a.data = data;
            for (i = 0; i < (size_t)dims; i++)
                a.count *= (size_t)(a.size[i] = shapes[dims][i]);
            *error = '\0';
            ok(!npy_write(in_directory("a.npy"), &a, error) &&
                   !npy_read(in_directory("a.npy"), &b, error) && b.type == a.type &&
                   b.dims == dims && !memcmp(a.size, b.size, sizeof(a.size)) &&
                   b.count == a.count && !memcmp(b.data, data, a.count * npy_type_size(a.type)),
               "%s of %d dimensions survives", npy_type_name(a.type), dims);
            if (*error)
                tap_diag("%s", error);
            npy_free(&b);
        }
    a = (struct npy_array){.type = NPY_F32, .dims = 2, .size = {0, 5}, .data = data};
    ok(!npy_write(in_directory("a.npy"), &a, error) &&
           !npy_read(in_directory("a.npy"), &b, error) && b.count == 0,
       "an empty array survives");
    npy_free(&b);
}

/* The bytes that numpy.save() writes for numpy.arange(3, dtype='<f4'), from its documentation. */
static void test_bytes(void)
{
    static const float values[] = {0, 1, 2};
    struct npy_array a = {NPY_F32, 1, {3}, 3, (void *)values};
    unsigned char got[256] = {0}, want[128 + 12];
    FILE *f;

    memset(want, ' ', sizeof(want));
    memcpy(want, "\x93NUMPY\x01\0\x76\0", 10);
    memcpy(want + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 57);
    want[127] = '\n';
    memcpy(want + 128, values, 12);
    is_int(npy_write(in_directory("b.npy"), &a, error), 0, "three floats: written");
    f = fopen(in_directory("b.npy"), "rb");
    is_int(f ? fread(got, 1, sizeof(got), f) : 0, 140, "three floats: 128 bytes and the elements");
    ok(!memcmp(got, want, 140), "three floats: byte for byte");
    if (f)
        fclose(f);
}

static int files_in_directory(void)
{
    DIR *d = opendir(directory);
    int count = 0;
    while (d && readdir(d))
        count++;
    if (d)
        closedir(d);
    return count - 2;
}

static void test_atomic(void)
{
    static float values[4096];
    struct npy_array small = {NPY_F32, 1, {3}, 3, values}, b;
    struct npy_array large = {NPY_F32, 1, {4096}, 4096, values};
    struct rlimit limit, old;
    struct stat st;
    int before;

    is_int(npy_write(in_directory("c.npy"), &small, error), 0, "an array is written");
    before = files_in_directory();
    stat(in_directory("c.npy"), &st);
    umask(022);
    is_int(st.st_mode & 0777, 0644, "with the usual permissions");

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = (struct rlimit){1024, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    is_int(npy_write(in_directory("c.npy"), &large, error), -1, "a write that fails half-way");
    setrlimit(RLIMIT_FSIZE, &old);
    contains(error, "c.npy", "names the file");
    contains(error, strerror(EFBIG), "and the reason");
    is_int(files_in_directory(), before, "leaves no other file behind");
    ok(!npy_read(in_directory("c.npy"), &b, error) && b.count == 3, "and the old one intact");
    npy_free(&b);

    is_int(npy_write(in_directory("none/c.npy"), &small, error), -1, "a missing directory");
    contains(error, "none/c.npy: No such file", "is named");
    is_int(npy_write("/dev/null", &small, error), 0, "a device is written to, not replaced");
    is_int(npy_write("/dev/full", &small, error), -1, "a full device fails");
    contains(error, "/dev/full: No space", "and is named");

    is_int(symlink("c.npy", in_directory("link.npy")), 0, "a link is made");
    is_int(npy_write(in_directory("link.npy"), &large, error), 0, "and written through");
    ok(!lstat(in_directory("link.npy"), &st) && S_ISLNK(st.st_mode), "it is still a link");
    ok(!npy_read(in_directory("c.npy"), &b, error) && b.count == 4096, "to the new array");
    npy_free(&b);

    is_int(npy_read(in_directory("missing.npy"), &b, error), -1, "a missing file");
    contains(error, "missing.npy: No such file", "is named");
    is_int(npy_read(directory, &b, error), -1, "a directory");
    contains(error, "Is a directory", "is no file");
}

static void clean_up(void)
{
    static const char *const names[] = {"a.npy", "b.npy", "c.npy", "link.npy"};
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(in_directory(names[i]));
    rmdir(directory);
}

int main(void)
{
    umask(022);
    if (!mkdtemp(directory))
        tap_skip_all("no temporary directory can be made");
    test_reading();
    test_fortran_3d();
    test_malformed();
    test_envelope();
    test_round_trip();
    test_bytes();
    test_atomic();
    clean_up();
    return tap_done();
}
