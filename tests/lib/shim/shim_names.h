/* The configured generation's names, as the tests of the shim say them. */
#ifndef AOTHIP_SHIM_NAMES_H
#define AOTHIP_SHIM_NAMES_H

#include <aotriton/flash.h>
#include <aotriton/util.h>

namespace ao = AOTRITON_NS;
using T4 = ao::TensorView<4>;
using T2 = ao::TensorView<2>;
using T1 = ao::TensorView<1>;
using T0 = ao::TensorView<0>;

constexpr int minor_version = AOTRITON_VERSION_MINOR;

#endif
