/* Reads SONAME and NEEDED of a shared library without loading it; every offset is checked. */
#include "elf_names.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In memory; or open, and then read piece by piece: mapped, it could be cut under our feet. */
struct file {
    const unsigned char *bytes;
    uint64_t size;
    int fd;
};

/* Copies `length` bytes at `offset`; -1 if the file does not hold them. */
static int get(const struct file *f, uint64_t offset, void *to, uint64_t length)
{
    if (offset > f->size || length > f->size - offset)
        return -1;
    if (!f->bytes)
        return pread(f->fd, to, length, (off_t)offset) == (ssize_t)length ? 0 : -1;
    memcpy(to, f->bytes + offset, length);
    return 0;
}

static int get_segment(const struct file *f, const Elf64_Ehdr *header, int index,
                       Elf64_Phdr *segment)
{
    return get(f, header->e_phoff + (uint64_t)index * sizeof(*segment), segment, sizeof(*segment));
}

/* The place in the file of what is loaded at `address`; -1 if nothing is. */
static int64_t find_address(const struct file *f, const Elf64_Ehdr *header, uint64_t address)
{
    Elf64_Phdr s;
    int i;
    for (i = 0; i < header->e_phnum; i++)
        if (!get_segment(f, header, i, &s) && s.p_type == PT_LOAD && address >= s.p_vaddr &&
            address - s.p_vaddr < s.p_filesz && s.p_offset < f->size)
            return (int64_t)(s.p_offset + (address - s.p_vaddr));
    return -1;
}

/* Copies a terminated string, cut to the room there is. */
static void get_string(const struct file *f, uint64_t offset, char to[ELF_NAME_MAX])
{
    const uint64_t left = offset < f->size ? f->size - offset : 0;
    const uint64_t length = left < ELF_NAME_MAX - 1 ? left : ELF_NAME_MAX - 1;
    to[get(f, offset, to, length) ? 0 : length] = '\0';
}

/* Walks the dynamic section twice: strings can be read only when their table is known. */
static int read_dynamic(const struct file *f, const Elf64_Ehdr *header, const Elf64_Phdr *dynamic,
                        struct elf_names *names)
{
    uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), i;
    int64_t strings = -1;
    Elf64_Dyn d;

    for (i = 0; i < count; i++) {
        if (get(f, dynamic->p_offset + i * sizeof(d), &d, sizeof(d)))
            return -1;
        if (d.d_tag == DT_STRTAB)
            strings = find_address(f, header, d.d_un.d_ptr);
    }
    if (strings < 0)
        return -1;
    for (i = 0; i < count; i++) {
        get(f, dynamic->p_offset + i * sizeof(d), &d, sizeof(d));
        if (d.d_un.d_val > f->size)
            continue;
        if (d.d_tag == DT_SONAME)
            get_string(f, (uint64_t)strings + d.d_un.d_val, names->soname);
        else if (d.d_tag == DT_NEEDED && names->needed < ELF_NAMES_MAX)
            get_string(f, (uint64_t)strings + d.d_un.d_val, names->need[names->needed++]);
    }
    return 0;
}

static int parse_names(const struct file *f, struct elf_names *names)
{
    Elf64_Ehdr header;
    Elf64_Phdr s;
    int i;

    memset(names, 0, sizeof(*names));
    if (get(f, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_phentsize != sizeof(s) || header.e_phoff > f->size)
        return -1;
    for (i = 0; i < header.e_phnum; i++) {
        if (get_segment(f, &header, i, &s))
            return -1;
        if (s.p_type == PT_DYNAMIC)
            return read_dynamic(f, &header, &s, names);
    }
    return -1;
}

int elf_parse_names(const void *bytes, size_t size, struct elf_names *names)
{
    return parse_names(&(struct file){bytes, size, -1}, names);
}

int elf_read_names(const char *path, struct elf_names *names)
{
    struct stat st;
    int result = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(names, 0, sizeof(*names));
    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode))
        result = parse_names(&(struct file){NULL, (uint64_t)st.st_size, fd}, names);
    close(fd);
    return result;
}
