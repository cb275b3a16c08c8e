/*
 * A HIP runtime whose hipModuleLoadData damages the code object first, as DAMAGE says; all else is
 * that of the runtime which it is linked with. The library checks its images itself, so that damage
 * would not come as far as the runtime.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

int hipModuleLoadData(void **module, const void *image);

enum { MACHINE = 0xff, GFX942 = 0x4c, NOTE_HEADER = 20, ABI_OF_VERSION_4 = 2 };

/* The second half of it is zeros. */
static void cut(char *object, size_t size)
{
    memset(object + size / 2, 0, size - size / 2);
}

/* The note with the kernels' metadata is nonsense. */
static void notes(char *object, const Elf64_Phdr *p)
{
    if (p->p_type == PT_NOTE)
        memset(object + p->p_offset + NOTE_HEADER, 0xff, p->p_filesz - NOTE_HEADER);
}

/* One bit in 64 bytes of code is another. */
static void code(char *object, const Elf64_Phdr *p)
{
    unsigned random = 12345;
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
        return;
    for (size_t i = 0; i < p->p_filesz / 64; i++) {
        random = random * 1664525u + 1013904223u;
        object[p->p_offset + (random >> 4) % p->p_filesz] ^= (char)(1 << (random & 7));
    }
}

static void damage(const char *how, char *object, size_t size)
{
    Elf64_Ehdr *h = (Elf64_Ehdr *)object;
    Elf64_Phdr *p = (Elf64_Phdr *)(object + h->e_phoff);
    Elf64_Shdr *s = (Elf64_Shdr *)(object + h->e_shoff);
    if (strcmp(how, "version") == 0)
        h->e_ident[EI_ABIVERSION] = ABI_OF_VERSION_4;
    if (strcmp(how, "machine") == 0)
        h->e_flags = (h->e_flags & ~(unsigned)MACHINE) | GFX942;
    for (unsigned i = 0; i < h->e_shnum && strcmp(how, "symtab") == 0; i++)
        if (s[i].sh_type == SHT_SYMTAB)
            s[i].sh_type = SHT_NULL;
    for (unsigned i = 0; i < h->e_phnum && strcmp(how, "notes") == 0; i++)
        notes(object, &p[i]);
    for (unsigned i = 0; i < h->e_phnum && strcmp(how, "code") == 0; i++)
        code(object, &p[i]);
    if (strcmp(how, "cut") == 0)
        cut(object, size);
}

int hipModuleLoadData(void **module, const void *image)
{
    const Elf64_Ehdr *h = image;
    size_t size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
    const char *how = getenv("DAMAGE");
    char *copy = malloc(size); /* kept: the runtime may look again */
    int (*real)(void **, const void *);
    *(void **)&real = dlsym(RTLD_NEXT, "hipModuleLoadData");
    if (!how || !copy || !real)
        abort();
    memcpy(copy, image, size);
    damage(how, copy, size);
    return real(module, copy);
}
