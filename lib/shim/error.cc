/* From our codes to HIP's, in one table. */
#include "shim.h"

namespace shim
{

static constexpr struct {
    aothip_status status;
    hipError_t error;
} table[] = {
    {AOTHIP_OK, hipSuccess},
    {AOTHIP_E_ARGUMENT, hipErrorInvalidValue},
    {AOTHIP_E_UNSUPPORTED, hipErrorNotSupported},
    {AOTHIP_E_NO_HIP, hipErrorInsufficientDriver},
    {AOTHIP_E_HIP, hipErrorUnknown}, /* only where HIP's own code is missing */
    {AOTHIP_E_NO_DEVICE, hipErrorNoDevice},
    {AOTHIP_E_NO_IMAGES, hipErrorNoBinaryForGpu},
    {AOTHIP_E_IO, hipErrorFileNotFound},
    {AOTHIP_E_FORMAT, hipErrorInvalidImage},
    {AOTHIP_E_CHECKSUM, hipErrorInvalidImage},
    {AOTHIP_E_VERSION, hipErrorInvalidImage},
    {AOTHIP_E_TARGET, hipErrorNoBinaryForGpu},
    {AOTHIP_E_MEMORY, hipErrorOutOfMemory},
};

hipError_t to_hip(aothip_status status)
{
    if (status == AOTHIP_E_HIP && aothip_last_hip_error())
        return static_cast<hipError_t>(aothip_last_hip_error());
    for (const auto &row : table)
        if (row.status == status)
            return row.error;
    return hipErrorUnknown;
}

hipError_t refuse(aothip_status status, const char *reason)
{
    return to_hip(aothip_set_error(status, reason));
}

} // namespace shim
