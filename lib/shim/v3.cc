/* aotriton::v3::flash. */
#include "shim.h"

#if AOTRITON_VERSION_MINOR >= 10

#include <cstddef>

namespace AOTRITON_NS::v3::flash
{

/*
 * The constructors have no version argument, so a consumer must have been compiled for this
 * library's struct. Fields without a default become zero.
 */
attn_fwd_params::attn_fwd_params()
    : Sm_scale(0), dropout_p(0), philox_offset2(0), causal_type(CausalType::None), window_left(0),
      window_right(0)
{
}

attn_bwd_params::attn_bwd_params()
    : Sm_scale(0), dropout_p(0), philox_offset2(0), causal_type(CausalType::None), window_left(0),
      window_right(0)
{
}

static hipError_t refuse_version()
{
    aothip_set_error(AOTHIP_E_ARGUMENT, "params_version: not that of this library's struct");
    return hipErrorInvalidSymbol;
}

static bool is_known(std::int8_t causal_type)
{
    return causal_type == CausalType::None || causal_type == CausalType::WindowedAttention;
}

static hipError_t refuse_causal_type()
{
    return shim::refuse(AOTHIP_E_ARGUMENT, "causal_type: neither None nor WindowedAttention");
}

/* Sequences of different length; null where there are none. */
class sequences_of
{
  public:
#if AOTRITON_VERSION_MINOR >= 14
    template <typename Params> sequences_of(const Params &p, bool is_current)
    {
        if (!is_current) {
            /* the structs of 0.12 and 0.13 have varlen_type where there are unused bytes now */
            by_type(reinterpret_cast<const std::int8_t *>(&p)[offsetof(Params, causal_type) + 1],
                    p.seqinfo_q0, p.seqinfo_k0, p.seqinfo_q1, p.seqinfo_k1, p);
            return;
        }
        const VarlenBits &bits = p.varlen_bits;
        const auto side = [](VarlenMode mode, const T1 &info0, const T1 &info1, std::int32_t max) {
            return shim::side{mode.stacked, mode.length, mode.position, &info0, &info1, max};
        };
        value_ = {side(bits.qmode, p.seqinfo_q0, p.seqinfo_q1, p.Max_seqlen_q),
                  side(bits.kmode, p.seqinfo_k0, p.seqinfo_k1, p.Max_seqlen_k), bits.lse_layout,
                  bits.reserved || bits.qmode.reserved || bits.kmode.reserved};
        exists_ = value_.q.stacked || value_.q.length || value_.q.position || value_.k.stacked ||
                  value_.k.length || value_.k.position || value_.lse_layout || value_.reserved ||
                  p.seqinfo_q0 || p.seqinfo_k0;
    }
#elif AOTRITON_VERSION_MINOR >= 12
    template <typename Params> sequences_of(const Params &p, bool)
    {
        by_type(p.varlen_type, p.cu_seqlens_q, p.cu_seqlens_k, p.seq_strides_q, p.seq_strides_k, p);
    }
#else
    template <typename Params> sequences_of(const Params &p, bool)
    {
        by_type(p.varlen_type, p.cu_seqlens_q, p.cu_seqlens_k, shim::none, shim::none, p);
    }
#endif
    const shim::varlen *get() const
    {
        return exists_ ? &value_ : nullptr;
    }

  private:
    /* Whether there are any is told by cu_seqlens_q, and whether they are strided by seq_strides_q;
     * varlen_type matters for padded ones only. */
    template <typename Params>
    void by_type(std::int8_t varlen_type, const T1 &cu_q, const T1 &cu_k, const T1 &strides_q,
                 const T1 &strides_k, const Params &p)
    {
        constexpr std::int8_t padded = 2;
        exists_ = cu_q;
        if (!exists_)
            return;
        if (varlen_type == padded)
            value_ = shim::padded(cu_q, cu_k, p.Max_seqlen_q, p.Max_seqlen_k);
        else if (strides_q)
            value_ =
                shim::strided(cu_q, cu_k, p.Max_seqlen_q, p.Max_seqlen_k, strides_q, strides_k);
        else
            value_ = shim::compact(cu_q, cu_k, p.Max_seqlen_q, p.Max_seqlen_k);
    }

