/* HIP devices: count, choice, properties in both layouts, attributes, limits, contexts. */
#include "newer_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DRIVER_VERSION = 60443484, /* HIP 6.4: what a program with either header accepts */
    MAX_THREADS = 1024,
};

static unsigned threads_per_unit(const struct emu_device *d)
{
    return d->wave == 64 ? 2048 : 1024 * 2;
}

/* gfx90a is compute capability 9.0, gfx942 9.4, gfx950 9.5, gfx11xx 11.x, gfx12xx 12.x. */
static void capability(const struct emu_device *d, int *major, int *minor)
{
    const char *digits = d->target.processor + 3;
    size_t n = strlen(digits);
    *major = n == 3 ? digits[0] - '0' : 10 + digits[1] - '0';
    *minor = n == 3 ? digits[1] - '0' : digits[2] - '0';
}

hipError_t hipInit(unsigned flags)
{
    EMU_BEGIN();
    return flags ? emu_hip_fail(hipErrorInvalidValue, "hipInit: flags %u", flags) : hipSuccess;
}

hipError_t hipDriverGetVersion(int *version)
{
    EMU_BEGIN();
    if (!version)
        return emu_hip_fail(hipErrorInvalidValue, "version is null");
    *version = DRIVER_VERSION;
    return hipSuccess;
}

hipError_t hipRuntimeGetVersion(int *version)
{
    return hipDriverGetVersion(version);
}

hipError_t hipGetDeviceCount(int *count)
{
    if (!count)
        return emu_hip_fail(hipErrorInvalidValue, "count is null");
    *count = 0;
    EMU_BEGIN();
    *count = emu_hip_device_count();
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    EMU_BEGIN();
    if (!device)
        return emu_hip_fail(hipErrorInvalidValue, "device is null");
    *device = emu_hip_current()->index;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    EMU_BEGIN();
    return emu_hip_set_current(device);
}

hipError_t hipDeviceGet(hipDevice_t *device, int ordinal)
{
    EMU_BEGIN();
    if (!device || !emu_hip_device(ordinal))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", ordinal);
    *device = ordinal;
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device)
{
    EMU_BEGIN();
    struct emu_device *d = emu_hip_device(device);
    if (!d || !name || len <= 0)
        return emu_hip_fail(d ? hipErrorInvalidValue : hipErrorInvalidDevice, "device %d", device);
    snprintf(name, (size_t)len, "%s", d->name);
    return hipSuccess;
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
    EMU_BEGIN();
    if (!uuid || !emu_hip_device(device))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
    memset(uuid, 0, sizeof *uuid);
    snprintf(uuid->bytes, sizeof uuid->bytes, "GPU-emu%08x", (unsigned)device);
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int len, int device)
{
    EMU_BEGIN();
    if (!id || !emu_hip_device(device) || len < 13)
        return emu_hip_fail(hipErrorInvalidValue, "device %d, %d characters", device, len);
    snprintf(id, (size_t)len, "0000:%02x:00.0", (unsigned)device + 1);
    return hipSuccess;
}

hipError_t hipDeviceGetByPCIBusId(int *device, const char *id)
{
    unsigned domain, bus;
    EMU_BEGIN();
    if (!device || !id || sscanf(id, "%x:%x:", &domain, &bus) != 2 || bus == 0 ||
        !emu_hip_device((int)bus - 1))
        return emu_hip_fail(hipErrorInvalidValue, "PCI bus id '%s'", id ? id : "(null)");
    *device = (int)bus - 1;
    return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    EMU_BEGIN();
    if (!bytes || !emu_hip_device(device))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
    *bytes = emu_mem_total();
    return hipSuccess;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device)
{
    EMU_BEGIN();
    if (!major || !minor || !emu_hip_device(device))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
    capability(emu_hip_device(device), major, minor);
    return hipSuccess;
}

