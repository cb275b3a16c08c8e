/* The forward pass, row by row. */
#include "expect.h"

#include "number.h"

#include <stdlib.h>

#define UNIT 0x1p-24       /* of F32 */
#define LEAST_EXP 0x1p-126 /* of the GPUs' exp2: what is smaller becomes 0 */

double expect_sum_error(int64_t count, double squares, double total)
{
    return 3 * UNIT *
           (sqrt((double)count / 2 * squares) + sqrt((double)count / 3 + 1) * fabs(total));
}

double expect_rounding(double unit, double sizes, double squares)
{
    return unit * fmin(sizes, 3 * sqrt(squares));
}

static double *numbers(int64_t count)
{
    double *memory = calloc((size_t)count + 1, sizeof(double));

    if (!memory)
        abort();
    return memory;
}

/* Channel c of a row whose channel i is row(i), rotated for a position. */
static double rotated(const struct aothip_attn_fwd_params *p, const struct aothip_tensor *t,
                      const int64_t at[3], int64_t c, int64_t position)
{
    int64_t half = p->rotary_dim / 2, pair, x, y;
    double cosine, sine;
    double own = number_get(t, at[0], at[1], at[2], c);

    if (!p->rotary_cos || c >= p->rotary_dim || position >= p->rotary_rows)
        return own;
    pair = p->rotary_interleaved ? c / 2 : c % half;
    x = p->rotary_interleaved ? 2 * pair : pair;
    y = p->rotary_interleaved ? 2 * pair + 1 : pair + half;
    cosine = number_load(p->rotary_cos, position * p->rotary_stride + pair, t->dtype);
    sine = number_load(p->rotary_sin, position * p->rotary_stride + pair, t->dtype);
    return c == x ? own * cosine - number_get(t, at[0], at[1], at[2], y) * sine
                  : number_get(t, at[0], at[1], at[2], x) * sine + own * cosine;
}

/* Where positions begin: k_seqs.starts counts for tensors that are not packed. */
static int64_t first_position(const struct expect_head *x)
{
    return x->p->k_seqs.packed ? 0 : x->k.start;
}

static double scale_of(const struct aothip_scale *scale, int64_t b, int64_t key_head)
{
    return scale->data ? (double)scale->data[b * scale->stride[0] + key_head * scale->stride[1]]
                       : 1;
}

double expect_key(const struct expect_head *x, int which, int64_t key_head, int64_t n, int64_t c)
{
    const struct aothip_attn_fwd_params *p = x->p;
    int64_t entry, row;

    if (p->k_new.data && n >= x->k.old) {
        const struct aothip_tensor *t = which ? &p->v_new : &p->k_new;
        int64_t at[3] = {x->b, key_head, n - x->k.old};
        return which ? number_get(t, at[0], at[1], at[2], c)
                     : rotated(p, t, at, c, first_position(x) + n);
    }
    place_key(p, &x->k, x->b, n, &entry, &row);
    return number_get(which ? &p->v : &p->k, entry, key_head, row, c) *
           scale_of(which ? &p->v_scale : &p->k_scale, x->b, key_head);
}

void expect_head_make(const struct aothip_attn_fwd_params *p, struct expect_device device,
                      int64_t b, int64_t key_head, struct expect_head *x)
{
    int64_t dim_qk = p->q.size[3], dim_v = p->v.size[3], n, c, entry, row;

    *x = (struct expect_head){.p = p, .device = device, .b = b};
    x->q = place_q(p, b);
    x->k = place_k(p, b);
    x->key = numbers(x->k.length * dim_qk);
    x->value = numbers(x->k.length * dim_v);
    x->exists = calloc((size_t)x->k.length + 1, sizeof(bool));
    if (!x->exists)
        abort();
    for (n = 0; n < x->k.length; n++) {
        x->exists[n] = place_key(p, &x->k, b, n, &entry, &row);
        for (c = 0; c < dim_qk && x->exists[n]; c++)
            x->key[n * dim_qk + c] = expect_key(x, 0, key_head, n, c);
        for (c = 0; c < dim_v && x->exists[n]; c++)
            x->value[n * dim_v + c] = expect_key(x, 1, key_head, n, c);
    }
}

void expect_head_free(struct expect_head *x)
{
    free(x->key);
    free(x->value);
    free(x->exists);
}

