/* The image reader: sound files, and each way in which a file can be wrong. */
#include "store.h"

#include <sys/stat.h>
#include <unistd.h>

#include "make_image.h"
#include "tap.h"

static char directory[256];
static struct status why;

/* Writes the image and opens it as gfx942's. */
static enum aothip_status open_written(const struct make_image *image, struct store *store)
{
    make_image_write(image, directory, "gfx942");
    status_clear(&why);
    return store_open(store, directory, "gfx942", &why);
}

/* Checks the image in memory, in a buffer of exactly its size; then every frame. */
static enum aothip_status check(const struct make_image *image)
{
    struct store store = {0};
    uint8_t *bytes = malloc(image->size ? image->size : 1);
    memcpy(bytes, image->bytes, image->size);
    status_clear(&why);
    store.path = (char *)"image";
    if (!store_check(&store, "image", bytes, image->size, "gfx942", &why))
        for (uint32_t i = 0; i < store.header->entry_count && !why.code; i++) {
            uint8_t *bundle;
            store_inflate(&store, i, &bundle, &why);
            free(bundle);
        }
    store_release(&store);
    free(bytes);
    return why.code;
}

static void test_sound(void)
{
    struct make_image image = make_image("gfx942", NULL);
    struct store store;
    is_int(open_written(&image, &store), AOTHIP_OK, "a sound image opens");
    is_int(store.header->entry_count, MAKE_IMAGE_ENTRIES, "with all entries");
    for (uint32_t i = 0; i < store.header->entry_count; i++) {
        const char *const targets[] = {"gfx942", NULL};
        struct make_image bundle = make_bundle(targets, store.entries[i].symbol, 1000 * i);
        uint8_t *bytes;
        is_int(store_inflate(&store, i, &bytes, &why), AOTHIP_OK, store.entries[i].symbol);
        ok(bytes && store.entries[i].bundle_size == bundle.size &&
               !memcmp(bytes, bundle.bytes, bundle.size),
           "inflates to what was packed");
        free(bytes);
        free(bundle.bytes);
    }
    store_close(&store);
    ok(!store.bytes && !store.path, "closing leaves nothing");
    store_close(&store);
    free(image.bytes);
}

enum rehash { NONE, HEADER, INDEX, FRAME };

/* One field of the header or of entry 1 replaced, and hashes made right so that only it is wrong.
 */
