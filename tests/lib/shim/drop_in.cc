/* Problems, their copies on the device and their judgement: see drop_in.h. */
#include "drop_in.h"

#include <cstdio>
#include <cstring>

static void must(hipError_t error, const char *what)
{
    if (error != hipSuccess)
        drop_in_result(false, "%s: %s: %d", drop_in_gpu, what, error);
}

buffer::buffer(std::size_t bytes)
{
    resize(bytes);
}

buffer::~buffer()
{
    if (device_)
        must(hipFree(device_), "hipFree");
}

void buffer::resize(std::size_t bytes)
{
    bytes_.assign(bytes, REF_POISON);
    if (device_)
        must(hipFree(device_), "hipFree");
    device_ = nullptr;
    if (bytes)
        must(hipMalloc(&device_, bytes), "hipMalloc");
}

void buffer::upload()
{
    if (device_)
        must(hipMemcpy(device_, bytes_.data(), bytes_.size(), hipMemcpyHostToDevice), "hipMemcpy");
}

void buffer::download()
{
    if (device_)
        must(hipMemcpy(bytes_.data(), device_, bytes_.size(), hipMemcpyDeviceToHost), "hipMemcpy");
}

/* A tensor (B, S, H, D) seen as (B, H, S, D), with numbers in [-1, 1); poisoned with seed 0. */
aothip_tensor drop_in::tensor(buffer *data, std::int64_t heads, std::int64_t rows, int dtype,
                              unsigned seed)
{
    const std::int64_t count = batch * rows * heads * dim;
    aothip_tensor made = {};
    data->resize(static_cast<std::size_t>(count) * ref_dtype_size(dtype));
    made.data = data->host();
    made.dtype = dtype;
    const std::int64_t size[] = {batch, heads, rows, dim};
    const std::int64_t stride[] = {rows * heads * dim, dim, heads * dim, 1};
    std::memcpy(made.size, size, sizeof(size));
    std::memcpy(made.stride, stride, sizeof(stride));
    for (std::int64_t i = 0; seed && i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        ref_store(data->host(), i, dtype, (seed >> 16 & 0xff) / 128.0 - 1);
    }
    return made;
}

/* (sequences, heads_q, rows, 40 keys) with `pitch` elements from row to row. */
aothip_tensor drop_in::square(buffer *data, int dtype, std::int64_t pitch)
{
    const std::int64_t rows = kind == form::dense ? seq_q : max_q;
    aothip_tensor made = {};
    data->resize(static_cast<std::size_t>(sequences * heads_q * rows * pitch) *
                 ref_dtype_size(dtype));
    made.data = data->host();
    made.dtype = dtype;
    const std::int64_t size[] = {sequences, heads_q, rows, 40};
    const std::int64_t stride[] = {heads_q * rows * pitch, rows * pitch, pitch, 1};
    std::memcpy(made.size, size, sizeof(size));
    std::memcpy(made.stride, stride, sizeof(stride));
    return made;
}

drop_in::drop_in(form form, int dtype) : kind(form)
{
    static const unsigned words[] = {0, 0x0b0b, 0x0202, 0x1313};
    varlen_bits = words[static_cast<int>(form)];
    const bool packed = form == form::compact || form == form::strided;
    batch = packed ? 1 : form == form::padded ? 4 : 2;
    seq_q = form == form::dense ? 37 : form == form::padded ? max_q : 50;
    seq_k = form == form::dense ? 40 : form == form::padded ? 33 : 70;
    sequences = packed ? 4 : batch;
    want.struct_size = sizeof(want);
    wanted.struct_size = sizeof(wanted);
    wanted.fwd = &want;
    lay_out(dtype);
    if (kind != form::dense)
        place_sequences();
}

void drop_in::lay_out(int dtype)
{
    want.q = tensor(&q, heads_q, seq_q, dtype, 1);
    want.k = tensor(&k, heads_k, seq_k, dtype, 2);
    want.v = tensor(&v, heads_k, seq_k, dtype, 3);
    want.o = tensor(&o, heads_q, seq_q, dtype, 0);
    wanted.d_o = tensor(&d_o, heads_q, seq_q, dtype, 4);
    wanted.dq = tensor(&dq, heads_q, seq_q, dtype, 0);
    wanted.dk = tensor(&dk, heads_k, seq_k, dtype, 0);
    wanted.dv = tensor(&dv, heads_k, seq_k, dtype, 0);
    want.scale = 0.125f;
    want.lse_base2 = minor_version <= 10;
    lse_rows = sequences * heads_q;
    lse_columns = kind == form::dense ? seq_q : max_q;
    if (minor_version >= 12 && batch == 1) {
        want.lse_layout = AOTHIP_LSE_HEADS_COMPACT;
        lse_rows = heads_q;
        lse_columns = seq_q;
    }
    lse.resize(static_cast<std::size_t>(lse_rows * lse_columns) * sizeof(float));
    delta.resize(lse.size());
    want.lse = static_cast<float *>(lse.host());
    want.lse_size = lse_rows * lse_columns;
}

