/*
 * SWMMAC, sparse products of gfx12: 16 x 16 x 32, of four bits also 16 x 16 x 64. A has at most two
 * elements of every four neighbours in a row that are not 0, and holds just two.
 *
 * Lane l of wave32 holds of row l % 16 of A a quarter of all k, of column l % 16 of B half, one
 * after the other, and the n-th pair that it holds of A belongs to the n-th four of B in the same
 * half of the lanes. Two bits of the index say which of the four an element is: those of element e
 * are bits 2 e and 2 e + 1 of lane l's part of the index register. That part has two bits an
 * element, 16 in wave32 and 8 in wave64, and OP_SEL chooses it, where the register holds several.
 * Sources are RDNA 4's manual (7.12.2) and what others saw on gfx1201: there NEG_LO and NEG_HI of
 * B go by the even and the odd element of A that they meet, and CLAMP saturates twice, behind the
 * products of lanes 0..15 and behind all.
 */
#include <string.h>

#include "lane_tiles.h"

enum { N = 16, MOST = 32, OF_LANE = 8 };

/* Elements of A that a row has, those that a lane of wave32 holds; bits of each. */
struct sparse {
    unsigned kept, held, bits;
    uint8_t from[MOST][N]; /* of row i, the element of B's column that its p-th meets */
};

/* The index bits of element e of lane l of wave32. */
static unsigned which(struct emu_wave *w, const struct emu_op *op, const struct sparse *s,
                      unsigned lane, unsigned e)
{
    const bool split = w->lanes == 64 && s->held * s->bits > 32;
    const unsigned own = split ? s->held / 2 : s->held;
    const unsigned row = e / own * 32 + lane;

    return emu_row(w, op->s[2])[row] >> (op->insn->op_sel * own + e % own) * 2 & 3;
}

static void find(struct emu_wave *w, const struct emu_op *op, struct sparse *s)
{
    emu_tile_check(w);
    for (unsigned p = 0; p < s->kept; p++)
        for (unsigned i = 0; i < N; i++)
            s->from[p][i] =
                (uint8_t)(p / 2 * 4 + which(w, op, s, i + N * (p / s->held), p % s->held));
}

/* Lane and number of the p-th element of row, or column, i where a lane holds so many. */
static uint32_t nth(const struct emu_tile *t, unsigned held, unsigned i, unsigned p)
{
    return emu_tile_element(t, i + N * (p / held), p % held);
}

/* A row at a time, as each meets other elements of B; sums are made of two rows at least. */
static void multiply(struct emu_wave *w, const struct emu_op *op, enum emu_elem of_a,
                     enum emu_elem of_b, float c[N * N])
{
    struct sparse s = {N, OF_LANE, of_a == EMU_EL_F16 || of_a == EMU_EL_BF16 ? 16 : 8, {{0}}};
    const struct emu_tile ta = emu_tile_source(w, op, 0, s.held, s.bits);
    const struct emu_tile tb = emu_tile_source(w, op, 1, 2 * s.held, s.bits);
    const uint8_t neg[2] = {op->insn->neg_lo, op->insn->neg_hi};
    struct emu_dot d = {2, N, N, EMU_RULE_ONCE, N, w->group->launch->matrix, {0, 0}, 0};
    float b[2 * N][N];

    find(w, op, &s);
    if (d.mode == EMU_MATRIX_ADVERSARIAL)
        d.random = emu_random(w);
    for (unsigned k = 0; k < 2 * N; k++)
        for (unsigned j = 0; j < N; j++)
            b[k][j] = emu_tile_float(nth(&tb, 2 * s.held, j, k), of_b);
    for (unsigned i = 0; i < N; i++) {
        float row[N][2] = {{0}}, met[N][N], sum[2][N] = {{0}};

        for (unsigned p = 0; p < N; p++) {
            const float x = emu_tile_float(nth(&ta, s.held, i, p), of_a);

            row[p][0] = neg[p & 1] & 1 ? -x : x;
            for (unsigned j = 0; j < N; j++)
                met[p][j] = neg[p & 1] & 2 ? -b[s.from[p][i]][j] : b[s.from[p][i]][j];
        }
        memcpy(sum[0], c + i * N, sizeof sum[0]);
        emu_matrix_best()->dot(&d, row[0], met[0], sum[0]);
        memcpy(c + i * N, sum[0], sizeof sum[0]);
        d.random = d.random * UINT64_C(6364136223846793005) + 1;
    }
}

