/* Text, paths and errors of Windows in UTF-8. */
#include "wide_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* Of malloc(), which leaves Windows' own reason alone. */
static void *room_for(size_t bytes)
{
    void *room = malloc(bytes);
    if (!room)
        SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return room;
}

wchar_t *wide_from(const char *text)
{
    const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = length > 0 ? room_for((size_t)length * sizeof(wchar_t)) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
    return wide;
}

char *wide_to(const wchar_t *wide)
{
    const int length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = length > 0 ? room_for((size_t)length) : NULL;
    if (text)
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, length, NULL, NULL);
    return text;
}

/* PREFIX and the rest of a whole name. */
static wchar_t *with_prefix(const wchar_t *prefix, const wchar_t *rest)
{
    const size_t head = wcslen(prefix), tail = wcslen(rest) + 1;
    wchar_t *whole = room_for((head + tail) * sizeof(wchar_t));
    if (whole) {
        memcpy(whole, prefix, head * sizeof(wchar_t));
        memcpy(whole + head, rest, tail * sizeof(wchar_t));
    }
    return whole;
}

wchar_t *wide_path(const char *path)
{
    wchar_t *wide = wide_from(path), *whole = NULL, *named = NULL;
    const DWORD room = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    if (room)
        whole = room_for(room * sizeof(wchar_t));
    if (whole && GetFullPathNameW(wide, room, whole, NULL) < room) {
        /* only names that are whole, and with backslashes, may have the prefix */
        if (wcsncmp(whole, L"\\\\?\\", 4) == 0 || wcsncmp(whole, L"\\\\.\\", 4) == 0)
            named = with_prefix(L"", whole);
        else if (wcsncmp(whole, L"\\\\", 2) == 0)
            named = with_prefix(L"\\\\?\\UNC\\", whole + 2);
        else
            named = with_prefix(L"\\\\?\\", whole);
    }
    free(whole);
    free(wide);
    return named;
}

int wide_again(int *tries)
{
    enum { MOST = 20, PAUSE = 10 };
    const DWORD error = GetLastError();
    /* refused is also what is being deleted, and a folder or target in which a file is open */
    if ((error != ERROR_SHARING_VIOLATION && error != ERROR_ACCESS_DENIED) || ++*tries >= MOST)
        return 0;
    Sleep(PAUSE);
    SetLastError(error);
    return 1;
}

void wide_error(unsigned long error, char *text, size_t room)
{
    wchar_t wide[256];
    const DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                        NULL, error, 0, wide, sizeof(wide) / sizeof(wide[0]), NULL);
    char *told = length ? wide_to(wide) : NULL;
    if (told)
        told[strcspn(told, "\r\n")] = '\0';
    if (told && *told)
        snprintf(text, room, "%s (error %lu)", told, error);
    else
        snprintf(text, room, "error %lu", error);
    free(told);
}
