/*
 * Memory that the driver gives out. All of it lies in one file without a name, whose offsets are
 * what the driver tells the thunk to map. A buffer that is mapped to a GPU is a block of the
 * emulator's map, at the address that the thunk chose; memory of the caller is mapped in place.
 */
#include "kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_interface.h"

#include "memory_map.h"

enum { MAP_KINDS = 1 << EMU_BLOCK_DEVICE | 1 << EMU_BLOCK_REGISTERED };

struct buffer {
    uint64_t address, size, offset;
    uint8_t *user; /* the caller's memory; NULL: in the file */
    unsigned gpu;
    uint32_t flags, mapped; /* a bit for each GPU */
    bool live;
};

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    int file;
    uint64_t *doorbells[KFD_MAX_GPUS];
    uint64_t end; /* of the used part of the file */
    struct buffer *buffers;
    size_t count;
    uint64_t used[KFD_MAX_GPUS];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/*
 * The file is as long as addresses reach; only touched pages cost anything. The doorbells of a GPU
 * begin at a multiple of doorbell_step: the thunk takes the low 32 bits of a doorbell's offset as
 * the place within its page.
 */
static const off_t file_bytes = (off_t)1 << 46;
static const uint64_t doorbell_step = UINT64_C(1) << 40;

static void make_file(void)
{
    bool good = false;
    memory.file = memfd_create("kfd", MFD_CLOEXEC);
    if (memory.file >= 0 && ftruncate(memory.file, file_bytes) == 0)
        good = true;
    for (unsigned i = 0; good && i < KFD_MAX_GPUS; i++) {
        void *p = mmap(NULL, KFD_DOORBELLS, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file,
                       (off_t)kfd_doorbell_offset(i, 0));
        good = p != MAP_FAILED;
        memory.doorbells[i] = p;
    }
    if (!good) {
        kfd_say("cannot make the file for the GPUs' memory");
        abort();
    }
    memory.end = kfd_doorbell_offset(KFD_MAX_GPUS, 0);
}

int kfd_memory_file(void)
{
    pthread_once(&memory.once, make_file);
    return memory.file;
}

uint64_t kfd_doorbell_offset(unsigned gpu, unsigned slot)
{
    return doorbell_step * (gpu + 1) + slot * sizeof(uint64_t);
}

volatile uint64_t *kfd_doorbell(unsigned gpu, unsigned slot)
{
    kfd_memory_file();
    return memory.doorbells[gpu] + slot;
}

uint64_t kfd_memory_total(void)
{
    return emu_mem_total();
}

uint64_t kfd_memory_available(unsigned gpu)
{
    pthread_mutex_lock(&memory.lock);
    uint64_t n = kfd_memory_total() - memory.used[gpu];
    pthread_mutex_unlock(&memory.lock);
    return n;
}

static bool is_local(const struct buffer *b)
{
    return b->flags & KFD_MEM_VRAM;
}

/* Lock held. Handles are indices from 1. */
static struct buffer *buffer_new(uint64_t *handle)
{
    size_t i = 0;
    while (i < memory.count && memory.buffers[i].live)
        i++;
    if (i == memory.count) {
        struct buffer *more = realloc(memory.buffers, (i + 1) * sizeof *more);
        if (!more)
            return NULL;
        memory.buffers = more;
        memory.count++;
    }
    *handle = i + 1;
    memory.buffers[i] = (struct buffer){.live = true};
    return &memory.buffers[i];
}

static struct buffer *buffer_find(uint64_t handle)
{
    bool live = handle && handle <= memory.count && memory.buffers[handle - 1].live;
    return live ? &memory.buffers[handle - 1] : NULL;
}

/* Doorbells lie at their own place in the file; all else follows what was given out before. */
static uint64_t place(const struct kfd_alloc_memory *a, unsigned gpu)
{
    uint64_t offset = memory.end;
    if (a->flags & KFD_MEM_DOORBELL)
        return kfd_doorbell_offset(gpu, 0);
    memory.end += (a->size + KFD_PAGE - 1) / KFD_PAGE * KFD_PAGE;
    return offset;
}

