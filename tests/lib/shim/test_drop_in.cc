/*
 * A program as PyTorch is one: linked with a HIP runtime (the emulator in its place) and with
 * libaotriton_v2.so, it asks check_gpu and runs attention with the C++ names of the release that it
 * is compiled for, on every GPU; results are compared with double precision. "test_drop_in quick"
 * computes one problem on each. Numbers such as "16.4 #24" are lines of the checklist for drop-in
 * libraries.
 */
#include "drop_in.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>

#include "tap.h"

static hipStream_t stream;
char drop_in_gpu[32];

void drop_in_result(bool good, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    ok(good, "%s", text);
}

/*
 * Runs `call` as PyTorch runs a graph: captured, without the graph that the executable was made
 * of, and twice. *launches is how many it holds.
 */
template <typename Call> static hipError_t by_graph(Call call, std::size_t *launches)
{
    hipGraph_t graph = nullptr;
    hipGraphExec_t executable = nullptr;
    hipError_t error = hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    if (error == hipSuccess)
        error = call();
    const hipError_t end = hipStreamEndCapture(stream, &graph);
    if (error == hipSuccess)
        error = end;
    if (error == hipSuccess)
        error = hipGraphGetNodes(graph, nullptr, launches);
    if (error == hipSuccess)
        error = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    if (graph && hipGraphDestroy(graph) != hipSuccess)
        ok(0, "%s: hipGraphDestroy", drop_in_gpu);
    for (int i = 0; i < 2 && error == hipSuccess; i++)
        error = hipGraphLaunch(executable, stream);
    if (executable && hipGraphExecDestroy(executable) != hipSuccess)
        ok(0, "%s: hipGraphExecDestroy", drop_in_gpu);
    return error;
}

/* Two queries, whose keys are shared out: by the stream's memory, and by memory of a graph's. */
template <typename Call> static void both_ways(const char *name, drop_in *p, Call call)
{
    std::size_t launches = 0;
    p->forward(name, call);
    p->forward(name, [&] { return by_graph(call, &launches); });
    ok(launches == 2, "%s: %s: a graph with parts of the keys, and the merge", drop_in_gpu, name);
}

#if AOTRITON_VERSION_MINOR >= 10

using namespace ao::v3::flash;

/* Sides of the mask that are sentinels and numbers, in the form of both APIs. */
struct band {
    std::int32_t left, right, mask, window_left, window_right;
};
static constexpr std::int32_t top = WindowValue::TopLeftAligned;
static constexpr std::int32_t bottom = WindowValue::BottomRightAligned;
static constexpr std::int32_t all = AOTHIP_WINDOW_UNBOUNDED;
static constexpr band bottom_right = {bottom, bottom, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, all, 0};
static constexpr band top_left = {top, top, AOTHIP_MASK_CAUSAL_TOP_LEFT, all, 0};

static void set_mask(drop_in *p, const band &keys)
{
    p->want.mask = keys.mask;
    p->want.window_left = keys.window_left;
    p->want.window_right = keys.window_right;
}

/* Fields that both structs have. */
template <typename Params> static void fill(Params *params, drop_in *p, const band *keys)
{
    params->Q = p->q_view();
    params->K = p->k_view();
    params->V = p->v_view();
    params->Out = p->o_view();
    params->B = p->bias_view();
    params->L = p->lse_view();
    params->Sm_scale = p->want.scale;
    params->dropout_p = p->want.dropout_p;
    params->philox_seed_ptr = p->seed_view();
    params->philox_offset1 = p->offset_view();
    params->philox_offset2 = p->want.dropout_offset;
    params->causal_type = keys ? CausalType::WindowedAttention : CausalType::None;
    if (keys) {
        params->window_left = keys->left;
        params->window_right = keys->right;
    }
    if (p->kind == form::dense)
        return;
    params->Max_seqlen_q = p->want.q_seqs.max;
#if AOTRITON_VERSION_MINOR >= 14
    params->Max_seqlen_k = p->want.k_seqs.max;
    if (p->want.q_seqs.cumulative) {
        params->seqinfo_q0 = p->cu_q_view();
        params->seqinfo_k0 = p->cu_k_view();
    }
    std::memcpy(&params->varlen_bits, &p->varlen_bits, 4);
    if (p->kind == form::strided) {
        params->seqinfo_q1 = p->starts_q_view();
        params->seqinfo_k1 = p->starts_k_view();
    }
#else
    params->cu_seqlens_q = p->cu_q_view();
    params->cu_seqlens_k = p->cu_k_view();
    params->varlen_type = static_cast<std::int8_t>(p->kind); /* the same numbers */
#if AOTRITON_VERSION_MINOR >= 12
    if (p->kind == form::strided) {
        params->seq_strides_q = p->starts_q_view();
        params->seq_strides_k = p->starts_k_view();
    }
#endif
#endif
}

