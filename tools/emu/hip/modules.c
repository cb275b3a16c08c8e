/* HIP modules and functions: loading code objects, finding kernels and globals, occupancy. */
#include "emu_hip.h"

#include <inttypes.h>
#include <stdio.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    R_AMDGPU_ABS64 = 3,
    R_AMDGPU_RELATIVE64 = 13,
    WAVES_PER_SIMD = 8, /* gfx90a, gfx942 */
    LDS_BYTES = 65536,
};

static hipError_t relocate(struct emu_module *m)
{
    const struct emu_object *o = m->object;
    for (size_t i = 0; i < o->nrelocs; i++) {
        const struct emu_reloc *r = &o->relocs[i];
        uint64_t value = m->block->base + (uint64_t)r->addend;
        if (r->type == R_AMDGPU_ABS64) {
            const struct emu_symbol *s = &o->symbols[r->symbol];
            if (!s->defined)
                return emu_hip_fail(hipErrorSharedObjectSymbolNotFound,
                                    "code object: undefined symbol %s", s->name);
            value += s->value;
        } else if (r->type != R_AMDGPU_RELATIVE64) {
            return emu_hip_fail(hipErrorInvalidImage, "code object: relocation type %u", r->type);
        }
        if (r->offset > m->block->size - 8)
            return emu_hip_fail(hipErrorInvalidImage,
                                "code object: relocation %zu lies outside the image", i);
        memcpy(m->block->host + r->offset, &value, sizeof value);
    }
    return hipSuccess;
}

static hipError_t map_object(struct emu_module *m)
{
    const struct emu_object *o = m->object;
    m->block = emu_mem_alloc(EMU_BLOCK_CODE, m->device->index, o->span ? o->span : 1, 0);
    if (!m->block)
        return emu_hip_fail(hipErrorOutOfMemory, "code object: no memory for its image");
    for (size_t i = 0; i < o->nsegments; i++) {
        const struct emu_segment *s = &o->segments[i];
        memcpy(m->block->host + s->vaddr, o->image + s->offset, s->filesz);
        /* PF_W 2; the dynamic table is writable by its flags too, which does no harm. */
        if (!(s->flags & 2))
            continue;
        if (m->block->writable_end == 0 || s->vaddr < m->block->writable)
            m->block->writable = s->vaddr;
        if (s->vaddr + s->memsz > m->block->writable_end)
            m->block->writable_end = s->vaddr + s->memsz;
    }
    return relocate(m);
}

hipError_t emu_module_load(const void *image, size_t size, struct emu_module **out)
{
    char err[512];
    const void *elf;
    size_t elf_size;
    struct emu_device *d = emu_hip_current();
    if (!image)
        return emu_hip_fail(hipErrorInvalidValue, "module image is null");
    if (!emu_code_select(image, size, &d->target, &elf, &elf_size, err, sizeof err))
        return emu_hip_fail(hipErrorNoBinaryForGpu, "%s", err);
    struct emu_module *m = calloc(1, sizeof *m);
    if (!m)
        return emu_hip_fail(hipErrorOutOfMemory, "out of memory");
    pthread_mutex_init(&m->lock, NULL);
    m->device = d;
    m->object = emu_object_open(elf, elf_size, err, sizeof err);
    hipError_t e = hipSuccess;
    if (!m->object) {
        e = emu_hip_fail(hipErrorInvalidImage, "%s", err);
    } else if (!emu_target_fits(&m->object->target, &d->target)) {
        char have[64];
        emu_target_print(&m->object->target, have);
        e = emu_hip_fail(hipErrorNoBinaryForGpu, "code object is for %s, the device is %s", have,
                         d->arch);
    } else {
        e = map_object(m);
    }
    if (e != hipSuccess) {
        emu_module_close(m);
        return e;
    }
    *out = m;
    return hipSuccess;
}