static const struct damage {
    const char *what;
    size_t at;
    int size;
    uint64_t value;
    enum rehash rehash;
    enum aothip_status status;
    const char *message;
} damages[] = {
#define H(field) offsetof(struct format_header, field), sizeof(((struct format_header *)0)->field)
#define E(field)                                                                                   \
    sizeof(struct format_header) + sizeof(struct format_entry) +                                   \
        offsetof(struct format_entry, field),                                                      \
        sizeof(((struct format_entry *)0)->field)
#define CODE(c) AOTHIP_E_##c
    {"skippable_magic", H(skippable_magic), 1, HEADER, CODE(FORMAT), "skippable_magic is"},
    {"skippable_size", H(skippable_size), 8, HEADER, CODE(FORMAT), "skippable_size is 8"},
    {"skippable_size huge", H(skippable_size), ~0u, HEADER, CODE(FORMAT), "skippable_size is"},
    {"magic", offsetof(struct format_header, magic), 8, 1, HEADER, CODE(FORMAT), "magic is not"},
    {"version", H(version), 1, HEADER, CODE(VERSION), "version is 1, this library reads 10"},
    {"version without its hash", H(version), 1, NONE, CODE(VERSION), "version is 1"},
    {"header_size", H(header_size), 129, HEADER, CODE(FORMAT), "header_size is 129"},
    {"entry_size", H(entry_size), 8, HEADER, CODE(FORMAT), "entry_size is 8"},
    {"entry_count 0", H(entry_count), 0, HEADER, CODE(FORMAT), "entry_count is 0"},
    {"entry_count too large", H(entry_count), 4097, HEADER, CODE(FORMAT), "entry_count is 4097"},
    {"entry_count 9", H(entry_count), 9, HEADER, CODE(FORMAT), "skippable_size is"},
    {"dictionary_size", H(dictionary_size), 1, HEADER, CODE(FORMAT), "skippable_size is"},
    {"dictionary_size huge", H(dictionary_size), ~0u, HEADER, CODE(FORMAT), "dictionary_size is"},
    {"kernarg_version", H(kernarg_version), 99, HEADER, CODE(VERSION), "kernarg_version is 99"},
    {"gpu", offsetof(struct format_header, gpu) + 5, 1, '3', HEADER, CODE(TARGET), "gpu is gfx943"},
    {"gpu not ended", offsetof(struct format_header, gpu) + 15, 1, 'x', HEADER, CODE(FORMAT),
     "gpu is no NUL-padded name"},
    {"gpu empty", offsetof(struct format_header, gpu), 8, 0, HEADER, CODE(FORMAT), "gpu is no"},
    {"file_size", H(file_size), 12345, HEADER, CODE(FORMAT), "file_size is 12345"},
    {"file_size huge", H(file_size), ~0ull, HEADER, CODE(FORMAT), "file_size is 1844"},
    {"index_hash", H(index_hash), 1, HEADER, CODE(CHECKSUM), "index_hash does not match"},
    {"header_hash", H(header_hash), 1, NONE, CODE(CHECKSUM), "header_hash does not match"},
    {"siblings not ended", offsetof(struct format_header, siblings) + 63, 1, 1, HEADER,
     CODE(FORMAT), "siblings are no NUL-padded text"},
    {"siblings not of text", offsetof(struct format_header, siblings), 1, 7, HEADER, CODE(FORMAT),
     "siblings are no NUL-padded text"},
    {"symbol empty", offsetof(struct format_entry, symbol) + sizeof(struct format_header) + 136, 8,
     0, INDEX, CODE(FORMAT), "entry 1: symbol is no"},
    {"symbol not ended",
     offsetof(struct format_entry, symbol) + sizeof(struct format_header) + 136 + 63, 1, 'x', INDEX,
     CODE(FORMAT), "entry 1: symbol is no"},
    {"symbol unprintable",
     offsetof(struct format_entry, symbol) + sizeof(struct format_header) + 136, 1, 7, INDEX,
     CODE(FORMAT), "entry 1: symbol is no"},
    {"op", E(op), 15, INDEX, CODE(FORMAT), "op is 15"},
    {"dtype", E(dtype), 4, INDEX, CODE(FORMAT), "dtype is 4"},
    {"dtype", E(dtype), 9, INDEX, CODE(FORMAT), "dtype is 9"},
    {"rank twice", E(rank), 0, INDEX, CODE(FORMAT), "rank 0 occurs twice"},
    {"features", E(features), 0x8001, INDEX, CODE(FORMAT), "features are 0x8001"},
    {"dim_max", E(dim_max), 0, INDEX, CODE(FORMAT), "dim_max, tile_q or tile_k is 0"},
    {"tile_q", E(tile_q), 0, INDEX, CODE(FORMAT), "dim_max, tile_q or tile_k is 0"},
    {"tile_k", E(tile_k), 0, INDEX, CODE(FORMAT), "dim_max, tile_q or tile_k is 0"},
    {"dim_v_max", E(dim_v_max), 129, INDEX, CODE(FORMAT), "dim_v_max 129 or dim_min 0 exceeds"},
    {"dim_min", E(dim_min), 129, INDEX, CODE(FORMAT), "dim_v_max 0 or dim_min 129 exceeds dim_max"},
    {"threads 0", E(threads), 0, INDEX, CODE(FORMAT), "threads is 0"},
    {"threads 1088", E(threads), 1088, INDEX, CODE(FORMAT), "threads is 1088"},
    {"threads no whole waves", E(threads), 100, INDEX, CODE(FORMAT), "threads is 100"},
    {"kernarg_size", E(kernarg_size), 183, INDEX, CODE(FORMAT), "kernarg_size is 183"},
    {"lds_size", E(lds_size), 1 << 20, INDEX, CODE(FORMAT), "lds_size is 1048576"},
    {"wave_size", E(wave_size), 16, INDEX, CODE(FORMAT), "wave_size is 16"},
    {"frame_offset 0", E(frame_offset), 0, INDEX, CODE(FORMAT), "frame_offset is 0"},
    {"frame_offset huge", E(frame_offset), ~0ull, INDEX, CODE(FORMAT), "frame_offset is 1844"},
    {"frame_size 0", E(frame_size), 0, INDEX, CODE(FORMAT), "frame_size is 0"},
    {"frame_size 1", E(frame_size), 1, INDEX, CODE(FORMAT), "frame_offset is"},
    {"frame_size huge", E(frame_size), ~0u, INDEX, CODE(FORMAT), "but the file ends after"},
    {"bundle_size 0", E(bundle_size), 0, INDEX, CODE(FORMAT), "bundle_size is 0"},
    {"bundle_size huge", E(bundle_size), ~0u, INDEX, CODE(FORMAT), "bundle_size is 4294967295"},
    {"bundle_size wrong", E(bundle_size), 8191, INDEX, CODE(FORMAT),
     "does not declare bundle_size"},
    {"frame_hash", E(frame_hash), 1, INDEX, CODE(CHECKSUM), "frame_hash does not match"},
    {"dictionary no frame", sizeof(struct format_header) + 136 * MAKE_IMAGE_ENTRIES, 1, 0, INDEX,
     CODE(FORMAT), "the dictionary is no single zstd frame"},
    {"dictionary of another size", sizeof(struct format_header) + 136 * MAKE_IMAGE_ENTRIES + 5, 1,
     40, INDEX, CODE(FORMAT), "the dictionary does not inflate to the 40 bytes"},
    {"reserved in an entry", E(reserved[1]), 1, INDEX, CODE(FORMAT), "reserved is not zero"},
};

