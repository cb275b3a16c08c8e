/*
 * Which workgroup has which part of a launch (deal.h): every part is had once, the query heads of a
 * key head meet in as few of gfx942's XCDs as the numbers allow, and all XCDs have as much to do.
 * Then that the kernels, as shipped, follow it: launched with their first n workgroups, for each n,
 * they write one part more each time.
 */
#include "aothip/aothip.h"
#include "deal.h"
#include "device.h"
#include "plan.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS_MAX = 128, PARTS_MAX = 4096, DIM = 8, KEYS = 8, ROOMS = 5, SENTINEL = 0xff };

struct heads {
    unsigned q, k;
};

static struct attn_problem problem_of(struct heads heads)
{
    struct attn_problem a = {.heads_q = (int)heads.q, .heads_k = (int)heads.k};

    a.heads_x = a.heads_q;
    a.group = (int)(heads.q / heads.k);
    return a;
}

static unsigned greatest_divisor(unsigned a, unsigned b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

/* What a launch for `tiles` tiles of each of `batch` sequences comes to. */
struct outcome {
    bool whole;              /* each tile of each head is had by one workgroup */
    unsigned one, most;      /* key heads on one XCD; XCDs of the key head with most */
    unsigned largest, least; /* rows that XCDs have, where tile t of a causal mask has t + 1 */
};

static struct outcome deal_out(struct heads heads, unsigned tiles, unsigned batch, bool keys)
{
    struct attn_problem a = problem_of(heads);
    const unsigned workgroups = tiles * (keys ? heads.k : heads.q);
    struct outcome o = {.whole = true, .least = ~0u};
    unsigned work[DEAL_XCDS] = {0};

    a.heads_x = keys ? a.heads_k : a.heads_q;
    for (unsigned b = 0; b < batch; b++) {
        unsigned char seen[PARTS_MAX] = {0}, xcds[HEADS_MAX] = {0};
        for (unsigned x = 0; x < workgroups; x++) {
            const struct deal d = keys ? deal_keys(&a, x, b, 0) : deal_queries(&a, x, b, 0);
            const unsigned part = d.tile * (keys ? heads.k : heads.q) + (keys ? d.kv_head : d.part);
            const unsigned xcd = (b * workgroups + x) % DEAL_XCDS;
            if (part >= workgroups || seen[part]++ ||
                (!keys && d.part / (unsigned)a.group != d.kv_head)) {
                o.whole = false;
                return o;
            }
            xcds[d.kv_head] |= (unsigned char)(1u << xcd);
            work[xcd] += tiles - d.tile;
        }
        for (unsigned h = 0; h < heads.k; h++) {
            const unsigned n = (unsigned)__builtin_popcount(xcds[h]);
            o.one += n == 1;
            o.most = n > o.most ? n : o.most;
        }
    }
    for (int i = 0; i < DEAL_XCDS; i++) {
        o.largest = work[i] > o.largest ? work[i] : o.largest;
        o.least = work[i] < o.least ? work[i] : o.least;
    }
    return o;
}

/* One pair of numbers of heads, with many numbers of tiles and two of sequences. */
static void check_heads(struct heads heads)
{
    const unsigned whole = heads.k / DEAL_XCDS * DEAL_XCDS, rest = heads.k - whole;
    const unsigned most = rest ? DEAL_XCDS / greatest_divisor(rest, DEAL_XCDS) : 1;
    bool good = true;

    for (int keys = 0; keys < 2; keys++)
        for (unsigned tiles = 1; tiles <= 20; tiles += (unsigned)tap_one_in(4, 1))
            for (unsigned batch = 1; batch <= 3; batch += 2) {
                const struct outcome o = deal_out(heads, tiles, batch, keys);
                const unsigned row = keys ? heads.k : heads.q;
                /* A tile's workgroups differ by one between two XCDs at most. */
                const unsigned uneven = row % DEAL_XCDS ? batch * tiles * (tiles + 1) / 2 : 0;
                if (o.whole && o.one >= batch * whole && o.most <= most &&
                    o.largest - o.least <= uneven)
                    continue;
                good = false;
                tap_diag("%u tiles, %u sequences: whole %d, %u heads on one, most %u, work %u..%u",
                         tiles, batch, o.whole, o.one, o.most, o.least, o.largest);
            }
    ok(good, "%u/%u heads: %u key heads on one XCD each, the others on %u", heads.q, heads.k, whole,
       rest ? most : 0);
}

/* Tiles along z, heads of all sequences before them: each had once, a key head where it was. */
static void check_along_z(struct heads heads, unsigned batch)
{
    enum { TILES = 3 };
    const unsigned rest = heads.k % DEAL_XCDS;
    const unsigned most = rest ? DEAL_XCDS / greatest_divisor(rest, DEAL_XCDS) : 1;
    struct attn_problem a = problem_of(heads);
    bool good = true;

    a.batch = (int)batch;
    a.flags = KERNARG_TILES_ALONG_Z;
    for (int keys = 0; keys < 2; keys++) {
        const unsigned each = keys ? heads.k : heads.q, row = each * batch;
        unsigned char seen[PARTS_MAX] = {0}, xcds[PARTS_MAX] = {0};
        unsigned alone = 0;
        a.heads_x = (int)each;
        for (unsigned i = 0; good && i < TILES * row; i++) {
            const unsigned x = i % each, y = i / each % batch, z = i / row;
            const struct deal d = keys ? deal_keys(&a, x, y, z) : deal_queries(&a, x, y, z);
            const unsigned head = keys ? d.kv_head : d.part;
            good = d.tile == z && head < each &&
                   d.kv_head == (keys ? head : head / (unsigned)a.group) &&
                   !seen[(z * batch + y) * each + head]++;
            if (good)
                xcds[y * heads.k + d.kv_head] |= (unsigned char)(1u << i % DEAL_XCDS);
        }
        for (unsigned h = 0; h < heads.k * batch; h++) {
            alone += __builtin_popcount(xcds[h]) == 1;
            good = good && (unsigned)__builtin_popcount(xcds[h]) <= most;
        }
        good = good && alone >= (heads.k - rest) * batch;
    }
    ok(good, "%u/%u heads of %u sequences, tiles along z: each had once, %u key heads on one XCD",
       heads.q, heads.k, batch, (heads.k - rest) * batch);
}

/* All tiles of one key head and split on one XCD, but for the last few of those. */
static void check_splits(unsigned heads_k, unsigned splits, unsigned tiles)
{
    const struct attn_problem a = problem_of((struct heads){heads_k, heads_k});
    const unsigned units = heads_k * splits, whole = units / DEAL_XCDS * DEAL_XCDS;
    unsigned char seen[PARTS_MAX] = {0}, xcds[PARTS_MAX] = {0};
    bool good = true;

    for (unsigned x = 0; x < units * tiles; x++) {
        const struct deal d = deal_splits(&a, x, tiles, splits);
        const unsigned unit = d.kv_head * splits + d.part;
        good = good && unit < units && d.tile < tiles && !seen[d.tile * units + unit]++;
        if (good)
            xcds[unit] |= (unsigned char)(1u << x % DEAL_XCDS);
    }
    for (unsigned u = 0; u < whole; u++)
        good = good && __builtin_popcount(xcds[u]) == 1;
    ok(good, "%u key heads, %u splits, %u tiles: each had once, %u of %u runs of keys on one XCD",
       heads_k, splits, tiles, whole, units);
}

/* The kernels. */

static struct device_runtime runtime;
static struct aothip_context *context;

enum pass { FORWARD, DQ, DKDV };
static const char *const gpus[] = {"gfx942", "gfx90a", "gfx1100"};
static const char *const pass_names[] = {"forward", "dq", "dkdv"};

static struct aothip_tensor tensor(void *data, int dtype, unsigned heads, unsigned rows,
                                   unsigned batch)
{
    struct aothip_tensor t = {.data = data, .size = {batch, heads, rows, DIM}, .dtype = dtype};

    t.stride[3] = 1;
    t.stride[2] = DIM;
    t.stride[1] = t.stride[2] * rows;
    t.stride[0] = t.stride[1] * heads;
    return t;
}

struct trial {
    struct device device;
    struct plan plan;
    struct aothip_tensor written; /* what the last launch writes */
    char *memory, *host;          /* `written` on the device, at the end of memory; and here */
    size_t room, bytes;           /* of each tensor, of `written` */
};

/* A problem of `tiles` tiles of 128 rows or keys, whose launches are not launched yet. */
static enum aothip_status plan_pass(struct trial *t, enum pass pass, int dtype, struct heads heads,
                                    unsigned rows, unsigned batch, struct status *why)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 1};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &f};
    const unsigned rows_q = pass == DKDV ? KEYS : rows, rows_k = pass == DKDV ? rows : KEYS;
    struct validate_bwd checked;
    struct validate_fwd checked_fwd;
    char *at = t->memory;

    f.mask = batch > 1 ? AOTHIP_MASK_CAUSAL_TOP_LEFT : AOTHIP_MASK_NONE;
    f.q = tensor(at, dtype, heads.q, rows_q, batch);
    f.k = f.v = tensor(at, dtype, heads.k, rows_k, batch);
    f.o = tensor(at += t->room, dtype, heads.q, rows_q, batch);
    f.lse = (float *)(at += t->room);
    b.delta = (float *)(at += t->room);
    b.d_o = tensor(t->memory, dtype, heads.q, rows_q, batch);
    at += t->room;
    if (pass == DQ)
        b.dq = t->written = tensor(at, dtype, heads.q, rows_q, batch);
    else if (pass == DKDV)
        b.dk = t->written = tensor(at, dtype, heads.k, rows_k, batch);
    else
        f.o = t->written = tensor(at, dtype, heads.q, rows_q, batch);
    t->bytes = (size_t)t->written.stride[0] * batch * (dtype == AOTHIP_F32 ? 4 : 2);
    if (pass == FORWARD ? validate_attn_fwd(&f, &checked_fwd, why)
                        : validate_attn_bwd(&b, &checked, why))
        return why->code;
    if (plan_begin(&t->plan, context, t->device.stream, why))
        return why->code;
    return pass == FORWARD ? plan_attn_fwd(&t->plan, &checked_fwd, why)
                           : plan_attn_bwd(&t->plan, &checked, why);
}

