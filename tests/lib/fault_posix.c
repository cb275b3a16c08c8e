/* The file operations of POSIX systems that can be made to fail. */
#include "fault_wrap.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return fault_fails(FAULT_FILE, EMFILE) ? -1 : __real_open(path, flags);
}

REAL(int, statx, int directory, const char *path, int flags, unsigned mask, struct statx *info)
{
    return fault_fails(FAULT_FILE, EIO) ? -1 : __real_statx(directory, path, flags, mask, info);
}

REAL(ssize_t, read, int fd, void *bytes, size_t size)
{
    return fault_fails(FAULT_FILE, EIO) ? -1 : __real_read(fd, bytes, size);
}

REAL(DIR *, opendir, const char *path)
{
    return fault_fails(FAULT_FILE, EMFILE) ? NULL : __real_opendir(path);
}

REAL(struct dirent *, readdir, DIR *directory)
{
    return fault_fails(FAULT_FILE, EIO) ? NULL : __real_readdir(directory);
}

/* What captures of launches are written with. A file whose end cannot be written is closed. */
REAL(int, mkdir, const char *path, mode_t mode)
{
    return fault_fails(FAULT_FILE, ENOSPC) ? -1 : __real_mkdir(path, mode);
}

REAL(FILE *, fopen, const char *path, const char *mode)
{
    return fault_fails(FAULT_FILE, EMFILE) ? NULL : __real_fopen(path, mode);
}

REAL(int, fclose, FILE *file)
{
    const int closed = __real_fclose(file);
    return fault_fails(FAULT_FILE, ENOSPC) ? EOF : closed;
}

REAL(int, rename, const char *from, const char *to)
{
    return fault_fails(FAULT_FILE, EACCES) ? -1 : __real_rename(from, to);
}
