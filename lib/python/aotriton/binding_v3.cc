/* pyaotriton.v3: entry points whose arguments are the fields of a struct. */
#include "binding.h"

#if AOTRITON_VERSION_MINOR >= 10

namespace binding
{

namespace flash3 = aot::v3::flash;
using fwd = flash3::attn_fwd_params;
using bwd = flash3::attn_bwd_params;

#if AOTRITON_VERSION_MINOR >= 14

/* Bit-fields have no address: each is read and written by functions. */
#define PYAOTRITON_BITS(type, name)                                                                \
    def_property(                                                                                  \
        #name, [](const type &bits) { return static_cast<unsigned>(bits.name); },                  \
        [](type &bits, unsigned value) { bits.name = value & 3; })

static void add_varlen(py::module_ &module)
{
    using mode = flash3::VarlenMode;
    using bits = flash3::VarlenBits;
    py::class_<mode>(module, "VarlenMode")
        .def(py::init<>())
        .def_property(
            "stacked", [](const mode &m) { return static_cast<unsigned>(m.stacked); },
            [](mode &m, unsigned value) { m.stacked = value & 1; })
        .PYAOTRITON_BITS(mode, length)
        .PYAOTRITON_BITS(mode, position);
    py::class_<bits>(module, "VarlenBits")
        .def(py::init<>())
        .def_readwrite("qmode", &bits::qmode)
        .def_readwrite("kmode", &bits::kmode)
        .PYAOTRITON_BITS(bits, lse_layout);
    py::class_<flash3::VarlenStacked>(module, "VarlenStacked")
        .def_readonly_static("BHSD", &flash3::VarlenStacked::BHSD)
        .def_readonly_static("THD", &flash3::VarlenStacked::THD);
    py::class_<flash3::VarlenLength>(module, "VarlenLength")
        .def_readonly_static("MAX", &flash3::VarlenLength::MAX)
        .def_readonly_static("CUMULATIVE", &flash3::VarlenLength::CUMULATIVE)
        .def_readonly_static("INDIVIDUAL", &flash3::VarlenLength::INDIVIDUAL);
    py::class_<flash3::VarlenPosition>(module, "VarlenPosition")
        .def_readonly_static("IMPLIED", &flash3::VarlenPosition::IMPLIED)
        .def_readonly_static("REUSE", &flash3::VarlenPosition::REUSE)
        .def_readonly_static("ARRAY", &flash3::VarlenPosition::ARRAY);
    py::class_<flash3::VarlenLseLayout>(module, "VarlenLseLayout")
        .def_readonly_static("HT", &flash3::VarlenLseLayout::HT)
        .def_readonly_static("TH", &flash3::VarlenLseLayout::TH);
}

#endif

/* What the two structs have in common. */
#define PYAOTRITON_FIELD(name) type.def_readwrite(#name, &Params::name)
template <typename Params> static void add_common(py::class_<Params> &type)
{
    type.def(py::init<>());
    type.def_readonly_static("kVersion", &Params::kVersion);
    PYAOTRITON_FIELD(Q);
    PYAOTRITON_FIELD(K);
    PYAOTRITON_FIELD(V);
    PYAOTRITON_FIELD(B);
    PYAOTRITON_FIELD(Sm_scale);
    PYAOTRITON_FIELD(L);
    PYAOTRITON_FIELD(Out);
    PYAOTRITON_FIELD(Max_seqlen_q);
    PYAOTRITON_FIELD(Max_seqlen_k);
    PYAOTRITON_FIELD(dropout_p);
    PYAOTRITON_FIELD(philox_seed_ptr);
    PYAOTRITON_FIELD(philox_offset1);
    PYAOTRITON_FIELD(philox_offset2);
    PYAOTRITON_FIELD(causal_type);
    PYAOTRITON_FIELD(window_left);
    PYAOTRITON_FIELD(window_right);
#if AOTRITON_VERSION_MINOR >= 14
    PYAOTRITON_FIELD(seqinfo_q0);
    PYAOTRITON_FIELD(seqinfo_k0);
    PYAOTRITON_FIELD(seqinfo_q1);
    PYAOTRITON_FIELD(seqinfo_k1);
    PYAOTRITON_FIELD(varlen_bits);
#else
    PYAOTRITON_FIELD(cu_seqlens_q);
    PYAOTRITON_FIELD(cu_seqlens_k);
    PYAOTRITON_FIELD(varlen_type);
#endif
#if AOTRITON_VERSION_MINOR == 12 || AOTRITON_VERSION_MINOR == 13
    PYAOTRITON_FIELD(seq_strides_q);
    PYAOTRITON_FIELD(seq_strides_k);
#endif
}

static void add_params(py::module_ &module)
{
    py::class_<fwd> forward(module, "attn_fwd_params");
    py::class_<bwd> backward(module, "attn_bwd_params");
    add_common(forward);
    forward.def_readwrite("philox_seed_output", &fwd::philox_seed_output)
        .def_readwrite("philox_offset_output", &fwd::philox_offset_output)
        .def_readwrite("encoded_softmax", &fwd::encoded_softmax)
        .def_readwrite("persistent_atomic_counter", &fwd::persistent_atomic_counter);
    add_common(backward);
    backward.def_readwrite("DO", &bwd::DO)
        .def_readwrite("DK", &bwd::DK)
        .def_readwrite("DV", &bwd::DV)
        .def_readwrite("DQ", &bwd::DQ)
        .def_readwrite("DB", &bwd::DB)
        .def_readwrite("D", &bwd::D);
#if AOTRITON_VERSION_MINOR >= 11
    backward.def_readwrite("DQ_ACC", &bwd::DQ_ACC);
#endif
}

template <typename Function>
static void add_call(py::module_ &module, const char *name, Function function)
{
    const flash3::attn_options *const none = nullptr;
    module.def(name, function, py::call_guard<py::gil_scoped_release>(), py::arg("params"),
               py::arg("params_version"), py::arg("stream") = aot::Stream(),
               py::arg("options") = none);
}

void add_v3(py::module_ module)
{
    py::module_ flash_module = module.def_submodule("flash", "attention");
    py::class_<flash3::attn_options> options(flash_module, "attn_options");
    options.def(py::init<>());
#if AOTRITON_VERSION_MINOR >= 11
    options.def_readwrite("force_backend_index", &flash3::attn_options::force_backend_index);
#endif
#if AOTRITON_VERSION_MINOR >= 12
    options.def_readwrite("deterministic", &flash3::attn_options::deterministic);
#endif
#if AOTRITON_VERSION_MINOR >= 14
    add_varlen(flash_module);
#endif
    add_params(flash_module);
    add_call(flash_module, "attn_fwd", &flash3::attn_fwd);
    add_call(flash_module, "attn_bwd", &flash3::attn_bwd);
#if AOTRITON_VERSION_MINOR == 11
    add_call(flash_module, "aiter_bwd", &flash3::aiter_bwd);
#endif
}

} // namespace binding

#endif