/* Heads of all sequences. */
static unsigned heads_of(const struct aothip_tensor *t)
{
    return (unsigned)(t->size[0] * t->size[1]);
}

/* The tile and head whose first element is there, and was not known of; head major, or -1. */
static int find_new(const struct trial *t, unsigned char *known, unsigned tile_rows)
{
    const size_t element = t->written.dtype == AOTHIP_F32 ? 4 : 2;
    const unsigned tiles = (unsigned)t->written.size[2] / tile_rows;
    int found = -1;

    for (unsigned h = 0; h < heads_of(&t->written); h++)
        for (unsigned i = 0; i < tiles; i++) {
            const size_t at =
                ((size_t)h * (size_t)t->written.stride[1] + (size_t)i * tile_rows * DIM) * element;
            if ((unsigned char)t->host[at] == SENTINEL || known[h * tiles + i]++)
                continue;
            if (found >= 0)
                return -1;
            found = (int)(h * tiles + i);
        }
    return found;
}

/* What the last launch's workgroup has, as deal.h says. */
static struct deal deal_of(const struct trial *t, enum pass pass, bool xcds, unsigned x, unsigned y,
                           unsigned z)
{
    const struct plan_launch *launch = &t->plan.launches[t->plan.count - 1];
    const struct attn_problem *a = &launch->args.fwd.problem; /* all begin with it */
    const unsigned row = (unsigned)a->heads_x, head = x % row + z * (unsigned)a->heads_z;

    if (xcds)
        return pass == DKDV ? deal_keys(a, x, y, z) : deal_queries(a, x, y, z);
    return (struct deal){x / row + (a->flags & KERNARG_TILES_ALONG_Z ? z : 0), head, head};
}

