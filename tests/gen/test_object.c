/*
 * Reading code objects: a code object put together here, byte by byte, is read right; cut or
 * changed anywhere, it is refused or read, but never read beyond its end.
 */
#include "msgpack.h"
#include "object.h"

#include "tap.h"

#include <elf.h>
#include <stdint.h>

struct bytes {
    uint8_t b[4096];
    size_t n;
};

static void put(struct bytes *o, const void *what, size_t n)
{
    memcpy(o->b + o->n, what, n);
    o->n += n;
}

static void put_byte(struct bytes *o, int byte)
{
    o->b[o->n++] = (uint8_t)byte;
}

/* MessagePack: a string of up to 31 bytes, or str8; a number as uint16. */
static void put_text(struct bytes *o, const char *text)
{
    size_t n = strlen(text);
    if (n > 31)
        put_byte(o, 0xd9);
    put_byte(o, (int)(n > 31 ? n : 0xa0 | n));
    put(o, text, n);
}

static void put_pair(struct bytes *o, const char *key, int number)
{
    put_text(o, key);
    put_byte(o, 0xcd);
    put_byte(o, number >> 8);
    put_byte(o, number & 255);
}

/* The metadata of one kernel, `keys` of its keys (14 are all). */
static void put_metadata(struct bytes *o, int keys)
{
    static const char *const names[] = {".kernarg_segment_size",
                                        ".group_segment_fixed_size",
                                        ".private_segment_fixed_size",
                                        ".vgpr_count",
                                        ".agpr_count",
                                        ".sgpr_count",
                                        ".vgpr_spill_count",
                                        ".sgpr_spill_count",
                                        ".wavefront_size",
                                        ".max_flat_workgroup_size"};
    put_byte(o, 0x83); /* a map of 3 */
    put_text(o, "amdhsa.kernels");
    put_byte(o, 0x91); /* an array of 1 */
    put_byte(o, 0x80 | keys);
    for (int i = 0; i < 10 && i < keys; i++)
        put_pair(o, names[i], 300 + i);
    if (keys > 10) {
        put_text(o, ".name");
        put_text(o, "a_kernel_with_a_name_of_more_than_31_bytes");
    }
    if (keys > 11) {
        put_text(o, ".uses_dynamic_stack");
        put_byte(o, 0xc3);
    }
    if (keys > 12) {
        put_text(o, ".symbol");
        put_text(o, "a_kernel.kd");
    }
    if (keys > 13) { /* what the reader does not know, of every kind */
        put_text(o, ".args");
        put(o, "\x93\x81\xa1k\xc0\xd1\xff\xfe\xcb\x40\x00\x00\x00\x00\x00\x00\x00", 17);
    }
    put_text(o, "amdhsa.target");
    put_text(o, "amdgcn-amd-amdhsa--gfx90a:xnack+");
    put_text(o, "amdhsa.version");
    put(o, "\x92\x01\x02", 3);
}

static void put_elf(struct bytes *o, const struct bytes *metadata)
{
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_machine = 224,
                       .e_phoff = sizeof(head),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 1};
    Elf64_Nhdr other = {4, 4, 1}, note = {7, (Elf64_Word)metadata->n, 32};
    size_t begin = sizeof(head) + sizeof(Elf64_Phdr);
    size_t size = sizeof(other) + 8 + sizeof(note) + 8 + metadata->n;
    Elf64_Phdr segment = {.p_type = PT_NOTE, .p_offset = begin, .p_filesz = size};
    o->n = 0;
    put(o, &head, sizeof(head));
    put(o, &segment, sizeof(segment));
    put(o, &other, sizeof(other));
    put(o, "abc\0what", 8);
    put(o, &note, sizeof(note));
    put(o, "AMDGPU\0", 8);
    put(o, metadata->b, metadata->n);
}

static struct bytes make_elf(int keys)
{
    struct bytes metadata = {.n = 0}, elf;
    put_metadata(&metadata, keys);
    put_elf(&elf, &metadata);
    return elf;
}

