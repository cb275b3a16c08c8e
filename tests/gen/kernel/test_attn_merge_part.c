/*
 * Partial results of attention merged in place (attn_merge_part), on all emulated GPUs in all types
 * against the reference in double.
 */
#include "problem_maker.h"

#include <math.h>

struct merge {
    struct maker memory;
    struct aothip_attn_merge_params p;
};

struct form {
    const char *name;
    int batch, heads, rows, dim;
    bool odd;    /* data at odd elements, rows that are not aligned */
    bool across; /* lse as (batch, row, head) */
    bool base2;
    double apart; /* how far from 0 the logarithms go */
};

static const struct form forms[] = {
    {"one row", 1, 1, 1, 64, 0, 0, 0, 3},
    {"tiles and an edge", 2, 3, 37, 128, 0, 0, 0, 3},
    {"to base 2", 1, 2, 20, 72, 0, 0, 1, 9},
    {"logarithms by row, then head", 2, 4, 9, 8, 0, 1, 0, 30},
    {"odd rows", 1, 2, 18, 100, 1, 0, 0, 2},
    {"one channel", 2, 1, 17, 1, 0, 0, 0, 2},
    {"512 channels, large logarithms", 1, 1, 3, 512, 0, 0, 0, 5000},
    {"511 channels by row, then head", 1, 2, 3, 511, 1, 1, 1, 200},
};
enum { FORMS = sizeof(forms) / sizeof(*forms) };

static const struct device *gpu;
static struct aothip_context *images;

/* Every eighth row has seen no key on the one side, every eighth on the other, some on neither. */
static struct aothip_tensor make_lse(struct merge *x, const struct form *f, int blind)
{
    struct aothip_tensor t = {
        .size = {f->batch, f->heads, f->rows, 1},
        .stride = {f->heads * f->rows, f->rows, 1, 1},
        .dtype = AOTHIP_F32,
    };
    const int count = f->batch * f->heads * f->rows;
    float *lse = maker_floats(&x->memory, count);
    if (f->across) {
        t.stride[1] = 1;
        t.stride[2] = f->heads;
    }
    for (int i = 0; i < count; i++) {
        lse[i] *= (float)f->apart;
        if (count > 1 && (i % 8 == blind || i % 32 == 7))
            lse[i] = i % 3 ? INFINITY : -INFINITY;
    }
    t.data = lse;
    return t;
}

/* What is not to be read of a row without keys is NaN. */
static void spoil_blind(const struct aothip_tensor *o, const struct aothip_tensor *lse)
{
    for (int64_t b = 0; b < o->size[0]; b++)
        for (int64_t h = 0; h < o->size[1]; h++)
            for (int64_t r = 0; r < o->size[2]; r++)
                for (int64_t d = 0; d < o->size[3]; d++)
                    if (isinf(((float *)lse->data)[ref_offset(lse, b, h, r, 0)]))
                        ref_store(o->data, ref_offset(o, b, h, r, d), o->dtype, NAN);
}

static struct merge make(const struct form *f, int dtype, int part_dtype)
{
    struct merge x = {.memory = {.odd = f->odd}, .p = {.struct_size = sizeof(x.p)}};
    x.p.o = maker_tensor(&x.memory, dtype, f->batch, f->heads, f->rows, f->dim);
    x.p.part_o = maker_tensor(&x.memory, part_dtype, f->batch, f->heads, f->rows, f->dim);
    x.p.lse = make_lse(&x, f, 2);
    x.p.part_lse = make_lse(&x, f, 5);
    x.p.lse_base2 = f->base2;
    spoil_blind(&x.p.o, &x.p.lse);
    spoil_blind(&x.p.part_o, &x.p.part_lse);
    return x;
}

static void check(struct merge *x, const char *name, const char *types)
{
    struct status why = {0};
    struct ref_fwd answer;
    bool good;
    if (ref_attn_merge(&x->p, &answer))
        abort();
    good = !attn_merge(gpu, images, &x->p, &why);
    if (!good)
        tap_diag("%s: %s", name, why.text);
    good = good && maker_report(name, "o", ref_judge_o(&answer, &x->p.o)) &&
           maker_report(name, "lse", ref_judge_lse(&answer, x->p.lse.data)) &&
           !ref_strays_o(&answer, &x->p.o);
    ok(good, "%s%s", name, types);
    ref_free(&answer);
    maker_free(&x->memory);
}

/* A row of NaN is one afterwards, and its neighbours are as good as ever. */
static void test_nan(int dtype)
{
    const struct form f = {"NaN stays in its row", 1, 1, 24, 64, 0, 0, 0, 3};
    struct merge x = make(&f, dtype, dtype);
    ((float *)x.p.lse.data)[9] = NAN;
    ((float *)x.p.part_lse.data)[11] = NAN;
    ref_store(x.p.part_o.data, 12 * 64 + 3, dtype, NAN);
    check(&x, f.name, "");
}

/* Nothing to do: nothing is launched, whatever the pointers. */
static void test_empty(int dtype)
{
    struct aothip_attn_merge_params p = {.struct_size = sizeof(p)};
    for (int i = 0; i < 3; i++) {
        struct aothip_tensor o = {.size = {i != 0, i != 1, i != 2, 8}, .stride = {8, 8, 8, 1}};
        o.dtype = dtype;
        p.o = p.part_o = o;
        o.size[3] = 1;
        o.dtype = AOTHIP_F32;
        p.lse = p.part_lse = o;
        is_int(aothip_attn_merge(images, &p, gpu->stream), AOTHIP_OK, "no rows");
    }
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    for (int i = 0; i < FORMS; i++) {
        struct merge x = make(&forms[i], dtype, dtype);
        check(&x, forms[i].name, "");
        if (dtype == AOTHIP_F32)
            continue;
        x = make(&forms[i], AOTHIP_F32, dtype);
        check(&x, forms[i].name, ", into F32");
    }
    test_nan(dtype);
    test_empty(dtype);
}

int main(void)
{
    return maker_main(test, "strict");
}
