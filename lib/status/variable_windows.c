/*
 * The environment on Windows: the process's own, which all C libraries in it change too; beside it
 * each of them keeps a copy for its own functions.
 */
#include "variable.h"

#include <windows.h>

enum { MOST = 32767 }; /* of a variable, in characters, by Windows' own bound */

const char *variable_get(const char *name)
{
    static _Thread_local char value[3 * MOST + 1];
    wchar_t wide[64], found[MOST + 1]; /* on the stack, since no memory must not mean: not set */
    DWORD length;
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, 64))
        return NULL;
    SetLastError(ERROR_SUCCESS);
    length = GetEnvironmentVariableW(wide, found, MOST + 1);
    if (!length && GetLastError() != ERROR_SUCCESS)
        return NULL;
    return WideCharToMultiByte(CP_UTF8, 0, found, -1, value, sizeof(value), NULL, NULL) ? value
                                                                                        : NULL;
}
