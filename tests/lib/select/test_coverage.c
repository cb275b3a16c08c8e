/*
 * Selection over the built images: every legal problem has a kernel on each GPU, and exactly one is
 * chosen, whatever the operation, type, head dim and features.
 */
#include <stdlib.h>
#include <string.h>

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
            entry->dim_min > need->dim || (entry->dim_v_max && entry->dim_v_max < need->dim_v) ||
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

/*
 * Pages have no backward pass. Caches of FP8 are read and appended to by problems of 16-bit types,
 * on RDNA 3 of more than 256 channels only where keys are shared out.
 */
static int is_legal(const struct select_need *need, const char *gpu)
{
    const int is_fwd = need->op == FORMAT_OP_ATTN_FWD;
    if (need->op >= FORMAT_OP_ATTN_BWD_DELTA && need->features & FORMAT_FEATURE_PAGED)
        return 0;
    if (!(need->features & FORMAT_FEATURE_FP8_CACHE))
        return 1;
    if (need->dtype == AOTHIP_F32 || (is_fwd && need->dim > 256 && !strncmp(gpu, "gfx11", 5)))
        return 0;
    return is_fwd || need->op == FORMAT_OP_ATTN_SPLIT || need->op == FORMAT_OP_ATTN_APPEND;
}

/* All features and head dims of one operation and type. */
/* Whether others serve all problems: those of the deterministic form. */
static int is_special(unsigned op)
{
    return op == FORMAT_OP_ATTN_BWD_FUSED || op == FORMAT_OP_ATTN_BWD_BEGIN;
}

static void test_op(const struct store *store, const struct select_index *index, unsigned op,
                    int dtype, const char *gpu)
{
    int missing = 0, wrong = 0, needs = 0, first_dim = 0;
    uint32_t first = 0;
    for (unsigned bits = 0; bits <= FORMAT_FEATURE_ALL; bits++) {
        struct select_need need = {(enum format_op)op, dtype, bits, 0, 0};
        for (int i = 0; i < DIMS; i++) {
            need.dim = dim_at(i);
            need.dim_v = i % 3 && need.dim > 128 ? 128 : need.dim;
            if (!is_legal(&need, gpu))
                continue;
            needs++;
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

/* Whether another entry, which is used, is for the same problems, so that a table chooses, or how
 * many rows there are. */
static int is_choice(const struct store *store, uint32_t entry, const unsigned char *used)
{
    const struct format_entry *const entries = store->entries, *const it = &entries[entry];
    for (uint32_t i = 0; i < store->header->entry_count; i++)
        if (used[i] && (it->op == FORMAT_OP_ATTN_FWD || it->op == FORMAT_OP_ATTN_SPLIT) &&
            entries[i].op == it->op && entries[i].dtype == it->dtype &&
            entries[i].dim_max == it->dim_max && entries[i].features == it->features &&
            entries[i].tile_q != it->tile_q)
            return 1;
    return 0;
}

/* Each entry is the choice for some need, or one of several: none is dead weight. */
static void test_use(const struct store *store, const struct select_index *index, const char *gpu)
{
    const uint32_t count = store->header->entry_count;
    unsigned char *used = calloc(count, 1);
    int idle = 0;
    for (unsigned op = 1; op < FORMAT_OP_END; op++)
        for (int dtype = AOTHIP_F32; dtype <= AOTHIP_FP8_E5M2_FNUZ; dtype++)
            for (unsigned bits = 0; bits <= FORMAT_FEATURE_ALL; bits++)
                for (int i = 0; i < DIMS; i++) {
                    const struct select_need need = {(enum format_op)op, dtype, bits, dim_at(i),
                                                     i % 3 && dim_at(i) > 128 ? 128 : dim_at(i)};
                    const int chosen = select_entry(index, &need);
                    if (chosen >= 0)
                        used[chosen] = 1;
                }
    for (uint32_t i = 0; i < count; i++)
        if (!used[i] && !is_choice(store, i, used) && !idle++)
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
    select_index_fill(index, store.entries, NULL, store.header->entry_count);
    for (unsigned op = 1; op < FORMAT_OP_END; op++)
        for (int dtype = AOTHIP_F32; dtype <= AOTHIP_BF16 && !is_special(op); dtype++)
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