    shim::varlen value_; /* filled if they exist */
    bool exists_ = false;
};

template <typename Params> static shim::window window_of(const Params &p)
{
    if (p.causal_type == CausalType::None)
        return {false, 0, 0}; /* callers leave the sides uninitialised */
    return {true, p.window_left, p.window_right};
}

/* The release before has the same layout up to where the struct grew: see tensor.cc. */
constexpr std::int32_t fwd_before = AOTRITON_VERSION_MINOR >= 14 ? 3 : attn_fwd_params::kVersion;
constexpr std::int32_t bwd_before = AOTRITON_VERSION_MINOR >= 14 ? 6 : attn_bwd_params::kVersion;

constexpr bool is_one_of(std::int32_t version, std::int32_t now, std::int32_t before)
{
    return version == now || version == before;
}

hipError_t attn_fwd(const attn_fwd_params &p, std::int32_t params_version, Stream stream,
                    const attn_options *)
{
    if (!is_one_of(params_version, attn_fwd_params::kVersion, fwd_before))
        return refuse_version();
    if (!is_known(p.causal_type))
        return refuse_causal_type();
    const sequences_of sequences(p, params_version == attn_fwd_params::kVersion);
    return shim::attn_fwd({p.Q,
                           p.K,
                           p.V,
                           p.B,
                           p.Out,
                           p.L,
                           p.Sm_scale,
                           window_of(p),
                           sequences.get(),
                           {p.dropout_p, p.philox_seed_ptr, p.philox_offset1, p.philox_offset2,
                            p.philox_seed_output, p.philox_offset_output}},
                          p.encoded_softmax, stream);
}

#if AOTRITON_VERSION_MINOR >= 11

/*
 * The use of a lazy tensor during one call. It works on a copy, so that the caller's struct can be
 * used again. What was acquired is disposed of at the end.
 */
template <int Rank> class acquired
{
  public:
    explicit acquired(const LazyTensor<Rank> &lazy) : lazy_(lazy)
    {
#if AOTRITON_VERSION_MINOR >= 12
        if (lazy_.eager) {
            view_ = lazy_.eager;
            return;
        }
        if (lazy_.acquire)
            view_ = lazy_.acquire(&lazy_);
#else
        if (lazy_.acquire)
            view_ = lazy_.acquire(lazy_.cookie);
#endif
        owned_ = lazy_.acquire;
    }
    ~acquired()
    {
        if (owned_)
            lazy_.free();
    }
    acquired(const acquired &) = delete;
    acquired &operator=(const acquired &) = delete;

    const TensorView<Rank> &view() const
    {
        return view_;
    }

  private:
    LazyTensor<Rank> lazy_;
    TensorView<Rank> view_;
    bool owned_ = false;
};

/* Scratch that no kernel here needs ends its life with the call like what was acquired. */
class unused
{
  public:
    explicit unused(const LT4 &lazy) : lazy_(lazy)
    {
    }
    ~unused()
    {
        lazy_.free();
    }
    unused(const unused &) = delete;
    unused &operator=(const unused &) = delete;

  private:
    LT4 lazy_;
};

#endif

/* Whether gradients may differ in their last bits from call to call: a caller must have said so.
 * Before 0.12 there is nothing in options to say it with. */
static bool may_vary([[maybe_unused]] const attn_options *options)
{
#if AOTRITON_VERSION_MINOR >= 12
    return options && !options->deterministic;
#else
    return false;
#endif
}

hipError_t attn_bwd(const attn_bwd_params &p, std::int32_t params_version, Stream stream,
                    const attn_options *options)
{
    if (!is_one_of(params_version, attn_bwd_params::kVersion, bwd_before))
        return refuse_version();
    if (!is_known(p.causal_type))
        return refuse_causal_type();
#if AOTRITON_VERSION_MINOR >= 11
    const unused accumulator(p.DQ_ACC);
    const acquired<2> lazy_delta(p.D);
    const T2 &delta = lazy_delta.view();
#else
    const T2 &delta = p.D;
#endif
    const sequences_of sequences(p, params_version == attn_bwd_params::kVersion);
    return shim::attn_bwd(
        {p.Q,
         p.K,
         p.V,
         p.B,
         p.Out,
         p.L,
         p.Sm_scale,
         window_of(p),
         sequences.get(),
         {p.dropout_p, p.philox_seed_ptr, p.philox_offset1, p.philox_offset2, T0(), T0()}},
        {p.DO, p.DQ, p.DK, p.DV, p.DB, delta, may_vary(options)}, stream);
}

#if AOTRITON_VERSION_MINOR == 11
hipError_t aiter_bwd(const attn_bwd_params &params, std::int32_t params_version, Stream stream,
                     const attn_options *options)
{
    return attn_bwd(params, params_version, stream, options);
}
#endif

} // namespace AOTRITON_NS::v3::flash

#endif
