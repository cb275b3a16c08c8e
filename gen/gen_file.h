/*
 * Whole files, read and written in one piece. A file under its final name is always complete.
 */
#ifndef AOTHIP_GEN_FILE_H
#define AOTHIP_GEN_FILE_H

#include <stddef.h>

/*
 * The file's bytes, followed by a NUL that does not count; the caller frees them. NULL after
 * printing why to stderr.
 */
void *gen_file_read(const char *file, size_t *size);

/*
 * Writes under a temporary name in the same directory and renames. Returns 0, or -1 after printing
 * why to stderr; the file is then as it was. Into a pipe or a device the bytes go directly.
 */
int gen_file_write(const char *file, const void *bytes, size_t size);

/* The same, but leaves a file alone that holds these bytes already, so that its time stays. */
int gen_file_update(const char *file, const void *bytes, size_t size);

#endif
