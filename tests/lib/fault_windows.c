/*
 * The file operations of Windows that can be made to fail: calls of a DLL go by way of __imp_NAME,
 * which holds its address and is what --wrap replaces.
 */
#include "fault_wrap.h"

#include <errno.h>
#include <stdio.h>
#include <windows.h>

#define IMPORTED(result, failure, error, name, parameters, ...)                                    \
    extern result(*__real___imp_##name) parameters;                                                \
    static result failing_##name parameters                                                        \
    {                                                                                              \
        if (!fault_fails(FAULT_FILE, EIO))                                                         \
            return __real___imp_##name(__VA_ARGS__);                                               \
        SetLastError(error);                                                                       \
        return failure;                                                                            \
    }                                                                                              \
    extern result(*__wrap___imp_##name) parameters;                                                \
    result(*__wrap___imp_##name) parameters = failing_##name

IMPORTED(HANDLE, INVALID_HANDLE_VALUE, ERROR_TOO_MANY_OPEN_FILES, CreateFileW,
         (const wchar_t *path, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD how,
          DWORD flags, HANDLE like),
         path, access, share, security, how, flags, like);
IMPORTED(DWORD, INVALID_FILE_ATTRIBUTES, ERROR_GEN_FAILURE, GetFileAttributesW,
         (const wchar_t *path), path);
IMPORTED(BOOL, FALSE, ERROR_GEN_FAILURE, GetFileSizeEx, (HANDLE file, LARGE_INTEGER *size), file,
         size);
IMPORTED(BOOL, FALSE, ERROR_READ_FAULT, ReadFile,
         (HANDLE file, void *bytes, DWORD size, DWORD *had, OVERLAPPED *when), file, bytes, size,
         had, when);
IMPORTED(HANDLE, INVALID_HANDLE_VALUE, ERROR_TOO_MANY_OPEN_FILES, FindFirstFileW,
         (const wchar_t *pattern, WIN32_FIND_DATAW *found), pattern, found);
IMPORTED(BOOL, FALSE, ERROR_GEN_FAILURE, FindNextFileW, (HANDLE list, WIN32_FIND_DATAW *found),
         list, found);

/* What captures of launches are written with. A file whose end cannot be written is closed. */
IMPORTED(int, -1, ERROR_DISK_FULL, _wmkdir, (const wchar_t *path), path);
IMPORTED(FILE *, NULL, ERROR_TOO_MANY_OPEN_FILES, _wfopen,
         (const wchar_t *path, const wchar_t *mode), path, mode);
IMPORTED(int, -1, ERROR_WRITE_PROTECT, _wrename, (const wchar_t *from, const wchar_t *to), from,
         to);

REAL(int, fclose, FILE *file)
{
    const int closed = __real_fclose(file);
    return fault_fails(FAULT_FILE, ENOSPC) ? EOF : closed;
}