/* As PyTorch, with Max_seqlen_k = 0 in the forward pass and truly in the backward one. */
static hipError_t v3_forward(drop_in *p, const band *keys)
{
    attn_fwd_params params;
    fill(&params, p, keys);
    params.encoded_softmax = p->probs_view();
    params.philox_seed_output = p->seed_output_view();
    params.philox_offset_output = p->offset_output_view();
    return attn_fwd(params, attn_fwd_params::kVersion, stream);
}

#if AOTRITON_VERSION_MINOR >= 12
static T2 acquire(ao::LazyTensor<2> *self)
{
    return static_cast<drop_in *>(self->cookie)->delta_view();
}
#elif AOTRITON_VERSION_MINOR == 11
static T2 acquire(void *cookie)
{
    return static_cast<drop_in *>(cookie)->delta_view();
}
#endif

static hipError_t v3_backward(drop_in *p, const band *keys)
{
    attn_bwd_params params;
    fill(&params, p, keys);
    params.DO = p->d_o_view();
    params.DQ = p->dq_view();
    params.DK = p->dk_view();
    params.DV = p->dv_view();
    params.DB = p->dbias_view();
    params.Max_seqlen_k = p->want.k_seqs.max ? p->want.k_seqs.max : 31;
#if AOTRITON_VERSION_MINOR >= 11
    params.D.cookie = p;
    params.D.acquire = acquire;
#else
    params.D = p->delta_view();
#endif
    return attn_bwd(params, attn_bwd_params::kVersion, stream);
}

static void v3_both(const char *name, drop_in *p, const band *keys)
{
    if (keys)
        set_mask(p, *keys);
    p->forward(name, [=] { return v3_forward(p, keys); });
    p->backward(name, [=] { return v3_backward(p, keys); });
}

static void test_v3()
{
    static const band window = {9, 3, AOTHIP_MASK_WINDOW_TOP_LEFT, 9, 3};
    static const band mixed = {7, bottom, AOTHIP_MASK_WINDOW_MIXED, 7, 0};
    {
        drop_in p(form::dense, AOTHIP_BF16);
        v3_both("16.4 #22: v3, all keys, GQA", &p, nullptr);
    }
    {
        drop_in p(form::dense, AOTHIP_BF16);
        p.use_few_queries();
        set_mask(&p, bottom_right);
        both_ways("v3, few queries", &p, [&] { return v3_forward(&p, &bottom_right); });
        p.backward("v3, few queries", [&] { return v3_backward(&p, &bottom_right); });
        p.backward("v3, few queries, by a graph", [&] {
            std::size_t launches;
            return by_graph([&] { return v3_backward(&p, &bottom_right); }, &launches);
        });
    }
    {
        drop_in p(form::dense, AOTHIP_F16);
        v3_both("16.4 #25: v3, bottom-right", &p, &bottom_right);
    }
    {
        drop_in p(form::dense, AOTHIP_F16);
        v3_both("16.4 #25: v3, window", &p, &window);
    }
    {
        drop_in p(form::dense, AOTHIP_BF16);
        p.add_bias();
        p.add_dropout(0.25f);
        p.add_probs();
        v3_both("16.4 #26 to #29: v3, bias, causal, dropout", &p, &top_left);
    }
    {
        drop_in p(form::compact, AOTHIP_F16);
        p.add_dropout(0.5f);
        v3_both("16.4 #27, #31: v3, compact, dropout", &p, &bottom_right);
    }
    {
        drop_in p(form::padded, AOTHIP_BF16);
        v3_both("16.4 #32: v3, padded", &p, &mixed);
    }
#if AOTRITON_VERSION_MINOR >= 12
    {
        drop_in p(form::strided, AOTHIP_F16);
        v3_both("16.4 #32: v3, strided", &p, nullptr);
    }
#endif
#if AOTRITON_VERSION_MINOR >= 14
    {
        drop_in p(form::strided, AOTHIP_BF16);
        p.use_lengths_of_keys();
        p.store_lse_by_rows();
        v3_both("16.5 #44: v3, seqused_k, lse by rows", &p, &bottom_right);
    }
    {
        drop_in p(form::strided, AOTHIP_F16);
        p.use_one_length();
        p.add_dropout(0.5f);
        v3_both("16.4 #32: v3, positions and one length for all", &p, &bottom_right);
    }
#endif
}

