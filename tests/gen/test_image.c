/*
 * Image files in memory: what image_build() lays out, the library's store accepts and gives back
 * byte for byte; the same input gives the same bytes.
 */
#include "image.h"

#include "kernarg.h"
#include "store.h"
#include "tap.h"

#include <zstd.h>

#define KERNELS 12
#define SEED 20261121u

static uint32_t state = SEED;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Kernels as alike as real ones: one text, each with its own changes. */
static void make_kernels(struct image_kernel *kernels, int count)
{
    static uint8_t text[20000];
    state = SEED;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(next() % 24);
    for (int k = 0; k < count; k++) {
        size_t size = 12000 + 500 * (size_t)k;
        uint8_t *bundle = malloc(size);
        memcpy(bundle, text + 100 * k, size);
        for (int i = 0; i < 300; i++)
            bundle[next() % size] = (uint8_t)next();
        memset(&kernels[k], 0, sizeof(kernels[k]));
        kernels[k].bundle = bundle;
        kernels[k].bundle_size = size;
        struct format_entry *e = &kernels[k].entry;
        snprintf(e->symbol, sizeof(e->symbol), "attn_fwd_test_%d", k);
        e->op = FORMAT_OP_ATTN_FWD;
        e->dtype = 2;
        e->rank = (uint16_t)k;
        e->dim_max = 64;
        e->tile_q = e->tile_k = 64;
        e->threads = 256;
        e->wave_size = 64;
        e->kernarg_size = sizeof(struct attn_fwd_args);
    }
}

static void free_kernels(struct image_kernel *kernels, int count)
{
    for (int k = 0; k < count; k++)
        free(kernels[k].bundle);
}

/* The library's reader gives back what went in. */
static void check_store(const struct image_kernel *kernels, int count, const uint8_t *bytes,
                        size_t size, const char *what)
{
    struct store store = {0};
    struct status why = {0};
    int same = 0;
    is_int(store_check(&store, "memory", bytes, size, "gfx942", &why), AOTHIP_OK, what);
    if (!store.header)
        return;
    is_int(store.header->entry_count, count, "all entries are there");
    for (int k = 0; k < count; k++) {
        uint8_t *bundle = NULL;
        if (store_inflate(&store, (uint32_t)k, &bundle, &why) == AOTHIP_OK)
            same += store.entries[k].bundle_size == kernels[k].bundle_size &&
                    !memcmp(bundle, kernels[k].bundle, kernels[k].bundle_size) &&
                    !strcmp(store.entries[k].symbol, kernels[k].entry.symbol);
        free(bundle);
    }
    is_int(same, count, "every bundle inflates to its bytes");
    store_release(&store);
}

/* Without a dictionary an image is a file that `zstd -d` inflates: all bundles in order. */
static void check_stock_zstd(const struct image_kernel *kernels, int count, const uint8_t *bytes,
                             size_t size)
{
    size_t total = 0, at = 0;
    int same = 1;
    for (int k = 0; k < count; k++)
        total += kernels[k].bundle_size;
    uint8_t *all = malloc(total);
    size_t n = ZSTD_decompress(all, total, bytes, size);
    is_int(ZSTD_isError(n) ? 0 : n, total, "a stock zstd inflates the whole file");
    for (int k = 0; k < count && n == total; k++, at += kernels[k - 1].bundle_size)
        same &= !memcmp(all + at, kernels[k].bundle, kernels[k].bundle_size);
    ok(same, "to the bundles in order");
    free(all);
}

static void test_plain(void)
{
    struct image_kernel kernels[KERNELS];
    struct image_dictionary none = {NULL, 0};
    uint8_t *bytes;
    size_t size;
    make_kernels(kernels, KERNELS);
    const char *wrong = image_build("gfx942", kernels, KERNELS, &none, IMAGE_LEVEL, &bytes, &size);
    is_str(wrong ? wrong : "", "", "builds without a dictionary");
    check_store(kernels, KERNELS, bytes, size, "the store accepts it");
    check_stock_zstd(kernels, KERNELS, bytes, size);
    free(bytes);
    free_kernels(kernels, KERNELS);
}

static void test_dictionary(void)
{
    struct image_kernel kernels[KERNELS];
    struct image_dictionary dictionary, again;
    uint8_t *bytes;
    size_t size;
    make_kernels(kernels, KERNELS);
    is_int(image_train(kernels, KERNELS, 8192, &dictionary), 0, "trains a dictionary");
    is_int(image_train(kernels, KERNELS, 8192, &again), 0, "trains it again");
    ok(dictionary.size == again.size && !memcmp(dictionary.bytes, again.bytes, again.size),
       "training twice gives the same bytes");
    const char *wrong =
        image_build("gfx942", kernels, KERNELS, &dictionary, IMAGE_LEVEL, &bytes, &size);
    is_str(wrong ? wrong : "", "", "builds with a dictionary");
    check_store(kernels, KERNELS, bytes, size, "the store accepts a dictionary");
    free(bytes);
    free(dictionary.bytes);
    free(again.bytes);
    free_kernels(kernels, KERNELS);
}

static void test_smallest(void)
{
    struct image_kernel kernels[KERNELS];
    struct image_dictionary none = {NULL, 0};
    uint8_t *plain, *best, *again;
    size_t plain_size, best_size, again_size;
    make_kernels(kernels, KERNELS);
    image_build("gfx942", kernels, KERNELS, &none, IMAGE_LEVEL, &plain, &plain_size);
    const char *wrong = image_build_smallest("gfx942", kernels, KERNELS, &best, &best_size);
    is_str(wrong ? wrong : "", "", "builds the smallest");
    ok(best_size < plain_size, "like kernels gain by a dictionary: %zu < %zu", best_size,
       plain_size);
    check_store(kernels, KERNELS, best, best_size, "the store accepts the smallest");
    image_build_smallest("gfx942", kernels, KERNELS, &again, &again_size);
    ok(best_size == again_size && !memcmp(best, again, again_size),
       "the same kernels give the same image");
    free(plain);
    free(best);
    free(again);
    free_kernels(kernels, KERNELS);
}

static void test_limits(void)
{
    struct image_kernel one[1];
    struct image_dictionary none = {NULL, 0};
    uint8_t *bytes;
    size_t size;
    make_kernels(one, 1);
    contains(image_build("gfx942", one, 0, &none, IMAGE_LEVEL, &bytes, &size), "1 to 4096",
             "an image of no kernel is refused");
    is_str(image_build_smallest("gfx942", one, 1, &bytes, &size) ? "failed" : "built", "built",
           "one kernel, too little for a dictionary, is packed");
    check_store(one, 1, bytes, size, "the store accepts a single kernel");
    free(bytes);
    one[0].bundle_size = FORMAT_MAX_BUNDLE + 1;
    contains(image_build("gfx942", one, 1, &none, IMAGE_LEVEL, &bytes, &size), "too large",
             "a bundle beyond the limit is refused");
    one[0].bundle_size = 0;
    contains(image_build("gfx942", one, 1, &none, IMAGE_LEVEL, &bytes, &size), "empty",
             "an empty bundle is refused");
    free_kernels(one, 1);
}

int main(void)
{
    tap_diag("seed %u", SEED);
    test_plain();
    test_dictionary();
    test_smallest();
    test_limits();
    return tap_done();
}
