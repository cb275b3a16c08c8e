/* What beside q, k and v goes into a problem of aothip-run: bias, slopes, sinks, sequences, lse. */
#include "run_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file of `what`, as floats in array->data. */
static int load_floats(const char *path, const char *what, struct npy_array *array)
{
    char error[NPY_ERROR_MAX];
    float *data;
    size_t i;

    if (npy_read(path, array, error)) {
        cli_say("%s", error);
        return -1;
    }
    if (array->type == NPY_F32)
        return 0;
    if (array->type == NPY_U16 || array->type == NPY_U8) {
        cli_say("%s: it holds %s; %s must be of floats", path, npy_type_name(array->type), what);
        return -1;
    }
    data = malloc(array->count * sizeof(*data));
    if (!data) {
        cli_say("%s: no memory for its %zu elements", path, array->count);
        return -1;
    }
    for (i = 0; i < array->count; i++)
        data[i] = array->type == NPY_F64 ? (float)((double *)array->data)[i]
                                         : (float)ref_load(array->data, (int64_t)i, AOTHIP_F16);
    free(array->data);
    array->data = data;
    array->type = NPY_F32;
    return 0;
}

/* (batch, head, query, key) in float32; missing dimensions and sizes of 1 are broadcast. */
static int add_bias(const struct run_options *o, struct aothip_attn_fwd_params *p,
                    struct run_extra *extra)
{
    const int64_t wanted[4] = {p->q.size[0], p->q.size[1], p->q.size[2], p->k.size[2]};
    struct npy_array *a = &extra->bias;
    int64_t size[4], stride = 1;
    char shape[NPY_SHAPE_MAX];
    int i;

    if (load_floats(o->bias, "a bias", a))
        return -1;
    for (i = 0; i < 4; i++) {
        size[i] = i < 4 - a->dims ? 1 : a->dims > 4 ? 0 : a->size[i - 4 + a->dims];
        if (size[i] != 1 && size[i] != wanted[i]) {
            cli_say("%s: its shape %s does not fit (%lld, %lld, %lld, %lld)", o->bias,
                    npy_shape_text(a, shape), (long long)wanted[0], (long long)wanted[1],
                    (long long)wanted[2], (long long)wanted[3]);
            return -1;
        }
    }
    p->bias = (struct aothip_tensor){.data = a->data, .dtype = AOTHIP_F32};
    for (i = 3; i >= 0; i--) {
        p->bias.size[i] = size[i];
        p->bias.stride[i] = stride;
        stride *= size[i];
    }
    return 0;
}

/* One float a head, or for slopes one a sequence and head. */
static int add_heads(const char *path, const char *what, int64_t batch, int64_t heads,
                     struct npy_array *a)
{
    char shape[NPY_SHAPE_MAX];

    if (load_floats(path, what, a))
        return -1;
    if ((a->dims == 1 && a->size[0] == heads) ||
        (batch && a->dims == 2 && a->size[0] == batch && a->size[1] == heads))
        return 0;
    cli_say("%s: its shape is %s; %s need one number for each of %lld heads", path,
            npy_shape_text(a, shape), what, (long long)heads);
    return -1;
}

/* "3,0,5": lengths of sequences one behind the other; *count tells how many. */
static int32_t *parse_lengths(const char *option, const char *text, int64_t rows, int *count)
{
    size_t room = strlen(text) / 2 + 3;
    int32_t *sums = calloc(room, sizeof(*sums));
    char *end;

    *count = 0;
    if (!sums)
        cli_say("no memory for %s", option);
    while (sums) {
        long length = strtol(text, &end, 10);
        if (end == text || length < 0 || length > rows - sums[*count] || (*end && *end != ',')) {
            cli_say("%s: at \"%s\": wanted are lengths, with commas between, that add up to at "
                    "most the file's %lld rows",
                    option, text, (long long)rows);
            free(sums);
            return NULL;
        }
        sums[*count + 1] = sums[*count] + (int32_t)length;
        ++*count;
        if (!*end)
            break;
        text = end + 1;
    }
    return sums;
}

