/*
 * A second, deliberately naive implementation of the instruction set, written from AMD's manuals:
 * the arbiter for the emulator's executor. It knows no machine code: a test builds an instruction
 * as text for the assembler and as a struct oracle_insn for this side, from one description.
 */
#ifndef AOTHIP_TEST_ORACLE_H
#define AOTHIP_TEST_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softfloat.h"

enum oracle_target {
    T_GFX90A,
    T_GFX942,
    T_GFX950,
    T_GFX1100,
    T_GFX1151,
    T_GFX1201,
    T_GFX1100_W64,
    T_GFX1201_W64,
    ORACLE_TARGETS
};

struct oracle_machine {
    const char *name; /* as in test output */
    const char *gpu;  /* processor */
    const char *attributes;
    unsigned lanes;
    bool gfx11;    /* also for gfx12, whose names are mostly the same */
    unsigned mask; /* bit of enum oracle_only */
};

extern const struct oracle_machine oracle_machines[ORACLE_TARGETS];

static inline bool oracle_is_gfx12(enum oracle_target t)
{
    return t == T_GFX1201 || t == T_GFX1201_W64;
}

/* Sets of targets, for operations that not all have. */
enum oracle_only {
    NONE = 0,
    G90A = 1,
    G942 = 2,
    G1100 = 4,
    G1151 = 8,
    G950 = 16,
    G12 = 32,
    G11 = G1100 | G1151,
    BEFORE12 = G90A | G942 | G950 | G11,
    ALL = BEFORE12 | G12
};

/*
 * Operand types, as letters in signatures:
 * f f32, h f16, d f64, e bf16; t and T: f32 and f16 in turns, within the documented domain of sin;
 * i u b 32 bits signed, unsigned, raw; s w x 16 bits; c 8 bits; I U q 64 bits; z 128 bits;
 * F two f32; y two 16-bit integers, Y two f16; m lane mask
 */

enum oracle_kind { V1, V2, V3, PK, PW, MX, MK, AK, VC };

enum oracle_flag {
    F_NAN = 1 << 0,   /* a NaN result has no documented sign and payload: only that it is quiet */
    F_ACC = 1 << 1,   /* reads the old destination */
    F_CLAMP = 1 << 2, /* integer clamp saturates */
    F_NODPP = 1 << 3,
    F_NOSDWA = 1 << 4,
    F_NOE64 = 1 << 5,
    F_NOOPSEL = 1 << 6,   /* 16-bit operands have no op_sel */
    F_NOMODS = 1 << 7,    /* neg, abs, clamp, omod are not given */
    F_FMODS = 1 << 8,     /* raw operands take neg and abs */
    F_OPENHI = 1 << 9,    /* gfx9: manuals disagree whether the other half becomes 0 or stays */
    F_KEEPHI = 1 << 10,   /* keeps the other half on every target */
    F_KEEPLO = 1 << 11,   /* writes the high half and keeps the low */
    F_SWAP = 1 << 12,     /* also writes the old destination to source 0 */
    F_VCC = 1 << 13,      /* reads VCC as a fourth source */
    F_HALVES = 1 << 14,   /* raw sources hold two f16 (for the choice of test values) */
    F_BHALVES = 1 << 15,  /* ... two bf16 */
    F_SIGNS = 1 << 16,    /* neg_lo says which sources are signed */
    F_PKMOV = 1 << 17,    /* op_sel alone chooses the halves */
    F_PACKS = 1 << 18,    /* 16-bit sources with op_sel, 32-bit result */
    F_NUMBERS = 1 << 19,  /* documented for numbers only: no NaN among the inputs */
    F_DIVSCALE = 1 << 20, /* src0 must be src1 or src2 */
    F_SDWABYTE = 1 << 21, /* SDWA only to select a byte of source 0 */
    F_SDWAWORD = 1 << 22,
    F_OPSELD = 1 << 23, /* op_sel chooses the half of the destination only */
    F_OPSELB = 1 << 24, /* op_sel[3:2] chooses the byte of the destination */
    F_NOCLAMP = 1 << 25,
    F_BYTESEL = 1 << 26, /* 8-bit floats: the byte, or the pair of bytes, of source 0 */
    F_SUMSIGN = 1 << 27  /* neg_lo negates source 2, neg_hi takes its absolute before */
};