#undef hipGetDeviceProperties
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device)
{
    EMU_BEGIN();
    const struct emu_device *d = emu_hip_device(device);
    if (!p || !d)
        return emu_hip_fail(p ? hipErrorInvalidDevice : hipErrorInvalidValue, "device %d", device);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", d->name);
    snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", d->arch);
    capability(d, &p->major, &p->minor);
    p->gcnArch = p->major * 100 + p->minor * 10;
    p->totalGlobalMem = emu_mem_total();
    p->sharedMemPerBlock = p->maxSharedMemoryPerMultiProcessor = (size_t)emu_device_lds(d);
    p->regsPerBlock = 65536;
    p->warpSize = (int)d->wave;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = p->maxThreadsDim[2] =
        MAX_THREADS;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65536;
    p->clockRate = (int)d->clock_khz;
    p->memoryClockRate = (int)d->memory_khz;
    p->memoryBusWidth = (int)d->bus_bits;
    p->clockInstructionRate = 100000;
    p->totalConstMem = INT32_MAX;
    p->multiProcessorCount = (int)d->units;
    p->l2CacheSize = (int)d->l2_bytes;
    p->maxThreadsPerMultiProcessor = (int)threads_per_unit(d);
    p->arch.hasGlobalInt32Atomics = p->arch.hasSharedInt32Atomics = p->arch.hasDoubles = 1;
    p->arch.hasWarpVote = p->arch.hasWarpBallot = p->arch.hasWarpShuffle = p->arch.has3dGrid = 1;
    p->concurrentKernels = p->canMapHostMemory = p->cooperativeLaunch = 1;
    p->pciBusID = device + 1;
    p->integrated = d->integrated;
    p->memPitch = INT32_MAX;
    p->textureAlignment = p->texturePitchAlignment = 256;
    p->ECCEnabled = d->target.sramecc == EMU_FEATURE_ON;
    p->isLargeBar = 0;
    p->managedMemory = p->concurrentManagedAccess = 1;
    return hipSuccess;
}

hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_t *p, int device)
{
    return hipGetDeviceProperties(p, device);
}

hipError_t hipGetDevicePropertiesR0600(struct emu_prop_r0600 *p, int device)
{
    hipDeviceProp_t old;
    if (!p)
        return emu_hip_fail(hipErrorInvalidValue, "properties are null");
    hipError_t e = hipGetDeviceProperties(&old, device);
    if (e != hipSuccess)
        return e;
    memset(p, 0, sizeof *p);
    memcpy(p->name, old.name, sizeof p->name);
    memcpy(p->gcnArchName, old.gcnArchName, sizeof p->gcnArchName);
    snprintf(p->uuid, sizeof p->uuid, "GPU-emu%08x", (unsigned)device);
    p->totalGlobalMem = old.totalGlobalMem;
    p->sharedMemPerBlock = p->sharedMemPerMultiprocessor = p->maxSharedMemoryPerMultiProcessor =
        old.sharedMemPerBlock;
    p->regsPerBlock = p->regsPerMultiprocessor = old.regsPerBlock;
    p->warpSize = old.warpSize;
    p->memPitch = old.memPitch;
    p->maxThreadsPerBlock = old.maxThreadsPerBlock;
    memcpy(p->maxThreadsDim, old.maxThreadsDim, sizeof p->maxThreadsDim);
    memcpy(p->maxGridSize, old.maxGridSize, sizeof p->maxGridSize);
    p->clockRate = old.clockRate;
    p->totalConstMem = old.totalConstMem;
    p->major = old.major;
    p->minor = old.minor;
    p->textureAlignment = old.textureAlignment;
    p->texturePitchAlignment = old.texturePitchAlignment;
    p->multiProcessorCount = old.multiProcessorCount;
    p->integrated = old.integrated;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = 1;
    p->streamPrioritiesSupported = p->managedMemory = p->concurrentManagedAccess = 1;
    p->cooperativeLaunch = p->hostRegisterSupported = 1;
    p->ECCEnabled = old.ECCEnabled;
    p->pciBusID = old.pciBusID;
    p->memoryClockRate = old.memoryClockRate;
    p->memoryBusWidth = old.memoryBusWidth;
    p->l2CacheSize = old.l2CacheSize;
    p->maxThreadsPerMultiProcessor = old.maxThreadsPerMultiProcessor;
    p->maxBlocksPerMultiProcessor = old.maxThreadsPerMultiProcessor / old.warpSize;
    p->clockInstructionRate = old.clockInstructionRate;
    memcpy(&p->arch, &old.arch, sizeof p->arch);
    return hipSuccess;
}

