/* The table of matrix instructions, their checks, and the MFMA types that are not floats of 32
 * bits. */
#include "matrix_ops.h"

#include <math.h>
#include <string.h>

static double get_f64(const struct emu_wave *w, unsigned row, unsigned l)
{
    uint64_t u = emu_row(w, row)[l] | (uint64_t)emu_row(w, row + 1)[l] << 32;
    double x;
    memcpy(&x, &u, 8);
    return x;
}

/* A constant C operand: f64 instructions take the 64-bit value, written as f32 bits or as a small
 * integer by the encoding. */
static double constant_f64(const struct emu_operand *o)
{
    double x;
    memcpy(&x, &o->value, 8);
    return x;
}

/* BLGP negates A, B and C here. A fused chain over k. */
void emu_mfma_f64(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    double a[64], b[64], c[256];
    const unsigned neg = op->insn->blgp, per_block = s->m * s->k;
    const struct emu_operand *src = &op->insn->src[2];
    bool constant = src->kind == EMU_OPK_CONST || src->kind == EMU_OPK_LITERAL;
    for (unsigned l = 0; l < 64; l++) {
        unsigned block = l / s->m % s->blocks, k = l / (s->m * s->blocks);
        double x = get_f64(w, op->s[0], l), y = get_f64(w, op->s[1], l);
        a[block * per_block + l % s->m * s->k + k] = neg & 1 ? -x : x;
        b[block * per_block + k * s->n + l % s->n] = neg & 2 ? -y : y;
    }
    for (unsigned e = 0; e < s->blocks * s->m * s->n; e++) {
        unsigned block = e / (s->m * s->n), i = e / s->n % s->m, j = e % s->n;
        struct emu_place at = emu_matrix_place(s, 1, block, i);
        unsigned from = emu_cbsz_block(op->insn, block);
        double acc = constant ? constant_f64(src) : get_f64(w, op->s[2] + 2 * at.item, at.lane + j);
        acc = neg & 4 ? -acc : acc;
        for (unsigned k = 0; k < s->k; k++)
            acc = fma(a[from * per_block + i * s->k + k], b[block * per_block + k * s->n + j], acc);
        c[e] = acc;
    }
    for (unsigned e = 0; e < s->blocks * s->m * s->n; e++) {
        unsigned block = e / (s->m * s->n), i = e / s->n % s->m, j = e % s->n;
        struct emu_place at = emu_matrix_place(s, 1, block, i);
        uint64_t u;
        memcpy(&u, &c[e], 8);
        emu_row(w, op->d[0] + 2 * at.item)[at.lane + j] = (uint32_t)u;
        emu_row(w, op->d[0] + 2 * at.item + 1)[at.lane + j] = (uint32_t)(u >> 32);
    }
}

static int32_t byte_at(const uint32_t *row, unsigned l, unsigned e)
{
    return (int8_t)(row[e / 4 * 64 + l] >> (e % 4 * 8));
}

static void gather_i8(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                      int32_t *a, int32_t *b)
{
    const uint32_t *ra = emu_row(w, op->s[0]), *rb = emu_row(w, op->s[1]);
    unsigned per = s->k * s->m * s->blocks / 64, stored = s->sparse ? per / 2 : per;
    unsigned runs = s->sparse ? EMU_SPARSE_RUNS(s, 8) : 1, run = per / runs;
    unsigned set = op->insn->cbsz || runs > 1 ? 0 : op->insn->abid & 1;
    memset(a, 0, s->blocks * s->m * s->k * sizeof *a);
    for (unsigned l = 0; l < 64; l++) {
        unsigned block = l / s->m % s->blocks, k0 = l / (s->m * s->blocks) * run;
        unsigned from = emu_blgp_lane(op->insn->blgp, l);
        int32_t *row = a + (block * s->m + l % s->m) * s->k + k0;
        for (unsigned e = 0; e < stored; e++) {
            unsigned column = e;
            if (s->sparse)
                column = 4 * (e / 2) + (emu_row(w, op->s[2])[l] >> (set * 16 + 2 * e) & 3);
            row[column / run * (s->k / runs) + column % run] = byte_at(ra, l, e);
        }
        for (unsigned e = 0; e < per; e++)
            b[(block * s->k + e / run * (s->k / runs) + k0 + e % run) * s->n + l % s->n] =
                byte_at(rb, from, e);
    }
}

