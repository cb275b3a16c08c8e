/*
 * Attention, the entry points that take a struct of arguments with a version; from 0.10 on.
 *
 * Shapes, dtypes, strides and errors as in <aotriton/v2/flash.h>. A params_version other than the
 * struct's kVersion (0.14: or the one before) is hipErrorInvalidSymbol. `options` may be null.
 */
#ifndef AOTRITON_V3_API_FLASH_ATTN_H
#define AOTRITON_V3_API_FLASH_ATTN_H

#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>
#include <aotriton/v2/flash.h>

#include <cstdint>

#if AOTRITON_VERSION_MINOR >= 10

namespace AOTRITON_NS::v3::flash
{

using T4 = AOTRITON_NS::TensorView<4>;
using T2 = AOTRITON_NS::TensorView<2>;
using T1 = AOTRITON_NS::TensorView<1>;
using T0 = AOTRITON_NS::TensorView<0>;
#if AOTRITON_VERSION_MINOR >= 11
using LT4 = AOTRITON_NS::LazyTensor<4>;
using LT2 = AOTRITON_NS::LazyTensor<2>;
#endif

struct CausalType {
    static constexpr std::int8_t None = 0; /* all keys; window fields are not read */
    static constexpr std::int8_t WindowedAttention =
        3; /* m - window_left <= n <= m + window_right */
};

/* Values of window_left and window_right that are no numbers of keys; each side by itself. */
struct WindowValue {
    static constexpr std::int32_t TopLeftAligned = -2147483647;     /* right: n <= m */
    static constexpr std::int32_t BottomRightAligned = -2147483646; /* right: n <= m + Sk - Sq */
};

#if AOTRITON_VERSION_MINOR <= 13

/* With cu_seqlens_q null there is one sequence a batch entry, whatever varlen_type says. */
struct VarlenType {
    static constexpr std::int8_t None = 0;          /* as CompactVarlen */
    static constexpr std::int8_t CompactVarlen = 1; /* (1, H, total, D), starts in cu_seqlens */
    static constexpr std::int8_t PaddedVarlen = 2;  /* (B, H, S, D), lengths from cu_seqlens */
#if AOTRITON_VERSION_MINOR >= 12
    static constexpr std::int8_t StridedVarlen = 3; /* starts in seq_strides, q has one more: the */
                                                    /* pitch between the heads of L */
#endif
};

#else

/*
 * How sequences of different length lie, for q and for k each: info0 is seqinfo_q0 or seqinfo_k0,
 * info1 is seqinfo_q1 or seqinfo_k1, z the sequence's number. All zero is one sequence of full
 * length in each batch entry.
 */
struct VarlenStacked {
    static constexpr std::uint32_t BHSD = 0; /* sequence z is batch entry z */
    static constexpr std::uint32_t THD = 1;  /* (1, H, total, D): one behind the other */
};
struct VarlenLength {
    static constexpr std::uint32_t MAX = 0;        /* all alike; no info0 */
    static constexpr std::uint32_t CUMULATIVE = 1; /* info0[z + 1] - info0[z] */
    static constexpr std::uint32_t INDIVIDUAL = 2; /* info0[z] */
};
struct VarlenPosition {
    static constexpr std::uint32_t IMPLIED = 0; /* first row 0; stacked: z * Max_seqlen */
    static constexpr std::uint32_t REUSE = 1;   /* info0[z], where lengths are CUMULATIVE */
    static constexpr std::uint32_t ARRAY = 2;   /* info1[z]; stacked q has one more: the total */
};
struct VarlenLseLayout {
    static constexpr std::uint32_t HT = 0; /* (heads, rows) */
    static constexpr std::uint32_t TH = 1; /* (rows, heads) */
};
struct VarlenMode {
    std::uint8_t stacked : 1;
    std::uint8_t length : 2;
    std::uint8_t position : 2;
    std::uint8_t reserved : 3; /* 0 */
};
struct alignas(std::uint32_t) VarlenBits {
    VarlenMode qmode;
    VarlenMode kmode;
    std::uint16_t lse_layout : 2;
    std::uint16_t reserved : 14; /* 0 */
};

#endif

struct AOTRITON_API attn_options {
#if AOTRITON_VERSION_MINOR >= 11
    int force_backend_index = -1; /* a hint of no effect */
#endif
#if AOTRITON_VERSION_MINOR >= 12
    /* Of the backward pass: false allows sums of dQ whose last bits differ from call to call, where
     * that is faster (see atomics in aothip.h). Without options, and in v2, which has none, gradients
     * are deterministic: whoever cannot say what he wants gets the same bits. The environment
     * variable AOTHIP_ATOMICS forces either. */
    bool deterministic = false;
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
#if AOTRITON_VERSION_MINOR >= 14
    T1 seqinfo_q0; /* lengths */
    T1 seqinfo_k0;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
    T1 seqinfo_q1; /* positions */
    T1 seqinfo_k1;
#else
    T1 cu_seqlens_q; /* not null: sequences of different length */
    T1 cu_seqlens_k;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
    T1 seq_strides_q; /* not null: where each sequence starts */
    T1 seq_strides_k;
#endif
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
#if AOTRITON_VERSION_MINOR <= 13
    std::int8_t varlen_type = 0; /* VarlenType */
#endif
    std::int32_t window_left;
    std::int32_t window_right;
#if AOTRITON_VERSION_MINOR >= 14
    VarlenBits varlen_bits = {};
#endif

#if AOTRITON_VERSION_MINOR >= 14
    static constexpr std::int32_t kVersion = 4;
#elif AOTRITON_VERSION_MINOR >= 12
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
#if AOTRITON_VERSION_MINOR >= 11
    mutable LT2 D; /* delta, as many elements as L; scratch */
#else
    T2 D; /* delta, as many elements as L; scratch */
#endif
#if AOTRITON_VERSION_MINOR >= 14
    T1 seqinfo_q0; /* lengths */
    T1 seqinfo_k0;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
    T1 seqinfo_q1; /* positions */
    T1 seqinfo_k1;
#else
    T1 cu_seqlens_q; /* not null: sequences of different length */
    T1 cu_seqlens_k;
    std::int32_t Max_seqlen_q = 0;
    std::int32_t Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
    T1 seq_strides_q; /* not null: where each sequence starts */
    T1 seq_strides_k;
#endif
#endif
    float dropout_p;
    T0 philox_seed_ptr;
    T0 philox_offset1;
    std::uint64_t philox_offset2;
    std::int8_t causal_type;
#if AOTRITON_VERSION_MINOR <= 13
    std::int8_t varlen_type = 0;
#endif
    std::int32_t window_left;
    std::int32_t window_right;
#if AOTRITON_VERSION_MINOR >= 11
    mutable LT4 DQ_ACC; /* never acquired */
#endif
#if AOTRITON_VERSION_MINOR >= 14
    VarlenBits varlen_bits = {};
#endif

#if AOTRITON_VERSION_MINOR >= 14
    static constexpr std::int32_t kVersion = 7;
#elif AOTRITON_VERSION_MINOR >= 12
    static constexpr std::int32_t kVersion = 6;
#elif AOTRITON_VERSION_MINOR >= 11
    static constexpr std::int32_t kVersion = 3;
#else
    static constexpr std::int32_t kVersion = 1;
#endif
    attn_bwd_params();
};

hipError_t AOTRITON_API attn_bwd(const attn_bwd_params &params, std::int32_t params_version,
                                 AOTRITON_NS::Stream stream, const attn_options *options = nullptr);

#if AOTRITON_VERSION_MINOR == 11
hipError_t AOTRITON_API aiter_bwd(const attn_bwd_params &params, std::int32_t params_version,
                                  AOTRITON_NS::Stream stream,
                                  const attn_options *options = nullptr);
#endif

} // namespace AOTRITON_NS::v3::flash

#endif

#endif
