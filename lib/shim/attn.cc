/* Forward attention, and what dropout keeps. */
#include "shim.h"

namespace shim
{

/*
 * Whether to ask the library whether keys are to be shared out, which costs as much as the call
 * itself: with few queries, or with fewer tiles of 64 than large GPUs hold workgroups.
 */
static bool may_share_keys(const aothip_attn_fwd_params &p)
{
    enum { FEW = 16, TILE = 64, HELD = 1024, LEAST_KEYS = 256 };
    const std::int64_t rows = p.q_seqs.max ? p.q_seqs.max : p.q.size[2];
    const std::int64_t sequences = p.sequences ? p.sequences : p.q.size[0];
    const double tiles = static_cast<double>(sequences) * static_cast<double>(p.q.size[1]) *
                         static_cast<double>(rows / TILE + 1); /* sizes are not checked yet */
    return p.k.size[2] >= LEAST_KEYS && (rows <= FEW || tiles < HELD);
}

hipError_t attn_fwd(const problem &given, const T4 &encoded_softmax, ao::Stream stream)
{
    aothip_attn_fwd_params params;
    hipError_t error = translate(given, &params);
    if (error != hipSuccess)
        return error;
    if (encoded_softmax) {
        to_tensor(encoded_softmax, &params.probs);
        /* up to 0.8 it held probabilities; without L, only their signs can be had */
        params.probs_dropped = AOTRITON_VERSION_MINOR <= 8 && params.lse;
    }
    aothip_context *const images = context(&error);
    if (!images)
        return error;
    std::size_t bytes = 0;
    if (may_share_keys(params)) /* which they are not without workspace */
        error = to_hip(aothip_attn_fwd_workspace(images, &params, stream.native(), &bytes));
    if (error != hipSuccess)
        return error;
    if (bytes > most_memory) /* then there are fewer parts */
        bytes = most_memory;
    const kept memory(stream.native(), bytes);
    scratch pooled(stream.native());
    if (bytes && !memory.data() && !in_capture(stream.native()))
        pooled.allocate_pooled(bytes);
    params.workspace = memory.data() ? memory.data() : pooled.data();
    params.workspace_size = params.workspace ? bytes : 0;
    return to_hip(aothip_attn_fwd(images, &params, stream.native()));
}

/*
 * No attention is computed: of the tensors only the sizes count. They get addresses behind r, which
 * nobody follows: inputs those of one element, the output one of its own for each.
 */
hipError_t dropout_mask(const T4 &r, const dropout &drop, ao::Stream stream)
{
    const T4 none;
    const T2 no_lse;
    if (!r)
        return refuse(AOTHIP_E_ARGUMENT, "r: there is none");
    std::uint64_t behind = reinterpret_cast<std::uintptr_t>(r.data_ptr());
    for (int i = 0; i < 4; i++)
        behind += r.size(i) * r.stride(i) * sizeof(float);
    const std::uint64_t b = r.size(0), h = r.size(1), m = r.size(2), n = r.size(3);
    const std::intptr_t at = static_cast<std::intptr_t>(behind);
    const std::intptr_t end = static_cast<std::intptr_t>(behind + b * h * m * sizeof(float));
    const T4 o(at, {b, h, m, 1}, {h * m, m, 1, 1}, r.dtype());
    const T4 q(end, {b, h, m, 1}, {0, 0, 0, 1}, r.dtype());
    const T4 k(end, {b, h, n, 1}, {0, 0, 0, 1}, r.dtype());
    aothip_attn_fwd_params params;
    hipError_t error = translate({q, k, k, none, o, no_lse, 1, {}, nullptr, drop}, &params);
    if (error != hipSuccess)
        return error;
    to_tensor(r, &params.probs);
    aothip_context *const images = context(&error);
    return images ? to_hip(aothip_attn_probs(images, &params, stream.native())) : error;
}

} // namespace shim
