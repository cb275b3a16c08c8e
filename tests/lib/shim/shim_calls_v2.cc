/* v2 of the C++ names: argument order of the release, layouts of L, what dropout keeps. */
#include "shim_calls.h"

namespace calls_v2
{

using namespace ao::v2::flash;

#if AOTRITON_VERSION_MINOR <= 12

/* 0.8 and before have no counter. */
#if AOTRITON_VERSION_MINOR >= 9
#define GIVEN(counter) counter,
#else
#define GIVEN(counter)
#endif

static const T4 q = bshd(0x10000000, 2, 8, 100), k = bshd(0x20000000, 2, 2, 300),
                v = bshd(0x30000000, 2, 2, 300), o = bshd(0x40000000, 2, 8, 100);
static const T2 lse(0x50000000, {16, 100}, {100, 1}, ao::kFloat32);
static const T4 none(0, {0, 0, 0, 0}, {0, 0, 0, 0}, ao::kFloat16);
static const T4 bias(0x60000000, {2, 8, 100, 300}, {0, 0, 304, 1}, ao::kFloat16);

static hipError_t forward(const T4 &b, const T2 &l, float p, bool is_causal, T0 counter = T0(),
                          const T4 &encoded = none)
{
    FwdExtraArguments extra;
    (void)counter;
    return attn_fwd(q, k, v, b, 0.25f, l, o, p, {0x71, ao::kInt64}, {0x72, ao::kInt64}, 5,
                    {0x73, ao::kInt64}, {0x74, ao::kInt64}, encoded, is_causal,
                    GIVEN(counter) nullptr, minor_version % 2 ? &extra : nullptr);
}

static void test_forward()
{
    fake_aothip_reset();
    is_int(forward(none, lse, 0, false), hipSuccess, "16.5 #38, #39: v2 attn_fwd");
    const aothip_attn_fwd_params &p = fake_aothip.fwd;
    is_int(fake_aothip.fwd_calls, 1, "is called");
    ok(is_at(p.q.data, 0x10000000) && is_at(p.k.data, 0x20000000) && is_at(p.v.data, 0x30000000) &&
           is_at(p.o.data, 0x40000000) && is_at(p.lse, 0x50000000),
       "tensors");
    ok(p.q.size[1] == 8 && p.q.size[2] == 100 && p.k.size[2] == 300 && p.q.stride[2] == 512 &&
           p.q.dtype == AOTHIP_F16 && p.scale == 0.25f,
       "sizes, strides, type, scale");
    is_int(p.mask, AOTHIP_MASK_NONE, "no mask");
    is_int(p.lse_base2, minor_version <= 10, "16.4 #24: base of the logarithm");
    is_int(p.lse_layout, AOTHIP_LSE_ROWS, "16.4 #24: dense L");
    is_int(p.lse_size, 1600, "16.4 #31: room in L");
    ok(!p.bias.data && !p.probs.data && !p.sequences && !p.alibi_slopes && !p.q_seqs.cumulative,
       "nothing else");
    ok(!p.dropout_seed_pointer && !p.dropout_offset_pointer && !p.dropout_seed_output &&
           !p.dropout_offset_output,
       "16.4 #27: p = 0: pointers stay out");
    called(forward(bias, T2(), 0.5f, true, T0(0x99, ao::kInt32)));
    is_int(p.mask, AOTHIP_MASK_CAUSAL_TOP_LEFT, "16.4 #25: is_causal is top-left");
    ok(!p.lse, "16.4 #24: without L");
    ok(is_at(p.bias.data, 0x60000000) && p.bias.stride[1] == 0 && p.bias.stride[2] == 304 &&
           p.bias.size[3] == 300,
       "16.4 #26: bias with causal");
    ok(p.dropout_p == 0.5f && is_at(p.dropout_seed_pointer, 0x71) &&
           is_at(p.dropout_offset_pointer, 0x72) && p.dropout_offset == 5 &&
           is_at(p.dropout_seed_output, 0x73) && is_at(p.dropout_offset_output, 0x74) &&
           p.dropout_seed == 0,
       "16.4 #28: dropout and its outputs");
    called(forward(none, lse, 0, true));
    is_int(p.mask, AOTHIP_MASK_CAUSAL_TOP_LEFT, "16.4 #30: causal with a null counter");
    called(forward(none, T2::get_null_tensor(ao::kFloat32), 0, false));
    ok(!p.lse, "16.4 #24: a null L");
    const T4 square(0x60000000, {2, 8, 100, 300}, {240000, 30000, 300, 1}, ao::kFloat16);
    called(forward(none, lse, 0.5f, false, T0(), square));
    ok(is_at(p.probs.data, 0x60000000) && p.probs.size[3] == 300, "16.4 #29: encoded_softmax");
    is_int(p.probs_dropped, minor_version <= 8, "16.4 #29: signs; up to 0.8 probabilities");
}

static void test_refused()
{
    fake_aothip_reset();
    is_int(forward(none, T2(0x50000000, {16, 99}, {99, 1}, ao::kFloat32), 0, false),
           hipErrorInvalidValue, "L too small");
    contains(fake_aothip.error, "L: is smaller", "is named");
    is_int(forward(none, T2(0x50000000, {16, 100}, {100, 1}, ao::kFloat16), 0, false),
           hipErrorInvalidValue, "L in fp16");
    is_int(attn_fwd(T4(), k, v, none, 1, lse, o, 0, {}, {}, 0, {}, {}, none, false,
                    GIVEN(T0()) nullptr, nullptr),
           hipErrorInvalidValue, "no Q");
    contains(fake_aothip.error, "Q: ", "is named");
    is_int(fake_aothip.fwd_calls, 0, "16.4 #36: refused cases do nothing");
    fake_aothip.status = AOTHIP_E_UNSUPPORTED;
    is_int(forward(none, lse, 0, false), hipErrorNotSupported, "16.4 #36: an error comes back");
}

static void check_packed(const char *what)
{
    const aothip_attn_fwd_params &p = fake_aothip.fwd;
    ok(p.sequences == 3 && !p.index64 && p.q_seqs.packed && p.k_seqs.packed &&
           is_at(p.q_seqs.cumulative, 0x81) && is_at(p.k_seqs.cumulative, 0x82) &&
           !p.q_seqs.lengths && !p.q_seqs.starts && !p.k_seqs.starts,
       "%s: compact sequences", what);
    ok(p.q_seqs.max == 60, "%s: Max_seqlen_q", what);
    is_int(p.k_seqs.max, 0, "16.4 #27: the mask of dropout does not depend on Max_seqlen_k");
    is_int(p.lse_layout, packed_lse ? AOTHIP_LSE_HEADS_COMPACT : AOTHIP_LSE_ROWS,
           "16.4 #24: L of packed sequences");
}

static void test_varlen()
{
    const T4 pq = bshd(0x10000000, 1, 8, 100), pk = bshd(0x20000000, 1, 2, 200),
             pv = bshd(0x30000000, 1, 2, 200), po = bshd(0x40000000, 1, 8, 100);
    const T1 cu_q = numbers(0x81, 4), cu_k = numbers(0x82, 4);
    const T2 l(0x50000000, {24, 60}, {60, 1}, ao::kFloat32);
    fake_aothip_reset();
    for (int max_k : {0, 90}) {
        const hipError_t error =
#if AOTRITON_VERSION_MINOR >= 9
            attn_fwd_compact_varlen(
                pq, pk, pv, none, cu_q, cu_k, 60, max_k, 0.5f, l, po, 0, {}, {}, 0, {}, {}, none,
                true, T0(reinterpret_cast<std::intptr_t>(forbidden()), ao::kInt32), nullptr);
#else
            attn_fwd_compact_varlen(pq, pk, pv, cu_q, cu_k, 60, max_k, none, 0.5f, l, po, 0, {}, {},
                                    0, {}, {}, none, true, nullptr);
#endif
        is_int(error, hipSuccess, max_k ? "16.5 #39: varlen" : "16.4 #31: Max_seqlen_k = 0");
        check_packed("attn_fwd_compact_varlen");
        is_int(fake_aothip.fwd.mask, AOTHIP_MASK_CAUSAL_TOP_LEFT, "top-left in each sequence");
        is_int(fake_aothip.fwd.lse_size, 1440, "16.4 #31: L is not written beyond its sizes");
    }
    is_int(attn_bwd_compact_varlen(pq, pk, pv, cu_q, cu_k, 60, 90, none, 0.5f, po, po, pq, pk, pv,
                                   none, l, l, 0.5f, {0x71, ao::kInt64}, {0x72, ao::kInt64}, 0,
                                   true, nullptr),
           hipSuccess, "16.5 #38: attn_bwd_compact_varlen");
    check_packed("attn_bwd_compact_varlen");
    is_int(fake_aothip.bwd_calls, 1, "is called");
}

static void test_backward()
{
    const T4 d_o = bshd(0x41000000, 2, 8, 100), dq = bshd(0x11000000, 2, 8, 100),
             dk = bshd(0x21000000, 2, 2, 300), dv = bshd(0x31000000, 2, 2, 300);
    const T4 db(0x61000000, {2, 8, 100, 300}, {243200, 30400, 304, 1}, ao::kFloat16);
    const T2 delta(0x51000000, {16, 100}, {100, 1}, ao::kFloat32);
    fake_aothip_reset();
    fake_aothip.workspace_bytes = 0;
    is_int(attn_bwd(q, k, v, bias, 0.25f, o, d_o, dq, dk, dv, db, lse, delta, 0.5f,
                    {0x71, ao::kInt64}, {0x72, ao::kInt64}, 3, true, nullptr),
           hipSuccess, "16.5 #38: v2 attn_bwd");
    const aothip_attn_bwd_params &p = fake_aothip.bwd;
    ok(is_at(p.d_o.data, 0x41000000) && is_at(p.dq.data, 0x11000000) &&
           is_at(p.dk.data, 0x21000000) && is_at(p.dv.data, 0x31000000) &&
           is_at(p.dbias.data, 0x61000000) && is_at(p.delta, 0x51000000),
       "gradients");
    ok(p.dbias.stride[2] == 304 && p.dk.size[1] == 2, "16.4 #26: DB with its row pitch");
    ok(p.fwd->mask == AOTHIP_MASK_CAUSAL_TOP_LEFT && is_at(p.fwd->lse, 0x50000000) &&
           is_at(p.fwd->o.data, 0x40000000) && p.fwd->dropout_p == 0.5f &&
           p.fwd->dropout_offset == 3 && is_at(p.fwd->dropout_seed_pointer, 0x71),
       "the forward problem");
    ok(!p.workspace && !fake_aothip.pool_allocations, "no scratch is taken where none is of use");
    is_int(p.fwd->lse_base2, minor_version <= 10, "16.4 #24: L is read as it was written");
    is_int(attn_bwd(q, k, v, none, 0.25f, o, d_o, dq, dk, dv, none, T2(), delta, 0, {}, {}, 0, true,
                    nullptr),
           hipErrorInvalidValue, "gradients without L");
    contains(fake_aothip.error, "L: there is none", "are refused by name");
    is_int(attn_bwd(q, k, v, none, 0.25f, o, d_o, dq, dk, dv, none,
                    T2(0x50000000, {2, 100}, {100, 1}, ao::kFloat32), delta, 0, {}, {}, 0, true,
                    nullptr),
           hipErrorInvalidValue, "and with too small an L");
    fake_aothip_reset();
    fake_aothip.no_pools = fake_aothip.no_memory = 1;
    is_int(attn_bwd(q, k, v, none, 0.25f, o, d_o, dq, dk, dv, none, lse, delta, 0, {}, {}, 0, true,
                    nullptr),
           hipSuccess, "with delta, gradients do without other memory");
    ok(is_at(p.delta, 0x51000000) && !p.workspace && !p.workspace_size, "that is not to be had");
    is_int(fake_aothip.errors_taken, 2, "and HIP's last error is not left for others");
}

#if AOTRITON_VERSION_MINOR >= 9
static void test_fused()
{
    const T4 d_o = bshd(0x41000000, 2, 8, 100), dq = bshd(0x11000000, 2, 8, 100);
    const auto fused = [&] {
        return attn_bwd_fused(q, k, v, none, 0.25f, o, d_o, dq, k, v, none, lse, 0, {}, {}, 0, true,
                              ao::Stream(reinterpret_cast<hipStream_t>(0x77)));
    };
    fake_aothip_reset();
    is_int(fused(), hipSuccess, "16.5 #39: attn_bwd_fused");
    ok(fake_aothip.bwd.workspace && !fake_aothip.bwd.delta && fake_aothip.bwd.workspace_size == 64,
       "takes scratch");
    ok(fake_aothip.pool_allocations == 1 && fake_aothip.pool_frees == 1 && !fake_aothip.allocations,
       "16.4 #35: from the stream's pool, and gives it back");
    fake_aothip_reset();
    fake_aothip.no_pools = 1;
    is_int(fused(), hipSuccess, "a runtime without pools");
    ok(fake_aothip.allocations == 1 && fake_aothip.frees == 1 && !fake_aothip.spoilt,
       "serves by hipMalloc(), which spoils no capture");
    is_int(fake_aothip.errors_taken, 1, "and HIP's last error is not left for others");
    fake_aothip_reset();
    fake_aothip.no_pools = fake_aothip.capturing = fake_aothip.no_objects = 1;
    is_int(fused(), hipErrorStreamCaptureUnsupported, "but not in a capture");
    contains(aothip_last_error(), "capture", "a reason");
    ok(!fake_aothip.spoilt && !fake_aothip.bwd_calls, "which goes on");
    fake_aothip_reset();
    fake_aothip.status = AOTHIP_E_IO;
    is_int(fused(), hipErrorFileNotFound, "a failure");
    ok(fake_aothip.pool_allocations == 1 && fake_aothip.pool_frees == 1, "leaks no scratch");
    fake_aothip_reset();
    fake_aothip.no_returns = 1;
    is_int(fused(), hipSuccess, "a pool that takes nothing back, as beside another capture");
    ok(fake_aothip.pool_allocations == 1 && fake_aothip.frees == 1 && !fake_aothip.spoilt,
       "leaks none either");
    fake_aothip_reset();
    fake_aothip.capturing = 1;
    is_int(fused(), hipSuccess, "a capture");
    ok(fake_aothip.bwd.workspace && !fake_aothip.pool_allocations && !fake_aothip.spoilt,
       "has memory of the graph's");
    fake_aothip_destroy_graphs();
}
#endif

#endif

#if AOTRITON_VERSION_MINOR >= 9
static void test_simulate()
{
    const T4 r(0x60000000, {2, 8, 100, 300}, {240000, 30000, 300, 1}, ao::kFloat32);
    const aothip_attn_fwd_params &p = fake_aothip.fwd;
    fake_aothip_reset();
    is_int(debug_simulate_encoded_softmax(r, 0.25f, {0x71, ao::kInt64}, {0x72, ao::kInt64}, 9,
                                          nullptr),
           hipSuccess, "16.4 #29: debug_simulate_encoded_softmax");
    is_int(fake_aothip.probs_calls, 1, "is called");
    ok(is_at(p.probs.data, 0x60000000) && p.probs.dtype == AOTHIP_F32 && !p.probs_dropped,
       "on an fp32 tensor");
    ok(p.q.size[0] == 2 && p.q.size[1] == 8 && p.q.size[2] == 100 && p.k.size[2] == 300,
       "of these sizes");
    ok(p.dropout_p == 0.25f && is_at(p.dropout_seed_pointer, 0x71) && p.dropout_offset == 9,
       "with this dropout");
    is_int(debug_simulate_encoded_softmax(T4(), 0.25f, {}, {}, 0, nullptr), hipErrorInvalidValue,
           "no r");
}
#endif

#if AOTRITON_VERSION_MINOR <= 9
static void test_fill()
{
    enum { ROWS = 2 * 3 * 5, COLUMNS = 7 };
    static float r[ROWS * COLUMNS + 1], again[ROWS * COLUMNS];
    std::uint64_t seed = 42, offset = 1000;
    double sum = 0;
    int outside = 0;
    const auto view = [](float *data) {
        return T4(reinterpret_cast<std::intptr_t>(data), {2, 3, 5, COLUMNS},
                  {3 * 5 * COLUMNS, 5 * COLUMNS, COLUMNS, 1}, ao::kFloat32);
    };
    fake_aothip_reset();
    r[ROWS * COLUMNS] = -7;
    is_int(debug_fill_dropout_rng(view(r), seed, offset, nullptr), hipSuccess,
           "16.5 #38: debug_fill_dropout_rng");
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        sum += r[i];
        outside += !(r[i] >= 0 && r[i] < 1);
    }
    is_int(outside, 0, "16.4 #29: in [0, 1)");
    ok(sum / (ROWS * COLUMNS) > 0.4 && sum / (ROWS * COLUMNS) < 0.6, "with a mean of about 1/2");
    ok(r[ROWS * COLUMNS] == -7, "and not beyond");
    /* the words of Philox4x32-10 for this key and counter: c7f39578 ae44bf6c b9b0a1bb f42d5e4c */
    ok(r[0] == 0x1578.8p-16f && r[1] == 0x47f3.8p-16f && r[2] == 0x3f6c.8p-16f &&
           r[3] == 0x2e44.8p-16f,
       "16.4 #27: halves of the generator's words, the lower one first");
    is_int(debug_fill_dropout_rng_tensor(
               view(again), {reinterpret_cast<std::intptr_t>(&seed), ao::kUInt64},
               {reinterpret_cast<std::intptr_t>(&offset), ao::kUInt64}, nullptr),
           hipSuccess, "16.5 #38: debug_fill_dropout_rng_tensor");
    ok(!std::memcmp(r, again, sizeof(again)), "the same from device memory");
    ok(r[0] != r[1] && r[0] != r[4] && r[0] != r[COLUMNS], "different everywhere");
    seed = 0;
    std::memset(again, 0, sizeof(again));
    fake_aothip.late = &seed;
    fake_aothip.late_value = 42;
    is_int(debug_fill_dropout_rng_tensor(
               view(again), {reinterpret_cast<std::intptr_t>(&seed), ao::kUInt64},
               {reinterpret_cast<std::intptr_t>(&offset), ao::kUInt64}, nullptr),
           hipSuccess, "with a seed that work on the stream has yet to store");
    ok(!std::memcmp(r, again, sizeof(again)), "the same: it is waited for");
    fake_aothip_reset();
    fake_aothip.capturing = 1;
    again[0] = -7;
    is_int(debug_fill_dropout_rng(view(again), 42, offset, nullptr),
           hipErrorStreamCaptureUnsupported, "a stream in capture gives HIP's error");
    contains(aothip_last_error(), "capture", "a reason");
    ok(again[0] == -7 && !fake_aothip.copies, "and no numbers");
    ok(!fake_aothip.spoilt, "and is captured on");
    fake_aothip_reset();
    is_int(debug_fill_dropout_rng(T4(0x1000, {2, 3, 5, 7}, {105, 35, 7, 1}, ao::kFloat16), 1, 1,
                                  nullptr),
           hipErrorInvalidValue, "fp16 is refused");
}
#endif

void test()
{
#if AOTRITON_VERSION_MINOR <= 12
    test_forward();
    test_refused();
    test_varlen();
    test_backward();
#if AOTRITON_VERSION_MINOR >= 9
    test_fused();
#endif
#endif
#if AOTRITON_VERSION_MINOR >= 9
    test_simulate();
#endif
#if AOTRITON_VERSION_MINOR <= 9
    test_fill();
#endif
}

} // namespace calls_v2
