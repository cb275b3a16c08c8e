/* The warm calls of a PyTorch: through the C++ names of the release that is built. */
#include <aotriton/config.h>
#include <aotriton/flash.h>

#include "bench_shim.h"

namespace ao = AOTRITON_NS;
using T4 = ao::TensorView<4>;
using T2 = ao::TensorView<2>;
using T1 = ao::TensorView<1>;
using T0 = ao::TensorView<0>;

static T4 bhsd(std::intptr_t at, std::uint64_t batch, std::uint64_t heads, std::uint64_t seq)
{
    return {at, {batch, heads, seq, 64}, {heads * seq * 64, seq * 64, 64, 1}, ao::kFloat16};
}

/* The problem that fake_problem.c makes, and its packed form. */
static T4 q(std::uint64_t batch = 2)
{
    return bhsd(0x10000000, batch, 8, 100);
}
static T4 k(std::uint64_t batch = 2)
{
    return bhsd(0x20000000, batch, 2, 300);
}
static T4 v(std::uint64_t batch = 2)
{
    return bhsd(0x30000000, batch, 2, 300);
}
static T4 o(std::uint64_t batch = 2)
{
    return bhsd(0x40000000, batch, 8, 100);
}
static T2 lse()
{
    return {0x50000000, {24, 100}, {100, 1}, ao::kFloat32};
}
static ao::Stream at(void *stream)
{
    return ao::Stream(static_cast<hipStream_t>(stream));
}

#if AOTRITON_VERSION_MINOR >= 9 && AOTRITON_VERSION_MINOR <= 12
static int v2_plain(void *stream)
{
    static const T4 tensors[] = {q(), k(), v(), o()};
    static const T2 sums = lse();
    return ao::v2::flash::attn_fwd(tensors[0], tensors[1], tensors[2], T4(), 0.125f, sums,
                                   tensors[3], 0, T0(), T0(), 0, T0(), T0(), T4(), false, T0(),
                                   at(stream));
}
#endif

#if AOTRITON_VERSION_MINOR >= 10
namespace flash = ao::v3::flash;

static flash::attn_fwd_params problem(std::uint64_t batch)
{
    flash::attn_fwd_params p;
    p.Q = q(batch);
    p.K = k(batch);
    p.V = v(batch);
    p.Out = o(batch);
    p.L = lse();
    p.Sm_scale = 0.125f;
    return p;
}

static int v3_plain(void *stream)
{
    static const flash::attn_fwd_params p = problem(2);
    return flash::attn_fwd(p, p.kVersion, at(stream));
}

static int v3_causal(void *stream)
{
    static const flash::attn_fwd_params p = [] {
        flash::attn_fwd_params causal = problem(2);
        causal.causal_type = flash::CausalType::WindowedAttention;
        causal.window_left = causal.window_right = flash::WindowValue::BottomRightAligned;
        return causal;
    }();
    return flash::attn_fwd(p, p.kVersion, at(stream));
}

#if AOTRITON_VERSION_MINOR <= 13
static int v3_packed(void *stream)
{
    static const flash::attn_fwd_params p = [] {
        flash::attn_fwd_params packed = problem(1);
        packed.cu_seqlens_q = T1(0x60000000, {4}, {1}, ao::kInt32);
        packed.cu_seqlens_k = T1(0x60001000, {4}, {1}, ao::kInt32);
        packed.Max_seqlen_q = 40;
        packed.Max_seqlen_k = 120;
        packed.varlen_type = flash::VarlenType::CompactVarlen;
        return packed;
    }();
    return flash::attn_fwd(p, p.kVersion, at(stream));
}
#endif
#endif

extern "C" const struct bench_shim bench_shim_calls[] = {
#if AOTRITON_VERSION_MINOR >= 9 && AOTRITON_VERSION_MINOR <= 12
    {"v2, plain", v2_plain},
#endif
#if AOTRITON_VERSION_MINOR >= 10
    {"v3, plain", v3_plain},   {"v3, causal", v3_causal},
#if AOTRITON_VERSION_MINOR <= 13
    {"v3, packed", v3_packed},
#endif
#endif
    {nullptr, nullptr},
};
