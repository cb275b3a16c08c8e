/* Locks a directory of images on POSIX systems. */
#include "tree_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int tree_lock(const char *directory, intptr_t *lock)
{
    const int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return -1;
    if (flock(file, LOCK_EX | LOCK_NB)) {
        close(file);
        return 1;
    }
    *lock = file;
    return 0;
}

void tree_unlock(intptr_t lock)
{
    close((int)lock);
}
