/* The base of the structs with extra arguments. Kernels are chosen by the images' own ranking. */
#ifndef AOTRITON_V2_API_CPP_TUNE_H
#define AOTRITON_V2_API_CPP_TUNE_H

#include <aotriton/config.h>

namespace AOTRITON_NS::v2
{

struct AOTRITON_API CppTune{};

enum CppTuneSpecialKernelIndex : int {
    kDefault = -1,
    kSkipGPUCall = -2,
};

} // namespace AOTRITON_NS::v2

#endif
