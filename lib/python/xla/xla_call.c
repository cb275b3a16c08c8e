/* The handlers of XLA's custom calls: from a call frame to the params of the C API. */
#include "xla_side.h"

#include <string.h>

void aothip_xla_setup(const struct aothip_xla_library *library)
{
    xla_library = *library;
}

/* When a handler is registered, it is only asked for its interface. 1 if that was this. */
static int tell_version(const struct xla_call *call)
{
    struct xla_extension *e = call->extension;
    while (e && e->type != XLA_EXTENSION_METADATA)
        e = e->next;
    if (!e)
        return 0;
    struct xla_metadata *metadata = ((struct xla_metadata_extension *)(void *)e)->metadata;
    metadata->version.major = 0;
    metadata->version.minor = xla_library.minor;
    metadata->traits = 0;
    return 1;
}

/* The attribute `name`, which must have this type, into *value of 4 bytes. */
static void read_number(struct xla_side *side, const char *name, int type, void *value)
{
    const struct xla_attributes *a = &side->call->attributes;
    for (int64_t i = 0; i < a->count; i++) {
        const struct xla_scalar *scalar = a->values[i];
        if (a->names[i]->length == strlen(name) && !memcmp(a->names[i]->data, name, strlen(name)) &&
            a->kinds[i] == XLA_KIND_SCALAR && scalar->type == type) {
            memcpy(value, scalar->value, 4);
            return;
        }
    }
    xla_side_fail(side, XLA_INVALID_ARGUMENT, "aothip: a custom call lacks an attribute");
}

static int32_t dtype_of(int type)
{
    return type == XLA_F16    ? AOTHIP_F16
           : type == XLA_BF16 ? AOTHIP_BF16
           : type == XLA_F32  ? AOTHIP_F32
           : type == XLA_BOOL ? AOTHIP_BOOL
                              : 0;
}

/* Buffer number `at` if it has this rank and a type that is known, else NULL with an error. */
static const struct xla_buffer *buffer(struct xla_side *side, const struct xla_values *values,
                                       int64_t at, int rank)
{
    const struct xla_buffer *found = NULL;
    if (at < values->count && values->kinds[at] == XLA_KIND_BUFFER)
        found = values->values[at];
    if (found && found->rank == rank && (found->type == XLA_S32 || dtype_of(found->type)))
        return found;
    xla_side_fail(side, XLA_INVALID_ARGUMENT,
                  "aothip: a custom call has other arguments than "
                  "its attributes say");
    return NULL;
}

/* (batch, head, sequence, channel) of what lies as (batch, sequence, head, channel), or, of scores,
 * in that order already. */
static struct aothip_tensor view(const struct xla_buffer *b, void *data, int scores)
{
    struct aothip_tensor t = {.data = data, .dtype = dtype_of(b->type)};
    const int order[4] = {0, scores ? 1 : 2, scores ? 2 : 1, 3};
    int64_t stride[4] = {0, 0, 0, 1};
    for (int i = 2; i >= 0; i--)
        stride[i] = stride[i + 1] * (b->dims[i + 1] ? b->dims[i + 1] : 1);
    for (int i = 0; i < 4; i++) {
        t.size[i] = b->dims[order[i]];
        t.stride[i] = stride[order[i]];
    }
    return t;
}

static struct aothip_tensor argument(struct xla_side *side, int64_t at, int scores)
{
    const struct xla_buffer *b = buffer(side, &side->call->arguments, at, 4);
    return b ? view(b, xla_side_argument(side, b), scores) : (struct aothip_tensor){.data = NULL};
}

static struct aothip_tensor result(struct xla_side *side, int64_t at, int scores, int clear)
{
    const struct xla_buffer *b = buffer(side, &side->call->results, at, 4);
    return b ? view(b, xla_side_result(side, b, clear), scores)
             : (struct aothip_tensor){.data = NULL};
}

/* The library gets an address only: buffer number `at` if it has this type and shape, else NULL
 * with an error. */
static const struct xla_buffer *plain_buffer(struct xla_side *side, const struct xla_values *values,
                                             int64_t at, enum xla_type type, int rank,
                                             const int64_t *dims)
{
    const struct xla_buffer *b = buffer(side, values, at, rank);
    if (b && b->type == (int)type && !memcmp(b->dims, dims, (size_t)rank * sizeof(*dims)))
        return b;
    xla_side_fail(side, XLA_INVALID_ARGUMENT,
                  "aothip: lengths are not int32 (batch), or lse not float32 (batch, heads, rows)");
    return NULL;
}

