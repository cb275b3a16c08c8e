/*
 * A file that is written beside the old one and takes its place when it is whole: whoever fails, or
 * is interrupted, leaves the old one as it was. What is no plain file, such as a pipe, is written
 * directly. All functions return 0, or -1 with errno.
 */
#ifndef AOTHIP_NEW_FILE_H
#define AOTHIP_NEW_FILE_H

#include <stdio.h>

struct new_file {
    FILE *f;                  /* to write to; NULL once it was completed */
    char *target, *temporary; /* temporary: NULL if it is written directly */
};

int new_file_open(struct new_file *n, const char *path);
/* Closes the stream: all of it is on the disk. After a failure, also of a write before, the file is
 * dropped. */
int new_file_complete(struct new_file *n);
/* Completes it if that was not done, and lets it take its place. Ends what new_file_open made. */
int new_file_keep(struct new_file *n);
/* Removes it; ends what new_file_open made. Also of what was not opened, or ended. */
void new_file_drop(struct new_file *n);

#endif
