/* The files of aothip-run: reading tensors, checking that they fit, writing outputs. */
#include "run_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* (batch, head, sequence, channel) of a file's shape; missing dimensions are 1. */
static int read_sizes(const struct run_options *o, struct run_input *in)
{
    const int64_t *size = in->array.size;
    int64_t *to = in->tensor.size;
    int i, missing = 4 - in->array.dims;

    npy_shape_text(&in->array, in->shape);
    if (missing < 0 || missing > 2) {
        cli_say("%s: its shape %s has %d dimensions; wanted are 4, 3 or 2", in->path, in->shape,
                in->array.dims);
        return -1;
    }
    for (i = 0; i < 4; i++)
        to[i] = i < missing ? 1 : size[i - missing];
    if (o->layout == ATTN_BSHD && missing == 0) {
        to[1] = size[2];
        to[2] = size[1];
    } else if (o->layout == ATTN_BSHD && missing == 1) {
        to[1] = size[1];
        to[2] = size[0];
    }
    for (i = 0; i < 4; i++)
        if (to[i] < 1) {
            cli_say("%s: its shape %s is empty", in->path, in->shape);
            return -1;
        }
    return 0;
}

/* Whether the elements are in the type that is computed in, or can be taken for it. */
static bool fits(int dtype, enum npy_type type)
{
    return type == (dtype == AOTHIP_F16 ? NPY_F16 : dtype == AOTHIP_BF16 ? NPY_U16 : NPY_F32);
}

static const char *dtype_name(int dtype)
{
    return dtype == AOTHIP_F16 ? "float16" : dtype == AOTHIP_BF16 ? "bfloat16" : "float32";
}

/* An element of a file as a number. */
static double element(const struct npy_array *a, size_t i)
{
    switch (a->type) {
    case NPY_F64:
        return ((const double *)a->data)[i];
    case NPY_F32:
        return (double)((const float *)a->data)[i];
    case NPY_F16:
        return ref_load(a->data, (int64_t)i, AOTHIP_F16);
    case NPY_U16:
        return ref_load(a->data, (int64_t)i, AOTHIP_BF16);
    case NPY_U8: /* is never converted */
        break;
    }
    return NAN;
}

/* Brings the elements into the type that is computed in. */
static int convert(const struct run_options *o, struct run_input *in)
{
    enum npy_type type = in->array.type;
    size_t i, count = in->array.count, infinite = 0;
    void *data;

    if (type == NPY_U8 && !o->fp8) {
        cli_say("%s: it holds uint8; if that is FP8, say --fp8 and which", in->path);
        return -1;
    }
    if (type == NPY_U8) {
        in->tensor = attn_view(o->layout, in->array.data, o->fp8, in->tensor.size);
        in->array.data = NULL;
        return 0;
    }
    if (type == NPY_U16 && o->dtype == AOTHIP_F16) {
        cli_say("%s: it holds uint16; if that is bfloat16, say --bf16", in->path);
        return -1;
    }
    if (type == NPY_F16 && o->dtype == AOTHIP_BF16) {
        cli_say("%s: it holds float16; leave --bf16 away", in->path);
        return -1;
    }
    if (fits(o->dtype, type)) {
        in->tensor = attn_view(o->layout, in->array.data, o->dtype, in->tensor.size);
        in->array.data = NULL;
        return 0;
    }
    data = malloc(count * ref_dtype_size(o->dtype));
    if (!data) {
        cli_say("%s: no memory for its %zu elements", in->path, count);
        return -1;
    }
    for (i = 0; i < count; i++) {
        double value = element(&in->array, i);
        ref_store(data, (int64_t)i, o->dtype, value);
        infinite += isfinite(value) && isinf(ref_load(data, (int64_t)i, o->dtype));
    }
    cli_say("%s: %s converted to %s", in->path, npy_type_name(type), dtype_name(o->dtype));
    if (infinite)
        cli_say("%s: %zu of its %zu values became infinite%s", in->path, infinite, count,
                o->dtype == AOTHIP_F16 ? "; --bf16 has the range of float32" : "");
    in->tensor = attn_view(o->layout, data, o->dtype, in->tensor.size);
    return 0;
}

