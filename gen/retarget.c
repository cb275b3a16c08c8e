/*
 * Renames the code objects in an offload bundle. What names a processor there: the ID in the
 * bundle's table, EF_AMDGPU_MACH in e_flags, by which ROCm's loader decides, and amdhsa.target in
 * the metadata.
 */
#include "retarget.h"

#include "object.h"
#include "target.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define TRIPLE "amdgcn-amd-amdhsa--"

/* Replaces `from` behind the one triple that names it; how many there were. */
static int rename_target(uint8_t *bytes, size_t size, const char *from, const char *to)
{
    const size_t triple = strlen(TRIPLE), length = strlen(from);
    uint8_t *at = bytes, *end = bytes + size;
    int found = 0;
    while ((at = memmem(at, (size_t)(end - at), TRIPLE, triple))) {
        at += triple;
        if ((size_t)(end - at) >= length && !memcmp(at, from, length)) {
            memcpy(at, to, length);
            found++;
        }
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
    struct object_info info;
    const char *wrong;
    if (size < sizeof(head))
        return "too short for an ELF file";
    memcpy(&head, elf, sizeof(head));
    if ((head.e_flags & TARGET_MACH_MASK) != target_mach(from))
        return "its e_flags are not those of the GPU";
    head.e_flags = (head.e_flags & ~TARGET_MACH_MASK) | target_mach(to);
    memcpy(elf, &head, sizeof(head));
    wrong = rename_notes(elf, size, &head, from, to);
    if (!wrong)
        wrong = object_read(elf, size, &info);
    return wrong ? wrong : strcmp(info.target, to) ? "its metadata names another GPU" : NULL;
}

const char *retarget_bundle(void *bundle, size_t size, const char *from, const char *to)
{
    const void *elf;
    size_t elf_size, table;
    const char *wrong = object_find(bundle, size, from, &elf, &elf_size);
    if (wrong)
        return wrong;
    if (strlen(from) != strlen(to) || !target_mach(from) || !target_mach(to))
        return "the name of the GPU or that of its sibling is none that lib/store/target.def knows";
    /* The code objects lie behind the table, which ends where the first of them begins. */
    table = (size_t)((const uint8_t *)elf - (const uint8_t *)bundle);
    if (rename_target(bundle, table, from, to) != 1)
        return "the bundle's table does not name the GPU once";
    return rename_object((uint8_t *)bundle + table, elf_size, from, to);
}
