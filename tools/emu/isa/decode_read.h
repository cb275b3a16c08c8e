/*
 * What the parts of the decoder and the disassembler share: the parsed operand signature of a row,
 * the reading state and what reads fields with it.
 */
#ifndef EMU_DECODE_READ_H
#define EMU_DECODE_READ_H

#include "isa_flags.h"

/* What a place of the signature accepts. */
enum emu_slot_kind {
    EMU_SLOT_ANY, /* VGPR, SGPR, constant */
    EMU_SLOT_V,
    EMU_SLOT_S,
    EMU_SLOT_A,
    EMU_SLOT_MASK, /* a lane mask: one or two SGPRs by wave size */
    EMU_SLOT_K,    /* mandatory literal */
    EMU_SLOT_SIMM16,
    EMU_SLOT_ADDR,
    EMU_SLOT_BASE,
    EMU_SLOT_BUF,
};

enum { EMU_SLOT_HALVED = 0x80 };

struct emu_slot {
    uint8_t kind;   /* enum emu_slot_kind */
    uint8_t type;   /* enum emu_type */
    uint8_t dwords; /* with EMU_SLOT_HALVED: of wave32, and wave64 has half of them */
};

/* A row's signature, parsed. */
struct emu_sig {
    uint8_t ndst, nsrc;
    struct emu_slot dst[2], src[5];
    /* What cannot be said by types, found by name once. */
    bool acc;       /* reads D0 as one more, unnamed source */
    bool cndmask;   /* bitwise sources that still have neg and abs */
    bool cmp_class; /* its second source is as wide as the first allows */
    bool cmpx;
    bool swap;
    bool illegal;  /* gfx11: the all-zero word */
    bool no_scc;   /* gfx90a: an atomic without the scc bit */
    bool from_lds; /* gfx9: buffer_store_lds_dword */
    bool has_addr; /* memory: the first source is an address */
    bool gds_only, lds_only;
    bool sc_bits;    /* cache control with scope bits */
    bool lds_bit;    /* a load that may go to LDS by a bit of its own */
    bool stochastic; /* v_cvt_sr: op_sel[3:2] chooses the byte written */
    bool half_src1;  /* gfx11: also the second source is v0..v127 */
    bool sparse;     /* SMFMAC: no blgp */
    bool f64_neg;    /* gfx942: blgp negates */
    bool two_sel;    /* op_sel has two bits */
    bool dot16;      /* op_sel bits of the first two sources are ignored */
    bool from_fp8;   /* SDWA without destination selector */
    bool bare;       /* names only registers; a 64-bit constant prints as one of 32 bits */
    bool packed;     /* v_pk_fmac_f16 */
    bool true16;     /* gfx11: names register halves v0.l, v0.h */
    bool div_fmas;   /* reads VCC, unnamed */
    bool bitop3;     /* modifier bits are its truth table */
    bool lane_swap;  /* v_permlane*_swap: op_sel is FI and BOUND_CTRL */
    bool no_sel2;    /* v_cvt_pk_bf16_f32: the third bit of op_sel is refused */
    bool third_sel;  /* v_cvt_scalef32_pk_fp4: op_sel for a source that is not there */
    bool ld_scale;   /* v_mfma_ld_scale_b32: no modifiers but op_sel */
    bool fp8;        /* VOP3P: 8-bit floats, of which only the sum may be negated */
    bool iu;         /* WMMA of integers: NEG says which operands are signed */
    bool swmmac;     /* sparse WMMA: op_sel[0] is the half of the indices, where wide tells */
    bool dot;        /* v_dot4, v_dot8 */
    bool var_lanes;  /* v_permlane16_var, v_permlanex16_var */
    bool byte_sel;   /* gfx12: v_cvt_f32_fp8, v_cvt_f32_bf8 */
    bool f8f6f4;     /* CBSZ and BLGP say how wide the elements of A and B are */
};

const struct emu_sig *emu_row_sig(unsigned row);

/* One decode in progress. */
struct emu_reader {
    struct emu_insn *in;
    const struct emu_row *row;
    const struct emu_sig *sig;
    unsigned avail; /* dwords that may be read, at most 3 */
    bool gfx11;     /* family is gfx11 or newer */
    bool gfx12;
    bool lenient; /* new on gfx950: what has no meaning may be anything, as LLVM 22 has it */
    bool newer;   /* emu_decode_newer: halves everywhere, unused fields filled */
    bool literal; /* in->word[in->size / 4 - 1] is the literal */
};

/* Row of an opcode, or -1. */
/* The bits of the inline constants 240 to 248 (0.5 to 1/(2 pi)), as an operand of that enum
 * emu_type has them. */
enum { EMU_FIRST_FLOAT = 240, EMU_INV_2PI = 248 };
uint64_t emu_float_constant(unsigned value, unsigned type);

int emu_find_row(enum emu_family family, enum emu_enc enc, unsigned op);

/* Bits lo..lo+n-1 of the encoding, within one dword. */
static inline uint32_t emu_bits(const struct emu_reader *r, unsigned lo, unsigned n)
{
    return r->in->word[lo / 32] >> lo % 32 & ((1u << n) - 1);
}

static inline bool emu_type_is_float(unsigned t)
{
    return t == EMU_T_F16 || t == EMU_T_BF16 || t == EMU_T_F32 || t == EMU_T_F64 ||
           t == EMU_T_PK_F16 || t == EMU_T_PK_BF16 || t == EMU_T_PK_F32;
}

static inline bool emu_type_is_16bit(unsigned t)
{
    return t == EMU_T_B16 || t == EMU_T_I16 || t == EMU_T_F16 || t == EMU_T_BF16;
}

/* Operands. Each fills *o and returns false when the value names nothing. */
bool emu_read_src(struct emu_reader *r, unsigned value, struct emu_slot slot,
                  struct emu_operand *o); /* 9-bit source field */
bool emu_read_vgpr(struct emu_reader *r, unsigned value, bool acc, struct emu_slot slot,
                   struct emu_operand *o);
bool emu_read_half(struct emu_reader *r, unsigned value, struct emu_slot slot,
                   struct emu_operand *o); /* 8 bits: register and, in bit 7, its half */
bool emu_read_sgpr(struct emu_reader *r, unsigned value, struct emu_slot slot,
                   struct emu_operand *o); /* 7-bit scalar register field, no constants */
bool emu_read_literal(struct emu_reader *r, struct emu_slot slot, struct emu_operand *o);
void emu_set_sreg(struct emu_reader *r, struct emu_operand *o, unsigned reg, bool mask);

/* Implicit operands that follow from the row (accumulators, VCC, EXEC), appended after the rest. */
void emu_add_implicit(struct emu_reader *r);

#endif