static bool sees(const struct expect_head *x, int64_t m, int64_t n)
{
    const struct aothip_attn_fwd_params *p = x->p;
    int64_t end = m + x->k.length - x->q.length;
    int64_t left = p->window_left, right = p->window_right;
    bool open_left = left == AOTHIP_WINDOW_UNBOUNDED, open_right = right == AOTHIP_WINDOW_UNBOUNDED;

    if (!x->exists[n])
        return false;
    switch (p->mask) {
    case AOTHIP_MASK_CAUSAL_TOP_LEFT:
        return n <= m;
    case AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT:
        return n <= end;
    case AOTHIP_MASK_WINDOW_TOP_LEFT:
        return (open_left || m - left <= n) && (open_right || n <= m + right);
    case AOTHIP_MASK_WINDOW_BOTTOM_RIGHT:
        return (open_left || end - left <= n) && (open_right || n <= end + right);
    case AOTHIP_MASK_WINDOW_MIXED:
        return (open_left || m - left <= n) && (open_right || n <= end + right);
    default:
        return true;
    }
}

/* An element of bias or keep; false if it has none there. */
bool expect_score_input(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t m, int64_t n,
                        double *value)
{
    int64_t at[4] = {b, h, m, n};
    int i;

    for (i = 0; i < 4; i++)
        if (t->size[i] == 1)
            at[i] = 0;
        else if (at[i] >= t->size[i])
            return false;
    *value = number_get(t, at[0], at[1], at[2], at[3]);
    return true;
}

/* scale * q . k and its error. */
static double product(const struct expect_head *x, const struct expect_row *r, int64_t n,
                      double *error)
{
    const struct aothip_attn_fwd_params *p = x->p;
    int64_t dim = p->q.size[3], c;
    double sum = 0, sizes = 0, squares = 0, turned = 0, flushed = 0, scale = (double)p->scale;
    double others = 0, others2 = 0; /* what a turned element is multiplied by */

    for (c = 0; c < dim; c++) {
        double a = r->q[c], b = x->key[n * dim + c], size = fabs(a * b);
        sum += a * b;
        sizes += size;
        squares += size * size;
        if (p->rotary_cos && c < p->rotary_dim) {
            turned += size * size;
            others += fabs(a) + fabs(b);
            others2 += a * a + b * b;
        }
        if (fabs(a) < x->device.flush || fabs(b) < x->device.flush)
            flushed += size;
    }
    *error = expect_sum_error(dim, squares, sum) + flushed +
             2 * expect_rounding(number_unit(p->q.dtype), sizes, turned) +
             expect_rounding(number_least(p->q.dtype), others, others2);
    *error = fabs(scale) * *error + 3 * UNIT * fabs(scale * sum);
    return scale * sum;
}

/* The score of a key that is seen so far; what is behind keep or a bias of -infinity is not. */
static void make_score(const struct expect_head *x, int64_t head, int64_t m, int64_t n,
                       struct expect_row *r)
{
    const struct aothip_attn_fwd_params *p = x->p;
    double s, error, keep = 1, bias = 0, cap = (double)p->softcap;

    r->score[n] = -INFINITY;
    if (p->keep.data && !expect_score_input(&p->keep, x->b, head, m, n, &keep))
        r->undefined = true;
    if (p->bias.data && !expect_score_input(&p->bias, x->b, head, m, n, &bias))
        r->undefined = true;
    if (keep == 0)
        return;
    s = product(x, r, n, &error);
    if (bias == -INFINITY) { /* what NaN and that make is not defined */
        r->undefined |= isnan(s);
        return;
    }
    r->slope[n] = 1;
    if (p->softcap > 0) {
        double bent = cap * tanh(s / cap);
        error = fmax(cap * tanh((s + error) / cap) - bent, bent - cap * tanh((s - error) / cap));
        error += 8 * UNIT * cap;
        r->slope[n] = 1 - bent / cap * (bent / cap);
        s = bent;
    }
    if (p->alibi_slopes) {
        double slope = (double)p->alibi_slopes[x->b * p->alibi_stride + head];
        double part = slope * fabs((double)(m + x->k.length - x->q.length - n));
        s -= part;
        error += 2 * UNIT * (fabs(part) + fabs(s));
    }
    if (p->bias.data) {
        s += bias;
        error += UNIT * fabs(s);
    }
    r->nan |= isnan(s);
    r->score[n] = s;
    r->error[n] = error;
}

