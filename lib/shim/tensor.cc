/* Tensor views: the instantiations that consumers link, and the layouts they were compiled for. */
#include "shim.h"

#include <cstddef>

namespace AOTRITON_NS
{
template class TensorView<1>;
template class TensorView<2>;
template class TensorView<3>;
template class TensorView<4>;

static_assert(sizeof(TensorView<4>) == 80 && sizeof(TensorView<2>) == 48, "layout");
static_assert(sizeof(TensorView<1>) == 32 && sizeof(TensorView<0>) == 16, "layout");
static_assert(sizeof(Stream) == 8, "layout");
#if AOTRITON_VERSION_MINOR >= 11
static_assert(sizeof(LazyTensor<4>) == (AOTRITON_VERSION_MINOR >= 12 ? 104 : 24), "layout");
static_assert(sizeof(LazyTensor<2>) == (AOTRITON_VERSION_MINOR >= 12 ? 72 : 24), "layout");
#endif
} // namespace AOTRITON_NS

#if AOTRITON_VERSION_MINOR >= 10

namespace AOTRITON_NS::v3::flash
{

/*
 * Offsets as AOTriton's own headers give them on x86-64. Releases differ in a few places, behind
 * which everything moves: the offsets there are those of dropout_p, of cu_seqlens_q and of the
 * fields behind D.
 */
#if AOTRITON_VERSION_MINOR >= 14
#define CU_SEQLENS_Q seqinfo_q0
#define CU_SEQLENS_K seqinfo_k0
#define SEQ_STRIDES_Q seqinfo_q1
#define SEQ_STRIDES_K seqinfo_k1
#else
#define CU_SEQLENS_Q cu_seqlens_q
#define CU_SEQLENS_K cu_seqlens_k
#define SEQ_STRIDES_Q seq_strides_q
#define SEQ_STRIDES_K seq_strides_k
#endif
#define FIELD(params, field, at) static_assert(offsetof(params, field) == (at), #field);

FIELD(attn_fwd_params, Q, 0)
FIELD(attn_fwd_params, K, 80)
FIELD(attn_fwd_params, V, 160)
FIELD(attn_fwd_params, B, 240)
FIELD(attn_fwd_params, A, 320)
FIELD(attn_fwd_params, Sm_scale, 368)
FIELD(attn_fwd_params, L, 376)
FIELD(attn_fwd_params, Out, 424)
FIELD(attn_fwd_params, CU_SEQLENS_Q, 504)
FIELD(attn_fwd_params, CU_SEQLENS_K, 536)
FIELD(attn_fwd_params, Max_seqlen_q, 568)
FIELD(attn_fwd_params, Max_seqlen_k, 572)
constexpr std::size_t fwd_tail = AOTRITON_VERSION_MINOR >= 12 ? 640 : 576;
FIELD(attn_fwd_params, dropout_p, fwd_tail)
FIELD(attn_fwd_params, philox_seed_ptr, fwd_tail + 8)
FIELD(attn_fwd_params, philox_offset1, fwd_tail + 24)
FIELD(attn_fwd_params, philox_offset2, fwd_tail + 40)
FIELD(attn_fwd_params, philox_seed_output, fwd_tail + 48)
FIELD(attn_fwd_params, philox_offset_output, fwd_tail + 64)
FIELD(attn_fwd_params, encoded_softmax, fwd_tail + 80)
FIELD(attn_fwd_params, persistent_atomic_counter, fwd_tail + 160)
FIELD(attn_fwd_params, causal_type, fwd_tail + 176)
FIELD(attn_fwd_params, window_left, fwd_tail + 180)
FIELD(attn_fwd_params, window_right, fwd_tail + 184)
static_assert(sizeof(attn_fwd_params) == fwd_tail + 192, "layout");

FIELD(attn_bwd_params, Q, 0)
FIELD(attn_bwd_params, K, 80)
FIELD(attn_bwd_params, V, 160)
FIELD(attn_bwd_params, B, 240)
FIELD(attn_bwd_params, Sm_scale, 320)
FIELD(attn_bwd_params, Out, 328)
FIELD(attn_bwd_params, DO, 408)
FIELD(attn_bwd_params, DK, 488)
FIELD(attn_bwd_params, DV, 568)
FIELD(attn_bwd_params, DQ, 648)
FIELD(attn_bwd_params, DB, 728)
FIELD(attn_bwd_params, L, 808)
FIELD(attn_bwd_params, D, 856)
constexpr std::size_t bwd_sequences = AOTRITON_VERSION_MINOR >= 12   ? 928
                                      : AOTRITON_VERSION_MINOR == 11 ? 880
                                                                     : 904;
FIELD(attn_bwd_params, CU_SEQLENS_Q, bwd_sequences)
FIELD(attn_bwd_params, CU_SEQLENS_K, bwd_sequences + 32)
FIELD(attn_bwd_params, Max_seqlen_q, bwd_sequences + 64)
FIELD(attn_bwd_params, Max_seqlen_k, bwd_sequences + 68)
constexpr std::size_t bwd_tail = bwd_sequences + (AOTRITON_VERSION_MINOR >= 12 ? 136 : 72);
FIELD(attn_bwd_params, dropout_p, bwd_tail)
FIELD(attn_bwd_params, philox_seed_ptr, bwd_tail + 8)
FIELD(attn_bwd_params, philox_offset1, bwd_tail + 24)
FIELD(attn_bwd_params, philox_offset2, bwd_tail + 40)
FIELD(attn_bwd_params, causal_type, bwd_tail + 48)
FIELD(attn_bwd_params, window_left, bwd_tail + 52)
FIELD(attn_bwd_params, window_right, bwd_tail + 56)

#if AOTRITON_VERSION_MINOR >= 12
FIELD(attn_fwd_params, SEQ_STRIDES_Q, 576)
FIELD(attn_fwd_params, SEQ_STRIDES_K, 608)
FIELD(attn_bwd_params, SEQ_STRIDES_Q, 1000)
FIELD(attn_bwd_params, SEQ_STRIDES_K, 1032)
static_assert(sizeof(attn_options) == 8 && offsetof(attn_options, deterministic) == 4, "layout");
#else
static_assert(sizeof(attn_options) == (AOTRITON_VERSION_MINOR == 11 ? 4 : 1), "layout");
#endif

#if AOTRITON_VERSION_MINOR >= 14
FIELD(attn_fwd_params, varlen_bits, 828)
FIELD(attn_bwd_params, varlen_bits, 1232)
FIELD(attn_bwd_params, DQ_ACC, 1128)
static_assert(sizeof(VarlenMode) == 1 && sizeof(VarlenBits) == 4 && alignof(VarlenBits) == 4,
              "layout");
static_assert(sizeof(attn_bwd_params) == 1240, "layout");
static_assert(attn_fwd_params::kVersion == 4 && attn_bwd_params::kVersion == 7, "version");
#else
FIELD(attn_fwd_params, varlen_type, fwd_tail + 177)
FIELD(attn_bwd_params, varlen_type, bwd_tail + 49)
#if AOTRITON_VERSION_MINOR >= 12
FIELD(attn_bwd_params, DQ_ACC, 1128)
static_assert(sizeof(attn_bwd_params) == 1232, "layout");
static_assert(attn_fwd_params::kVersion == 3 && attn_bwd_params::kVersion == 6, "version");
#elif AOTRITON_VERSION_MINOR == 11
FIELD(attn_bwd_params, DQ_ACC, 1016)
static_assert(sizeof(attn_bwd_params) == 1040, "layout");
static_assert(attn_fwd_params::kVersion == 1 && attn_bwd_params::kVersion == 3, "version");
#else
static_assert(sizeof(attn_bwd_params) == 1040, "layout");
static_assert(attn_fwd_params::kVersion == 1 && attn_bwd_params::kVersion == 1, "version");
#endif
#endif

} // namespace AOTRITON_NS::v3::flash

#endif