static bool attribute(const hipDeviceProp_t *p, hipDeviceAttribute_t attr, int *value)
{
    const struct {
        hipDeviceAttribute_t attr;
        int value;
    } table[] = {
        {hipDeviceAttributeEccEnabled, p->ECCEnabled},
        {hipDeviceAttributeCanMapHostMemory, 1},
        {hipDeviceAttributeClockRate, p->clockRate},
        {hipDeviceAttributeComputeMode, 0},
        {hipDeviceAttributeConcurrentKernels, 1},
        {hipDeviceAttributeConcurrentManagedAccess, 1},
        {hipDeviceAttributeCooperativeLaunch, 1},
        {hipDeviceAttributeCooperativeMultiDeviceLaunch, 0},
        {hipDeviceAttributeDirectManagedMemAccessFromHost, 1},
        {hipDeviceAttributeHostNativeAtomicSupported, 0},
        {hipDeviceAttributeIntegrated, p->integrated},
        {hipDeviceAttributeIsMultiGpuBoard, 0},
        {hipDeviceAttributeKernelExecTimeout, 0},
        {hipDeviceAttributeL2CacheSize, p->l2CacheSize},
        {hipDeviceAttributeComputeCapabilityMajor, p->major},
        {hipDeviceAttributeComputeCapabilityMinor, p->minor},
        {hipDeviceAttributeManagedMemory, 1},
        {hipDeviceAttributeMaxBlocksPerMultiProcessor,
         p->maxThreadsPerMultiProcessor / p->warpSize},
        {hipDeviceAttributeMaxBlockDimX, p->maxThreadsDim[0]},
        {hipDeviceAttributeMaxBlockDimY, p->maxThreadsDim[1]},
        {hipDeviceAttributeMaxBlockDimZ, p->maxThreadsDim[2]},
        {hipDeviceAttributeMaxGridDimX, p->maxGridSize[0]},
        {hipDeviceAttributeMaxGridDimY, p->maxGridSize[1]},
        {hipDeviceAttributeMaxGridDimZ, p->maxGridSize[2]},
        {hipDeviceAttributeMaxThreadsPerBlock, p->maxThreadsPerBlock},
        {hipDeviceAttributeMaxThreadsPerMultiProcessor, p->maxThreadsPerMultiProcessor},
        {hipDeviceAttributeMaxPitch, INT32_MAX},
        {hipDeviceAttributeMemoryBusWidth, p->memoryBusWidth},
        {hipDeviceAttributeMemoryClockRate, p->memoryClockRate},
        {hipDeviceAttributeMultiprocessorCount, p->multiProcessorCount},
        {hipDeviceAttributePhysicalMultiProcessorCount, p->multiProcessorCount},
        {hipDeviceAttributePageableMemoryAccess, 0},
        {hipDeviceAttributePciBusId, p->pciBusID},
        {hipDeviceAttributePciDeviceId, 0},
        {hipDeviceAttributePciDomainID, 0},
        {hipDeviceAttributeMaxRegistersPerBlock, p->regsPerBlock},
        {hipDeviceAttributeMaxRegistersPerMultiprocessor, p->regsPerBlock},
        {hipDeviceAttributeMaxSharedMemoryPerBlock, (int)p->sharedMemPerBlock},
        {hipDeviceAttributeSharedMemPerBlockOptin, (int)p->sharedMemPerBlock},
        {hipDeviceAttributeSharedMemPerMultiprocessor, (int)p->sharedMemPerBlock},
        {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, (int)p->sharedMemPerBlock},
        {hipDeviceAttributeStreamPrioritiesSupported, 1},
        {hipDeviceAttributeTccDriver, 0},
        {hipDeviceAttributeTextureAlignment, 256},
        {hipDeviceAttributeTotalConstantMemory, INT32_MAX},
        {hipDeviceAttributeUnifiedAddressing, 1},
        {hipDeviceAttributeWarpSize, p->warpSize},
        {hipDeviceAttributeMemoryPoolsSupported, 0},
        {hipDeviceAttributeClockInstructionRate, p->clockInstructionRate},
        {hipDeviceAttributeGcnArch, p->gcnArch},
        {hipDeviceAttributeIsLargeBar, 0},
        {hipDeviceAttributeImageSupport, 0},
        {hipDeviceAttributeCanUseStreamWaitValue, 0},
        {hipDeviceAttributeFineGrainSupport, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].attr == attr) {
            *value = table[i].value;
            return true;
        }
    return false;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attr, int device)
{
    hipDeviceProp_t p;
    if (!value)
        return emu_hip_fail(hipErrorInvalidValue, "value is null");
    hipError_t e = hipGetDeviceProperties(&p, device);
    if (e != hipSuccess)
        return e;
    if (!attribute(&p, attr, value))
        return emu_hip_fail(hipErrorInvalidValue, "device attribute %d is not known", (int)attr);
    return hipSuccess;
}

/* Whatever the modes of captures, of which CHECK_SUPPORTED_DURING_CAPTURE asks none. */
static hipError_t synchronize(const char *what)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_none(hipErrorStreamCaptureUnsupported, what);
    if (e != hipSuccess)
        return e;
    struct emu_device *d = emu_hip_current();
    pthread_mutex_lock(&d->order);
    pthread_mutex_unlock(&d->order);
    return hipSuccess;
}

hipError_t hipDeviceSynchronize(void)
{
    return synchronize("hipDeviceSynchronize");
}