static int32_t longest(const int32_t *sums, int count)
{
    int32_t most = 0;
    int i;
    for (i = 0; i < count; i++)
        if (sums[i + 1] - sums[i] > most)
            most = sums[i + 1] - sums[i];
    return most;
}

static int add_lengths(const struct run_options *o, struct aothip_attn_fwd_params *p,
                       struct run_extra *extra)
{
    int count_q, count_k;

    if (!o->lengths_q || !o->lengths_k) {
        cli_say("--lengths-q and --lengths-k go together");
        return -1;
    }
    if (p->q.size[0] != 1) {
        cli_say("--lengths-q: sequences behind each other need files of one batch entry");
        return -1;
    }
    extra->cumulative_q = parse_lengths("--lengths-q", o->lengths_q, p->q.size[2], &count_q);
    extra->cumulative_k = parse_lengths("--lengths-k", o->lengths_k, p->k.size[2], &count_k);
    if (!extra->cumulative_q || !extra->cumulative_k)
        return -1;
    if (count_q != count_k) {
        cli_say("--lengths-q has %d lengths, --lengths-k %d", count_q, count_k);
        return -1;
    }
    p->sequences = count_q;
    p->q_seqs = (struct aothip_seqs){.cumulative = extra->cumulative_q,
                                     .packed = 1,
                                     .max = longest(extra->cumulative_q, count_q)};
    p->k_seqs = (struct aothip_seqs){.cumulative = extra->cumulative_k,
                                     .packed = 1,
                                     .max = longest(extra->cumulative_k, count_k)};
    p->lse_layout = AOTHIP_LSE_HEADS;
    return 0;
}

int run_add_extra(const struct run_options *o, const struct run_input in[RUN_INPUTS],
                  struct aothip_attn_fwd_params *p, struct run_extra *extra)
{
    int64_t batch = in[RUN_Q].tensor.size[0], heads = in[RUN_Q].tensor.size[1];

    p->mask = o->mask;
    p->window_left = o->window_left;
    p->window_right = o->window_right;
    p->softcap = (float)o->softcap;
    p->lse_base2 = o->base2;
    p->dropout_p = (float)o->dropout;
    p->dropout_seed = o->seed;
    p->dropout_offset = o->offset;
    if ((o->lengths_q || o->lengths_k) && add_lengths(o, p, extra))
        return -1;
    if (o->bias && o->lengths_q) {
        cli_say("--bias does not go with --lengths-q");
        return -1;
    }
    if (o->bias && add_bias(o, p, extra))
        return -1;
    if (o->alibi && add_heads(o->alibi, "ALiBi slopes", batch, heads, &extra->alibi))
        return -1;
    if (o->sinks && add_heads(o->sinks, "sinks", 0, heads, &extra->sinks))
        return -1;
    p->alibi_slopes = extra->alibi.data;
    p->alibi_stride = extra->alibi.dims == 2 ? heads : 0;
    p->sinks = extra->sinks.data;
    return 0;
}

int run_add_lse(const struct run_options *o, const struct run_input *q,
                struct aothip_attn_fwd_params *p, struct run_extra *extra)
{
    const struct npy_array *file = &q->array;
    struct npy_array *lse = &extra->lse;
    int dims = file->dims, bshd = o->layout == ATTN_BSHD && dims > 2;

    *lse = (struct npy_array){.type = NPY_F32, .dims = dims - 1};
    memcpy(lse->size, file->size, sizeof(int64_t) * (size_t)(dims - 1));
    if (bshd) {
        lse->size[dims - 3] = q->tensor.size[1];
        lse->size[dims - 2] = q->tensor.size[2];
    }
    lse->count = file->count / (size_t)q->tensor.size[3];
    lse->data = p->lse = calloc(lse->count, sizeof(float));
    if (lse->data)
        return 0;
    cli_say("no memory for the log-sum-exp");
    return -1;
}

void run_free_extra(struct run_extra *extra)
{
    npy_free(&extra->bias);
    npy_free(&extra->alibi);
    npy_free(&extra->sinks);
    npy_free(&extra->lse);
    free(extra->cumulative_q);
    free(extra->cumulative_k);
}