static struct bytes make_bundle(const struct bytes *elf)
{
    static const char id[] = "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", host[] = "host-x86_64--";
    uint64_t entry[] = {2, 256, 0, sizeof(host) - 1, 256, elf->n, sizeof(id) - 1};
    struct bytes o = {.n = 0};
    put(&o, "__CLANG_OFFLOAD_BUNDLE__", 24);
    put(&o, entry, 4 * sizeof(*entry));
    put(&o, host, sizeof(host) - 1);
    put(&o, entry + 4, 3 * sizeof(*entry));
    put(&o, id, sizeof(id) - 1);
    memset(o.b + o.n, 0, 256 - o.n);
    o.n = 256;
    put(&o, elf->b, elf->n);
    return o;
}

static void test_good(void)
{
    struct object_info info;
    struct bytes elf = make_elf(14);
    is_str(object_read(elf.b, elf.n, &info) ? "error" : "read", "read", "a whole code object");
    is_str(info.target, "gfx90a:xnack+", "target");
    is_str(info.name, "a_kernel_with_a_name_of_more_than_31_bytes", "name");
    is_str(info.descriptor, "a_kernel.kd", "descriptor");
    is_int(info.kernels, 1, "kernels");
    is_int(info.kernarg_size, 300, "argument bytes");
    is_int(info.lds_size, 301, "LDS");
    is_int(info.scratch_size, 302, "scratch");
    is_int(info.vgprs, 303, "vector registers");
    is_int(info.agprs, 304, "accumulation registers");
    is_int(info.sgprs, 305, "scalar registers");
    is_int(info.vgpr_spills, 306, "vector spills");
    is_int(info.sgpr_spills, 307, "scalar spills");
    is_int(info.wave_size, 308, "wave");
    is_int(info.max_threads, 309, "threads");
    ok(info.dynamic_stack, "dynamic stack");
}

static void test_refused(void)
{
    struct object_info info;
    struct bytes elf = make_elf(9), none = {.n = 0}, bare;
    contains(object_read(elf.b, elf.n, &info), "lacks a key", "a kernel without its threads");
    elf = make_elf(14);
    elf.b[18] = 62; /* e_machine */
    contains(object_read(elf.b, elf.n, &info), "not a linked AMDGPU", "another machine's ELF");
    put_elf(&bare, &none);
    contains(object_read(bare.b, bare.n, &info), "damaged", "an empty note");
    elf = make_elf(14);
    elf.b[sizeof(Elf64_Ehdr)] = PT_LOAD;
    contains(object_read(elf.b, elf.n, &info), "no AMDGPU metadata", "no note");
}

/* A code object with sections: a string table and a table of four symbols, of the type asked. */
static struct bytes make_symbols(Elf64_Word type)
{
    static const char strings[] = "\0kernel\0kernel.kd\0local\0absent";
    const Elf64_Sym symbols[] = {
        {.st_name = 0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1},
        {.st_name = 8, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1},
        {.st_name = 18, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_shndx = 1},
        {.st_name = 24, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = SHN_UNDEF},
    };
    struct bytes o = make_elf(14);
    size_t at = o.n;
    put(&o, strings, sizeof(strings));
    put(&o, symbols, sizeof(symbols));
    const Elf64_Shdr sections[] = {
        {.sh_type = SHT_NULL},
        {.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(strings)},
        {.sh_type = type,
         .sh_link = 1,
         .sh_offset = at + sizeof(strings),
         .sh_size = sizeof(symbols),
         .sh_entsize = sizeof(*symbols)},
    };
    Elf64_Ehdr head;
    memcpy(&head, o.b, sizeof(head));
    head.e_shoff = o.n;
    head.e_shnum = 3;
    head.e_shentsize = sizeof(*sections);
    memcpy(o.b, &head, sizeof(head));
    put(&o, sections, sizeof(sections));
    return o;
}