/* Launches the first n workgroups of the last launch, for all n. */
static bool follow(struct trial *t, enum pass pass, bool xcds, struct status *why)
{
    struct plan_launch *launch = &t->plan.launches[t->plan.count - 1];
    const struct format_entry *entry = &t->plan.device->images->entries[launch->entry];
    const unsigned tile_rows = pass == DKDV ? entry->tile_k : entry->tile_q;
    const unsigned tiles = (unsigned)t->written.size[2] / tile_rows;
    const unsigned n = launch->grid.x * launch->grid.y * launch->grid.z;
    unsigned char known[PARTS_MAX] = {0};
    void *parameters[] = {&launch->args};

    memset(t->host, SENTINEL, t->bytes);
    if (n != tiles * heads_of(&t->written) ||
        device_upload(&t->device, t->written.data, t->host, t->bytes, why))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const unsigned x = i % launch->grid.x, y = i / launch->grid.x % launch->grid.y;
        const unsigned z = i / launch->grid.x / launch->grid.y;
        const struct deal d = deal_of(t, pass, xcds, x, y, z);
        const unsigned head =
            y * (unsigned)t->written.size[1] + (pass == DKDV ? d.kv_head : d.part);
        const unsigned tile = pass == DKDV ? d.tile : tiles - 1 - d.tile;
        int found;
        if (runtime.hip.module_launch_kernel(launch->function, x + 1, y + 1, z + 1,
                                             launch->grid.threads, 1, 1, 0, t->device.stream,
                                             parameters, NULL) ||
            device_finish(&t->device, why) ||
            device_download(&t->device, t->host, t->written.data, t->bytes, why))
            return false;
        found = find_new(t, known, tile_rows);
        if (found == (int)(head * tiles + tile))
            continue;
        tap_diag("workgroup %u has part %d, not head %u, tile %u", i, found, head, tile);
        return false;
    }
    return true;
}

