/*
 * The uniform numbers behind dropout, which tests of PyTorch up to 2.7 ask for: computed here on
 * the host, by the rule in <aothip/aothip.h>, and copied. So these calls wait for the stream, see
 * what it stored and are done on return, but cannot be captured in a graph, which those tests do
 * not.
 */
#include "shim.h"

#if AOTRITON_VERSION_MINOR <= 9

#include <cstdlib>

namespace shim
{

/* Philox4x32-10 (Salmon et al. 2011); counter and key as 64-bit numbers. */
static void philox(std::uint64_t key, std::uint64_t counter, std::uint32_t word[4])
{
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    word[0] = static_cast<std::uint32_t>(counter);
    word[1] = static_cast<std::uint32_t>(counter >> 32);
    word[2] = word[3] = 0;
    for (int round = 0; round < 10; round++) {
        const std::uint64_t a = std::uint64_t{0xd2511f53} * word[0];
        const std::uint64_t b = std::uint64_t{0xcd9e8d57} * word[2];
        const std::uint32_t x = static_cast<std::uint32_t>(b >> 32) ^ word[1] ^ k0;
        const std::uint32_t y = static_cast<std::uint32_t>(a >> 32) ^ word[3] ^ k1;
        word[0] = x;
        word[1] = static_cast<std::uint32_t>(b);
        word[2] = y;
        word[3] = static_cast<std::uint32_t>(a);
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
}

/*
 * Copies in a stream's order, waited for in relaxed mode: hipMemcpy, and waiting in another mode,
 * would make the captures of other streams void.
 */
class copier
{
    hipError_t (*copy_)(void *, const void *, std::size_t, hipMemcpyKind, hipStream_t);
    hipError_t (*synchronize_)(hipStream_t);
    hipStream_t stream_;

    hipError_t wait() const
    {
        const relaxed mode;
        return synchronize_(stream_);
    }

  public:
    explicit copier(hipStream_t stream) : stream_(stream)
    {
        find_hip(&copy_, "hipMemcpyAsync");
        find_hip(&synchronize_, "hipStreamSynchronize");
    }
    explicit operator bool() const
    {
        return copy_ && synchronize_;
    }
    hipError_t operator()(void *to, const void *from, std::size_t bytes, hipMemcpyKind kind) const
    {
        const hipError_t error = copy_(to, from, bytes, kind, stream_);
        return error == hipSuccess ? wait() : error;
    }
};

/* In the middle of its share of [0, 1), so that it is at least p where the element is kept; 0 where
 * it is dropped by any p. */
static float uniform(std::uint32_t number)
{
    const std::uint32_t part = (number ^ 0x8000u) & 0xffffu;
    return part ? (static_cast<float>(part) + 0.5f) / 65536.0f : 0;
}

static void fill(const T4 &r, std::uint64_t seed, std::uint64_t offset, float *numbers)
{
    const std::uint64_t counters = (r.size(3) + 31) / 32 * 4;
    for (std::uint64_t row = 0; row < r.size(0) * r.size(1) * r.size(2); row++)
        for (std::uint64_t n = 0; n < r.size(3); n++) {
            std::uint32_t word[4];
            philox(seed, offset + row * counters + n / 32 * 4 + n / 4 % 4, word);
            *numbers++ = uniform(word[n / 16 % 2 * 2 + n / 2 % 2] >> n % 2 * 16);
        }
}

/* As contiguous as PyTorch makes it. */
static const char *check(const T4 &r)
{
    std::uint64_t expected = 1;
    if (!r || r.dtype() != ao::kFloat32)
        return "r: is not a tensor of float32";
    for (int i = 3; i >= 0; i--) {
        if (r.size(i) > 1 && r.stride(i) != expected)
            return "r: is not contiguous";
        if (r.size(i) > UINT32_MAX || expected > UINT32_MAX)
            return "r: has more than 2^32 elements";
        expected *= r.size(i);
    }
    return nullptr;
}

hipError_t dropout_numbers(const T4 &r, const T0 &seed_pointer, const T0 &offset_pointer,
                           std::uint64_t seed, std::uint64_t offset, ao::Stream stream)
{
    if (const char *const reason = check(r))
        return refuse(AOTHIP_E_ARGUMENT, reason);
    hipError_t error;
    if (!context(&error))
        return error;
    const copier copy(stream.native());
    if (!copy)
        return refuse(AOTHIP_E_NO_HIP, "r: the HIP runtime lacks hipMemcpyAsync()");
    if (in_capture(stream.native())) {
        aothip_set_error(AOTHIP_E_HIP, "r: a stream in capture cannot be waited for");
        return hipErrorStreamCaptureUnsupported;
    }
    const std::size_t bytes = r.size(0) * r.size(1) * r.size(2) * r.size(3) * sizeof(float);
    float *const numbers = static_cast<float *>(std::malloc(bytes + 1));
    if (!numbers)
        return refuse(AOTHIP_E_MEMORY, "r: no memory for a copy on the host");
    error = hipSuccess;
    if (seed_pointer)
        error = copy(&seed, seed_pointer.data_ptr(), sizeof(seed), hipMemcpyDeviceToHost);
    if (error == hipSuccess && offset_pointer)
        error = copy(&offset, offset_pointer.data_ptr(), sizeof(offset), hipMemcpyDeviceToHost);
    if (error == hipSuccess && bytes) {
        fill(r, seed, offset, numbers);
        error = copy(const_cast<void *>(r.data_ptr()), numbers, bytes, hipMemcpyHostToDevice);
    }
    std::free(numbers);
    if (error != hipSuccess)
        aothip_set_error(AOTHIP_E_HIP, "r: a copy, or waiting for the stream, failed");
    return error;
}

} // namespace shim

#endif
