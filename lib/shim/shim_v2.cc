/* aotriton::v2::flash. Arguments without a name have no effect. */
#include "shim.h"

namespace AOTRITON_NS::v2::flash
{

using v3::flash::T0;
using v3::flash::T1;
using v3::flash::T2;
using v3::flash::T4;

#if AOTRITON_VERSION_MINOR <= 12
/* v2 knows one mask: query m sees the keys n <= m. */
static shim::window causal(bool is_causal)
{
    return {is_causal, v3::flash::WindowValue::TopLeftAligned,
            v3::flash::WindowValue::TopLeftAligned};
}

static hipError_t no_backward()
{
    return shim::refuse(AOTHIP_E_UNSUPPORTED, "there is no backward kernel");
}
#endif

hipError_t check_gpu(Stream stream)
{
    hipError_t error;
    aothip_context *const images = shim::context(&error);
    return images ? shim::to_hip(aothip_check_stream(images, stream.native())) : error;
}

#if AOTRITON_VERSION_MINOR <= 12
hipError_t attn_fwd(T4 q, T4 k, T4 v, T4 b, float sm_scale, T2 softmax_lse, T4 out, float dropout_p,
                    T0, T0, std::int64_t, T0, T0, T4 encoded_softmax, bool is_causal, T0,
                    Stream stream, FwdExtraArguments *)
{
    return shim::attn_fwd(
        {q, k, v, b, out, encoded_softmax, softmax_lse, sm_scale, dropout_p, false},
        causal(is_causal), stream);
}

hipError_t attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T4 b, T1, T1, std::int32_t, std::int32_t,
                                   float sm_scale, T2 softmax_lse, T4 out, float dropout_p, T0, T0,
                                   std::int64_t, T0, T0, T4 encoded_softmax, bool is_causal, T0,
                                   Stream stream, FwdExtraArguments *)
{
    return shim::attn_fwd(
        {q, k, v, b, out, encoded_softmax, softmax_lse, sm_scale, dropout_p, true},
        causal(is_causal), stream);
}

hipError_t attn_bwd(T4, T4, T4, T4, float, T4, T4, T4, T4, T4, T4, T2, T2, float, T0, T0,
                    std::int64_t, bool, Stream, BwdExtraArguments *)
{
    return no_backward();
}

hipError_t attn_bwd_fused(T4, T4, T4, T4, float, T4, T4, T4, T4, T4, T4, T2, float, T0, T0,
                          std::int64_t, bool, Stream, FusedBwdExtraArguments *)
{
    return no_backward();
}

hipError_t attn_bwd_compact_varlen(T4, T4, T4, T1, T1, std::int32_t, std::int32_t, T4, float, T4,
                                   T4, T4, T4, T4, T4, T2, T2, float, T0, T0, std::int64_t, bool,
                                   Stream, BwdExtraArguments *)
{
    return no_backward();
}

#endif

hipError_t debug_simulate_encoded_softmax(T4, float, T0, T0, std::uint64_t, Stream)
{
    return shim::refuse(AOTHIP_E_UNSUPPORTED, "r: there is no kernel that simulates dropout");
}

} // namespace AOTRITON_NS::v2::flash