void emu_module_close(struct emu_module *m)
{
    for (size_t i = 0; i < m->nfunctions; i++) {
        emu_handle_drop(m->functions[i], EMU_HANDLE_FUNCTION);
        emu_kernel_release(&m->functions[i]->kernel);
        free(m->functions[i]);
    }
    free(m->functions);
    if (m->block)
        emu_mem_free(m->block->base, 1u << EMU_BLOCK_CODE);
    emu_object_close(m->object);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static bool source_line(const struct emu_kernel *k, size_t offset, char *buf, size_t size)
{
    const struct emu_module *m = k->loader;
    const char *file;
    unsigned line;
    uint64_t vaddr = k->code_address + offset - m->block->base;
    if (!m->object->lines || !emu_line_find(m->object->lines, vaddr, &file, &line))
        return false;
    snprintf(buf, size, "%s:%u", file, line);
    return true;
}

/*
 * Bytes at the entry of a kernel with preloaded arguments that load them for firmware which cannot.
 * Firmware that can starts the wave behind them; so does this emulator.
 */
enum { PRELOAD_PROLOGUE = 256 };

static void fill_kernel(struct emu_module *m, const struct emu_kernel_meta *meta,
                        struct emu_kernel *k)
{
    const struct emu_kd *kd = &meta->kd;
    const struct emu_segment *text = NULL;
    for (size_t i = 0; i < m->object->nsegments; i++) {
        const struct emu_segment *s = &m->object->segments[i];
        if ((s->flags & 1) && meta->entry >= s->vaddr && meta->entry - s->vaddr < s->filesz)
            text = s;
    }
    assert(text); /* emu_object_open refuses an entry that is in no executable segment */
    bool cdna = m->device->family == EMU_GFX90A || m->device->family == EMU_GFX942;
    unsigned granule = cdna || !(kd->properties >> 10 & 1) ? (cdna ? 8 : 4) : 8;
    *k = (struct emu_kernel){
        .name = meta->name,
        .family = m->device->family,
        .wave = cdna || !(kd->properties >> 10 & 1) ? 64 : 32,
        .code = m->block->host + text->vaddr,
        .code_size = text->filesz & ~(size_t)3,
        .entry = meta->entry - text->vaddr,
        .code_address = m->block->base + text->vaddr,
        .vgprs = ((kd->rsrc1 & 63) + 1) * granule,
        .accum_offset = cdna ? ((kd->rsrc3 & 63) + 1) * 4 : 0,
        .rsrc1 = kd->rsrc1,
        .rsrc2 = kd->rsrc2,
        .rsrc3 = kd->rsrc3,
        .properties = kd->properties,
        .preload = cdna ? kd->kernarg_preload : 0,
        .lds_static = kd->group_segment,
        .scratch_lane = kd->private_segment,
        .kernarg_size = meta->kernarg_size,
        .source_line = source_line,
        .loader = m,
    };
    k->start = k->entry + (k->preload & 127 ? PRELOAD_PROLOGUE : 0);
    /* A dynamic stack (recursion, calls through pointers) has no size of its own; 16 KiB a lane is
     * what the HIP runtime grants at first. */
    if (meta->uses_dynamic_stack)
        k->scratch_lane += 16384;
}

hipError_t emu_module_function(struct emu_module *m, const char *name,
                               struct ihipModuleSymbol_t **out)
{
    const struct emu_kernel_meta *meta = emu_object_kernel(m->object, name);
    char err[512];
    hipError_t e = hipSuccess;
    *out = NULL;
    if (!meta)
        return emu_hip_fail(hipErrorNotFound, "no kernel '%s' in this module", name);
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->nfunctions && !*out; i++)
        if (m->functions[i]->meta == meta)
            *out = m->functions[i];
    if (!*out) {
        struct ihipModuleSymbol_t *f = calloc(1, sizeof *f);
        void *more = realloc(m->functions, (m->nfunctions + 1) * sizeof *m->functions);
        if (more)
            m->functions = more;
        if (!f || !more) {
            free(f);
            e = emu_hip_fail(hipErrorOutOfMemory, "out of memory");
        } else {
            f->module = m;
            f->meta = meta;
            fill_kernel(m, meta, &f->kernel);
            if (!emu_kernel_prepare(&f->kernel, err, sizeof err)) {
                e = emu_hip_fail(hipErrorInvalidImage, "kernel %s: %s", name, err);
                free(f);
            } else if (!emu_handle_add(f, EMU_HANDLE_FUNCTION)) {
                e = emu_hip_fail(hipErrorOutOfMemory, "out of memory");
                emu_kernel_release(&f->kernel);
                free(f);
            } else {
                m->functions[m->nfunctions++] = f;
                *out = f;
            }
        }
    }
    pthread_mutex_unlock(&m->lock);
    return e;
}

