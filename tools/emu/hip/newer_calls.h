/* HIP functions that the HIP 5.2 headers do not declare, as newer programs call them. */
#ifndef EMU_HIP_NEWER_H
#define EMU_HIP_NEWER_H

#include "handles.h"

/* hipDeviceProp_tR0600: what hipGetDeviceProperties means since HIP 6. */
struct emu_prop_r0600 {
    char name[256];
    char uuid[16], luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory,
        computeMode;
    int texture_limits[26], surface_limits[14];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver,
        asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize,
        persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
        globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID,
        hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess,
        concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
        cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost,
        maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported,
        timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63], hipReserved[32];
    char gcnArchName[256];
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    unsigned arch; /* hipDeviceArch_t, bit fields */
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim,
        cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem,
        isLargeBar, asicRevision;
};
_Static_assert(offsetof(struct emu_prop_r0600, gcnArchName) == 1160, "layout of HIP 6");
_Static_assert(sizeof(struct emu_prop_r0600) == 1472, "layout of HIP 6");

EMU_EXPORT hipError_t hipGetDevicePropertiesR0600(struct emu_prop_r0600 *p, int device);
EMU_EXPORT hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_t *p, int device);
EMU_EXPORT hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
EMU_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, void (*fn)(void *), void *data);
EMU_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags);
EMU_EXPORT hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy,
                                               uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                                               size_t lds, hipStream_t stream, void **params,
                                               void **extra, hipEvent_t start, hipEvent_t stop,
                                               uint32_t flags);
EMU_EXPORT hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream);
typedef struct hipUserObject *hipUserObject_t;
EMU_EXPORT hipError_t hipUserObjectCreate(hipUserObject_t *object, void *thing,
                                          void (*destroy)(void *thing), unsigned references,
                                          unsigned flags);
EMU_EXPORT hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count);
EMU_EXPORT hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count);
EMU_EXPORT hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object,
                                               unsigned count, unsigned flags);
EMU_EXPORT hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object,
                                                unsigned count);
EMU_EXPORT hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags,
                                        int *status);
EMU_EXPORT hipError_t hipDrvGetErrorName(hipError_t e, const char **text);
EMU_EXPORT hipError_t hipDrvGetErrorString(hipError_t e, const char **text);
/* Declared without parameters in the headers, which is no prototype. */
EMU_EXPORT hipError_t hipProfilerStart(void);
EMU_EXPORT hipError_t hipProfilerStop(void);
EMU_EXPORT hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device);

/* Called by what a HIP compiler generates; no header declares them. */
EMU_EXPORT void **__hipRegisterFatBinary(const void *data);
EMU_EXPORT void __hipUnregisterFatBinary(void **modules);
EMU_EXPORT void __hipRegisterFunction(void **modules, const void *host, char *device_name,
                                      const char *name, unsigned thread_limit, void *tid, void *bid,
                                      dim3 *block, dim3 *grid, int *warp);
EMU_EXPORT void __hipRegisterVar(void **modules, void *host, char *host_name, char *name,
                                 int external, size_t size, int constant, int global);

#endif
