/* The names in a shared library's dynamic section: its own and those that it needs. */
#ifndef AOTHIP_ELF_NAMES_H
#define AOTHIP_ELF_NAMES_H

#include <stddef.h>

enum { ELF_NAMES_MAX = 64, ELF_NAME_MAX = 128 };

struct elf_names {
    char soname[ELF_NAME_MAX]; /* "" if it has none */
    int needed;
    char need[ELF_NAMES_MAX][ELF_NAME_MAX]; /* further ones are left out */
};

/* Reads a 64-bit little-endian library. Returns 0, or -1 if the file cannot be read or is none. */
int elf_read_names(const char *path, struct elf_names *names);

/* The same of a library's bytes. */
int elf_parse_names(const void *bytes, size_t size, struct elf_names *names);

#endif
