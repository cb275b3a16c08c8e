/*
 * Matrix instructions: shapes, register layouts, and the arithmetic of a product in each mode.
 *
 * An MFMA of shape M x N x K with B blocks multiplies B independent pairs of matrices. Its operands
 * are gathered from the registers into plain row-major arrays, every block is one small product,
 * and the result goes back. This code is compiled for several levels of the host's vectors
 * (product.h); the handlers pick the best level the host has.
 */
#ifndef EMU_MATRIX_H
#define EMU_MATRIX_H

#include "wave.h"

enum emu_elem {
    EMU_EL_F16,
    EMU_EL_BF16,
    EMU_EL_F32,
    EMU_EL_XF32, /* f32 of which 10 mantissa bits take part */
    EMU_EL_F64,
    EMU_EL_FP8,     /* e4m3fnuz */
    EMU_EL_BF8,     /* e5m2fnuz */
    EMU_EL_FP8_OCP, /* e4m3, e5m2: gfx950 */
    EMU_EL_BF8_OCP,
    EMU_EL_I8
};

/*
 * Of a sparse product a lane holds of B, or of A with its zeros, one run of k in 16 bytes. Those of
 * gfx950 have twice as much: of the first half of all k, and behind it of the second.
 */
#define EMU_SPARSE_RUNS(s, bits) ((s)->k * (s)->m / 64 * (bits) / 128)

/* How the accelerator adds: the rule of "hw" mode. */
enum emu_rule {
    EMU_RULE_ONCE,      /* exact sum, rounded once */
    EMU_RULE_CHAIN,     /* fused multiply-add over k, in order */
    EMU_RULE_PAIRS,     /* gfx90a: groups as a binary tree of f32 additions, denormals flushed */
    EMU_RULE_CUT,       /* gfx942: products aligned to the largest and cut, one rounding */
    EMU_RULE_CUT_HALVES /* the same, with the even and the odd k of a group apart: fp8 */
};

struct emu_shape {
    unsigned m, n, k, blocks;
    enum emu_elem a, b;
    bool sparse;
};

/* One product: c[m][n] += sum over k of a[k][m] * b[k][n]; A is transposed, as lanes lie. Elements
 * are floats holding the operands exactly. */
struct emu_dot {
    unsigned m, n, k;
    enum emu_rule rule;
    unsigned group; /* products that are added before the accumulator takes part */
    enum emu_matrix_mode mode;
    int lowest[2];   /* exponents of the smallest normal numbers of A's and B's types */
    uint64_t random; /* adversarial mode */
};

/* MFMA of attention kernels, which have a shorter way in f32 mode (emu_op.imm: passes). */
enum emu_direct_shape {
    EMU_DIRECT_32_F16, /* 32x32x8 */
    EMU_DIRECT_32_BF16,
    EMU_DIRECT_16_F16, /* 16x16x16 */
    EMU_DIRECT_16_BF16,
    EMU_DIRECT_32_F16_DEEP, /* 32x32x16 */
    EMU_DIRECT_32_BF16_DEEP,
    EMU_DIRECT_16_F16_DEEP, /* 16x16x32 */
    EMU_DIRECT_16_BF16_DEEP,
    EMU_DIRECT_SHAPES
};

/* The functions of one host level. */
struct emu_matrix_level {
    void (*dot)(const struct emu_dot *d, const float *a, const float *b, float *c);
    void (*mfma)(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s);
    emu_fn *direct[EMU_DIRECT_SHAPES][2]; /* C in registers, C a constant */
    /* A or B of a WMMA from the first of its registers: out[k][row or column], 16 by 16 */
    void (*wmma_operand)(float *out, const uint32_t *rows, unsigned lanes, bool bf16);
    /* WMMA with f32 sums in f32 mode, nothing negated; C and D are 16 by 16, D may be C */
    void (*wmma_fused)(const uint32_t *a, const uint32_t *b, unsigned lanes, bool bf16,
                       const uint32_t *c, uint32_t *d);
    /* n 16-bit floats to f32 and back (round to nearest even) */
    void (*f16_to_f32)(float *to, const uint16_t *from, unsigned n);
    void (*f32_to_f16)(uint16_t *to, const float *from, unsigned n);
};
extern const struct emu_matrix_level emu_matrix_base, emu_matrix_v3, emu_matrix_v4;
const struct emu_matrix_level *emu_matrix_best(void);

