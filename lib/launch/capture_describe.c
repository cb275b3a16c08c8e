/* Lists the tensors of a launch, with their places in the kernel arguments. Pure. */
#include "capture_describe.h"

#include <stddef.h>
#include <string.h>

#include "shape.h"

enum { IN, OUT };

/* All that a description is made from. */
struct description {
    struct capture_launch *launch;
    const union args_any *args;
    const struct aothip_attn_fwd_params *fwd;
};

uint64_t capture_dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
    case CAPTURE_I32:
        return 4;
    case CAPTURE_I64:
        return 8;
    case AOTHIP_BOOL:
    case AOTHIP_FP8_E4M3:
    case AOTHIP_FP8_E5M2:
    case AOTHIP_FP8_E4M3_FNUZ:
    case AOTHIP_FP8_E5M2_FNUZ:
        return 1;
    default:
        return 2;
    }
}

/* Adds a tensor whose address stands at `offset` in the arguments, if there is one. */
static void add_tensor(const struct description *d, const char *name,
                       const struct aothip_tensor *view, size_t offset, int written)
{
    struct capture_launch *launch = d->launch;
    struct capture_tensor *tensor = &launch->tensors[launch->tensor_count];
    uint64_t address;
    memcpy(&address, (const char *)d->args + offset, sizeof(address));
    if (!address || !view->size[0] || !view->size[1] || !view->size[2] || !view->size[3] ||
        launch->tensor_count == CAPTURE_MAX_TENSORS)
        return;
    *tensor = (struct capture_tensor){name, *view, (uint32_t)offset, written};
    memcpy(&tensor->view.data, &address, sizeof(address));
    for (int i = 0; i < 4; i++)
        if (view->size[i] == 1)
            tensor->view.stride[i] = 0; /* callers may leave anything there */
    launch->tensor_count++;
}

/* An array of `rows` times `columns` elements. */
static void add_array(const struct description *d, const char *name, int32_t dtype, int64_t rows,
                      int64_t pitch, int64_t columns, size_t offset, int written)
{
    const struct aothip_tensor view = {NULL, {1, 1, rows, columns}, {0, 0, pitch, 1}, dtype};
    add_tensor(d, name, &view, offset, written);
}

#define SEQS(side, array) offsetof(struct attn_problem, side.array)

static void add_sequences(const struct description *d)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    const int32_t dtype = p->index64 ? CAPTURE_I64 : CAPTURE_I32;
    const int64_t n = shape_sequences(p);
    const int64_t starts = n + (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT);
    add_array(d, "q_cumulative", dtype, 1, 0, n + 1, SEQS(q_seqs, cumulative), IN);
    add_array(d, "q_lengths", dtype, 1, 0, n, SEQS(q_seqs, lengths), IN);
    add_array(d, "q_starts", dtype, 1, 0, starts, SEQS(q_seqs, starts), IN);
    add_array(d, "k_cumulative", dtype, 1, 0, n + 1, SEQS(k_seqs, cumulative), IN);
    add_array(d, "k_lengths", dtype, 1, 0, n, SEQS(k_seqs, lengths), IN);
    add_array(d, "k_starts", dtype, 1, 0, n, SEQS(k_seqs, starts), IN);
    add_array(d, "block_table", CAPTURE_I32, n, p->block_table_stride, p->block_table_columns,
              offsetof(struct attn_problem, block_table), IN);
    add_array(d, "batch_index", CAPTURE_I32, 1, 0, n, offsetof(struct attn_problem, batch_index),
              IN);
}

#undef SEQS

/* The tensors of attn_problem. */
static void add_problem(const struct description *d, int cache_written)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    const int64_t heads = p->q.size[1], n = shape_sequences(p);
    struct aothip_tensor q = p->q;
    if (d->args->problem.q != (uintptr_t)p->q.data) { /* rotated, in the workspace */
        q.stride[2] = q.size[3];
        q.stride[1] = q.size[2] * q.stride[2];
        q.stride[0] = q.size[1] * q.stride[1];
    }
    add_tensor(d, "q", &q, offsetof(struct attn_problem, q), IN);
    add_tensor(d, "k", &p->k, offsetof(struct attn_problem, k), cache_written);
    add_tensor(d, "v", &p->v, offsetof(struct attn_problem, v), cache_written);
    add_sequences(d);
    add_array(d, "sinks", AOTHIP_F32, 1, 0, heads, offsetof(struct attn_problem, sinks), IN);
    add_tensor(d, "bias", &p->bias, offsetof(struct attn_problem, bias.data), IN);
    add_tensor(d, "keep", &p->keep, offsetof(struct attn_problem, keep.data), IN);
    add_array(d, "alibi", AOTHIP_F32, p->alibi_stride ? n : 1, p->alibi_stride, heads,
              offsetof(struct attn_problem, alibi), IN);
    add_array(d, "dropout_seed", CAPTURE_I64, 1, 0, 1,
              offsetof(struct attn_problem, dropout_seed_pointer), IN);
    add_array(d, "dropout_offset", CAPTURE_I64, 1, 0, 1,
              offsetof(struct attn_problem, dropout_offset_pointer), IN);
}

