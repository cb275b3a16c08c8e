/* aotriton::v2::flash. Arguments without a name have no effect. */
#include "shim.h"

namespace AOTRITON_NS::v2::flash
{

using shim::T0;
using shim::T1;
using shim::T2;
using shim::T4;

hipError_t check_gpu(Stream stream)
{
    hipError_t error;
    aothip_context *const images = shim::context(&error);
    return images ? shim::to_hip(aothip_check_stream(images, stream.native())) : error;
}

#if AOTRITON_VERSION_MINOR <= 12

/* v2 knows one mask: query m sees the keys n <= m. */
static shim::window causal(bool is_causal)
{
    return {is_causal, shim::top_left, shim::top_left};
}

/* 0.8 and before: no counter, and the bias of the varlen function stands elsewhere. */
#if AOTRITON_VERSION_MINOR >= 9
#define COUNTER T0,
#define BIAS_BEFORE T4 b,
#define BIAS_AFTER
#else
#define COUNTER
#define BIAS_BEFORE
#define BIAS_AFTER T4 b,
#endif

hipError_t attn_fwd(T4 q, T4 k, T4 v, T4 b, float sm_scale, T2 softmax_lse, T4 out, float dropout_p,
                    T0 philox_seed, T0 philox_offset1, std::int64_t philox_offset2,
                    T0 philox_seed_output, T0 philox_offset_output, T4 encoded_softmax,
                    bool is_causal, COUNTER Stream stream, FwdExtraArguments *)
{
    return shim::attn_fwd(
        {q,
         k,
         v,
         b,
         out,
         softmax_lse,
         sm_scale,
         causal(is_causal),
         nullptr,
         {dropout_p, philox_seed, philox_offset1, static_cast<std::uint64_t>(philox_offset2),
          philox_seed_output, philox_offset_output}},
        encoded_softmax, stream);
}

hipError_t attn_fwd_compact_varlen(T4 q, T4 k, T4 v, BIAS_BEFORE T1 cu_seqlens_q, T1 cu_seqlens_k,
                                   std::int32_t max_seqlen_q, std::int32_t max_seqlen_k,
                                   BIAS_AFTER float sm_scale, T2 softmax_lse, T4 out,
                                   float dropout_p, T0 philox_seed, T0 philox_offset1,
                                   std::int64_t philox_offset2, T0 philox_seed_output,
                                   T0 philox_offset_output, T4 encoded_softmax, bool is_causal,
                                   COUNTER Stream stream, FwdExtraArguments *)
{
    const shim::varlen sequences =
        shim::compact(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k);
    return shim::attn_fwd(
        {q,
         k,
         v,
         b,
         out,
         softmax_lse,
         sm_scale,
         causal(is_causal),
         &sequences,
         {dropout_p, philox_seed, philox_offset1, static_cast<std::uint64_t>(philox_offset2),
          philox_seed_output, philox_offset_output}},
        encoded_softmax, stream);
}

hipError_t attn_bwd(T4 q, T4 k, T4 v, T4 b, float sm_scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv,
                    T4 db, T2 softmax_lse, T2 delta, float dropout_p, T0 philox_seed,
                    T0 philox_offset1, std::int64_t philox_offset2, bool is_causal, Stream stream,
                    BwdExtraArguments *)
{
    return shim::attn_bwd({q,
                           k,
                           v,
                           b,
                           out,
                           softmax_lse,
                           sm_scale,
                           causal(is_causal),
                           nullptr,
                           {dropout_p, philox_seed, philox_offset1,
                            static_cast<std::uint64_t>(philox_offset2), T0(), T0()}},
                          {dout, dq, dk, dv, db, delta}, stream);
}

#if AOTRITON_VERSION_MINOR >= 9
hipError_t attn_bwd_fused(T4 q, T4 k, T4 v, T4 b, float sm_scale, T4 out, T4 dout, T4 dq, T4 dk,
                          T4 dv, T4 db, T2 softmax_lse, float dropout_p, T0 philox_seed,
                          T0 philox_offset1, std::int64_t philox_offset2, bool is_causal,
                          Stream stream, FusedBwdExtraArguments *)
{
    return attn_bwd(q, k, v, b, sm_scale, out, dout, dq, dk, dv, db, softmax_lse, T2(), dropout_p,
                    philox_seed, philox_offset1, philox_offset2, is_causal, stream, nullptr);
}
#endif

hipError_t attn_bwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_seqlens_q, T1 cu_seqlens_k,
                                   std::int32_t max_seqlen_q, std::int32_t max_seqlen_k, T4 b,
                                   float sm_scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 db,
                                   T2 softmax_lse, T2 delta, float dropout_p, T0 philox_seed,
                                   T0 philox_offset1, std::int64_t philox_offset2, bool is_causal,
                                   Stream stream, BwdExtraArguments *)
{
    const shim::varlen sequences =
        shim::compact(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k);
    return shim::attn_bwd({q,
                           k,
                           v,
                           b,
                           out,
                           softmax_lse,
                           sm_scale,
                           causal(is_causal),
                           &sequences,
                           {dropout_p, philox_seed, philox_offset1,
                            static_cast<std::uint64_t>(philox_offset2), T0(), T0()}},
                          {dout, dq, dk, dv, db, delta}, stream);
}

#undef COUNTER
#undef BIAS_BEFORE
#undef BIAS_AFTER

#endif

#if AOTRITON_VERSION_MINOR >= 9
hipError_t debug_simulate_encoded_softmax(T4 r, float dropout_p, T0 philox_seed, T0 philox_offset1,
                                          std::uint64_t philox_offset2, Stream stream)
{
    return shim::dropout_mask(
        r, {dropout_p, philox_seed, philox_offset1, philox_offset2, T0(), T0()}, stream);
}
#endif

#if AOTRITON_VERSION_MINOR <= 9
hipError_t debug_fill_dropout_rng(T4 r, std::uint64_t philox_seed, std::uint64_t philox_offset,
                                  Stream stream)
{
    return shim::dropout_numbers(r, T0(), T0(), philox_seed, philox_offset, stream);
}

hipError_t debug_fill_dropout_rng_tensor(T4 r, T0 philox_seed, T0 philox_offset, Stream stream)
{
    return shim::dropout_numbers(r, philox_seed, philox_offset, 0, 0, stream);
}
#endif

} // namespace AOTRITON_NS::v2::flash
