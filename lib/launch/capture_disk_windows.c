/* Where captures are written, on Windows. */
#include "capture_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "wide_windows.h"

/* A path of Windows' own; NULL, and the reason in errno, if there is none. */
static wchar_t *name_of(const char *path)
{
    wchar_t *wide = wide_path(path);
    if (!wide)
        errno = GetLastError() == ERROR_NOT_ENOUGH_MEMORY ? ENOMEM : EINVAL;
    return wide;
}

FILE *disk_create(const char *path)
{
    wchar_t *wide = name_of(path);
    FILE *file = wide ? _wfopen(wide, L"wb") : NULL;
    free(wide);
    return file;
}

int disk_make_directory(const char *path)
{
    wchar_t *wide = name_of(path);
    const int failed = wide ? _wmkdir(wide) : -1;
    free(wide);
    return failed;
}

int disk_remove_directory(const char *path)
{
    wchar_t *wide = name_of(path);
    const int failed = wide ? _wrmdir(wide) : -1;
    free(wide);
    return failed;
}

int disk_rename(const char *from, const char *to)
{
    wchar_t *wide_old = name_of(from), *wide_new = name_of(to);
    int failed = -1, tries = 0;
    if (wide_old && wide_new)
        while ((failed = _wrename(wide_old, wide_new)) && wide_again(&tries))
            ;
    free(wide_new);
    free(wide_old);
    return failed;
}

int disk_has(const char *path)
{
    wchar_t *wide = name_of(path);
    int found = wide ? 1 : -1;
    if (wide && GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES) {
        found = GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : -1;
        errno = EIO;
    }
    free(wide);
    return found;
}

long disk_process(void)
{
    return (long)GetCurrentProcessId();
}