#endif

#if AOTRITON_VERSION_MINOR <= 12

/* 0.8 and before have no counter, and the bias of the varlen function elsewhere. */
#if AOTRITON_VERSION_MINOR >= 9
#define NO_COUNTER T0(),
#else
#define NO_COUNTER
#endif

static hipError_t v2_forward(drop_in *p, bool causal)
{
    using namespace ao::v2::flash;
    const std::int64_t offset2 = static_cast<std::int64_t>(p->want.dropout_offset);
    if (p->kind == form::dense)
        return attn_fwd(p->q_view(), p->k_view(), p->v_view(), p->bias_view(), p->want.scale,
                        p->lse_view(), p->o_view(), p->want.dropout_p, p->seed_view(),
                        p->offset_view(), offset2, p->seed_output_view(), p->offset_output_view(),
                        p->probs_view(), causal, NO_COUNTER stream);
#if AOTRITON_VERSION_MINOR >= 9
    return attn_fwd_compact_varlen(p->q_view(), p->k_view(), p->v_view(), p->bias_view(),
                                   p->cu_q_view(), p->cu_k_view(), drop_in::max_q, 0, p->want.scale,
                                   p->lse_view(), p->o_view(), p->want.dropout_p, p->seed_view(),
                                   p->offset_view(), offset2, p->seed_output_view(),
                                   p->offset_output_view(), p->probs_view(), causal, T0(), stream);
#else
    return attn_fwd_compact_varlen(p->q_view(), p->k_view(), p->v_view(), p->cu_q_view(),
                                   p->cu_k_view(), drop_in::max_q, 0, p->bias_view(), p->want.scale,
                                   p->lse_view(), p->o_view(), p->want.dropout_p, p->seed_view(),
                                   p->offset_view(), offset2, p->seed_output_view(),
                                   p->offset_output_view(), p->probs_view(), causal, stream);
#endif
}

static hipError_t v2_backward(drop_in *p, bool causal)
{
    using namespace ao::v2::flash;
    const std::int64_t offset2 = static_cast<std::int64_t>(p->want.dropout_offset);
    if (p->kind == form::dense)
        return attn_bwd(p->q_view(), p->k_view(), p->v_view(), p->bias_view(), p->want.scale,
                        p->o_view(), p->d_o_view(), p->dq_view(), p->dk_view(), p->dv_view(),
                        p->dbias_view(), p->lse_view(), p->delta_view(), p->want.dropout_p,
                        p->seed_view(), p->offset_view(), offset2, causal, stream);
    return attn_bwd_compact_varlen(
        p->q_view(), p->k_view(), p->v_view(), p->cu_q_view(), p->cu_k_view(), drop_in::max_q, 31,
        p->bias_view(), p->want.scale, p->o_view(), p->d_o_view(), p->dq_view(), p->dk_view(),
        p->dv_view(), p->dbias_view(), p->lse_view(), p->delta_view(), p->want.dropout_p,
        p->seed_view(), p->offset_view(), offset2, causal, stream);
}

static void test_v2()
{
    {
        drop_in p(form::dense, AOTHIP_F16);
        p.use_few_queries();
        both_ways("v2, few queries", &p, [&] { return v2_forward(&p, false); });
    }
    {
        drop_in p(form::dense, AOTHIP_F16);
        p.add_bias();
        p.add_dropout(0.25f);
        p.add_probs();
        p.want.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
        p.forward("16.5 #38, #39: v2 attn_fwd", [&] { return v2_forward(&p, true); });
        p.backward("16.5 #38: v2 attn_bwd", [&] { return v2_backward(&p, true); });
    }
    {
        drop_in p(form::compact, AOTHIP_BF16);
        p.add_dropout(0.5f);
        p.want.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
        p.forward("16.5 #38, #39: v2, compact", [&] { return v2_forward(&p, true); });
        p.backward("16.5 #38: v2, compact", [&] { return v2_backward(&p, true); });
    }
#if AOTRITON_VERSION_MINOR >= 9
    drop_in p(form::dense, AOTHIP_BF16);
    p.forward("v2 before attn_bwd_fused", [&] { return v2_forward(&p, false); });
    p.backward("16.5 #39: attn_bwd_fused", [&] {
        return ao::v2::flash::attn_bwd_fused(p.q_view(), p.k_view(), p.v_view(), p.bias_view(),
                                             p.want.scale, p.o_view(), p.d_o_view(), p.dq_view(),
                                             p.dk_view(), p.dv_view(), p.dbias_view(), p.lse_view(),
                                             0, T0(), T0(), 0, false, stream);
    });
#endif
}