/* The scale of a tensor, which may be the same for all sequences or heads. */
static void add_scale(const struct description *d, const char *name,
                      const struct aothip_scale *scale, size_t offset)
{
    const int64_t *stride = scale->stride;
    const int64_t sequences = stride[0] ? shape_sequences(d->fwd) : 1;
    const int64_t heads = stride[1] ? d->fwd->k.size[1] : 1;
    const struct aothip_tensor view = {
        NULL, {1, 1, sequences, heads}, {0, 0, stride[0], stride[1]}, AOTHIP_F32};
    add_tensor(d, name, &view, offset, IN);
}

/* Of a kernel that reads or writes FP8; `offset` is that of struct kernarg_fp8. */
static void add_scales(const struct description *d, size_t offset)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    add_scale(d, "q_scale", &p->q_scale, offset + offsetof(struct kernarg_fp8, q));
    add_scale(d, "k_scale", &p->k_scale, offset + offsetof(struct kernarg_fp8, k));
    add_scale(d, "v_scale", &p->v_scale, offset + offsetof(struct kernarg_fp8, v));
}

static void add_fwd(const struct description *d)
{
    add_tensor(d, "o", &d->fwd->o, offsetof(struct attn_fwd_args, o), OUT);
    add_array(d, "lse", AOTHIP_F32, 1, 0, shape_lse_room(d->fwd),
              offsetof(struct attn_fwd_args, lse), OUT);
    add_array(d, "seed_output", CAPTURE_I64, 1, 0, 1, offsetof(struct attn_fwd_args, seed_output),
              OUT);
    add_array(d, "offset_output", CAPTURE_I64, 1, 0, 1,
              offsetof(struct attn_fwd_args, offset_output), OUT);
}

static void add_split(const struct description *d, int merge)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    const int64_t rows = shape_sequences(p) * p->q.size[1] * shape_grid_q(p);
    const int64_t splits = d->args->split.splits;
    if (merge)
        add_fwd(d);
    else if (shape_is_fp8(p->k.dtype))
        add_scales(d, offsetof(struct attn_split_fp8_args, fp8));
    add_array(d, "partial_o", AOTHIP_F32, rows * splits, p->v.size[3], p->v.size[3],
              offsetof(struct attn_split_args, partial_o), merge ? IN : OUT);
    add_array(d, "partial_sums", AOTHIP_F32, rows, splits * 2, splits * 2,
              offsetof(struct attn_split_args, partial_sums), merge ? IN : OUT);
}

static void add_append(const struct description *d)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    const int64_t pairs = p->rotary_dim / 2, dim = p->q.size[3];
    const int64_t q_rows = p->q.size[0] * p->q.size[1] * p->q.size[2];
    add_tensor(d, "k_new", &p->k_new, offsetof(struct attn_append_args, k_new), IN);
    add_tensor(d, "v_new", &p->v_new, offsetof(struct attn_append_args, v_new), IN);
    add_array(d, "q_out", p->q.dtype, q_rows, dim, dim, offsetof(struct attn_append_args, q_out),
              OUT);
    add_array(d, "rotary_cos", p->q.dtype, p->rotary_rows, p->rotary_stride, pairs,
              offsetof(struct attn_append_args, rotary_cos), IN);
    add_array(d, "rotary_sin", p->q.dtype, p->rotary_rows, p->rotary_stride, pairs,
              offsetof(struct attn_append_args, rotary_sin), IN);
    if (shape_is_fp8(p->k.dtype) && p->k_new.data)
        add_scales(d, offsetof(struct attn_append_fp8_args, fp8));
}

