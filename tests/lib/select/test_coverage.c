/*
 * Selection over the built images: every legal problem has a kernel on each GPU, and exactly one is
 * chosen, whatever the operation, type, head dim and features.
 */
#include <stdlib.h>

#include "aothip/aothip.h"
#include "select.h"
#include "store.h"
#include "tap.h"

/* Kernels serve head dims up to a multiple of 16: both sides of each. */
enum { DIMS = 2 * 512 / 16 };

static int dim_at(int i)
{
    return i / 2 * 16 + (i % 2 ? 16 : 1);
}

/* By a plain search: how many entries cover the need, and which of them has the lowest rank. */
static int search(const struct store *store, const struct select_need *need, int *found)
{
    int best = -1, lowest = 0;
    *found = 0;
    for (uint32_t i = 0; i < store->header->entry_count; i++) {
        const struct format_entry *entry = &store->entries[i];
        if (entry->op != need->op || entry->dtype != need->dtype || entry->dim_max < need->dim ||
            need->features & ~entry->features ||
            format_sole_features(entry->features) & ~need->features)
            continue;
        ++*found;
        if (best < 0 || entry->rank < store->entries[best].rank) {
            best = (int)i;
            lowest = 1;
        } else {
            lowest += entry->rank == store->entries[best].rank;
        }
    }
    return lowest == 1 ? best : -1;
}

/* Pages have no backward pass. */
static int is_legal(unsigned op, uint32_t need)
{
    return op < FORMAT_OP_ATTN_BWD_DELTA || !(need & FORMAT_FEATURE_PAGED);
}

/* All features and head dims of one operation and type. */
static void test_op(const struct store *store, const struct select_index *index, unsigned op,
                    int dtype, const char *gpu)
{
    int missing = 0, wrong = 0, needs = 0, first_dim = 0;
    uint32_t first = 0;
    for (unsigned bits = 0; bits <= FORMAT_FEATURE_ALL; bits++) {
        struct select_need need = {(enum format_op)op, dtype, bits, 0};
        if (!is_legal(op, need.features))
            continue;
        for (int i = 0; i < DIMS; i++, needs++) {
            need.dim = dim_at(i);
            int found, chosen = select_entry(index, &need);
            if (search(store, &need, &found) != chosen)
                wrong++;
            if (!found && !missing++) {
                first = need.features;
                first_dim = (int)need.dim;
            }
        }
    }
    if (!ok(!missing && !wrong, "%s, %s, type %d: %d needs, each with its kernel", gpu,
            select_op_name(op), dtype, needs))
        tap_diag("%d without one, first features %u, head dim %d; %d chosen wrongly", missing,
                 first, first_dim, wrong);
}

/* Each entry is the choice for some need: none is dead weight. */
static void test_use(const struct store *store, const struct select_index *index, const char *gpu)
{
    const uint32_t count = store->header->entry_count;
    unsigned char *used = calloc(count, 1);
    int idle = 0;
    for (unsigned op = 1; op < FORMAT_OP_END; op++)
        for (int dtype = AOTHIP_F32; dtype <= AOTHIP_BF16; dtype++)
            for (unsigned bits = 0; bits <= FORMAT_FEATURE_ALL; bits++)
                for (int i = 0; i < DIMS; i++) {
                    const struct select_need need = {(enum format_op)op, dtype, bits, dim_at(i)};
                    const int chosen = select_entry(index, &need);
                    if (chosen >= 0)
                        used[chosen] = 1;
                }
    for (uint32_t i = 0; i < count; i++)
        if (!used[i] && !idle++)
            tap_diag("%s is never chosen", store->entries[i].symbol);
    ok(!idle, "%s: each of %u entries is chosen for something", gpu, count);
    free(used);
}

static void test_gpu(const char *gpu)
{
    struct select_index *index;
    struct store store;
    struct status why;
    status_clear(&why);
    if (store_open(&store, IMAGES, gpu, &why)) {
        ok(0, "%s", why.text);
        return;
    }
    index = malloc(select_index_size(store.header->entry_count));
    select_index_fill(index, store.entries, store.header->entry_count);
    for (unsigned op = 1; op < FORMAT_OP_END; op++)
        for (int dtype = AOTHIP_F32; dtype <= AOTHIP_BF16; dtype++)
            test_op(&store, index, op, dtype, gpu);
    test_use(&store, index, gpu);
    free(index);
    store_close(&store);
}

int main(void)
{
    struct store_gpus gpus;
    struct status why;
    status_clear(&why);
    if (store_list_gpus(IMAGES, &gpus, &why) || !gpus.count)
        tap_skip_all("there are no images");
    for (size_t i = 0; i < gpus.count; i++)
        test_gpu(gpus.names[i]);
    free(gpus.names);
    return tap_done();
}