/* What one lane of one instruction sees. */
struct oracle_lane {
    enum oracle_target target;
    bool gfx11;
    unsigned lane;
    uint32_t mode;
    unsigned half;       /* packed: which half is being computed */
    uint64_t s[4], s_hi; /* sources after neg and abs; upper 64 bits of a 128-bit source 2 */
    uint64_t old;        /* destination before */
    bool clamp;
    bool op_is_signed; /* the result is a signed integer */
    uint8_t opsel, opsel_hi, neg_lo, neg_hi;
    /* results */
    uint64_t d, d_hi;
    bool carry;
    uint64_t alt; /* a second value that the documentation permits */
    bool has_alt;
    unsigned open; /* not documented for these inputs: bit 0 the result, bit 1 the carry */
    bool any_nan;  /* two NaNs met: which of them comes out, manuals tell differently */
};

struct oracle_op {
    enum oracle_kind kind;
    const char *sem;
    const char *name[2]; /* on gfx9, on gfx11 and gfx12; null where it does not exist */
    const char *sig;
    unsigned targets, flags;
    void (*lane)(struct oracle_lane *x);
};

extern const struct oracle_op oracle_valu[];
extern const unsigned oracle_valu_count;
/* names begin after "v_cmp" or "v_cmpx" */
extern const struct oracle_op oracle_compares[];
extern const unsigned oracle_compare_count;

unsigned oracle_bits(char type);                  /* width of an operand type */
const struct sf_format *oracle_format(char type); /* null when not a float */
struct sf_env oracle_env(uint32_t mode, const struct sf_format *f);

/* MODE register fields. */
enum {
    MODE_DX10_CLAMP = 1 << 8,
    MODE_IEEE = 1 << 9,
    MODE_FP16_OVFL = 1 << 23,
    MODE_DEFAULT = 0xf0 | MODE_DX10_CLAMP | MODE_IEEE
};

/* ---- whole waves */

enum { ORACLE_VGPRS = 24, ORACLE_SGPRS = 104 };

struct oracle_wave {
    enum oracle_target target;
    uint32_t v[ORACLE_VGPRS][64];
    uint32_t s[ORACLE_SGPRS]; /* 16..63 take part */
    uint64_t vcc, exec;
    uint32_t scc, m0, mode;
    /* Result only: where the documentation leaves room. A bit of v_mask that is 0 need not match;
     * a lane of v_alt may be given instead. */
    uint32_t v_mask[ORACLE_VGPRS][64], v_alt[ORACLE_VGPRS][64];
    uint32_t s_mask[ORACLE_SGPRS];
    uint64_t vcc_mask;
    uint32_t scc_mask;
    uint32_t s_alt[ORACLE_SGPRS];
};

/* Makes every bit of the result count. */
void oracle_wave_strict(struct oracle_wave *w);

enum oracle_place { P_NONE, P_VGPR, P_SGPR, P_VCC, P_EXEC, P_M0, P_SCC, P_CONST, P_NULL };

struct oracle_operand {
    enum oracle_place place;
    unsigned reg;
    uint64_t value; /* P_CONST: as the operand's type sees it */
};

enum oracle_ext { X_NONE, X_DPP16, X_DPP8, X_SDWA };

/* SDWA selections, as encoded. */
enum oracle_sel { BYTE_0, BYTE_1, BYTE_2, BYTE_3, WORD_0, WORD_1, DWORD };
enum oracle_unused { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

struct oracle_insn {
    const struct oracle_op *op;
    const char *sig; /* usually op->sig */
    struct oracle_operand d[2], s[3];
    uint8_t neg, abs; /* bit per source */
    bool clamp;
    unsigned omod; /* 0 none, 1 times 2, 2 times 4, 3 by 2 */
    uint8_t opsel, opsel_hi, neg_lo, neg_hi;
    enum oracle_ext ext;
    /* DPP */
    unsigned dpp_ctrl, row_mask, bank_mask;
    bool bound_ctrl, fetch_inactive;
    uint8_t dpp8[8];
    /* SDWA; sel[0] also with F_BYTESEL */
    enum oracle_sel dst_sel, sel[2];
    enum oracle_unused unused;
    bool sext[2];
    bool is_cmpx;
};

/* Runs one vector ALU instruction on before and leaves the outcome in *after. */
void oracle_run_valu(const struct oracle_insn *i, const struct oracle_wave *before,
                     struct oracle_wave *after);

/* The lane of a row operation that source lane `lane` comes from; -1: none. */
int oracle_dpp_source(const struct oracle_insn *i, unsigned lanes, unsigned lane);

#endif