static void split_heads(struct trial *t, unsigned runs)
{
    struct plan_launch *launch = &t->plan.launches[t->plan.count - 1];
    struct attn_problem *a = &launch->args.fwd.problem;

    a->grid_y = 0;
    a->heads_x = a->heads_z = a->heads_x / (int)runs;
    launch->grid.x /= runs;
    launch->grid.z = runs;
}

/* In `runs` runs of heads, as if the device were small enough; or the tiles of a batch along z. */
static void check_kernel(int number, enum pass pass, int dtype, struct heads heads, unsigned rows,
                         unsigned runs, unsigned batch)
{
    const char *gpu = gpus[number];
    struct status why = {0};
    struct trial t = {.room = (size_t)batch * heads.q * rows * DIM * 4};
    char *zeros = calloc(ROOMS, t.room);
    bool good;

    t.host = malloc(t.room);
    good = zeros && t.host && !device_open(&runtime, number, &t.device, &why) &&
           !device_alloc(&t.device, ROOMS * t.room, (void **)&t.memory, &why) &&
           !device_upload(&t.device, t.memory, zeros, ROOMS * t.room, &why) &&
           !plan_pass(&t, pass, dtype, heads, rows, batch, &why);
    if (good && runs > 1)
        split_heads(&t, runs);
    good = good && follow(&t, pass, strcmp(gpu, "gfx942") == 0, &why);
    if (!ok(good, "%s, %s of type %d, %u x %u/%u heads, %u rows, %u runs: the workgroups' order",
            gpu, pass_names[pass], dtype, batch, heads.q, heads.k, rows, runs))
        tap_diag("%s", why.text);
    plan_end(&t.plan);
    device_free(&t.device, t.memory);
    device_close(&t.device);
    free(t.host);
    free(zeros);
}

