/*
 * GPUs of one family as HIP shows them: they take the code of one of them once its name is theirs,
 * and hold as many workgroups of it as they have registers for.
 */
#include "test_hip_calls.h"

#include <elf.h>
#include <stdint.h>

/* The number of a processor in e_flags, from LLVM's AMDGPU usage guide; registers from its tables.
 */
static const struct sibling {
    const char *gpu;
    unsigned mach, registers;
} siblings[] = {
    {"gfx1100", 0x041, 1536}, {"gfx1101", 0x046, 1536}, {"gfx1102", 0x047, 1024},
    {"gfx1103", 0x044, 1024}, {"gfx1151", 0x04a, 1536}, {"gfx1150", 0x043, 1024},
    {"gfx1152", 0x055, 1024}, {"gfx1153", 0x058, 1024},
};

enum { FAMILY = 4, NEEDED = 248, THREADS = 64, WAVES = THREADS / 32, SIMDS = 4 };

static char object[1 << 20];

static void read_object(const char *target)
{
    char path[512];
    snprintf(path, sizeof path, "%s/emu_kernels.%s.co", objects, target);
    FILE *f = fopen(path, "rb");
    if (!f || fread(object, 1, sizeof object, f) < sizeof(Elf64_Ehdr))
        abort();
    fclose(f);
}

/* The descriptor of a kernel; the segment with it lies in memory as in the file. */
static uint8_t *descriptor(const char *name)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(object + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++)
        for (uint64_t at = 0; s[i].sh_type == SHT_SYMTAB && at < s[i].sh_size;
             at += sizeof(Elf64_Sym)) {
            const Elf64_Sym *symbol = (const Elf64_Sym *)(object + s[i].sh_offset + at);
            if (!strcmp(object + s[s[i].sh_link].sh_offset + symbol->st_name, name)) {
                const Elf64_Shdr *in = &s[symbol->st_shndx];
                return (uint8_t *)object + in->sh_offset + (symbol->st_value - in->sh_addr);
            }
        }
    abort();
}

/* All devices of a family, with the code object of the first one. */
static void family(const char *gpus)
{
    const struct sibling *first = siblings;
    while (strncmp(gpus, first->gpu, strlen(first->gpu)))
        first++;
    read_object(first->gpu);
    uint8_t *rsrc1 = descriptor("add.kd") + 48;
    *rsrc1 = (uint8_t)((*rsrc1 & ~63) | (NEEDED / 8 - 1));
    for (int i = 0; i < FAMILY; i++) {
        const unsigned granule = first[i].registers / 64;
        const unsigned given = (NEEDED + granule - 1) / granule * granule;
        Elf64_Ehdr *h = (Elf64_Ehdr *)object;
        hipDeviceProp_t properties;
        hipModule_t m = NULL, other;
        hipFunction_t f = NULL;
        int groups = 0;
        is_hip(hipSetDevice(i), hipSuccess, first[i].gpu);
        is_hip(hipGetDeviceProperties(&properties, i), hipSuccess, "properties");
        is_str(properties.gcnArchName, first[i].gpu, "its name");
        if (i)
            is_hip(hipModuleLoadData(&other, object), hipErrorNoBinaryForGpu,
                   "code under the name of another is not taken");
        h->e_flags = (h->e_flags & ~0xffu) | first[i].mach;
        is_hip(hipModuleLoadData(&m, object), hipSuccess, "under its own it is");
        is_hip(hipModuleGetFunction(&f, m, "add"), hipSuccess, "a kernel");
        is_hip(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&groups, f, THREADS, 0),
               hipSuccess, "occupancy");
        is_int(groups, first[i].registers / given * SIMDS / WAVES, "by its register file");
        is_hip(hipModuleUnload(m), hipSuccess, "unload");
    }
}

int main(int argc, char **argv)
{
    find_objects(argc, argv);
    in_child("gfx1100,gfx1101,gfx1102,gfx1103", "plain", family);
    in_child("gfx1151,gfx1150,gfx1152,gfx1153", "strict", family);
    return tap_done();
}
