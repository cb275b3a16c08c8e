/*
 * The C++ names as PyTorch calls them: params filled as its attention code does, check_gpu before,
 * results and refusals as hipError_t.
 */
#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <aothip/aothip.h>

#include <cstring>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "shim_world.h"
#include "tap.h"

using namespace aotriton;
using namespace aotriton::v3::flash;

static constexpr std::int32_t unbounded = 1 << 30;
/* the versions of the params structs, which each release knows alone */
static constexpr std::int32_t fwd_version = AOTRITON_VERSION_MINOR >= 12 ? 3 : 1;
static constexpr std::int32_t bwd_version = AOTRITON_VERSION_MINOR >= 12 ? 6 : 3;

/* A (B, S, H, D) tensor seen as (B, H, S, D). */
static TensorView<4> bshd(std::intptr_t base, std::uint64_t heads, std::uint64_t seq,
                          DType dtype = kFloat16)
{
    return {base, {2, heads, seq, 64}, {seq * heads * 64, 64, heads * 64, 1}, dtype};
}

static attn_fwd_params make_params()
{
    attn_fwd_params p;
    p.Q = bshd(0x10000000, 8, 100);
    p.K = bshd(0x20000000, 2, 300);
    p.V = bshd(0x30000000, 2, 300);
    p.Out = bshd(0x40000000, 8, 100);
    p.B = TensorView<4>(0, {0, 0, 0, 0}, {0, 0, 0, 0}, kFloat16);
    p.L = TensorView<2>(0x50000000, {16, 100}, {100, 1}, kFloat32);
    p.Sm_scale = 0.125f;
    p.dropout_p = 0;
    p.causal_type = CausalType::None;
    return p;
}

static hipError_t attend(const attn_fwd_params &p, int device = 0)
{
    return attn_fwd(p, fwd_version, static_cast<hipStream_t>(world_stream(device)));
}

static void test_check_gpu()
{
    const auto check = [](int device) {
        return v2::flash::check_gpu(static_cast<hipStream_t>(world_stream(device)));
    };
    world_hide_images();
    is_int(v2::flash::check_gpu(Stream()), hipErrorNoBinaryForGpu, "without images");
    contains(aothip_last_error(), "AOTHIP_IMAGES", "the reason names where they should be");
    is_int(attend(make_params()), hipErrorNoBinaryForGpu, "nor does attention run");
    world_show_images();
    is_int(check(0), hipSuccess, "gfx942");
    is_int(check(1), hipSuccess, "gfx90a");
    is_int(check(2), hipSuccess, "gfx1100");
    is_int(check(3), hipErrorNoBinaryForGpu, "gfx906 has no images");
    contains(aothip_last_error(), "gfx906", "as the reason says");
    is_int(check(4), hipSuccess, "gfx1151");
    is_int(v2::flash::check_gpu(nullptr), hipSuccess, "the null stream");
    world_fail_at(1, hipErrorNotInitialized);
    is_int(check(0), hipErrorNotInitialized, "a failing HIP call gives its own code");
    world_fail_at(0, 0);
    is_int(world_launches().launches, 0, "nothing was launched");
}

static void test_device_queries()
{
    const auto stream = [](int device) { return static_cast<hipStream_t>(world_stream(device)); };
    for (int i = 0; i < WORLD_DEVICES; i++)
        ok(!isArchExperimentallySupported(stream(i)), "device %d needs no opt-in", i);
    ok(getGpuFromStream(stream(0)) == GPU_AMD_ARCH_GFX942_MOD0, "gfx942");
    ok(getGpuFromStream(stream(1)) == GPU_AMD_ARCH_GFX90A_MOD0, "gfx90a");
    ok(getGpuFromStream(stream(2)) == GPU_AMD_ARCH_GFX1100_MOD0, "gfx1100");
    ok(getGpuFromStream(stream(4)) == GPU_AMD_ARCH_GFX1151_MOD0, "gfx1151");
    ok(getGpuFromStream(stream(77)) == GPU_ARCH_UNKNOWN, "no device");
    is_int(GPU_AMD_ARCH_GFX942_MOD2, 0x100209420002, "vendor, digits, modification");
    is_int(getMultiProcessorCount(stream(0)), 304, "compute units");
    is_int(getMultiProcessorCount(stream(77)), 0, "of no device");
}

