/*
 * What each entry point of the C++ names hands on to the C API, for the AOTriton release that the
 * headers are configured for: a C API that only remembers stands behind them. Here what all
 * releases have; the other shim_calls_*.cc have the rest. Numbers such as "16.4 #24"
 * are lines of the checklist for drop-in libraries.
 */
#include "shim_calls.h"

static void test_queries()
{
    fake_aothip_reset();
    is_int(ao::v2::flash::check_gpu(nullptr), hipSuccess, "16.3 #20: check_gpu, null stream");
    fake_aothip.status = AOTHIP_E_NO_IMAGES;
    is_int(ao::v2::flash::check_gpu(reinterpret_cast<hipStream_t>(0x77)), hipErrorNoBinaryForGpu,
           "16.3 #20: no images for the GPU");
    ok(is_at(fake_aothip.stream, 0x77), "16.3 #20: the stream is handed on");
    fake_aothip.status = AOTHIP_E_HIP;
    is_int(ao::v2::flash::check_gpu(nullptr), hipErrorOutOfMemory, "HIP's own code comes back");
    is_int(fake_aothip.fwd_calls + fake_aothip.bwd_calls, 0, "16.3 #20: no GPU work");
    fake_aothip.status = AOTHIP_OK;
#if AOTRITON_VERSION_MINOR >= 10
    ok(ao::getGpuFromStream(nullptr) == ao::GPU_AMD_ARCH_GFX942_MOD2, "16.3 #21: 80 units");
    is_int(ao::GPU_AMD_ARCH_GFX942_MOD2, 0x100209420002, "vendor, digits, modification");
#else
    ok(ao::getArchFromStream(nullptr) == ao::GPU_ARCH_AMD_GFX942, "16.3 #21: getArchFromStream");
    is_int(ao::GPU_ARCH_AMD_GFX942, 0x100200000942, "vendor, digits");
#endif
#if AOTRITON_VERSION_MINOR >= 9
    is_int(ao::getMultiProcessorCount(nullptr), 80, "16.3 #21: compute units");
    ok(!ao::isArchExperimentallySupported(nullptr), "16.3 #21: no opt-in");
#endif
#if AOTRITON_VERSION_MINOR * 100 + AOTRITON_VERSION_PATCH >= 1201
    ok(!ao::isArchTechPreview(nullptr), "16.3 #21: no preview");
#endif
}

static void test_views()
{
    const T4 view = bshd(0x1000, 2, 8, 100);
    is_int(view.size(2), 100, "size");
    is_int(view.stride(2), 512, "stride");
    ok(view.sizes()[3] == 64 && view.strides()[3] == 1, "sizes and strides");
    ok(is_at(view.data_ptr(), 0x1000) && view.dtype() == ao::kFloat16, "address and type");
    ok(view && !T4() && !T4::get_null_tensor(ao::kFloat32) && !T0::get_null_tensor(ao::kInt64),
       "null views");
    is_int(T0(0x1000, ao::kInt64).size(0), 1, "a scalar's size");
#if AOTRITON_VERSION_MINOR >= 11
    is_int(view.size_ptr()[1], 8, "size_ptr");
    is_int(view.stride_ptr()[1], 64, "stride_ptr");
#endif
#if AOTRITON_VERSION_MINOR >= 10
    ok(*static_cast<const void **>(view.kparam_data_ptr()) == view.data_ptr() &&
           *static_cast<std::uint64_t *>(view.kparam_stride(2)) == 512,
       "kernel parameters");
#endif
    is_int(ao::kBFloat16, 3, "dtype");
    static_assert(AOTRITON_VERSION_MAJOR * 100 + AOTRITON_VERSION_MINOR >= 7, "16.1 #5");
}

int main()
{
    test_queries();
    test_views();
    calls_v2::test();
    calls_v3_forward::test();
    calls_v3_backward::test();
    calls_kept::test();
    return tap_done();
}
