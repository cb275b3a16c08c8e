/* v3 of the C++ names, backward: versions, gradients, lazy tensors. */
#include "shim_calls_v3.h"

namespace calls_v3_backward
{

#if AOTRITON_VERSION_MINOR >= 10

using namespace calls_v3;
using namespace ao::v3::flash;

static const aothip_attn_bwd_params &got = fake_aothip.bwd;

static hipError_t attend(const attn_bwd_params &p)
{
    return attn_bwd(p, bwd_version, nullptr);
}

static void test_versions()
{
    const auto &unreadable = *static_cast<const attn_bwd_params *>(forbidden());
    const attn_bwd_params p = make_bwd();
    for (std::int32_t version = -1; version < 9; version++) {
        fake_aothip_reset();
        if (accepts_bwd(version)) {
            is_int(attn_bwd(p, version, nullptr), hipSuccess, "16.2 #17: a version that is served");
            is_int(fake_aothip.bwd_calls, 1, "16.5 #40 to #44: with its struct");
        } else {
            is_int(attn_bwd(unreadable, version, nullptr), hipErrorInvalidSymbol,
                   "16.2 #17: another version, no field read");
            is_int(fake_aothip.bwd_calls, 0, "16.2 #17: no GPU work");
        }
    }
    fake_aothip_reset();
    is_int(attn_bwd(p, bwd_version, nullptr), hipSuccess, "without options");
    is_int(got.atomics, 0, "16.4 #34: gradients are deterministic");
#if AOTRITON_VERSION_MINOR >= 12
    attn_options options;
    is_int(attn_bwd(p, bwd_version, nullptr, &options), hipSuccess, "16.4 #34: as options stand");
    is_int(got.atomics, 1, "16.4 #34: they need not be");
    options.deterministic = true;
    is_int(attn_bwd(p, bwd_version, nullptr, &options), hipSuccess, "16.4 #34: deterministic");
    is_int(got.atomics, 0, "16.4 #34: they are");
#else
    is_int(attn_bwd(p, bwd_version, nullptr, static_cast<const attn_options *>(forbidden())),
           hipSuccess, "16.2 #18: options are not read");
    is_int(got.atomics, 0, "16.4 #34: gradients are deterministic");
#endif
#if AOTRITON_VERSION_MINOR == 11
    is_int(aiter_bwd(p, bwd_version, nullptr), hipSuccess, "16.5 #41: aiter_bwd");
    is_int(aiter_bwd(p, 1, nullptr), hipErrorInvalidSymbol, "aiter_bwd of version 1");
#endif
}

static void test_gradients()
{
    attn_bwd_params p = make_bwd();
    p.B = T4(0x60000000, {2, 8, 100, 300}, {0, 0, 0, 1}, ao::kFloat16);
    p.DB = T4(0x61000000, {2, 8, 100, 300}, {243200, 30400, 304, 1}, ao::kFloat16);
    p.dropout_p = 0.25f;
    p.philox_seed_ptr = T0(0x71, ao::kInt64);
    p.philox_offset1 = T0(0x72, ao::kInt64);
    p.philox_offset2 = 3;
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "gradients");
    ok(is_at(got.d_o.data, 0x41000000) && is_at(got.dq.data, 0x11000000) &&
           is_at(got.dk.data, 0x21000000) && is_at(got.dv.data, 0x31000000) &&
           is_at(got.dbias.data, 0x61000000) && got.dbias.stride[2] == 304,
       "DK, DV, DQ, DB in their places");
    ok(is_at(got.fwd->lse, 0x50000000) && got.fwd->dropout_p == 0.25f &&
           is_at(got.fwd->dropout_seed_pointer, 0x71) && got.fwd->dropout_offset == 3 &&
           !got.fwd->dropout_seed_output && got.fwd->struct_size == sizeof(*got.fwd),
       "16.4 #28: the forward problem");
    p.DQ = p.DK = p.DV = T4();
    is_int(attend(p), hipSuccess, "not all gradients wanted");
    ok(!got.dq.data && !got.dk.data && !got.dv.data, "are absent");
    p.B = T4();
    is_int(attend(p), hipErrorInvalidValue, "DB without B");
    contains(fake_aothip.error, "DB: ", "is named");
    p = make_bwd();
    p.L = T2();
    is_int(attend(p), hipErrorInvalidValue, "no L");
    p.L = T2(0x50000000, {15, 100}, {100, 1}, ao::kFloat32);
    is_int(attend(p), hipErrorInvalidValue, "16.4 #31: an L too small is not read beyond its end");
}

#if AOTRITON_VERSION_MINOR == 10
static void test_delta()
{
    attn_bwd_params p = make_bwd();
    p.D = T2(0x51000000, {16, 100}, {100, 1}, ao::kFloat32);
    fake_aothip_reset();
    fake_aothip.workspace_bytes = 0;
    is_int(attend(p), hipSuccess, "16.5 #40: D as a plain tensor");
    ok(is_at(got.delta, 0x51000000) && !fake_aothip.pool_allocations, "serves as scratch");
}
#else
/* Counts what is called with which cookie. */
static int acquired, disposed, unwanted;
static int cookie;
static bool good_cookie;