static void make_softmax(const struct expect_head *x, int64_t head, struct expect_row *r)
{
    const struct aothip_attn_fwd_params *p = x->p;
    double most = -INFINITY, sum = 0, weighted = 0;
    int64_t n, keys = x->k.length;

    r->blind = true;
    for (n = 0; n < keys; n++) {
        most = fmax(most, r->score[n]);
        r->blind &= r->score[n] == -INFINITY;
    }
    if (p->sinks)
        most = fmax(most, (double)p->sinks[head]);
    r->lse = p->sinks ? (double)p->sinks[head] : INFINITY;
    if (r->nan)
        r->lse = NAN;
    if (r->blind || r->nan || r->undefined)
        return;
    for (n = 0; n < keys; n++) {
        sum += exp(r->score[n] - most);
        if (r->score[n] > -INFINITY) {
            r->error[n] += UNIT * (3 * fabs(r->score[n]) + fabs(most) + 3);
            r->largest = fmax(r->largest, r->error[n]);
        }
    }
    if (p->sinks)
        sum += exp((double)p->sinks[head] - most);
    r->lse = most + log(sum);
    for (n = 0; n < keys; n++) {
        double log_p = r->score[n] - r->lse;
        double above = exp(fmin(0, log_p + r->error[n] + r->largest));
        if (r->score[n] == -INFINITY)
            continue;
        r->p[n] = exp(log_p);
        r->p_error[n] = fmax(above - r->p[n], -r->p[n] * expm1(-r->error[n] - r->largest));
        weighted += r->p[n] * r->error[n];
    }
    if (p->sinks) {
        double share = exp((double)p->sinks[head] - r->lse);
        double above = exp(fmin(0, (double)p->sinks[head] - r->lse + r->largest));
        r->sink_error = fmax(above - share, -share * expm1(-r->largest));
    }
    r->lse_error = (r->largest < 0.1 ? 1.1 * weighted : r->largest) +
                   UNIT * (4 * fabs(r->lse) + 8 + sqrt((double)keys));
}

/*
 * How far o moves with P. Small errors of many scores are independent, but for that of the scale,
 * which is rounded once; P itself may be all or nothing where they are large.
 */
static double moved_o(const struct expect_head *x, const struct expect_row *r, int64_t c)
{
    int64_t n, dim = x->p->v.size[3];
    double all = 0, squares = 0, stretched = 0, lost = 0;

    for (n = 0; n < x->k.length; n++) {
        double v = x->value[n * dim + c], way = r->kept[n] * v - r->o[c];
        double least = r->kept[n] * fabs(v) * LEAST_EXP;
        if (r->score[n] == -INFINITY || !isfinite(v))
            continue;
        all += r->p_error[n] * fabs(way) + least;
        lost += least;
        squares += r->p[n] * r->error[n] * way * (r->p[n] * r->error[n] * way);
        stretched += r->p[n] * r->score[n] * way;
    }
    if (r->largest > 0.01)
        return all + r->sink_error * fabs(r->o[c]); /* what a sink takes has a V of 0 */
    return fmin(all, 2 * sqrt(squares) + 2 * UNIT * fabs(stretched) + lost);
}

/* One channel of o. */
static void make_o(const struct expect_head *x, int64_t c, struct expect_row *r)
{
    const struct aothip_attn_fwd_params *p = x->p;
    const int dtype = p->o.dtype;
    /* P may be e4m3 where q is FP8, of values that may come out 2^8 times as large. */
    const bool coarse = p->q.dtype >= AOTHIP_FP8_E4M3;
    const double unit = number_unit(coarse ? AOTHIP_FP8_E4M3 : dtype);
    const double least = coarse ? number_least(AOTHIP_FP8_E4M3_FNUZ) : 0;
    double o = 0, sizes = 0, squares = 0, flushed = 0, small = 0;
    int64_t n, dim = p->v.size[3];

    for (n = 0; n < x->k.length; n++) {
        double v = x->value[n * dim + c], w = r->p[n] * r->kept[n];
        if (r->score[n] == -INFINITY)
            continue;
        if (!isfinite(v)) { /* what infinity makes of o is not defined, nor whether dropout helps */
            if (isnan(v) && p->dropout_p == 0 && r->o_kind[c] == EXPECT_NUMBER)
                r->o_kind[c] = EXPECT_NONFINITE;
            else if (isinf(v) || p->dropout_p > 0)
                r->o_kind[c] = EXPECT_ANYTHING;
            continue;
        }
        o += w * v;
        sizes += w * fabs(v);
        squares += w * v * (w * v);
        small += v * v;
        flushed += fabs(v) < x->device.flush ? (w + r->p_error[n] * r->kept[n]) * fabs(v)
                                             : fmin(w, x->device.flush) * fabs(v);
    }
    r->o[c] = r->o_kind[c] == EXPECT_NUMBER ? o : NAN;
    r->o_error[c] =
        moved_o(x, r, c) + expect_rounding(unit, sizes, squares) * (p->dropout_p > 0 ? 2 : 1) +
        least * sqrt(small) + expect_sum_error(x->k.length, squares, o) +
        number_unit(dtype) * fabs(o) +
        number_least(dtype) * (1 + (dtype == AOTHIP_F16 ? 3 * sqrt(small) : 0)) + flushed;
}

