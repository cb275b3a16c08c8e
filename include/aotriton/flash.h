/*
 * Attention, the entry points that take a struct of arguments with a version.
 *
 * Shapes, dtypes, strides and errors as in <aotriton/v2/flash.h>. A params_version other than the
 * struct's kVersion is hipErrorInvalidSymbol. `options` may be null.
 */
#ifndef AOTRITON_V3_API_FLASH_ATTN_H
#define AOTRITON_V3_API_FLASH_ATTN_H

#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>
#include <aotriton/v2/flash.h>

#include <cstdint>

namespace AOTRITON_NS::v3::flash
{

using T4 = AOTRITON_NS::TensorView<4>;
using T2 = AOTRITON_NS::TensorView<2>;
using T1 = AOTRITON_NS::TensorView<1>;
using T0 = AOTRITON_NS::TensorView<0>;
using LT4 = AOTRITON_NS::LazyTensor<4>;
using LT2 = AOTRITON_NS::LazyTensor<2>;

struct CausalType {
    static constexpr std::int8_t None = 0; /* all keys; window fields are not read */
    static constexpr std::int8_t WindowedAttention =
        3; /* m - window_left <= n <= m + window_right */
};

/* Values of window_left and window_right that are no numbers of keys. */
struct WindowValue {
    static constexpr std::int32_t TopLeftAligned = -2147483647;     /* right: n <= m */
    static constexpr std::int32_t BottomRightAligned = -2147483646; /* right: n <= m + Sk - Sq */
};

struct VarlenType {
    static constexpr std::int8_t None = 0;
    static constexpr std::int8_t CompactVarlen = 1;
    static constexpr std::int8_t PaddedVarlen = 2;
#if AOTRITON_VERSION_MINOR >= 12
    static constexpr std::int8_t StridedVarlen = 3;
#endif
};

struct AOTRITON_API attn_options {
    int force_backend_index = -1; /* a hint of no effect */
#if AOTRITON_VERSION_MINOR >= 12
    bool deterministic = false; /* of the backward pass; results always are */
#endif
};

struct AOTRITON_API attn_fwd_params {
    T4 Q;
    T4 K;
    T4 V;
    T4 B; /* bias (B, Hq, Sq, Sk), added to the scaled scores */
    T2 A; /* not read */
    float Sm_scale;
    T2 L; /* log-sum-exp out */
    T4 Out;
    T1 cu_seqlens_q; /* not null: packed sequences */
    T1 cu_seqlens_k;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
    T1 seq_strides_q; /* not null: where each sequence starts */
    T1 seq_strides_k;
#endif
    float dropout_p;
    T0 philox_seed_ptr;
    T0 philox_offset1;
    std::uint64_t philox_offset2;
    T0 philox_seed_output;
    T0 philox_offset_output;
    T4 encoded_softmax;
    T0 persistent_atomic_counter; /* not read */
    std::int8_t causal_type;      /* CausalType */
    std::int8_t varlen_type = 0;  /* VarlenType */
    std::int32_t window_left;
    std::int32_t window_right;

#if AOTRITON_VERSION_MINOR >= 12
    static constexpr std::int32_t kVersion = 3;
#else
    static constexpr std::int32_t kVersion = 1;
#endif
    attn_fwd_params();
};

hipError_t AOTRITON_API attn_fwd(const attn_fwd_params &params, std::int32_t params_version,
                                 AOTRITON_NS::Stream stream, const attn_options *options = nullptr);

struct AOTRITON_API attn_bwd_params {
    T4 Q;
    T4 K;
    T4 V;
    T4 B;
    float Sm_scale;
    T4 Out;
    T4 DO;
    T4 DK;
    T4 DV;
    T4 DQ;
    T4 DB;
    T2 L;
    mutable LT2 D; /* delta, scratch */
    T1 cu_seqlens_q;
    T1 cu_seqlens_k;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
    T1 seq_strides_q; /* not null: where each sequence starts */
    T1 seq_strides_k;
#endif
    float dropout_p;
    T0 philox_seed_ptr;
    T0 philox_offset1;
    std::uint64_t philox_offset2;
    std::int8_t causal_type;
    std::int8_t varlen_type = 0;
    std::int32_t window_left;
    std::int32_t window_right;
    mutable LT4 DQ_ACC; /* scratch */

#if AOTRITON_VERSION_MINOR >= 12
    static constexpr std::int32_t kVersion = 6;
#else
    static constexpr std::int32_t kVersion = 3;
#endif
    attn_bwd_params();
};

hipError_t AOTRITON_API attn_bwd(const attn_bwd_params &params, std::int32_t params_version,
                                 AOTRITON_NS::Stream stream, const attn_options *options = nullptr);

#if AOTRITON_VERSION_MINOR < 12
hipError_t AOTRITON_API aiter_bwd(const attn_bwd_params &params, std::int32_t params_version,
                                  AOTRITON_NS::Stream stream,
                                  const attn_options *options = nullptr);
#endif

} // namespace AOTRITON_NS::v3::flash

#endif
