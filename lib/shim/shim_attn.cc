/* Forward attention, and what dropout keeps. */
#include "shim.h"

namespace shim
{

hipError_t attn_fwd(const problem &given, const T4 &encoded_softmax, ao::Stream stream)
{
    aothip_attn_fwd_params params;
    hipError_t error = translate(given, &params);
    if (error != hipSuccess)
        return error;
    if (encoded_softmax) {
        params.probs = to_tensor(encoded_softmax);
        /* up to 0.8 it held probabilities; without L, only their signs can be had */
        params.probs_dropped = AOTRITON_VERSION_MINOR <= 8 && params.lse;
    }
    aothip_context *const images = context(&error);
    return images ? to_hip(aothip_attn_fwd(images, &params, stream.native())) : error;
}

/* No attention is computed: of the tensors only the sizes count, one channel is enough. */
hipError_t dropout_mask(const T4 &r, const dropout &drop, ao::Stream stream)
{
    const T4 none;
    const T2 no_lse;
    if (!r)
        return refuse(AOTHIP_E_ARGUMENT, "r: there is none");
    const auto rows = [&r](int axis) {
        return T4(reinterpret_cast<std::intptr_t>(r.data_ptr()),
                  {r.size(0), r.size(1), r.size(axis), 1}, {0, 0, 0, 1}, r.dtype());
    };
    const T4 q = rows(2), k = rows(3);
    aothip_attn_fwd_params params;
    hipError_t error = translate({q, k, k, none, q, no_lse, 1, {}, nullptr, drop}, &params);
    if (error != hipSuccess)
        return error;
    params.probs = to_tensor(r);
    aothip_context *const images = context(&error);
    return images ? to_hip(aothip_attn_probs(images, &params, stream.native())) : error;
}

} // namespace shim
