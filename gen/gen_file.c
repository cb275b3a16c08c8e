/*
 * Reads and writes whole files; writes are atomic.
 */
#include "gen_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int complain(const char *file)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, file, strerror(errno));
    return -1;
}

static char *read_stream(FILE *f, size_t *size)
{
    size_t room = 1 << 16, n;
    char *bytes = malloc(room);
    *size = 0;
    while (bytes && (n = fread(bytes + *size, 1, room - *size - 1, f)) > 0) {
        *size += n;
        if (room - *size > 1)
            continue;
        char *more = realloc(bytes, room * 2);
        if (!more)
            free(bytes);
        bytes = more;
        room *= 2;
    }
    if (bytes && ferror(f)) {
        free(bytes);
        return NULL;
    }
    if (bytes)
        bytes[*size] = '\0';
    return bytes;
}

void *gen_file_read(const char *file, size_t *size)
{
    FILE *f = fopen(file, "rb");
    char *bytes = f ? read_stream(f, size) : NULL;
    if (!bytes)
        complain(file);
    if (f)
        fclose(f);
    return bytes;
}

/* What there is under the name is a pipe or a device, or no file at all: nothing to put another in
 * the place of, nor to be read to its end. */
static bool is_irregular(const char *file)
{
    struct stat st;
    return !stat(file, &st) && !S_ISREG(st.st_mode);
}

static int write_directly(const char *file, const void *bytes, size_t size)
{
    FILE *f = fopen(file, "wb");
    bool good = f && fwrite(bytes, 1, size, f) == size && !fflush(f);
    if (!good)
        complain(file);
    if (f && fclose(f) && good) {
        complain(file);
        good = false;
    }
    return good ? 0 : -1;
}

int gen_file_write(const char *file, const void *bytes, size_t size)
{
    char *temporary;
    if (is_irregular(file))
        return write_directly(file, bytes, size);
    if (asprintf(&temporary, "%s.tmp%ld", file, (long)getpid()) < 0)
        return complain(file);
    FILE *f = fopen(temporary, "wb");
    bool good = f && fwrite(bytes, 1, size, f) == size && !fflush(f) && !fsync(fileno(f));
    if (f && fclose(f))
        good = false;
    if (!good || rename(temporary, file)) {
        complain(file);
        if (f)
            unlink(temporary);
        good = false;
    }
    free(temporary);
    return good ? 0 : -1;
}

int gen_file_update(const char *file, const void *bytes, size_t size)
{
    size_t old_size;
    FILE *f = is_irregular(file) ? NULL : fopen(file, "rb");
    char *old = f ? read_stream(f, &old_size) : NULL;
    bool same = old && old_size == size && !memcmp(old, bytes, size);
    if (f)
        fclose(f);
    free(old);
    return same ? 0 : gen_file_write(file, bytes, size);
}
