/*
 * Kernels in device memory, as AMD's loader left them: from the address of a descriptor to a
 * prepared kernel. The loader copies the first segment of an object too, with its ELF header: that
 * tells the extent of the text and the kernel's name. The runtime's own kernels come without.
 */
#include "kfd.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_registers.h"
#include "memory_map.h"

enum {
    CACHED = 64,
    DESCRIPTOR = 64,
    BARE_TEXT = 16384, /* how far text without an ELF header is looked at */
    MACHINE = 224,     /* EM_AMDGPU */
    MAX_HEADERS = 32,
    MAX_SYMBOLS = 1 << 20,
};

/* A prepared kernel with its own copies of name and text. */
struct loaded {
    struct emu_kernel kernel;
    uint64_t object;
    const struct kfd_gpu *gpu;
    uint8_t descriptor[DESCRIPTOR];
    uint64_t used;
    unsigned users;
    char name[256];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *cache[CACHED];
static uint64_t uses;

static const void *bytes(const struct emu_block *b, uint64_t at, uint64_t n)
{
    return at >= b->base && at - b->base < b->size && n <= b->size - (at - b->base)
               ? b->host + (at - b->base)
               : NULL;
}

/* The text segment that contains `entry`, of the object whose header is at `base`. */
static bool find_text(const struct emu_block *b, uint64_t base, uint64_t entry, uint64_t *text,
                      uint64_t *size)
{
    const Elf64_Ehdr *h = bytes(b, base, sizeof *h);
    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_machine != MACHINE ||
        h->e_phnum > MAX_HEADERS || h->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    const Elf64_Phdr *p = bytes(b, base + h->e_phoff, h->e_phnum * sizeof *p);
    for (unsigned i = 0; p && i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X && entry >= base + p[i].p_vaddr &&
            entry - base - p[i].p_vaddr < p[i].p_memsz &&
            bytes(b, base + p[i].p_vaddr, p[i].p_memsz)) {
            *text = base + p[i].p_vaddr;
            *size = p[i].p_memsz;
            return true;
        }
    return false;
}

/* The object's header stands at the start of some page before the descriptor; 0: there is none. */
static uint64_t find_object(const struct emu_block *b, uint64_t object, uint64_t entry,
                            uint64_t *text, uint64_t *size)
{
    for (uint64_t at = object / KFD_PAGE * KFD_PAGE; at >= b->base && at; at -= KFD_PAGE)
        if (find_text(b, at, entry, text, size))
            return at;
    return 0;
}

/* Addresses of the dynamic table that the name needs. */
struct dynamic {
    uint64_t symbols, strings, strings_size, hash;
};

static struct dynamic read_dynamic(const struct emu_block *b, uint64_t base)
{
    const Elf64_Ehdr *h = bytes(b, base, sizeof *h);
    const Elf64_Phdr *p = bytes(b, base + h->e_phoff, h->e_phnum * sizeof *p);
    struct dynamic d = {0};
    for (unsigned i = 0; i < h->e_phnum; i++) {
        const Elf64_Dyn *e = bytes(b, base + p[i].p_vaddr, p[i].p_memsz);
        if (p[i].p_type != PT_DYNAMIC || !e)
            continue;
        for (uint64_t n = p[i].p_memsz / sizeof *e; n-- && e->d_tag != DT_NULL; e++) {
            uint64_t x = e->d_un.d_val;
            d.symbols = e->d_tag == DT_SYMTAB ? x : d.symbols;
            d.strings = e->d_tag == DT_STRTAB ? x : d.strings;
            d.strings_size = e->d_tag == DT_STRSZ ? x : d.strings_size;
            d.hash = e->d_tag == DT_HASH ? x : d.hash;
        }
    }
    return d;
}

static bool find_name(const struct emu_block *b, uint64_t base, uint64_t object, char *out,
                      size_t size)
{
    struct dynamic d = read_dynamic(b, base);
    const uint32_t *hash = d.hash ? bytes(b, base + d.hash, 8) : NULL;
    const char *strings = d.strings ? bytes(b, base + d.strings, d.strings_size) : NULL;
    uint32_t n = hash && hash[1] < MAX_SYMBOLS ? hash[1] : 0; /* nchain: as many as symbols */
    const Elf64_Sym *s = d.symbols ? bytes(b, base + d.symbols, n * sizeof *s) : NULL;
    for (uint32_t i = 0; s && strings && i < n; i++) {
        const char *name = strings + s[i].st_name;
        if (s[i].st_value != object - base || s[i].st_name >= d.strings_size)
            continue;
        size_t length = strnlen(name, d.strings_size - s[i].st_name);
        if (length > 3 && memcmp(name + length - 3, ".kd", 3) == 0) {
            snprintf(out, size, "%.*s", (int)length - 3, name);
            return true;
        }
    }
    return false;
}

static uint32_t word(const uint8_t *descriptor, unsigned at)
{
    uint32_t x;
    memcpy(&x, descriptor + at, sizeof x);
    return x;
}

/* Fills the kernel; its code points into the block until it is copied. */
static bool describe(const struct emu_block *b, struct loaded *l)
{
    const uint8_t *kd = l->descriptor;
    int64_t offset;
    uint64_t text, size;
    memcpy(&offset, kd + 16, sizeof offset);
    uint64_t entry = l->object + (uint64_t)offset;
    uint64_t base = find_object(b, l->object, entry, &text, &size);
    if (!base) {
        text = entry;
        if (!bytes(b, entry, 4))
            return false;
        size = b->base + b->size - entry < BARE_TEXT ? b->base + b->size - entry : BARE_TEXT;
    }
    if (!base || !find_name(b, base, l->object, l->name, sizeof l->name))
        snprintf(l->name, sizeof l->name, "0x%llx", (unsigned long long)l->object);
    l->kernel = (struct emu_kernel){
        .name = l->name,
        .code = bytes(b, text, size),
        .code_size = size & ~(uint64_t)3,
        .entry = entry - text,
        .code_address = text,
        .lds_static = word(kd, 0),
        .kernarg_size = word(kd, 8),
    };
    struct emu_registers r = {
        .rsrc = {word(kd, 48), word(kd, 52), word(kd, 44)},
        .properties = (uint16_t)word(kd, 56),
        .preload = (uint16_t)(word(kd, 56) >> 16),
    };
    emu_kernel_registers(&l->kernel, l->gpu->emu->model->family, &r);
    return true;
}

static void drop(struct loaded *l)
{
    uint8_t *code = (uint8_t *)(uintptr_t)l->kernel.code;
    emu_kernel_release(&l->kernel);
    free(code);
    free(l);
}

static struct loaded *load(const struct kfd_gpu *gpu, const struct emu_block *b, uint64_t object,
                           char *err, size_t errlen)
{
    struct loaded *l = calloc(1, sizeof *l);
    const void *kd = bytes(b, object, DESCRIPTOR);
    if (!l || !kd) {
        free(l);
        snprintf(err, errlen, l ? "its descriptor is cut off" : "out of memory");
        return NULL;
    }
    l->object = object;
    l->gpu = gpu;
    memcpy(l->descriptor, kd, DESCRIPTOR);
    if (!describe(b, l)) {
        snprintf(err, errlen, "its code lies elsewhere than its descriptor");
        free(l);
        return NULL;
    }
    uint8_t *code = malloc(l->kernel.code_size + 8);
    if (code)
        memcpy(code, l->kernel.code, l->kernel.code_size);
    l->kernel.code = code;
    if (code && emu_kernel_prepare(&l->kernel, err, errlen))
        return l;
    if (!code)
        snprintf(err, errlen, "out of memory");
    drop(l);
    return NULL;
}

/* Still what lies there? An object may have been unloaded, and another one loaded. */
static bool current(const struct loaded *l, const struct emu_block *b)
{
    const void *kd = bytes(b, l->object, DESCRIPTOR);
    const void *code = bytes(b, l->kernel.code_address, l->kernel.code_size);
    return kd && code && memcmp(kd, l->descriptor, DESCRIPTOR) == 0 &&
           memcmp(code, l->kernel.code, l->kernel.code_size) == 0;
}

/* Lock held. A place for a new one: free, or of the one that is not in use for longest. */
static unsigned make_room(void)
{
    unsigned oldest = 0;
    uint64_t age = UINT64_MAX;
    for (unsigned i = 0; i < CACHED; i++) {
        if (!cache[i])
            return i;
        if (!cache[i]->users && cache[i]->used < age) {
            age = cache[i]->used;
            oldest = i;
        }
    }
    if (age == UINT64_MAX)
        return CACHED;
    drop(cache[oldest]);
    cache[oldest] = NULL;
    return oldest;
}

struct emu_kernel *kfd_kernel_at(const struct kfd_gpu *gpu, uint64_t object, uint32_t scratch,
                                 char *err, size_t errlen)
{
    struct emu_block b;
    struct loaded *l = NULL;
    if (!emu_mem_query(object, &b)) {
        snprintf(err, errlen, "there is no memory of the GPU");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < CACHED && !l; i++)
        if (cache[i] && cache[i]->object == object && cache[i]->gpu == gpu &&
            cache[i]->kernel.scratch_lane == scratch && current(cache[i], &b))
            l = cache[i];
    if (!l) {
        unsigned room = make_room();
        l = room < CACHED ? load(gpu, &b, object, err, errlen) : NULL;
        if (l) {
            l->kernel.scratch_lane = scratch;
            cache[room] = l;
        } else if (room == CACHED) {
            snprintf(err, errlen, "%d kernels run at once", CACHED);
        }
    }
    if (l) {
        l->users++;
        l->used = ++uses;
    }
    pthread_mutex_unlock(&lock);
    return l ? &l->kernel : NULL;
}

void kfd_kernel_done(struct emu_kernel *k)
{
    struct loaded *l = (struct loaded *)(void *)k; /* its first member */
    pthread_mutex_lock(&lock);
    l->users--;
    pthread_mutex_unlock(&lock);
}