static void test_v3()
{
    attn_fwd_params p = make_params();
    attn_options options;
    is_int(attend(p), hipSuccess, "v3, no mask");
    world_launch launch = world_launches();
    is_int(launch.launches, 1, "is launched");
    is_str(launch.symbol, "attn_fwd_f16_d64_fast", "by the fast kernel");
    ok(launch.q == 0x10000000 && launch.k == 0x20000000 && launch.v == 0x30000000 &&
           launch.o == 0x40000000 && launch.lse == 0x50000000,
       "with its tensors");
    is_int(launch.o_seq_stride, 8 * 64, "and strides");
    ok(launch.scale == 0.125f, "and scale");
    p.L = TensorView<2>();
    is_int(attend(p, 4), hipSuccess, "without L, on another device");
    launch = world_launches();
    is_int(launch.lse, 0, "writes none");
    is_int(launch.device, 4, "and runs there");
    is_int(attn_fwd(p, fwd_version, Stream(), &options), hipSuccess, "with options");
    for (std::int32_t version = -1; version < 8; version++)
        if (version != fwd_version)
            ok(attn_fwd(p, version, Stream()) == hipErrorInvalidSymbol, "params_version %d",
               version);
    is_int(world_launches().launches, 1, "are not launched");
}

/* Windows: what the interval of visible keys becomes, or that there is no kernel. */
static void test_windows()
{
    constexpr std::int32_t top = WindowValue::TopLeftAligned;
    constexpr std::int32_t bottom = WindowValue::BottomRightAligned;
    static const struct {
        const char *what;
        std::int8_t type;
        std::int32_t left, right;
        int launched;
        std::int32_t key_last;
    } cases[] = {
        {"None ignores the fields", 0, 5, 5, 1, unbounded},
        {"top-left", 3, top, top, 1, 0},
        {"bottom-right", 3, bottom, bottom, 1, 200},
        {"left top-left, right bottom-right", 3, top, bottom, 1, 200},
        {"left bottom-right, right top-left", 3, bottom, top, 1, 0},
        {"all of left, right 0", 3, 100, 0, 1, 0},
        {"all of left, literally bottom-right", 3, 99, 200, 1, 200},
        {"all of both sides", 3, 99, 299, 1, unbounded},
        {"a finite left side", 3, 98, 0, 0, 0},
        {"a finite right side", 3, 100, 5, 0, 0},
        {"a negative right side", 3, top, -1, 0, 0},
        {"a negative left side", 3, -1, top, 0, 0},
    };
    for (const auto &test : cases) {
        attn_fwd_params p = make_params();
        p.causal_type = test.type;
        p.window_left = test.left;
        p.window_right = test.right;
        const hipError_t error = attend(p);
        const world_launch launch = world_launches();
        is_int(launch.launches, test.launched, test.what);
        if (test.launched) {
            is_int(launch.key_last, test.key_last, "the last visible key");
            is_int(launch.key_first, -unbounded, "all keys before it");
        } else {
            is_int(error, hipErrorNotSupported, "is refused");
            contains(aothip_last_error(), "window_left, window_right", "by name");
        }
    }
    attn_fwd_params p = make_params();
    p.causal_type = 2;
    is_int(attend(p), hipErrorInvalidValue, "causal_type 2");
}

template <typename Spoil>
static void refused(const char *what, hipError_t wanted, const char *name, Spoil spoil)
{
    attn_fwd_params p = make_params();
    spoil(p);
    is_int(attend(p), wanted, what);
    contains(aothip_last_error(), name, "is named");
    is_int(world_launches().launches, 0, "and not launched");
}

static void test_refusals()
{
    const TensorView<4> square(0x60000000, {2, 8, 100, 300}, {0, 0, 300, 1}, kFloat16);
    const TensorView<1> offsets(0x60000000, {3}, {1}, kInt32);
    refused("a bias", hipErrorNotSupported, "B:", [&](auto &p) { p.B = square; });
    refused("dropout", hipErrorNotSupported, "dropout_p:", [](auto &p) { p.dropout_p = 0.5f; });
    refused("encoded_softmax", hipErrorNotSupported,
            "encoded_softmax:", [&](auto &p) { p.encoded_softmax = square; });
    refused("packed sequences", hipErrorNotSupported,
            "cu_seqlens_q:", [&](auto &p) { p.cu_seqlens_q = p.cu_seqlens_k = offsets; });
    refused("a head dim of 512", hipErrorNotSupported, "head dim 512", [](auto &p) {
        for (auto *tensor : {&p.Q, &p.K, &p.V, &p.Out})
            *tensor = TensorView<4>(reinterpret_cast<std::intptr_t>(tensor->data_ptr()),
                                    {1, 1, 100, 512}, {51200, 51200, 512, 1}, kFloat16);
    });
    refused("fp32", hipErrorNotSupported, "F32", [](auto &p) {
        p.Q = bshd(0x10000000, 8, 100, kFloat32);
        p.K = bshd(0x20000000, 2, 300, kFloat32);
        p.V = bshd(0x30000000, 2, 300, kFloat32);
        p.Out = bshd(0x40000000, 8, 100, kFloat32);
    });
    refused("int8", hipErrorInvalidValue, "q: dtype",
            [](auto &p) { p.Q = bshd(0x10000000, 8, 100, kInt8); });
    refused("no Q", hipErrorInvalidValue, "q: ", [](auto &p) { p.Q = TensorView<4>(); });
    refused("an inner stride", hipErrorInvalidValue, "v: stride[3]", [](auto &p) {
        p.V = TensorView<4>(0x30000000, {2, 2, 300, 64}, {38400, 64, 128, 2}, kFloat16);
    });
    refused("a stride of 2^63", hipErrorInvalidValue, "k: stride[0]", [](auto &p) {
        p.K = TensorView<4>(0x20000000, {2, 2, 300, 64}, {1ull << 63, 64, 128, 1}, kFloat16);
    });
    refused("L too small", hipErrorInvalidValue, "L: is smaller",
            [](auto &p) { p.L = TensorView<2>(0x50000000, {16, 99}, {99, 1}, kFloat32); });
    refused("L in fp16", hipErrorInvalidValue, "L: its dtype",
            [](auto &p) { p.L = TensorView<2>(0x50000000, {16, 100}, {100, 1}, kFloat16); });
}

