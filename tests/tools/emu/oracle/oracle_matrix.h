/*
 * Matrix products of the oracle: which lane and register holds an element, and the arithmetic.
 */
#ifndef AOTHIP_TEST_ORACLE_MATRIX_H
#define AOTHIP_TEST_ORACLE_MATRIX_H

#include "oracle.h"

enum oracle_element {
    M_F16,
    M_BF16,
    M_F32,
    M_F64,
    M_I8,
    M_I4,
    M_FP8,
    M_BF8,
    M_I32,
    M_FP8_OCP,
    M_BF8_OCP,
    M_FP6,
    M_BF6,
    M_FP4
};

struct oracle_product {
    unsigned m, n, k, blocks;
    enum oracle_element a, b, d; /* a and b differ in the fp8 forms only */
    unsigned cbsz, abid, blgp;
    bool a_signed, b_signed; /* integers */
    bool xf32;
    bool chain;  /* f32 mode: every product is added by itself on every target */
    bool scaled; /* v_mfma_scale: with oracle_mfma_scaled() */
};

unsigned oracle_element_bits(enum oracle_element e);

/*
 * MFMA. The operands are columns of registers: word r of lane l is x[r * 64 + l]. d may be c.
 */
void oracle_mfma(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                 const uint32_t *b, const uint32_t *c, uint32_t *d);

/*
 * The same with scales of A and B, each a register of which byte `byte` is an exponent, of bias 127
 * and 255 for NaN: lane i + m * n is for row, or column, i and elements 32 n .. 32 n + 31 of it.
 */
struct oracle_scales {
    const uint32_t *of[2];
    unsigned byte[2];
};
void oracle_mfma_scaled(const struct oracle_product *p, const struct oracle_scales *scales,
                        const uint32_t *a, const uint32_t *b, uint32_t *d);

/*
 * SMFMAC: A has at most two elements of every four in a row that are not 0, and holds just two. The
 * lane's index register has two bits for each that it holds, which of the four it is, in four sets
 * of 8 bits or, for 8-bit elements, two of 16: cbsz 0 takes set abid, else the first.
 */
void oracle_smfmac(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                   const uint32_t *b, const uint32_t *index, const uint32_t *c, uint32_t *d);

/* What the parts of this oracle share: an item of a lane's registers, as raw bits; a number of so
 * many bits; the sum of k products onto c, as the target adds. */
uint64_t oracle_item(enum oracle_element e, const uint32_t *x, unsigned lane, unsigned item);
int64_t oracle_integer(uint64_t v, unsigned bits, bool is_signed);
uint64_t oracle_dot(const struct oracle_product *p, enum oracle_target t, const uint64_t *a,
                    const uint64_t *b, uint64_t c);

/* WMMA of gfx12, 16x16x16 and, of four bits, 16x16x32. */
void oracle_wmma_lanes(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                       const uint32_t *b, const uint32_t *c, uint32_t *d);

/* SWMMAC of gfx12: k counts what A would have with its zeros. */
struct oracle_sparse {
    unsigned key;            /* which part of the index register */
    unsigned neg_lo, neg_hi; /* bit 0: A, bit 1: B; of the even, and the odd ones that A holds */
    bool clamp;
};
void oracle_swmmac(const struct oracle_product *p, const struct oracle_sparse *s,
                   enum oracle_target t, const uint32_t *a, const uint32_t *b,
                   const uint32_t *index, uint32_t *d);

/* WMMA 16x16x16; hi: the half of the accumulator registers that 16-bit results use. */
void oracle_wmma(const struct oracle_product *p, enum oracle_target t, bool hi, const uint32_t *a,
                 const uint32_t *b, const uint32_t *c, uint32_t *d);

#endif
