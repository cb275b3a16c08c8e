/*
 * The environment on Windows: the process's own, which all C libraries in it change too; beside it
 * each of them keeps a copy for its own functions.
 */
#include "variable.h"

#include <stdlib.h>
#include <windows.h>

#include "wide_windows.h"

enum { MOST = 32767 }; /* of a variable, in characters, by Windows' own bound */

const char *variable_get(const char *name)
{
    static _Thread_local char value[3 * MOST + 1];
    wchar_t *wide = wide_from(name), *found = malloc((MOST + 1) * sizeof(wchar_t));
    const char *result = NULL;
    if (wide && found) {
        SetLastError(ERROR_SUCCESS);
        if (GetEnvironmentVariableW(wide, found, MOST + 1) || GetLastError() == ERROR_SUCCESS)
            if (WideCharToMultiByte(CP_UTF8, 0, found, -1, value, sizeof(value), NULL, NULL))
                result = value;
    }
    free(found);
    free(wide);
    return result;
}
