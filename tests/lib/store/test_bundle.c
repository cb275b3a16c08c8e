/* The offload bundle reader: what it finds, and what it refuses. */
#include "bundle.h"

#include <elf.h>

#include "make_image.h"
#include "tap.h"

static const struct bundle_name name = {"file", "kernel"};
static struct status why;

static struct bundle_code find(const struct make_image *bundle, const char *device)
{
    struct target target;
    struct bundle_code code;
    if (target_parse(device, strlen(device), &target))
        ok(0, "%s parses", device);
    status_clear(&why);
    bundle_find(bundle->bytes, bundle->size, &target, &name, &code, &why);
    return code;
}

static void test_choice(void)
{
    const char *const targets[] = {"gfx90a:sramecc+:xnack-", "gfx90a", "gfx90a:xnack+", "gfx942",
                                   NULL};
    static const struct {
        const char *device, *code;
    } cases[] = {
        {"gfx90a", "gfx90a"},
        {"gfx90a:sramecc+:xnack+", "gfx90a:xnack+"},
        {"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"},
        {"gfx90a:sramecc-:xnack-", "gfx90a"},
        {"gfx942:sramecc+:xnack-", "gfx942"},
        {"gfx1100", NULL},
    };
    struct make_image bundle = make_bundle(targets, "kernel", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bundle_code code = find(&bundle, cases[i].device);
        char text[TARGET_TEXT_MAX];
        if (cases[i].code) {
            is_str(target_print(&code.target, text), cases[i].code, cases[i].device);
            is_int(why.code, AOTHIP_OK, "is found");
        } else {
            is_int(why.code, AOTHIP_E_TARGET, cases[i].device);
            contains(why.text, "file: entry kernel: no code object fits gfx1100", "is told");
        }
    }
    free(bundle.bytes);
}

/* One number of a bundle or ELF replaced. */
struct damage {
    const char *what;
    size_t at;
    int size;
    uint64_t value;
    enum aothip_status status;
    const char *message;
};

enum { TABLE = 32, ITEM = 24, HOST_ID = 27, FIRST = TABLE + ITEM + HOST_ID, CODE = 4096 };
#define ELF_AT(field) CODE + offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field)
#define PHDR_AT(field)                                                                             \
    CODE + sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, field), sizeof(((Elf64_Phdr *)0)->field)

static const struct damage damages[] = {
    {"magic", 3, 1, 'x', AOTHIP_E_FORMAT, "does not begin with"},
    {"no items", 24, 8, 0, AOTHIP_E_FORMAT, "holds 0 items"},
    {"2^40 items", 24, 8, 1ull << 40, AOTHIP_E_FORMAT, "holds 1099511627776 items"},
    {"more items than there are", 24, 8, 3, AOTHIP_E_FORMAT, "item 2"},
    {"offset past the end", FIRST, 8, 4097 + 4096, AOTHIP_E_FORMAT, "item 1 spans"},
    {"offset of 2^64-1", FIRST, 8, ~0ull, AOTHIP_E_FORMAT, "item 1 spans"},
    {"size past the end", FIRST + 8, 8, 4097, AOTHIP_E_FORMAT, "item 1 spans 4097 bytes"},
    {"size of 2^64-1", FIRST + 8, 8, ~0ull, AOTHIP_E_FORMAT, "item 1 spans"},
    {"ID of 2^64-1 bytes", FIRST + 16, 8, ~0ull, AOTHIP_E_FORMAT, "item 1 has an ID"},
    {"ID of 257 bytes", FIRST + 16, 8, 257, AOTHIP_E_FORMAT, "item 1 has an ID"},
    {"malformed target", FIRST + ITEM + 25, 1, 'x', AOTHIP_E_FORMAT, "malformed target"},
    {"no code for a device", FIRST + ITEM, 1, 'x', AOTHIP_E_TARGET, "no code object fits"},
    {"code of 63 bytes", FIRST + 8, 8, 63, AOTHIP_E_FORMAT, "63 bytes are too few"},
    {"no ELF", CODE + 1, 1, 'e', AOTHIP_E_FORMAT, "no 64-bit little-endian ELF"},
    {"32-bit ELF", CODE + EI_CLASS, 1, ELFCLASS32, AOTHIP_E_FORMAT, "no 64-bit"},
    {"big-endian ELF", CODE + EI_DATA, 1, ELFDATA2MSB, AOTHIP_E_FORMAT, "no 64-bit"},
    {"e_ehsize", ELF_AT(e_ehsize), 65, AOTHIP_E_FORMAT, "no 64-bit"},
    {"x86 code", ELF_AT(e_machine), EM_X86_64, AOTHIP_E_TARGET, "e_machine 62"},
    {"other OS ABI", CODE + EI_OSABI, 1, 65, AOTHIP_E_TARGET, "OS ABI 65"},
    {"object file", ELF_AT(e_type), ET_REL, AOTHIP_E_TARGET, "type 1"},
    {"code object version 3", CODE + EI_ABIVERSION, 1, 1, AOTHIP_E_TARGET, "ABI version 1"},
    {"processor", ELF_AT(e_flags), 0x53f, AOTHIP_E_TARGET, "e_flags 0x53f are not those of gfx942"},
    {"xnack flag", ELF_AT(e_flags), 0x74c, AOTHIP_E_TARGET, "e_flags 0x74c"},
    {"no segments", ELF_AT(e_phnum), 0, AOTHIP_E_FORMAT, "0 program headers"},
    {"73 segments", ELF_AT(e_phnum), 73, AOTHIP_E_FORMAT, "73 program headers"},
    {"e_phentsize", ELF_AT(e_phentsize), 55, AOTHIP_E_FORMAT, "program headers"},
    {"e_phoff", ELF_AT(e_phoff), 4096 - 55, AOTHIP_E_FORMAT, "1 program headers at 4041"},
    {"e_phoff of 2^64-1", ELF_AT(e_phoff), ~0ull, AOTHIP_E_FORMAT, "1 program headers"},
    {"sections past the end", ELF_AT(e_shnum), 100, AOTHIP_E_FORMAT, "100 section headers"},
    {"segment past the end", PHDR_AT(p_filesz), 4097, AOTHIP_E_FORMAT, "segment 0 ends beyond"},
    {"segment at 2^64-1", PHDR_AT(p_offset), ~0ull, AOTHIP_E_FORMAT, "segment 0 ends beyond"},
};

static void test_damage(void)
{
    const char *const targets[] = {"gfx942", NULL};
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        const struct damage *damage = &damages[i];
        struct make_image bundle = make_bundle(targets, "kernel", 1);
        memcpy(bundle.bytes + damage->at, &damage->value, (size_t)damage->size);
        find(&bundle, "gfx942");
        is_int(why.code, damage->status, damage->what);
        contains(why.text, damage->message, "is told");
        free(bundle.bytes);
    }
}

/* Every length, in a buffer of exactly that length, so that a sanitizer sees one byte too many. */
static void test_truncation(void)
{
    const char *const targets[] = {"gfx942", NULL};
    struct make_image bundle = make_bundle(targets, "kernel", 1);
    int refused = 0;
    for (size_t size = 0; size < bundle.size; size++) {
        struct make_image part = {malloc(size ? size : 1), size};
        memcpy(part.bytes, bundle.bytes, size);
        find(&part, "gfx942");
        refused += why.code == AOTHIP_E_FORMAT;
        free(part.bytes);
    }
    is_int(refused, bundle.size, "refused when cut at any byte");
    free(bundle.bytes);
}

int main(void)
{
    test_choice();
    test_damage();
    test_truncation();
    return tap_done();
}
