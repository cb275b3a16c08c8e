/*
 * The C++ names over the C library as PyTorch calls them: check_gpu before, results and refusals as
 * hipError_t with a reason, from many threads. What becomes of every argument is looked at in
 * test_shim_calls.cc. Numbers such as "16.3 #20" are lines of the checklist for drop-in libraries.
 */
#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#include <aothip/aothip.h>

#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "shim_world.h"
#include "tap.h"

namespace ao = AOTRITON_NS;
using T4 = ao::TensorView<4>;
using T2 = ao::TensorView<2>;

/* The library takes these in the place of the C++ library's. */
static thread_local int allocations;
void *operator new(std::size_t size)
{
    allocations++;
    return std::malloc(size);
}
void operator delete(void *memory) noexcept
{
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static hipStream_t stream_of(int device)
{
    return static_cast<hipStream_t>(world_stream(device));
}

/* A (B, S, H, D) tensor seen as (B, H, S, D). */
static T4 bshd(std::intptr_t base, std::uint64_t heads, std::uint64_t seq,
               ao::DType dtype = ao::kFloat16)
{
    return {base, {2, heads, seq, 64}, {seq * heads * 64, 64, heads * 64, 1}, dtype};
}

/* A causal problem, by the newest entry point of the release. */
struct call {
    T4 q = bshd(0x10000000, 8, 100), k = bshd(0x20000000, 2, 300), v = bshd(0x30000000, 2, 300),
       out = bshd(0x40000000, 8, 100);
    T2 lse{0x50000000, {16, 100}, {100, 1}, ao::kFloat32};

    hipError_t operator()(int device = 0) const
    {
#if AOTRITON_VERSION_MINOR >= 10
        ao::v3::flash::attn_fwd_params p;
        p.Q = q, p.K = k, p.V = v, p.Out = out, p.L = lse;
        p.Sm_scale = 0.125f;
        p.causal_type = ao::v3::flash::CausalType::WindowedAttention;
        p.window_left = p.window_right = ao::v3::flash::WindowValue::TopLeftAligned;
        return ao::v3::flash::attn_fwd(p, p.kVersion, stream_of(device));
#elif AOTRITON_VERSION_MINOR == 9
        return ao::v2::flash::attn_fwd(q, k, v, {}, 0.125f, lse, out, 0, {}, {}, 0, {}, {}, {},
                                       true, {}, stream_of(device));
#else
        return ao::v2::flash::attn_fwd(q, k, v, {}, 0.125f, lse, out, 0, {}, {}, 0, {}, {}, {},
                                       true, stream_of(device));
#endif
    }
};

static void test_check_gpu()
{
    const auto check = [](int device) { return ao::v2::flash::check_gpu(stream_of(device)); };
    world_hide_images();
    is_int(ao::v2::flash::check_gpu(ao::Stream()), hipErrorNoBinaryForGpu,
           "16.6 #47: without images check_gpu refuses");
    contains(aothip_last_error(), "AOTHIP_IMAGES", "the reason names where they should be");
    is_int(call()(), hipErrorNoBinaryForGpu, "16.6 #47: nor does attention run");
    world_show_images();
    is_int(check(0), hipSuccess, "16.3 #20: gfx942");
    is_int(check(1), hipSuccess, "16.3 #20: gfx90a");
    is_int(check(2), hipSuccess, "16.3 #20: gfx1100");
    is_int(check(3), hipErrorNoBinaryForGpu, "16.3 #20: gfx906 has no images");
    contains(aothip_last_error(), "gfx906", "as the reason says");
    is_int(check(4), hipSuccess, "16.3 #20: gfx1151");
    is_int(ao::v2::flash::check_gpu(nullptr), hipSuccess, "16.3 #20: the null stream");
    world_fail_at(1, hipErrorNotInitialized);
    is_int(check(0), hipErrorNotInitialized, "a failing HIP call gives its own code");
    world_fail_at(0, 0);
    is_int(world_launches().launches, 0, "16.3 #20: nothing was launched");
}

static void test_device_queries()
{
#if AOTRITON_VERSION_MINOR >= 9
    for (int i = 0; i < WORLD_DEVICES; i++)
        ok(!ao::isArchExperimentallySupported(stream_of(i)),
           "16.3 #21, 16.5 #45: device %d needs no opt-in", i);
    is_int(ao::getMultiProcessorCount(stream_of(0)), 304, "16.3 #21: compute units");
    is_int(ao::getMultiProcessorCount(stream_of(77)), 0, "16.3 #21: of no device");
#endif
#if AOTRITON_VERSION_MINOR >= 10
    ok(ao::getGpuFromStream(stream_of(0)) == ao::GPU_AMD_ARCH_GFX942_MOD0, "16.3 #21: gfx942");
    ok(ao::getGpuFromStream(stream_of(1)) == ao::GPU_AMD_ARCH_GFX90A_MOD0, "16.3 #21: gfx90a");
    ok(ao::getGpuFromStream(stream_of(2)) == ao::GPU_AMD_ARCH_GFX1100_MOD0, "16.3 #21: gfx1100");
    ok(ao::getGpuFromStream(stream_of(4)) == ao::GPU_AMD_ARCH_GFX1151_MOD0, "16.3 #21: gfx1151");
    ok(ao::getGpuFromStream(stream_of(77)) == ao::GPU_ARCH_UNKNOWN, "16.3 #21: no device");
#else
    ok(ao::getArchFromStream(stream_of(1)) == ao::GPU_ARCH_AMD_GFX90A, "16.3 #21: gfx90a");
    ok(ao::getArchFromStream(stream_of(77)) == ao::GPU_ARCH_UNKNOWN, "16.3 #21: no device");
#endif
}

static void test_launch()
{
    is_int(call()(4), hipSuccess, "attention");
    const world_launch launch = world_launches();
    is_int(launch.launches, 1, "is launched");
    is_int(launch.device, 4, "on the stream's device");
    ok(launch.q == 0x10000000 && launch.k == 0x20000000 && launch.v == 0x30000000 &&
           launch.o == 0x40000000 && launch.lse == 0x50000000,
       "with its tensors");
    is_int(launch.o_seq_stride, 8 * 64, "and strides");
    is_int(launch.key_last, 0, "16.4 #25: top-left");
    ok(launch.scale == 0.125f, "and scale");
}

/* What the C library does in a warm call is counted in test_api.c. */
static void check_warm(const call &once_more, int queries, const char *what)
{
    is_int(once_more(4), hipSuccess, what);
    world_launches();
    const int before = allocations;
    is_int(once_more(4), hipSuccess, "another one");
    is_int(allocations, before, "allocates nothing");
    const world_launch warm = world_launches();
    is_int(warm.queries, queries, "asks HIP");
    is_int(warm.calls, queries + 1, "and launches");
}

static void test_warm()
{
    call large, brief;
    check_warm(call(), 2, "a warm call whose keys might be shared out");
    large.q = bshd(0x10000000, 8, 8192);
    large.out = bshd(0x40000000, 8, 8192);
    large.lse = T2(0x50000000, {16, 8192}, {8192, 1}, ao::kFloat32);
    check_warm(large, 1, "a warm call that fills any GPU");
    brief.k = bshd(0x20000000, 2, 200);
    brief.v = bshd(0x30000000, 2, 200);
    check_warm(brief, 1, "a warm call of few keys");
}

template <typename Spoil>
static void refused(const char *what, hipError_t wanted, const char *name, Spoil spoil)
{
    call spoilt;
    spoil(spoilt);
    is_int(spoilt(), wanted, what);
    contains(aothip_last_error(), name, "is named");
    is_int(world_launches().launches, 0, "16.4 #36: and not launched");
}

static void test_refusals()
{
    refused("int8", hipErrorInvalidValue, "q: dtype",
            [](call &c) { c.q = bshd(0x10000000, 8, 100, ao::kInt8); });
    refused("no Q", hipErrorInvalidValue, "Q: ", [](call &c) { c.q = T4(); });
    refused("an inner stride", hipErrorInvalidValue, "v: stride[3]", [](call &c) {
        c.v = T4(0x30000000, {2, 2, 300, 64}, {38400, 64, 128, 2}, ao::kFloat16);
    });
    refused("a stride of 2^63", hipErrorInvalidValue, "k: stride[0]", [](call &c) {
        c.k = T4(0x20000000, {2, 2, 300, 64}, {1ull << 63, 64, 128, 1}, ao::kFloat16);
    });
    refused("L too small", hipErrorInvalidValue, "L: is smaller",
            [](call &c) { c.lse = T2(0x50000000, {16, 99}, {99, 1}, ao::kFloat32); });
}

/* PyTorch calls from many threads; the first ones race for the context. */
static void test_threads()
{
    std::vector<std::thread> threads;
    std::vector<int> failures(8);
    for (int &failed : failures)
        threads.emplace_back([&failed] {
            for (int i = 0; i < 100; i++)
                failed += call()(i % 3) != hipSuccess;
        });
    for (auto &thread : threads)
        thread.join();
    for (int failed : failures)
        is_int(failed, 0, "16.4 #35: a thread without failures");
}

int main()
{
    world_begin();
    test_check_gpu();
    test_threads();
    world_launches();
    test_device_queries();
    test_launch();
    test_warm();
    test_refusals();
    world_end();
    return tap_done();
}