static const void *lengths(struct xla_side *side, int64_t at, int64_t batch)
{
    const struct xla_buffer *b = plain_buffer(side, &side->call->arguments, at, XLA_S32, 1, &batch);
    return b ? xla_side_argument(side, b) : NULL;
}

/* Number `at` of `values` as the log-sum-exp of the rows of q. */
static const struct xla_buffer *lse_buffer(struct xla_side *side, const struct xla_values *values,
                                           int64_t at, const struct aothip_tensor *q)
{
    return plain_buffer(side, values, at, XLA_F32, 3, q->size);
}

/* What both calls have, with q as argument number `first`. 1 if results are to be cleared, because
 * kernels may leave some of them alone. */
static int read_problem(struct xla_side *side, int64_t first, struct aothip_attn_fwd_params *p)
{
    int32_t given = 0;
    p->struct_size = sizeof(*p);
    read_number(side, "given", XLA_S32, &given);
    read_number(side, "mask", XLA_S32, &p->mask);
    read_number(side, "left", XLA_S32, &p->window_left);
    read_number(side, "right", XLA_S32, &p->window_right);
    read_number(side, "scale", XLA_F32, &p->scale);
    read_number(side, "softcap", XLA_F32, &p->softcap);
    p->q = argument(side, first++, 0);
    p->k = argument(side, first++, 0);
    p->v = argument(side, first++, 0);
    if (given & XLA_GIVEN_BIAS)
        p->bias = argument(side, first++, 1);
    if (given & XLA_GIVEN_KEEP)
        p->keep = argument(side, first++, 1);
    if (given & XLA_GIVEN_Q_LENGTHS)
        p->q_seqs.lengths = lengths(side, first++, p->q.size[0]);
    if (given & XLA_GIVEN_K_LENGTHS)
        p->k_seqs.lengths = lengths(side, first, p->q.size[0]);
    for (int i = 0; i < 4; i++)
        if (!p->q.size[i] || !p->k.size[i])
            return 1;
    return p->q_seqs.lengths || p->k_seqs.lengths;
}

static void run_fwd(struct xla_side *side)
{
    struct aothip_attn_fwd_params p = {.struct_size = 0};
    const int clear = read_problem(side, 0, &p);
    const struct xla_buffer *lse = lse_buffer(side, &side->call->results, 1, &p.q);
    p.o = result(side, 0, 0, clear);
    if (lse)
        p.lse = xla_side_result(side, lse, clear);
    if (!side->error)
        xla_side_check(side, xla_library.fwd_workspace(xla_library.context, &p, side->stream,
                                                       &p.workspace_size));
    if (p.workspace_size)
        p.workspace = xla_side_scratch(side, p.workspace_size);
    if (!side->error)
        xla_side_check(side, xla_library.fwd(xla_library.context, &p, side->stream));
}

static void run_bwd(struct xla_side *side)
{
    struct aothip_attn_fwd_params p = {.struct_size = 0};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &p};
    const int clear = read_problem(side, 3, &p);
    const struct xla_buffer *lse = lse_buffer(side, &side->call->arguments, 2, &p.q);
    b.d_o = argument(side, 0, 0);
    p.o = argument(side, 1, 0);
    if (lse)
        p.lse = xla_side_argument(side, lse);
    b.dq = result(side, 0, 0, clear);
    b.dk = result(side, 1, 0, clear);
    b.dv = result(side, 2, 0, clear);
    if (side->call->results.count == 4)
        b.dbias = result(side, 3, 1, 1);
    if (!side->error)
        xla_side_check(side, xla_library.bwd_workspace(xla_library.context, &b, side->stream,
                                                       &b.workspace_size));
    if (b.workspace_size)
        b.workspace = xla_side_scratch(side, b.workspace_size);
    if (!side->error)
        xla_side_check(side, xla_library.bwd(xla_library.context, &b, side->stream));
}

static struct xla_error *handle(struct xla_call *call, int host, void (*run)(struct xla_side *))
{
    struct xla_side side = {.call = call, .host = host};
    if (tell_version(call) || call->stage != XLA_EXECUTE)
        return NULL;
    xla_side_open(&side);
    if (!side.error)
        run(&side);
    return xla_side_close(&side);
}

struct xla_error *aothip_xla_fwd(struct xla_call *call)
{
    return handle(call, 0, run_fwd);
}

struct xla_error *aothip_xla_fwd_host(struct xla_call *call)
{
    return handle(call, 1, run_fwd);
}

struct xla_error *aothip_xla_bwd(struct xla_call *call)
{
    return handle(call, 0, run_bwd);
}

struct xla_error *aothip_xla_bwd_host(struct xla_call *call)
{
    return handle(call, 1, run_bwd);
}
