/* What HIP tells of a device: properties in both layouts, attributes, compute capability. */
#include "newer_calls.h"

#include <stdio.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

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
