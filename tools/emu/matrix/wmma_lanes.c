/*
 * WMMA of gfx12: 16 x 16 x 16 in wave32 and wave64, without repeated halves.
 *
 * A: lane l has of row l % 16 the columns n (l / 16) .. n (l / 16) + n - 1, one after the other in
 * its registers; n is 8 in wave32 and 4 in wave64. B likewise by columns. C and D: element (i, j)
 * in lane 16 (i / n) + j, its i % n-th; 16-bit ones two to a register.
 */
#include <math.h>
#include <string.h>

#include "matrix_ops.h"

enum { N = 16 };

static void check(struct emu_wave *w)
{
    if (w->group->counters)
        w->group->counters->matrix_passes += 8;
    if (w->strict && emu_exec(w) != emu_all_lanes(w))
        emu_fault(w, emu_all_lanes(w) & ~emu_exec(w), "matrix instruction with inactive lanes");
}

static bool is_register(const struct emu_op *op, unsigned s)
{
    return op->insn->src[s].kind == EMU_OPK_VGPR;
}

/* Bits of element e of lane l of source s, elements of so many bits; a constant is in all of them.
 */
static uint32_t element(const struct emu_wave *w, const struct emu_op *op, unsigned s, unsigned l,
                        unsigned e, unsigned bits)
{
    uint32_t x;

    if (!is_register(op, s)) {
        x = (uint32_t)op->insn->src[s].value;
        return bits == 32 ? x : x & ((1u << bits) - 1);
    }
    x = emu_row(w, op->s[s] + e * bits / 32)[l];
    return bits == 32 ? x : x >> e * bits % 32 & ((1u << bits) - 1);
}

/* 16-bit operands as floats, [k][row or column]. NEG_LO and NEG_HI: the even and the odd k. */
static void gather(const struct emu_wave *w, const struct emu_op *op, unsigned s, bool bf16,
                   float out[N * N])
{
    const unsigned n = N * N / w->lanes;
    uint16_t halves[N * N];

    for (unsigned k = 0; k < N; k++)
        for (unsigned i = 0; i < N; i++) {
            uint32_t x = element(w, op, s, i + N * (k / n), k % n, 16);

            x ^= (k & 1 ? op->insn->neg_hi : op->insn->neg_lo) >> s & 1 ? 0x8000 : 0;
            halves[k * N + i] = (uint16_t)x;
        }
    if (!bf16)
        emu_matrix_best()->f16_to_f32(out, halves, N * N);
    for (unsigned i = 0; bf16 && i < N * N; i++) {
        uint32_t wide = (uint32_t)halves[i] << 16;

        memcpy(&out[i], &wide, sizeof wide);
    }
}

/* 8-bit floats, of which nothing is negated. */
static void gather_8(const struct emu_wave *w, const struct emu_op *op, unsigned s, bool bf8,
                     float out[N * N])
{
    const unsigned n = N * N / w->lanes;

    for (unsigned k = 0; k < N; k++)
        for (unsigned i = 0; i < N; i++) {
            uint8_t x = (uint8_t)element(w, op, s, i + N * (k / n), k % n, 8);

            out[k * N + i] = bf8 ? emu_bf8_ocp_to_f32(x) : emu_fp8_ocp_to_f32(x);
        }
}

static void product(struct emu_wave *w, const struct emu_op *op, bool bf16, float *c)
{
    float a[N * N], b[N * N];

    gather(w, op, 0, bf16, a);
    gather(w, op, 1, bf16, b);
    emu_wmma_dot(w, a, b, c);
}

/* Of C, row i and column j. NEG_HI takes the absolute, NEG_LO the negated. */
static uint32_t addend(const struct emu_wave *w, const struct emu_op *op, unsigned i, unsigned j,
                       unsigned bits)
{
    const unsigned n = N * N / w->lanes;
    const uint32_t sign = 1u << (bits - 1);
    uint32_t x = element(w, op, 2, N * (i / n) + j, i % n, bits);

    x &= op->insn->neg_hi & 4 ? ~sign : ~0u;
    return x ^ (op->insn->neg_lo & 4 ? sign : 0);
}

