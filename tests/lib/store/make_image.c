/* Makes image files for tests, from the format's header alone. */
#include "make_image.h"

#include <elf.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "aothip/aothip.h"
#include "args.h"
#include "select.h"
#include "target.h"

enum { CODE_SIZE = 4096 };

static const char dictionary[] = "raw content: frames of one image share much of their text";

static void die(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(99);
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        die("out of memory");
    return memory;
}

static uint32_t mach_of(const char *gpu)
{
#define TARGET(name, mach, fp8, deal)                                                              \
    if (strcmp(gpu, name) == 0)                                                                    \
        return mach;
#include "target.def"
#undef TARGET
    return 0;
}

static uint32_t setting_flag(enum target_setting setting)
{
    return setting == TARGET_ON ? 3 : setting == TARGET_OFF ? 2 : 1;
}

/* An ELF header, one segment that spans it all, the symbol's name, and noise. */
static void fill_code(uint8_t *code, const char *id, const char *symbol, unsigned seed)
{
    Elf64_Ehdr elf = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 64, 3},
        .e_type = ET_DYN,
        .e_machine = 224,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(elf),
        .e_ehsize = sizeof(elf),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1};
    Elf64_Phdr segment = {.p_type = PT_LOAD, .p_filesz = CODE_SIZE, .p_memsz = CODE_SIZE};
    size_t at = sizeof(elf) + sizeof(segment);
    struct target target;
    if (target_parse(id, strlen(id), &target))
        die("target");
    elf.e_flags =
        mach_of(target.gpu) | setting_flag(target.xnack) << 8 | setting_flag(target.sramecc) << 10;
    memcpy(code, &elf, sizeof(elf));
    memcpy(code + sizeof(elf), &segment, sizeof(segment));
    memcpy(code + at, symbol, strlen(symbol) + 1);
    for (at += 64; at < CODE_SIZE; at++) {
        seed = seed * 1103515245u + 12345u;
        code[at] = (uint8_t)(seed >> 24 & 0x3f); /* six bits of noise: it compresses a little */
    }
}

static void put_u64(uint8_t **at, uint64_t value)
{
    memcpy(*at, &value, sizeof(value));
    *at += sizeof(value);
}

struct make_image make_bundle(const char *const *targets, const char *symbol, unsigned seed)
{
    struct make_image bundle;
    int count = 0;
    uint8_t *at;
    while (targets[count])
        count++;
    bundle.size = 4096 + (size_t)count * CODE_SIZE;
    bundle.bytes = at = allocate(bundle.size);
    memcpy(at, "__CLANG_OFFLOAD_BUNDLE__", 24);
    at += 24;
    put_u64(&at, (uint64_t)count + 1);
    put_u64(&at, 4096);
    put_u64(&at, 0);
    put_u64(&at, strlen("host-x86_64-unknown-linux--"));
    memcpy(at, "host-x86_64-unknown-linux--", 27);
    at += 27;
    for (int i = 0; i < count; i++) {
        char id[64];
        snprintf(id, sizeof(id), "hipv4-amdgcn-amd-amdhsa--%s", targets[i]);
        put_u64(&at, 4096 + (uint64_t)i * CODE_SIZE);
        put_u64(&at, CODE_SIZE);
        put_u64(&at, strlen(id));
        memcpy(at, id, strlen(id));
        at += strlen(id);
        fill_code(bundle.bytes + 4096 + (size_t)i * CODE_SIZE, targets[i], symbol,
                  seed + (unsigned)i);
    }
    return bundle;
}

static void append_frame(struct make_image *image, const struct make_image *bundle,
                         struct format_entry *entry)
{
    ZSTD_CCtx *deflater = ZSTD_createCCtx();
    size_t size = ZSTD_compress_usingDict(deflater, image->bytes + image->size,
                                          ZSTD_compressBound(bundle->size), bundle->bytes,
                                          bundle->size, dictionary, sizeof(dictionary), 9);
    if (ZSTD_isError(size))
        die("zstd");
    ZSTD_freeCCtx(deflater);
    entry->frame_offset = image->size;
    entry->frame_size = (uint32_t)size;
    entry->bundle_size = (uint32_t)bundle->size;
    entry->frame_hash = XXH3_64bits(image->bytes + image->size, size);
    image->size += size;
}

