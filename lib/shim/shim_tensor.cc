/* Tensor views: the instantiations that consumers link, and the layouts they were compiled for. */
#define aotriton_v2_EXPORTS /* this file is where `extern template` points to */
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
static_assert(sizeof(LazyTensor<4>) == (AOTRITON_VERSION_MINOR >= 12 ? 104 : 24), "layout");
static_assert(sizeof(LazyTensor<2>) == (AOTRITON_VERSION_MINOR >= 12 ? 72 : 24), "layout");
} // namespace AOTRITON_NS

namespace AOTRITON_NS::v3::flash
{

/* FIELD(struct, field, offset) as AOTriton's own headers give it on x86-64. */
#define FIELD(params, field, at) static_assert(offsetof(params, field) == (at), #field);

/* the same in 0.11, 0.12 and 0.13 */
FIELD(attn_fwd_params, Q, 0)
FIELD(attn_fwd_params, K, 80)
FIELD(attn_fwd_params, V, 160)
FIELD(attn_fwd_params, B, 240)
FIELD(attn_fwd_params, A, 320)
FIELD(attn_fwd_params, Sm_scale, 368)
FIELD(attn_fwd_params, L, 376)
FIELD(attn_fwd_params, Out, 424)
FIELD(attn_fwd_params, cu_seqlens_q, 504)
FIELD(attn_fwd_params, cu_seqlens_k, 536)
FIELD(attn_fwd_params, Max_seqlen_q, 568)
FIELD(attn_fwd_params, Max_seqlen_k, 572)
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

#if AOTRITON_VERSION_MINOR >= 12
static_assert(sizeof(attn_options) == 8 && offsetof(attn_options, deterministic) == 4, "layout");
static_assert(sizeof(attn_fwd_params) == 832 && attn_fwd_params::kVersion == 3, "layout");
static_assert(sizeof(attn_bwd_params) == 1232 && attn_bwd_params::kVersion == 6, "layout");
FIELD(attn_fwd_params, seq_strides_q, 576)
FIELD(attn_fwd_params, seq_strides_k, 608)
FIELD(attn_fwd_params, dropout_p, 640)
FIELD(attn_fwd_params, philox_seed_ptr, 648)
FIELD(attn_fwd_params, philox_offset1, 664)
FIELD(attn_fwd_params, philox_offset2, 680)
FIELD(attn_fwd_params, philox_seed_output, 688)
FIELD(attn_fwd_params, philox_offset_output, 704)
FIELD(attn_fwd_params, encoded_softmax, 720)
FIELD(attn_fwd_params, persistent_atomic_counter, 800)
FIELD(attn_fwd_params, causal_type, 816)
FIELD(attn_fwd_params, varlen_type, 817)
FIELD(attn_fwd_params, window_left, 820)
FIELD(attn_fwd_params, window_right, 824)
FIELD(attn_bwd_params, cu_seqlens_q, 928)
FIELD(attn_bwd_params, cu_seqlens_k, 960)
FIELD(attn_bwd_params, Max_seqlen_q, 992)
FIELD(attn_bwd_params, Max_seqlen_k, 996)
FIELD(attn_bwd_params, seq_strides_q, 1000)
FIELD(attn_bwd_params, seq_strides_k, 1032)
FIELD(attn_bwd_params, dropout_p, 1064)
FIELD(attn_bwd_params, philox_seed_ptr, 1072)
FIELD(attn_bwd_params, philox_offset1, 1088)
FIELD(attn_bwd_params, philox_offset2, 1104)
FIELD(attn_bwd_params, causal_type, 1112)
FIELD(attn_bwd_params, varlen_type, 1113)
FIELD(attn_bwd_params, window_left, 1116)
FIELD(attn_bwd_params, window_right, 1120)
FIELD(attn_bwd_params, DQ_ACC, 1128)
#else
static_assert(sizeof(attn_options) == 4, "layout");
static_assert(sizeof(attn_fwd_params) == 768 && attn_fwd_params::kVersion == 1, "layout");
static_assert(sizeof(attn_bwd_params) == 1040 && attn_bwd_params::kVersion == 3, "layout");
FIELD(attn_fwd_params, dropout_p, 576)
FIELD(attn_fwd_params, philox_seed_ptr, 584)
FIELD(attn_fwd_params, philox_offset1, 600)
FIELD(attn_fwd_params, philox_offset2, 616)
FIELD(attn_fwd_params, philox_seed_output, 624)
FIELD(attn_fwd_params, philox_offset_output, 640)
FIELD(attn_fwd_params, encoded_softmax, 656)
FIELD(attn_fwd_params, persistent_atomic_counter, 736)
FIELD(attn_fwd_params, causal_type, 752)
FIELD(attn_fwd_params, varlen_type, 753)
FIELD(attn_fwd_params, window_left, 756)
FIELD(attn_fwd_params, window_right, 760)
FIELD(attn_bwd_params, cu_seqlens_q, 880)
FIELD(attn_bwd_params, cu_seqlens_k, 912)
FIELD(attn_bwd_params, Max_seqlen_q, 944)
FIELD(attn_bwd_params, Max_seqlen_k, 948)
FIELD(attn_bwd_params, dropout_p, 952)
FIELD(attn_bwd_params, philox_seed_ptr, 960)
FIELD(attn_bwd_params, philox_offset1, 976)
FIELD(attn_bwd_params, philox_offset2, 992)
FIELD(attn_bwd_params, causal_type, 1000)
FIELD(attn_bwd_params, varlen_type, 1001)
FIELD(attn_bwd_params, window_left, 1004)
FIELD(attn_bwd_params, window_right, 1008)
FIELD(attn_bwd_params, DQ_ACC, 1016)
#endif

} // namespace AOTRITON_NS::v3::flash
