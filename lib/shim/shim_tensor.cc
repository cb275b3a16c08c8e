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
static_assert(sizeof(LazyTensor<4>) == 24 && sizeof(LazyTensor<2>) == 24, "layout");
} // namespace AOTRITON_NS

namespace AOTRITON_NS::v3::flash
{

static_assert(sizeof(attn_options) == 4, "layout");
static_assert(sizeof(attn_fwd_params) == 768, "layout");
static_assert(sizeof(attn_bwd_params) == 1040, "layout");

#define FWD(field, at) static_assert(offsetof(attn_fwd_params, field) == (at), #field);
FWD(Q, 0)
FWD(K, 80)
FWD(V, 160)
FWD(B, 240)
FWD(A, 320)
FWD(Sm_scale, 368)
FWD(L, 376)
FWD(Out, 424)
FWD(cu_seqlens_q, 504)
FWD(cu_seqlens_k, 536)
FWD(Max_seqlen_q, 568)
FWD(Max_seqlen_k, 572)
FWD(dropout_p, 576)
FWD(philox_seed_ptr, 584)
FWD(philox_offset1, 600)
FWD(philox_offset2, 616)
FWD(philox_seed_output, 624)
FWD(philox_offset_output, 640)
FWD(encoded_softmax, 656)
FWD(persistent_atomic_counter, 736)
FWD(causal_type, 752)
FWD(varlen_type, 753)
FWD(window_left, 756)
FWD(window_right, 760)

#define BWD(field, at) static_assert(offsetof(attn_bwd_params, field) == (at), #field);
BWD(Q, 0)
BWD(K, 80)
BWD(V, 160)
BWD(B, 240)
BWD(Sm_scale, 320)
BWD(Out, 328)
BWD(DO, 408)
BWD(DK, 488)
BWD(DV, 568)
BWD(DQ, 648)
BWD(DB, 728)
BWD(L, 808)
BWD(D, 856)
BWD(cu_seqlens_q, 880)
BWD(cu_seqlens_k, 912)
BWD(Max_seqlen_q, 944)
BWD(Max_seqlen_k, 948)
BWD(dropout_p, 952)
BWD(philox_seed_ptr, 960)
BWD(philox_offset1, 976)
BWD(philox_offset2, 992)
BWD(causal_type, 1000)
BWD(varlen_type, 1001)
BWD(window_left, 1004)
BWD(window_right, 1008)
BWD(DQ_ACC, 1016)

} // namespace AOTRITON_NS::v3::flash
