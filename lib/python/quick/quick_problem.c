/* From the arguments of aothip.Problem to those of the C API, where that takes no conversion. */
#include "quick_problem.h"

#include <string.h>

static PyObject *names[QUICK_FIELD_COUNT];

static const int BSHD[4] = {0, 2, 1, 3}, BHSD[4] = {0, 1, 2, 3}, SHD[4] = {-1, 1, 0, 2};

int quick_problem_setup(void)
{
    static const char *const texts[QUICK_FIELD_COUNT] = {
#define FIELD(name) #name,
        QUICK_FIELDS(FIELD)
#undef FIELD
    };
    for (int i = 0; i < QUICK_FIELD_COUNT; i++)
        if (!(names[i] = PyUnicode_InternFromString(texts[i])))
            return -1;
    return 0;
}

/* All of `fields` that are known, at once: the few that a call has are found faster than looked up.
 */
static void take_fields(struct quick_problem *c, PyObject *fields)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(fields, &at, &key, &value)) {
        int i = 0;
        if (value == Py_None)
            continue;
        while (i < QUICK_FIELD_COUNT && names[i] != key)
            i++;
        if (i == QUICK_FIELD_COUNT && PyUnicode_Check(key)) /* not interned, or not known */
            for (i = 0; i < QUICK_FIELD_COUNT && PyUnicode_Compare(names[i], key); i++)
                ;
        if (i < QUICK_FIELD_COUNT)
            c->field[i] = value;
    }
}

static int take_float(const struct quick_problem *c, enum quick_field which, float *to)
{
    PyObject *x = c->field[which];
    const double value = x ? PyFloat_AsDouble(x) : 0;
    *to = (float)value;
    return value != -1 || !PyErr_Occurred();
}

static int as_int(PyObject *x, int32_t absent, int32_t *to)
{
    const long long value = x && x != Py_None ? PyLong_AsLongLong(x) : absent;
    *to = (int32_t)value;
    return *to == value && (value != -1 || !PyErr_Occurred());
}

static int take_int(const struct quick_problem *c, enum quick_field which, int32_t *to)
{
    return as_int(c->field[which], 0, to);
}

static int is_true(const struct quick_problem *c, enum quick_field which)
{
    PyObject *x = c->field[which];
    return x && PyObject_IsTrue(x) == 1;
}

/* A packed tensor of these sizes; absent: *to stays. */
static int take_vector(const struct quick_problem *c, enum quick_field which, PyObject *dtype,
                       int64_t n, const void **to)
{
    struct quick_tensor t;
    PyObject *x = c->field[which];
    if (!x)
        return 1;
    if (!quick_tensor_read(&t, x, c->device) || t.dtype != dtype || t.dims != 1 || t.size[0] != n ||
        !quick_tensor_packed(&t))
        return 0;
    *to = t.data;
    return 1;
}

/* As _window() in attention.py. */
static int take_mask(struct quick_problem *c)
{
    PyObject *window = c->field[QUICK_window];
    const int top_left = is_true(c, QUICK_top_left);
    int32_t left = -1, right = -1;
    if (window && (!PyTuple_Check(window) || PyTuple_Size(window) != 2 ||
                   !as_int(PyTuple_GetItem(window, 0), -1, &left) ||
                   !as_int(PyTuple_GetItem(window, 1), -1, &right)))
        return 0;
    if (is_true(c, QUICK_causal))
        right = 0;
    if (left < 0 && right < 0)
        return 1;
    if (left < 0 && right == 0) {
        c->p.mask = top_left ? AOTHIP_MASK_CAUSAL_TOP_LEFT : AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
        return 1;
    }
    c->p.mask = top_left ? AOTHIP_MASK_WINDOW_TOP_LEFT : AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    c->p.window_left = left >= 0 ? left : AOTHIP_WINDOW_UNBOUNDED;
    c->p.window_right = right >= 0 ? right : AOTHIP_WINDOW_UNBOUNDED;
    return 1;
}

static int take_numbers(struct quick_problem *c)
{
    float dropout;
    if (!take_float(c, QUICK_scale, &c->p.scale) || !take_float(c, QUICK_softcap, &c->p.softcap) ||
        !take_float(c, QUICK_dropout_p, &dropout) || dropout != 0 ||
        !take_int(c, QUICK_splits, &c->p.splits) || !take_mask(c))
        return 0;
    if (!c->field[QUICK_scale])
        c->p.scale = (float)(1 / __builtin_sqrt((double)c->q.size[c->q.dims - 1]));
    if (c->p.softcap < 0)
        c->p.softcap = 0; /* flash-attention: negative is none */
    return 1;
}