#if AOTRITON_VERSION_MINOR >= 12
template <int Rank> using Self = ao::LazyTensor<Rank>;
template <int Rank> static void *cookie_of(Self<Rank> *self)
{
    return self->cookie;
}
#else
template <int> using Self = void;
template <int> static void *cookie_of(void *self)
{
    return self;
}
#endif

static T2 acquire(Self<2> *self)
{
    acquired++;
    good_cookie = cookie_of<2>(self) == &cookie;
    return {0x51000000, {16, 100}, {100, 1}, ao::kFloat32};
}
static void dispose(Self<2> *self)
{
    disposed++;
    good_cookie = good_cookie && cookie_of<2>(self) == &cookie;
}
static T4 acquire_unwanted(Self<4> *)
{
    unwanted++;
    return {};
}
static int dispose_unwanted_calls;
static void dispose_unwanted(Self<4> *)
{
    dispose_unwanted_calls++;
}

static void reset()
{
    acquired = disposed = unwanted = dispose_unwanted_calls = 0;
    good_cookie = false;
    fake_aothip_reset();
}

static void test_delta()
{
    attn_bwd_params p = make_bwd();
    p.D.cookie = &cookie;
    p.D.acquire = acquire;
    p.D.dispose = dispose;
    p.DQ_ACC.cookie = &cookie;
    p.DQ_ACC.acquire = acquire_unwanted;
    p.DQ_ACC.dispose = dispose_unwanted;
    for (int call = 0; call < 2; call++) {
        reset();
        is_int(attend(p), hipSuccess, call ? "the same struct once more" : "a lazy D");
        ok(is_at(got.delta, 0x51000000), "16.4 #33: is acquired");
        ok(acquired == 1 && disposed == 1 && good_cookie, "16.4 #33: and disposed of, once");
        ok(!unwanted && dispose_unwanted_calls == 1, "16.4 #33: DQ_ACC is never acquired");
        ok(p.D.cookie == &cookie && p.DQ_ACC.cookie == &cookie, "16.4 #33: no cookie is consumed");
    }
    reset();
    fake_aothip.status = AOTHIP_E_IO;
    is_int(attend(p), hipErrorFileNotFound, "a failing launch");
    ok(acquired == 1 && disposed == 1, "16.4 #33: disposes of it too");
    reset();
    p.D.cookie = nullptr;
    called(attend(p));
    ok(acquired == 1 && disposed == 0, "16.4 #33: without a cookie nothing is disposed of");
#if AOTRITON_VERSION_MINOR >= 12
    reset();
    p.D.cookie = &cookie;
    p.D.eager = T2(0x52000000, {16, 100}, {100, 1}, ao::kFloat32);
    is_int(attend(p), hipSuccess, "an eager D");
    ok(is_at(got.delta, 0x52000000) && !acquired && !disposed, "16.4 #33: is preferred");
    p.D.acquire = nullptr;
    p.D.dispose = nullptr;
    is_int(attend(p), hipSuccess, "16.4 #33: and needs no callbacks");
#endif
    reset();
    is_int(attend(make_bwd()), hipSuccess, "no D at all");
    ok(!got.delta && got.workspace && fake_aothip.pool_allocations == 1 &&
           fake_aothip.pool_frees == 1,
       "takes scratch and gives it back");
}
#endif

static void test_compact()
{
    attn_bwd_params p = make_bwd();
    make_packed(&p);
    p.DO = p.Out, p.DQ = p.Q, p.DK = p.K, p.DV = p.V;
    p.Max_seqlen_k = 90;
    set_lengths(&p, numbers(0x81, 4), numbers(0x82, 4));
#if AOTRITON_VERSION_MINOR >= 14
    p.varlen_bits = bits(0x0b0b);
#endif
    fake_aothip_reset();
    is_int(attend(p), hipSuccess, "compact sequences");
    ok(got.fwd->sequences == 3 && got.fwd->q_seqs.packed && got.fwd->q_seqs.max == 60, "places");
    is_int(got.fwd->k_seqs.max, 0, "16.4 #27: dropout as in the forward pass");
    is_int(got.fwd->lse_layout, packed_lse ? AOTHIP_LSE_HEADS_COMPACT : AOTHIP_LSE_ROWS,
           "16.4 #24: L as in the forward pass");
    p.L = T2(0x50000000, {8, 60}, {60, 1}, ao::kFloat32);
    is_int(attend(p), hipErrorInvalidValue,
           "16.4 #31: what the forward pass had no room for is not read");
}

void test()
{
    test_versions();
    test_gradients();
    test_delta();
    test_compact();
}

#else

void test()
{
}

#endif

} // namespace calls_v3_backward