int kfd_memory_alloc(struct kfd_alloc_memory *a)
{
    int gpu = kfd_gpu_index(a->gpu_id), result = 0;
    bool user = a->flags & KFD_MEM_USERPTR;
    if (gpu < 0 || !a->size || a->address % KFD_PAGE)
        return -EINVAL;
    kfd_memory_file();
    pthread_mutex_lock(&memory.lock);
    if (a->flags & KFD_MEM_VRAM && a->size > kfd_memory_total() - memory.used[gpu]) {
        result = -ENOMEM;
    } else {
        uint64_t handle;
        struct buffer *b = buffer_new(&handle);
        if (!b) {
            result = -ENOMEM;
        } else {
            b->address = a->address;
            b->size = a->size;
            b->gpu = (unsigned)gpu;
            b->flags = a->flags;
            b->user = user ? (uint8_t *)(uintptr_t)a->mmap_offset : NULL;
            b->offset = user ? 0 : place(a, (unsigned)gpu);
            if (is_local(b))
                memory.used[gpu] += b->size;
            a->handle = handle;
            if (!user)
                a->mmap_offset = b->offset;
        }
    }
    pthread_mutex_unlock(&memory.lock);
    kfd_log("memory: %llu bytes at 0x%llx, flags 0x%x, %s", (unsigned long long)a->size,
            (unsigned long long)a->address, a->flags, result ? "refused" : "given");
    return result;
}

static void hide(struct buffer *b)
{
    if (b->mapped)
        emu_mem_free(b->address, MAP_KINDS);
    b->mapped = 0;
}

int kfd_memory_free(uint64_t handle)
{
    pthread_mutex_lock(&memory.lock);
    struct buffer *b = buffer_find(handle);
    if (b) {
        hide(b);
        if (is_local(b))
            memory.used[b->gpu] -= b->size;
        if (!b->user && !(b->flags & KFD_MEM_DOORBELL))
            fallocate(memory.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)b->offset,
                      (off_t)b->size);
        b->live = false;
    }
    pthread_mutex_unlock(&memory.lock);
    return b ? 0 : -EINVAL;
}

/* Makes a block of it; the mapping of the file is the block's own, for launches that still run. */
static bool show(struct buffer *b)
{
    uint8_t *host = b->user;
    if (!host) {
        void *p = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       memory.file, (off_t)b->offset);
        if (p == MAP_FAILED)
            return false;
        host = p;
    }
    enum emu_block_kind kind = is_local(b) ? EMU_BLOCK_DEVICE : EMU_BLOCK_REGISTERED;
    if (is_local(b) && emu_settings()->strict &&
        !kfd_show_host(b->address, b->size, memory.file, b->offset)) {
        munmap(host, b->size);
        return false;
    }
    return emu_mem_place(kind, (int)b->gpu, b->address, host, b->size, !b->user) != NULL;
}

int kfd_memory_map(struct kfd_map_memory *a, bool map)
{
    const uint32_t *ids = (const uint32_t *)(uintptr_t)a->gpu_ids;
    int result = 0;
    if (!a->count || !ids || a->done > a->count)
        return -EINVAL;
    pthread_mutex_lock(&memory.lock);
    struct buffer *b = buffer_find(a->handle);
    if (!b)
        result = -EINVAL;
    for (uint32_t i = a->done; i < a->count && result == 0; i++) {
        int gpu = kfd_gpu_index(ids[i]);
        uint32_t bit = gpu < 0 ? 0 : 1u << gpu;
        if (gpu < 0)
            result = -EINVAL;
        else if (map && !b->mapped && !show(b))
            result = -ENOMEM;
        else if (!map && b->mapped == bit)
            hide(b);
        else
            b->mapped = map ? b->mapped | bit : b->mapped & ~bit;
        if (map && result == 0)
            b->mapped |= bit;
        if (result == 0)
            a->done = i + 1;
    }
    pthread_mutex_unlock(&memory.lock);
    return result;
}
