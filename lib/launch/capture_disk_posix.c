/* Where captures are written, on POSIX systems. */
#include "capture_disk.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *disk_create(const char *path)
{
    return fopen(path, "wb");
}

int disk_make_directory(const char *path)
{
    return mkdir(path, 0777);
}

int disk_remove_directory(const char *path)
{
    return rmdir(path);
}

int disk_rename(const char *from, const char *to)
{
    return rename(from, to);
}

int disk_has(const char *path)
{
    return !access(path, F_OK) ? 1 : errno == ENOENT ? 0 : -1;
}

long disk_process(void)
{
    return (long)getpid();
}
