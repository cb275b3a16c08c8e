/* Files and directories: the store's only door to them. Paths are UTF-8 where the system has wide
 * names, and bytes where it has not. */
#ifndef AOTHIP_FILE_H
#define AOTHIP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* HEAD/TAIL, of the first `head_length` bytes of head; NULL where there is no memory. */
char *file_join(const char *head, size_t head_length, const char *tail);

/* Records AOTHIP_E_FORMAT for an empty file, or one of more than `most` bytes. */
enum aothip_status file_check_size(const char *path, uint64_t size, uint32_t most,
                                   struct status *why);

/*
 * NAME beside the object that holds this code, by the name under which the loader opened it, and
 * NAME alone where that has no directory; NULL where there is no memory.
 */
char *file_beside_code(const char *name);

/*
 * The same file by a path that no change of the working directory touches; `path` itself, which may
 * be NULL, if it is one, or if the system knows none. Else frees `path`; NULL where there is no
 * memory.
 */
char *file_absolute(char *path);

/* Records AOTHIP_E_NO_IMAGES with "SUBJECT: reason" unless `path` is a directory. */
enum aothip_status file_need_directory(const char *path, const char *subject, struct status *why);

/*
 * All bytes of a regular file, which the caller frees. `*absent` says that there is no such file;
 * that alone is no failure. Errors: IO; FORMAT for an empty file or more than `most` bytes; MEMORY.
 */
enum aothip_status file_read(const char *path, uint32_t most, uint8_t **bytes, size_t *size,
                             int *absent, struct status *why);

/*
 * Calls `note` with the name of each item of a directory, in any order, until it records a failure.
 * Errors: IO, and what `note` records.
 */
enum aothip_status file_list(const char *directory,
                             void (*note)(void *context, const char *name, struct status *why),
                             void *context, struct status *why);

#endif
