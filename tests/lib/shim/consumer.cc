/*
 * A program as PyTorch's objects are: compiled against the headers of one AOTriton release, by
 * whatever compiler and standard, and linked with its library. Ends with 0 if the library and the
 * headers mean the same; says what differs if not.
 */
#include <aotriton/config.h>
#include <aotriton/cpp_tune.h>
#include <aotriton/dtypes.h>
#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <cstdio>
#include <cstring>
#include <new>

namespace ao = AOTRITON_NS;
using T4 = ao::TensorView<4>;
using T2 = ao::TensorView<2>;
using T1 = ao::TensorView<1>;
using T0 = ao::TensorView<0>;

int test_members(); /* members.cc */

static int failures;

static void expect(bool good, const char *what)
{
    if (!good)
        std::printf("%s\n", what);
    failures += !good;
}

static void invalid(hipError_t error, const char *what)
{
    expect(error == hipErrorInvalidValue, what);
}

/* Everything that such code uses must link; without Out nothing runs. */
static void test_links()
{
    using namespace ao::v2::flash;
    const hipStream_t stream = nullptr;
    const T4 q(0x1000, {1, 1, 1, 8}, {8, 8, 8, 1}, ao::kInt8), out;
    const T2 l(0x1000, {1, 1}, {1, 1}, ao::kFloat32);
    const T1 cu(0x1000, {2}, {1}, ao::kInt32);
    const T0 none(0, ao::kInt64);
    FwdExtraArguments *const extra = nullptr;
    expect(q.size(3) == 8 && q.stride(0) == 8 && q.dtype() == ao::kInt8 && q, "views");
    expect(cu && !T1() && !T2::get_null_tensor(ao::kFloat32) && !none && !extra, "null views");
    (void)check_gpu(stream);
#if AOTRITON_VERSION_MINOR >= 9
    (void)ao::isArchExperimentallySupported(stream);
    invalid(debug_simulate_encoded_softmax(T4(), 0, none, none, 0, stream), "simulate");
#endif
#if AOTRITON_VERSION_MINOR <= 9
    invalid(debug_fill_dropout_rng_tensor(q, none, none, stream), "fill");
#endif
#if AOTRITON_VERSION_MINOR <= 8
    invalid(attn_fwd(q, q, q, q, 1, l, out, 0, none, none, 0, none, none, q, true, stream, extra),
            "attn_fwd");
    invalid(attn_fwd_compact_varlen(q, q, q, cu, cu, 1, 1, q, 1, l, out, 0, none, none, 0, none,
                                    none, q, true, stream),
            "attn_fwd_compact_varlen");
#elif AOTRITON_VERSION_MINOR <= 12
    invalid(
        attn_fwd(q, q, q, q, 1, l, out, 0, none, none, 0, none, none, q, true, none, stream, extra),
        "attn_fwd");
    invalid(attn_fwd_compact_varlen(q, q, q, q, cu, cu, 1, 1, 1, l, out, 0, none, none, 0, none,
                                    none, q, true, none, stream),
            "attn_fwd_compact_varlen");
    invalid(attn_bwd_fused(q, q, q, q, 1, out, q, q, q, q, q, l, 0, none, none, 0, true, stream),
            "attn_bwd_fused");
#endif
#if AOTRITON_VERSION_MINOR <= 12
    invalid(attn_bwd(q, q, q, q, 1, out, q, q, q, q, q, l, l, 0, none, none, 0, true, stream),
            "attn_bwd");
    invalid(attn_bwd_compact_varlen(q, q, q, cu, cu, 1, 1, q, 1, out, q, q, q, q, q, l, l, 0, none,
                                    none, 0, true, stream),
            "attn_bwd_compact_varlen");
#else
    expect(!out && l, "views of other ranks");
#endif
}

#if AOTRITON_VERSION_MINOR >= 10

template <typename Params> static void test_constructor(const char *what)
{
    alignas(16) static unsigned char room[64 + sizeof(Params) + 64];
    std::memset(room, 0xa5, sizeof(room));
    const Params *const made = new (room + 64) Params;
    bool touched = made->Q || made->L || made->B || made->Max_seqlen_q;
    for (std::size_t i = 0; i < 64; i++)
        touched = touched || room[i] != 0xa5 || room[64 + sizeof(Params) + i] != 0xa5;
    expect(!touched, what);
}

static void test_v3()
{
    using namespace ao::v3::flash;
    attn_options options{};
    test_constructor<attn_fwd_params>("attn_fwd_params()");
    test_constructor<attn_bwd_params>("attn_bwd_params()");
    attn_fwd_params fwd;
    attn_bwd_params bwd;
    fwd.causal_type = bwd.causal_type = CausalType::None;
    expect(attn_fwd(fwd, 99, nullptr, &options) == hipErrorInvalidSymbol, "attn_fwd, version 99");
    expect(attn_bwd(bwd, 99, nullptr) == hipErrorInvalidSymbol, "attn_bwd, version 99");
    expect(attn_fwd(fwd, attn_fwd_params::kVersion, nullptr) == hipErrorInvalidValue,
           "attn_fwd of nothing");
    expect(attn_bwd(bwd, attn_bwd_params::kVersion, nullptr) == hipErrorInvalidValue,
           "attn_bwd of nothing");
#if __cplusplus >= 202002L && AOTRITON_VERSION_MINOR >= 11
    const ao::LazyTensor<2> lazy{.cookie = &options, .acquire = nullptr, .dispose = nullptr};
    expect(lazy, "a lazy tensor by its members' names");
#endif
#if __cplusplus >= 202002L && AOTRITON_VERSION_MINOR >= 14
    constexpr VarlenMode mode = [] {
        VarlenMode packed{};
        packed.stacked = VarlenStacked::THD;
        packed.length = VarlenLength::CUMULATIVE;
        packed.position = VarlenPosition::REUSE;
        return packed;
    }();
    const VarlenBits varlen{.qmode = mode, .kmode = mode};
    unsigned word;
    std::memcpy(&word, &varlen, sizeof(word));
    expect(word == 0x0b0b, "VarlenBits of compact sequences");
#endif
}

#endif

int main()
{
    test_links();
#if AOTRITON_VERSION_MINOR >= 10
    test_v3();
#endif
    return failures + test_members() != 0;
}
