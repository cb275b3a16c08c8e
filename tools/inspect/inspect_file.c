/* Code objects out of ELF files, offload bundles and image files. */
#include "inspect_file.h"

#include "cli.h"
#include "code_object.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    struct stat st;
    long n;

    if (f && !fstat(fileno(f), &st) && S_ISDIR(st.st_mode)) {
        cli_say("%s: %s", path, strerror(EISDIR));
        fclose(f);
        return NULL;
    }
    if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
        cli_say("%s: %s", path, strerror(errno));
        if (f)
            fclose(f);
        return NULL;
    }
    *size = (size_t)n;
    bytes = malloc(*size ? *size : 1);
    if (!bytes || fread(bytes, 1, *size, f) != *size) {
        cli_say("%s: %s", path, bytes ? "cannot read it" : "out of memory");
        free(bytes);
        bytes = NULL;
    }
    fclose(f);
    return bytes;
}

/* One ELF, or each AMDGPU entry of a bundle. */
static bool visit_code(const struct inspect_code *code, inspect_visit *visit, void *context)
{
    struct emu_bundle_entry e;
    char err[512] = "";
    bool good = true;

    if (!emu_bundle_is(code->bytes, code->size))
        return visit(code, context);
    for (uint64_t i = 0; emu_bundle_entry(code->bytes, code->size, i, &e, err, sizeof err); i++) {
        struct inspect_code part = {code->file, code->bytes + e.offset, (size_t)e.size};

        if (e.size) /* the host's entry is empty */
            good &= visit(&part, context);
    }
    if (*err)
        cli_say("%s: %s", code->file, err);
    return good && !*err;
}

/* path: as code->file, but writable as struct store wants it; it is only read. */
static bool visit_image(const struct inspect_code *code, char *path, inspect_visit *visit,
                        void *context)
{
    const struct format_header *header = (const void *)code->bytes;
    struct store store = {0};
    struct status why = {0};
    char gpu[sizeof header->gpu + 1] = "";
    bool good = true;

    memcpy(gpu, header->gpu, sizeof header->gpu);
    if (store_check(&store, code->file, code->bytes, code->size, gpu, &why)) {
        cli_say("%s", why.text);
        return false;
    }
    store.path = path;
    for (uint32_t i = 0; i < store.header->entry_count; i++) {
        struct inspect_code part = {code->file, NULL, store.entries[i].bundle_size};
        uint8_t *bundle;

        if (store_inflate(&store, i, &bundle, &why)) {
            cli_say("%s", why.text);
            good = false;
            break;
        }
        part.bytes = bundle;
        good &= visit_code(&part, visit, context);
        free(bundle);
    }
    store_release(&store);
    return good;
}

bool inspect_file(char *path, inspect_visit *visit, void *context)
{
    struct inspect_code code = {path, NULL, 0};
    uint8_t *bytes = read_file(path, &code.size);
    bool good;

    if (!bytes)
        return false;
    code.bytes = bytes;
    if (code.size >= sizeof(struct format_header) &&
        !memcmp(((const struct format_header *)(const void *)bytes)->magic, FORMAT_MAGIC, 8))
        good = visit_image(&code, path, visit, context);
    else
        good = visit_code(&code, visit, context);
    free(bytes);
    return good;
}
