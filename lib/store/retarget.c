/*
 * Renames the code objects in an offload bundle. What names a processor there: the ID in the
 * bundle's table, EF_AMDGPU_MACH in e_flags, by which ROCm's loader decides, and amdhsa.target in
 * the metadata.
 */
#include "retarget.h"

#include "bundle.h"
#include "target.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define TRIPLE "amdgcn-amd-amdhsa--"

/* Replaces `from` behind the one triple that names it; how many there were. */
static int rename_target(uint8_t *bytes, size_t size, const char *from, const char *to)
{
    const size_t triple = strlen(TRIPLE), length = strlen(from);
    int found = 0;
    for (size_t at = 0; at + triple + length <= size; at++)
        if (!memcmp(bytes + at, TRIPLE, triple) && !memcmp(bytes + at + triple, from, length)) {
            memcpy(bytes + at + triple, to, length);
            found++;
        }
    return found;
}

static const char *rename_notes(uint8_t *elf, size_t size, const Elf64_Ehdr *head, const char *from,
                                const char *to)
{
    int found = 0;
    for (int i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = head->e_phoff + (uint64_t)i * sizeof(segment);
        if (at > size || size - at < sizeof(segment))
            return "its program headers reach beyond the file";
        memcpy(&segment, elf + at, sizeof(segment));
        if (segment.p_type != PT_NOTE)
            continue;
        if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
            return "its notes reach beyond the file";
        found += rename_target(elf + segment.p_offset, segment.p_filesz, from, to);
    }
    return found == 1 ? NULL : "its metadata does not name the GPU once";
}

static const char *rename_object(uint8_t *elf, size_t size, const char *from, const char *to)
{
    Elf64_Ehdr head;
    if (size < sizeof(head))
        return "too short for an ELF file";
    memcpy(&head, elf, sizeof(head));
    head.e_flags = (head.e_flags & ~(uint32_t)TARGET_MACH_MASK) | target_mach(to);
    memcpy(elf, &head, sizeof(head));
    return rename_notes(elf, size, &head, from, to);
}

const char *retarget_bundle(void *bundle, size_t size, const char *from, const char *to)
{
    const struct bundle_name name = {"", ""};
    struct bundle_code code;
    struct target target;
    struct status why;
    status_clear(&why);
    if (strlen(from) != strlen(to) || !target_mach(from) || !target_mach(to) ||
        target_parse(from, strlen(from), &target))
        return "the name of the GPU or that of its sibling is none that lib/store/target.def knows";
    if (bundle_find(bundle, size, &target, &name, &code, &why))
        return "the bundle has no code object for this target";
    /* The code objects lie behind the table, which ends where the first of them begins. */
    const size_t table = (size_t)(code.bytes - (const uint8_t *)bundle);
    if (rename_target(bundle, table, from, to) != 1)
        return "the bundle's table does not name the GPU once";
    return rename_object((uint8_t *)bundle + table, code.size, from, to);
}
