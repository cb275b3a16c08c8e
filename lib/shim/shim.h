/*
 * What the files of libaotriton_v2.so share: the context, the error table, and attention as all
 * entry points hand it on.
 */
#ifndef AOTHIP_SHIM_H
#define AOTHIP_SHIM_H

#include <aothip/aothip.h>
#include <aotriton/flash.h>

namespace shim
{

namespace ao = AOTRITON_NS;
using T4 = ao::TensorView<4>;
using T2 = ao::TensorView<2>;
using T1 = ao::TensorView<1>;
using T0 = ao::TensorView<0>;

/*
 * The process's context on the default image directory, opened on the first call and never closed;
 * null after a failure, with *error filled.
 */
aothip_context *context(hipError_t *error);

/* The one table from our codes to HIP's. A failed HIP call gives its own code. */
hipError_t to_hip(aothip_status status);

/* Records `reason` as the thread's last error and returns `status` as HIP's. */
hipError_t refuse(aothip_status status, const char *reason);

/* Which keys a query sees; the sides are read only if `windowed`. */
struct window {
    bool windowed;
    std::int32_t left, right;
};

/* Values of a side that are no numbers of keys; also for releases that have none. */
constexpr std::int32_t top_left = -2147483647, bottom_right = -2147483646;

/* Where the sequences of q or of k lie, as AOTriton 0.14 tells it, which covers all before. */
enum stacking { SEPARATE = 0, STACKED = 1 };
enum lengths { LENGTH_MAX = 0, LENGTH_CUMULATIVE = 1, LENGTH_INDIVIDUAL = 2 };
enum position { POSITION_IMPLIED = 0, POSITION_REUSE = 1, POSITION_ARRAY = 2 };
struct side {
    unsigned stacked, length, position; /* from the caller: whatever fits their bits */
    const T1 *info0, *info1;            /* the caller's, or &none; copies would cost more than all
                                           else that is done with them */
    std::int32_t max;
};
extern const T1 none;
struct varlen {
    side q, k;
    unsigned lse_layout; /* 0: (heads, rows); 1: (rows, heads) */
    bool reserved;       /* whether a bit is set that has no meaning */
};

/* The kinds that releases before 0.14 know. */
varlen compact(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k);
varlen padded(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k);
varlen strided(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k,
               const T1 &starts_q, const T1 &starts_k);

/* Dropout; nothing but p is looked at if that is 0. */
struct dropout {
    float p;
    T0 seed, offset1;
    std::uint64_t offset2;
    T0 seed_output, offset_output;
};

/* A problem as it came through whatever entry point. */
struct problem {
    const T4 &q, &k, &v, &bias, &out; /* bias may be null */
    const T2 &lse;                    /* may be null */
    float scale;
    window keys;
    const varlen *sequences; /* nullptr: one sequence a batch entry */
    const dropout &drop;
};

/* What aothip_attn_fwd() takes; *params need not be initialised. */
hipError_t translate(const problem &given, aothip_attn_fwd_params *params);

/* The part of it that concerns sequences and lse, with all tensors but lse filled. */
hipError_t translate_sequences(const varlen &sequences, aothip_attn_fwd_params *params);

/*
 * Fills *tensor, which is all zero, from a view. Views without a type have no sizes: then neither
 * has the tensor.
 */
void to_tensor(const T4 &view, aothip_tensor *tensor);

/* Forward attention; encoded_softmax may be null. */
hipError_t attn_fwd(const problem &given, const T4 &encoded_softmax, ao::Stream stream);

/* What dropout keeps of (B, H, Sq, Sk), as +0.5 and -0.5. */
hipError_t dropout_mask(const T4 &r, const dropout &drop, ao::Stream stream);

/* The uniform numbers behind that, fp32. A pointer that is not null overrides the value. */
hipError_t dropout_numbers(const T4 &r, const T0 &seed_pointer, const T0 &offset_pointer,
                           std::uint64_t seed, std::uint64_t offset, ao::Stream stream);

/* The tensors that only the backward pass has; delta may be null or too small. */
struct gradients {
    const T4 &d_out, &dq, &dk, &dv, &dbias;
    const T2 &delta;
    bool atomics = false; /* allowed: see aothip_attn_bwd_params */
};
hipError_t attn_bwd(const problem &given, const gradients &wanted, ao::Stream stream);

/* Functions of the runtime that the C library calls; null where it has none of that name. */
void *hip_function(const char *name);
template <typename Function> void find_hip(Function *function, const char *name)
{
    *function = reinterpret_cast<Function>(hip_function(name));
}

/*
 * Whether a call was no failure. After one that we live with, HIP's last error is taken, which
 * whoever asks next would hold for his own.
 */
bool succeeds(hipError_t error);

/* Whether launches on `stream` go into a HIP graph; there, calls that wait spoil the graph. */
bool in_capture(hipStream_t stream);

/* While it lives, what this thread calls does not spoil captures, its own ones or others'. */
class relaxed
{
  public:
    relaxed();
    ~relaxed();
    relaxed(const relaxed &) = delete;
    relaxed &operator=(const relaxed &) = delete;
    explicit operator bool() const /* whether HIP can do that */
    {
        return exchanged_;
    }

  private:
    hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
    bool exchanged_;
};

/* By hipMalloc() and hipFree(), spoiling no capture; null where that cannot be, or failed. */
void *allocate_now(std::size_t bytes);
void free_now(void *data);

/*
 * Device memory that is kept for later calls: for those of a stream, one after the other, or in a
 * capture for those that the graph has from that stream, until graph and executables of it are
 * destroyed; one at a time of these can run. None where HIP has none to give or cannot tell who
 * would use it.
 */
constexpr std::size_t most_memory = std::size_t{64} << 20; /* bytes of a stream or a graph's */
constexpr std::size_t most_kept = std::size_t{256} << 20;  /* of the process */
class kept
{
  public:
    kept(hipStream_t stream, std::size_t bytes);
    ~kept();
    kept(const kept &) = delete;
    kept &operator=(const kept &) = delete;
    void *data() const
    {
        return data_;
    }

  private:
    void *data_ = nullptr;
    void *call_ = nullptr; /* what other calls must not use meanwhile */
};

/*
 * Device memory for the length of one call: taken from the pool of `stream` and given back behind
 * what was launched there. Where the HIP runtime has no pools (before ROCm 5.3), hipMalloc() and
 * hipFree() serve, which wait for the device: not for a stream in capture, which is refused.
 */
class scratch
{
  public:
    explicit scratch(hipStream_t stream);
    ~scratch();
    scratch(const scratch &) = delete;
    scratch &operator=(const scratch &) = delete;

    hipError_t allocate(std::size_t bytes);
    /* From a pool or not at all, which is no failure: no error is left behind. */
    bool allocate_pooled(std::size_t bytes);
    void *data() const
    {
        return data_;
    }

  private:
    hipStream_t stream_;
    void *data_ = nullptr;
    bool pooled_ = false;
};

} // namespace shim

#endif
