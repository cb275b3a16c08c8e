/* Text between this library's UTF-8 and Windows' UTF-16. */
#ifndef AOTHIP_WIDE_WINDOWS_H
#define AOTHIP_WIDE_WINDOWS_H

#include <stddef.h>
#include <wchar.h>

/*
 * Copies for the caller to free; NULL, and the reason in GetLastError(), where there is no memory,
 * or no such text.
 */
wchar_t *wide_from(const char *text);
char *wide_to(const wchar_t *wide);

/* The whole name of a file, by which Windows opens paths of more than 260 characters too. */
wchar_t *wide_path(const char *path);

/*
 * For loops around what opens or renames a file: whether that failed because somebody else holds
 * it, as virus scanners do for a moment, and is worth trying again. Waits, and counts in `tries`;
 * 200 ms in all. Leaves Windows' reason alone.
 */
int wide_again(int *tries);

/* What Windows says of an error of its own, without the line's end. */
void wide_error(unsigned long error, char *text, size_t room);

#endif
