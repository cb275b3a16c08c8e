/*
 * HIP modules and functions: loading code objects, finding kernels and globals. Which
 * error stands for what is taken from clr's hip_fatbin.cpp and hip_module.cpp: hipErrorInvalidImage
 * if there is no code object for this device in what is given, hipErrorNoBinaryForGpu if there is
 * one that the loader refuses.
 */
#include "handles.h"
#include "kernel_registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    R_AMDGPU_ABS64 = 3,
    R_AMDGPU_RELATIVE64 = 13,
};

static hipError_t relocate(struct emu_module *m)
{
    const struct emu_object *o = m->object;
    for (size_t i = 0; i < o->nrelocs; i++) {
        const struct emu_reloc *r = &o->relocs[i];
        uint64_t value = m->block->base + (uint64_t)r->addend;
        if (r->type == R_AMDGPU_ABS64) {
            const struct emu_symbol *s = &o->dynamic.symbol[r->symbol];
            if (!s->defined)
                return emu_hip_fail(hipErrorNoBinaryForGpu, "code object: undefined symbol %s",
                                    s->name);
            value += s->value;
        } else if (r->type != R_AMDGPU_RELATIVE64) {
            return emu_hip_fail(hipErrorNoBinaryForGpu, "code object: relocation type %u", r->type);
        }
        if (r->offset > m->block->size - 8)
            return emu_hip_fail(hipErrorNoBinaryForGpu,
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
        return emu_hip_fail(hipErrorInvalidImage, "%s", err);
    struct emu_module *m = calloc(1, sizeof *m);
    if (!m)
        return emu_hip_fail(hipErrorOutOfMemory, "out of memory");
    pthread_mutex_init(&m->lock, NULL);
    m->device = d;
    m->object = emu_object_open(elf, elf_size, err, sizeof err);
    hipError_t e = hipSuccess;
    if (!m->object) {
        e = emu_hip_fail(hipErrorNoBinaryForGpu, "%s", err);
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
    *k = (struct emu_kernel){
        .name = meta->name,
        .code = m->block->host + text->vaddr,
        .code_size = text->filesz & ~(size_t)3,
        .entry = meta->entry - text->vaddr,
        .code_address = m->block->base + text->vaddr,
        .lds_static = kd->group_segment,
        .scratch_lane = kd->private_segment,
        .kernarg_size = meta->kernarg_size,
        .source_line = source_line,
        .loader = m,
    };
    emu_kernel_registers(k, m->device->family,
                         &(struct emu_registers){.rsrc = {kd->rsrc1, kd->rsrc2, kd->rsrc3},
                                                 .properties = kd->properties,
                                                 .preload = kd->kernarg_preload});
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
            static atomic_uint_fast64_t serial;
            f->module = m;
            f->meta = meta;
            f->serial = atomic_fetch_add(&serial, 1) + 1;
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
    hipError_t e = emu_capture_unsafe("hipModuleUnload");
    if (e != hipSuccess)
        return e;
    if (!emu_handle_drop(module, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    emu_module_close((struct emu_module *)module);
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *kname)
{
    EMU_BEGIN();
    if (!function || !kname || !*kname)
        return emu_hip_fail(hipErrorInvalidValue, "function or name is null, or name empty");
    *function = NULL;
    if (!emu_handle_live(module, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    return emu_module_function((struct emu_module *)module, kname, function);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *dptr, size_t *bytes, hipModule_t hmod,
                              const char *name)
{
    EMU_BEGIN();
    if (!name || !*name || (!dptr && !bytes))
        return emu_hip_fail(hipErrorInvalidValue, "name or both results are null, or name empty");
    if (!emu_handle_live(hmod, EMU_HANDLE_MODULE))
        return emu_hip_fail(hipErrorInvalidHandle, "not a loaded module");
    struct emu_module *m = (struct emu_module *)hmod;
    const struct emu_symbol *s = emu_object_variable(m->object, name);
    if (!s || s->value > m->object->span || s->size > m->object->span - s->value)
        return emu_hip_fail(hipErrorNotFound, "no global '%s' in this module", name);
    if (dptr)
        *dptr = (void *)(uintptr_t)(m->block->base + s->value);
    if (bytes)
        *bytes = s->size;
    return hipSuccess;
}