static void rehash(struct make_image *image, enum rehash what)
{
    if (what >= FRAME)
        make_image_rehash_frame(image, 1);
    if (what >= INDEX)
        make_image_rehash_index(image);
    if (what >= HEADER)
        make_image_rehash_header(image);
}

static void test_fields(void)
{
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        const struct damage *damage = &damages[i];
        struct make_image image = make_image("gfx942", NULL);
        memcpy(image.bytes + damage->at, &damage->value, (size_t)damage->size);
        rehash(&image, damage->rehash);
        is_int(check(&image), damage->status, damage->what);
        contains(why.text, damage->message, "is told");
        ok(!strncmp(why.text, "image: ", 7), "with the file's name");
        free(image.bytes);
    }
}

/* A file is for the GPU that it names first, and for the others that it names. */
static void test_siblings(void)
{
    static const struct {
        const char *gpu;
        enum aothip_status status;
    } asked[] = {{"gfx1100", AOTHIP_OK},      {"gfx1101", AOTHIP_OK},
                 {"gfx1102", AOTHIP_OK},      {"gfx1103", AOTHIP_E_TARGET},
                 {"gfx110", AOTHIP_E_TARGET}, {"gfx1101 gfx1102", AOTHIP_E_TARGET}};
    struct make_image image = make_image("gfx1100", NULL);
    strcpy(make_image_header(&image)->siblings, "gfx1101 gfx1102");
    make_image_rehash_header(&image);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct store store = {.path = (char *)"image"};
        uint8_t *bundle = NULL;
        status_clear(&why);
        is_int(store_check(&store, "image", image.bytes, image.size, asked[i].gpu, &why),
               asked[i].status, asked[i].gpu);
        if (why.code)
            continue;
        is_str(store.gpu, asked[i].gpu, "is whose images they are");
        is_int(store_inflate(&store, 0, &bundle, &why), i ? AOTHIP_E_FORMAT : AOTHIP_OK,
               "code without metadata is none that can be renamed");
        ok(!i || (!bundle && strstr(why.text, "its metadata does not name the GPU once")),
           "and that is told");
        free(bundle);
        store_release(&store);
    }
    free(image.bytes);
}