#if AOTRITON_VERSION_MINOR <= 12
static hipError_t call_v2(bool is_causal, TensorView<4> bias = TensorView<4>())
{
    const attn_fwd_params p = make_params();
    v2::flash::FwdExtraArguments extra;
    /* the pointers for dropout are host addresses, as PyTorch's may be: never read */
    return v2::flash::attn_fwd(p.Q, p.K, p.V, bias, 0.25f, p.L, p.Out, 0, {1, kInt64}, {2, kInt64},
                               0, {}, {}, {}, is_causal, {}, Stream(), &extra);
}

static void test_v2()
{
    is_int(call_v2(false), hipSuccess, "v2, no mask");
    world_launch launch = world_launches();
    is_int(launch.key_last, unbounded, "sees all keys");
    ok(launch.scale == 0.25f, "with its scale");
    is_int(call_v2(true), hipSuccess, "v2, causal");
    launch = world_launches();
    is_int(launch.key_last, 0, "is top-left");
    is_int(call_v2(true, TensorView<4>(0x60000000, {2, 8, 100, 300}, {0, 0, 300, 1}, kFloat16)),
           hipErrorNotSupported, "v2 with a bias");
    is_int(world_launches().launches, 0, "is not launched");
}
#endif

static void test_not_computed()
{
    const attn_fwd_params p = make_params();
    const TensorView<4> &t = p.Q;
    attn_bwd_params backward;
    is_int(attn_bwd(backward, bwd_version, Stream()), hipErrorNotSupported, "v3 attn_bwd");
    contains(aothip_last_error(), "no backward kernel", "has a reason");
    is_int(attn_bwd(backward, 1, Stream()), hipErrorInvalidSymbol, "v3 attn_bwd, version 1");
#if AOTRITON_VERSION_MINOR < 12
    is_int(aiter_bwd(backward, bwd_version, Stream()), hipErrorNotSupported, "aiter_bwd");
#endif
    is_int(v2::flash::debug_simulate_encoded_softmax(t, 0.5f, {}, {}, 0, Stream()),
           hipErrorNotSupported, "debug_simulate_encoded_softmax");
    contains(aothip_last_error(), "simulates dropout", "has a reason");
    is_int(world_launches().launches, 0, "nothing was launched");
}

#if AOTRITON_VERSION_MINOR <= 12
static void test_v2_not_computed()
{
    const attn_fwd_params p = make_params();
    const TensorView<4> &t = p.Q;
    const TensorView<1> offsets(0x60000000, {3}, {1}, kInt32);
    is_int(v2::flash::attn_bwd(t, t, t, t, 1, t, t, t, t, t, t, p.L, p.L, 0, {}, {}, 0, false,
                               Stream()),
           hipErrorNotSupported, "v2 attn_bwd");
    is_int(v2::flash::attn_bwd_fused(t, t, t, t, 1, t, t, t, t, t, t, p.L, 0, {}, {}, 0, false,
                                     Stream()),
           hipErrorNotSupported, "v2 attn_bwd_fused");
    is_int(v2::flash::attn_bwd_compact_varlen(t, t, t, offsets, offsets, 1, 1, t, 1, t, t, t, t, t,
                                              t, p.L, p.L, 0, {}, {}, 0, false, Stream()),
           hipErrorNotSupported, "v2 attn_bwd_compact_varlen");
    is_int(v2::flash::attn_fwd_compact_varlen(p.Q, p.K, p.V, {}, offsets, offsets, 1, 1, 1, p.L,
                                              p.Out, 0, {}, {}, 0, {}, {}, {}, false, {}, Stream()),
           hipErrorNotSupported, "v2 attn_fwd_compact_varlen");
    is_int(world_launches().launches, 0, "nothing was launched");
}
#endif

