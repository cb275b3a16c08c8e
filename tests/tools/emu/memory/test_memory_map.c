/* The map of device memory: allocation, ownership, bounds, views, stale addresses, poison. */
#include "memory_map.h"
#include "tap.h"

static char why[512];

static const char *explain(const struct emu_memory *m, uint64_t addr, uint64_t n)
{
    why[0] = 0;
    emu_mem_explain(m, addr, n, why, sizeof why);
    return why;
}

static void bounds(void)
{
    struct emu_block *b = emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 1000, 7);
    struct emu_block copy;
    ok(b && b->base % 256 == 0, "a block of 1000 bytes");
    struct emu_memory *m = emu_mem_view(0, 0);
    ok(emu_mem_find(m, b->base, 1000) == b, "its first and last byte");
    ok(emu_mem_find(m, b->base + 999, 1) == b, "its last byte");
    ok(!emu_mem_find(m, b->base + 999, 2), "one byte past the end");
    ok(!emu_mem_find(m, b->base - 1, 1), "one byte before the start");
    ok(!emu_mem_find(m, b->base, UINT64_MAX), "a length that would wrap");
    contains(explain(m, b->base + 999, 4), "ends 3 bytes past the end", "how far it goes");
    contains(explain(m, b->base + 1003, 4), "begins 3 bytes past the end", "how far behind");
    contains(explain(m, b->base - 8, 4), "begins 8 bytes before", "how far in front");
    contains(explain(m, 64, 4), "not near any", "far away");
    ok(emu_mem_query(b->base + 500, &copy) && copy.base == b->base && copy.flags == 7, "query");
    is_int(emu_mem_used(0), 1000, "used");
    uint64_t base = b->base;
    ok(!emu_mem_free(base + 1, ~0u), "free inside a block is refused");
    ok(!emu_mem_free(base, 1u << EMU_BLOCK_HOST), "free as another kind is refused");
    ok(emu_mem_free(base, 1u << EMU_BLOCK_DEVICE), "free");
    ok(!emu_mem_free(base, ~0u), "free twice is refused");
    is_int(emu_mem_used(0), 0, "nothing used");
    ok(emu_mem_find(m, base, 4) == b, "a view keeps what it has seen");
    b->host[999] = 1;
    emu_mem_unview(m);
    m = emu_mem_view(0, 0);
    ok(!emu_mem_find(m, base, 4), "a new view does not");
    contains(explain(m, base + 8, 4), "was freed", "a stale address");
    emu_mem_unview(m);
    ok(!emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 0, 0), "no empty block");
    ok(!emu_mem_alloc(EMU_BLOCK_DEVICE, 0, emu_mem_total() + 1, 0), "no block beyond the device");
}

static void owners(void)
{
    struct emu_block *mine = emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 64, 0);
    struct emu_block *theirs = emu_mem_alloc(EMU_BLOCK_DEVICE, 1, 64, 0);
    struct emu_block *pinned = emu_mem_alloc(EMU_BLOCK_HOST, 1, 64, 0);
    char area[192], *host = area + 64;
    struct emu_block *known = emu_mem_register(host, 64, 0);
    struct emu_memory *alone = emu_mem_view(0, 0), *peers = emu_mem_view(0, 1u << 1);
    ok(emu_mem_find(alone, mine->base, 64) == mine, "own memory");
    ok(!emu_mem_find(alone, theirs->base, 64), "memory of another device");
    contains(explain(alone, theirs->base, 4), "of device 1, and this is device 0", "whose it is");
    ok(emu_mem_find(peers, theirs->base, 64) == theirs, "memory of a peer");
    ok(emu_mem_find(alone, pinned->base, 64) == pinned, "pinned memory");
    ok((void *)pinned->host == (void *)(uintptr_t)pinned->base, "has its host address");
    ok(emu_mem_find(alone, (uintptr_t)host, 64) == known, "registered memory");
    ok(!emu_mem_register(host + 32, 64, 0), "an overlap is refused");
    ok(!emu_mem_register(host - 32, 64, 0), "on either side");
    emu_mem_unview(alone);
    emu_mem_unview(peers);
    uint64_t gone = mine->base;
    emu_mem_reset(0);
    struct emu_block copy;
    ok(!emu_mem_query(gone, &copy), "reset frees the device's memory");
    ok(emu_mem_query(theirs->base, &copy), "and no other's");
    ok(emu_mem_free(theirs->base, ~0u) && emu_mem_free(pinned->base, ~0u) &&
           emu_mem_free((uintptr_t)host, ~0u),
       "free all");
}

static void poison(void)
{
    struct emu_block *a = emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 256, 0);
    struct emu_block *b = emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 256, 0);
    char err[256] = "", host[64] = {0};
    ok(a->init && a->init[0] == 0 && a->init[255] == 0, "fresh memory is poison");
    ok(emu_mem_fill(a->base + 4, 0x11223344, 4, 3, err, sizeof err), "fill three words");
    ok(!a->init[3] && a->init[4] == 0xff && a->init[15] == 0xff && !a->init[16],
       "exactly those are initialised");
    is_int(a->host[4], 0x44, "with the value");
    ok(emu_mem_copy(b->base, a->base, 8, err, sizeof err), "copy between blocks");
    ok(!b->init[3] && b->init[4] == 0xff, "copies the poison too");
    ok(emu_mem_copy(a->base, (uintptr_t)host, 8, err, sizeof err) && a->init[0] == 0xff,
       "host memory is never poison");
    ok(!emu_mem_copy(a->base + 200, (uintptr_t)host, 57, err, sizeof err), "copy past the end");
    contains(err, "1 bytes past the end", "says how far");
    ok(!emu_mem_copy(0, (uintptr_t)host, 4, err, sizeof err), "copy to null");
    ok(emu_mem_free(a->base, ~0u) && emu_mem_free(b->base, ~0u), "free");
}

/* Thousands of blocks: every one is found, in any order of release. */
static void many(void)
{
    enum { N = 500 };
    uint64_t base[N];
    unsigned bad = 0;
    for (unsigned i = 0; i < N; i++) {
        struct emu_block *b = emu_mem_alloc(EMU_BLOCK_DEVICE, 0, 16 + i * 37 % 9000, 0);
        if (!b)
            abort();
        base[i] = b->base;
    }
    for (unsigned i = 0; i < N; i += 2)
        bad += !emu_mem_free(base[i], ~0u);
    struct emu_memory *m = emu_mem_view(0, 0);
    for (unsigned i = 0; i < N; i++)
        bad += (emu_mem_find(m, base[i] + 15, 1) != NULL) != (i % 2 == 1);
    emu_mem_unview(m);
    for (unsigned i = 1; i < N; i += 2)
        bad += !emu_mem_free(base[i], ~0u);
    is_int(bad, 0, "500 blocks, half of them freed");
    is_int(emu_mem_used(0), 0, "nothing used");
}

int main(void)
{
    emu_mem_track(true);
    bounds();
    owners();
    poison();
    many();
    return tap_done();
}