/* ROCm's loader reads SHT_SYMTAB alone; an object with a dynamic table only has no kernel there. */
static void test_symbols(void)
{
    struct bytes elf = make_symbols(SHT_SYMTAB), dynamic = make_symbols(SHT_DYNSYM);
    ok(object_has_symbol(elf.b, elf.n, "kernel", STT_FUNC), "the kernel is found");
    ok(object_has_symbol(elf.b, elf.n, "kernel.kd", STT_OBJECT), "its descriptor is found");
    ok(!object_has_symbol(elf.b, elf.n, "kernel", STT_OBJECT), "but not as an object");
    ok(!object_has_symbol(elf.b, elf.n, "kern", STT_FUNC), "nor by half of its name");
    ok(!object_has_symbol(elf.b, elf.n, "local", STT_OBJECT), "a local symbol does not count");
    ok(!object_has_symbol(elf.b, elf.n, "absent", STT_OBJECT), "nor one without a definition");
    ok(!object_has_symbol(dynamic.b, dynamic.n, "kernel.kd", STT_OBJECT), "nor the dynamic table");
    int found = 0;
    for (size_t n = 0; n < elf.n; n++) {
        uint8_t *copy = malloc(n + !n);
        memcpy(copy, elf.b, n);
        found += object_has_symbol(copy, n, "kernel.kd", STT_OBJECT);
        free(copy);
    }
    is_int(found, 0, "cut anywhere, it has no symbol");
    for (size_t i = 0; i < elf.n * 8; i++) {
        uint8_t *copy = malloc(elf.n);
        memcpy(copy, elf.b, elf.n);
        copy[i / 8] ^= (uint8_t)(1 << i % 8);
        found += object_has_symbol(copy, elf.n, "kernel.kd", STT_OBJECT);
        free(copy);
    }
    ok(found > 1000 && found < (int)elf.n * 8, "flipped bits are seen where they matter (%d)",
       found);
}

/* Copies to the heap, so that the sanitizer sees any read beyond the end. */
static const char *read_copy(const uint8_t *bytes, size_t n, struct object_info *info)
{
    uint8_t *copy = malloc(n + !n);
    memcpy(copy, bytes, n);
    const char *wrong = object_read(copy, n, info);
    free(copy);
    return wrong;
}

static void test_damaged(void)
{
    struct object_info info;
    struct bytes elf = make_elf(14), bundle = make_bundle(&elf);
    int cut = 0, refused = 0, found = 0;
    for (size_t n = 0; n < elf.n; n++)
        cut += read_copy(elf.b, n, &info) != NULL;
    is_int(cut, elf.n, "cut anywhere, a code object is refused");
    for (size_t i = 0; i < elf.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            elf.b[i] ^= (uint8_t)(1 << bit);
            refused += read_copy(elf.b, elf.n, &info) != NULL;
            elf.b[i] ^= (uint8_t)(1 << bit);
        }
    ok(refused > 500, "many flipped bits are noticed (%d), none is followed outside", refused);
    for (size_t n = 0; n < bundle.n; n++) {
        const void *object;
        size_t size;
        uint8_t *copy = malloc(n + !n);
        memcpy(copy, bundle.b, n);
        found += !object_find(copy, n, "gfx90a:xnack+", &object, &size);
        free(copy);
    }
    is_int(found, 0, "cut anywhere, a bundle is refused");
}

static void test_bundle(void)
{
    struct bytes elf = make_elf(14), bundle = make_bundle(&elf);
    const void *object = NULL;
    size_t size = 0;
    ok(!object_find(bundle.b, bundle.n, "gfx90a:xnack+", &object, &size), "finds the target");
    ok(object == bundle.b + 256 && size == elf.n, "at its place, in its length");
    contains(object_find(bundle.b, bundle.n, "gfx90a", &object, &size), "no code object",
             "a prefix of a target is another target");
    contains(object_find(elf.b, elf.n, "gfx90a", &object, &size), "not a clang offload bundle",
             "an ELF file is no bundle");
}

/* Nested arrays that claim four billion elements each must end quickly. */
static void test_bomb(void)
{
    uint8_t bomb[500];
    for (size_t i = 0; i < sizeof(bomb); i += 5)
        memcpy(bomb + i, "\xdd\xff\xff\xff\xff", 5);
    struct msgpack m = {bomb, bomb + sizeof(bomb)};
    ok(!msgpack_skip(&m), "an array longer than the bytes left is refused");
}

int main(void)
{
    test_good();
    test_refused();
    test_symbols();
    test_damaged();
    test_bundle();
    test_bomb();
    return tap_done();
}
