/* What a capture asks of the file system: its only door to it. Failures leave their reason in
 * errno.
 */
#ifndef AOTHIP_CAPTURE_DISK_H
#define AOTHIP_CAPTURE_DISK_H

#include <stdio.h>

/* A new file to write bytes to, in the place of any that was there; NULL after a failure. */
FILE *disk_create(const char *path);

/* Each returns 0, or -1 after a failure. */
int disk_make_directory(const char *path);
int disk_remove_directory(const char *path);
int disk_rename(const char *from, const char *to);

/* Whether there is anything of this name; -1 after a failure. */
int disk_has(const char *path);

/* The number of this process. */
long disk_process(void);

#endif
