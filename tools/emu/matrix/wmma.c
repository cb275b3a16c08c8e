/*
 * WMMA of gfx11: 16 x 16 x 16 in wave32 and wave64.
 *
 * A: lane l has row l % 16, register r the columns 2r and 2r + 1 (16-bit), B likewise by columns;
 * lanes 16.. repeat lanes 0..15. C and D: element (i, j) in register i / rows, lane 16 (i % rows) +
 * j, where rows is 2 in wave32 and 4 in wave64.
 */
#include <math.h>
#include <string.h>

#include "matrix_ops.h"

enum { N = 16 };

typedef uint32_t four __attribute__((vector_size(16)));

static inline four load_four(const uint32_t *p)
{
    four x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* Do lanes 16.. of so many registers from v on repeat lanes 0..15? */
static bool repeat(const uint32_t *v, unsigned registers, unsigned lanes)
{
    four other = {0};
    for (const uint32_t *end = v + registers * lanes; v < end; v += lanes)
        for (unsigned l = N; l < lanes; l += N)
#pragma GCC unroll 4
            for (unsigned i = 0; i < N; i += 4)
                other |= load_four(v + i) ^ load_four(v + l + i);
    return !(other[0] | other[1] | other[2] | other[3]);
}

static void check(struct emu_wave *w, const struct emu_op *op, unsigned registers)
{
    if (w->group->counters)
        w->group->counters->matrix_passes += 8;
    if (!w->strict)
        return;
    if (emu_exec(w) != emu_all_lanes(w))
        emu_fault(w, emu_all_lanes(w) & ~emu_exec(w), "matrix instruction with inactive lanes");
    for (unsigned s = 0; s < 2; s++) {
        if (op->insn->src[s].kind != EMU_OPK_VGPR ||
            repeat(emu_row(w, op->s[s]), registers, w->lanes))
            continue;
        for (unsigned r = 0; r < registers; r++) {
            const uint32_t *v = emu_row(w, op->s[s] + r);
            for (unsigned l = N; l < w->lanes; l++)
                if (v[l] != v[l % N])
                    emu_fault(w, UINT64_C(1) << l,
                              "v%u differs between lanes %u and %u, which must repeat each other",
                              op->insn->src[s].reg + r, l % N, l);
        }
    }
}

/* NEG_LO and NEG_HI negate the even and the odd columns of A and B. */
static void gather(struct emu_wave *w, const struct emu_op *op, unsigned s, bool bf16, float *out)
{
    const bool neg[2] = {op->insn->neg_lo >> s & 1, op->insn->neg_hi >> s & 1};
    emu_matrix_best()->wmma_operand(out, emu_row(w, op->s[s]), w->lanes, bf16);
    for (unsigned k = 0; (neg[0] || neg[1]) && k < N; k++)
        for (unsigned l = 0; neg[k % 2] && l < N; l++)
            out[k * N + l] = -out[k * N + l];
}

static bool is_constant(const struct emu_op *op)
{
    return op->insn->src[2].kind == EMU_OPK_CONST || op->insn->src[2].kind == EMU_OPK_LITERAL;
}

/* Bits of C, element (i, j) at [i * 16 + j]: the registers one after the other. */
static void gather_c(struct emu_wave *w, const struct emu_op *op, uint32_t *c)
{
    for (unsigned i = 0; is_constant(op) && i < N * N; i++)
        c[i] = (uint32_t)op->insn->src[2].value;
    if (!is_constant(op))
        memcpy(c, emu_row(w, op->s[2]), N * N * sizeof *c);
}

static void scatter_d(struct emu_wave *w, const struct emu_op *op, const uint32_t *d)
{
    memcpy(emu_row(w, op->d[0]), d, N * N * sizeof *d);
}

static void product(struct emu_wave *w, const struct emu_op *op, bool bf16, float *c)
{
    float a[N * N], b[N * N];

    gather(w, op, 0, bf16, a);
    gather(w, op, 1, bf16, b);
    emu_wmma_dot(w, a, b, c);
}

/* D begins inside of C or C inside of D: a row of the sum would be lost before it is read. */
static bool overlaps_itself(const struct emu_wave *w, const struct emu_op *op)
{
    const unsigned rows = N * N / w->lanes, c = op->s[2], d = op->d[0];
    return c != d && c < d + rows && d < c + rows;
}

static void wmma_f32(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    const unsigned modify = (op->insn->neg_hi | op->insn->neg_lo) & 4;
    uint32_t bits[N * N];
    float c[N * N];
    if (op->insn->family >= EMU_GFX12) {
        emu_wmma_lanes_f32(w, op, bf16);
        return;
    }
    check(w, op, 8);
    if (w->group->launch->matrix == EMU_MATRIX_F32 && !op->insn->neg_lo && !op->insn->neg_hi &&
        !is_constant(op) && !overlaps_itself(w, op)) {
        emu_matrix_best()->wmma_fused(emu_row(w, op->s[0]), emu_row(w, op->s[1]), w->lanes, bf16,
                                      emu_row(w, op->s[2]), emu_row(w, op->d[0]));
        return;
    }
    if (is_constant(op)) {
        gather_c(w, op, bits);
        memcpy(c, bits, sizeof c);
    } else {
        memcpy(c, emu_row(w, op->s[2]), sizeof c);
    }
    for (unsigned i = 0; modify && i < N * N; i++) {
        c[i] = op->insn->neg_hi & 4 ? fabsf(c[i]) : c[i];
        c[i] = op->insn->neg_lo & 4 ? -c[i] : c[i];
    }
    product(w, op, bf16, c);
    memcpy(emu_row(w, op->d[0]), c, sizeof c);
}

void emu_wmma_f32_f16(struct emu_wave *w, const struct emu_op *op)
{
    wmma_f32(w, op, false);
}

void emu_wmma_f32_bf16(struct emu_wave *w, const struct emu_op *op)
{
    wmma_f32(w, op, true);
}

/* 16-bit accumulators: OP_SEL[2] says which half of C and D; the other half of D stays. */
static void wmma_16(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    uint32_t bits[N * N], old[N * N];
    uint16_t c16[N * N];
    float c[N * N];
    const unsigned shift = op->insn->op_sel & 4 ? 16 : 0;
    if (op->insn->family >= EMU_GFX12) {
        emu_wmma_lanes_16(w, op, bf16);
        return;
    }
    check(w, op, 8);
    gather_c(w, op, bits);
    for (unsigned i = 0; i < N * N; i++) {
        old[i] = emu_row(w, op->d[0])[i];
        c16[i] = (uint16_t)(is_constant(op) ? bits[i] : bits[i] >> shift);
        c16[i] &= op->insn->neg_hi & 4 ? 0x7fff : 0xffff;
        c16[i] ^= op->insn->neg_lo & 4 ? 0x8000 : 0;
        uint32_t wide = (uint32_t)c16[i] << 16;
        memcpy(&c[i], &wide, 4);
    }
    if (!bf16)
        emu_matrix_best()->f16_to_f32(c, c16, N * N);
    product(w, op, bf16, c);
    if (!bf16)
        emu_matrix_best()->f32_to_f16(c16, c, N * N);
    for (unsigned i = 0; i < N * N; i++) {
        uint16_t result = bf16 ? emu_f32_to_bf16(c[i]) : c16[i];
        bits[i] = (old[i] & ~(0xffffu << shift)) | (uint32_t)result << shift;
    }
    scatter_d(w, op, bits);
}

void emu_wmma_f16(struct emu_wave *w, const struct emu_op *op)
{
    wmma_16(w, op, false);
}

void emu_wmma_bf16(struct emu_wave *w, const struct emu_op *op)
{
    wmma_16(w, op, true);
}

/* NEG_LO[0] and [1] say that A and B are signed; CLAMP saturates the 32-bit sum. */
static void wmma_int(struct emu_wave *w, const struct emu_op *op, unsigned bits)
{
    uint32_t c[N * N], d[N * N];
    int32_t m[2][N][N];
    const unsigned per = 32 / bits, top = 1u << (bits - 1);
    if (op->insn->family >= EMU_GFX12) {
        emu_wmma_lanes_int(w, op, bits);
        return;
    }
    check(w, op, N / per);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned l = 0; l < N; l++)
            for (unsigned k = 0; k < N; k++) {
                uint32_t x = emu_row(w, op->s[s] + k / per)[l] >> k % per * bits;
                x &= 2 * top - 1;
                m[s][l][k] =
                    op->insn->neg_lo >> s & 1 ? (int32_t)(x ^ top) - (int32_t)top : (int32_t)x;
            }
    gather_c(w, op, c);
    for (unsigned i = 0; i < N * N; i++) {
        int64_t sum = (int32_t)c[i];
        for (unsigned k = 0; k < N; k++)
            sum += m[0][i / N][k] * m[1][i % N][k];
        if (op->insn->clamp)
            sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        d[i] = (uint32_t)sum;
    }
    scatter_d(w, op, d);
}

void emu_wmma_iu8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_int(w, op, 8);
}

void emu_wmma_iu4(struct emu_wave *w, const struct emu_op *op)
{
    wmma_int(w, op, 4);
}
