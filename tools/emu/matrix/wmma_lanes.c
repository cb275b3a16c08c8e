/*
 * WMMA of gfx12: 16 x 16 x 16, of four bits also 16 x 16 x 32, in wave32 and wave64, without
 * repeated halves.
 *
 * A: lane l of wave32 has of row l % 16 the columns n (l / 16) .. n (l / 16) + n - 1, one after the
 * other in its registers, n being half of all. B likewise by columns. C and D: element (i, j) in
 * lane 16 (i / 8) + j, its i % 8-th; 16-bit ones two to a register. Wave64: lane_tiles.h.
 */
#include <string.h>

#include "lane_tiles.h"

enum { N = 16, MOST_K = 32, OF_LANE = 8 };

void emu_tile_check(struct emu_wave *w)
{
    if (w->group->counters)
        w->group->counters->matrix_passes += 8;
    if (w->strict && emu_exec(w) != emu_all_lanes(w))
        emu_fault(w, emu_all_lanes(w) & ~emu_exec(w), "matrix instruction with inactive lanes");
}

float emu_tile_float(uint32_t x, enum emu_elem type)
{
    const uint16_t h = (uint16_t)x;
    const uint32_t wide = x << 16;
    float f;

    switch (type) {
    case EMU_EL_FP8_OCP:
        return emu_fp8_ocp_to_f32((uint8_t)x);
    case EMU_EL_BF8_OCP:
        return emu_bf8_ocp_to_f32((uint8_t)x);
    case EMU_EL_F16:
        emu_matrix_best()->f16_to_f32(&f, &h, 1);
        return f;
    default:
        memcpy(&f, &wide, sizeof f);
        return f;
    }
}

/* 16-bit operands as floats, [k][row or column]. NEG_LO and NEG_HI: the even and the odd k. */
static void gather(struct emu_wave *w, const struct emu_op *op, unsigned s, bool bf16,
                   float out[N * N])
{
    const struct emu_tile t = emu_tile_source(w, op, s, OF_LANE, 16);
    uint16_t halves[N * N];

    for (unsigned k = 0; k < N; k++)
        for (unsigned i = 0; i < N; i++) {
            uint32_t x = emu_tile_element(&t, i + N * (k / OF_LANE), k % OF_LANE);

            x ^= (k & 1 ? op->insn->neg_hi : op->insn->neg_lo) >> s & 1 ? 0x8000 : 0;
            halves[k * N + i] = (uint16_t)x;
        }
    if (!bf16)
        emu_matrix_best()->f16_to_f32(out, halves, N * N);
    for (unsigned i = 0; bf16 && i < N * N; i++)
        out[i] = emu_tile_float(halves[i], EMU_EL_BF16);
}

/* 8-bit floats, of which nothing is negated. */
static void gather_8(struct emu_wave *w, const struct emu_op *op, unsigned s, enum emu_elem type,
                     float out[N * N])
{
    const struct emu_tile t = emu_tile_source(w, op, s, OF_LANE, 8);

    for (unsigned k = 0; k < N; k++)
        for (unsigned i = 0; i < N; i++)
            out[k * N + i] =
                emu_tile_float(emu_tile_element(&t, i + N * (k / OF_LANE), k % OF_LANE), type);
}

static void product(struct emu_wave *w, const struct emu_op *op, bool bf16, float *c)
{
    float a[N * N], b[N * N];

    gather(w, op, 0, bf16, a);
    gather(w, op, 1, bf16, b);
    emu_wmma_dot(w, a, b, c);
}

/* Of C, row i and column j. NEG_HI takes the absolute, NEG_LO the negated. */
static uint32_t addend(const struct emu_tile *t, const struct emu_op *op, unsigned i, unsigned j)
{
    const uint32_t sign = 1u << (t->bits - 1);
    uint32_t x = emu_tile_element(t, N * (i / OF_LANE) + j, i % OF_LANE);

    x &= op->insn->neg_hi & 4 ? ~sign : ~0u;
    return x ^ (op->insn->neg_lo & 4 ? sign : 0);
}

static void gather_c(struct emu_wave *w, const struct emu_op *op, float c[N * N])
{
    const struct emu_tile t = emu_tile_source(w, op, 2, OF_LANE, 32);

    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            uint32_t x = addend(&t, op, i, j);

            memcpy(&c[i * N + j], &x, sizeof x);
        }
}

