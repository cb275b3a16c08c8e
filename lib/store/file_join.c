/* What every system's files have: names that are put together, and sizes that are refused. */
#include "file.h"

#include <stdlib.h>
#include <string.h>

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

enum aothip_status file_check_size(const char *path, uint64_t size, uint32_t most,
                                   struct status *why)
{
    if (size == 0)
        return status_set(why, AOTHIP_E_FORMAT, "%s: the file is empty", path);
    if (size > most)
        return status_set(why, AOTHIP_E_FORMAT, "%s: the file has %llu bytes, more than %u", path,
                          (unsigned long long)size, most);
    return AOTHIP_OK;
}