void expect_row_make(const struct expect_head *x, int64_t head, int64_t m, struct expect_row *r)
{
    const struct aothip_attn_fwd_params *p = x->p;
    int64_t keys = x->k.length, dim_qk = p->q.size[3], dim_v = p->v.size[3], n, c;
    double factor = p->dropout_p < 1 ? 1 / (1 - (double)p->dropout_p) : 0;
    int64_t at[3] = {x->q.entry, head, x->q.start + m};

    *r = (struct expect_row){.score = numbers(keys),
                             .error = numbers(keys),
                             .slope = numbers(keys),
                             .p = numbers(keys),
                             .p_error = numbers(keys),
                             .kept = numbers(keys),
                             .o = numbers(dim_v),
                             .o_error = numbers(dim_v),
                             .q = numbers(dim_qk)};
    r->o_kind = calloc((size_t)dim_v + 1, sizeof(*r->o_kind));
    if (!r->o_kind)
        abort();
    r->undefined = m >= place_max_q(p);
    for (c = 0; c < dim_qk; c++)
        r->q[c] = rotated(p, &p->q, at, c,
                          first_position(x) + x->k.old + (p->mask == AOTHIP_MASK_NONE ? 0 : m)) *
                  scale_of(&p->q_scale, x->b, head / (p->q.size[1] / p->k.size[1]));
    for (n = 0; n < keys; n++) {
        r->score[n] = -INFINITY;
        r->kept[n] = 1;
        if (p->dropout_p > 0)
            r->kept[n] = expect_kept(p, x->b, head, m, n) ? factor : 0;
        if (sees(x, m, n))
            make_score(x, head, m, n, r);
    }
    make_softmax(x, head, r);
    for (c = 0; c < dim_v; c++) {
        r->o[c] = NAN;
        if (r->nan || r->undefined)
            r->o_kind[c] = r->undefined || p->dropout_p > 0 ? EXPECT_ANYTHING : EXPECT_NONFINITE;
        else
            make_o(x, c, r);
    }
}

void expect_row_free(struct expect_row *r)
{
    free(r->score);
    free(r->error);
    free(r->slope);
    free(r->p);
    free(r->p_error);
    free(r->kept);
    free(r->o);
    free(r->o_error);
    free(r->o_kind);
    free(r->q);
}

/* Philox4x32-10 (Salmon et al. 2011). */
static void philox(uint64_t seed, uint64_t counter, uint32_t c[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    int i;

    c[0] = (uint32_t)counter;
    c[1] = (uint32_t)(counter >> 32);
    c[2] = c[3] = 0;
    for (i = 0; i < 10; i++) {
        uint64_t x = UINT64_C(0xd2511f53) * c[0], y = UINT64_C(0xcd9e8d57) * c[2];
        uint32_t next[4] = {(uint32_t)(y >> 32) ^ c[1] ^ key[0], (uint32_t)y,
                            (uint32_t)(x >> 32) ^ c[3] ^ key[1], (uint32_t)x};
        memcpy(c, next, sizeof(next));
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
}

bool expect_kept(const struct aothip_attn_fwd_params *p, int64_t b, int64_t head, int64_t m,
                 int64_t n)
{
    uint64_t seed = p->dropout_seed, counter = p->dropout_offset, width;
    double value, bound = (double)p->dropout_p * 0x1p16;
    uint32_t c[4];

    if (p->dropout_seed_pointer)
        seed += *p->dropout_seed_pointer;
    if (p->dropout_offset_pointer)
        counter += *p->dropout_offset_pointer;
    width = p->k_seqs.packed && !p->k_seqs.max ? (uint64_t)1 << 28
                                               : ((uint64_t)place_max_k(p) + 31) / 32 * 4;
    counter +=
        ((uint64_t)(b * p->q.size[1] + head) * (uint64_t)place_max_q(p) + (uint64_t)m) * width +
        (uint64_t)(n >> 5 << 2 | (n >> 2 & 3));
    philox(seed, counter, c);
    value = (double)((c[(n >> 4 & 1) << 1 | (n >> 1 & 1)] >> ((n & 1) << 4) & 0xffff) ^ 0x8000);
    return value > 0 && value + 0.5 >= bound;
}