static void scatter_d(struct emu_wave *w, const struct emu_op *op, const void *c)
{
    const struct emu_tile t = emu_tile_at(w, op->d[0], OF_LANE, 32);

    for (unsigned i = 0; i < N; i++)
        memcpy(emu_tile_word(&t, N * (i / OF_LANE), i % OF_LANE), (const uint32_t *)c + i * N,
               N * sizeof(uint32_t));
}

void emu_wmma_lanes_f32(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    float c[N * N];

    emu_tile_check(w);
    gather_c(w, op, c);
    product(w, op, bf16, c);
    scatter_d(w, op, c);
}

static void wmma_8(struct emu_wave *w, const struct emu_op *op, enum emu_elem of_a,
                   enum emu_elem of_b)
{
    float a[N * N], b[N * N], c[N * N];

    emu_tile_check(w);
    gather_8(w, op, 0, of_a, a);
    gather_8(w, op, 1, of_b, b);
    gather_c(w, op, c);
    emu_wmma_dot(w, a, b, c);
    scatter_d(w, op, c);
}

void emu_wmma_f32_fp8_fp8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, EMU_EL_FP8_OCP, EMU_EL_FP8_OCP);
}

void emu_wmma_f32_fp8_bf8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, EMU_EL_FP8_OCP, EMU_EL_BF8_OCP);
}

void emu_wmma_f32_bf8_fp8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, EMU_EL_BF8_OCP, EMU_EL_FP8_OCP);
}

void emu_wmma_f32_bf8_bf8(struct emu_wave *w, const struct emu_op *op)
{
    wmma_8(w, op, EMU_EL_BF8_OCP, EMU_EL_BF8_OCP);
}

void emu_wmma_lanes_16(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    const struct emu_tile from = emu_tile_source(w, op, 2, OF_LANE, 16);
    const struct emu_tile to = emu_tile_at(w, op->d[0], OF_LANE, 16);
    uint16_t h[N * N];
    float c[N * N];

    emu_tile_check(w);
    for (unsigned i = 0; i < N * N; i++)
        h[i] = (uint16_t)addend(&from, op, i / N, i % N);
    for (unsigned i = 0; bf16 && i < N * N; i++)
        c[i] = emu_tile_float(h[i], EMU_EL_BF16);
    if (!bf16)
        emu_matrix_best()->f16_to_f32(c, h, N * N);
    product(w, op, bf16, c);
    if (!bf16)
        emu_matrix_best()->f32_to_f16(h, c, N * N);
    for (unsigned i = 0; bf16 && i < N * N; i++)
        h[i] = emu_f32_to_bf16(c[i]);
    for (unsigned i = 0; i < N * N; i++)
        emu_tile_put(&to, N * (i / N / OF_LANE) + i % N, i / N % OF_LANE, h[i]);
}

/* NEG_LO[0] and [1] say that A and B are signed; CLAMP saturates the 32-bit sum. */
static void wmma_int(struct emu_wave *w, const struct emu_op *op, unsigned bits, unsigned most_k)
{
    const unsigned held = most_k / 2;
    const struct emu_tile c = emu_tile_source(w, op, 2, OF_LANE, 32);
    int32_t m[2][MOST_K][N];
    uint32_t d[N * N];

    emu_tile_check(w);
    for (unsigned s = 0; s < 2; s++) {
        const struct emu_tile t = emu_tile_source(w, op, s, held, bits);

        for (unsigned k = 0; k < most_k; k++)
            for (unsigned i = 0; i < N; i++)
                m[s][k][i] = emu_tile_integer(emu_tile_element(&t, i + N * (k / held), k % held),
                                              bits, op->insn->neg_lo >> s & 1);
    }
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            int64_t sum = (int32_t)emu_tile_element(&c, N * (i / OF_LANE) + j, i % OF_LANE);

            for (unsigned k = 0; k < most_k; k++)
                sum += m[0][k][i] * m[1][k][j];
            if (op->insn->clamp)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i * N + j] = (uint32_t)sum;
        }
    scatter_d(w, op, d);
}

void emu_wmma_lanes_int(struct emu_wave *w, const struct emu_op *op, unsigned bits)
{
    wmma_int(w, op, bits, N);
}

void emu_wmma_iu4_deep(struct emu_wave *w, const struct emu_op *op)
{
    wmma_int(w, op, 4, MOST_K);
}