hipError_t hipCtxSynchronize(void)
{
    return synchronize("hipCtxSynchronize");
}

hipError_t hipDeviceReset(void)
{
    EMU_BEGIN();
    emu_mem_reset(emu_hip_current()->index);
    return hipSuccess;
}

hipError_t hipSetDeviceFlags(unsigned flags)
{
    (void)flags;
    EMU_BEGIN();
    return hipSuccess;
}

hipError_t hipGetDeviceFlags(unsigned *flags)
{
    EMU_BEGIN();
    if (!flags)
        return emu_hip_fail(hipErrorInvalidValue, "flags is null");
    *flags = 0;
    return hipSuccess;
}

hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    EMU_BEGIN();
    if (least)
        *least = 1;
    if (greatest)
        *greatest = -1;
    return hipSuccess;
}

hipError_t hipDeviceGetLimit(size_t *value, enum hipLimit_t limit)
{
    EMU_BEGIN();
    if (!value || limit != hipLimitMallocHeapSize)
        return emu_hip_fail(hipErrorUnsupportedLimit, "limit %d", (int)limit);
    *value = 4 << 20;
    return hipSuccess;
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer)
{
    EMU_BEGIN();
    if (!can || !emu_hip_device(device) || !emu_hip_device(peer))
        return emu_hip_fail(hipErrorInvalidDevice, "devices %d and %d", device, peer);
    *can = device != peer;
    return hipSuccess;
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    EMU_BEGIN();
    struct emu_device *d = emu_hip_current();
    if (!emu_hip_device(peer) || peer == d->index)
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", peer);
    if (atomic_fetch_or(&d->peers, 1u << peer) >> peer & 1)
        return emu_hip_fail(hipErrorPeerAccessAlreadyEnabled, "device %d", peer);
    return hipSuccess;
}

hipError_t hipDeviceDisablePeerAccess(int peer)
{
    EMU_BEGIN();
    struct emu_device *d = emu_hip_current();
    if (!emu_hip_device(peer))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", peer);
    if (!(atomic_fetch_and(&d->peers, ~(1u << peer)) >> peer & 1))
        return emu_hip_fail(hipErrorPeerAccessNotEnabled, "device %d", peer);
    return hipSuccess;
}

/* Contexts are the devices themselves, as in HIP on AMD; a handle is the device's address. */
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *ctx, hipDevice_t device)
{
    EMU_BEGIN();
    if (!ctx || !emu_hip_device(device))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
    *ctx = (hipCtx_t)emu_hip_device(device);
    return hipSuccess;
}

hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device)
{
    EMU_BEGIN();
    return emu_hip_device(device) ? hipSuccess
                                  : emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
}

hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned *flags, int *active)
{
    EMU_BEGIN();
    if (!flags || !active || !emu_hip_device(device))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d", device);
    *flags = 0;
    *active = device == emu_hip_current()->index;
    return hipSuccess;
}

static int context_index(hipCtx_t ctx)
{
    for (int i = 0; i < emu_hip_device_count(); i++)
        if ((hipCtx_t)emu_hip_device(i) == ctx)
            return i;
    return -1;
}

hipError_t hipCtxGetCurrent(hipCtx_t *ctx)
{
    EMU_BEGIN();
    if (!ctx)
        return emu_hip_fail(hipErrorInvalidValue, "context is null");
    *ctx = (hipCtx_t)emu_hip_current();
    return hipSuccess;
}

hipError_t hipCtxSetCurrent(hipCtx_t ctx)
{
    EMU_BEGIN();
    return ctx ? emu_hip_set_current(context_index(ctx)) : hipSuccess;
}

hipError_t hipCtxGetDevice(hipDevice_t *device)
{
    return hipGetDevice(device);
}

/* Caches and banks of LDS are as they are. */
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config)
{
    (void)config;
    EMU_BEGIN();
    return hipSuccess;
}

hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *config)
{
    EMU_BEGIN();
    if (!config)
        return emu_hip_fail(hipErrorInvalidValue, "no result");
    *config = hipFuncCachePreferNone;
    return hipSuccess;
}

hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig config)
{
    (void)config;
    EMU_BEGIN();
    return hipSuccess;
}

hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *config)
{
    EMU_BEGIN();
    if (!config)
        return emu_hip_fail(hipErrorInvalidValue, "no result");
    *config = hipSharedMemBankSizeFourByte;
    return hipSuccess;
}

hipError_t hipProfilerStart(void)
{
    EMU_BEGIN();
    return hipSuccess;
}

hipError_t hipProfilerStop(void)
{
    EMU_BEGIN();
    return hipSuccess;
}
