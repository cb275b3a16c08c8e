/* The wrapped functions behind fault.h. */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

static enum fault_kind armed;
static int fail_at, count;
static _Atomic int blocks, allocations;

void fault_arm(enum fault_kind kind, int n)
{
    armed = kind;
    fail_at = n;
    count = 0;
}

int fault_disarm(void)
{
    armed = FAULT_NONE;
    return count;
}

int fault_blocks(void)
{
    return blocks;
}

int fault_allocations(void)
{
    return allocations;
}

static int fails(enum fault_kind kind, int error)
{
    if (armed != kind || ++count != fail_at)
        return 0;
    errno = error;
    return 1;
}

#define REAL(result, name, ...)                                                                    \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

static void *counted(void *memory)
{
    blocks += memory != NULL;
    return memory;
}

REAL(void *, malloc, size_t size)
{
    allocations++;
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_malloc(size));
}

REAL(void *, calloc, size_t number, size_t size)
{
    allocations++;
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_calloc(number, size));
}

REAL(void *, realloc, void *memory, size_t size)
{
    void *moved;
    allocations++;
    if (fails(FAULT_MEMORY, ENOMEM))
        return NULL;
    moved = __real_realloc(memory, size);
    blocks += moved && !memory;
    return moved;
}

REAL(char *, strdup, const char *text)
{
    allocations++;
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_strdup(text));
}

REAL(void, free, void *memory)
{
    blocks -= memory != NULL;
    __real_free(memory);
}

REAL(ZSTD_DCtx *, ZSTD_createDCtx, void)
{
    return fails(FAULT_MEMORY, ENOMEM) ? NULL : counted(__real_ZSTD_createDCtx());
}

REAL(size_t, ZSTD_freeDCtx, ZSTD_DCtx *inflater)
{
    blocks -= inflater != NULL;
    return __real_ZSTD_freeDCtx(inflater);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return fails(FAULT_FILE, EMFILE) ? -1 : __real_open(path, flags);
}

REAL(int, statx, int directory, const char *path, int flags, unsigned mask, struct statx *info)
{
    return fails(FAULT_FILE, EIO) ? -1 : __real_statx(directory, path, flags, mask, info);
}

REAL(ssize_t, read, int fd, void *bytes, size_t size)
{
    return fails(FAULT_FILE, EIO) ? -1 : __real_read(fd, bytes, size);
}

REAL(DIR *, opendir, const char *path)
{
    return fails(FAULT_FILE, EMFILE) ? NULL : __real_opendir(path);
}

REAL(struct dirent *, readdir, DIR *directory)
{
    return fails(FAULT_FILE, EIO) ? NULL : __real_readdir(directory);
}

/* What captures of launches are written with. A file whose end cannot be written is closed. */
REAL(int, mkdir, const char *path, mode_t mode)
{
    return fails(FAULT_FILE, ENOSPC) ? -1 : __real_mkdir(path, mode);
}

REAL(FILE *, fopen, const char *path, const char *mode)
{
    return fails(FAULT_FILE, EMFILE) ? NULL : __real_fopen(path, mode);
}

REAL(int, fclose, FILE *file)
{
    const int closed = __real_fclose(file);
    return fails(FAULT_FILE, ENOSPC) ? EOF : closed;
}

REAL(int, rename, const char *from, const char *to)
{
    return fails(FAULT_FILE, EACCES) ? -1 : __real_rename(from, to);
}
