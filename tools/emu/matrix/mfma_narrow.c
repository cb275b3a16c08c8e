/*
 * v_mfma_f32_32x32x64_f8f6f4 and 16x16x128 of gfx950: CBSZ says what A is of, BLGP what B is of. A
 * lane holds 32 elements of a row of A or a column of B, in eight, six or four registers, the first
 * in the lowest bits. They follow each other in k, and those of one m lanes those of the m before;
 * but of 8 bits two halves of sixteen do so, the second ones behind the first ones of all lanes
 * (as kernels of HipKittens for MI350X lay out K and V).
 *
 * v_mfma_scale_* multiply elements 32 b .. 32 b + 31 of row, or column, i by a power of two, whose
 * exponent is a byte of the scale's lane i + m b; 255 is NaN. The operands take it in, as floats,
 * unless they would overflow.
 */
#include "matrix_ops.h"

#include <math.h>
#include <string.h>

enum { IN_LANE = 32, MOST = 32 * 64, BLOCK = 32, NAN_SCALE = 255, BIAS = 127, MOST_SCALE = 112 };

/* Rows of A, or columns of B, by k. */
struct operand {
    float x[MOST];
    int lowest; /* exponent of the type's smallest normal number */
};

static const struct format {
    unsigned bits, fraction;
    int bias;
} formats[] = {{8, 3, 7}, {8, 2, 15}, {6, 3, 1}, {6, 2, 3}, {4, 1, 1}};

static float narrow_float(unsigned bits, unsigned format)
{
    const struct format *f = &formats[format];
    const unsigned fraction = bits & ((1u << f->fraction) - 1);
    const unsigned exponent = (bits & ((1u << (f->bits - 1)) - 1)) >> f->fraction;
    const float x = exponent ? ldexpf((float)(fraction + (1u << f->fraction)),
                                      (int)exponent - f->bias - (int)f->fraction)
                             : ldexpf((float)fraction, 1 - f->bias - (int)f->fraction);

    if (f->bits == 8)
        return format ? emu_bf8_ocp_to_f32((uint8_t)bits) : emu_fp8_ocp_to_f32((uint8_t)bits);
    return bits >> (f->bits - 1) ? -x : x;
}

static void gather(struct operand *to, const uint32_t *rows, unsigned format, unsigned m)
{
    const unsigned bits = formats[format].bits, run = bits == 8 ? IN_LANE / 2 : IN_LANE;
    float value[256];

    for (unsigned i = 0; i < 1u << bits; i++)
        value[i] = narrow_float(i, format);
    to->lowest = 1 - formats[format].bias;
    for (unsigned l = 0; l < 64; l++)
        for (unsigned e = 0; e < IN_LANE; e++) {
            const unsigned at = e * bits, word = at / 32, shift = at % 32;
            const unsigned k = (e / run * (64 / m) + l / m) * run + e % run;
            uint64_t x = rows[word * 64 + l];

            if (shift + bits > 32)
                x |= (uint64_t)rows[(word + 1) * 64 + l] << 32;
            to->x[k * m + l % m] = value[x >> shift & ((1u << bits) - 1)];
        }
}

static int scale_at(const struct emu_wave *w, const struct emu_op *op, unsigned side, unsigned lane)
{
    const unsigned byte = (op->insn->op_sel >> side & 1) | (op->insn->op_sel_hi >> side & 1) << 1;

    return (int)(emu_row(w, op->s[3 + side])[lane] >> 8 * byte & 0xff);
}

/* The largest exponent of an operand's scales. */
static int largest_scale(const struct emu_wave *w, const struct emu_op *op, unsigned side)
{
    int most = 0;

    for (unsigned l = 0; l < 64; l++) {
        const int e = scale_at(w, op, side, l);

        most = e != NAN_SCALE && e > most ? e : most;
    }
    return most - BIAS;
}

