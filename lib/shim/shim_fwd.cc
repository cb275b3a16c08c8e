/* Forward attention: from AOTriton's tensors to aothip_attn_fwd(). */
#include "shim.h"

namespace shim
{

static std::int32_t to_dtype(ao::DType dtype)
{
    switch (dtype) {
    case ao::kFloat32:
        return AOTHIP_F32;
    case ao::kFloat16:
        return AOTHIP_F16;
    case ao::kBFloat16:
        return AOTHIP_BF16;
    default:
        return 0; /* refused by name in aothip_attn_fwd() */
    }
}

/* Sizes above 2^63 become negative and are refused as such. */
static aothip_tensor to_tensor(const ao::TensorView<4> &view)
{
    aothip_tensor tensor = {};
    tensor.dtype = to_dtype(view.dtype());
    tensor.data = view.data_ptr();
    for (int i = 0; i < 4; i++) {
        tensor.size[i] = static_cast<std::int64_t>(view.size(i));
        tensor.stride[i] = static_cast<std::int64_t>(view.stride(i));
    }
    return tensor;
}

/*
 * The mask that lets query m see the keys m - left <= n <= m + right, or -1 if there is none. A
 * left side of seq_q - 1 or more and a right side of seq_k - 1 or more bound nothing.
 */
static int to_mask(const window &keys, std::int64_t seq_q, std::int64_t seq_k)
{
    using ao::v3::flash::WindowValue;
    const auto is_sentinel = [](std::int32_t side) {
        return side == WindowValue::TopLeftAligned || side == WindowValue::BottomRightAligned;
    };
    if (!keys.windowed)
        return AOTHIP_MASK_NONE;
    if (!is_sentinel(keys.left) && keys.left < seq_q - 1)
        return -1;
    if (keys.right == WindowValue::TopLeftAligned || keys.right == 0)
        return AOTHIP_MASK_CAUSAL_TOP_LEFT;
    if (keys.right == WindowValue::BottomRightAligned || keys.right == seq_k - seq_q)
        return AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    return keys.right >= seq_k - 1 ? AOTHIP_MASK_NONE : -1;
}

/* What has no kernel; null if everything has one. */
static const char *missing_kernel(const fwd &given)
{
    if (given.varlen)
        return "cu_seqlens_q: there is no kernel for packed sequences";
    if (given.bias)
        return "B: there is no kernel with a bias";
    if (given.dropout_p > 0)
        return "dropout_p: there is no kernel with dropout";
    if (given.encoded_softmax)
        return "encoded_softmax: there is no kernel that writes it";
    return nullptr;
}

hipError_t attn_fwd(const fwd &given, const window &keys, ao::Stream stream)
{
    const char *const missing = missing_kernel(given);
    aothip_attn_fwd_params params = {};
    hipError_t error;
    if (missing)
        return refuse(AOTHIP_E_UNSUPPORTED, missing);
    params.struct_size = sizeof(params);
    params.q = to_tensor(given.q);
    params.k = to_tensor(given.k);
    params.v = to_tensor(given.v);
    params.o = to_tensor(given.out);
    params.scale = given.scale;
    params.mask = to_mask(keys, params.q.size[2], params.k.size[2]);
    if (params.mask < 0)
        return refuse(AOTHIP_E_UNSUPPORTED,
                      "window_left, window_right: there is no kernel for a finite window");
    if (given.lse) {
        /* strides of the view are not used: rows lie packed, (batch * heads_q, seq_q) */
        if (given.lse.dtype() != ao::kFloat32)
            return refuse(AOTHIP_E_ARGUMENT, "L: its dtype is not float32");
        if (given.lse.size(0) * given.lse.size(1) <
            given.q.size(0) * given.q.size(1) * given.q.size(2))
            return refuse(AOTHIP_E_ARGUMENT, "L: is smaller than batch * heads_q * seq_q");
        params.lse = static_cast<float *>(given.lse.data_ptr());
    }
    aothip_context *const images = context(&error);
    return images ? to_hip(aothip_attn_fwd(images, &params, stream.native())) : error;
}

} // namespace shim
