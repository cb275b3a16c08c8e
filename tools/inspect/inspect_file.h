/* Takes files apart into code objects: ELF files, clang offload bundles, image files. */
#ifndef AOTHIP_INSPECT_FILE_H
#define AOTHIP_INSPECT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One code object; valid during the call. */
struct inspect_code {
    const char *file; /* as the user named it */
    const uint8_t *bytes;
    size_t size;
};

typedef bool inspect_visit(const struct inspect_code *code, void *context);

/*
 * Calls `visit` for each code object in the file, in its order. Failures are said on stderr.
 * Returns whether the file was read whole and every visit returned true.
 */
bool inspect_file(char *path, inspect_visit *visit, void *context);

#endif
