/* The process's context, and questions about the GPU of a stream. */
#include "shim.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace shim
{

aothip_context *context(hipError_t *error)
{
    static std::atomic<aothip_context *> shared;
    aothip_context *found = shared.load(std::memory_order_acquire), *opened;
    if (found)
        return found;
    const aothip_status status = aothip_open(nullptr, &opened);
    if (status != AOTHIP_OK) {
        *error = to_hip(status);
        return nullptr;
    }
    /* Two threads may have come here: the second takes the first one's. */
    if (shared.compare_exchange_strong(found, opened, std::memory_order_acq_rel))
        return opened;
    aothip_close(opened);
    return found;
}

static bool describe(hipStream_t stream, aothip_device_info *info)
{
    hipError_t error;
    aothip_context *const images = context(&error);
    *info = {};
    info->struct_size = sizeof(*info);
    return images && aothip_stream_device(images, stream, info) == AOTHIP_OK;
}

#if AOTRITON_VERSION_MINOR >= 10

/* gfx942 comes with 304, 228 and 80 compute units: MI300X, MI300A, MI308X. */
static std::uint16_t modification(const aothip_device_info &info)
{
    if (std::strcmp(info.gpu, "gfx942") != 0)
        return 0;
    return info.compute_units == 228 ? 1 : info.compute_units == 80 ? 2 : 0;
}

static std::uint64_t number(const aothip_device_info &info, unsigned long digits)
{
    return ao::TRICAT(ao::kAMD, static_cast<std::uint16_t>(digits), modification(info));
}

#else

static std::uint64_t number(const aothip_device_info &, unsigned long digits)
{
    return ao::CAT(ao::kAMD, static_cast<std::uint32_t>(digits));
}

#endif

/* "gfx90a" -> AOTriton's number for it; 0 if HIP cannot tell. */
static std::uint64_t gpu_of(hipStream_t stream)
{
    aothip_device_info info;
    return describe(stream, &info) ? number(info, std::strtoul(info.gpu + 3, nullptr, 16)) : 0;
}

} // namespace shim

namespace AOTRITON_NS
{

#if AOTRITON_VERSION_MINOR >= 10
Gpu getGpuFromStream(hipStream_t stream)
{
    return static_cast<Gpu>(shim::gpu_of(stream));
}
#else
GpuArch getArchFromStream(hipStream_t stream)
{
    return static_cast<GpuArch>(shim::gpu_of(stream));
}
#endif

#if AOTRITON_VERSION_MINOR >= 9
int getMultiProcessorCount(hipStream_t stream)
{
    aothip_device_info info;
    return shim::describe(stream, &info) ? info.compute_units : 0;
}

bool isArchExperimentallySupported(hipStream_t)
{
    return false;
}
#endif

#if AOTRITON_VERSION_MINOR * 100 + AOTRITON_VERSION_PATCH >= 1201
bool isArchTechPreview(hipStream_t)
{
    return false;
}
#endif

} // namespace AOTRITON_NS
