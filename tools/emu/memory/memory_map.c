/* Keeps the map of device memory: allocation, snapshots, lookup, and what a bad address is near. */
#include "memory_map.h"
#include "memory_report.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FREED = 64 };

/* Blocks up to this size get their pages at once: page faults took 4 % of a short launch's time. */
#define POPULATED (UINT64_C(4) << 20)

/* Address space is reserved in pieces of this size; smaller ones when the system refuses. */
static const uint64_t reserve_bytes = UINT64_C(1) << 38;
static const uint64_t device_total = UINT64_C(64) << 30;

struct emu_snapshot {
    atomic_uint refs;
    size_t count;
    struct emu_block **blocks;
    uint64_t *bases;
};

struct freed {
    uint64_t base, size, serial;
};

static struct {
    pthread_mutex_t lock;
    struct emu_snapshot *current;
    uint64_t arena, arena_end; /* unused part of the reservation */
    uint64_t serial;
    uint64_t used[EMU_MAX_DEVICES];
    struct freed freed[FREED]; /* ring, for reports of stale pointers */
    unsigned nfreed;
    bool track;
} map = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t view_serial = 1;
_Thread_local struct emu_mem_cache emu_mem_cached;

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

void emu_mem_track(bool on)
{
    pthread_mutex_lock(&map.lock);
    map.track = on;
    pthread_mutex_unlock(&map.lock);
}

