/* The module itself: streams, types of elements, views of tensors. */
#include "binding.h"

#include <array>
#include <cstdint>
#include <string>

namespace binding
{

#define PYAOTRITON_TEXT(x) #x
#define PYAOTRITON_STRING(x) PYAOTRITON_TEXT(x)

static std::string suffix()
{
#if AOTRITON_ENABLE_SUFFIX
    return PYAOTRITON_STRING(AOTRITON_NAME_SUFFIX);
#else
    return "";
#endif
}

static void add_dtype(py::module_ &module)
{
    py::enum_<aot::DType> type(module, "DType");
#define PYAOTRITON_VALUE(name) type.value(#name, aot::DType::name)
    PYAOTRITON_VALUE(kUnknown);
    PYAOTRITON_VALUE(kFloat32);
    PYAOTRITON_VALUE(kFloat16);
    PYAOTRITON_VALUE(kBFloat16);
    PYAOTRITON_VALUE(kInt8);
    PYAOTRITON_VALUE(kInt16);
    PYAOTRITON_VALUE(kInt32);
    PYAOTRITON_VALUE(kInt64);
    PYAOTRITON_VALUE(kUInt8);
    PYAOTRITON_VALUE(kUInt16);
    PYAOTRITON_VALUE(kUInt32);
    PYAOTRITON_VALUE(kUInt64);
#undef PYAOTRITON_VALUE
    type.export_values();
}

/* View::size() and View::stride() look at no bounds. */
static int checked(int dimension, int rank)
{
    if (dimension < 0 || dimension >= rank)
        throw py::index_error("a view of rank " + std::to_string(rank) + " has no dimension " +
                              std::to_string(dimension));
    return dimension;
}

/* What views of every rank can be asked. */
template <int Rank> static void add_questions(py::class_<aot::TensorView<Rank>> &type)
{
    using View = aot::TensorView<Rank>;
    type.def("size", [](const View &view, int i) { return view.size(checked(i, Rank)); })
        .def("stride", [](const View &view, int i) { return view.stride(checked(i, Rank)); })
        .def_property_readonly("sizes", &View::sizes)
        .def_property_readonly("strides", &View::strides)
        .def_property_readonly(
            "data_ptr",
            [](const View &view) { return reinterpret_cast<std::intptr_t>(view.data_ptr()); })
        .def_property_readonly("dtype", &View::dtype);
}

template <int Rank> static void add_view(py::module_ &module, const char *name)
{
    using numbers = std::array<std::uint64_t, Rank>;
    py::class_<aot::TensorView<Rank>> type(module, name);
    type.def(py::init<std::intptr_t, numbers, numbers, aot::DType>());
    add_questions(type);
}

static void add_scalar(py::module_ &module)
{
    py::class_<aot::TensorView<0>> type(module, "T0");
    type.def(py::init<std::intptr_t, aot::DType>());
    add_questions(type);
}

} // namespace binding

PYBIND11_MODULE(pyaotriton, module)
{
    module.doc() = "AOTriton's interface, from Python, to aothip's kernels";
    pybind11::class_<binding::aot::Stream>(module, "Stream").def(pybind11::init<>());
    binding::add_dtype(module);
    binding::add_hip(module);
    binding::add_view<4>(module, "T4");
    binding::add_view<2>(module, "T2");
    binding::add_view<1>(module, "T1");
    binding::add_scalar(module);
    module.def("get_name_suffix", &binding::suffix);
    binding::add_v2(module.def_submodule("v2", "positional arguments"));
#if AOTRITON_VERSION_MINOR >= 10
    binding::add_v3(module.def_submodule("v3", "arguments in structs"));
#endif
#if AOTRITON_VERSION_MINOR >= 11
    binding::add_lazy(module.def_submodule("lazy_tensor", "memory allocated when asked for"));
#endif
}
