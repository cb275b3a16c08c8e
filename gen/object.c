/*
 * Reads AMDGPU code objects: offload bundle to ELF, ELF to metadata note, note to numbers.
 */
#include "object.h"

#include "msgpack.h"
#include "write_bundle.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#ifndef NT_AMDGPU_METADATA
#define NT_AMDGPU_METADATA 32
#endif
#define MACHINE_AMDGPU 224
#define TARGET_TRIPLE "amdgcn-amd-amdhsa--"

/* What stands under a kernel's key, by name. */
static const struct {
    const char *key;
    size_t field;
} number_keys[] = {
    {".kernarg_segment_size", offsetof(struct object_info, kernarg_size)},
    {".group_segment_fixed_size", offsetof(struct object_info, lds_size)},
    {".private_segment_fixed_size", offsetof(struct object_info, scratch_size)},
    {".vgpr_count", offsetof(struct object_info, vgprs)},
    {".agpr_count", offsetof(struct object_info, agprs)},
    {".sgpr_count", offsetof(struct object_info, sgprs)},
    {".vgpr_spill_count", offsetof(struct object_info, vgpr_spills)},
    {".sgpr_spill_count", offsetof(struct object_info, sgpr_spills)},
    {".wavefront_size", offsetof(struct object_info, wave_size)},
    {".max_flat_workgroup_size", offsetof(struct object_info, max_threads)},
};
#define NUMBER_KEYS (sizeof(number_keys) / sizeof(number_keys[0]))

static bool copy_text(char *to, size_t size, const struct msgpack_value *v)
{
    if (v->kind != MSGPACK_STRING || v->number >= size)
        return false;
    memcpy(to, v->text, (size_t)v->number);
    to[v->number] = '\0';
    return true;
}

/* One key of a kernel's map; unknown keys are passed over. */
static bool read_kernel_key(struct msgpack *m, const struct msgpack_value *key,
                            struct object_info *info, uint32_t *seen)
{
    struct msgpack_value v;
    if (msgpack_is(key, ".name"))
        return msgpack_next(m, &v) && copy_text(info->name, sizeof(info->name), &v);
    if (msgpack_is(key, ".symbol"))
        return msgpack_next(m, &v) && copy_text(info->descriptor, sizeof(info->descriptor), &v);
    if (msgpack_is(key, ".uses_dynamic_stack")) {
        if (!msgpack_next(m, &v) || v.kind != MSGPACK_BOOL)
            return false;
        info->dynamic_stack = v.number;
        return true;
    }
    for (size_t i = 0; i < NUMBER_KEYS; i++) {
        if (!msgpack_is(key, number_keys[i].key))
            continue;
        if (!msgpack_next(m, &v) || v.kind != MSGPACK_NUMBER || v.number > UINT32_MAX)
            return false;
        uint32_t number = (uint32_t)v.number;
        memcpy((char *)info + number_keys[i].field, &number, sizeof(number));
        *seen |= 1u << i;
        return true;
    }
    return msgpack_skip(m);
}

static const char *read_kernels(struct msgpack *m, struct object_info *info)
{
    struct msgpack_value kernels, map, key;
    if (!msgpack_next(m, &kernels) || kernels.kind != MSGPACK_ARRAY || kernels.number > 1000)
        return "the metadata note has no list of kernels";
    info->kernels = (int)kernels.number;
    for (int i = 0; i < info->kernels; i++) {
        uint32_t seen = 0;
        if (!msgpack_next(m, &map) || map.kind != MSGPACK_MAP)
            return "the metadata note is damaged";
        for (uint64_t n = 0; n < map.number; n++)
            if (!msgpack_next(m, &key) || !read_kernel_key(m, &key, info, &seen))
                return "the metadata note is damaged";
        /* .agpr_count exists only where there are any. */
        for (size_t k = 0; k < NUMBER_KEYS; k++)
            if (!(seen & 1u << k) && strcmp(number_keys[k].key, ".agpr_count"))
                return "the metadata note lacks a key of the kernel";
    }
    return NULL;
}

static const char *read_metadata(const uint8_t *note, size_t size, struct object_info *info)
{
    struct msgpack m = {note, note + size};
    struct msgpack_value map, key, v;
    bool target = false, kernels = false;
    if (!msgpack_next(&m, &map) || map.kind != MSGPACK_MAP)
        return "the metadata note is damaged";
    for (uint64_t n = 0; n < map.number; n++) {
        if (!msgpack_next(&m, &key))
            return "the metadata note is damaged";
        if (msgpack_is(&key, "amdhsa.kernels")) {
            const char *wrong = read_kernels(&m, info);
            if (wrong)
                return wrong;
            kernels = true;
        } else if (msgpack_is(&key, "amdhsa.target")) {
            size_t prefix = strlen(TARGET_TRIPLE);
            char text[96];
            if (!msgpack_next(&m, &v) || !copy_text(text, sizeof(text), &v) ||
                strncmp(text, TARGET_TRIPLE, prefix) ||
                strlen(text) - prefix >= sizeof(info->target))
                return "the metadata note names no amdgcn target";
            strcpy(info->target, text + prefix);
            target = true;
        } else if (!msgpack_skip(&m)) {
            return "the metadata note is damaged";
        }
    }
    return !target    ? "the metadata note names no target"
           : !kernels ? "the metadata note has no list of kernels"
                      : NULL;
}