#endif

/* What debug_*() say about dropout: as the mask that attention uses. */
static void test_masks()
{
    enum { B = 2, H = 4, M = 37, N = 40, COUNT = B * H * M * N };
    drop_in p(form::dense, AOTHIP_F16); /* of the same sizes */
    p.add_dropout(0.3f);
    const auto view = [](const buffer &data) {
        return T4(data.device(), {B, H, M, N}, {H * M * N, M * N, N, 1}, ao::kFloat32);
    };
    p.seed.upload();
    p.offset.upload();
    (void)view;
#if AOTRITON_VERSION_MINOR >= 9
    buffer mask(COUNT * sizeof(float));
    const hipError_t error = ao::v2::flash::debug_simulate_encoded_softmax(
        view(mask), 0.3f, p.seed_view(), p.offset_view(), 24, stream);
    ok(error == hipSuccess && hipDeviceSynchronize() == hipSuccess,
       "%s: 16.4 #29: debug_simulate_encoded_softmax", drop_in_gpu);
    mask.download();
    p.want.probs = {};
    p.want.probs.data = mask.host();
    p.want.probs.dtype = AOTHIP_F32;
    const std::int64_t size[] = {B, H, M, N}, stride[] = {H * M * N, M * N, N, 1};
    std::memcpy(p.want.probs.size, size, sizeof(size));
    std::memcpy(p.want.probs.stride, stride, sizeof(stride));
    ok(ref_judge_probs(&p.want).wrong == 0, "%s: 16.4 #27: is the mask of attention", drop_in_gpu);
#endif
#if AOTRITON_VERSION_MINOR <= 9
    buffer numbers(COUNT * sizeof(float));
    p.offset.set(std::vector<std::uint64_t>{1024});
    p.offset.upload();
    ok(ao::v2::flash::debug_fill_dropout_rng_tensor(view(numbers), p.seed_view(), p.offset_view(),
                                                    stream) == hipSuccess,
       "%s: 16.5 #38: debug_fill_dropout_rng_tensor", drop_in_gpu);
    numbers.download();
    int kept = 0, differing = 0;
    for (int i = 0; i < COUNT; i++) {
        const bool keeps = static_cast<float *>(numbers.host())[i] >= 0.3f;
        kept += keeps;
#if AOTRITON_VERSION_MINOR >= 9
        differing += keeps != (static_cast<float *>(mask.host())[i] > 0);
#endif
    }
    ok(std::fabs(static_cast<double>(kept) / COUNT - 0.7) < 0.02,
       "%s: 16.4 #27: the mean keep rate is 1 - p", drop_in_gpu);
    is_int(differing, 0, "16.4 #29: the numbers behind the mask");
#endif
}

/* The newest entry point once. */
static void test_quickly()
{
    drop_in p(form::dense, AOTHIP_BF16);
#if AOTRITON_VERSION_MINOR >= 10
    p.forward("attention", [&] { return v3_forward(&p, nullptr); });
#else
    p.forward("attention", [&] { return v2_forward(&p, false); });
#endif
}

static void test_device(int device, bool quick)
{
    if (hipSetDevice(device) != hipSuccess || hipStreamCreate(&stream) != hipSuccess) {
        ok(0, "GPU %d: a stream", device);
        return;
    }
    snprintf(drop_in_gpu, sizeof(drop_in_gpu), "GPU %d", device);
    ok(ao::v2::flash::check_gpu(stream) == hipSuccess, "%s: 16.3 #20: check_gpu", drop_in_gpu);
    if (quick) {
        test_quickly();
    } else {
#if AOTRITON_VERSION_MINOR >= 10
        test_v3();
#endif
#if AOTRITON_VERSION_MINOR <= 12
        test_v2();
#endif
        test_masks();
    }
    if (hipStreamDestroy(stream) != hipSuccess)
        ok(0, "%s: hipStreamDestroy", drop_in_gpu);
}

int main(int argc, char **argv)
{
    struct stat info;
    int count = 0;
    if (stat(IMAGES, &info))
        tap_skip_all("there are no images");
    setenv("AOTHIP_IMAGES", IMAGES, 0); /* relocate.sh sets it empty */
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 0);
    if (hipGetDeviceCount(&count) != hipSuccess || count < 1) {
        ok(0, "emulated GPUs");
        return tap_done();
    }
    for (int device = 0; device < count; device++)
        test_device(device, argc > 1 && !std::strcmp(argv[1], "quick"));
    return tap_done();
}
