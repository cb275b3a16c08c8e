/* The reference's merge of partial results, in double, and a plain one in float for its tolerance.
 */
#include "ref_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What merging makes of one row. */
struct shares {
    double keep, add, lse;
};

static int is_blind(double lse)
{
    return isinf(lse);
}

static struct shares share(double a, double b, double unit)
{
    const double top = is_blind(a) ? b : is_blind(b) ? a : fmax(a, b);
    const double x = is_blind(a) ? 0 : exp((a - top) * unit);
    const double y = is_blind(b) ? 0 : exp((b - top) * unit);
    if (is_blind(a) && is_blind(b))
        return (struct shares){0, 0, INFINITY};
    return (struct shares){x / (x + y), y / (x + y), top + log(x + y) / unit};
}

/* As one would write it in float. */
static struct shares plain_share(float a, float b, float unit)
{
    const float top = fmaxf(a, b);
    const float lse = top + logf(expf((a - top) * unit) + expf((b - top) * unit)) / unit;
    return (struct shares){(double)expf((a - lse) * unit), (double)expf((b - lse) * unit),
                           (double)lse};
}

/* Largest errors of the plain merge, over rows that both have. */
struct worst {
    double o, lse;
};

static void merge_row(const struct aothip_attn_merge_params *p, const int64_t at[3], int64_t row,
                      struct ref_fwd *answer, struct worst *worst)
{
    const double unit = p->lse_base2 ? log(2.0) : 1;
    const int64_t dim = p->o.size[3];
    const int64_t own = ref_offset(&p->lse, at[0], at[1], at[2], 0);
    const double a = ref_load(p->lse.data, own, AOTHIP_F32);
    const double b =
        ref_load(p->part_lse.data, ref_offset(&p->part_lse, at[0], at[1], at[2], 0), AOTHIP_F32);
    const int both = isfinite(a) && isfinite(b);
    struct shares s = share(a, b, unit), plain = {0, 0, 0};
    if (!is_blind(a) && is_blind(b))
        s = (struct shares){1, 0, a};
    if (both) {
        plain = plain_share((float)a, (float)b, (float)unit);
        worst->lse = fmax(worst->lse, fabs(plain.lse - s.lse));
    }
    answer->lse[row] = s.lse;
    answer->lse_at[row] = own;
    /* The sum is of numbers up to the larger of the two. */
    answer->lse_allowed[row] =
        both ? ref_half_ulp(fmax(fabs(s.lse), fmax(fabs(a), fabs(b))), AOTHIP_F32) : 0;
    for (int64_t d = 0; d < dim; d++) {
        const double x = ref_load(p->o.data, ref_offset(&p->o, at[0], at[1], at[2], d), p->o.dtype);
        const double y = ref_load(p->part_o.data, ref_offset(&p->part_o, at[0], at[1], at[2], d),
                                  p->part_o.dtype);
        const double value = (is_blind(a) ? 0 : s.keep * x) + (is_blind(b) ? 0 : s.add * y);
        answer->o[row * dim + d] = value;
        answer->o_allowed[row * dim + d] =
            both || p->o.dtype != p->part_o.dtype ? ref_half_ulp(value, p->o.dtype) : 0;
        if (both)
            worst->o = fmax(
                worst->o,
                fabs((double)((float)plain.keep * (float)x + (float)plain.add * (float)y) - value));
    }
}

/* Twice the plain errors, beside rounding, wherever there is something to be wrong about. */
static void allow(struct ref_fwd *answer, const struct worst *worst)
{
    const int64_t rows = answer->size[0] * answer->size[1] * answer->size[2];
    for (int64_t row = 0; row < rows; row++) {
        if (answer->lse_allowed[row] > 0)
            answer->lse_allowed[row] += 2 * worst->lse;
        for (int64_t i = row * answer->size[3]; i < (row + 1) * answer->size[3]; i++)
            if (answer->lse_allowed[row] > 0)
                answer->o_allowed[i] += 2 * worst->o;
    }
}

int ref_attn_merge(const struct aothip_attn_merge_params *p, struct ref_fwd *answer)
{
    const int64_t *size = p->o.size, rows = size[0] * size[1] * size[2];
    struct worst worst = {0, 0};
    int64_t at[3], row = 0;

    memset(answer, 0, sizeof(*answer));
    memcpy(answer->size, size, sizeof(answer->size));
    answer->o = ref_new_doubles(rows, size[3]);
    answer->o_allowed = ref_new_doubles(rows, size[3]);
    answer->lse = ref_new_doubles(rows, 1);
    answer->lse_allowed = ref_new_doubles(rows, 1);
    answer->lse_at = (int64_t *)ref_new_doubles(rows, 1);
    if (!answer->o || !answer->o_allowed || !answer->lse || !answer->lse_allowed ||
        !answer->lse_at) {
        ref_free(answer);
        return -1;
    }
    for (at[0] = 0; at[0] < size[0]; at[0]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[2] = 0; at[2] < size[2]; at[2]++)
                merge_row(p, at, row++, answer, &worst);
    allow(answer, &worst);
    return 0;
}