/* The constructor runs in the library: it must write the whole struct and not a byte more. */
template <typename Params> static const Params *construct(unsigned char *room, std::size_t size)
{
    std::memset(room, 0xa5, size);
    return new (room + 64) Params;
}

static void test_constructors()
{
    alignas(16) unsigned char room[64 + sizeof(attn_bwd_params) + 64];
    const auto *forward = construct<attn_fwd_params>(room, sizeof(room));
    int touched = 0;
    for (std::size_t i = 0; i < 64; i++)
        touched += room[i] != 0xa5 || room[64 + sizeof(attn_fwd_params) + i] != 0xa5;
    is_int(touched, 0, "attn_fwd_params() writes no byte beyond the struct");
    ok(!forward->Q && !forward->B && !forward->A && !forward->L && !forward->cu_seqlens_q &&
           !forward->encoded_softmax && !forward->persistent_atomic_counter,
       "every view is null");
    is_int(forward->Q.dtype(), kUnknown, "of unknown type");
    ok(!forward->Max_seqlen_q && !forward->Max_seqlen_k && !forward->varlen_type, "and zeros");
    touched = 0;
    const auto *backward = construct<attn_bwd_params>(room, sizeof(room));
    for (std::size_t i = 0; i < 64; i++)
        touched += room[i] != 0xa5 || room[64 + sizeof(attn_bwd_params) + i] != 0xa5;
    is_int(touched, 0, "attn_bwd_params() neither");
    ok(!backward->D && !backward->DQ_ACC && !backward->DB, "lazy tensors are null");
}

static int disposed;
#if AOTRITON_VERSION_MINOR >= 12
using lazy_argument = LazyTensor<2>;
#else
using lazy_argument = void;
#endif
static TensorView<2> acquire_delta(lazy_argument *)
{
    return {0x1000, {1, 1}, {1, 1}, kFloat32};
}
static void dispose_delta(lazy_argument *)
{
    disposed++;
}

static void test_types()
{
    int cookie = 0;
    LazyTensor<2> lazy;
    ok(!lazy, "a lazy tensor with nothing set is none");
    lazy.cookie = &cookie;
    lazy.acquire = &acquire_delta;
    lazy.dispose = &dispose_delta;
    ok(lazy, "one with anything set counts");
    lazy.free();
    lazy.free();
    is_int(disposed, 1, "is disposed of once");
    const TensorView<4> view = bshd(0x1000, 8, 100);
    is_int(view.size(2), 100, "size");
    is_int(view.stride(2), 512, "stride");
    is_int(view.size_ptr()[1], 8, "size_ptr");
    is_int(view.stride_ptr()[1], 64, "stride_ptr");
    ok(view.sizes()[3] == 64 && view.strides()[3] == 1, "sizes and strides");
    ok(*static_cast<void **>(view.kparam_data_ptr()) == view.data_ptr() &&
           *static_cast<std::uint64_t *>(view.kparam_stride(2)) == 512,
       "kernel parameters");
    ok(!TensorView<4>::get_null_tensor(kFloat32) && !TensorView<0>::get_null_tensor(kInt64),
       "null tensors");
    is_int(TensorView<0>(0x1000, kInt64).size(0), 1, "a scalar's size");
    ok(std::is_trivially_copyable_v<TensorView<4>> && std::is_trivially_copyable_v<Stream>,
       "views and streams pass as plain structs");
    static_assert(AOTRITON_VERSION_MAJOR * 100 + AOTRITON_VERSION_MINOR >= 11, "as PyTorch tests");
    static_assert(attn_fwd_params::kVersion == fwd_version, "version");
    static_assert(attn_bwd_params::kVersion == bwd_version, "version");
}

/* PyTorch calls from many threads; the first ones race for the context. */
static void test_threads()
{
    std::vector<std::thread> threads;
    std::vector<int> failures(8);
    for (int &failed : failures)
        threads.emplace_back([&failed] {
            for (int i = 0; i < 100; i++)
                failed += attend(make_params(), i % 3) != hipSuccess;
        });
    for (auto &thread : threads)
        thread.join();
    for (int failed : failures)
        is_int(failed, 0, "a thread without failures");
}

int main()
{
    world_begin();
    test_check_gpu();
    test_threads();
    world_launches();
    test_device_queries();
    test_v3();
    test_windows();
    test_refusals();
#if AOTRITON_VERSION_MINOR <= 12
    test_v2();
    test_v2_not_computed();
#endif
    test_not_computed();
    test_constructors();
    test_types();
    world_end();
    return tap_done();
}