static void swmmac_f32(struct emu_wave *w, const struct emu_op *op, enum emu_elem of_a,
                       enum emu_elem of_b)
{
    const struct emu_tile d = emu_tile_at(w, op->d[0], OF_LANE, 32);
    float c[N * N];

    for (unsigned i = 0; i < N; i++)
        memcpy(c + i * N, emu_tile_word(&d, N * (i / OF_LANE), i % OF_LANE), N * sizeof *c);
    multiply(w, op, of_a, of_b, c);
    for (unsigned i = 0; i < N; i++)
        memcpy(emu_tile_word(&d, N * (i / OF_LANE), i % OF_LANE), c + i * N, N * sizeof *c);
}

static void swmmac_16(struct emu_wave *w, const struct emu_op *op, bool bf16)
{
    const enum emu_elem type = bf16 ? EMU_EL_BF16 : EMU_EL_F16;
    const struct emu_tile d = emu_tile_at(w, op->d[0], OF_LANE, 16);
    uint16_t h[N * N];
    float c[N * N];

    for (unsigned i = 0; i < N * N; i++)
        c[i] = emu_tile_float(nth(&d, OF_LANE, i % N, i / N), type);
    multiply(w, op, type, type, c);
    if (!bf16)
        emu_matrix_best()->f32_to_f16(h, c, N * N);
    for (unsigned i = 0; bf16 && i < N * N; i++)
        h[i] = emu_f32_to_bf16(c[i]);
    for (unsigned i = 0; i < N * N; i++)
        emu_tile_put(&d, i % N + N * (i / N / OF_LANE), i / N % OF_LANE, h[i]);
}

static int64_t saturated(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}

/* NEG_LO[0] and [1] say that A and B are signed. */
static void swmmac_int(struct emu_wave *w, const struct emu_op *op, unsigned bits, unsigned kept)
{
    struct sparse s = {kept, kept / 2, bits, {{0}}};
    const struct emu_tile ta = emu_tile_source(w, op, 0, s.held, bits);
    const struct emu_tile tb = emu_tile_source(w, op, 1, 2 * s.held, bits);
    const struct emu_tile d = emu_tile_at(w, op->d[0], OF_LANE, 32);
    int32_t b[2 * MOST][N];
    uint32_t sums[N][N];

    find(w, op, &s);
    for (unsigned k = 0; k < 2 * kept; k++)
        for (unsigned j = 0; j < N; j++)
            b[k][j] = emu_tile_integer(nth(&tb, 2 * s.held, j, k), bits, op->insn->neg_lo >> 1 & 1);
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++) {
            int64_t sum = (int32_t)nth(&d, OF_LANE, j, i);

            for (unsigned p = 0; p < kept; p++) {
                sum += emu_tile_integer(nth(&ta, s.held, i, p), bits, op->insn->neg_lo & 1) *
                       b[s.from[p][i]][j];
                if (op->insn->clamp && (p + 1) % s.held == 0)
                    sum = saturated(sum);
            }
            sums[i][j] = (uint32_t)sum;
        }
    for (unsigned i = 0; i < N; i++)
        for (unsigned j = 0; j < N; j++)
            emu_tile_put(&d, j + N * (i / OF_LANE), i % OF_LANE, sums[i][j]);
}

#define FLOATS(name, a, b)                                                                         \
    void emu_swmmac_##name(struct emu_wave *w, const struct emu_op *op)                            \
    {                                                                                              \
        swmmac_f32(w, op, EMU_EL_##a, EMU_EL_##b);                                                 \
    }
FLOATS(f32_f16, F16, F16)
FLOATS(f32_bf16, BF16, BF16)
FLOATS(f32_fp8_fp8, FP8_OCP, FP8_OCP)
FLOATS(f32_fp8_bf8, FP8_OCP, BF8_OCP)
FLOATS(f32_bf8_fp8, BF8_OCP, FP8_OCP)
FLOATS(f32_bf8_bf8, BF8_OCP, BF8_OCP)

void emu_swmmac_f16(struct emu_wave *w, const struct emu_op *op)
{
    swmmac_16(w, op, false);
}

void emu_swmmac_bf16(struct emu_wave *w, const struct emu_op *op)
{
    swmmac_16(w, op, true);
}

void emu_swmmac_iu8(struct emu_wave *w, const struct emu_op *op)
{
    swmmac_int(w, op, 8, N);
}

void emu_swmmac_iu4(struct emu_wave *w, const struct emu_op *op)
{
    swmmac_int(w, op, 4, N);
}

void emu_swmmac_iu4_deep(struct emu_wave *w, const struct emu_op *op)
{
    swmmac_int(w, op, 4, MOST);
}