static void test_shared_frame(void)
{
    struct make_image image = make_image("gfx942", NULL);
    const uint64_t offset = make_image_entry(&image, 1)->frame_offset;
    make_image_entry(&image, 1)->frame_offset = make_image_entry(&image, 0)->frame_offset;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    is_int(check(&image), AOTHIP_E_FORMAT, "two entries on one frame that they describe apart");
    contains(why.text, "shares frame_offset", "is told");
    make_image_entry(&image, 1)->frame_offset = offset + 1;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    is_int(check(&image), AOTHIP_E_FORMAT, "a gap between frames");
    make_image_entry(&image, 1)->frame_offset = offset;
    image.size += 8; /* make_image() leaves room */
    make_image_header(&image)->file_size = image.size;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    is_int(check(&image), AOTHIP_E_FORMAT, "bytes behind the last frame");
    contains(why.text, "the frames end at", "is told");
    free(image.bytes);
}

/* The frame of entry 1 spoilt with every hash right: zstd's own checks are what is left. */
static void test_broken_frames(void)
{
    struct make_image image = make_image("gfx942", NULL);
    const struct format_entry entry = *make_image_entry(&image, 1);
    int refused = 0, tried = 0;
    for (uint32_t at = 0; at < entry.frame_size; at += 64) {
        enum aothip_status status;
        image.bytes[entry.frame_offset + at] ^= 0xff;
        rehash(&image, FRAME);
        status = check(&image);
        /* a frame that zstd still accepts inflates to other bytes: the bundle reader's business */
        refused += status == AOTHIP_E_FORMAT || status == AOTHIP_OK;
        tried++;
        image.bytes[entry.frame_offset + at] ^= 0xff;
    }
    is_int(refused, tried, "frames broken behind right hashes are refused or inflate in bounds");
    image.bytes[entry.frame_offset] ^= 1;
    rehash(&image, FRAME);
    is_int(check(&image), AOTHIP_E_FORMAT, "no zstd frame at all");
    contains(why.text, "entry attn_fwd_f16_d64_general: ", "names the entry");
    free(image.bytes);
}

static void test_truncation(void)
{
    struct make_image image = make_image("gfx942", NULL), cut;
    size_t refused = 0;
    cut.bytes = image.bytes;
    for (cut.size = 0; cut.size < image.size; cut.size++)
        refused += check(&cut) == AOTHIP_E_FORMAT;
    is_int(refused, image.size, "refused when cut at any byte");
    free(image.bytes);
}

/* The same without inflating anything. */
static enum aothip_status check_sums(const struct make_image *image)
{
    struct store store = {.path = (char *)"image"};
    status_clear(&why);
    if (!store_check(&store, "image", image->bytes, image->size, "gfx942", &why))
        store_check_frames(&store, &why);
    store_release(&store);
    return why.code;
}

static void test_bit_flips(void)
{
    struct make_image image = make_image("gfx942", NULL);
    size_t refused = 0, inflated = 0, tried = 0;
    for (size_t at = 0; at < image.size; at++) {
        enum aothip_status status;
        image.bytes[at] ^= (uint8_t)(1 << at % 8);
        status = check_sums(&image);
        refused += status == AOTHIP_E_CHECKSUM || (at < sizeof(struct format_header) && status);
        if (at % 64 == 0) {
            tried++;
            inflated += check(&image) == status;
        }
        image.bytes[at] ^= (uint8_t)(1 << at % 8);
    }
    is_int(refused, image.size, "refused with a bit of any byte flipped");
    is_int(inflated, tried, "and so by what inflates frames, at any 64th");
    is_int(check(&image), AOTHIP_OK, "but not when it is flipped back");
    free(image.bytes);
}