/* Four sequences, two of them without queries or keys; strided ones have gaps between them. */
void drop_in::place_sequences()
{
    static const std::vector<std::int32_t> ends_q = {0, 13, 13, 37, 42},
                                           ends_k = {0, 20, 29, 60, 60};
    cu_q.set(ends_q);
    cu_k.set(ends_k);
    want.sequences = 4;
    want.q_seqs.cumulative = cu_q.host();
    want.k_seqs.cumulative = cu_k.host();
    want.q_seqs.packed = want.k_seqs.packed = kind != form::padded;
    want.q_seqs.max = max_q;
    if (kind == form::strided) {
        starts_q.set(std::vector<std::int32_t>{1, 15, 16, 43, 50});
        starts_k.set(std::vector<std::int32_t>{2, 23, 33, 66});
        want.q_seqs.starts = starts_q.host();
        want.k_seqs.starts = starts_k.host();
    }
}

void drop_in::use_few_queries()
{
    seq_q = 2;
    seq_k = 1500;
    lay_out(want.q.dtype);
}

void drop_in::use_lengths_of_keys()
{
    cu_k.set(std::vector<std::int32_t>{20, 9, 31, 0});
    want.k_seqs.cumulative = nullptr;
    want.k_seqs.lengths = cu_k.host();
    varlen_bits = (varlen_bits & ~0x600u) | 0x400;
}

void drop_in::use_one_length()
{
    starts_q.set(std::vector<std::int32_t>{1, 13, 26, 38, 50});
    starts_k.set(std::vector<std::int32_t>{0, 18, 53, 36});
    want.q_seqs.starts = starts_q.host();
    want.k_seqs.starts = starts_k.host();
    want.q_seqs.cumulative = want.k_seqs.cumulative = nullptr;
    want.q_seqs.max = 11;
    want.k_seqs.max = 17;
    varlen_bits = 0x1111;
}

void drop_in::store_lse_by_rows()
{
    want.lse_layout = AOTHIP_LSE_TOTAL;
    lse_rows = seq_q;
    lse_columns = heads_q;
    varlen_bits |= 0x10000;
}

/* Rows of a pitch that is no multiple of anything; gradients in rows of another one. */
void drop_in::add_bias()
{
    unsigned number = 77;
    want.bias = square(&bias, want.q.dtype, 43);
    for (std::size_t i = 0; i < bias.size() / ref_dtype_size(want.q.dtype); i++) {
        number = number * 1664525u + 1013904223u;
        ref_store(bias.host(), static_cast<std::int64_t>(i), want.q.dtype,
                  (number >> 16 & 0xff) / 64.0 - 2);
    }
    wanted.dbias = square(&dbias, want.q.dtype, 48);
}

void drop_in::add_dropout(float p)
{
    seed.set(std::vector<std::uint64_t>{0x123456789abcull});
    offset.set(std::vector<std::uint64_t>{1000});
    seed_output.resize(sizeof(std::uint64_t));
    offset_output.resize(sizeof(std::uint64_t));
    want.dropout_p = p;
    want.dropout_seed_pointer = static_cast<std::uint64_t *>(seed.host());
    want.dropout_offset_pointer = static_cast<std::uint64_t *>(offset.host());
    want.dropout_offset = 24;
}

void drop_in::add_probs()
{
    want.probs = square(&probs, want.q.dtype, 40);
    want.probs_dropped = minor_version <= 8;
}

T4 drop_in::view(buffer &data, const aothip_tensor &like) const
{
    if (!data.size())
        return T4(0, {0, 0, 0, 0}, {0, 0, 0, 0}, ao::kFloat16);
    const ao::DType dtype = like.dtype == AOTHIP_F32   ? ao::kFloat32
                            : like.dtype == AOTHIP_F16 ? ao::kFloat16
                                                       : ao::kBFloat16;
    std::array<std::uint64_t, 4> size, stride;
    for (std::size_t i = 0; i < 4; i++) {
        size[i] = static_cast<std::uint64_t>(like.size[i]);
        stride[i] = static_cast<std::uint64_t>(like.stride[i]);
    }
    return T4(data.device(), size, stride, dtype);
}

#define VIEW(name, data, like)                                                                     \
    T4 drop_in::name()                                                                             \
    {                                                                                              \
        return view(data, like);                                                                   \
    }
VIEW(q_view, q, want.q)
VIEW(k_view, k, want.k)
VIEW(v_view, v, want.v)
VIEW(o_view, o, want.o)
VIEW(bias_view, bias, want.bias)
VIEW(probs_view, probs, want.probs)
VIEW(d_o_view, d_o, wanted.d_o)
VIEW(dq_view, dq, wanted.dq)
VIEW(dk_view, dk, wanted.dk)
VIEW(dv_view, dv, wanted.dv)
VIEW(dbias_view, dbias, wanted.dbias)