/* Where sequences lie, and how many there are. */
static int take_sequences(struct quick_problem *c)
{
    struct aothip_attn_fwd_params *p = &c->p;
    struct quick_tensor cu;
    if (c->field[QUICK_leftpad_k])
        return 0;
    if (!c->packed) {
        c->batch = c->q.size[0];
        c->whole = !c->field[QUICK_lengths] && !c->field[QUICK_starts];
        return take_vector(c, QUICK_lengths, quick_torch.i32, c->batch, &p->k_seqs.lengths) &&
               take_vector(c, QUICK_starts, quick_torch.i32, c->batch, &p->k_seqs.starts);
    }
    if (!c->field[QUICK_cu_seqlens_q] ||
        !quick_tensor_read(&cu, c->field[QUICK_cu_seqlens_q], c->device) ||
        cu.dtype != quick_torch.i32 || cu.dims != 1 || cu.size[0] < 2 || !quick_tensor_packed(&cu))
        return 0;
    c->batch = cu.size[0] - 1;
    p->sequences = (int32_t)c->batch;
    p->q_seqs.packed = 1;
    p->q_seqs.cumulative = cu.data;
    p->lse_layout = AOTHIP_LSE_HEADS;
    p->k_seqs.packed = c->field[QUICK_cu_seqlens_k] && !c->field[QUICK_block_table];
    return (c->field[QUICK_cu_seqlens_k] || c->field[QUICK_seqused_k]) &&
           take_int(c, QUICK_max_seqlen_q, &p->q_seqs.max) &&
           take_int(c, QUICK_max_seqlen_k, &p->k_seqs.max) &&
           take_vector(c, QUICK_cu_seqlens_k, quick_torch.i32, c->batch + 1,
                       &p->k_seqs.cumulative) &&
           take_vector(c, QUICK_seqused_k, quick_torch.i32, c->batch, &p->k_seqs.lengths);
}

static int take_scores(struct quick_problem *c)
{
    struct aothip_attn_fwd_params *p = &c->p;
    const int64_t heads = c->q.size[c->axes[1]];
    struct quick_tensor t;
    PyObject *x;
    if ((x = c->field[QUICK_alibi_slopes])) {
        if (!quick_tensor_read(&t, x, c->device) || t.dtype != quick_torch.f32 || t.dims > 2 ||
            t.size[t.dims - 1] != heads || (t.dims == 2 && t.size[0] != c->batch) ||
            !quick_tensor_packed(&t))
            return 0;
        p->alibi_slopes = t.data;
        p->alibi_stride = t.dims == 2 ? heads : 0;
    }
    if ((x = c->field[QUICK_bias])) {
        if (!quick_tensor_read(&t, x, c->device) || t.dims != 4 || !quick_tensor_dtype(&t) ||
            t.dtype == quick_torch.boolean)
            return 0;
        p->bias = quick_tensor_view(&t, BHSD);
    }
    if ((x = c->field[QUICK_keep])) {
        if (!quick_tensor_read(&t, x, c->device) || t.dims != 4 || t.dtype != quick_torch.boolean)
            return 0;
        p->keep = quick_tensor_view(&t, BHSD);
    }
    return take_vector(c, QUICK_sinks, quick_torch.f32, heads, (const void **)&p->sinks);
}

/* (cos, sin, interleaved) */
static int take_rotary(struct quick_problem *c)
{
    struct aothip_attn_fwd_params *p = &c->p;
    PyObject *rotary = c->field[QUICK_rotary];
    struct quick_tensor cos, sin;
    if (!rotary)
        return 1;
    if (!PyTuple_Check(rotary) || PyTuple_Size(rotary) != 3 ||
        !quick_tensor_read(&cos, PyTuple_GetItem(rotary, 0), c->device) ||
        !quick_tensor_read(&sin, PyTuple_GetItem(rotary, 1), c->device) || cos.dims != 2 ||
        sin.dims != 2 || memcmp(cos.size, sin.size, 2 * sizeof(*cos.size)) ||
        cos.dtype != c->q.dtype || sin.dtype != c->q.dtype || !quick_tensor_packed(&cos) ||
        !quick_tensor_packed(&sin) || cos.size[0] > INT32_MAX || cos.size[1] > INT32_MAX / 2)
        return 0;
    p->rotary_cos = cos.data;
    p->rotary_sin = sin.data;
    p->rotary_rows = (int32_t)cos.size[0];
    p->rotary_stride = cos.size[1];
    p->rotary_dim = (int32_t)(2 * cos.size[1]);
    p->rotary_interleaved = PyObject_IsTrue(PyTuple_GetItem(rotary, 2)) == 1;
    return 1;
}

static int rows_contiguous(const struct quick_tensor *t)
{
    return t->stride[t->dims - 1] == 1 || t->size[t->dims - 1] == 1;
}

static int take_cache(struct quick_problem *c)
{
    struct aothip_attn_fwd_params *p = &c->p;
    const int *axes = c->packed ? BSHD : c->axes;
    PyObject *table = c->field[QUICK_block_table];
    struct quick_tensor t, k_new, v_new;
    if (table) {
        if (c->field[QUICK_starts] || !quick_tensor_read(&t, table, c->device) || t.dims != 2 ||
            t.dtype != quick_torch.i32 || t.size[0] != c->batch || t.size[1] > INT32_MAX ||
            !quick_tensor_packed(&t))
            return 0;
        p->block_table = t.data;
        p->block_table_columns = (int32_t)t.size[1];
        p->block_table_stride = t.size[1];
    }
    if (c->field[QUICK_batch_index])
        p->sequences = (int32_t)c->q.size[0];
    if (c->field[QUICK_k_new] || c->field[QUICK_v_new]) {
        if (!c->field[QUICK_k_new] ||
            !quick_tensor_read(&k_new, c->field[QUICK_k_new], c->device) ||
            !c->field[QUICK_v_new] ||
            !quick_tensor_read(&v_new, c->field[QUICK_v_new], c->device) || k_new.dims != 4 ||
            v_new.dims != 4 || !rows_contiguous(&k_new) || !rows_contiguous(&v_new))
            return 0;
        p->k_new = quick_tensor_view(&k_new, axes);
        p->v_new = quick_tensor_view(&v_new, axes);
    }
    return take_vector(c, QUICK_batch_index, quick_torch.i32, c->batch,
                       (const void **)&p->batch_index) &&
           take_rotary(c);
}

