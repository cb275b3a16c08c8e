/*
 * Programs that a HIP compiler made: their embedded code objects, and launches by the address of
 * the kernel's host-side handle. The compiler's start-up code calls __hipRegister*; kernel<<<...>>>
 * becomes __hipPushCallConfiguration and a call of the handle, which calls
 * __hipPopCallConfiguration and hipLaunchKernel.
 */
#include "newer_calls.h"

#include <stdlib.h>
#include <string.h>

enum { WRAPPER_MAGIC = 0x48495046 }; /* "HIPF" */

struct fat_wrapper {
    uint32_t magic, version;
    const void *binary; /* an offload bundle */
    void *unused;
};

struct fat_binary {
    const void *image;
    struct emu_module *modules[EMU_MAX_DEVICES]; /* loaded at first use on a device */
    struct fat_binary *next;
};

/* A host address that stands for a kernel or a variable of a fat binary. */
struct stand_in {
    const void *host;
    struct fat_binary *fat;
    char *name;
    struct stand_in *next;
};

static struct {
    pthread_mutex_t lock;
    struct fat_binary *binaries;
    struct stand_in *kernels, *variables;
} fat = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct call {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
};
enum { MAX_CALLS = 16 };
static _Thread_local struct call calls[MAX_CALLS];
static _Thread_local unsigned ncalls;

void **__hipRegisterFatBinary(const void *data)
{
    const struct fat_wrapper *w = data;
    if (w->magic != WRAPPER_MAGIC || w->version != 1)
        return NULL; /* as HIP; launches will find nothing */
    struct fat_binary *b = calloc(1, sizeof *b);
    if (!b)
        abort(); /* before main there is nobody to tell */
    b->image = w->binary;
    pthread_mutex_lock(&fat.lock);
    b->next = fat.binaries;
    fat.binaries = b;
    pthread_mutex_unlock(&fat.lock);
    return (void **)b;
}

static void stand_in_add(struct stand_in **list, void **modules, const void *host, const char *name)
{
    if (!modules)
        return;
    struct stand_in *s = calloc(1, sizeof *s);
    if (!s || !(s->name = strdup(name)))
        abort();
    s->host = host;
    s->fat = (struct fat_binary *)modules;
    pthread_mutex_lock(&fat.lock);
    s->next = *list;
    *list = s;
    pthread_mutex_unlock(&fat.lock);
}

void __hipRegisterFunction(void **modules, const void *host, char *device_name, const char *name,
                           unsigned thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
                           int *warp)
{
    (void)device_name, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
        (void)warp;
    stand_in_add(&fat.kernels, modules, host, name);
}

void __hipRegisterVar(void **modules, void *host, char *host_name, char *name, int external,
                      size_t size, int constant, int global)
{
    (void)host_name, (void)external, (void)size, (void)constant, (void)global;
    stand_in_add(&fat.variables, modules, host, name);
}

static void stand_in_drop(struct stand_in **list, const struct fat_binary *b)
{
    while (*list) {
        struct stand_in *s = *list;
        if (s->fat != b) {
            list = &s->next;
            continue;
        }
        *list = s->next;
        free(s->name);
        free(s);
    }
}

void __hipUnregisterFatBinary(void **modules)
{
    struct fat_binary *b = (struct fat_binary *)modules, **at = &fat.binaries;
    pthread_mutex_lock(&fat.lock);
    while (*at && *at != b)
        at = &(*at)->next;
    if (*at) {
        *at = b->next;
        stand_in_drop(&fat.kernels, b);
        stand_in_drop(&fat.variables, b);
        for (int i = 0; i < EMU_MAX_DEVICES; i++)
            if (b->modules[i])
                emu_module_close(b->modules[i]);
        free(b);
    }
    pthread_mutex_unlock(&fat.lock);
}