static T2 rows_view(const buffer &data, std::int64_t rows, std::int64_t columns)
{
    const std::uint64_t pitch = static_cast<std::uint64_t>(columns);
    return {data.device(), {static_cast<std::uint64_t>(rows), pitch}, {pitch, 1}, ao::kFloat32};
}
T2 drop_in::lse_view() const
{
    return rows_view(lse, lse_rows, lse_columns);
}
T2 drop_in::delta_view() const
{
    return rows_view(delta, lse_rows, lse_columns);
}

static T1 numbers_view(const buffer &data)
{
    return {data.device(), {data.size() / sizeof(std::int32_t)}, {1}, ao::kInt32};
}
T1 drop_in::cu_q_view() const
{
    return numbers_view(cu_q);
}
T1 drop_in::cu_k_view() const
{
    return numbers_view(cu_k);
}
T1 drop_in::starts_q_view() const
{
    return numbers_view(starts_q);
}
T1 drop_in::starts_k_view() const
{
    return numbers_view(starts_k);
}

/* Without dropout what eager PyTorch passes: an address that no device can read. */
static T0 scalar_view(const buffer &data)
{
    static const std::uint64_t on_the_host = 5;
    return {data.size() ? data.device() : reinterpret_cast<std::intptr_t>(&on_the_host),
            ao::kInt64};
}
T0 drop_in::seed_view() const
{
    return scalar_view(seed);
}
T0 drop_in::offset_view() const
{
    return scalar_view(offset);
}
T0 drop_in::seed_output_view() const
{
    return scalar_view(seed_output);
}
T0 drop_in::offset_output_view() const
{
    return scalar_view(offset_output);
}

void drop_in::upload()
{
    for (buffer *data : {&q,    &k,        &v,        &o,    &lse,    &bias,        &probs,
                         &d_o,  &dq,       &dk,       &dv,   &dbias,  &delta,       &cu_q,
                         &cu_k, &starts_q, &starts_k, &seed, &offset, &seed_output, &offset_output})
        data->upload();
}

void drop_in::finish(const char *name, hipError_t error)
{
    drop_in_result(error == hipSuccess, "%s: %s: hipSuccess (%d)", drop_in_gpu, name, error);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    for (buffer *data : {&o, &lse, &probs, &dq, &dk, &dv, &dbias, &seed_output, &offset_output})
        data->download();
}

static void judge(const char *name, const char *what, const ref_verdict &verdict)
{
    drop_in_result(verdict.wrong == 0, "%s: %s: %s is within %.2g of double precision", drop_in_gpu,
                   name, what, verdict.allowed);
    if (verdict.wrong)
        std::printf("# %lld wrong, at %lld %lld %lld %lld: got %g, expected %g\n",
                    (long long)verdict.wrong, (long long)verdict.at[0], (long long)verdict.at[1],
                    (long long)verdict.at[2], (long long)verdict.at[3], verdict.got,
                    verdict.expected);
}

void drop_in::judge_forward(const char *name)
{
    ref_fwd answer;
    if (ref_attn_fwd(&want, REF_SUBNORMALS_FLUSHED, &answer)) {
        drop_in_result(false, "%s: %s: the reference", drop_in_gpu, name);
        return;
    }
    judge(name, "o", ref_judge_o(&answer, &want.o));
    judge(name, "lse", ref_judge_lse(&answer, want.lse));
    drop_in_result(!ref_strays_o(&answer, &want.o) &&
                       !ref_strays_lse(&answer, want.lse, want.lse_size),
                   "%s: %s: nothing else is written", drop_in_gpu, name);
    if (want.probs.data)
        judge(name, "encoded_softmax", ref_judge_probs(&want));
    if (want.dropout_p > 0)
        drop_in_result(*static_cast<std::uint64_t *>(seed_output.host()) == 0x123456789abcull &&
                           *static_cast<std::uint64_t *>(offset_output.host()) == 1024,
                       "%s: %s: seed and offset come out", drop_in_gpu, name);
    ref_free(&answer);
}

void drop_in::judge_backward(const char *name)
{
    ref_bwd answer;
    if (ref_attn_bwd(&wanted, REF_SUBNORMALS_FLUSHED, &answer)) {
        drop_in_result(false, "%s: %s: the reference", drop_in_gpu, name);
        return;
    }
    judge(name, "dq", ref_judge_grad(&answer.dq, &wanted.dq));
    judge(name, "dk", ref_judge_grad(&answer.dk, &wanted.dk));
    judge(name, "dv", ref_judge_grad(&answer.dv, &wanted.dv));
    if (wanted.dbias.data)
        judge(name, "db", ref_judge_grad(&answer.dbias, &wanted.dbias));
    drop_in_result(!ref_strays_grad(&answer.dq, &wanted.dq) &&
                       !ref_strays_grad(&answer.dk, &wanted.dk) &&
                       !ref_strays_grad(&answer.dv, &wanted.dv),
                   "%s: %s: nothing else is written", drop_in_gpu, name);
    ref_free_bwd(&answer);
}
