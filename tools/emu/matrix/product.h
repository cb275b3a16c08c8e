/*
 * Matrix products and their operands, the body that emu_matrix_*.c compile for their host level.
 * They define EMU_LEVEL, the name of the table they export, and EMU_TARGET, the host's features,
 * with EMU_AVX2 or EMU_AVX512 to say which vectors those have.
 */
#include <math.h>
#include <string.h>

#include "matrix_ops.h"
#ifdef EMU_TARGET
#include <immintrin.h>
#endif

/* Fused or not makes no difference here: every product that is added is exact. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#pragma clang diagnostic ignored "-Wpsabi" /* vectors pass only between inlined functions */
#ifdef EMU_TARGET
#pragma clang attribute push(__attribute__((target(EMU_TARGET))), apply_to = function)
#endif
#else
#pragma GCC optimize("O3,fp-contract=fast")
#pragma GCC diagnostic ignored "-Wpsabi"
#ifdef EMU_TARGET
#define EMU_PRAGMA(x) _Pragma(#x)
#define EMU_GCC_TARGET(x) EMU_PRAGMA(GCC target(x))
EMU_GCC_TARGET(EMU_TARGET)
#endif
#endif

#include "host_vectors.h"
#include "fused_sum.h"
#include "cut_sum.h"
#include "sum_rules.h"

FORCE unsigned elem_bits(enum emu_elem e)
{
    return e == EMU_EL_F16 || e == EMU_EL_BF16 ? 16 : e == EMU_EL_F32 || e == EMU_EL_XF32 ? 32 : 8;
}

/* Of normal numbers. */
FORCE int lowest_exponent(enum emu_elem e)
{
    return e == EMU_EL_F16 || e == EMU_EL_BF8_OCP ? -14
           : e == EMU_EL_FP8                      ? -7
           : e == EMU_EL_BF8                      ? -15
           : e == EMU_EL_FP8_OCP                  ? -6
                                                  : -126;
}

FORCE float element(uint32_t x, enum emu_elem type)
{
    switch (type) {
    case EMU_EL_F16:
        return half((uint16_t)x);
    case EMU_EL_BF16:
        return from_bits(x << 16);
    case EMU_EL_XF32:
        return from_bits(x & ~0x1fffu);
    case EMU_EL_FP8:
        return emu_fp8_to_f32((uint8_t)x);
    case EMU_EL_BF8:
        return emu_bf8_to_f32((uint8_t)x);
    case EMU_EL_FP8_OCP:
        return emu_fp8_ocp_to_f32((uint8_t)x);
    case EMU_EL_BF8_OCP:
        return emu_bf8_ocp_to_f32((uint8_t)x);
    default:
        return from_bits(x);
    }
}

/*
 * A and B lie alike: m consecutive lanes (rows of A, columns of B) share `per` consecutive k. Group
 * g of m lanes belongs to block g % blocks and begins at k = per * (g / blocks). out[block][k][m].
 */
FORCE void gather(const uint32_t *rows, enum emu_elem type, unsigned m, unsigned k, unsigned blocks,
                  enum order order, float *out)
{
    const unsigned per = k * m * blocks / 64, bits = elem_bits(type), in_dword = 32 / bits;
    const bool split = bits == 16 && m % 16 == 0;
    for (unsigned g = 0; g < 64 / m; g++)
        for (unsigned e = 0; e < per; e += split ? 2 : 1) {
            float *to = out + (g % blocks * k + g / blocks * per + e) * m;
            const uint32_t *from = rows + e / in_dword * 64 + g * m;
            if (order == BY_PAIRS)
                widen_f16(to, from, m);
            else if (split && type == EMU_EL_F16)
                split_f16(to, to + m, from, m);
            else if (split)
                split_bf16(to, to + m, from, m);
            else
                for (unsigned l = 0; l < m; l++)
                    to[l] = element(from[l] >> e % in_dword * bits, type);
        }
}

