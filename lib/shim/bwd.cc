/* Backward attention. */
#include "shim.h"

namespace shim
{

static std::uint64_t elements(const T2 &view)
{
    return view ? view.size(0) * view.size(1) : 0;
}

/* Elements of lse for all sequences; of packed ones as if they filled q. */
static std::int64_t lse_elements(const aothip_attn_fwd_params &fwd)
{
    if (fwd.lse_layout != AOTHIP_LSE_ROWS && fwd.q_seqs.packed)
        return fwd.q.size[1] * fwd.q.size[2];
    const std::int64_t sequences = fwd.sequences ? fwd.sequences : fwd.q.size[0];
    const std::int64_t rows = fwd.q_seqs.max ? fwd.q_seqs.max : fwd.q.size[2];
    return sequences * fwd.q.size[1] * rows;
}

/* A gradient has the form into which its tensor was brought. */
static void to_gradient(const T4 &view, const aothip_tensor &like, aothip_tensor *tensor)
{
    to_tensor(view, tensor);
    if (tensor->size[0] == 1 && like.size[0] != 1) {
        tensor->size[0] = like.size[0];
        tensor->size[2] = like.size[2];
        tensor->stride[0] = like.size[2] * tensor->stride[2];
    } else if (like.size[2] == 0) {
        tensor->size[2] = 0;
    }
}

/* The forward problem, with an L that can be read. */
static hipError_t translate_forward(const problem &given, aothip_attn_fwd_params *fwd)
{
    const hipError_t error = translate(given, fwd);
    if (error != hipSuccess)
        return error;
    fwd->dropout_seed_output = fwd->dropout_offset_output = nullptr;
    if (lse_elements(*fwd) && !fwd->lse)
        return refuse(AOTHIP_E_ARGUMENT, "L: there is none, but gradients need it");
    if (fwd->lse_size < lse_elements(*fwd))
        return refuse(AOTHIP_E_ARGUMENT, "L: is smaller than its layout; the forward pass has left "
                                         "out rows that gradients need");
    return hipSuccess;
}

hipError_t attn_bwd(const problem &given, const gradients &wanted, ao::Stream stream)
{
    aothip_attn_fwd_params fwd;
    hipError_t error = translate_forward(given, &fwd);
    if (error != hipSuccess)
        return error;
    if (wanted.dbias && !given.bias)
        return refuse(AOTHIP_E_ARGUMENT, "DB: is given without a B");
    aothip_attn_bwd_params params = {};
    params.struct_size = sizeof(params);
    params.fwd = &fwd;
    params.atomics = wanted.atomics;
    to_gradient(wanted.d_out, fwd.o, &params.d_o);
    to_gradient(wanted.dq, fwd.q, &params.dq);
    to_gradient(wanted.dk, fwd.k, &params.dk);
    to_gradient(wanted.dv, fwd.v, &params.dv);
    if (wanted.dbias)
        to_tensor(wanted.dbias, &params.dbias);
    if (elements(wanted.delta) >= static_cast<std::uint64_t>(lse_elements(fwd)) &&
        wanted.delta.dtype() == ao::kFloat32) {
        params.delta = static_cast<float *>(const_cast<void *>(wanted.delta.data_ptr()));
        if (params.delta)
            fwd.lse_size = lse_elements(fwd);
    }
    aothip_context *const images = context(&error);
    if (!images)
        return error;
    std::size_t bytes;
    error = to_hip(aothip_attn_bwd_workspace(images, &params, stream.native(), &bytes));
    if (error != hipSuccess)
        return error;
    const kept graphs(stream.native(), bytes && in_capture(stream.native()) ? bytes : 0);
    scratch memory(stream.native());
    if (!graphs.data() && bytes) {
        error = memory.allocate(bytes);
        if (error != hipSuccess && !params.delta)
            return error;
        (void)succeeds(error); /* with delta, attention needs no more */
    }
    params.workspace = graphs.data() ? graphs.data() : memory.data();
    params.workspace_size = params.workspace ? bytes : 0;
    return to_hip(aothip_attn_bwd(images, &params, stream.native()));
}

} // namespace shim