static void block_release(struct emu_block *b)
{
    if (atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    if (b->mapping)
        munmap(b->mapping, b->mapping_size);
    if (b->init)
        munmap(b->init, round_up(b->size, PAGE));
    free(b);
}

static void snapshot_release(struct emu_snapshot *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    for (size_t i = 0; i < s->count; i++)
        block_release(s->blocks[i]);
    free(s->blocks);
    free(s->bases);
    free(s);
}

static struct emu_snapshot *snapshot_new(size_t count)
{
    struct emu_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->blocks = calloc(count + 1, sizeof *s->blocks);
    s->bases = calloc(count + 1, sizeof *s->bases);
    if (!s->blocks || !s->bases) {
        free(s->blocks);
        free(s->bases);
        free(s);
        return NULL;
    }
    atomic_init(&s->refs, 1);
    return s;
}

static void snapshot_add(struct emu_snapshot *s, struct emu_block *b)
{
    s->blocks[s->count] = b;
    s->bases[s->count++] = b->base;
}

/* Index of the first block whose base is above addr. */
static size_t above(const uint64_t *bases, size_t count, uint64_t addr)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (bases[mid] <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct emu_block *block_at(const struct emu_snapshot *s, uint64_t addr)
{
    size_t i = s ? above(s->bases, s->count, addr) : 0;
    if (i == 0)
        return NULL;
    struct emu_block *b = s->blocks[i - 1];
    return addr - b->base < b->size ? b : NULL;
}

/* Publishes a copy of the current snapshot with `add`, or without `drop`. Lock held. */
static bool republish(struct emu_block *add, const struct emu_block *drop)
{
    struct emu_snapshot *old = map.current, *s = snapshot_new((old ? old->count : 0) + 1);
    if (!s)
        return false;
    bool added = add == NULL;
    for (size_t i = 0; old && i < old->count; i++) {
        struct emu_block *b = old->blocks[i];
        if (b == drop)
            continue;
        if (!added && add->base < b->base) {
            snapshot_add(s, add);
            added = true;
        }
        atomic_fetch_add(&b->refs, 1);
        snapshot_add(s, b);
    }
    if (!added)
        snapshot_add(s, add);
    map.current = s;
    snapshot_release(old);
    return true;
}

/* Device addresses for n bytes with an unused page on both sides. Lock held; 0 when none left. */
static uint64_t take_addresses(uint64_t n)
{
    uint64_t want = round_up(n, PAGE) + 2 * PAGE;
    if (map.arena_end - map.arena < want) {
        uint64_t size = want > reserve_bytes ? round_up(want, reserve_bytes) : reserve_bytes;
        void *p = MAP_FAILED;
        for (; p == MAP_FAILED && size >= want; size /= 4) {
            p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (p != MAP_FAILED) {
                map.arena = (uint64_t)(uintptr_t)p;
                map.arena_end = map.arena + size;
            }
        }
        if (p == MAP_FAILED)
            return 0;
    }
    uint64_t base = map.arena + PAGE;
    /* The page after this block is the page before the next one. */
    map.arena += want - PAGE;
    return base;
}

static void *map_pages(size_t size, int prot)
{
    int populate = prot != PROT_NONE && size <= POPULATED ? MAP_POPULATE : 0;
    void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | populate, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool host_visible(enum emu_block_kind kind)
{
    return kind == EMU_BLOCK_HOST || kind == EMU_BLOCK_MANAGED || kind == EMU_BLOCK_REGISTERED;
}

/* Host-visible memory: guard pages on both sides, the end flush with the rear one up to the
 * 64-byte alignment that hipHostMalloc's callers may expect. */
static bool back_host_visible(struct emu_block *b)
{
    size_t body = round_up(b->size, PAGE);
    b->mapping_size = body + 2 * PAGE;
    b->mapping = map_pages(b->mapping_size, PROT_NONE);
    if (!b->mapping)
        return false;
    uint8_t *start = (uint8_t *)b->mapping + PAGE;
    if (mprotect(start, body, PROT_READ | PROT_WRITE) != 0)
        return false;
    b->host = start + (body - round_up(b->size, 64));
    b->base = (uint64_t)(uintptr_t)b->host;
    return true;
}

/* False: no memory for it. */
static bool track(struct emu_block *b)
{
    if (!map.track || b->kind != EMU_BLOCK_DEVICE)
        return true;
    b->init = map_pages(round_up(b->size, PAGE), PROT_READ | PROT_WRITE);
    return b->init != NULL;
}

static bool back_device(struct emu_block *b)
{
    b->mapping_size = round_up(b->size, PAGE);
    b->mapping = map_pages(b->mapping_size, PROT_READ | PROT_WRITE);
    b->host = b->mapping;
    b->base = take_addresses(b->size);
    if (!b->mapping || !b->base)
        return false;
    return track(b);
}

struct emu_block *emu_mem_alloc(enum emu_block_kind kind, int device, uint64_t size, unsigned flags)
{
    if (size == 0 || size > device_total)
        return NULL;
    struct emu_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct emu_block){
        .size = size,
        .kind = kind,
        .flags = flags,
        .device = host_visible(kind) ? EMU_ANY_DEVICE : device,
    };
    atomic_init(&b->refs, 1);
    pthread_mutex_lock(&map.lock);
    b->serial = ++map.serial;
    bool counted = kind == EMU_BLOCK_DEVICE;
    bool ok = !counted || map.used[device] + size <= device_total;
    ok = ok && (host_visible(kind) ? back_host_visible(b) : back_device(b)) && republish(b, NULL);
    if (ok && counted)
        map.used[device] += size;
    pthread_mutex_unlock(&map.lock);
    if (!ok) {
        block_release(b);
        return NULL;
    }
    return b;
}

/* Takes the block, which is the caller's choice of addresses; NULL when it overlaps another. */
static struct emu_block *insert(struct emu_block *b)
{
    atomic_init(&b->refs, 1);
    pthread_mutex_lock(&map.lock);
    b->serial = ++map.serial;
    const struct emu_snapshot *s = map.current;
    size_t i = s ? above(s->bases, s->count, b->base) : 0;
    bool ok = (i == 0 || b->base - s->bases[i - 1] >= s->blocks[i - 1]->size) &&
              (!s || i == s->count || s->bases[i] - b->base >= b->size) && track(b) &&
              republish(b, NULL);
    if (ok && b->kind == EMU_BLOCK_DEVICE)
        map.used[b->device] += b->size;
    pthread_mutex_unlock(&map.lock);
    if (!ok) {
        block_release(b);
        return NULL;
    }
    return b;
}

struct emu_block *emu_mem_place(enum emu_block_kind kind, int device, uint64_t base, void *host,
                                uint64_t size, bool owned)
{
    struct emu_block *b = calloc(1, sizeof *b);
    if (!b) {
        if (owned)
            munmap(host, size);
        return NULL;
    }
    *b = (struct emu_block){
        .base = base,
        .size = size,
        .host = host,
        .kind = kind,
        .device = host_visible(kind) ? EMU_ANY_DEVICE : device,
        .mapping = owned ? host : NULL,
        .mapping_size = owned ? size : 0,
    };
    return insert(b);
}

struct emu_block *emu_mem_register(void *host, uint64_t size, unsigned flags)
{
    uint64_t base = (uint64_t)(uintptr_t)host;
    if (!host || size == 0 || base + size < base)
        return NULL;
    struct emu_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    *b = (struct emu_block){
        .base = base,
        .size = size,
        .host = host,
        .kind = EMU_BLOCK_REGISTERED,
        .flags = flags,
        .device = EMU_ANY_DEVICE,
    };
    return insert(b);
}

/* Lock held. */
static bool drop_block(struct emu_block *b)
{
    if (b->kind == EMU_BLOCK_DEVICE)
        map.used[b->device] -= b->size;
    /* Addresses of host memory come back for other uses; those of device memory never do. */
    if (!host_visible(b->kind))
        map.freed[map.nfreed++ % FREED] = (struct freed){b->base, b->size, b->serial};
    return republish(NULL, b);
}

bool emu_mem_free(uint64_t base, unsigned kinds)
{
    pthread_mutex_lock(&map.lock);
    struct emu_block *b = block_at(map.current, base);
    bool ok = b && b->base == base && (kinds >> b->kind & 1) && drop_block(b);
    pthread_mutex_unlock(&map.lock);
    return ok;
}

void emu_mem_reset(int device)
{
    pthread_mutex_lock(&map.lock);
    for (size_t i = 0; map.current && i < map.current->count;) {
        struct emu_block *b = map.current->blocks[i];
        if (b->device != device || b->kind != EMU_BLOCK_DEVICE || !drop_block(b))
            i++;
    }
    pthread_mutex_unlock(&map.lock);
}

bool emu_mem_query(uint64_t addr, struct emu_block *out)
{
    pthread_mutex_lock(&map.lock);
    const struct emu_block *b = block_at(map.current, addr);
    if (b) {
        *out = (struct emu_block){.base = b->base,
                                  .size = b->size,
                                  .host = b->host,
                                  .init = b->init,
                                  .device = b->device,
                                  .kind = b->kind,
                                  .flags = b->flags,
                                  .serial = b->serial};
    }
    pthread_mutex_unlock(&map.lock);
    return b != NULL;
}

uint64_t emu_mem_used(int device)
{
    pthread_mutex_lock(&map.lock);
    uint64_t n = map.used[device];
    pthread_mutex_unlock(&map.lock);
    return n;
}

uint64_t emu_mem_total(void)
{
    return device_total;
}

struct emu_memory *emu_mem_view(int device, uint32_t access)
{
    struct emu_memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    pthread_mutex_lock(&map.lock);
    struct emu_snapshot *s = map.current;
    if (s) {
        atomic_fetch_add(&s->refs, 1);
        *m = (struct emu_memory){
            .snapshot = s, .blocks = s->blocks, .bases = s->bases, .count = s->count};
    }
    pthread_mutex_unlock(&map.lock);
    m->serial = atomic_fetch_add(&view_serial, 1);
    m->access = access | 1u << device;
    m->device = device;
    return m;
}

void emu_mem_unview(struct emu_memory *m)
{
    if (!m)
        return;
    snapshot_release((struct emu_snapshot *)m->snapshot);
    free(m);
}

static bool accessible(const struct emu_memory *m, const struct emu_block *b)
{
    return b->device == EMU_ANY_DEVICE || (m->access >> b->device & 1);
}

const struct emu_block *emu_mem_lookup(const struct emu_memory *m, uint64_t addr)
{
    size_t i = above(m->bases, m->count, addr);
    if (i == 0)
        return NULL;
    const struct emu_block *b = m->blocks[i - 1];
    if (addr - b->base >= b->size || !accessible(m, b))
        return NULL;
    emu_mem_cached = (struct emu_mem_cache){m->serial, b};
    return b;
}

bool emu_mem_explain_freed(uint64_t addr, char *buf, size_t len)
{
    bool found = false;
    pthread_mutex_lock(&map.lock);
    for (unsigned i = 0; i < FREED && !found; i++) {
        const struct freed *f = &map.freed[i];
        found = f->size && addr - f->base < f->size;
        if (found)
            snprintf(buf, len,
                     "inside allocation #%" PRIu64 " (0x%" PRIx64 ", %" PRIu64
                     " bytes), which was freed",
                     f->serial, f->base, f->size);
    }
    pthread_mutex_unlock(&map.lock);
    return found;
}

void emu_mem_explain(const struct emu_memory *m, uint64_t addr, uint64_t n, char *buf, size_t len)
{
    size_t i = above(m->bases, m->count, addr);
    const struct emu_block *below = i ? m->blocks[i - 1] : NULL;
    const struct emu_block *next = i < m->count ? m->blocks[i] : NULL;
    if (below && addr - below->base < below->size) {
        if (!accessible(m, below))
            snprintf(buf, len, "inside allocation #%" PRIu64 " of device %d, and this is device %d",
                     below->serial, below->device, m->device);
        else
            emu_mem_print_block(buf, len, "ends ", addr + n - below->base - below->size,
                                "past the end of", below);
        return;
    }
    if (emu_mem_explain_freed(addr, buf, len))
        return;
    uint64_t after = below ? addr - below->base - below->size : UINT64_MAX;
    uint64_t before = next ? next->base - addr : UINT64_MAX;
    if (after <= before && after < 1u << 20)
        emu_mem_print_block(buf, len, "begins ", after, "past the end of", below);
    else if (before < 1u << 20)
        emu_mem_print_block(buf, len, "begins ", before, "before", next);
    else
        snprintf(buf, len, "not near any allocation");
}
