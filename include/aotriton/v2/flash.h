/*
 * Attention, the entry points with positional arguments; from 0.13 on only what is not attention.
 *
 * q (B, Hq, Sq, D), k (B, Hk, Sk, D), v (B, Hk, Sk, Dv), out (B, Hq, Sq, Dv) in one dtype, fp16,
 * bf16 or fp32, with any strides but 1 on the last axis; Hq is a multiple of Hk. b (B, Hq, Sq, Sk),
 * any strides, is added to the scaled scores. is_causal lets query m see the keys n <= m. Tensors
 * not wanted are null.
 *
 * softmax_lse, fp32, contiguous: the log-sum-exp of each row, from 0.11 on natural, before to base
 * 2; (B * Hq, Sq); packed sequences (sequences * Hq, max_seqlen_q) up to 0.11, (Hq, total_q) from
 * 0.12 on. Nothing is written beyond size(0) * size(1) elements. Null leaves it out; the backward
 * functions read what the forward ones wrote.
 *
 * compact_varlen: q and out are (1, Hq, total_q, D), k and v alike; cu_seqlens are int32
 * (sequences + 1). max_seqlen_k may be 0.
 *
 * philox_seed and philox_offset1 point at 64-bit integers in device memory; with dropout_p = 0 they
 * are not followed. atomic_for_causal is not used.
 *
 * All return a hipError_t; with AOTHIP_LOG=1 in the environment the reason goes to stderr in words.
 * A call that fails has launched nothing.
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
#if AOTRITON_VERSION_MINOR >= 9
struct AOTRITON_API FusedBwdExtraArguments : public CppTune {
};
#endif

/* hipSuccess if attention runs on the stream's GPU, hipErrorNoBinaryForGpu if it does not. */
hipError_t AOTRITON_API check_gpu(AOTRITON_NS::Stream stream);

#if AOTRITON_VERSION_MINOR >= 9 && AOTRITON_VERSION_MINOR <= 12

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

#elif AOTRITON_VERSION_MINOR <= 8

hipError_t AOTRITON_API attn_fwd(TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b,
                                 float sm_scale, TensorView<2> softmax_lse, TensorView<4> out,
                                 float dropout_p, TensorView<0> philox_seed,
                                 TensorView<0> philox_offset1, std::int64_t philox_offset2,
                                 TensorView<0> philox_seed_output,
                                 TensorView<0> philox_offset_output, TensorView<4> encoded_softmax,
                                 bool is_causal, AOTRITON_NS::Stream stream,
                                 FwdExtraArguments *extargs = nullptr);

hipError_t AOTRITON_API attn_fwd_compact_varlen(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<1> cu_seqlens_q,
    TensorView<1> cu_seqlens_k, std::int32_t max_seqlen_q, std::int32_t max_seqlen_k,
    TensorView<4> b, float sm_scale, TensorView<2> softmax_lse, TensorView<4> out, float dropout_p,
    TensorView<0> philox_seed, TensorView<0> philox_offset1, std::int64_t philox_offset2,
    TensorView<0> philox_seed_output, TensorView<0> philox_offset_output,
    TensorView<4> encoded_softmax, bool is_causal, AOTRITON_NS::Stream stream,
    FwdExtraArguments *extargs = nullptr);

#endif

#if AOTRITON_VERSION_MINOR <= 12

/* delta: as many elements as softmax_lse; scratch. dq, dk, dv have the shapes of q, k, v. */
hipError_t AOTRITON_API attn_bwd(TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b,
                                 float sm_scale, TensorView<4> out, TensorView<4> dout,
                                 TensorView<4> dq, TensorView<4> dk, TensorView<4> dv,
                                 TensorView<4> db, TensorView<2> softmax_lse, TensorView<2> delta,
                                 float dropout_p, TensorView<0> philox_seed,
                                 TensorView<0> philox_offset1, std::int64_t philox_offset2,
                                 bool is_causal, AOTRITON_NS::Stream stream,
                                 BwdExtraArguments *extargs = nullptr);

#if AOTRITON_VERSION_MINOR >= 9
/* The same without delta: its memory is taken from HIP's pool on the stream. */
hipError_t AOTRITON_API attn_bwd_fused(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<4> b, float sm_scale,
    TensorView<4> out, TensorView<4> dout, TensorView<4> dq, TensorView<4> dk, TensorView<4> dv,
    TensorView<4> db, TensorView<2> softmax_lse, float dropout_p, TensorView<0> philox_seed,
    TensorView<0> philox_offset1, std::int64_t philox_offset2, bool is_causal,
    AOTRITON_NS::Stream stream, FusedBwdExtraArguments *extargs = nullptr);
#endif

hipError_t AOTRITON_API attn_bwd_compact_varlen(
    TensorView<4> q, TensorView<4> k, TensorView<4> v, TensorView<1> cu_seqlens_q,
    TensorView<1> cu_seqlens_k, std::int32_t max_seqlen_q, std::int32_t max_seqlen_k,
    TensorView<4> b, float sm_scale, TensorView<4> out, TensorView<4> dout, TensorView<4> dq,
    TensorView<4> dk, TensorView<4> dv, TensorView<4> db, TensorView<2> softmax_lse,
    TensorView<2> delta, float dropout_p, TensorView<0> philox_seed, TensorView<0> philox_offset1,
    std::int64_t philox_offset2, bool is_causal, AOTRITON_NS::Stream stream,
    BwdExtraArguments *extargs = nullptr);

#endif

#if AOTRITON_VERSION_MINOR >= 9
/* Fills r (B, H, Sq, Sk) with +0.5 where dropout keeps an element and -0.5 where it drops it. */
hipError_t AOTRITON_API debug_simulate_encoded_softmax(TensorView<4> r, float dropout_p,
                                                       TensorView<0> philox_seed,
                                                       TensorView<0> philox_offset1,
                                                       std::uint64_t philox_offset2,
                                                       AOTRITON_NS::Stream stream);
#endif

#if AOTRITON_VERSION_MINOR <= 9
/*
 * Fills r (B, H, Sq, Sk), fp32, with the uniform numbers in [0, 1) that dropout compares with its
 * probability: an element is kept where its number is not below dropout_p.
 */
hipError_t AOTRITON_API debug_fill_dropout_rng(TensorView<4> r, std::uint64_t philox_seed,
                                               std::uint64_t philox_offset,
                                               AOTRITON_NS::Stream stream);

/* The same with seed and offset in device memory. */
hipError_t AOTRITON_API debug_fill_dropout_rng_tensor(TensorView<4> r, TensorView<0> philox_seed,
                                                      TensorView<0> philox_offset,
                                                      AOTRITON_NS::Stream stream);
#endif

} // namespace AOTRITON_NS::v2::flash

#endif
