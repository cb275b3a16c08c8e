#include "write_bundle.h"
#include "gen_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The host's code comes first; there is none of it. */
#define HOST "host-x86_64-unknown-linux-gnu-"

enum { ALIGNMENT = 256, MOST_PARTS = 16, ID_SIZE = 128 };

struct part {
    char id[ID_SIZE];
    void *code;
    size_t size, offset;
};

static int read_part(struct part *p, const char *text)
{
    const char *equals = strchr(text, '=');
    const int length = equals ? (int)(equals - text) : 0;

    if (!length || length > 64) {
        fprintf(stderr, "aothip-pack: '%s' is not TARGET=FILE\n", text);
        return -1;
    }
    snprintf(p->id, sizeof(p->id), BUNDLE_KIND "%.*s", length, text);
    p->code = gen_file_read(equals + 1, &p->size);
    return p->code ? 0 : -1;
}

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
    const size_t n = strlen(text);

    memcpy(at, text, n);
    return at + n;
}

static uint8_t *put_entry(uint8_t *at, const struct part *p)
{
    at = put_u64(put_u64(at, p->offset), p->size);
    return put_text(put_u64(at, strlen(p->id)), p->id);
}

static int write_parts(const char *file, struct part *part, int count)
{
    size_t head = strlen(BUNDLE_MAGIC) + 8, size;
    uint8_t *bytes, *at;
    int result;

    for (int i = 0; i < count; i++)
        head += 24 + strlen(part[i].id);
    size = aligned(head);
    for (int i = 0; i < count; i++) {
        part[i].offset = aligned(size);
        size = part[i].offset + part[i].size;
    }
    bytes = calloc(size, 1);
    if (!bytes) {
        fprintf(stderr, "aothip-pack: %s: out of memory\n", file);
        return -1;
    }
    at = put_u64(put_text(bytes, BUNDLE_MAGIC), (uint64_t)count);
    for (int i = 0; i < count; i++) {
        at = put_entry(at, &part[i]);
        if (part[i].size)
            memcpy(bytes + part[i].offset, part[i].code, part[i].size);
    }
    result = gen_file_write(file, bytes, size);
    free(bytes);
    return result;
}

int bundle_write(const char *file, char *const *parts, int count)
{
    struct part part[1 + MOST_PARTS] = {{.id = HOST}};
    int n = 1, result = 0;

    if (count < 1 || count > MOST_PARTS) {
        fprintf(stderr, "aothip-pack: a bundle holds 1 to %d code objects\n", MOST_PARTS);
        return -1;
    }
    for (; n <= count && !result; n++)
        result = read_part(&part[n], parts[n - 1]);
    if (!result)
        result = write_parts(file, part, n);
    while (n-- > 1)
        free(part[n].code);
    return result;
}