static void gather_c(const struct emu_wave *w, const struct emu_op *op, float c[N * N])
{
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            uint32_t x = addend(w, op, i, j, 32);

            memcpy(&c[i * N + j], &x, sizeof x);
        }
}

static void scatter_d(struct emu_wave *w, const struct emu_op *op, const float c[N * N])
{
    const unsigned n = N * N / w->lanes;

    for (unsigned i = 0; i < N; i++)
        memcpy(emu_row(w, op->d[0] + i % n) + N * (i / n), &c[i * N], N * sizeof *c);
}

void emu_wmma_lanes_f32(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    float c[N * N];

    check(w);
    gather_c(w, op, c);
    product(w, op, bf16, c);
    scatter_d(w, op, c);
}

static void wmma_8(struct emu_wave *w, const struct emu_op *op, bool a_bf8, bool b_bf8)
{
    float a[N * N], b[N * N], c[N * N];

    check(w);
    gather_8(w, op, 0, a_bf8, a);
    gather_8(w, op, 1, b_bf8, b);
    gather_c(w, op, c);
    emu_wmma_dot(w, a, b, c);
    scatter_d(w, op, c);
}

void emu_wmma_f32_fp8_fp8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, false, false);
}

void emu_wmma_f32_fp8_bf8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, false, true);
}

void emu_wmma_f32_bf8_fp8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, true, false);
}

void emu_wmma_f32_bf8_bf8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, true, true);
}

void emu_wmma_lanes_16(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    const unsigned n = N * N / w->lanes;
    uint16_t h[N * N];
    float c[N * N];

    check(w);
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            uint32_t x = addend(w, op, i, j, 16), wide = x << 16;

            h[i * N + j] = (uint16_t)x;
            memcpy(&c[i * N + j], &wide, sizeof wide);
        }
    if (!bf16)
        emu_matrix_best()->f16_to_f32(c, h, N * N);
    product(w, op, bf16, c);
    if (!bf16)
        emu_matrix_best()->f32_to_f16(h, c, N * N);
    for (unsigned i = 0; bf16 && i < N * N; i++)
        h[i] = emu_f32_to_bf16(c[i]);
    for (unsigned i = 0; i < N; i += 2)
        for (unsigned j = 0; j < N; j++)
            emu_row(w, op->d[0] + i % n / 2)[N * (i / n) + j] =
                h[i * N + j] | (uint32_t)h[(i + 1) * N + j] << 16;
}

static int32_t integer(const struct emu_wave *w, const struct emu_op *op, unsigned s, unsigned i,
                       unsigned k, unsigned bits)
{
    const unsigned top = 1u << (bits - 1);
    unsigned n = N * N / w->lanes;
    uint32_t x;

    if (bits == 4 && w->lanes == 64) /* a register holds eight: lanes from 32 on have none */
        n = 8;
    x = element(w, op, s, i + N * (k / n), k % n, bits);
    return op->insn->neg_lo >> s & 1 ? (int32_t)(x ^ top) - (int32_t)top : (int32_t)x;
}

/* NEG_LO[0] and [1] say that A and B are signed; CLAMP saturates the 32-bit sum. */
void emu_wmma_lanes_int(struct emu_wave *w, const struct emu_op *op, unsigned bits)
{
    const unsigned n = N * N / w->lanes;
    uint32_t d[N * N];

    check(w);
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            int64_t sum = (int32_t)element(w, op, 2, N * (i / n) + j, i % n, 32);

            for (unsigned k = 0; k < N; k++)
                sum += integer(w, op, 0, i, k, bits) * integer(w, op, 1, j, k, bits);
            if (op->insn->clamp)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i * N + j] = (uint32_t)sum;
        }
    for (unsigned i = 0; i < N; i++)
        memcpy(emu_row(w, op->d[0] + i % n) + N * (i / n), &d[i * N], N * sizeof *d);
}
