/* Tensor views, GPU numbers and questions about the GPU of a stream. */
#ifndef AOTRITON_V2_API_UTIL_H
#define AOTRITON_V2_API_UTIL_H

#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>

#include <array>
#include <cstdint>

namespace AOTRITON_NS
{

/* Bit fields side by side, the highest first, in 32 and 64 bits. */
#if AOTRITON_VERSION_MINOR >= 10
constexpr std::uint32_t CAT32(std::uint16_t high, std::uint16_t low)
{
    return static_cast<std::uint32_t>(high) << 16 | low;
}
constexpr std::uint64_t CAT64(std::uint32_t high, std::uint32_t low)
{
    return static_cast<std::uint64_t>(high) << 32 | low;
}
constexpr std::uint64_t TRICAT(std::uint16_t high, std::uint16_t mid, std::uint16_t low)
{
    return static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint64_t>(mid) << 16 | low;
}
#else
constexpr std::uint64_t CAT(std::uint32_t high, std::uint32_t low)
{
    return static_cast<std::uint64_t>(high) << 32 | low;
}
#endif

template <typename T> constexpr T cdiv(T numerator, T denominator)
{
    return (numerator + (denominator - 1)) / denominator;
}

#if AOTRITON_VERSION_MINOR >= 10

/* PCI vendor IDs. */
enum GpuVendor : std::uint16_t {
    kAMD = 0x1002,
    kNVIDIA = 0x10de,
    kINTEL = 0x8086,
};

/* (vendor, digits of the gfx name, modification); modifications differ in compute units. */
enum Gpu : std::uint64_t {
    GPU_ARCH_UNKNOWN = 0,
    GPU_AMD_ARCH_GFX90A_MOD0 = TRICAT(kAMD, 0x90a, 0),
    GPU_AMD_ARCH_GFX942_MOD0 = TRICAT(kAMD, 0x942, 0),
    GPU_AMD_ARCH_GFX942_MOD1 = TRICAT(kAMD, 0x942, 1),
    GPU_AMD_ARCH_GFX942_MOD2 = TRICAT(kAMD, 0x942, 2),
    GPU_AMD_ARCH_GFX950_MOD0 = TRICAT(kAMD, 0x950, 0),
    GPU_AMD_ARCH_GFX1100_MOD0 = TRICAT(kAMD, 0x1100, 0),
    GPU_AMD_ARCH_GFX1101_MOD0 = TRICAT(kAMD, 0x1101, 0),
    GPU_AMD_ARCH_GFX1102_MOD0 = TRICAT(kAMD, 0x1102, 0),
    GPU_AMD_ARCH_GFX1103_MOD0 = TRICAT(kAMD, 0x1103, 0),
    GPU_AMD_ARCH_GFX1150_MOD0 = TRICAT(kAMD, 0x1150, 0),
    GPU_AMD_ARCH_GFX1151_MOD0 = TRICAT(kAMD, 0x1151, 0),
    GPU_AMD_ARCH_GFX1152_MOD0 = TRICAT(kAMD, 0x1152, 0),
    GPU_AMD_ARCH_GFX1153_MOD0 = TRICAT(kAMD, 0x1153, 0),
    GPU_AMD_ARCH_GFX1200_MOD0 = TRICAT(kAMD, 0x1200, 0),
    GPU_AMD_ARCH_GFX1201_MOD0 = TRICAT(kAMD, 0x1201, 0),
    GPU_AMD_ARCH_GFX1250_MOD0 = TRICAT(kAMD, 0x1250, 0),
};

/* A Gpu without its modification. */
constexpr std::uint32_t Gpu2VendorArch(std::uint64_t gpu)
{
    return static_cast<std::uint32_t>(gpu >> 16);
}

#else

/* PCI vendor IDs. */
enum GpuVendor : std::uint32_t {
    kAMD = 0x1002,
    kNVIDIA = 0x10de,
    kINTEL = 0x8086,
};

/* (vendor, digits of the gfx name). */
enum GpuArch : std::uint64_t {
    GPU_ARCH_UNKNOWN = 0,
    GPU_ARCH_AMD_GFX90A = CAT(kAMD, 0x90a),
    GPU_ARCH_AMD_GFX942 = CAT(kAMD, 0x942),
    GPU_ARCH_AMD_GFX950 = CAT(kAMD, 0x950),
    GPU_ARCH_AMD_GFX1100 = CAT(kAMD, 0x1100),
    GPU_ARCH_AMD_GFX1101 = CAT(kAMD, 0x1101),
    GPU_ARCH_AMD_GFX1151 = CAT(kAMD, 0x1151),
    GPU_ARCH_AMD_GFX1201 = CAT(kAMD, 0x1201),
};

#endif

/*
 * A view of device memory: address, sizes, strides in elements, element type. The view that is made
 * without arguments is null. Sizes of a null view mean nothing: one made by code that was compiled
 * with AOTriton's own headers leaves them unset.
 */
template <int Rank> class AOTRITON_API TensorView
{
  public:
    TensorView()
    {
    }

    TensorView(std::intptr_t base, std::array<std::uint64_t, Rank> sizes,
               std::array<std::uint64_t, Rank> strides, DType dtype)
        : base_(reinterpret_cast<void *>(base)), sizes_(sizes), strides_(strides), dtype_(dtype)
    {
    }

    operator bool() const
    {
        return base_ != nullptr;
    }

    std::uint64_t size(int i) const
    {
        return sizes_[static_cast<std::size_t>(i)];
    }
    std::uint64_t stride(int i) const
    {
        return strides_[static_cast<std::size_t>(i)];
    }
    std::array<std::uint64_t, Rank> sizes() const
    {
        return sizes_;
    }
    std::array<std::uint64_t, Rank> strides() const
    {
        return strides_;
    }
#if AOTRITON_VERSION_MINOR >= 11
    const std::uint64_t *size_ptr() const
    {
        return sizes_.data();
    }
    const std::uint64_t *stride_ptr() const
    {
        return strides_.data();
    }
    void *data_ptr() const
#else
    const void *data_ptr() const
#endif
    {
        return base_;
    }
    DType dtype() const
    {
        return dtype_;
    }

#if AOTRITON_VERSION_MINOR >= 10
    /* Where the address and stride i stand, for arrays of pointers to kernel arguments. */
    void *kparam_data_ptr() const
    {
        return const_cast<void *>(static_cast<const void *>(&base_));
    }
    void *kparam_stride(int i) const
    {
        return const_cast<void *>(
            static_cast<const void *>(strides_.data() + static_cast<std::size_t>(i)));
    }
#endif

    static TensorView<Rank> get_null_tensor(DType dtype)
    {
        return TensorView<Rank>(0, std::array<std::uint64_t, Rank>{},
                                std::array<std::uint64_t, Rank>{}, dtype);
    }

  private:
    void *base_ = nullptr;
    std::array<std::uint64_t, Rank> sizes_{};
    std::array<std::uint64_t, Rank> strides_{};
    DType dtype_ = kUnknown;
};

/* A scalar in device memory. */
template <> class AOTRITON_API TensorView<0>
{
  public:
    TensorView()
    {
    }

    TensorView(std::intptr_t base, DType dtype)
        : base_(reinterpret_cast<void *>(base)), dtype_(dtype)
    {
    }

    operator bool() const
    {
        return base_ != nullptr;
    }

    std::uint64_t size(int i) const
    {
        return i == 0 ? 1 : 0;
    }
    std::uint64_t stride(int i) const
    {
        return i == 0 ? 1 : 0;
    }
    std::array<std::uint64_t, 0> sizes() const
    {
        return {};
    }
    std::array<std::uint64_t, 0> strides() const
    {
        return {};
    }
#if AOTRITON_VERSION_MINOR >= 11
    void *data_ptr() const
#else
    const void *data_ptr() const
#endif
    {
        return base_;
    }
    DType dtype() const
    {
        return dtype_;
    }
#if AOTRITON_VERSION_MINOR >= 10
    void *kparam_data_ptr() const
    {
        return const_cast<void *>(static_cast<const void *>(&base_));
    }
#endif

    static TensorView<0> get_null_tensor(DType dtype)
    {
        return TensorView<0>(0, dtype);
    }

  private:
    void *base_ = nullptr;
    DType dtype_ = kUnknown;
};

/* The library holds these; a consumer built without optimisation takes them from there. */
#ifndef aotriton_v2_EXPORTS
extern template class TensorView<1>;
extern template class TensorView<2>;
extern template class TensorView<3>;
extern template class TensorView<4>;
#endif

/*
 * A tensor that the caller allocates when it is asked for: acquire gives it, dispose ends its use.
 * All members null means none. From 0.11 on.
 */
#if AOTRITON_VERSION_MINOR >= 12
template <int Rank> struct LazyTensor {
    void *cookie = nullptr;
    TensorView<Rank> (*acquire)(LazyTensor<Rank> *self) = nullptr;
    void (*dispose)(LazyTensor<Rank> *self) = nullptr;
    TensorView<Rank> eager; /* if not null, what acquire would give */

    operator bool() const
    {
        return cookie || acquire || dispose || eager;
    }

    /* Ends the use once. */
    void free()
    {
        if (dispose && cookie) {
            dispose(this);
            cookie = nullptr;
        }
    }
};
#elif AOTRITON_VERSION_MINOR == 11
template <int Rank> struct LazyTensor {
    void *cookie = nullptr;
    TensorView<Rank> (*acquire)(void *cookie) = nullptr;
    void (*dispose)(void *cookie) = nullptr;

    operator bool() const
    {
        return cookie || acquire || dispose;
    }

    /* Ends the use once. */
    void free()
    {
        if (dispose && cookie) {
            dispose(cookie);
            cookie = nullptr;
        }
    }
};
#endif

/* The GPU of the stream; GPU_ARCH_UNKNOWN if HIP cannot tell. */
#if AOTRITON_VERSION_MINOR >= 10
AOTRITON_API Gpu getGpuFromStream(hipStream_t stream);
#else
AOTRITON_API GpuArch getArchFromStream(hipStream_t stream);
#endif

#if AOTRITON_VERSION_MINOR >= 9
/* Its compute units as HIP counts them; 0 if HIP cannot tell. */
AOTRITON_API int getMultiProcessorCount(hipStream_t stream);

/* Whether the user must opt in to using this GPU: no. */
AOTRITON_API bool isArchExperimentallySupported(hipStream_t stream);
#endif

#if AOTRITON_VERSION_MINOR * 100 + AOTRITON_VERSION_PATCH >= 1201
/* Whether support of this GPU is a preview: no. */
AOTRITON_API bool isArchTechPreview(hipStream_t stream);
#endif

} // namespace AOTRITON_NS

#endif
