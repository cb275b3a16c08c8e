/* pyaotriton.v2: entry points with positional arguments, by the names of flash.h. */
#include "binding.h"

namespace binding
{

namespace flash2 = aot::v2::flash;
using py::arg;

/* Other threads run meanwhile: the first call reads files. */
using unlocked = py::call_guard<py::gil_scoped_release>;

#if AOTRITON_VERSION_MINOR <= 12

static void add_forward(py::module_ &module)
{
#if AOTRITON_VERSION_MINOR >= 9
    module.def("attn_fwd", &flash2::attn_fwd, unlocked(), arg("q"), arg("k"), arg("v"), arg("b"),
               arg("sm_scale"), arg("softmax_lse"), arg("out"), arg("dropout_p"),
               arg("philox_seed"), arg("philox_offset1"), arg("philox_offset2"),
               arg("philox_seed_output"), arg("philox_offset_output"), arg("encoded_softmax"),
               arg("is_causal"), arg("atomic_for_causal"), arg("stream") = aot::Stream(),
               arg("extargs") = flash2::FwdExtraArguments());
    module.def("attn_fwd_compact_varlen", &flash2::attn_fwd_compact_varlen, unlocked(), arg("q"),
               arg("k"), arg("v"), arg("b"), arg("cu_seqlens_q"), arg("cu_seqlens_k"),
               arg("max_seqlen_q"), arg("max_seqlen_k"), arg("sm_scale"), arg("softmax_lse"),
               arg("out"), arg("dropout_p"), arg("philox_seed"), arg("philox_offset1"),
               arg("philox_offset2"), arg("philox_seed_output"), arg("philox_offset_output"),
               arg("encoded_softmax"), arg("is_causal"), arg("atomic_for_causal"),
               arg("stream") = aot::Stream(), arg("extargs") = flash2::FwdExtraArguments());
#else
    module.def("attn_fwd", &flash2::attn_fwd, unlocked(), arg("q"), arg("k"), arg("v"), arg("b"),
               arg("sm_scale"), arg("softmax_lse"), arg("out"), arg("dropout_p"),
               arg("philox_seed"), arg("philox_offset1"), arg("philox_offset2"),
               arg("philox_seed_output"), arg("philox_offset_output"), arg("encoded_softmax"),
               arg("is_causal"), arg("stream") = aot::Stream(),
               arg("extargs") = flash2::FwdExtraArguments());
    module.def("attn_fwd_compact_varlen", &flash2::attn_fwd_compact_varlen, unlocked(), arg("q"),
               arg("k"), arg("v"), arg("cu_seqlens_q"), arg("cu_seqlens_k"), arg("max_seqlen_q"),
               arg("max_seqlen_k"), arg("b"), arg("sm_scale"), arg("softmax_lse"), arg("out"),
               arg("dropout_p"), arg("philox_seed"), arg("philox_offset1"), arg("philox_offset2"),
               arg("philox_seed_output"), arg("philox_offset_output"), arg("encoded_softmax"),
               arg("is_causal"), arg("stream") = aot::Stream(),
               arg("extargs") = flash2::FwdExtraArguments());
#endif
}

static void add_backward(py::module_ &module)
{
    module.def("attn_bwd", &flash2::attn_bwd, unlocked(), arg("q"), arg("k"), arg("v"), arg("b"),
               arg("sm_scale"), arg("out"), arg("dout"), arg("dq"), arg("dk"), arg("dv"), arg("db"),
               arg("softmax_lse"), arg("delta"), arg("dropout_p"), arg("philox_seed"),
               arg("philox_offset1"), arg("philox_offset2"), arg("is_causal"),
               arg("stream") = aot::Stream(), arg("extargs") = flash2::BwdExtraArguments());
#if AOTRITON_VERSION_MINOR >= 9
    module.def("attn_bwd_fused", &flash2::attn_bwd_fused, unlocked(), arg("q"), arg("k"), arg("v"),
               arg("b"), arg("sm_scale"), arg("out"), arg("dout"), arg("dq"), arg("dk"), arg("dv"),
               arg("db"), arg("softmax_lse"), arg("dropout_p"), arg("philox_seed"),
               arg("philox_offset1"), arg("philox_offset2"), arg("is_causal"),
               arg("stream") = aot::Stream(), arg("extargs") = flash2::FusedBwdExtraArguments());
#endif
    module.def("attn_bwd_compact_varlen", &flash2::attn_bwd_compact_varlen, unlocked(), arg("q"),
               arg("k"), arg("v"), arg("cu_seqlens_q"), arg("cu_seqlens_k"), arg("max_seqlen_q"),
               arg("max_seqlen_k"), arg("b"), arg("sm_scale"), arg("out"), arg("dout"), arg("dq"),
               arg("dk"), arg("dv"), arg("db"), arg("softmax_lse"), arg("delta"), arg("dropout_p"),
               arg("philox_seed"), arg("philox_offset1"), arg("philox_offset2"), arg("is_causal"),
               arg("stream") = aot::Stream(), arg("extargs") = flash2::BwdExtraArguments());
}

static void add_extra_arguments(py::module_ &module)
{
    py::class_<flash2::FwdExtraArguments, aot::v2::CppTune>(module, "FwdExtraArguments")
        .def(py::init<>());
    py::class_<flash2::BwdExtraArguments>(module, "BwdExtraArguments").def(py::init<>());
#if AOTRITON_VERSION_MINOR >= 9
    py::class_<flash2::FusedBwdExtraArguments, aot::v2::CppTune>(module, "FusedBwdExtraArguments")
        .def(py::init<>());
#endif
}

#endif

static void add_dropout(py::module_ &module)
{
#if AOTRITON_VERSION_MINOR >= 9
    module.def("debug_simulate_encoded_softmax", &flash2::debug_simulate_encoded_softmax,
               unlocked(), arg("r"), arg("dropout_p"), arg("philox_seed_ptr"),
               arg("philox_offset1"), arg("philox_offset2"), arg("stream") = aot::Stream());
#endif
#if AOTRITON_VERSION_MINOR <= 9
    module.def("debug_fill_dropout_rng", &flash2::debug_fill_dropout_rng, unlocked(), arg("r"),
               arg("philox_seed"), arg("philox_offset"), arg("stream") = aot::Stream());
    module.def("debug_fill_dropout_rng_tensor", &flash2::debug_fill_dropout_rng_tensor, unlocked(),
               arg("r"), arg("philox_seed"), arg("philox_offset"), arg("stream") = aot::Stream());
#endif
}

void add_v2(py::module_ module)
{
    py::module_ flash_module = module.def_submodule("flash", "attention");
    flash_module.def("check_gpu", &flash2::check_gpu, unlocked(), arg("stream"));
#if AOTRITON_VERSION_MINOR <= 12
    py::class_<aot::v2::CppTune>(module, "CppTune").def(py::init<>());
    py::enum_<aot::v2::CppTuneSpecialKernelIndex>(module, "CppTuneSpecialKernelIndex")
        .value("kDefault", aot::v2::CppTuneSpecialKernelIndex::kDefault)
        .value("kSkipGPUCall", aot::v2::CppTuneSpecialKernelIndex::kSkipGPUCall)
        .export_values();
    add_extra_arguments(flash_module);
    add_forward(flash_module);
    add_backward(flash_module);
#endif
    add_dropout(flash_module);
}

} // namespace binding
