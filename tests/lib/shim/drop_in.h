/*
 * Attention problems for test_drop_in.cc: tensors in host memory with copies on a device, the same
 * problem as the reference takes it (params of the C API with host pointers, written down from what
 * AOTriton's arguments mean), and the judgement of what came back.
 */
#ifndef AOTHIP_DROP_IN_H
#define AOTHIP_DROP_IN_H

#include "shim_names.h"

#include <hip/hip_runtime_api.h>

#include <vector>

extern "C" {
#include "ref.h"
}

/* Bytes on the host and on the current device. */
class buffer
{
  public:
    explicit buffer(std::size_t bytes = 0);
    ~buffer();
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;

    void resize(std::size_t bytes); /* poisoned: all bits set */
    void upload();
    void download();
    void *host()
    {
        return bytes_.data();
    }
    std::intptr_t device() const
    {
        return reinterpret_cast<std::intptr_t>(device_);
    }
    std::size_t size() const
    {
        return bytes_.size();
    }
    template <typename Number> void set(const std::vector<Number> &numbers)
    {
        resize(numbers.size() * sizeof(Number));
        for (std::size_t i = 0; i < numbers.size(); i++)
            static_cast<Number *>(host())[i] = numbers[i];
    }

  private:
    std::vector<unsigned char> bytes_;
    void *device_ = nullptr;
};

/* Batch entries, or sequences behind each other, or padded ones, or with gaps between them. */
enum class form { dense, compact, padded, strided };

struct drop_in {
    static constexpr std::int64_t heads_q = 4, heads_k = 2, dim = 40;
    static constexpr std::int32_t max_q = 24;

    drop_in(form form, int dtype);
    drop_in(const drop_in &) = delete;
    drop_in &operator=(const drop_in &) = delete;

    void add_bias();
    void add_dropout(float p);  /* with seed and offset in device memory, and outputs */
    void add_probs();           /* encoded_softmax */
    void use_few_queries();     /* for so many keys that these are shared out; before all else */
    void use_lengths_of_keys(); /* lengths of the keys by themselves, not cumulative */
    void use_one_length();      /* of all sequences, whose positions alone differ */
    void store_lse_by_rows();   /* lse as (rows, heads) */

    /* Runs `call` on the problem; the name goes before what is judged. */
    template <typename Call> void forward(const char *name, Call call)
    {
        upload();
        finish(name, call());
        judge_forward(name);
    }
    template <typename Call> void backward(const char *name, Call call)
    {
        finish(name, call());
        judge_backward(name);
    }

    T4 view(buffer &data, const aothip_tensor &like) const;
    T4 q_view(), k_view(), v_view(), o_view(), bias_view(), probs_view(), d_o_view(), dq_view(),
        dk_view(), dv_view(), dbias_view();
    T2 lse_view() const, delta_view() const;
    T1 cu_q_view() const, cu_k_view() const, starts_q_view() const, starts_k_view() const;
    T0 seed_view() const, offset_view() const, seed_output_view() const, offset_output_view() const;

    form kind;
    std::int64_t batch, seq_q, seq_k, sequences; /* batch, seq_*: of the tensors */
    unsigned varlen_bits;                        /* of AOTriton 0.14 */
    buffer q, k, v, o, lse, bias, probs, d_o, dq, dk, dv, dbias, delta;
    buffer cu_q, cu_k, starts_q, starts_k, seed, offset, seed_output, offset_output;
    aothip_attn_fwd_params want = {};   /* host pointers */
    aothip_attn_bwd_params wanted = {}; /* wanted.fwd is &want */

  private:
    aothip_tensor tensor(buffer *data, std::int64_t heads, std::int64_t rows, int dtype,
                         unsigned seed);
    aothip_tensor square(buffer *data, int dtype, std::int64_t pitch);
    void lay_out(int dtype);
    void place_sequences();
    void upload();
    void finish(const char *name, hipError_t error);
    void judge_forward(const char *name);
    void judge_backward(const char *name);

    std::int64_t lse_rows, lse_columns;
};

/* What stands before every result: which GPU. */
extern char drop_in_gpu[32];

/* One TAP result; test_drop_in.cc counts them. */
__attribute__((format(printf, 2, 3))) void drop_in_result(bool good, const char *format, ...);

#endif
