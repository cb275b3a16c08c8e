/* Checks what a forward problem has beside q, k, v, o; every message names the argument. Pure. */
#include "validate.h"

#include <string.h>

#include "shape.h"

enum { MAX_OPTIONS = 7 };

typedef struct aothip_attn_fwd_params fwd_params;

static enum aothip_status check_flag(const char *name, int32_t value, struct status *why)
{
    if (value == 0 || value == 1)
        return AOTHIP_OK;
    return VALIDATE_FAIL("%s is %d, not 0 or 1", name, value);
}

static enum aothip_status check_stride(const char *name, int64_t stride, struct status *why)
{
    if ((uint64_t)stride <= VALIDATE_MAX_STRIDE)
        return AOTHIP_OK;
    return VALIDATE_FAIL("%s is %lld, not 0 to 2^48", name, (long long)stride);
}

static enum aothip_status check_seqs(const char *name, const struct aothip_seqs *seqs,
                                     int32_t index64, struct status *why)
{
    const int64_t bytes = index64 ? 8 : 4;
    if (seqs->packed != 0 && seqs->packed != 1)
        return VALIDATE_FAIL("%s: packed is %d, not 0 or 1", name, seqs->packed);
    if ((uint32_t)seqs->max > VALIDATE_MAX_SIZE)
        return VALIDATE_FAIL("%s: max is %d, not 0 to 2^30", name, seqs->max);
    if (((uintptr_t)seqs->cumulative | (uintptr_t)seqs->lengths | (uintptr_t)seqs->starts) &
        (uintptr_t)(bytes - 1))
        return VALIDATE_FAIL("%s: an array is not aligned to its elements of %d bytes", name,
                             (int)bytes);
    return AOTHIP_OK;
}

/* How the batch sizes of q and k go together with the number of sequences. */
static enum aothip_status check_batch(const fwd_params *p, struct status *why)
{
    const int64_t sequences = shape_sequences(p);
    if (p->sequences < 0 || (uint64_t)sequences > VALIDATE_MAX_SIZE)
        return VALIDATE_FAIL("sequences is %d, not 0 to 2^30", p->sequences);
    if (p->q_seqs.packed && p->q.size[0] != 1)
        return VALIDATE_FAIL("q: size[0] (batch) is %lld, but q_seqs.packed needs 1",
                             (long long)p->q.size[0]);
    if (!p->q_seqs.packed && p->q.size[0] != sequences)
        return VALIDATE_FAIL("q: size[0] (batch) is %lld, but sequences is %d",
                             (long long)p->q.size[0], p->sequences);
    if (p->q_seqs.packed && sequences > 1 && !p->q_seqs.cumulative && !p->q_seqs.starts)
        return VALIDATE_FAIL("q_seqs: packed needs cumulative or starts");
    if (p->k_seqs.packed && p->k.size[0] != 1)
        return VALIDATE_FAIL("k: size[0] (batch) is %lld, but k_seqs.packed needs 1",
                             (long long)p->k.size[0]);
    if (!p->k_seqs.packed && !p->block_table && !p->batch_index && p->k.size[0] != sequences) {
        if (!p->sequences && !p->q_seqs.packed)
            return validate_equal(&p->k, "k", &p->q, "q", 0, why);
        return VALIDATE_FAIL("k: size[0] (batch) is %lld, but there are %lld sequences",
                             (long long)p->k.size[0], (long long)sequences);
    }
    return AOTHIP_OK;
}

static enum aothip_status check_lse(const fwd_params *p, struct validate_view *lse,
                                    struct status *why)
{
    if (p->lse_layout < AOTHIP_LSE_ROWS || p->lse_layout > AOTHIP_LSE_HEADS_COMPACT)
        return VALIDATE_FAIL("lse_layout is %d, which is no enum aothip_lse_layout", p->lse_layout);
    if (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT && !p->q_seqs.packed)
        return VALIDATE_FAIL("lse_layout is %d, which needs q_seqs.packed", p->lse_layout);
    if (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT && !p->q_seqs.starts && !p->q_seqs.cumulative)
        return VALIDATE_FAIL("lse_layout is %d, which needs q_seqs.starts or cumulative",
                             p->lse_layout);
    if (p->lse_size < 0)
        return VALIDATE_FAIL("lse_size is %lld", (long long)p->lse_size);
    if (check_flag("lse_base2", p->lse_base2, why))
        return why->code;
    return validate_array(lse, p->lse, shape_lse_room(p), 4, why);
}

