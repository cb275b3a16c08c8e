/*
 * pyaotriton: the module that AOTriton's tests and TheRock's guides import, over libaotriton_v2.so,
 * with the names that AOTriton's own has in the release that was configured.
 */
#ifndef PYAOTRITON_BINDING_H
#define PYAOTRITON_BINDING_H

#include <aotriton/config.h>
#include <aotriton/cpp_tune.h>
#include <aotriton/dtypes.h>
#include <aotriton/flash.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>
#include <aotriton/v2/flash.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace binding
{

namespace aot = AOTRITON_NS;
namespace py = pybind11;

/* Each adds to a module what it is about. */
void add_hip(py::module_ &module);
void add_v2(py::module_ module);
#if AOTRITON_VERSION_MINOR >= 10
void add_v3(py::module_ module);
#endif
#if AOTRITON_VERSION_MINOR >= 11
void add_lazy(py::module_ module);
#endif

} // namespace binding

#endif
