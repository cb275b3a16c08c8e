/* From AOTriton's tensors to the arguments of aothip_attn_fwd(). */
#include "shim.h"

#include <cstring>

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
        return 0; /* refused by name behind the C API */
    }
}

/*
 * Sizes above 2^63 become negative and are refused as such. Without loop and call: four tensors a
 * call would take 10 ns more.
 */
[[gnu::always_inline]] static inline void fill_tensor(const T4 &view, aothip_tensor *tensor)
{
    tensor->dtype = to_dtype(view.dtype());
    tensor->data = const_cast<void *>(view.data_ptr());
    if (!view && view.dtype() == ao::kUnknown)
        return; /* made by AOTriton's own default constructor, it has garbage for sizes */
    const auto copy = [&](int i) {
        tensor->size[i] = static_cast<std::int64_t>(view.size(i));
        tensor->stride[i] = static_cast<std::int64_t>(view.stride(i));
    };
    copy(0), copy(1), copy(2), copy(3);
}

void to_tensor(const T4 &view, aothip_tensor *tensor)
{
    fill_tensor(view, tensor);
}

/*
 * Query m sees the keys m - left <= n <= m + right; a sentinel on the left opens that side, one on
 * the right puts the border on one of the two diagonals. Numbers are literal, negative ones too.
 */
static void translate_window(const window &keys, aothip_attn_fwd_params *params)
{
    if (!keys.windowed)
        return;
    const bool open = keys.left == top_left || keys.left == bottom_right;
    params->window_left = open ? AOTHIP_WINDOW_UNBOUNDED : keys.left;
    if (keys.right == bottom_right) {
        params->mask = open ? AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT : AOTHIP_MASK_WINDOW_MIXED;
        params->window_right = 0;
    } else {
        params->window_right = keys.right == top_left ? 0 : keys.right;
        params->mask = open && params->window_right == 0 ? AOTHIP_MASK_CAUSAL_TOP_LEFT
                                                         : AOTHIP_MASK_WINDOW_TOP_LEFT;
    }
}

/* With p = 0 the pointers may be host addresses or garbage: they stay out. */
static void translate_dropout(const dropout &drop, aothip_attn_fwd_params *params)
{
    const auto pointer = [](const T0 &scalar) {
        return static_cast<std::uint64_t *>(const_cast<void *>(scalar.data_ptr()));
    };
    params->dropout_p = drop.p;
    if (!(drop.p > 0))
        return;
    params->dropout_seed_pointer = pointer(drop.seed);
    params->dropout_offset_pointer = pointer(drop.offset1);
    params->dropout_offset = drop.offset2;
    params->dropout_seed_output = pointer(drop.seed_output);
    params->dropout_offset_output = pointer(drop.offset_output);
}

static bool is_missing(const T4 &view)
{
    return !view && view.dtype() == ao::kUnknown;
}

/* Tensors that must be there. */
static const char *missing(const problem &given)
{
    return is_missing(given.q)     ? "Q: there is none"
           : is_missing(given.k)   ? "K: there is none"
           : is_missing(given.v)   ? "V: there is none"
           : is_missing(given.out) ? "Out: there is none"
                                   : nullptr;
}

/* Rows of lse lie packed: the strides of the view are not used. */
static hipError_t translate_lse(const T2 &lse, aothip_attn_fwd_params *params)
{
    params->lse_base2 = AOTRITON_VERSION_MINOR <= 10;
    if (!lse)
        return hipSuccess;
    if (lse.dtype() != ao::kFloat32)
        return refuse(AOTHIP_E_ARGUMENT, "L: its dtype is not float32");
    if (lse.size(0) > INT32_MAX || lse.size(1) > INT32_MAX)
        return refuse(AOTHIP_E_ARGUMENT, "L: a size is above 2^31");
    params->lse = static_cast<float *>(const_cast<void *>(lse.data_ptr()));
    params->lse_size = static_cast<std::int64_t>(lse.size(0) * lse.size(1));
    if (params->lse_size == 0)
        params->lse = nullptr; /* 0 would stand for room enough */
    return hipSuccess;
}

/*
 * Through the C library, whose memset takes a fifth of the time of the string instruction that
 * compilers put in place of one of known size.
 */
static void clear(void *memory, std::size_t size)
{
    __asm__("" : "+r"(size));
    std::memset(memory, 0, size);
}

hipError_t translate(const problem &given, aothip_attn_fwd_params *params)
{
    if (const char *const reason = missing(given))
        return refuse(AOTHIP_E_ARGUMENT, reason);
    clear(params, sizeof(*params));
    params->struct_size = sizeof(*params);
    fill_tensor(given.q, &params->q);
    fill_tensor(given.k, &params->k);
    fill_tensor(given.v, &params->v);
    fill_tensor(given.out, &params->o);
    params->scale = given.scale;
    if (given.bias)
        to_tensor(given.bias, &params->bias);
    translate_window(given.keys, params);
    translate_dropout(given.drop, params);
    const hipError_t error = translate_lse(given.lse, params);
    if (error != hipSuccess)
        return error;
    if (given.sequences)
        return translate_sequences(*given.sequences, params);
    if (params->lse && params->lse_size < params->q.size[0] * params->q.size[1] * params->q.size[2])
        return refuse(AOTHIP_E_ARGUMENT, "L: is smaller than batch * heads_q * seq_q");
    return hipSuccess;
}

} // namespace shim
