/* Reads a clang offload bundle and the ELF header of the code object that fits a GPU. */
#include "bundle.h"

#include <elf.h>
#include <string.h>

#define MAGIC "__CLANG_OFFLOAD_BUNDLE__"

enum {
    MAGIC_SIZE = sizeof(MAGIC) - 1,
    MAX_ENTRIES = 64,
    MAX_ID = 256,
    OSABI_AMDGPU_HSA = 64,
    ABIVERSION_V4 = 2, /* of code object version 4, the first whose e_flags hold the features */
    MACHINE_AMDGPU = 224
};

/* An entry of the bundle's table: three numbers and the ID behind them. */
struct entry {
    uint64_t offset, size, id_size;
    const char *id;
};

#define BUNDLE_FAIL(code, format, ...)                                                             \
    status_set(why, code, "%s: entry %s: " format, name->file, name->symbol, __VA_ARGS__)

static uint64_t read_u64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

/* Whether [offset, offset + size) lies within `whole` bytes. */
static int lies_within(uint64_t offset, uint64_t size, uint64_t whole)
{
    return offset <= whole && size <= whole - offset;
}

/*
 * "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-": kind, triple of four parts (the fourth often empty),
 * target. Finds the target; NULL for a host entry or another kind of device.
 */
static const char *find_target(const struct entry *entry, size_t *length)
{
    static const char triple[] = "-amdgcn-amd-amdhsa-";
    const char *end = entry->id + entry->id_size;
    const char *at = entry->id;
    while ((size_t)(end - at) >= sizeof(triple) - 1 && memcmp(at, triple, sizeof(triple) - 1) != 0)
        at++;
    if ((size_t)(end - at) < sizeof(triple) - 1 || memcmp(entry->id, "hip", 3) != 0)
        return NULL;
    at = memchr(at + sizeof(triple) - 1, '-', (size_t)(end - at) - (sizeof(triple) - 1));
    if (!at)
        return NULL;
    *length = (size_t)(end - (at + 1));
    return at + 1;
}

static enum aothip_status read_entry(const uint8_t *bytes, size_t size, size_t *at, int number,
                                     const struct bundle_name *name, struct entry *entry,
                                     struct status *why)
{
    if (!lies_within(*at, 24, size))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "bundle: its table ends inside item %d", number);
    entry->offset = read_u64(bytes + *at);
    entry->size = read_u64(bytes + *at + 8);
    entry->id_size = read_u64(bytes + *at + 16);
    *at += 24;
    if (entry->id_size < 1 || entry->id_size > MAX_ID || !lies_within(*at, entry->id_size, size))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "bundle: item %d has an ID of %llu bytes", number,
                           (unsigned long long)entry->id_size);
    entry->id = (const char *)bytes + *at;
    *at += entry->id_size;
    if (!lies_within(entry->offset, entry->size, size))
        return BUNDLE_FAIL(
            AOTHIP_E_FORMAT, "bundle: item %d spans %llu bytes at %llu, beyond the end at %zu",
            number, (unsigned long long)entry->size, (unsigned long long)entry->offset, size);
    return AOTHIP_OK;
}

/* The tables that the ELF header points to, and the loaded segments, lie within the code object. */
static enum aothip_status check_elf_tables(const struct bundle_code *code, const Elf64_Ehdr *elf,
                                           const struct bundle_name *name, struct status *why)
{
    if (elf->e_phnum == 0 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
        !lies_within(elf->e_phoff, (uint64_t)elf->e_phnum * sizeof(Elf64_Phdr), code->size))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "code object: %u program headers at %llu of %zu bytes",
                           elf->e_phnum, (unsigned long long)elf->e_phoff, code->size);
    if (elf->e_shnum &&
        (elf->e_shentsize != sizeof(Elf64_Shdr) ||
         !lies_within(elf->e_shoff, (uint64_t)elf->e_shnum * sizeof(Elf64_Shdr), code->size)))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "code object: %u section headers at %llu of %zu bytes",
                           elf->e_shnum, (unsigned long long)elf->e_shoff, code->size);
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, code->bytes + elf->e_phoff + i * sizeof(segment), sizeof(segment));
        if (!lies_within(segment.p_offset, segment.p_filesz, code->size))
            return BUNDLE_FAIL(AOTHIP_E_FORMAT, "code object: segment %u ends beyond its %zu bytes",
                               i, code->size);
    }
    return AOTHIP_OK;
}

static enum aothip_status check_elf(const struct bundle_code *code, const struct bundle_name *name,
                                    struct status *why)
{
    Elf64_Ehdr elf;
    if (code->size < sizeof(elf))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "code object: %zu bytes are too few for an ELF header",
                           code->size);
    memcpy(&elf, code->bytes, sizeof(elf));
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_ehsize != sizeof(elf))
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "code object: no %s", "64-bit little-endian ELF");
    if (elf.e_machine != MACHINE_AMDGPU || elf.e_ident[EI_OSABI] != OSABI_AMDGPU_HSA ||
        elf.e_type != ET_DYN)
        return BUNDLE_FAIL(AOTHIP_E_TARGET,
                           "code object: e_machine %u, OS ABI %u, type %u is no AMD GPU code",
                           elf.e_machine, elf.e_ident[EI_OSABI], elf.e_type);
    if (elf.e_ident[EI_ABIVERSION] < ABIVERSION_V4)
        return BUNDLE_FAIL(AOTHIP_E_TARGET, "code object: ABI version %u is older than 4's, %d",
                           elf.e_ident[EI_ABIVERSION], ABIVERSION_V4);
    if (!target_matches_elf_flags(&code->target, elf.e_flags))
        return BUNDLE_FAIL(AOTHIP_E_TARGET, "code object: e_flags 0x%x are not those of %s",
                           elf.e_flags, code->target.gpu);
    return check_elf_tables(code, &elf, name, why);
}

enum aothip_status bundle_find(const uint8_t *bytes, size_t size, const struct target *device,
                               const struct bundle_name *name, struct bundle_code *code,
                               struct status *why)
{
    size_t at = MAGIC_SIZE + 8;
    uint64_t count;
    memset(code, 0, sizeof(*code));
    if (size < at || memcmp(bytes, MAGIC, MAGIC_SIZE) != 0)
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "bundle: does not begin with %s", MAGIC);
    count = read_u64(bytes + MAGIC_SIZE);
    if (count < 1 || count > MAX_ENTRIES)
        return BUNDLE_FAIL(AOTHIP_E_FORMAT, "bundle: holds %llu items, not 1 to %d",
                           (unsigned long long)count, MAX_ENTRIES);
    for (int i = 0; i < (int)count; i++) {
        struct entry entry = {0};
        struct target target;
        const char *id;
        size_t length;
        if (read_entry(bytes, size, &at, i, name, &entry, why))
            return why->code;
        id = find_target(&entry, &length);
        if (!id)
            continue;
        if (target_parse(id, length, &target))
            return BUNDLE_FAIL(AOTHIP_E_FORMAT, "bundle: item %d has the malformed target \"%.*s\"",
                               i, (int)length, id);
        if (!target_fits(&target, device) ||
            (code->bytes && target_features(&target) <= target_features(&code->target)))
            continue;
        code->bytes = bytes + entry.offset;
        code->size = entry.size;
        code->target = target;
    }
    if (!code->bytes) {
        char text[TARGET_TEXT_MAX];
        return BUNDLE_FAIL(AOTHIP_E_TARGET, "no code object fits %s", target_print(device, text));
    }
    return check_elf(code, name, why);
}