static enum aothip_status check_pages(const fwd_params *p, struct status *why)
{
    const int64_t page = p->k.size[2];
    if (validate_pointer("batch_index", p->batch_index, 4, why))
        return why->code;
    if (p->batch_index && p->k_seqs.packed)
        return VALIDATE_FAIL("batch_index does not go with k_seqs.packed");
    if (!p->block_table)
        return AOTHIP_OK;
    if (p->batch_index)
        return VALIDATE_FAIL("block_table and batch_index are both given");
    if (p->k_seqs.packed || p->k_seqs.starts)
        return VALIDATE_FAIL("block_table does not go with k_seqs.packed or k_seqs.starts");
    if (page < VALIDATE_MIN_PAGE || page > VALIDATE_MAX_PAGE || page & (page - 1))
        return VALIDATE_FAIL("k: size[2] (seq) is %lld; a page has a power of two from %d to %d "
                             "rows",
                             (long long)page, VALIDATE_MIN_PAGE, VALIDATE_MAX_PAGE);
    if ((uint64_t)(p->block_table_columns * page) > VALIDATE_MAX_SIZE)
        return VALIDATE_FAIL("block_table_columns is %d, not 0 to 2^30 rows of %lld a page",
                             p->block_table_columns, (long long)page);
    if (validate_pointer("block_table", p->block_table, 4, why) ||
        check_stride("block_table_stride", p->block_table_stride, why))
        return why->code;
    return AOTHIP_OK;
}

/* A bias or a boolean mask, if it is there: each size is that of the scores or 1. */
static enum aothip_status check_scores(struct validate_view *view, const fwd_params *p,
                                       struct status *why)
{
    const int64_t wanted[4] = {shape_sequences(p), p->q.size[1], shape_grid_q(p), shape_max_k(p)};
    const struct aothip_tensor *tensor = view->tensor;
    if (!tensor->data)
        return AOTHIP_OK;
    if (tensor == &p->keep && tensor->dtype != AOTHIP_BOOL)
        return VALIDATE_FAIL("keep: dtype is %d, not BOOL", tensor->dtype);
    if (tensor == &p->bias && tensor->dtype != AOTHIP_F32 && tensor->dtype != p->o.dtype)
        return VALIDATE_FAIL("bias: dtype is %d, neither F32 nor o's %d", tensor->dtype,
                             p->o.dtype);
    for (int i = 0; i < 4; i++) {
        const int64_t size = tensor->size[i];
        if (size != 1 && (i < 2 ? size != wanted[i] : size < wanted[i]))
            return VALIDATE_FAIL("%s: size[%d] is %lld, not 1 or %lld", view->name, i,
                                 (long long)size, (long long)wanted[i]);
    }
    return validate_span(view, why);
}

static enum aothip_status check_dropout(const fwd_params *p, struct status *why)
{
    if (!(p->dropout_p >= 0 && p->dropout_p <= 1))
        return VALIDATE_FAIL("dropout_p is %g, not 0 to 1", (double)p->dropout_p);
    if (check_flag("probs_dropped", p->probs_dropped, why) || p->dropout_p == 0)
        return why->code; /* without dropout the pointers may be anything */
    if (validate_pointer("dropout_seed_pointer", p->dropout_seed_pointer, 8, why) ||
        validate_pointer("dropout_offset_pointer", p->dropout_offset_pointer, 8, why) ||
        validate_pointer("dropout_seed_output", p->dropout_seed_output, 8, why) ||
        validate_pointer("dropout_offset_output", p->dropout_offset_output, 8, why))
        return why->code;
    return AOTHIP_OK;
}