/* The f32 sums that workgroups leave in the workspace, which attn_bwd_sum reads. */
static void add_parts(const struct description *d, const struct aothip_attn_bwd_params *b,
                      int written)
{
    const struct attn_bwd_share_args *args = &d->args->share;
    const int64_t n = shape_sequences(d->fwd);
    const int64_t keys = n * d->fwd->k.size[1] * args->bwd.problem.seq_k;
    const int64_t shared = (int64_t)args->parts_heads * args->parts_rows;
    const int64_t qk = (b->dk.size[3] + 31) / 32 * 32, v = (b->dv.size[3] + 31) / 32 * 32;
    const int64_t rows = shape_grid_q(d->fwd), bands = (rows + 31) / 32;
    const int64_t queries = n * d->fwd->q.size[1] * (args->dq_in_blocks ? bands * 32 : rows);
    const int64_t q = (b->dq.size[3] + 31) / 32 * 32;
    add_array(d, "part_dq", AOTHIP_F32, queries * args->parts_keys, q, q,
              offsetof(struct attn_bwd_share_args, part_dq), written);
    add_array(d, "part_dk", AOTHIP_F32, keys * shared, qk, qk,
              offsetof(struct attn_bwd_share_args, part_dk), written);
    add_array(d, "part_dv", AOTHIP_F32, keys * shared, v, v,
              offsetof(struct attn_bwd_share_args, part_dv), written);
}

static void add_bwd(const struct description *d, const struct aothip_attn_bwd_params *b,
                    int delta_written)
{
    const struct aothip_attn_fwd_params *p = d->fwd;
    const int64_t room = shape_lse_room(p), heads = p->q.size[1];
    add_tensor(d, "o", &p->o, offsetof(struct attn_bwd_args, o), IN);
    add_tensor(d, "d_o", &b->d_o, offsetof(struct attn_bwd_args, d_o), IN);
    add_array(d, "lse", AOTHIP_F32, 1, 0, room, offsetof(struct attn_bwd_args, lse), IN);
    add_array(d, "delta", AOTHIP_F32, 1, 0, room, offsetof(struct attn_bwd_args, delta),
              delta_written);
    add_tensor(d, "dq", &b->dq, offsetof(struct attn_bwd_args, dq), OUT);
    add_tensor(d, "dk", &b->dk, offsetof(struct attn_bwd_args, dk), OUT);
    add_tensor(d, "dv", &b->dv, offsetof(struct attn_bwd_args, dv), OUT);
    add_tensor(d, "dbias", &b->dbias, offsetof(struct attn_bwd_args, dbias.data), OUT);
    add_array(d, "dsinks", AOTHIP_F32, 1, 0, heads, offsetof(struct attn_bwd_args, dsinks), OUT);
    add_array(d, "dalibi", AOTHIP_F32, p->alibi_stride ? shape_sequences(p) : 1, p->alibi_stride,
              heads, offsetof(struct attn_bwd_args, dalibi), OUT);
}

void capture_describe(struct capture_launch *launch, enum format_op op, const union args_any *args,
                      const struct aothip_attn_fwd_params *fwd,
                      const struct aothip_attn_bwd_params *bwd)
{
    const struct description d = {launch, args, fwd};
    add_problem(&d, op == FORMAT_OP_ATTN_APPEND ? OUT : IN);
    switch (op) {
    case FORMAT_OP_ATTN_FWD:
        add_fwd(&d);
        if (shape_is_fp8(fwd->k.dtype))
            add_scales(&d, offsetof(struct attn_fwd_fp8_args, fp8));
        break;
    case FORMAT_OP_ATTN_SPLIT:
    case FORMAT_OP_ATTN_MERGE:
        add_split(&d, op == FORMAT_OP_ATTN_MERGE);
        break;
    case FORMAT_OP_ATTN_APPEND:
        add_append(&d);
        break;
    case FORMAT_OP_ATTN_PROBS:
        add_array(&d, "lse", AOTHIP_F32, 1, 0, shape_lse_room(fwd),
                  offsetof(struct attn_probs_args, lse), IN);
        add_tensor(&d, "probs", &fwd->probs, offsetof(struct attn_probs_args, probs.data), OUT);
        break;
    default:
        add_bwd(&d, bwd,
                op == FORMAT_OP_ATTN_BWD_DELTA || op == FORMAT_OP_ATTN_BWD_BEGIN ? OUT : IN);
        if (args_bwd_shares(op))
            add_parts(&d, bwd, op == FORMAT_OP_ATTN_BWD_SUM ? IN : OUT);
    }
}

void capture_describe_merge(struct capture_launch *launch, const union args_any *args,
                            const struct aothip_attn_merge_params *merge)
{
    const struct description d = {launch, args, NULL};
    add_tensor(&d, "o", &merge->o, offsetof(struct attn_merge_part_args, o), OUT);
    add_tensor(&d, "lse", &merge->lse, offsetof(struct attn_merge_part_args, lse), OUT);
    add_tensor(&d, "part_o", &merge->part_o, offsetof(struct attn_merge_part_args, part_o), IN);
    add_tensor(&d, "part_lse", &merge->part_lse, offsetof(struct attn_merge_part_args, part_lse),
               IN);
}