static void fill_entry(struct format_entry *entry, int i)
{
    static const char *const dtypes[] = {[AOTHIP_F16] = "f16", [AOTHIP_BF16] = "bf16"};
    const uint32_t everything = FORMAT_FEATURE_SCORE | FORMAT_FEATURE_UNALIGNED |
                                FORMAT_FEATURE_STRIDED | FORMAT_FEATURE_PAGED;
    const int other = i >= MAKE_IMAGE_FWD, op = other ? i - MAKE_IMAGE_FWD + 2 : 1;
    const int dtype = i < 4 || other ? AOTHIP_F16 : AOTHIP_BF16;
    const int dim = other || i & 2 ? 128 : 64, general = other || i & 1;
    snprintf(entry->symbol, sizeof(entry->symbol), "%s_%s_d%d_%s", select_op_name((unsigned)op),
             dtypes[dtype], dim, general ? "general" : "fast");
    entry->op = (uint8_t)op;
    entry->dtype = (uint8_t)dtype;
    entry->rank = (uint16_t)(2 * (other ? i : i & 3));
    entry->features = general ? everything : 0;
    entry->dim_max = (uint16_t)dim;
    entry->tile_q = 128;
    entry->tile_k = 64;
    entry->threads = 256;
    entry->kernarg_size = sizeof(union args_any);
    entry->lds_size = 16384;
    entry->vgprs = 200;
    entry->agprs = 50; /* of them */
    entry->sgprs = 60;
    entry->wave_size = 64;
}

static struct make_image build(const char *gpu, const char *const *targets,
                               const struct make_image *first)
{
    uint8_t packed[sizeof(dictionary) + 64]; /* the dictionary's frame */
    const size_t packed_size =
        ZSTD_compress(packed, sizeof(packed), dictionary, sizeof(dictionary), 9);
    const size_t front = sizeof(struct format_header) +
                         MAKE_IMAGE_ENTRIES * sizeof(struct format_entry) + packed_size;
    const char *const one_target[] = {gpu, NULL};
    struct make_image image = {allocate(front + MAKE_IMAGE_ENTRIES * 65536), front};
    struct format_header *header = make_image_header(&image);
    for (int i = 0; i < MAKE_IMAGE_ENTRIES; i++) {
        struct format_entry *entry = make_image_entry(&image, i);
        struct make_image bundle;
        fill_entry(entry, i);
        bundle = make_bundle(targets ? targets : one_target, entry->symbol, 1000u * (unsigned)i);
        append_frame(&image, i == 0 && first ? first : &bundle, entry);
        free(bundle.bytes);
    }
    memcpy(make_image_entry(&image, MAKE_IMAGE_ENTRIES), packed, packed_size);
    header->skippable_magic = FORMAT_SKIPPABLE_MAGIC;
    header->skippable_size = (uint32_t)front - 8;
    memcpy(header->magic, FORMAT_MAGIC, sizeof(header->magic));
    header->version = FORMAT_VERSION;
    header->header_size = sizeof(*header);
    header->entry_size = sizeof(struct format_entry);
    header->entry_count = MAKE_IMAGE_ENTRIES;
    header->dictionary_size = (uint32_t)packed_size;
    header->kernarg_version = FORMAT_KERNARG_VERSION;
    snprintf(header->gpu, sizeof(header->gpu), "%s", gpu);
    header->file_size = image.size;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    return image;
}

struct make_image make_image(const char *gpu, const char *const *targets)
{
    return build(gpu, targets, NULL);
}

struct make_image make_image_with_bundle(const char *gpu, const struct make_image *bundle)
{
    return build(gpu, NULL, bundle);
}

void make_image_rehash_frame(struct make_image *image, int index)
{
    struct format_entry *entry = make_image_entry(image, index);
    entry->frame_hash = XXH3_64bits(image->bytes + entry->frame_offset, entry->frame_size);
}

void make_image_rehash_index(struct make_image *image)
{
    struct format_header *header = make_image_header(image);
    header->index_hash = XXH3_64bits(image->bytes + sizeof(*header),
                                     (size_t)header->skippable_size + 8 - sizeof(*header));
}

void make_image_rehash_header(struct make_image *image)
{
    struct format_header *header = make_image_header(image);
    header->header_hash = 0;
    header->header_hash = XXH3_64bits(header, sizeof(*header));
}

void make_image_write(const struct make_image *image, const char *directory, const char *gpu)
{
    char path[512];
    FILE *file;
    snprintf(path, sizeof(path), "%s/amd-%s", directory, gpu);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/amd-%s/flash", directory, gpu);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/amd-%s/%s", directory, gpu, FORMAT_FILE);
    file = fopen(path, "wb");
    if (!file || fwrite(image->bytes, 1, image->size, file) != image->size || fclose(file))
        die(path);
}

void make_directory(char path[256])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/aothip-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        die(path);
}

static int remove_item(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

void remove_directory(const char *path)
{
    nftw(path, remove_item, 16, FTW_DEPTH | FTW_PHYS);
}
