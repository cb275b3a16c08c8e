/*
 * Attention, the entry points with positional arguments; from 0.13 on only what is not attention.
 *
 * q (B, Hq, Sq, D), k (B, Hk, Sk, D), v (B, Hk, Sk, Dv), out (B, Hq, Sq, Dv) in one dtype, with any
 * strides but 1 on the last axis; softmax_lse (B * Hq, Sq) fp32 natural logarithm, null to leave it
 * out. is_causal lets query m see the keys n <= m. Tensors not wanted are null.
 *
 * All return a hipError_t; aothip_last_error() of <aothip/aothip.h> has the reason in words.
 * hipErrorNotSupported: what the arguments ask for has no kernel; nothing was launched.
 */
#ifndef AOTRITON_V2_API_FLASH_ATTN_H
#define AOTRITON_V2_API_FLASH_ATTN_H

#include <aotriton/config.h>
#include <aotriton/cpp_tune.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <cstdint>

namespace AOTRITON_NS::v2::flash
{

/* Hints of no effect; pointers to them may be null. */
struct AOTRITON_API FwdExtraArguments : public CppTune {
};
struct AOTRITON_API BwdExtraArguments{};
struct AOTRITON_API FusedBwdExtraArguments : public CppTune {
};

/* hipSuccess if attention runs on the stream's GPU, hipErrorNoBinaryForGpu if it does not. */
hipError_t AOTRITON_API check_gpu(AOTRITON_NS::Stream stream);

#if AOTRITON_VERSION_MINOR <= 12

hipError_t AOTRITON_API attn_fwd(TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b,
                                 float sm_scale, TensorView<2> softmax_lse, TensorView<4> out,
                                 float dropout_p, TensorView<0> philox_seed,
                                 TensorView<0> philox_offset1, std::int64_t philox_offset2,
                                 TensorView<0> philox_seed_output,
                                 TensorView<0> philox_offset_output, TensorView<4> encoded_softmax,
                                 bool is_causal, TensorView<0> atomic_for_causal,
                                 AOTRITON_NS::Stream stream, FwdExtraArguments *extargs = nullptr);

hipError_t AOTRITON_API attn_fwd_compact_varlen(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b, TensorView<1> cu_seqlens_q,
    TensorView<1> cu_seqlens_k, std::int32_t max_seqlen_q, std::int32_t max_seqlen_k,
    float sm_scale, TensorView<2> softmax_lse, TensorView<4> out, float dropout_p,
    TensorView<0> philox_seed, TensorView<0> philox_offset1, std::int64_t philox_offset2,
    TensorView<0> philox_seed_output, TensorView<0> philox_offset_output,
    TensorView<4> encoded_softmax, bool is_causal, TensorView<0> atomic_for_causal,
    AOTRITON_NS::Stream stream, FwdExtraArguments *extargs = nullptr);

hipError_t AOTRITON_API attn_bwd(TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b,
                                 float sm_scale, TensorView<4> out, TensorView<4> dout,
                                 TensorView<4> dq, TensorView<4> dk, TensorView<4> dv,
                                 TensorView<4> db, TensorView<2> softmax_lse, TensorView<2> delta,
                                 float dropout_p, TensorView<0> philox_seed,
                                 TensorView<0> philox_offset1, std::int64_t philox_offset2,
                                 bool is_causal, AOTRITON_NS::Stream stream,
                                 BwdExtraArguments *extargs = nullptr);

hipError_t AOTRITON_API attn_bwd_fused(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b, float sm_scale,
    TensorView<4> out, TensorView<4> dout, TensorView<4> dq, TensorView<4> dk, TensorView<4> dv,
    TensorView<4> db, TensorView<2> softmax_lse, float dropout_p, TensorView<0> philox_seed,
    TensorView<0> philox_offset1, std::int64_t philox_offset2, bool is_causal,
    AOTRITON_NS::Stream stream, FusedBwdExtraArguments *extargs = nullptr);

hipError_t AOTRITON_API attn_bwd_compact_varlen(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<1> cu_seqlens_q,
    TensorView<1> cu_seqlens_k, std::int32_t max_seqlen_q, std::int32_t max_seqlen_k,
    TensorView<4> b, float sm_scale, TensorView<4> out, TensorView<4> dout, TensorView<4> dq,
    TensorView<4> dk, TensorView<4> dv, TensorView<4> db, TensorView<2> softmax_lse,
    TensorView<2> delta, float dropout_p, TensorView<0> philox_seed, TensorView<0> philox_offset1,
    std::int64_t philox_offset2, bool is_causal, AOTRITON_NS::Stream stream,
    BwdExtraArguments *extargs = nullptr);

#endif

/* Fills r with +0.5 where dropout keeps an element and -0.5 where it drops it. */
hipError_t AOTRITON_API debug_simulate_encoded_softmax(TensorView<4> r, float dropout_p,
                                                       TensorView<0> philox_seed,
                                                       TensorView<0> philox_offset1,
                                                       std::uint64_t philox_offset2,
                                                       AOTRITON_NS::Stream stream);

} // namespace AOTRITON_NS::v2::flash

#endif