/* attn_split with groups of 20 heads and two rows, 40 of a key head: tiles of 16, or one of 64. */
enum { SPLIT_HEADS_K = 2, SPLIT_GROUP = 20, SPLIT_ROWS = 2, SPLITS = 5 };
enum { SPLIT_SUMS = SPLIT_HEADS_K * SPLIT_GROUP * SPLIT_ROWS * SPLITS, SPLIT_BYTES = 8 };

/* Whether what is there now and was not before are the sums of this part, and no others. */
static bool is_new(const unsigned char *now, unsigned char *known, const struct deal *d,
                   unsigned tile)
{
    for (unsigned head = 0; head < SPLIT_HEADS_K * SPLIT_GROUP; head++)
        for (unsigned row = 0; row < SPLIT_ROWS; row++)
            for (unsigned split = 0; split < SPLITS; split++) {
                const unsigned i = (head * SPLIT_ROWS + row) * SPLITS + split;
                const unsigned number = row * SPLIT_GROUP + head % SPLIT_GROUP;
                const bool mine = head / SPLIT_GROUP == d->kv_head && split == d->part &&
                                  number / tile == d->tile;
                const bool there = memcmp(now + SPLIT_BYTES * i, "\xff\xff\xff\xff\xff\xff\xff\xff",
                                          SPLIT_BYTES) != 0;
                if (there != (mine || known[i]))
                    return false;
                known[i] = there;
            }
    return true;
}

static bool follow_split(struct trial *t, bool xcds, struct status *why)
{
    struct plan_launch *launch = &t->plan.launches[0];
    const struct attn_problem a =
        problem_of((struct heads){SPLIT_HEADS_K * SPLIT_GROUP, SPLIT_HEADS_K});
    void *sums = (void *)(uintptr_t)launch->args.split.partial_sums,
         *parameters[] = {&launch->args};
    unsigned char now[SPLIT_SUMS * SPLIT_BYTES], known[SPLIT_SUMS] = {0};
    const unsigned tile = t->plan.device->images->entries[launch->entry].tile_q;
    const unsigned tiles = (SPLIT_GROUP * SPLIT_ROWS + tile - 1) / tile;

    memset(now, SENTINEL, sizeof(now));
    if (launch->grid.x != SPLIT_HEADS_K * SPLITS * tiles ||
        device_upload(&t->device, sums, now, sizeof(now), why))
        return false;
    for (unsigned x = 0; x < launch->grid.x; x++) {
        struct deal d = deal_splits(&a, x, tiles, SPLITS);
        if (!xcds)
            d = (struct deal){x / SPLITS / SPLIT_HEADS_K, x / SPLITS % SPLIT_HEADS_K, x % SPLITS};
        if (runtime.hip.module_launch_kernel(launch->function, x + 1, 1, 1, launch->grid.threads, 1,
                                             1, 0, t->device.stream, parameters, NULL) ||
            device_finish(&t->device, why) ||
            device_download(&t->device, now, sums, sizeof(now), why))
            return false;
        if (is_new(now, known, &d, tile))
            continue;
        tap_diag("workgroup %u has not key head %u, split %u, tile %u", x, d.kv_head, d.part,
                 d.tile);
        return false;
    }
    return true;
}