/* Integer sums wrap at 32 bits. */
void emu_mfma_i8(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    int32_t a[2048], b[2048];
    uint32_t c[2048];
    unsigned operand = s->sparse ? 3 : 2;
    const struct emu_operand *src = &op->insn->src[operand];
    bool constant = src->kind == EMU_OPK_CONST || src->kind == EMU_OPK_LITERAL;
    gather_i8(w, op, s, a, b);
    for (unsigned e = 0; e < s->blocks * s->m * s->n; e++) {
        unsigned block = e / (s->m * s->n), i = e / s->n % s->m, j = e % s->n;
        struct emu_place at = emu_matrix_place(s, 4, block, i);
        unsigned from = s->sparse ? 0 : emu_cbsz_block(op->insn, block);
        c[e] = constant ? (uint32_t)src->value : emu_row(w, op->s[operand] + at.item)[at.lane + j];
        for (unsigned k = 0; k < s->k; k++)
            c[e] += (uint32_t)(a[(from * s->m + i) * s->k + k] * b[(block * s->k + k) * s->n + j]);
    }
    for (unsigned e = 0; e < s->blocks * s->m * s->n; e++) {
        struct emu_place at = emu_matrix_place(s, 4, e / (s->m * s->n), e / s->n % s->m);
        emu_row(w, op->d[0] + at.item)[at.lane + e % s->n] = c[e];
    }
}

static enum emu_elem ocp_element(enum emu_elem e)
{
    return e == EMU_EL_FP8 ? EMU_EL_FP8_OCP : e == EMU_EL_BF8 ? EMU_EL_BF8_OCP : e;
}

static void run(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *shape,
                unsigned passes90a, unsigned passes942)
{
    struct emu_shape ocp = *shape;
    const struct emu_shape *s = emu_has_ocp_floats(op->insn->family) ? &ocp : shape;
    ocp.a = ocp_element(ocp.a);
    ocp.b = ocp_element(ocp.b);
    if (w->strict && emu_exec(w) != ~UINT64_C(0))
        emu_fault(w, ~emu_exec(w), "matrix instruction with inactive lanes");
    if (w->group->counters)
        w->group->counters->matrix_passes += op->insn->family == EMU_GFX90A ? passes90a : passes942;
    if (s->a == EMU_EL_F64)
        emu_mfma_f64(w, op, s);
    else if (s->a == EMU_EL_I8)
        emu_mfma_i8(w, op, s);
    else
        emu_matrix_best()->mfma(w, op, s);
}