static enum aothip_status check_probs(const fwd_params *p, struct validate_view *view,
                                      struct status *why)
{
    const struct aothip_tensor *probs = &p->probs;
    if (!probs->data)
        return AOTHIP_OK;
    if (probs->dtype != AOTHIP_F32 && probs->dtype != AOTHIP_F16 && probs->dtype != AOTHIP_BF16)
        return VALIDATE_FAIL("probs: dtype is %d, not F32, F16 or BF16", probs->dtype);
    if (probs->size[0] != shape_sequences(p))
        return VALIDATE_FAIL("probs: size[0] (batch) is %lld, but there are %lld sequences",
                             (long long)probs->size[0], (long long)shape_sequences(p));
    if (validate_equal(probs, "probs", &p->q, "q", 1, why))
        return why->code;
    if (p->probs_dropped && !p->lse)
        return VALIDATE_FAIL("probs_dropped needs lse");
    if (p->probs_dropped && shape_is_fp8(p->k.dtype))
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "probs_dropped: k and v are FP8 (dtype %d), of which probs cannot be "
                          "computed again",
                          p->k.dtype);
    return validate_span(view, why);
}

/* ALiBi, soft-cap and sinks. */
static enum aothip_status check_score_scalars(const fwd_params *p, struct status *why)
{
    if (!(p->softcap >= 0) || !__builtin_isfinite(p->softcap))
        return VALIDATE_FAIL("softcap is %g, not 0 or positive", (double)p->softcap);
    if (validate_pointer("alibi_slopes", p->alibi_slopes, 4, why) ||
        check_stride("alibi_stride", p->alibi_stride, why) ||
        validate_pointer("sinks", p->sinks, 4, why))
        return why->code;
    return AOTHIP_OK;
}

static enum aothip_status check_append(const fwd_params *p, struct validate_view *k_new,
                                       struct validate_view *v_new, struct status *why)
{
    const struct aothip_tensor *given[] = {&p->k_new, &p->v_new};
    struct validate_view *views[] = {k_new, v_new};
    if (!p->k_new.data != !p->v_new.data)
        return VALIDATE_FAIL("%s is given without %s", p->k_new.data ? "k_new" : "v_new",
                             p->k_new.data ? "v_new" : "k_new");
    if (!p->k_new.data)
        return AOTHIP_OK;
    if (shape_is_fp8(p->q.dtype))
        return VALIDATE_FAIL(
            "k_new does not go with FP8 of q; with q of F16 or BF16 it goes into caches "
            "of FP8");
    for (int i = 0; i < 2; i++) {
        const struct aothip_tensor *cache = i ? &p->v : &p->k;
        if (validate_like_q(views[i], p->q.dtype, why))
            return why->code;
        if (given[i]->size[0] != shape_sequences(p))
            return VALIDATE_FAIL("%s: size[0] (batch) is %lld, but there are %lld sequences",
                                 views[i]->name, (long long)given[i]->size[0],
                                 (long long)shape_sequences(p));
        if (validate_equal(given[i], views[i]->name, cache, i ? "v" : "k", 1, why) ||
            validate_equal(given[i], views[i]->name, cache, i ? "v" : "k", 3, why))
            return why->code;
    }
    if (validate_equal(&p->v_new, "v_new", &p->k_new, "k_new", 2, why))
        return why->code;
    if (!p->k_seqs.lengths && !p->k_seqs.cumulative)
        return VALIDATE_FAIL("k_new needs k_seqs.lengths or cumulative");
    if (p->k_seqs.packed)
        return VALIDATE_FAIL("k_new does not go with k_seqs.packed");
    return AOTHIP_OK;
}

/* The scale of a tensor, if it is there. */
static enum aothip_status check_scale(const char *name, const struct aothip_scale *scale,
                                      const char *tensor, int32_t dtype, struct status *why)
{
    if (!scale->data)
        return AOTHIP_OK;
    if (!shape_is_fp8(dtype))
        return VALIDATE_FAIL("%s is set, but %s is not FP8: its dtype is %d", name, tensor, dtype);
    for (int i = 0; i < 2; i++)
        if ((uint64_t)scale->stride[i] > VALIDATE_MAX_STRIDE)
            return VALIDATE_FAIL("%s: stride[%d] (%s) is %lld, not 0 to 2^48", name, i,
                                 validate_axis[i], (long long)scale->stride[i]);
    return validate_pointer(name, scale->data, 4, why);
}

static enum aothip_status check_scales(const fwd_params *p, struct status *why)
{
    if (check_scale("q_scale", &p->q_scale, "q", p->q.dtype, why) ||
        check_scale("k_scale", &p->k_scale, "k", p->k.dtype, why) ||
        check_scale("v_scale", &p->v_scale, "v", p->v.dtype, why))
        return why->code;
    return AOTHIP_OK;
}

