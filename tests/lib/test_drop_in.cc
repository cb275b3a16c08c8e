/*
 * A program as PyTorch is one: linked with a HIP runtime (the emulator in its place) and with
 * libaotriton_v2.so, it asks check_gpu and runs attention with the C++ names on every GPU.
 */
#include <aotriton/flash.h>
#include <aotriton/util.h>

#include <hip/hip_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include <sys/stat.h>

#include "tap.h"

using namespace aotriton::v3::flash;

namespace
{

constexpr int batch = 2, heads = 3, seq_q = 70, seq_k = 90, dim = 64;

/* bf16, as the upper half of a float */
std::uint16_t narrow(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float widen(std::uint16_t half)
{
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

/* A tensor (B, S, H, D) in device memory with its host copy. */
struct tensor {
    std::vector<std::uint16_t> host;
    void *device = nullptr;
    int seq;

    tensor(int rows, unsigned seed)
        : host(static_cast<std::size_t>(batch * rows * heads * dim)), seq(rows)
    {
        for (auto &element : host) {
            seed = seed * 1664525u + 1013904223u;
            element = narrow(static_cast<float>(seed >> 16 & 0xff) / 64 - 2);
        }
        if (hipMalloc(&device, bytes()) != hipSuccess ||
            hipMemcpy(device, host.data(), bytes(), hipMemcpyHostToDevice) != hipSuccess)
            ok(0, "device memory");
    }
    ~tensor()
    {
        if (hipFree(device) != hipSuccess)
            ok(0, "hipFree");
    }
    std::size_t bytes() const
    {
        return host.size() * 2;
    }
    float at(int b, int h, int s, int d) const
    {
        return widen(host[static_cast<std::size_t>(((b * seq + s) * heads + h) * dim + d)]);
    }
    /* what PyTorch's permute({0, 2, 1, 3}) gives */
    T4 view() const
    {
        const std::uint64_t rows = static_cast<std::uint64_t>(seq);
        return T4(reinterpret_cast<std::intptr_t>(device), {batch, heads, rows, dim},
                  {rows * heads * dim, dim, heads * dim, 1}, aotriton::kBFloat16);
    }
};

/* The largest errors of o and lse against double precision. */
void judge(const tensor &q, const tensor &k, const tensor &v, const tensor &o,
           const std::vector<float> &lse, int last_offset, double *o_error, double *lse_error)
{
    for (int b = 0; b < batch; b++)
        for (int h = 0; h < heads; h++)
            for (int m = 0; m < seq_q; m++) {
                double sum = 0, row[dim] = {};
                for (int n = 0; n < seq_k && n <= m + last_offset; n++) {
                    double score = 0;
                    for (int d = 0; d < dim; d++)
                        score += double{q.at(b, h, m, d)} * k.at(b, h, n, d);
                    const double weight = std::exp(score * 0.125);
                    sum += weight;
                    for (int d = 0; d < dim; d++)
                        row[d] += weight * v.at(b, h, n, d);
                }
                for (int d = 0; d < dim; d++)
                    *o_error = std::fmax(*o_error, std::fabs(row[d] / sum - o.at(b, h, m, d)));
                *lse_error = std::fmax(
                    *lse_error,
                    std::fabs(std::log(sum) -
                              lse[static_cast<std::size_t>((b * heads + h) * seq_q + m)]));
            }
}

void test_device(int device, int last_offset, std::int8_t causal_type, std::int32_t window)
{
    const char *const mask = causal_type == CausalType::None ? "all keys" : "bottom-right";
    hipStream_t stream;
    if (hipSetDevice(device) != hipSuccess || hipStreamCreate(&stream) != hipSuccess) {
        ok(0, "device %d", device);
        return;
    }
    tensor q(seq_q, 1), k(seq_k, 2), v(seq_k, 3), o(seq_q, 4);
    std::vector<float> lse(batch * heads * seq_q);
    void *lse_device = nullptr;
    double o_error = 0, lse_error = 0;
    if (hipMalloc(&lse_device, lse.size() * 4) != hipSuccess)
        ok(0, "device memory");

    is_int(aotriton::v2::flash::check_gpu(stream), hipSuccess, "check_gpu");
    attn_fwd_params params;
    params.Q = q.view();
    params.K = k.view();
    params.V = v.view();
    params.Out = o.view();
    params.L = T2(reinterpret_cast<std::intptr_t>(lse_device), {batch * heads, seq_q}, {seq_q, 1},
                  aotriton::kFloat32);
    params.Sm_scale = 0.125f;
    params.dropout_p = 0;
    params.causal_type = causal_type;
    params.window_left = params.window_right = window;
    is_int(attn_fwd(params, attn_fwd_params::kVersion, stream), hipSuccess, "attn_fwd");
    if (hipStreamSynchronize(stream) != hipSuccess ||
        hipMemcpy(o.host.data(), o.device, o.bytes(), hipMemcpyDeviceToHost) != hipSuccess ||
        hipMemcpy(lse.data(), lse_device, lse.size() * 4, hipMemcpyDeviceToHost) != hipSuccess ||
        hipFree(lse_device) != hipSuccess || hipStreamDestroy(stream) != hipSuccess)
        ok(0, "copying back");
    judge(q, k, v, o, lse, last_offset, &o_error, &lse_error);
    /* outputs lie in [-2, 2]: bf16 rounds them by up to 2^-8, and P's rounding adds as much */
    ok(o_error < 0.02, "GPU %d, %s: error of o %.2g", device, mask, o_error);
    ok(lse_error < 1e-4, "GPU %d, %s: error of the natural lse %.2g", device, mask, lse_error);
}

} // namespace

int main()
{
    static const aotriton::Gpu gpus[] = {
        aotriton::GPU_AMD_ARCH_GFX90A_MOD0, aotriton::GPU_AMD_ARCH_GFX942_MOD0,
        aotriton::GPU_AMD_ARCH_GFX1100_MOD0, aotriton::GPU_AMD_ARCH_GFX1151_MOD0};
    struct stat info;
    int count = 0;
    if (stat(IMAGES, &info))
        tap_skip_all("there are no images");
    setenv("AOTHIP_IMAGES", IMAGES, 0); /* relocate.sh sets it empty */
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    if (hipGetDeviceCount(&count) != hipSuccess || count != 4) {
        ok(0, "four emulated GPUs, not %d", count);
        return tap_done();
    }
    for (int device = 0; device < count; device++) {
        test_device(device, seq_k, CausalType::None, 0);
        test_device(device, seq_k - seq_q, CausalType::WindowedAttention,
                    WindowValue::BottomRightAligned);
        ok(aotriton::getGpuFromStream(nullptr) == gpus[device], "its number");
    }
    return tap_done();
}