#define MFMA(name, m, n, k, blocks, a, b, p90a, p942)                                              \
    static void name(struct emu_wave *w, const struct emu_op *op)                                  \
    {                                                                                              \
        static const struct emu_shape s = {m, n, k, blocks, EMU_EL_##a, EMU_EL_##b, false};        \
        run(w, op, &s, p90a, p942);                                                                \
    }
#define SMFMAC(name, m, n, k, a, b, p942)                                                          \
    static void name(struct emu_wave *w, const struct emu_op *op)                                  \
    {                                                                                              \
        static const struct emu_shape s = {m, n, k, 1, EMU_EL_##a, EMU_EL_##b, true};              \
        run(w, op, &s, 0, p942);                                                                   \
    }
#define F8F6F4(name, m, n, k, passes)                                                              \
    static void name(struct emu_wave *w, const struct emu_op *op)                                  \
    {                                                                                              \
        static const struct emu_shape s = {m, n, k, 1, EMU_EL_FP8_OCP, EMU_EL_FP8_OCP, false};     \
        emu_mfma_narrow(w, op, &s, passes);                                                        \
    }
#include "sem_matrix.def"

#define MFMA(name, m, n, k, blocks, a, b, p90a, p942)                                              \
    {#name, {m, n, k, blocks, EMU_EL_##a, EMU_EL_##b, false}, {p90a, p942}},
#define SMFMAC(...)
static const struct {
    const char *sem;
    struct emu_shape shape;
    uint8_t passes[2]; /* gfx90a; gfx942 and gfx950 */
} shapes[] = {
#include "sem_matrix.def"
};

static bool is_constant(const struct emu_operand *o)
{
    return o->kind == EMU_OPK_CONST || o->kind == EMU_OPK_LITERAL;
}

/* The sum over the other rows would not see what it has written. */
static bool overlaps_itself(const struct emu_op *op, const struct emu_shape *s)
{
    const unsigned rows = s->m * s->n / 64, c = op->s[2], d = op->d[0];
    return c != d && c < d + rows && d < c + rows;
}

emu_fn *emu_matrix_direct(struct emu_op *op, const char *sem)
{
    const struct emu_insn *insn = op->insn;
    const bool constant = is_constant(&insn->src[2]);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct emu_shape *s = &shapes[i].shape;
        const bool big = s->m == 32, deep = s->k == (big ? 16 : 32);
        if (strcmp(shapes[i].sem, sem) != 0)
            continue;
        if (s->blocks != 1 || (s->k != (big ? 8 : 16) && !deep) ||
            (s->a != EMU_EL_F16 && s->a != EMU_EL_BF16) || insn->blgp ||
            (!constant && overlaps_itself(op, s)))
            return NULL;
        op->imm = shapes[i].passes[insn->family != EMU_GFX90A];
        return emu_matrix_best()->direct[(deep ? EMU_DIRECT_32_F16_DEEP : EMU_DIRECT_32_F16) +
                                         (big ? 0 : 2) + (s->a == EMU_EL_BF16)][constant];
    }
    return NULL;
}

#define ROW(name, fn)                                                                              \
    {                                                                                              \
#name, {fn, fn }, EMU_E_IGNORES_EXEC, EMU_C_MATRIX                                         \
    }
#define MFMA(name, ...) ROW(name, name),
#define SMFMAC MFMA
#define F8F6F4 MFMA
const struct emu_sem emu_sem_matrix[] = {
#include "sem_matrix.def"
    ROW(v_wmma_f32_16x16x16_f16, emu_wmma_f32_f16),
    ROW(v_wmma_f32_16x16x16_bf16, emu_wmma_f32_bf16),
    ROW(v_wmma_f16_16x16x16_f16, emu_wmma_f16),
    ROW(v_wmma_bf16_16x16x16_bf16, emu_wmma_bf16),
    ROW(v_wmma_i32_16x16x16_iu8, emu_wmma_iu8),
    ROW(v_wmma_i32_16x16x16_iu4, emu_wmma_iu4),
    ROW(v_wmma_i32_16x16x32_iu4, emu_wmma_iu4_deep),
    ROW(v_wmma_f32_16x16x16_fp8_fp8, emu_wmma_f32_fp8_fp8),
    ROW(v_wmma_f32_16x16x16_fp8_bf8, emu_wmma_f32_fp8_bf8),
    ROW(v_wmma_f32_16x16x16_bf8_fp8, emu_wmma_f32_bf8_fp8),
    ROW(v_wmma_f32_16x16x16_bf8_bf8, emu_wmma_f32_bf8_bf8),
    ROW(v_swmmac_f32_16x16x32_f16, emu_swmmac_f32_f16),
    ROW(v_swmmac_f32_16x16x32_bf16, emu_swmmac_f32_bf16),
    ROW(v_swmmac_f16_16x16x32_f16, emu_swmmac_f16),
    ROW(v_swmmac_bf16_16x16x32_bf16, emu_swmmac_bf16),
    ROW(v_swmmac_f32_16x16x32_fp8_fp8, emu_swmmac_f32_fp8_fp8),
    ROW(v_swmmac_f32_16x16x32_fp8_bf8, emu_swmmac_f32_fp8_bf8),
    ROW(v_swmmac_f32_16x16x32_bf8_fp8, emu_swmmac_f32_bf8_fp8),
    ROW(v_swmmac_f32_16x16x32_bf8_bf8, emu_swmmac_f32_bf8_bf8),
    ROW(v_swmmac_i32_16x16x32_iu8, emu_swmmac_iu8),
    ROW(v_swmmac_i32_16x16x32_iu4, emu_swmmac_iu4),
    ROW(v_swmmac_i32_16x16x64_iu4, emu_swmmac_iu4_deep),
    {NULL, {NULL, NULL}, 0, 0},
};
