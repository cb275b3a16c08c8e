/* A file with lines in the form of the clock's tables, whose values take the tables' places. */
#ifndef EMU_CLOCK_FILE_H
#define EMU_CLOCK_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * GPU("gfx942") says whose table is meant, then P(name, value, uncertainty, 'tag', "source") follow
 * in any order, as many as there are; comments are C's. All of the file is taken or nothing: if it
 * is false, *why says which line is wrong, and how.
 */
bool emu_clock_file_read(const char *path, char *why, size_t room);
/* The same of a text of n bytes, which `name` is said to hold. */
bool emu_clock_text_read(const char *text, size_t n, const char *name, char *why, size_t room);

#endif