/* The module of the current device behind a registered host address. Lock held. */
static hipError_t module_of(const struct stand_in *list, const void *host, struct emu_module **m,
                            const char **name)
{
    const struct stand_in *s = list;
    while (s && s->host != host)
        s = s->next;
    if (!s)
        return emu_hip_fail(hipErrorInvalidDeviceFunction, "%p is not registered", host);
    int d = emu_hip_current()->index;
    *name = s->name;
    if (!s->fat->modules[d]) {
        hipError_t e = emu_module_load(s->fat->image, SIZE_MAX, &s->fat->modules[d]);
        if (e != hipSuccess)
            return e;
    }
    *m = s->fat->modules[d];
    return hipSuccess;
}

hipError_t emu_fat_function(const void *host, struct ihipModuleSymbol_t **f)
{
    struct emu_module *m;
    const char *name;
    pthread_mutex_lock(&fat.lock);
    hipError_t e = module_of(fat.kernels, host, &m, &name);
    if (e == hipSuccess)
        e = emu_module_function(m, name, f);
    pthread_mutex_unlock(&fat.lock);
    return e;
}

/* Where a variable lies, and how large it is: either may be NULL, one is wanted. */
static hipError_t find_symbol(const void *host, void **address, size_t *size)
{
    struct emu_module *m;
    const char *name;
    pthread_mutex_lock(&fat.lock);
    hipError_t e = module_of(fat.variables, host, &m, &name);
    const struct emu_symbol *s = e == hipSuccess ? emu_object_variable(m->object, name) : NULL;
    if (s && address)
        *address = (void *)(uintptr_t)(m->block->base + s->value);
    if (s && size)
        *size = s->size;
    pthread_mutex_unlock(&fat.lock);
    return s && (address || size) ? hipSuccess : emu_hip_fail(hipErrorInvalidSymbol, "%p", host);
}

hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    EMU_BEGIN();
    return find_symbol(symbol, address, NULL);
}

hipError_t hipGetSymbolSize(size_t *size, const void *symbol)
{
    EMU_BEGIN();
    return find_symbol(symbol, NULL, size);
}

static hipError_t symbol_copy(const void *symbol, size_t offset, void *host, size_t n, bool to)
{
    void *at;
    size_t size;
    EMU_BEGIN();
    hipError_t e = emu_capture_none(hipErrorStreamCaptureImplicit, "a copy of a variable");
    if (e == hipSuccess)
        e = find_symbol(symbol, &at, &size);
    if (e != hipSuccess)
        return e;
    if (offset > size || n > size - offset)
        return emu_hip_fail(hipErrorInvalidValue, "%zu bytes at %zu of a variable of %zu", n,
                            offset, size);
    char *device = (char *)at + offset;
    return to ? hipMemcpy(device, host, n, hipMemcpyDefault)
              : hipMemcpy(host, device, n, hipMemcpyDefault);
}

hipError_t hipMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t offset,
                             hipMemcpyKind kind)
{
    if (kind != hipMemcpyHostToDevice && kind != hipMemcpyDeviceToDevice)
        return emu_hip_fail(hipErrorInvalidMemcpyDirection, "copy kind %d to a variable",
                            (int)kind);
    return symbol_copy(symbol, offset, (void *)(uintptr_t)src, n, true);
}

hipError_t hipMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset,
                               hipMemcpyKind kind)
{
    (void)kind;
    return symbol_copy(symbol, offset, dst, n, false);
}

hipError_t hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t lds,
                           hipStream_t stream)
{
    struct ihipModuleSymbol_t *f;
    EMU_BEGIN();
    if (lds > UINT32_MAX)
        return emu_hip_fail(hipErrorInvalidValue, "launch: %zu bytes of LDS", lds);
    hipError_t e = emu_fat_function(host, &f);
    return e != hipSuccess ? e
                           : hipModuleLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y,
                                                   block.z, (unsigned)lds, stream, args, NULL);
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream)
{
    if (ncalls == MAX_CALLS)
        return emu_hip_fail(hipErrorInvalidConfiguration, "launches nest too deeply");
    calls[ncalls++] = (struct call){grid, block, lds, stream};
    return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream)
{
    if (ncalls == 0)
        return emu_hip_fail(hipErrorMissingConfiguration, "no launch is configured");
    const struct call *c = &calls[--ncalls];
    *grid = c->grid;
    *block = c->block;
    *lds = c->lds;
    *stream = c->stream;
    return hipSuccess;
}