static void scale(const struct emu_wave *w, const struct emu_op *op, unsigned side, unsigned m,
                  unsigned depth, struct operand *to)
{
    for (unsigned k = 0; k < depth; k++)
        for (unsigned i = 0; i < m; i++) {
            const int e = scale_at(w, op, side, i + k / BLOCK * m);
            float *x = &to->x[k * m + i];

            *x = e == NAN_SCALE ? NAN : ldexpf(*x, e - BIAS);
        }
    to->lowest = -126;
}

/* The sum in any mode where scales are large: a chain, each product by both scales at once. */
static void sum_far(const struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                    const struct operand *a, const struct operand *b, float *c)
{
    enum { REACH = 220 }; /* beyond it the product is infinite, or nothing, whatever it is of */

    for (unsigned i = 0; i < s->m; i++)
        for (unsigned j = 0; j < s->n; j++)
            for (unsigned k = 0; k < s->k; k++) {
                const int ea = scale_at(w, op, 0, i + k / BLOCK * s->m);
                const int eb = scale_at(w, op, 1, j + k / BLOCK * s->n);
                int e = ea + eb - 2 * BIAS;

                e = e > REACH ? REACH : e < -REACH ? -REACH : e;
                c[i * s->n + j] =
                    ea == NAN_SCALE || eb == NAN_SCALE
                        ? NAN
                        : fmaf(ldexpf(a->x[k * s->m + i], e / 2),
                               ldexpf(b->x[k * s->n + j], e - e / 2), c[i * s->n + j]);
            }
}

static void sum(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    static _Thread_local struct operand a, b; /* too big for a stack */
    const struct emu_operand *src = &op->insn->src[2];
    const bool constant = src->kind == EMU_OPK_CONST || src->kind == EMU_OPK_LITERAL;
    struct emu_dot d = {.m = s->m,
                        .n = s->n,
                        .k = s->k,
                        .rule = EMU_RULE_CUT_HALVES,
                        .group = 16,
                        .mode = w->group->launch->matrix};
    const uint32_t begin = (uint32_t)src->value;
    const bool scaled = op->insn->nsrc > 3;
    const bool far = scaled && (largest_scale(w, op, 0) > MOST_SCALE ||
                                largest_scale(w, op, 1) > MOST_SCALE);
    float c[32 * 32];

    gather(&a, emu_row(w, op->s[0]), op->insn->cbsz, s->m);
    gather(&b, emu_row(w, op->s[1]), op->insn->blgp, s->n);
    if (scaled && !far) {
        scale(w, op, 0, s->m, s->k, &a);
        scale(w, op, 1, s->n, s->k, &b);
    }
    d.lowest[0] = a.lowest;
    d.lowest[1] = b.lowest;
    if (d.mode == EMU_MATRIX_ADVERSARIAL)
        d.random = emu_random(w);
    for (unsigned i = 0; i < s->m; i++) {
        const struct emu_place at = emu_matrix_place(s, 4, 0, i);

        for (unsigned j = 0; constant && j < s->n; j++)
            memcpy(&c[i * s->n + j], &begin, sizeof *c);
        if (!constant)
            memcpy(c + i * s->n, emu_row(w, op->s[2] + at.item) + at.lane, s->n * sizeof *c);
    }
    if (far)
        sum_far(w, op, s, &a, &b, c);
    else
        emu_matrix_best()->dot(&d, a.x, b.x, c);
    for (unsigned i = 0; i < s->m; i++) {
        const struct emu_place at = emu_matrix_place(s, 4, 0, i);

        memcpy(emu_row(w, op->d[0] + at.item) + at.lane, c + i * s->n, s->n * sizeof *c);
    }
}

void emu_mfma_narrow(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                     unsigned passes)
{
    if (op->insn->cbsz > 4 || op->insn->blgp > 4)
        emu_fault(w, 0, "no format of elements has this number");
    if (w->strict && emu_exec(w) != ~UINT64_C(0))
        emu_fault(w, ~emu_exec(w), "matrix instruction with inactive lanes");
    if (w->group->counters)
        w->group->counters->matrix_passes += passes / (emu_has_bytes(op->insn) ? 1 : 2);
    sum(w, op, s);
}
