/*
 * Fuzzes the two readers of foreign files: whatever the bytes, the .npy reader gives an array that
 * fits its shape or one line of text, and the ELF reader terminated names; neither reads beyond
 * the bytes.
 *
 * As a normal test it mutates files that it makes itself, with a fixed seed. Built with
 * -DFUZZ_ENGINE and -fsanitize=fuzzer (make fuzz-npy), libFuzzer drives it.
 */
#include "elf_names.h"
#include "npy.h"
#include "tap.h"

#include <elf.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int broken_promises, arrays, refusals, libraries;

static void read_array(const uint8_t *bytes, size_t size)
{
    char error[NPY_ERROR_MAX] = "", shape[NPY_SHAPE_MAX];
    struct npy_array a;
    size_t count = 1;
    int i;

    if (npy_parse(bytes, size, &a, error)) {
        refusals++;
        broken_promises += !*error || strchr(error, '\n') || a.data;
        return;
    }
    arrays++;
    for (i = 0; i < a.dims; i++)
        count *= (size_t)a.size[i];
    broken_promises += count != a.count || a.count * npy_type_size(a.type) > size;
    npy_shape_text(&a, shape);
    npy_free(&a);
}

static void read_library(const uint8_t *bytes, size_t size)
{
    struct elf_names names;
    int i;

    if (elf_parse_names(bytes, size, &names))
        return;
    libraries++;
    broken_promises += strlen(names.soname) >= ELF_NAME_MAX;
    for (i = 0; i < names.needed; i++)
        broken_promises += strlen(names.need[i]) >= ELF_NAME_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_array(data, size);
    read_library(data, size);
    if (broken_promises)
        abort();
    return 0;
}

#ifndef FUZZ_ENGINE

static size_t make_array(uint8_t *bytes)
{
    static const char header[] =
        "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3, 4), }      \n";
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = sizeof(header) - 1;
    bytes[9] = 0;
    memcpy(bytes + 10, header, sizeof(header) - 1);
    memset(bytes + 10 + sizeof(header) - 1, 7, 96);
    return 10 + sizeof(header) - 1 + 96;
}

/* A header, a loaded segment that spans everything, a dynamic section, its strings. */
static size_t make_library(uint8_t *bytes)
{
    static const char strings[] = "\0libx.so.1\0libaothip.so.0";
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
        Elf64_Dyn dynamic[4];
        char strings[sizeof(strings)];
    } f = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                      .e_phoff = sizeof(Elf64_Ehdr),
                      .e_phentsize = sizeof(Elf64_Phdr),
                      .e_phnum = 2}};
    size_t dynamic = sizeof(f.header) + sizeof(f.segments);
    size_t text = dynamic + sizeof(f.dynamic);

    f.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(f)};
    f.segments[1] =
        (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = dynamic, .p_filesz = sizeof(f.dynamic)};
    f.dynamic[0] = (Elf64_Dyn){DT_SONAME, {1}};
    f.dynamic[1] = (Elf64_Dyn){DT_NEEDED, {11}};
    f.dynamic[2] = (Elf64_Dyn){DT_STRTAB, {0x1000 + text}};
    memcpy(f.strings, strings, sizeof(strings));
    memcpy(bytes, &f, sizeof(f));
    return sizeof(f);
}

static uint64_t state = 20261121;

static size_t below(size_t bound)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (size_t)((state >> 33) % bound);
}

/* Flips, overwrites, cuts, doubles; from a buffer of exactly the size, so that ASan sees it. */
static void mutate_and_read(const uint8_t *original, size_t size)
{
    size_t length = below(4) ? size : below(size + 1), edits = 1 + below(4), i;
    uint8_t *bytes = malloc(length ? length : 1);

    memcpy(bytes, original, length);
    for (i = 0; i < edits && length; i++) {
        size_t at = below(length);
        if (below(2))
            bytes[at] ^= (uint8_t)(1U << below(8));
        else if (below(2))
            bytes[at] =
                (uint8_t)(below(2) ? below(256) : (unsigned char)"(){}',:0123456789-"[below(18)]);
        else {
            size_t from = at + below(length - at);
            memmove(bytes + at, bytes + from, length - from);
        }
    }
    read_array(bytes, length);
    read_library(bytes, length);
    free(bytes);
}

int main(void)
{
    enum { ROUNDS = 50000 };
    static uint8_t array[1024], library[1024];
    size_t array_size = make_array(array), library_size = make_library(library);
    struct elf_names names;
    int i;

    tap_diag("seed %llu", (unsigned long long)state);
    ok(!elf_parse_names(library, library_size, &names) && !strcmp(names.soname, "libx.so.1") &&
           names.needed == 1 && !strcmp(names.need[0], "libaothip.so.0"),
       "a small library is read");
    for (i = 0; i < ROUNDS; i++) {
        mutate_and_read(array, array_size);
        mutate_and_read(library, library_size);
    }
    tap_diag("%d arrays read, %d refused, %d libraries read", arrays, refusals, libraries);
    is_int(broken_promises, 0, "every promise was kept");
    ok(arrays > ROUNDS / 50 && refusals > ROUNDS / 10 && libraries > ROUNDS / 50,
       "mutants of every kind were seen");
    return tap_done();
}

#endif
