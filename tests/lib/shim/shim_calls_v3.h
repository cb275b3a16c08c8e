/* A v3 problem for the tests, in the form of the release. */
#ifndef AOTHIP_SHIM_CALLS_V3_H
#define AOTHIP_SHIM_CALLS_V3_H

#include "shim_calls.h"

#if AOTRITON_VERSION_MINOR >= 10

namespace calls_v3
{

using namespace ao::v3::flash;

/* The versions of the params structs that the release accepts. */
constexpr std::int32_t fwd_version = minor_version >= 14 ? 4 : minor_version >= 12 ? 3 : 1;
constexpr std::int32_t bwd_version = minor_version >= 14   ? 7
                                     : minor_version >= 12 ? 6
                                     : minor_version == 11 ? 3
                                                           : 1;
inline bool accepts_fwd(std::int32_t version)
{
    return version == fwd_version || (minor_version >= 14 && version == 3);
}
inline bool accepts_bwd(std::int32_t version)
{
    return version == bwd_version || (minor_version >= 14 && version == 6);
}

inline attn_fwd_params make_fwd()
{
    attn_fwd_params p;
    p.Q = bshd(0x10000000, 2, 8, 100);
    p.K = bshd(0x20000000, 2, 2, 300);
    p.V = bshd(0x30000000, 2, 2, 300);
    p.Out = bshd(0x40000000, 2, 8, 100);
    p.B = T4(0, {0, 0, 0, 0}, {0, 0, 0, 0}, ao::kFloat16);
    p.L = T2(0x50000000, {16, 100}, {100, 1}, ao::kFloat32);
    p.Sm_scale = 0.125f;
    p.dropout_p = 0;
    p.causal_type = CausalType::None;
    return p;
}

inline attn_bwd_params make_bwd()
{
    attn_bwd_params p;
    p.Q = bshd(0x10000000, 2, 8, 100);
    p.K = bshd(0x20000000, 2, 2, 300);
    p.V = bshd(0x30000000, 2, 2, 300);
    p.Out = bshd(0x40000000, 2, 8, 100);
    p.DO = bshd(0x41000000, 2, 8, 100);
    p.DQ = bshd(0x11000000, 2, 8, 100);
    p.DK = bshd(0x21000000, 2, 2, 300);
    p.DV = bshd(0x31000000, 2, 2, 300);
    p.L = T2(0x50000000, {16, 100}, {100, 1}, ao::kFloat32);
    p.Sm_scale = 0.125f;
    p.dropout_p = 0;
    p.causal_type = CausalType::None;
    return p;
}

/* The same sequences in one batch entry: three of them, 100 query rows and 200 keys in all. */
template <typename Params> void make_packed(Params *p)
{
    p->Q = bshd(0x10000000, 1, 8, 100);
    p->K = bshd(0x20000000, 1, 2, 200);
    p->V = bshd(0x30000000, 1, 2, 200);
    p->Out = bshd(0x40000000, 1, 8, 100);
    p->Max_seqlen_q = 60;
    p->Max_seqlen_k = 0;
    p->L = packed_lse ? T2(0x50000000, {8, 100}, {100, 1}, ao::kFloat32)
                      : T2(0x50000000, {24, 60}, {60, 1}, ao::kFloat32);
}

/* cu_seqlens of both sides, whatever their names. */
template <typename Params> void set_lengths(Params *p, const T1 &q, const T1 &k)
{
#if AOTRITON_VERSION_MINOR >= 14
    p->seqinfo_q0 = q;
    p->seqinfo_k0 = k;
#else
    p->cu_seqlens_q = q;
    p->cu_seqlens_k = k;
#endif
}

#if AOTRITON_VERSION_MINOR >= 12
template <typename Params> void set_positions(Params *p, const T1 &q, const T1 &k)
{
#if AOTRITON_VERSION_MINOR >= 14
    p->seqinfo_q1 = q;
    p->seqinfo_k1 = k;
#else
    p->seq_strides_q = q;
    p->seq_strides_k = k;
#endif
}
#endif

#if AOTRITON_VERSION_MINOR >= 14
inline VarlenBits bits(unsigned word)
{
    VarlenBits value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}
/* How a struct of 0.12 or 0.13 tells the kind of sequences: in a byte that is unused since. */
template <typename Params> void set_old_type(Params *p, std::int8_t type)
{
    reinterpret_cast<std::int8_t *>(&p->causal_type)[1] = type;
}
#endif

} // namespace calls_v3

#endif

#endif