static hipError_t load_handle(hipModule_t *module, const void *image, size_t size)
{
    struct emu_module *m;
    EMU_BEGIN();
    if (!module)
        return emu_hip_fail(hipErrorInvalidValue, "module is null");
    hipError_t e = emu_module_load(image, size, &m);
    if (e != hipSuccess)
        return e;
    if (!emu_handle_add(m, EMU_HANDLE_MODULE)) {
        emu_module_close(m);
        return emu_hip_fail(hipErrorOutOfMemory, "out of memory");
    }
    *module = (hipModule_t)m;
    return hipSuccess;
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    return load_handle(module, image, SIZE_MAX);
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned n,
                               hipJitOption *options, void **values)
{
    (void)n, (void)options, (void)values;
    return load_handle(module, image, SIZE_MAX);
}

hipError_t hipModuleLoad(hipModule_t *module, const char *name)
{
    EMU_BEGIN();
    FILE *f = name ? fopen(name, "rb") : NULL;
    if (!f)
        return emu_hip_fail(hipErrorFileNotFound, "cannot open %s", name ? name : "(null)");
    uint8_t *data = NULL;
    size_t size = 0, room = 0, got;
    hipError_t e = hipSuccess;
    do {
        if (size == room) {
            room = room ? 2 * room : 65536;
            uint8_t *more = realloc(data, room);
            if (!more) {
                e = emu_hip_fail(hipErrorOutOfMemory, "out of memory for %s", name);
                break;
            }
            data = more;
        }
        got = fread(data + size, 1, room - size, f);
        size += got;
    } while (got > 0);
    if (e == hipSuccess && ferror(f))
        e = emu_hip_fail(hipErrorFileNotFound, "cannot read %s", name);
    fclose(f);
    if (e == hipSuccess)
        e = load_handle(module, data, size);
    free(data);
    return e;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    EMU_BEGIN();
    if (!emu_handle_drop(module, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    emu_module_close((struct emu_module *)module);
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *kname)
{
    EMU_BEGIN();
    if (!function || !kname)
        return emu_hip_fail(hipErrorInvalidValue, "function or name is null");
    *function = NULL;
    if (!emu_handle_live(module, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    return emu_module_function((struct emu_module *)module, kname, function);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *dptr, size_t *bytes, hipModule_t hmod,
                              const char *name)
{
    EMU_BEGIN();
    if (!name || (!dptr && !bytes))
        return emu_hip_fail(hipErrorInvalidValue, "name or both results are null");
    if (!emu_handle_live(hmod, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    struct emu_module *m = (struct emu_module *)hmod;
    const struct emu_symbol *s = emu_object_symbol(m->object, name);
    if (!s || s->type != 1 || s->value > m->object->span || s->size > m->object->span - s->value)
        return emu_hip_fail(hipErrorNotFound, "no global '%s' in this module", name);
    if (dptr)
        *dptr = (void *)(uintptr_t)(m->block->base + s->value);
    if (bytes)
        *bytes = s->size;
    return hipSuccess;
}

/* A function of a module, or the host-side handle of a compiled-in kernel. */
static struct ihipModuleSymbol_t *live_function(const void *f)
{
    struct ihipModuleSymbol_t *symbol;
    if (emu_handle_live(f, EMU_HANDLE_FUNCTION))
        return (struct ihipModuleSymbol_t *)f;
    return f && emu_fat_function(f, &symbol) == hipSuccess ? symbol : NULL;
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attrib, hipFunction_t hfunc)
{
    EMU_BEGIN();
    struct ihipModuleSymbol_t *f = live_function(hfunc);
    if (!f || !value)
        return emu_hip_fail(hipErrorInvalidValue, "function or value is not valid");
    switch (attrib) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)f->meta->max_flat_workgroup_size;
        break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)f->meta->group_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = 0;
        break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)f->meta->private_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)(f->meta->vgpr_count + f->meta->agpr_count);
        break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 30;
        break;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *value = 0;
        break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = LDS_BYTES - (int)f->meta->group_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = 0;
        break;
    default:
        return emu_hip_fail(hipErrorInvalidValue, "function attribute %d", (int)attrib);
    }
    return hipSuccess;
}

hipError_t hipFuncGetAttributes(struct hipFuncAttributes *attr, const void *func)
{
    EMU_BEGIN();
    struct ihipModuleSymbol_t *f = live_function(func);
    if (!f || !attr)
        return emu_hip_fail(hipErrorInvalidDeviceFunction, "not a function of a loaded module");
    memset(attr, 0, sizeof *attr);
    attr->binaryVersion = attr->ptxVersion = 30;
    attr->localSizeBytes = f->meta->private_segment;
    attr->maxDynamicSharedSizeBytes = LDS_BYTES - (int)f->meta->group_segment;
    attr->maxThreadsPerBlock = (int)f->meta->max_flat_workgroup_size;
    attr->numRegs = (int)(f->meta->vgpr_count + f->meta->agpr_count);
    attr->sharedSizeBytes = f->meta->group_segment;
    return hipSuccess;
}

/* LDS needs no opt-in here, so the attributes are checked and otherwise have no effect. */
hipError_t hipFuncSetAttribute(const void *func, hipFuncAttribute attr, int value)
{
    EMU_BEGIN();
    struct ihipModuleSymbol_t *f = live_function(func);
    if (!f)
        return emu_hip_fail(hipErrorInvalidDeviceFunction, "not a function of a loaded module");
    if (attr == hipFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || value > LDS_BYTES - (int)f->meta->group_segment)
            return emu_hip_fail(hipErrorInvalidValue, "%d bytes of LDS", value);
        f->max_dynamic_lds = value;
    }
    return hipSuccess;
}