static void test_files(void)
{
    struct make_image image = make_image("gfx942", NULL), empty = {image.bytes, 0};
    char path[512];
    struct store store;
    status_clear(&why);
    is_int(store_open(&store, directory, "gfx1100", &why), AOTHIP_E_NO_IMAGES, "no such GPU");
    contains(why.text, "amd-gfx1100/flash/attn.zst", "names the file");
    is_int(open_written(&empty, &store), AOTHIP_E_FORMAT, "an empty file");
    contains(why.text, "the file is empty", "is told");
    make_image_write(&image, directory, "gfx90a");
    status_clear(&why);
    is_int(store_open(&store, directory, "gfx90a", &why), AOTHIP_E_TARGET, "another GPU's file");
    snprintf(path, sizeof(path), "%s/amd-gfx942/%s", directory, FORMAT_FILE);
    unlink(path);
    mkdir(path, 0777);
    status_clear(&why);
    is_int(store_open(&store, directory, "gfx942", &why), AOTHIP_E_IO, "a directory in its place");
    rmdir(path);
    mkfifo(path, 0666);
    status_clear(&why);
    is_int(store_open(&store, directory, "gfx942", &why), AOTHIP_E_IO, "a FIFO in its place");
    contains(why.text, "not a regular file", "is told and does not hang");
    unlink(path);
    make_image_write(&image, directory, "gfx942");
    chmod(path, 0);
    status_clear(&why);
    if (geteuid() != 0) {
        is_int(store_open(&store, directory, "gfx942", &why), AOTHIP_E_IO, "an unreadable file");
        contains(why.text, "Permission denied", "is told");
    }
    free(image.bytes);
}

static void test_directory(void)
{
    char *found, before[512];
    setenv("AOTHIP_IMAGES", directory, 1);
    status_clear(&why);
    is_int(store_find_directory("/", &found, &why), AOTHIP_OK, "the argument comes first");
    is_str(found, "/", "it is used as it stands");
    free(found);
    is_int(store_find_directory(NULL, &found, &why), AOTHIP_OK, "then AOTHIP_IMAGES");
    is_str(found, directory, "as it stands");
    free(found);
    is_int(store_find_directory("/nonexistent", &found, &why), AOTHIP_E_NO_IMAGES, "no such");
    contains(why.text, "/nonexistent (argument directory of aothip_open): No such", "is told");
    ok(!found, "and gives NULL");
    status_clear(&why);
    is_int(store_find_directory("/dev/null", &found, &why), AOTHIP_E_NO_IMAGES, "not a directory");
    setenv("AOTHIP_IMAGES", "", 1);
    status_clear(&why);
    is_int(store_find_directory(NULL, &found, &why), AOTHIP_E_NO_IMAGES,
           "an empty AOTHIP_IMAGES counts as none: beside the library");
    contains(why.text, "aotriton.images (beside the library)", "is told");
    status_clear(&why);
    if (!getcwd(before, sizeof(before)) || chdir(directory))
        ok(0, "chdir");
    is_int(store_find_directory("amd-gfx942", &found, &why), AOTHIP_OK, "a relative path");
    ok(found[0] == '/' && strstr(found, "/amd-gfx942"), "is made absolute");
    free(found);
    if (chdir(before))
        ok(0, "chdir back");
    unsetenv("AOTHIP_IMAGES");
}

static void test_list(void)
{
    struct make_image image = make_image("gfx942", NULL);
    struct store_gpus gpus;
    char path[512];
    for (int i = 0; i < 20; i++) {
        char gpu[16];
        snprintf(gpu, sizeof(gpu), "gfx9%02d", 19 - i);
        make_image_write(&image, directory, gpu);
    }
    snprintf(path, sizeof(path), "%s/amd-gfx-name-that-is-too-long", directory);
    mkdir(path, 0777);
    status_clear(&why);
    is_int(store_list_gpus(directory, &gpus, &why), AOTHIP_OK, "list");
    is_int(gpus.count, 22, "all GPUs, and nothing else");
    is_str(gpus.names[0], "gfx900", "sorted");
    is_str(gpus.names[21], "gfx942", "to the last");
    free(gpus.names);
    is_int(store_list_gpus("/nonexistent", &gpus, &why), AOTHIP_E_IO, "no directory");
    ok(!gpus.names && !gpus.count, "gives an empty list");
    free(image.bytes);
}

int main(void)
{
    make_directory(directory);
    test_sound();
    test_fields();
    test_siblings();
    test_shared_frame();
    test_broken_frames();
    test_truncation();
    test_bit_flips();
    test_files();
    test_directory();
    test_list();
    remove_directory(directory);
    return tap_done();
}
