/* HIP devices: count, choice, limits, peers, contexts. */
#include "newer_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER_VERSION = 60443484 }; /* HIP 6.4: what a program with either header accepts */

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