hipError_t hipFuncSetCacheConfig(const void *func, hipFuncCache_t config)
{
    (void)func, (void)config;
    EMU_BEGIN();
    return hipSuccess;
}

hipError_t hipFuncSetSharedMemConfig(const void *func, hipSharedMemConfig config)
{
    (void)func, (void)config;
    EMU_BEGIN();
    return hipSuccess;
}

/* Workgroups that fit one compute unit: limited by wave slots, registers and LDS. */
static int resident_groups(const struct ihipModuleSymbol_t *f, unsigned block, size_t dynamic)
{
    const struct emu_kernel *k = &f->kernel;
    bool cdna = k->accum_offset != 0;
    unsigned waves = (block + k->wave - 1) / k->wave;
    unsigned file = cdna ? 512 : 1536 * 32 / k->wave, slots = cdna ? WAVES_PER_SIMD : 16;
    unsigned per_simd = file / (k->vgprs ? k->vgprs : 1);
    unsigned simds = 4;
    if (per_simd > slots)
        per_simd = slots;
    unsigned groups = per_simd * simds / waves;
    size_t lds = k->lds_static + dynamic, lds_limit = cdna ? LDS_BYTES : 2 * LDS_BYTES;
    if (lds > LDS_BYTES)
        return 0;
    if (lds && lds_limit / lds < groups)
        groups = (unsigned)(lds_limit / lds);
    return (int)groups;
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t func,
                                                              int block, size_t dynamic)
{
    EMU_BEGIN();
    struct ihipModuleSymbol_t *f = live_function(func);
    if (!f || !blocks || block <= 0)
        return emu_hip_fail(hipErrorInvalidValue, "function, result or block size is not valid");
    *blocks = resident_groups(f, (unsigned)block, dynamic);
    return hipSuccess;
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                       hipFunction_t func,
                                                                       int block, size_t dynamic,
                                                                       unsigned flags)
{
    (void)flags;
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, func, block, dynamic);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t func,
                                                   size_t dynamic, int limit)
{
    EMU_BEGIN();
    struct ihipModuleSymbol_t *f = live_function(func);
    if (!f || !grid || !block)
        return emu_hip_fail(hipErrorInvalidValue, "function or result is not valid");
    int best = 0, size = (int)f->meta->max_flat_workgroup_size;
    if (limit > 0 && limit < size)
        size = limit;
    *block = size;
    for (int n = size; n > 0; n -= (int)f->kernel.wave) {
        int waves = resident_groups(f, (unsigned)n, dynamic) * n;
        if (waves > best) {
            best = waves;
            *block = n;
        }
    }
    *grid = resident_groups(f, (unsigned)*block, dynamic) * (int)f->module->device->units;
    return hipSuccess;
}

hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
                                                            hipFunction_t func, size_t dynamic,
                                                            int limit, unsigned flags)
{
    (void)flags;
    return hipModuleOccupancyMaxPotentialBlockSize(grid, block, func, dynamic, limit);
}
