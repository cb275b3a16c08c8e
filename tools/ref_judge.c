/* Elements of tensors, and the judgement of an output against the reference. */
#include "ref.h"

#include "half.h"

#include <math.h>
#include <string.h>

size_t ref_dtype_size(int dtype)
{
    return dtype == AOTHIP_F32 ? 4 : dtype == AOTHIP_F16 || dtype == AOTHIP_BF16 ? 2 : 0;
}

double ref_load(const void *data, int64_t index, int dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return ((const float *)data)[index];
    case AOTHIP_F16:
        return half_from_f16(((const uint16_t *)data)[index]);
    case AOTHIP_BF16:
        return half_from_bf16(((const uint16_t *)data)[index]);
    }
    return NAN;
}

void ref_store(void *data, int64_t index, int dtype, double value)
{
    if (dtype == AOTHIP_F32)
        ((float *)data)[index] = (float)value;
    else if (dtype == AOTHIP_F16)
        ((uint16_t *)data)[index] = half_to_f16(value);
    else if (dtype == AOTHIP_BF16)
        ((uint16_t *)data)[index] = half_to_bf16(value);
}

double ref_round(double value, int dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return (float)value;
    case AOTHIP_F16:
        return half_from_f16(half_to_f16(value));
    case AOTHIP_BF16:
        return half_from_bf16(half_to_bf16(value));
    }
    return value;
}

enum ref_subnormals ref_subnormals_of(const char *target)
{
    return strncmp(target, "gfx90a", 6) ? REF_SUBNORMALS_KEPT : REF_SUBNORMALS_FLUSHED;
}

/* Adds one element to the verdict. */
static void judge(struct ref_verdict *v, double got, double expected, double allowed,
                  const int64_t at[4], double *worst)
{
    double error = got == expected ? 0 : fabs(got - expected);
    double ratio;

    if (isnan(error))
        error = INFINITY;
    ratio = error == 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;
    v->largest = fmax(v->largest, error);
    v->wrong += error > allowed;
    if (ratio <= *worst)
        return;
    *worst = ratio;
    memcpy(v->at, at, sizeof(v->at));
    v->error = error;
    v->allowed = allowed;
    v->got = got;
    v->expected = expected;
}

/* Where element (b, h, s, d) lies; the last stride counts only where there is more than one. */
static int64_t element_offset(const struct aothip_tensor *t, const int64_t at[4])
{
    return at[0] * t->stride[0] + at[1] * t->stride[1] + at[2] * t->stride[2] +
           (t->size[3] > 1 ? at[3] * t->stride[3] : 0);
}

struct ref_verdict ref_judge_o(const struct ref_fwd *answer, const struct aothip_tensor *o)
{
    struct ref_verdict v = {0};
    double worst = -1;
    int64_t at[4], i = 0;

    for (at[0] = 0; at[0] < answer->size[0]; at[0]++)
        for (at[1] = 0; at[1] < answer->size[1]; at[1]++)
            for (at[2] = 0; at[2] < answer->size[2]; at[2]++)
                for (at[3] = 0; at[3] < answer->size[3]; at[3]++, i++) {
                    int64_t where = element_offset(o, at);
                    judge(&v, ref_load(o->data, where, o->dtype), answer->o[i],
                          answer->o_allowed[i], at, &worst);
                }
    return v;
}

struct ref_verdict ref_judge_lse(const struct ref_fwd *answer, const float *lse)
{
    struct ref_verdict v = {0};
    double worst = -1;
    int64_t at[4] = {0}, i = 0;

    for (at[0] = 0; at[0] < answer->size[0]; at[0]++)
        for (at[1] = 0; at[1] < answer->size[1]; at[1]++)
            for (at[2] = 0; at[2] < answer->size[2]; at[2]++, i++)
                judge(&v, lse[i], answer->lse[i], answer->lse_allowed[i], at, &worst);
    return v;
}