static enum aothip_status check_rotary(const fwd_params *p, struct status *why)
{
    const int64_t bytes = validate_dtype_bytes(p->q.dtype);
    if (!p->rotary_cos != !p->rotary_sin)
        return VALIDATE_FAIL("%s is given without %s", p->rotary_cos ? "rotary_cos" : "rotary_sin",
                             p->rotary_cos ? "rotary_sin" : "rotary_cos");
    if (check_flag("rotary_interleaved", p->rotary_interleaved, why) || !p->rotary_cos)
        return why->code;
    if (shape_is_fp8(p->q.dtype))
        return VALIDATE_FAIL(
            "rotary_cos does not go with FP8 of q; rotate before, or give q as F16 or "
            "BF16");
    if (p->rotary_dim < 2 || p->rotary_dim % 2 || p->rotary_dim > p->q.size[3])
        return VALIDATE_FAIL("rotary_dim is %d, not even from 2 to q's head dim, %lld",
                             p->rotary_dim, (long long)p->q.size[3]);
    if (p->rotary_rows < 1)
        return VALIDATE_FAIL("rotary_rows is %d", p->rotary_rows);
    if (p->q_seqs.packed || p->q_seqs.starts)
        return VALIDATE_FAIL("rotary_cos does not go with q_seqs.packed or q_seqs.starts");
    if (check_stride("rotary_stride", p->rotary_stride, why) ||
        validate_pointer("rotary_cos", p->rotary_cos, bytes, why) ||
        validate_pointer("rotary_sin", p->rotary_sin, bytes, why))
        return why->code;
    return AOTHIP_OK;
}

static enum aothip_status check_workspace(const fwd_params *p, struct status *why)
{
    if (p->splits < 0 || p->splits > VALIDATE_MAX_SPLITS)
        return VALIDATE_FAIL("splits is %d, not 0 to %d", p->splits, VALIDATE_MAX_SPLITS);
    if (p->reserved)
        return VALIDATE_FAIL("reserved is %d, not 0", p->reserved);
    return validate_pointer("workspace", p->workspace, 16, why);
}

/* Adds an optional tensor, if it is there, to the views that must not overlap. */
static struct validate_view *add_view(struct validate_view *views, int *count, const char *name,
                                      const struct aothip_tensor *tensor, int written)
{
    struct validate_view *view = &views[*count];
    view->name = name;
    view->tensor = tensor;
    view->begin = view->end = 0;
    view->written = written;
    *count += tensor->data != NULL;
    return view;
}

enum aothip_status validate_options(const fwd_params *p,
                                    const struct validate_view views[VALIDATE_REQUIRED],
                                    struct status *why)
{
    struct validate_view all[VALIDATE_REQUIRED + MAX_OPTIONS], *lse = &all[VALIDATE_REQUIRED];
    int count = VALIDATE_REQUIRED + 1;
    memcpy(all, views, VALIDATE_REQUIRED * sizeof(all[0]));
    lse->name = "lse";
    lse->tensor = NULL;
    lse->written = 1;
    all[VALIDATE_O].written = 1;
    all[VALIDATE_K].written = all[VALIDATE_V].written = p->k_new.data != NULL;
    if (check_flag("index64", p->index64, why) ||
        check_seqs("q_seqs", &p->q_seqs, p->index64, why) ||
        check_seqs("k_seqs", &p->k_seqs, p->index64, why) || check_batch(p, why) ||
        check_pages(p, why) || check_lse(p, lse, why) || check_score_scalars(p, why) ||
        check_scores(add_view(all, &count, "bias", &p->bias, 0), p, why) ||
        check_scores(add_view(all, &count, "keep", &p->keep, 0), p, why) || check_dropout(p, why) ||
        check_probs(p, add_view(all, &count, "probs", &p->probs, 1), why) ||
        check_append(p, add_view(all, &count, "k_new", &p->k_new, 0),
                     add_view(all, &count, "v_new", &p->v_new, 0), why) ||
        check_rotary(p, why) || check_scales(p, why) || check_workspace(p, why))
        return why->code;
    return validate_apart(all, count, why);
}
