/*
 * Uses every public member of every class of one AOTriton release, as its own Python bindings take
 * their addresses. Part of the consumer that each release's headers are tried with.
 */
#include <aotriton/config.h>
#include <aotriton/cpp_tune.h>
#include <aotriton/dtypes.h>
#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <array>
#include <cstdio>
#include <type_traits>

namespace ao = AOTRITON_NS;

int test_members();

static int failures;

static void expect(bool good, const char *what)
{
    if (!good)
        std::printf("members: %s\n", what);
    failures += !good;
}

/* Fields in their order, as writable as C++ makes them. */
template <typename Class, typename... Fields>
static bool writable(Class &object, Fields Class::*...fields)
{
    return (... && (&(object.*fields) != nullptr &&
                    !std::is_const_v<std::remove_reference_t<decltype(object.*fields)>>));
}

template <int Rank> static void test_view()
{
    using View = ao::TensorView<Rank>;
    std::array<std::uint64_t, Rank> sizes{}, strides{};
    for (std::size_t i = 0; i < Rank; i++)
        sizes[i] = i + 2, strides[i] = i + 7;
    const View view(0x1000, sizes, strides, ao::kBFloat16), null;
    auto size = &View::size, stride = &View::stride;
    auto all_sizes = &View::sizes, all_strides = &View::strides;
    auto data = &View::data_ptr;
    auto type = &View::dtype;
    expect(static_cast<bool>(view) && !null && !View::get_null_tensor(ao::kInt8), "bool of a view");
    expect((view.*size)(Rank - 1) == Rank + 1 && (view.*stride)(0) == 7, "size and stride");
    expect((view.*all_sizes)() == sizes && (view.*all_strides)() == strides, "sizes and strides");
    expect(reinterpret_cast<std::intptr_t>((view.*data)()) == 0x1000, "data_ptr");
    expect((view.*type)() == ao::kBFloat16, "dtype");
#if AOTRITON_VERSION_MINOR >= 10
    auto address = &View::kparam_data_ptr;
    auto pitch = &View::kparam_stride;
    expect(*static_cast<void **>((view.*address)()) == view.data_ptr(), "kparam_data_ptr");
    expect(*static_cast<std::uint64_t *>((view.*pitch)(0)) == 7, "kparam_stride");
#endif
#if AOTRITON_VERSION_MINOR >= 11
    auto first_size = &View::size_ptr, first_stride = &View::stride_ptr;
    expect(*(view.*first_size)() == 2 && *(view.*first_stride)() == 7, "size_ptr and stride_ptr");
#endif
}

static void test_scalar()
{
    using View = ao::TensorView<0>;
    const View view(0x1000, ao::kInt64), null;
    auto size = &View::size, stride = &View::stride;
    auto all_sizes = &View::sizes, all_strides = &View::strides;
    auto data = &View::data_ptr;
    auto type = &View::dtype;
    const std::array<std::uint64_t, 0> nothing{};
    expect(static_cast<bool>(view) && !null && !View::get_null_tensor(ao::kInt8), "bool of a scalar");
    expect((view.*size)(0) == 1 && (view.*stride)(0) == 1, "size and stride of a scalar");
    expect((view.*all_sizes)() == nothing && (view.*all_strides)() == nothing,
           "sizes and strides of a scalar");
    expect(reinterpret_cast<std::intptr_t>((view.*data)()) == 0x1000, "data_ptr of a scalar");
    expect((view.*type)() == ao::kInt64, "dtype of a scalar");
#if AOTRITON_VERSION_MINOR >= 10
    auto address = &View::kparam_data_ptr;
    expect(*static_cast<void **>((view.*address)()) == view.data_ptr(), "kparam_data_ptr");
#endif
}

static void test_small_ones()
{
    using namespace ao::v2::flash;
    auto native = &ao::Stream::native;
    const ao::Stream stream;
    const ao::v2::CppTune tune{};
    const BwdExtraArguments backward{}, *const no_backward = nullptr;
    FwdExtraArguments forward;
    const ao::v2::CppTune &base = forward;
    expect(!(stream.*native)() && &base != &tune && &backward != no_backward, "Stream and extra arguments");
    expect(ao::v2::CppTuneSpecialKernelIndex::kDefault == -1 &&
               ao::v2::CppTuneSpecialKernelIndex::kSkipGPUCall == -2,
           "CppTuneSpecialKernelIndex");
    expect(ao::DType::kUnknown == 0 && ao::DType::kFloat32 == 1 && ao::DType::kFloat16 == 2 &&
               ao::DType::kBFloat16 == 3 && ao::DType::kInt8 == 10 && ao::DType::kInt16 == 11 &&
               ao::DType::kInt32 == 12 && ao::DType::kInt64 == 13 && ao::DType::kUInt8 == 20 &&
               ao::DType::kUInt16 == 21 && ao::DType::kUInt32 == 22 && ao::DType::kUInt64 == 23,
           "DType");
#if AOTRITON_VERSION_MINOR >= 9
    FusedBwdExtraArguments fused;
    expect(&static_cast<ao::v2::CppTune &>(fused) != &tune, "FusedBwdExtraArguments");
#endif
}