int run_load(const struct run_options *o, const char *path, struct run_input *in)
{
    char error[NPY_ERROR_MAX];

    in->path = path;
    if (npy_read(path, &in->array, error)) {
        cli_say("%s", error);
        return -1;
    }
    return read_sizes(o, in) || convert(o, in) ? -1 : 0;
}

void run_free_input(struct run_input *in)
{
    npy_free(&in->array);
    free(in->tensor.data);
}

/* How the shapes must fit; a breach is told with both files and both shapes. */
int run_check_shapes(const struct run_input in[RUN_INPUTS])
{
    static const char *const names[] = {"batch entries", "heads", "keys", "channels"};
    static const struct {
        int a, b, dimension;
    } equal[] = {{RUN_Q, RUN_K, 0},
                 {RUN_Q, RUN_V, 0},
                 {RUN_K, RUN_V, 1},
                 {RUN_K, RUN_V, 2},
                 {RUN_Q, RUN_K, 3}};
    size_t i;

    for (i = RUN_K; i <= RUN_V; i++)
        if (in[i].array.dims != in[RUN_Q].array.dims) {
            cli_say("%s %s has another number of dimensions than %s %s", in[i].path, in[i].shape,
                    in[RUN_Q].path, in[RUN_Q].shape);
            return -1;
        }
    for (i = 0; i < sizeof(equal) / sizeof(equal[0]); i++) {
        const struct run_input *a = &in[equal[i].a], *b = &in[equal[i].b];
        int64_t x = a->tensor.size[equal[i].dimension], y = b->tensor.size[equal[i].dimension];
        if (x != y) {
            cli_say("%s %s has %lld %s and %s %s has %lld", a->path, a->shape, (long long)x,
                    names[equal[i].dimension], b->path, b->shape, (long long)y);
            return -1;
        }
    }
    if (in[RUN_Q].tensor.size[1] % in[RUN_K].tensor.size[1]) {
        cli_say("%s %s has %lld heads, no multiple of the %lld of %s %s", in[RUN_Q].path,
                in[RUN_Q].shape, (long long)in[RUN_Q].tensor.size[1],
                (long long)in[RUN_K].tensor.size[1], in[RUN_K].path, in[RUN_K].shape);
        return -1;
    }
    return 0;
}

int run_make_output(const struct run_options *o, const struct run_input *like, int64_t dim,
                    struct run_input *out)
{
    int64_t size[4];

    out->array = like->array;
    out->array.size[like->array.dims - 1] = dim;
    out->array.count = like->array.count / (size_t)like->tensor.size[3] * (size_t)dim;
    out->array.data = NULL;
    npy_shape_text(&out->array, out->shape);
    memcpy(size, like->tensor.size, sizeof(size));
    size[3] = dim;
    out->tensor = attn_view(o->layout, NULL, o->dtype, size);
    out->tensor.data = calloc(out->array.count, ref_dtype_size(o->dtype));
    if (out->tensor.data)
        return 0;
    cli_say("no memory for the output %s", out->shape);
    return -1;
}

int run_stage_output(const struct run_options *o, const char *path, const struct run_input *like,
                     struct run_input *out, struct npy_new *new)
{
    struct npy_array file = out->array;
    char error[NPY_ERROR_MAX];
    float *wide = NULL;
    int failed;
    size_t i;

    file.data = out->tensor.data;
    file.type = like->array.type;
    if (!fits(o->dtype, like->array.type)) {
        wide = malloc(file.count * sizeof(*wide));
        if (!wide) {
            cli_say("no memory for the output %s", out->shape);
            return -1;
        }
        for (i = 0; i < file.count; i++)
            wide[i] = (float)ref_load(out->tensor.data, (int64_t)i, o->dtype);
        file.data = wide;
        file.type = NPY_F32;
    }
    out->array.type = file.type;
    failed = npy_stage(path, &file, new, error);
    free(wide);
    if (!failed)
        return 0;
    cli_say("%s", error);
    return -1;
}