float emu_fp8_to_f32(uint8_t x);     /* e4m3, bias 8: no infinity, 0x80 is NaN */
float emu_bf8_to_f32(uint8_t x);     /* e5m2, bias 16: no infinity, 0x80 is NaN */
float emu_fp8_ocp_to_f32(uint8_t x); /* e4m3, bias 7: no infinity, 0x7f is NaN */
float emu_bf8_ocp_to_f32(uint8_t x); /* e5m2, bias 15, as IEEE 754 has it */
uint16_t emu_f32_to_bf16(float f);

/* Other paths of MFMA: f64 and i8 (mfma.c). */
void emu_mfma_f64(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s);
void emu_mfma_i8(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s);
/* Those of 8, 6 and 4 bits by modifier (mfma_narrow.c). */
void emu_mfma_narrow(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                     unsigned passes);

/* WMMA handlers (wmma.c). */
emu_fn emu_wmma_f32_fp8_fp8, emu_wmma_f32_fp8_bf8, emu_wmma_f32_bf8_fp8, emu_wmma_f32_bf8_bf8;
emu_fn emu_wmma_f32_f16, emu_wmma_f32_bf16, emu_wmma_f16, emu_wmma_bf16, emu_wmma_iu8, emu_wmma_iu4;

/* c[16, 16] += a[16, 16] b[16, 16], B by columns, as the launch wants matrix units to round. */
static inline void emu_wmma_dot(struct emu_wave *w, const float *a, const float *b, float *c)
{
    struct emu_dot d = {.m = 16,
                        .n = 16,
                        .k = 16,
                        .rule = EMU_RULE_ONCE,
                        .group = 16,
                        .mode = w->group->launch->matrix};

    if (d.mode == EMU_MATRIX_ADVERSARIAL)
        d.random = emu_random(w);
    emu_matrix_best()->dot(&d, a, b, c);
}

/* Those of gfx12 (wmma_lanes.c). */
void emu_wmma_lanes_f32(struct emu_wave *w, const struct emu_op *op, bool bf16);
void emu_wmma_lanes_16(struct emu_wave *w, const struct emu_op *op, bool bf16);
void emu_wmma_lanes_int(struct emu_wave *w, const struct emu_op *op, unsigned bits);
emu_fn emu_wmma_iu4_deep;

/* SWMMAC of gfx12 (swmmac.c). */
emu_fn emu_swmmac_f32_f16, emu_swmmac_f32_bf16, emu_swmmac_f16, emu_swmmac_bf16;
emu_fn emu_swmmac_f32_fp8_fp8, emu_swmmac_f32_fp8_bf8, emu_swmmac_f32_bf8_fp8,
    emu_swmmac_f32_bf8_bf8;
emu_fn emu_swmmac_iu8, emu_swmmac_iu4, emu_swmmac_iu4_deep;

/* Lane whose B register lane l reads under BLGP (every type but f64). */
static inline unsigned emu_blgp_lane(unsigned blgp, unsigned l)
{
    switch (blgp) {
    case 1:
        return l & 31;
    case 2:
        return (l & 31) + 32;
    case 3:
        return (l + 16) & 63;
    case 4:
    case 5:
    case 6:
    case 7:
        return (l & 15) + 16 * (blgp - 4);
    default:
        return l;
    }
}

/* Block whose A matrix block b uses: CBSZ groups 2^CBSZ blocks around block ABID of the group. */
static inline unsigned emu_cbsz_block(const struct emu_insn *i, unsigned b)
{
    return (b & ~((1u << i->cbsz) - 1)) | (i->cbsz ? i->abid & ((1u << i->cbsz) - 1) : 0);
}

/*
 * Where row i of block b of C and D lies: its n columns are consecutive lanes of one register.
 * h rows are stacked in the registers of a lane: 4, but 1 for f64.
 */
struct emu_place {
    unsigned item, lane;
};
static inline struct emu_place emu_matrix_place(const struct emu_shape *s, unsigned h, unsigned b,
                                                unsigned i)
{
    unsigned rows = s->m / h, bi = 64 / (s->n * rows), mi, g;
    bi = bi ? bi : 1;
    mi = 64 / bi / s->n;
    g = s->m / (h * mi);
    return (struct emu_place){i % h + h * (i / (h * mi) + g * (b / bi)),
                              s->n * (i / h % mi + mi * (b % bi))};
}

#endif