#if AOTRITON_VERSION_MINOR >= 11
template <int Rank> static void test_lazy()
{
    using Lazy = ao::LazyTensor<Rank>;
    Lazy lazy;
    int cookie = 0;
    expect(!lazy, "a lazy tensor of nothing");
#if AOTRITON_VERSION_MINOR >= 12
    expect(writable(lazy, &Lazy::cookie, &Lazy::acquire, &Lazy::dispose, &Lazy::eager), "LazyTensor");
    lazy.dispose = [](Lazy *self) { ++*static_cast<int *>(self->cookie); };
#else
    expect(writable(lazy, &Lazy::cookie, &Lazy::acquire, &Lazy::dispose), "LazyTensor");
    lazy.dispose = [](void *self) { ++*static_cast<int *>(self); };
#endif
    lazy.cookie = &cookie;
    expect(lazy, "a lazy tensor");
    auto free = &Lazy::free;
    (lazy.*free)();
    (lazy.*free)();
    expect(cookie == 1, "is disposed of once");
}
#endif

#if AOTRITON_VERSION_MINOR >= 10
static void test_params()
{
    using namespace ao::v3::flash;
    using Fwd = attn_fwd_params;
    using Bwd = attn_bwd_params;
    Fwd fwd;
    Bwd bwd;
    attn_options options{};
    expect(writable(fwd, &Fwd::Q, &Fwd::K, &Fwd::V, &Fwd::B, &Fwd::A, &Fwd::Sm_scale, &Fwd::L,
                    &Fwd::Out, &Fwd::Max_seqlen_q, &Fwd::Max_seqlen_k, &Fwd::dropout_p,
                    &Fwd::philox_seed_ptr, &Fwd::philox_offset1, &Fwd::philox_offset2,
                    &Fwd::philox_seed_output, &Fwd::philox_offset_output, &Fwd::encoded_softmax,
                    &Fwd::persistent_atomic_counter, &Fwd::causal_type, &Fwd::window_left,
                    &Fwd::window_right),
           "attn_fwd_params");
    expect(writable(bwd, &Bwd::Q, &Bwd::K, &Bwd::V, &Bwd::B, &Bwd::Sm_scale, &Bwd::Out, &Bwd::DO,
                    &Bwd::DK, &Bwd::DV, &Bwd::DQ, &Bwd::DB, &Bwd::L, &Bwd::D, &Bwd::Max_seqlen_q,
                    &Bwd::Max_seqlen_k, &Bwd::dropout_p, &Bwd::philox_seed_ptr,
                    &Bwd::philox_offset1, &Bwd::philox_offset2, &Bwd::causal_type,
                    &Bwd::window_left, &Bwd::window_right),
           "attn_bwd_params");
    (void)options;
    expect(Fwd::kVersion > 0 && Bwd::kVersion > 0, "kVersion");
    expect(CausalType::None == 0 && CausalType::WindowedAttention == 3, "CausalType");
    expect(WindowValue::TopLeftAligned < WindowValue::BottomRightAligned, "WindowValue");
#if AOTRITON_VERSION_MINOR <= 13
    expect(writable(fwd, &Fwd::cu_seqlens_q, &Fwd::cu_seqlens_k, &Fwd::varlen_type) &&
               writable(bwd, &Bwd::cu_seqlens_q, &Bwd::cu_seqlens_k, &Bwd::varlen_type),
           "cu_seqlens");
    expect(VarlenType::None == 0 && VarlenType::CompactVarlen == 1 && VarlenType::PaddedVarlen == 2,
           "VarlenType");
#endif
#if AOTRITON_VERSION_MINOR >= 11
    expect(writable(bwd, &Bwd::DQ_ACC) && writable(options, &attn_options::force_backend_index),
           "DQ_ACC and force_backend_index");
#endif
#if AOTRITON_VERSION_MINOR >= 12
    expect(writable(options, &attn_options::deterministic), "deterministic");
#endif
#if AOTRITON_VERSION_MINOR == 12 || AOTRITON_VERSION_MINOR == 13
    expect(writable(fwd, &Fwd::seq_strides_q, &Fwd::seq_strides_k) &&
               writable(bwd, &Bwd::seq_strides_q, &Bwd::seq_strides_k) &&
               VarlenType::StridedVarlen == 3,
           "seq_strides");
#endif
#if AOTRITON_VERSION_MINOR >= 14
    VarlenBits bits{};
    expect(writable(fwd, &Fwd::seqinfo_q0, &Fwd::seqinfo_k0, &Fwd::seqinfo_q1, &Fwd::seqinfo_k1,
                    &Fwd::varlen_bits) &&
               writable(bwd, &Bwd::seqinfo_q0, &Bwd::seqinfo_k0, &Bwd::seqinfo_q1, &Bwd::seqinfo_k1,
                        &Bwd::varlen_bits) &&
               writable(bits, &VarlenBits::qmode, &VarlenBits::kmode),
           "seqinfo and varlen_bits");
    bits.qmode.stacked = VarlenStacked::THD, bits.kmode.stacked = VarlenStacked::BHSD;
    bits.qmode.length = VarlenLength::CUMULATIVE, bits.kmode.length = VarlenLength::INDIVIDUAL;
    bits.qmode.position = VarlenPosition::REUSE, bits.kmode.position = VarlenPosition::ARRAY;
    bits.lse_layout = VarlenLseLayout::TH;
    bits.reserved = bits.qmode.reserved = bits.kmode.reserved = 0;
    expect(VarlenLength::MAX == 0 && VarlenPosition::IMPLIED == 0 && VarlenLseLayout::HT == 0 &&
               bits.lse_layout == 1 && bits.kmode.position == 2,
           "VarlenBits");
#endif
}
#endif

int test_members()
{
    test_view<1>();
    test_view<2>();
    test_view<3>();
    test_view<4>();
    test_scalar();
    test_small_ones();
#if AOTRITON_VERSION_MINOR >= 11
    test_lazy<2>();
    test_lazy<4>();
#endif
#if AOTRITON_VERSION_MINOR >= 10
    test_params();
#endif
    return failures;
}
