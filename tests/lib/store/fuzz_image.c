/*
 * Fuzzes the image reader and the bundle reader: whatever the bytes, they give a status with a
 * text and touch nothing beyond the bytes.
 *
 * As a normal test it mutates images and bundles that it makes itself, with a fixed seed. Built
 * with -DFUZZ_ENGINE and -fsanitize=fuzzer (make fuzz), libFuzzer drives it; `--corpus DIR` of the
 * normal test writes what to start from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bundle.h"
#include "make_image.h"
#include "store.h"
#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int broken_promises; /* failures without a text or with a text that names nothing */

static void check_promise(const struct status *why)
{
    if (why->code != AOTHIP_OK && !strstr(why->text, "fuzz"))
        broken_promises++;
}

/* Reads the image like a first use of each entry does. */
static void read_image(const uint8_t *bytes, size_t size)
{
    const struct target device = {"gfx942", TARGET_ON, TARGET_OFF};
    struct store store = {0};
    struct status why;
    status_clear(&why);
    store.path = (char *)"fuzz";
    if (store_check(&store, "fuzz", bytes, size, "gfx942", &why) == AOTHIP_OK)
        for (uint32_t i = 0; i < store.header->entry_count && i < 16; i++) {
            const struct bundle_name name = {"fuzz", store.entries[i].symbol};
            struct bundle_code code;
            uint8_t *bundle;
            status_clear(&why);
            if (store_inflate(&store, i, &bundle, &why) == AOTHIP_OK) {
                bundle_find(bundle, store.entries[i].bundle_size, &device, &name, &code, &why);
                free(bundle);
            }
            check_promise(&why);
        }
    check_promise(&why);
    store_release(&store);
}

/* Hashes hide everything behind them from a fuzzer: makes those right that lie within bounds. */
static void rehash(uint8_t *bytes, size_t size)
{
    struct format_header *header = (struct format_header *)bytes;
    const uint64_t front = (uint64_t)header->skippable_size + 8;
    struct format_entry *entries = (struct format_entry *)(header + 1);
    if (front < sizeof(*header) || front > size)
        return;
    for (uint64_t i = 0; i < header->entry_count; i++) {
        if (sizeof(*header) + (i + 1) * sizeof(*entries) > front)
            break;
        if (entries[i].frame_offset <= size &&
            entries[i].frame_size <= size - entries[i].frame_offset)
            entries[i].frame_hash =
                XXH3_64bits(bytes + entries[i].frame_offset, entries[i].frame_size);
    }
    header->index_hash = XXH3_64bits(bytes + sizeof(*header), front - sizeof(*header));
    header->header_hash = 0;
    header->header_hash = XXH3_64bits(header, sizeof(*header));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct target device = {"gfx942", TARGET_ON, TARGET_OFF};
    const struct bundle_name name = {"fuzz", "kernel"};
    struct bundle_code code;
    struct status why;
    uint8_t *copy = malloc(size ? size : 1); /* of exactly that size, aligned, for the sanitizer */
    memcpy(copy, data, size);
    status_clear(&why);
    bundle_find(copy, size, &device, &name, &code, &why);
    check_promise(&why);
    read_image(copy, size);
    if (size >= sizeof(struct format_header)) {
        rehash(copy, size);
        read_image(copy, size);
    }
    free(copy);
    return 0;
}

#ifndef FUZZ_ENGINE

enum { ROUNDS = 6000, SEEDS = 3 };
static uint64_t state = 20261121;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A few changes, most of them in the front part where the structure is. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static const uint8_t special[] = {0, 1, 0x7f, 0x80, 0xff, 8, 64};
    const int changes = 1 + (int)(next() % 6);
    for (int i = 0; i < changes; i++) {
        const size_t part = next() % 4 ? (size < 1400 ? size : 1400) : size;
        const size_t at = next() % part;
        if (next() % 2)
            bytes[at] ^= (uint8_t)(1u << next() % 8);
        else
            bytes[at] = special[next() % sizeof(special)];
    }
    return next() % 8 ? size : (size_t)(next() % size);
}

static void make_seeds(struct make_image seeds[SEEDS])
{
    const char *const targets[] = {"gfx942", "gfx90a:xnack+", NULL};
    seeds[0] = make_image("gfx942", NULL);
    seeds[1] = make_image("gfx942", targets);
    seeds[2] = make_bundle(targets, "kernel", 1);
}

static int write_corpus(const struct make_image seeds[SEEDS], const char *directory)
{
    for (int i = 0; i < SEEDS; i++) {
        char path[512];
        FILE *file;
        snprintf(path, sizeof(path), "%s/seed%d", directory, i);
        file = fopen(path, "wb");
        if (!file || fwrite(seeds[i].bytes, 1, seeds[i].size, file) != seeds[i].size ||
            fclose(file))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct make_image seeds[SEEDS];
    int failed = 0;
    make_seeds(seeds);
    if (argc == 3 && strcmp(argv[1], "--corpus") == 0) {
        failed = write_corpus(seeds, argv[2]);
    } else {
        tap_diag("seed %llu", (unsigned long long)state);
        for (int round = 0; round < ROUNDS; round++) {
            const struct make_image *seed = &seeds[round % SEEDS];
            uint8_t *bytes = malloc(seed->size);
            memcpy(bytes, seed->bytes, seed->size);
            LLVMFuzzerTestOneInput(bytes, mutate(bytes, seed->size));
            free(bytes);
        }
        is_int(broken_promises, 0, "every refusal of a mutated image or bundle names the file");
        failed = tap_done();
    }
    for (int i = 0; i < SEEDS; i++)
        free(seeds[i].bytes);
    return failed;
}

#endif