/* One scale, one a key head, or one a sequence and key head. */
static int take_scale(const struct quick_problem *c, enum quick_field which,
                      struct aothip_scale *to)
{
    const int64_t heads = c->k.size[c->key_axes[1]];
    PyObject *x = c->field[which];
    struct quick_tensor t;
    if (!x)
        return 1;
    if (!quick_tensor_read(&t, x, c->device) || t.dtype != quick_torch.f32 || t.dims > 2 ||
        (t.dims == 2 && t.size[0] != c->batch) ||
        (t.size[t.dims - 1] != heads && (t.dims == 2 || t.size[0] != 1)))
        return 0;
    to->data = t.data;
    for (int i = 0; i < t.dims; i++) /* of an axis of size 1 the stride means nothing */
        to->stride[i + 2 - t.dims] = t.size[i] == 1 ? 0 : t.stride[i];
    return 1;
}

static int take_scales(struct quick_problem *c)
{
    return take_scale(c, QUICK_q_scale, &c->p.q_scale) &&
           take_scale(c, QUICK_k_scale, &c->p.k_scale) &&
           take_scale(c, QUICK_v_scale, &c->p.v_scale);
}

/* enum aothip_dtype that the field fp8 names, which bytes have; 0 without it. 0 returned: that is
 * no type. */
static int take_fp8(const struct quick_problem *c, int32_t *dtype)
{
    static const char *const types[] = {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                                        "float8_e5m2fnuz"};
    PyObject *x = c->field[QUICK_fp8];
    *dtype = 0;
    for (int i = 0; x && PyUnicode_Check(x) && i < 4; i++)
        if (!PyUnicode_CompareWithASCIIString(x, types[i]))
            *dtype = AOTHIP_FP8_E4M3 + i;
    return !x || *dtype;
}

static int take_qkv(struct quick_problem *c, PyObject *const tensors[3])
{
    struct quick_tensor *const to[] = {&c->q, &c->k, &c->v};
    int32_t fp8, dtype[3];
    const int padded = c->field[QUICK_block_table] || (c->packed && !c->field[QUICK_cu_seqlens_k]);
    c->key_axes = c->packed && padded ? BSHD : c->axes;
    c->device = PyObject_GetAttr(tensors[0], quick_torch.device);
    if (!c->device || !take_fp8(c, &fp8))
        return 0;
    for (int i = 0; i < 3; i++) {
        if (!quick_tensor_read(to[i], tensors[i], i ? c->device : NULL) ||
            to[i]->dims != (c->packed && (i == 0 || !padded) ? 3 : 4) || !rows_contiguous(to[i]) ||
            to[i]->dtype == quick_torch.boolean)
            return 0;
        dtype[i] = to[i]->dtype == quick_torch.u8 ? fp8 : quick_tensor_dtype(to[i]);
        if (!dtype[i])
            return 0;
    }
    if (dtype[0] > AOTHIP_BOOL || c->field[QUICK_out_dtype]) /* o has another type than q */
        return 0;
    c->p.q = quick_tensor_view(&c->q, c->axes);
    c->p.k = quick_tensor_view(&c->k, c->key_axes);
    c->p.v = quick_tensor_view(&c->v, c->key_axes);
    c->p.k.dtype = dtype[1];
    c->p.v.dtype = dtype[2];
    return 1;
}

int quick_problem_describe(struct quick_problem *c, PyObject *const tensors[3], PyObject *order,
                           PyObject *fields)
{
    int good;
    memset(c, 0, sizeof(*c));
    c->p.struct_size = sizeof(c->p);
    if (!PyUnicode_Check(order) || !PyDict_Check(fields))
        return 0;
    take_fields(c, fields);
    c->packed = !PyUnicode_CompareWithASCIIString(order, "shd");
    c->axes = c->packed                                          ? SHD
              : !PyUnicode_CompareWithASCIIString(order, "bshd") ? BSHD
              : !PyUnicode_CompareWithASCIIString(order, "bhsd") ? BHSD
                                                                 : NULL;
    good = c->axes && take_qkv(c, tensors) && take_numbers(c) && take_sequences(c) &&
           take_scores(c) && take_scales(c) && take_cache(c);
    if (!good)
        PyErr_Clear();
    return good;
}

void quick_problem_clear(struct quick_problem *c)
{
    Py_CLEAR(c->device);
}
