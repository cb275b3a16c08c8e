/* aotriton::v3::flash. */
#include "shim.h"

namespace AOTRITON_NS::v3::flash
{

/*
 * The constructors have no version argument, so a consumer must have been compiled for this
 * library's struct. Fields without a default become zero.
 */
attn_fwd_params::attn_fwd_params()
    : Sm_scale(0), dropout_p(0), philox_offset2(0), causal_type(CausalType::None), window_left(0),
      window_right(0)
{
}

attn_bwd_params::attn_bwd_params()
    : Sm_scale(0), dropout_p(0), philox_offset2(0), causal_type(CausalType::None), window_left(0),
      window_right(0)
{
}

static hipError_t refuse_version()
{
    aothip_set_error(AOTHIP_E_ARGUMENT, "params_version: not that of this library's struct");
    return hipErrorInvalidSymbol;
}

hipError_t attn_fwd(const attn_fwd_params &p, std::int32_t params_version, Stream stream,
                    const attn_options *)
{
    if (params_version != attn_fwd_params::kVersion)
        return refuse_version();
    if (p.causal_type != CausalType::None && p.causal_type != CausalType::WindowedAttention)
        return shim::refuse(AOTHIP_E_ARGUMENT, "causal_type: neither None nor WindowedAttention");
    /* cu_seqlens_q decides; varlen_type only tells kinds of packed sequences apart */
    return shim::attn_fwd(
        {p.Q, p.K, p.V, p.B, p.Out, p.encoded_softmax, p.L, p.Sm_scale, p.dropout_p,
         static_cast<bool>(p.cu_seqlens_q)},
        {p.causal_type == CausalType::WindowedAttention, p.window_left, p.window_right}, stream);
}

hipError_t attn_bwd(const attn_bwd_params &, std::int32_t params_version, Stream,
                    const attn_options *)
{
    if (params_version != attn_bwd_params::kVersion)
        return refuse_version();
    return shim::refuse(AOTHIP_E_UNSUPPORTED, "there is no backward kernel");
}

#if AOTRITON_VERSION_MINOR < 12
hipError_t aiter_bwd(const attn_bwd_params &params, std::int32_t params_version, Stream stream,
                     const attn_options *options)
{
    return attn_bwd(params, params_version, stream, options);
}
#endif

} // namespace AOTRITON_NS::v3::flash