static void permute_lanes(const uint32_t *rows, unsigned n, unsigned blgp, uint32_t *out)
{
    for (unsigned r = 0; r < n; r++)
        for (unsigned l = 0; l < 64; l++)
            out[r * 64 + l] = rows[r * 64 + emu_blgp_lane(blgp, l)];
}

/* A sparse A: of every four columns two are stored, and two bits each say which. The index register
 * of the lane holds several sets; ABID chooses unless CBSZ is set. */
static void gather_sparse(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                          float *a)
{
    unsigned stored = s->k / 2 * s->m / 64, bits = 2 * stored, size = elem_bits(s->a);
    unsigned set = op->insn->cbsz ? 0 : op->insn->abid & (32 / bits - 1);
    unsigned runs = EMU_SPARSE_RUNS(s, size), run = stored / runs;
    const uint32_t *rows = emu_row(w, op->s[0]), *index = emu_row(w, op->s[2]);
    memset(a, 0, s->m * s->k * sizeof *a);
    for (unsigned l = 0; l < 64; l++)
        for (unsigned e = 0; e < stored; e++) {
            unsigned which = index[l] >> (set * bits + 2 * e) & 3;
            unsigned column =
                e / run * (s->k / runs) + l / s->m * 2 * run + 4 * (e % run / 2) + which;
            uint32_t x = rows[e * size / 32 * 64 + l] >> e * size % 32;
            a[column * s->m + l % s->m] = element(x, s->a);
        }
}

FORCE void gather_c(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                    unsigned operand, float *c)
{
    const struct emu_operand *src = &op->insn->src[operand];
    if (src->kind == EMU_OPK_CONST || src->kind == EMU_OPK_LITERAL) {
        for (unsigned i = 0; i < s->m * s->n * s->blocks; i++)
            c[i] = from_bits((uint32_t)src->value);
        return;
    }
    for (unsigned b = 0; b < s->blocks; b++)
        for (unsigned i = 0; i < s->m; i++) {
            struct emu_place at = emu_matrix_place(s, 4, b, i);
            memcpy(c + (b * s->m + i) * s->n, emu_row(w, op->s[operand] + at.item) + at.lane,
                   s->n * sizeof *c);
        }
}

FORCE void scatter_d(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                     const float *c)
{
    for (unsigned b = 0; b < s->blocks; b++)
        for (unsigned i = 0; i < s->m; i++) {
            struct emu_place at = emu_matrix_place(s, 4, b, i);
            memcpy(emu_row(w, op->d[0] + at.item) + at.lane, c + (b * s->m + i) * s->n,
                   s->n * sizeof *c);
        }
}

static struct emu_dot rule_for(struct emu_wave *w, const struct emu_op *op,
                               const struct emu_shape *s)
{
    struct emu_dot d = {.m = s->m, .n = s->n, .k = s->k, .mode = w->group->launch->matrix};
    unsigned widest = elem_bits(s->a) == 8 ? 16 : elem_bits(s->a) == 16 ? 8 : 4;
    d.group = s->k < widest ? s->k : widest;
    if (s->a == EMU_EL_F32) {
        d.rule = EMU_RULE_CHAIN;
    } else if (op->insn->family == EMU_GFX90A) {
        unsigned per = s->k * s->m * s->blocks / 64;
        d.rule = EMU_RULE_PAIRS;
        d.group = per > 4 ? 4 : per;
    } else {
        d.rule = elem_bits(s->a) == 8 ? EMU_RULE_CUT_HALVES : EMU_RULE_CUT;
    }
    d.lowest[0] = lowest_exponent(s->a);
    d.lowest[1] = lowest_exponent(s->b);
    if (d.mode == EMU_MATRIX_ADVERSARIAL)
        d.random = emu_random(w);
    return d;
}