static void check_split_kernel(int number, int dtype)
{
    const char *gpu = gpus[number];
    const struct heads heads = {SPLIT_HEADS_K * SPLIT_GROUP, SPLIT_HEADS_K};
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 1, .splits = SPLITS};
    struct validate_fwd checked;
    struct status why = {0};
    struct trial t = {.room = 1 << 16};
    bool good = !device_open(&runtime, number, &t.device, &why) &&
                !device_alloc(&t.device, 4 * t.room, (void **)&t.memory, &why);

    if (good) {
        f.q = tensor(t.memory, dtype, heads.q, SPLIT_ROWS, 1);
        f.k = f.v = tensor(t.memory, dtype, heads.k, 256 * SPLITS, 1);
        f.o = tensor(t.memory + 2 * t.room, dtype, heads.q, SPLIT_ROWS, 1);
        f.workspace = t.memory + 3 * t.room;
        f.workspace_size = t.room;
    }
    good = good && !validate_attn_fwd(&f, &checked, &why) &&
           !plan_begin(&t.plan, context, t.device.stream, &why) &&
           !plan_attn_fwd(&t.plan, &checked, &why) &&
           follow_split(&t, strcmp(gpu, "gfx942") == 0, &why);
    if (!ok(good, "%s, split of type %d, %u/%u heads: the workgroups' order", gpu, dtype, heads.q,
            heads.k))
        tap_diag("%s", why.text);
    plan_end(&t.plan);
    device_free(&t.device, t.memory);
    device_close(&t.device);
}

static int check_kernels(void)
{
    struct status why = {0};

    /* The library is in the program, which so finds neither beside it. */
    setenv("AOTHIP_HIP_LIBRARY", "tools/emu/.libs/libhipemu.so", 1);
    setenv("AOTHIP_EMU_GPU", "gfx942,gfx90a,gfx1100", 1);
    if (device_open_runtime(&runtime, &why) || aothip_open("images/aotriton.images", &context)) {
        printf("Bail out! %s\n", why.code ? why.text : aothip_last_error());
        return 99;
    }
    for (int i = 0; i < 3; i++) {
        if (aothip_check_device(context, i) == AOTHIP_E_NO_IMAGES)
            continue;
        check_kernel(i, FORWARD, AOTHIP_F16, (struct heads){14, 2}, 256, 1, 1);
        check_split_kernel(i, AOTHIP_F16);
        if (i == 1)
            continue;
        check_kernel(i, FORWARD, AOTHIP_BF16, (struct heads){20, 10}, 256, i ? 5 : 1, 1);
        check_kernel(i, FORWARD, AOTHIP_F32, (struct heads){18, 9}, 128, i ? 3 : 1, 1);
        check_kernel(i, DQ, AOTHIP_F16, (struct heads){20, 10}, 256, i ? 5 : 1, 1);
        check_kernel(i, DQ, AOTHIP_F32, (struct heads){18, 9}, 128, i ? 9 : 1, 1);
        check_kernel(i, DKDV, AOTHIP_F16, (struct heads){11, 11}, 256, i ? 11 : 1, 1);
        check_kernel(i, DKDV, AOTHIP_F32, (struct heads){10, 10}, 128, i ? 2 : 1, 1);
        for (int dtype = 0; dtype < 2; dtype++) {
            const int type = dtype ? AOTHIP_F32 : AOTHIP_BF16;
            check_kernel(i, FORWARD, type, (struct heads){6, 3}, 256, 1, 5);
            check_kernel(i, DQ, type, (struct heads){8, 2}, 128, 1, 3);
            check_kernel(i, DKDV, type, (struct heads){10, 5}, 128, 1, 3);
        }
    }
    aothip_close(context);
    return 0;
}

int main(void)
{
    static const struct heads common[] = {
        {28, 4}, {64, 8},  {14, 2},  {32, 8},  {40, 8},  {48, 16}, {32, 32}, {8, 1},
        {71, 1}, {12, 12}, {24, 12}, {25, 25}, {10, 10}, {20, 20}, {9, 3},   {6, 6},
        {7, 7},  {16, 2},  {96, 8},  {128, 8}, {30, 15}, {36, 9},
    };

    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
        check_heads(common[i]);
    for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
        for (unsigned batch = 2; batch <= 8; batch += 3)
            check_along_z(common[i], batch);
    check_splits(8, 3, 5);
    check_splits(1, 64, 5);
    check_splits(2, 7, 3);
    check_splits(3, 5, 1);
    return check_kernels() ? 99 : tap_done();
}
