/* Files and directories on POSIX systems. */
#include "file.h"

#include <dirent.h>
#include <dlfcn.h>
#include "old_glibc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_beside_code(const char *name)
{
    Dl_info info;
    const char *slash;
    if (!dladdr((void *)(uintptr_t)&file_beside_code, &info) || !info.dli_fname)
        return strdup(name);
    slash = strrchr(info.dli_fname, '/');
    if (!slash)
        return strdup(name);
    return file_join(info.dli_fname, (size_t)(slash - info.dli_fname), name);
}

char *file_absolute(char *path)
{
    char *here, *whole;
    if (!path || path[0] == '/')
        return path;
    here = realpath(".", NULL);
    if (!here)
        return path;
    whole = file_join(here, strlen(here), path);
    free(here);
    free(path);
    return whole;
}

enum aothip_status file_need_directory(const char *path, const char *subject, struct status *why)
{
    struct statx info; /* which glibc has had since 2.28, while stat() got a new version in 2.33 */
    const int failed = statx(AT_FDCWD, path, 0, STATX_TYPE, &info);
    if (failed || !S_ISDIR(info.stx_mode))
        return status_set(why, AOTHIP_E_NO_IMAGES, "%s: %s", subject,
                          strerror(failed ? errno : ENOTDIR));
    return AOTHIP_OK;
}

/* All `size` bytes of an open file. */
static enum aothip_status read_bytes(const char *path, int fd, size_t size, uint8_t **bytes,
                                     struct status *why)
{
    uint8_t *room = malloc(size);
    size_t have = 0;
    if (!room)
        return status_set(why, AOTHIP_E_MEMORY, "%s: no memory for its %zu bytes", path, size);
    while (have < size) {
        const ssize_t more = read(fd, room + have, size - have);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0) {
            status_set(why, AOTHIP_E_IO, "%s: cannot read beyond byte %zu of %zu: %s", path, have,
                       size, more ? strerror(errno) : "the file was cut meanwhile");
            free(room);
            return why->code;
        }
        have += (size_t)more;
    }
    *bytes = room;
    return AOTHIP_OK;
}

enum aothip_status file_read(const char *path, uint32_t most, uint8_t **bytes, size_t *size,
                             int *absent, struct status *why)
{
    struct statx info;
    /* O_NONBLOCK: a FIFO in the file's place must not hang the caller. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *absent = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (*absent)
        return AOTHIP_OK;
    if (fd < 0)
        return status_set(why, AOTHIP_E_IO, "%s: cannot open: %s", path, strerror(errno));
    if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &info)) {
        status_set(why, AOTHIP_E_IO, "%s: cannot stat: %s", path, strerror(errno));
    } else if (!S_ISREG(info.stx_mode)) {
        status_set(why, AOTHIP_E_IO, "%s: not a regular file", path);
    } else if (!file_check_size(path, info.stx_size, most, why)) {
        *size = (size_t)info.stx_size;
        read_bytes(path, fd, *size, bytes, why);
    }
    close(fd);
    return why->code;
}

enum aothip_status file_list(const char *directory,
                             void (*note)(void *context, const char *name, struct status *why),
                             void *context, struct status *why)
{
    DIR *dir = opendir(directory);
    struct dirent *item;
    if (!dir)
        return status_set(why, AOTHIP_E_IO, "%s: cannot list: %s", directory, strerror(errno));
    while (errno = 0, (item = readdir(dir)) && !why->code)
        note(context, item->d_name, why);
    if (!item && errno)
        status_set(why, AOTHIP_E_IO, "%s: cannot list: %s", directory, strerror(errno));
    closedir(dir);
    return why->code;
}