FORCE void mfma_shape(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    float a[MAX_A], b[MAX_A], c[MAX_C];
    uint32_t permuted[8 * 64];
    const uint32_t *rows_b = emu_row(w, op->s[1]);
    struct emu_dot d = rule_for(w, op, s);
    if (op->insn->blgp) {
        permute_lanes(rows_b, s->k * s->n * s->blocks / 64 * elem_bits(s->b) / 32, op->insn->blgp,
                      permuted);
        rows_b = permuted;
    }
    if (s->sparse)
        gather_sparse(w, op, s, a);
    else
        gather(emu_row(w, op->s[0]), s->a, s->m, s->k, s->blocks, BY_K, a);
    const unsigned runs = s->sparse ? EMU_SPARSE_RUNS(s, elem_bits(s->b)) : 1;
    for (unsigned i = 0; i < runs; i++)
        gather(rows_b + i * 4 * 64, s->b, s->n, s->k / runs, s->blocks, BY_K,
               b + i * (s->k / runs) * s->n);
    gather_c(w, op, s, s->sparse ? 3 : 2, c);
    for (unsigned i = 0; i < s->blocks; i++) {
        unsigned from = s->sparse ? 0 : emu_cbsz_block(op->insn, i);
        dot(&d, a + from * s->m * s->k, b + i * s->k * s->n, c + i * s->m * s->n);
    }
    scatter_d(w, op, s, c);
}

/*
 * Hosts hold a load back behind an older store whose address has the same low 12 bits. D of 32 x 32
 * floats has them all, so A must lie where its last rows meet the rows of D that are stored last.
 */
enum { ALIAS = 4096, BEHIND_D = 3072 };

static inline float *beside(float *space, const float *d)
{
    return space + ((uintptr_t)d + BEHIND_D - (uintptr_t)space) % ALIAS / sizeof *space;
}

/* f32 mode, shapes of one block of 16-bit floats: C and D stay where they are. */
FORCE void mfma_fused(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                      bool constant)
{
    _Alignas(64) float space[512 + ALIAS / 4], b[512];
    float row[MAX_N], *d = (float *)emu_row(w, op->d[0]), *a = beside(space, d);
    /* Sorting what two columns of vectors share costs more than finding it in pairs. */
    const enum order order = s->a == EMU_EL_F16 && s->n > F ? BY_PAIRS : BY_K;
    gather(emu_row(w, op->s[0]), s->a, s->m, s->k, 1, order, a);
    gather(emu_row(w, op->s[1]), s->b, s->n, s->k, 1, BY_K, b);
    if (constant) {
        for (unsigned j = 0; j < s->n; j++)
            row[j] = from_bits((uint32_t)op->insn->src[2].value);
        fused(s, a, order, b, row, ONE_ROW, d, IN_REGISTERS);
    } else {
        fused(s, a, order, b, (const float *)emu_row(w, op->s[2]), IN_REGISTERS, d, IN_REGISTERS);
    }
}

FORCE void direct(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                  bool constant)
{
    if (w->group->launch->matrix != EMU_MATRIX_F32 || (w->strict && emu_exec(w) != ~UINT64_C(0))) {
        op->inner(w, op);
        return;
    }
    if (w->group->counters)
        w->group->counters->matrix_passes += (unsigned)op->imm;
    mfma_fused(w, op, s, constant);
}

static const struct emu_shape big16 = {32, 32, 8, 1, EMU_EL_F16, EMU_EL_F16, false};
static const struct emu_shape big_b16 = {32, 32, 8, 1, EMU_EL_BF16, EMU_EL_BF16, false};
static const struct emu_shape small16 = {16, 16, 16, 1, EMU_EL_F16, EMU_EL_F16, false};
static const struct emu_shape small_b16 = {16, 16, 16, 1, EMU_EL_BF16, EMU_EL_BF16, false};
/* gfx950's */
static const struct emu_shape deep_big16 = {32, 32, 16, 1, EMU_EL_F16, EMU_EL_F16, false};
static const struct emu_shape deep_big_b16 = {32, 32, 16, 1, EMU_EL_BF16, EMU_EL_BF16, false};
static const struct emu_shape deep_small16 = {16, 16, 32, 1, EMU_EL_F16, EMU_EL_F16, false};
static const struct emu_shape deep_small_b16 = {16, 16, 32, 1, EMU_EL_BF16, EMU_EL_BF16, false};