static bool inside(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

/* Looks through one PT_NOTE segment; *found tells whether the metadata was there. */
static const char *read_notes(const uint8_t *at, size_t size, struct object_info *info, bool *found)
{
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, at, sizeof(note));
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~3ull;
        uint64_t text = ((uint64_t)note.n_descsz + 3) & ~3ull;
        uint64_t begin = sizeof(note) + name;
        if (!inside(begin, note.n_descsz, size))
            return "a note reaches beyond its segment";
        if (note.n_type == NT_AMDGPU_METADATA && note.n_namesz == 7 &&
            !memcmp(at + sizeof(note), "AMDGPU", 7)) {
            *found = true;
            return read_metadata(at + begin, note.n_descsz, info);
        }
        if (begin + text >= size)
            break;
        at += begin + text;
        size -= begin + text;
    }
    return NULL;
}

const char *object_read(const void *elf, size_t size, struct object_info *info)
{
    const uint8_t *bytes = elf;
    Elf64_Ehdr head;
    bool found = false;
    memset(info, 0, sizeof(*info));
    if (size < sizeof(head))
        return "too short for an ELF file";
    memcpy(&head, bytes, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_machine != MACHINE_AMDGPU || head.e_type != ET_DYN)
        return "not a linked AMDGPU code object";
    if (head.e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(head.e_phoff, (uint64_t)head.e_phnum * sizeof(Elf64_Phdr), size))
        return "its program headers reach beyond the file";
    for (int i = 0; i < head.e_phnum && !found; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, bytes + head.e_phoff + (size_t)i * sizeof(segment), sizeof(segment));
        if (segment.p_type != PT_NOTE)
            continue;
        if (!inside(segment.p_offset, segment.p_filesz, size))
            return "its notes reach beyond the file";
        const char *wrong =
            read_notes(bytes + segment.p_offset, (size_t)segment.p_filesz, info, &found);
        if (wrong)
            return wrong;
    }
    return found ? NULL : "it has no AMDGPU metadata note";
}

/* Copies section header i; false if it or the bytes it speaks of lie outside the file. */
static bool section_at(const uint8_t *bytes, size_t size, const Elf64_Ehdr *head, uint64_t i,
                       Elf64_Shdr *section)
{
    if (i >= head->e_shnum || head->e_shentsize != sizeof(*section) ||
        !inside(head->e_shoff, (uint64_t)head->e_shnum * sizeof(*section), size))
        return false;
    memcpy(section, bytes + head->e_shoff + i * sizeof(*section), sizeof(*section));
    return section->sh_type == SHT_NOBITS || inside(section->sh_offset, section->sh_size, size);
}

bool object_has_symbol(const void *elf, size_t size, const char *name, int type)
{
    const uint8_t *bytes = elf;
    size_t length = strlen(name) + 1;
    Elf64_Ehdr head;
    Elf64_Shdr table, strings;
    Elf64_Sym symbol;
    if (size < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    for (uint64_t i = 0; i < head.e_shnum; i++) {
        if (!section_at(bytes, size, &head, i, &table) || table.sh_type != SHT_SYMTAB ||
            !section_at(bytes, size, &head, table.sh_link, &strings) ||
            strings.sh_type != SHT_STRTAB)
            continue;
        for (uint64_t at = 0; table.sh_size - at >= sizeof(symbol); at += sizeof(symbol)) {
            memcpy(&symbol, bytes + table.sh_offset + at, sizeof(symbol));
            if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == type &&
                ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL &&
                inside(symbol.st_name, length, strings.sh_size) &&
                !memcmp(bytes + strings.sh_offset + symbol.st_name, name, length))
                return true;
        }
    }
    return false;
}

static bool take_u64(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    if (end - *at < 8)
        return false;
    memcpy(number, *at, 8);
    *at += 8;
    return true;
}

const char *object_find(const void *bundle, size_t size, const char *target, const void **elf,
                        size_t *elf_size)
{
    const uint8_t *at = bundle, *end = at + size;
    uint64_t count, offset, length, id_length;
    char wanted[128];
    snprintf(wanted, sizeof(wanted), BUNDLE_KIND "%s", target);
    if (size < strlen(BUNDLE_MAGIC) || memcmp(at, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC)))
        return "not a clang offload bundle";
    at += strlen(BUNDLE_MAGIC);
    if (!take_u64(&at, end, &count))
        return "the bundle ends in its header";
    for (uint64_t i = 0; i < count; i++) {
        if (!take_u64(&at, end, &offset) || !take_u64(&at, end, &length) ||
            !take_u64(&at, end, &id_length) || id_length > (uint64_t)(end - at))
            return "the bundle ends in its header";
        bool here = id_length == strlen(wanted) && !memcmp(at, wanted, (size_t)id_length);
        at += id_length;
        if (!here)
            continue;
        if (!inside(offset, length, size))
            return "an entry of the bundle reaches beyond its end";
        *elf = (const uint8_t *)bundle + offset;
        *elf_size = (size_t)length;
        return NULL;
    }
    return "the bundle has no code object for this target";
}
