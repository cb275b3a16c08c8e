/*
 * Descriptors of /dev/kfd and of the render nodes. All are of the file that holds the GPUs' memory,
 * so that mapping them maps it; each open has a place in it of its own, which copies of the
 * descriptor share and which says what was opened.
 */
#include "kfd.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int kfd_open(int gpu, int flags)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", kfd_memory_file());
    int fd = openat(AT_FDCWD, path, O_RDWR | (flags & O_CLOEXEC));
    /* Where /proc is missing, a copy: then all are /dev/kfd and the first render node. */
    if (fd < 0)
        return fcntl(kfd_memory_file(), flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
    lseek(fd, gpu + 1, SEEK_SET);
    return fd;
}

int kfd_opened_gpu(int fd)
{
    struct stat a, b;
    if (fstat(fd, &a) != 0 || fstat(kfd_memory_file(), &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return -2;
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at > 0 && at <= (off_t)kfd_gpu_count() ? (int)at - 1 : -1;
}
