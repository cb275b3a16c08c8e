/* The stream type that every entry point takes. */
#ifndef AOTRITON_V2_API_RUNTIME_H
#define AOTRITON_V2_API_RUNTIME_H

#include <aotriton/config.h>

#include <hip/hip_runtime_api.h>

namespace AOTRITON_NS
{

/* A runtime's stream, made from it implicitly. The default is the null stream. */
template <typename DeviceStreamType> class StreamTemplate
{
  public:
    StreamTemplate() : stream_(nullptr)
    {
    }
    StreamTemplate(DeviceStreamType stream) : stream_(stream)
    {
    }

    DeviceStreamType native() const
    {
        return stream_;
    }

  private:
    DeviceStreamType stream_;
};

using Stream = StreamTemplate<hipStream_t>;

} // namespace AOTRITON_NS

#endif