#define DIRECT(shape)                                                                              \
    static void shape##_add(struct emu_wave *w, const struct emu_op *op)                           \
    {                                                                                              \
        direct(w, op, &shape, false);                                                              \
    }                                                                                              \
    static void shape##_begin(struct emu_wave *w, const struct emu_op *op)                         \
    {                                                                                              \
        direct(w, op, &shape, true);                                                               \
    }
DIRECT(big16)
DIRECT(big_b16)
DIRECT(small16)
DIRECT(small_b16)
DIRECT(deep_big16)
DIRECT(deep_big_b16)
DIRECT(deep_small16)
DIRECT(deep_small_b16)

static void mfma(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    /* With everything known at compile time. */
    if (!s->sparse && s->blocks == 1 && s->m == 32 && s->k == 8 && s->a == EMU_EL_F16)
        mfma_shape(w, op, &big16);
    else if (!s->sparse && s->blocks == 1 && s->m == 32 && s->k == 8 && s->a == EMU_EL_BF16)
        mfma_shape(w, op, &big_b16);
    else if (!s->sparse && s->blocks == 1 && s->m == 16 && s->k == 16 && s->a == EMU_EL_F16)
        mfma_shape(w, op, &small16);
    else if (!s->sparse && s->blocks == 1 && s->m == 16 && s->k == 16 && s->a == EMU_EL_BF16)
        mfma_shape(w, op, &small_b16);
    else
        mfma_shape(w, op, s);
}

/* A or B of WMMA from lanes 0..15 of eight registers: out[k][lane]. */
static void wmma_operand(float *out, const uint32_t *rows, unsigned lanes, bool bf16)
{
    for (unsigned k = 0; k < 16; k += 2) {
        float *lo = out + k * 16, *hi = lo + 16;
        if (bf16)
            split_bf16(lo, hi, rows + k / 2 * lanes, 16);
        else
            split_f16(lo, hi, rows + k / 2 * lanes, 16);
    }
}

static void wmma_fused(const uint32_t *a, const uint32_t *b, unsigned lanes, bool bf16,
                       const uint32_t *c, uint32_t *d)
{
    static const struct emu_shape shape = {.m = 16, .n = 16, .k = 16, .blocks = 1};
    float x[256], y[256];
    wmma_operand(x, a, lanes, bf16);
    wmma_operand(y, b, lanes, bf16);
    fused(&shape, x, BY_K, y, (const float *)c, ROW_MAJOR, (float *)d, ROW_MAJOR);
}

static void f16_to_f32(float *to, const uint16_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = half(from[i]);
}

static void f32_to_f16(uint16_t *to, const float *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        _Float16 h = (_Float16)from[i];
        memcpy(&to[i], &h, 2);
    }
}

#define DIRECT_PAIR(shape)                                                                         \
    {                                                                                              \
        shape##_add, shape##_begin                                                                 \
    }
const struct emu_matrix_level EMU_LEVEL = {
    .dot = dot,
    .mfma = mfma,
    .direct = {DIRECT_PAIR(big16), DIRECT_PAIR(big_b16), DIRECT_PAIR(small16),
               DIRECT_PAIR(small_b16), DIRECT_PAIR(deep_big16), DIRECT_PAIR(deep_big_b16),
               DIRECT_PAIR(deep_small16), DIRECT_PAIR(deep_small_b16)},
    .wmma_operand = wmma_operand,
    .wmma_fused = wmma_fused,
    .f16_to_f32 = f16_to_f32,
    .f32_to_f16 = f32_to_f16,
};

#if defined(__clang__) && defined(EMU_TARGET)
#pragma clang attribute pop
#endif
