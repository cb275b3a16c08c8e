/*
 * What a code object says of its kernel in its AMDGPU metadata note, and how to find code objects
 * in a clang offload bundle.
 */
#ifndef AOTHIP_OBJECT_H
#define AOTHIP_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_info {
    char target[64];      /* "gfx90a:xnack+" */
    char name[128];       /* the kernel's symbol */
    char descriptor[132]; /* its descriptor's */
    int kernels;          /* in the code object; the rest describes the last one */
    uint32_t kernarg_size, lds_size;
    uint32_t scratch_size; /* bytes a lane */
    uint32_t vgprs;        /* a lane's vector registers; on gfx90a and later with the agprs */
    uint32_t agprs, sgprs;
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t wave_size, max_threads;
    bool dynamic_stack;
};

/*
 * Reads the metadata of an ELF code object. Returns NULL, or what is wrong with it; static text.
 */
const char *object_read(const void *elf, size_t size, struct object_info *info);

/*
 * Does the symbol table (SHT_SYMTAB) of an ELF code object define a global symbol of this name and
 * type, STT_FUNC or STT_OBJECT? ROCm looks for kernels there and not in the dynamic table: ROCr,
 * GElfImage::getSymbolTable() in amd_elf_image.cpp and AmdHsaCode::PullElfV2() in amd_hsa_code.cpp,
 * from ROCm 5.6 to 7.2.
 */
bool object_has_symbol(const void *elf, size_t size, const char *name, int type);

/*
 * Finds the code object for a target ID in an offload bundle and sets *elf and *elf_size, which
 * point into the bundle. Returns NULL, or what is wrong; static text.
 */
const char *object_find(const void *bundle, size_t size, const char *target, const void **elf,
                        size_t *elf_size);

#endif
