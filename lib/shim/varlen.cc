/*
 * Sequences of different length. A side is described by AOTriton 0.14's three choices (stacked or
 * not, where its lengths stand, where its positions stand); the kinds of sequences that earlier
 * releases know are four of those descriptions.
 */
#include "shim.h"

namespace shim
{

const T1 none;

/* Elements of an array of numbers; a null view has none, and garbage for a size. */
static std::uint64_t count(const T1 *array)
{
    return *array ? array->size(0) : 0;
}

/* How many sequences there are; negative where that cannot be told. */
static std::int64_t count_sequences(const side &q, std::int64_t batch)
{
    if (q.stacked == SEPARATE)
        return batch;
    const bool all_alike = q.length == LENGTH_MAX && q.position == POSITION_ARRAY;
    const std::uint64_t numbers = count(all_alike ? q.info1 : q.info0);
    if (numbers > INT32_MAX)
        return -1;
    if (all_alike) /* its last element is the number of all rows */
        return static_cast<std::int64_t>(numbers) - 1;
    if (q.length == LENGTH_CUMULATIVE)
        return static_cast<std::int64_t>(numbers) - 1;
    return q.length == LENGTH_INDIVIDUAL ? static_cast<std::int64_t>(numbers) : -1;
}

/* What is wrong with a side by itself; null if nothing. */
static const char *check_side(const side &given)
{
    if (given.length > LENGTH_INDIVIDUAL || given.position > POSITION_ARRAY)
        return "varlen_bits: a length or position of 3";
    if (given.position == POSITION_REUSE && given.length != LENGTH_CUMULATIVE)
        return "varlen_bits: position REUSE without CUMULATIVE lengths";
    if (given.length == LENGTH_MAX && *given.info0)
        return "varlen_bits: length MAX, but seqinfo_q0 or seqinfo_k0 is given";
    if (given.length != LENGTH_MAX && !*given.info0)
        return "cu_seqlens (seqinfo 0): is null where lengths are wanted";
    if (given.position == POSITION_ARRAY && !*given.info1)
        return "seq_strides (seqinfo 1): is null where positions are wanted";
    return nullptr;
}

/* Whether the arrays and the tensor are long enough for n sequences; longer ones are fine. */
static const char *check_extent(const side &given, std::uint64_t n, std::int64_t batch, bool is_q)
{
    const bool stacked = given.stacked == STACKED;
    if (given.length != LENGTH_MAX &&
        count(given.info0) < n + (given.length == LENGTH_CUMULATIVE ? 1 : 0))
        return "cu_seqlens (seqinfo 0): is shorter than there are sequences";
    /* a stacked q's positions end with the number of all rows, the pitch of lse */
    if (given.position == POSITION_ARRAY && count(given.info1) < n + (is_q && stacked ? 1 : 0))
        return "seq_strides (seqinfo 1): is shorter than there are sequences";
    if (stacked ? batch != 1 : batch < static_cast<std::int64_t>(n))
        return stacked ? "Q, K, V: stacked sequences, but a batch size other than 1"
                       : "Q, K, V: a batch size below the number of sequences";
    return nullptr;
}

/* Stacked sequences that all have room for `max` rows are batch entries by another stride. */
static bool unstack(aothip_tensor *tensor, std::int64_t n, std::int64_t max)
{
    if (n == 1)
        return true;
    if (max < 1 || tensor->size[2] < n * max)
        return false;
    tensor->size[0] = n;
    tensor->size[2] = max;
    tensor->stride[0] = max * tensor->stride[2];
    return true;
}

/* One side; tensors: q and o, or k and v. Null, or what is wrong. */
static const char *translate_side(const side &given, std::int64_t n, aothip_tensor *const *tensors,
                                  aothip_seqs *seqs)
{
    const void *const info0 = given.info0->data_ptr();
    seqs->packed = given.stacked == STACKED && given.position != POSITION_IMPLIED;
    if (given.stacked == STACKED && !seqs->packed &&
        (!unstack(tensors[0], n, given.max) || !unstack(tensors[1], n, given.max)))
        return "Max_seqlen: times the number of sequences it is 0 or beyond the tensor";
    if (given.length == LENGTH_CUMULATIVE)
        seqs->cumulative = info0;
    if (given.length == LENGTH_INDIVIDUAL)
        seqs->lengths = info0;
    if (given.position == POSITION_ARRAY)
        seqs->starts = given.info1->data_ptr();
    if (given.position == POSITION_ARRAY && given.length == LENGTH_MAX) {
        seqs->max = given.max;
        if (given.max < 1) /* to the C API that is no limit */
            tensors[0]->size[2] = tensors[1]->size[2] = 0;
    } else if (given.position == POSITION_REUSE && !seqs->packed)
        seqs->starts = info0; /* of a packed side the C API takes them from `cumulative` itself */
    return nullptr;
}

/* How many arrays there are of int64, and of any other type. */
struct types {
    int wide, other;
};

static types count_types(const varlen &given)
{
    types found = {0, 0};
    for (const T1 *array : {given.q.info0, given.q.info1, given.k.info0, given.k.info1})
        if (*array)
            ++(array->dtype() == ao::kInt64 ? found.wide : found.other);
    return found;
}

/* Rows of the sequences lie behind each other in L from 0.12 on; before, each has max_seqlen_q. */
static void translate_lse_layout(const varlen &given, aothip_attn_fwd_params *params)
{
    if (given.lse_layout == 1)
        params->lse_layout = AOTHIP_LSE_TOTAL;
    else if (AOTRITON_VERSION_MINOR >= 12 && params->q_seqs.packed)
        params->lse_layout = AOTHIP_LSE_HEADS_COMPACT;
    else if (given.q.stacked == STACKED && params->q.size[0] > 1)
        params->lse_layout = AOTHIP_LSE_HEADS; /* rows as many as all sequences have room for */
}

/* Everything that can be wrong. */
static const char *check(const varlen &given, std::int64_t n, const types &types,
                         const aothip_attn_fwd_params &params)
{
    if (given.reserved || given.lse_layout > 1)
        return "varlen_bits: a bit without meaning is set";
    if (const char *const reason = check_side(given.q))
        return reason;
    if (const char *const reason = check_side(given.k))
        return reason;
    if (n < 0)
        return "Q: stacked sequences without lengths that tell how many there are";
    if (types.wide && types.other)
        return "cu_seqlens, seq_strides: some are int32, others int64";
    const std::uint64_t wanted = static_cast<std::uint64_t>(n);
    if (const char *const reason = check_extent(given.q, wanted, params.q.size[0], true))
        return reason;
    return check_extent(given.k, wanted, params.k.size[0], false);
}

hipError_t translate_sequences(const varlen &given, aothip_attn_fwd_params *params)
{
    aothip_tensor *const q_tensors[] = {&params->q, &params->o};
    aothip_tensor *const k_tensors[] = {&params->k, &params->v};
    const std::int64_t n = count_sequences(given.q, params->q.size[0]);
    const types types = count_types(given);
    const char *reason = check(given, n, types, *params);
    if (reason)
        return refuse(AOTHIP_E_ARGUMENT, reason);
    params->sequences = static_cast<std::int32_t>(n);
    params->index64 = types.wide != 0;
    reason = translate_side(given.q, n, q_tensors, &params->q_seqs);
    if (!reason)
        reason = translate_side(given.k, n, k_tensors, &params->k_seqs);
    if (reason)
        return refuse(AOTHIP_E_ARGUMENT, reason);
    translate_lse_layout(given, params);
    if (given.q.stacked || given.q.length || given.q.position)
        params->q_seqs.max = given.q.max; /* else that of the tensor holds */
    /*
     * Callers give Max_seqlen_k as 0 in the forward pass and truly in the backward one. Dropout
     * must be the same in both, so it is not passed on; but a bias has that many columns.
     */
    if (params->bias.data && params->k_seqs.packed && !params->k_seqs.max)
        params->k_seqs.max = static_cast<std::int32_t>(params->bias.size[3]);
    return hipSuccess;
}

varlen compact(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k)
{
    return {{STACKED, LENGTH_CUMULATIVE, POSITION_REUSE, &cu_q, &none, max_q},
            {STACKED, LENGTH_CUMULATIVE, POSITION_REUSE, &cu_k, &none, max_k},
            0,
            false};
}

varlen padded(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k)
{
    return {{SEPARATE, LENGTH_CUMULATIVE, POSITION_IMPLIED, &cu_q, &none, max_q},
            {SEPARATE, LENGTH_CUMULATIVE, POSITION_IMPLIED, &cu_k, &none, max_k},
            0,
            false};
}

varlen strided(const T1 &cu_q, const T1 &cu_k, std::int32_t max_q, std::int32_t max_k,
               const T1 &starts_q, const T1 &starts_k)
{
    return {{STACKED, LENGTH_CUMULATIVE, POSITION_ARRAY, &cu_q, &starts_q, max_q},
            {STACKED, LENGTH_CUMULATIVE, POSITION_ARRAY, &cu_k, &starts_k, max_k},
            0,
            false};
}

} // namespace shim
