/*
 * Locks a directory of images on Windows: by a file in it that no other program may open, and that
 * goes away with its last handle, however the program ends.
 */
#include "tree_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "wide_windows.h"

int tree_lock(const char *directory, intptr_t *lock)
{
    static const char name[] = "/.aothip-lock";
    char *path = malloc(strlen(directory) + sizeof(name));
    wchar_t *wide = NULL;
    HANDLE file = INVALID_HANDLE_VALUE;
    DWORD error;
    if (path) {
        sprintf(path, "%s%s", directory, name);
        wide = wide_path(path);
    }
    if (wide)
        file =
            CreateFileW(wide, GENERIC_WRITE, 0, NULL, OPEN_ALWAYS, FILE_FLAG_DELETE_ON_CLOSE, NULL);
    error = path ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY;
    free(wide);
    free(path);
    if (file == INVALID_HANDLE_VALUE) {
        errno = error == ERROR_PATH_NOT_FOUND      ? ENOENT
                : error == ERROR_NOT_ENOUGH_MEMORY ? ENOMEM
                                                   : EACCES;
        return error == ERROR_SHARING_VIOLATION ? 1 : -1;
    }
    *lock = (intptr_t)file;
    return 0;
}

void tree_unlock(intptr_t lock)
{
    CloseHandle((HANDLE)lock); // NOLINT(performance-no-int-to-ptr): it was a handle
}
