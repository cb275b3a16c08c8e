/* What can be asked of a kernel: its attributes, and how many workgroups a compute unit holds. */
#include "handles.h"

#include <string.h>

enum {
    NO_CONSTANTS = -1,  /* clr says constMemSize_ - 1, and that is 0 - 1 */
    WAVES_PER_SIMD = 8, /* gfx90a, gfx942, gfx950 */
    GRANULES = 64,      /* of a register file: 8 registers of 512, 16 of 1024, 24 of 1536 */
};

/* A function of a module, or the host-side handle of a compiled-in kernel. */
static struct ihipModuleSymbol_t *live_function(const void *f)
{
    struct ihipModuleSymbol_t *symbol;
    if (emu_handle_live(f, EMU_HANDLE_FUNCTION))
        return (struct ihipModuleSymbol_t *)f;
    return f && emu_fat_function(f, &symbol) == hipSuccess ? symbol : NULL;
}

/* HIP gives the processor's version for that of the code: 94 for gfx942, 115 for gfx1151. */
static int binary_version(const struct ihipModuleSymbol_t *f)
{
    int major, minor;
    hipDeviceComputeCapability(&major, &minor, f->module->device->index);
    return 10 * major + minor;
}

/* Of a function of a module only; .vgpr_count includes the accumulation registers. */
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attrib, hipFunction_t f)
{
    EMU_BEGIN();
    if (!value)
        return emu_hip_fail(hipErrorInvalidValue, "value is null");
    if (!emu_handle_live(f, EMU_HANDLE_FUNCTION))
        return emu_hip_fail(hipErrorInvalidHandle, "not a function of a loaded module");
    switch (attrib) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)f->meta->max_flat_workgroup_size;
        break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)f->meta->group_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = NO_CONSTANTS;
        break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)f->meta->private_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)f->meta->vgpr_count;
        break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = binary_version(f);
        break;
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *value = 0;
        break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = emu_device_lds(f->module->device) - (int)f->meta->group_segment;
        break;
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = 0;
        break;
    default:
        return emu_hip_fail(hipErrorInvalidValue, "function attribute %d", (int)attrib);
    }
    return hipSuccess;
}

/* Of a compiled-in kernel only, by its host-side handle. */
hipError_t hipFuncGetAttributes(struct hipFuncAttributes *attr, const void *func)
{
    struct ihipModuleSymbol_t *f;
    EMU_BEGIN();
    if (!attr)
        return emu_hip_fail(hipErrorInvalidValue, "attributes are null");
    hipError_t e = emu_fat_function(func, &f);
    if (e != hipSuccess)
        return e;
    memset(attr, 0, sizeof *attr);
    attr->binaryVersion = attr->ptxVersion = binary_version(f);
    attr->constSizeBytes = (size_t)NO_CONSTANTS;
    attr->localSizeBytes = f->meta->private_segment;
    attr->maxDynamicSharedSizeBytes =
        emu_device_lds(f->module->device) - (int)f->meta->group_segment;
    attr->maxThreadsPerBlock = (int)f->meta->max_flat_workgroup_size;
    attr->numRegs = (int)f->meta->vgpr_count;
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
        if (value < 0 || value > emu_device_lds(f->module->device) - (int)f->meta->group_segment)
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
    unsigned file = f->module->device->registers * (cdna ? 1 : 32) / (cdna ? 1 : k->wave);
    unsigned granule = file / GRANULES, slots = cdna ? WAVES_PER_SIMD : 16;
    unsigned per_simd = file / ((k->vgprs + granule - 1) / granule * granule);
    unsigned simds = 4;
    if (per_simd > slots)
        per_simd = slots;
    unsigned groups = per_simd * simds / waves;
    size_t most = (size_t)emu_device_lds(f->module->device);
    size_t lds = k->lds_static + dynamic, lds_limit = cdna ? most : 2 * most;
    if (lds > most)
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

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int block,
                                                        size_t dynamic)
{
    struct ihipModuleSymbol_t *f;
    EMU_BEGIN();
    hipError_t e = emu_fat_function(host, &f);
    return e != hipSuccess
               ? e
               : hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, block, dynamic);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
                                                                 int block, size_t dynamic,
                                                                 unsigned flags)
{
    (void)flags;
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, host, block, dynamic);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *host,
                                             size_t dynamic, int limit)
{
    struct ihipModuleSymbol_t *f;
    EMU_BEGIN();
    hipError_t e = emu_fat_function(host, &f);
    return e != hipSuccess
               ? e
               : hipModuleOccupancyMaxPotentialBlockSize(grid, block, f, dynamic, limit);
}
