/* Puts names of files together: the same on every system. */
#include <stdlib.h>
#include <string.h>

#include "file.h"

char *file_join(const char *head, size_t head_length, const char *tail)
{
    size_t tail_length = strlen(tail);
    char *path = malloc(head_length + 1 + tail_length + 1);
    if (!path)
        return NULL;
    memcpy(path, head, head_length);
    path[head_length] = '/';
    memcpy(path + head_length + 1, tail, tail_length + 1);
    return path;
}
