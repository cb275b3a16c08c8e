/*
 * The decoded instruction: what the decoder hands to the disassembler, to the execution core and to
 * strict mode.
 *
 * A decoded instruction is complete: nothing downstream looks at raw bits again, and every register
 * that the instruction reads or writes, also an implicit one, stands in dst[] or src[] (SCC and the
 * counters excepted: those belong to the semantic row).
 */
#ifndef EMU_INSN_H
#define EMU_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Families share opcode numbers and decode rules; a row of isa*.def has one opcode for each. */
enum emu_family {
    EMU_GFX90A,
    EMU_GFX942,
    EMU_GFX950,
    EMU_GFX11,   /* gfx1100..1103 */
    EMU_GFX11_5, /* gfx1150..1153 */
    EMU_GFX12,   /* gfx1200, gfx1201 */
    EMU_FAMILIES
};

enum emu_enc {
    EMU_SOP1,
    EMU_SOP2,
    EMU_SOPC,
    EMU_SOPK,
    EMU_SOPP,
    EMU_SMEM,
    EMU_VOP1,
    EMU_VOP2,
    EMU_VOPC,
    EMU_VOP3,  /* also the form with a scalar destination (VOP3SD) */
    EMU_VOP3P, /* packed, mix, dot, WMMA */
    EMU_MAI,   /* VOP3P-MAI: MFMA and v_accvgpr_* */
    EMU_VOPD,
    EMU_DS,
    EMU_FLAT,
    EMU_GLOBAL,
    EMU_SCRATCH,
    EMU_MUBUF,
    EMU_MTBUF,
    EMU_MIMG,
    EMU_EXP,
    EMU_VINTRP,
    EMU_VINTERP,
    EMU_LDSDIR,
    EMU_ENCODINGS
};

/* What the src0 escape of VOP1/VOP2/VOPC (and of gfx11 VOP3/VOP3P) selected. */
enum emu_ext { EMU_EXT_NONE, EMU_EXT_DPP16, EMU_EXT_DPP8, EMU_EXT_SDWA };

enum emu_opkind {
    EMU_OPK_NONE,    /* absent (for example `off`) */
    EMU_OPK_VGPR,    /* reg 0..255 */
    EMU_OPK_AGPR,    /* reg 0..255; row accum_offset + reg of the unified file */
    EMU_OPK_SGPR,    /* reg: canonical scalar number, see enum emu_sreg */
    EMU_OPK_CONST,   /* inline constant; bits in value */
    EMU_OPK_LITERAL, /* 32-bit literal; bits as the operand's type sees them in value */
    EMU_OPK_SPECIAL  /* reg: enum emu_special; read only */
};

/*
 * Canonical scalar register numbers, the same for all families: the decoder maps gfx11's null (124)
 * and m0 (125). 0..105 are SGPRs (on gfx9 102..105 are flat_scratch and xnack_mask), 108..123 are
 * ttmp0..15.
 */
enum emu_sreg {
    EMU_S_FLAT_SCRATCH = 102,
    EMU_S_XNACK_MASK = 104,
    EMU_S_VCC = 106,
    EMU_S_TTMP = 108,
    EMU_S_M0 = 124,
    EMU_S_NULL = 125, /* reads 0; writes are dropped */
    EMU_S_EXEC = 126,
    EMU_S_REGS = 128
};

enum emu_special {
    EMU_SP_SHARED_BASE,
    EMU_SP_SHARED_LIMIT,
    EMU_SP_PRIVATE_BASE,
    EMU_SP_PRIVATE_LIMIT,
    EMU_SP_POPS_EXITING_WAVE_ID,
    EMU_SP_VCCZ,
    EMU_SP_EXECZ,
    EMU_SP_SCC,
    EMU_SP_LDS_DIRECT
};

/* How the instruction reads an operand: fixes the value of inline constants and the meaning of
 * modifiers. */
enum emu_type {
    EMU_T_B16,
    EMU_T_B32,
    EMU_T_B64,
    EMU_T_I16,
    EMU_T_I32,
    EMU_T_I64,
    EMU_T_F16,
    EMU_T_BF16,
    EMU_T_F32,
    EMU_T_F64,
    EMU_T_PK_I16, /* two halves in one dword */
    EMU_T_PK_F16,
    EMU_T_PK_BF16,
    EMU_T_PK_F32, /* two dwords */
    EMU_T_PK_B32,
    EMU_T_MIX,  /* f32 or one half of a dword as f16: mad_mix, fma_mix */
    EMU_T_MASK, /* one bit per lane: 1 or 2 SGPRs by wave size */
    EMU_T_BLOB  /* wider than 64 bits: memory data, descriptors, matrix operands */
};

enum emu_opflag {
    EMU_OPF_NEG = 1, /* negate (after abs) */
    EMU_OPF_ABS = 2,
    EMU_OPF_SEXT = 4, /* SDWA sign extension */
    EMU_OPF_HI = 8,   /* 16-bit operand lives in the high half of the register */
    EMU_OPF_IMPLICIT =
        16, /* not printed: VCC of an _e32 form, the accumulator of v_fmac, EXEC of v_cmpx */
    EMU_OPF_BYTE = 32 /* gfx12: sel is the byte that v_cvt_f32_fp8 converts */
};

enum emu_sdwa_sel {
    EMU_SDWA_BYTE_0,
    EMU_SDWA_BYTE_1,
    EMU_SDWA_BYTE_2,
    EMU_SDWA_BYTE_3,
    EMU_SDWA_WORD_0,
    EMU_SDWA_WORD_1,
    EMU_SDWA_DWORD
};

enum emu_sdwa_unused { EMU_SDWA_PAD, EMU_SDWA_SEXT, EMU_SDWA_PRESERVE };

struct emu_operand {
    uint8_t kind;   /* enum emu_opkind */
    uint8_t type;   /* enum emu_type */
    uint8_t dwords; /* registers covered, 1..32; 1 for a 16-bit operand */
    uint8_t flags;  /* enum emu_opflag */
    uint16_t reg;   /* first register, or enum emu_special */
    uint8_t sel;    /* enum emu_sdwa_sel; EMU_SDWA_DWORD when neither SDWA nor EMU_OPF_BYTE */
    uint8_t pad;
    /*
     * Constants: the bits as `type` sees them. 1.0 is 0x3c00 for F16 and PK_F16 (low half),
     * 0x3f800000 for F32 and B32, 0x3ff0... for F64 and B64; integers are sign-extended to 64 bits;
     * a literal of a F64 operand is the high dword, of a B64 operand zero-extended, of an I64
     * operand sign-extended.
     */
    uint64_t value;
};

/* Bits of the flags column of isa*.def. The decoder copies them into emu_insn.flags. */
enum emu_flag {
    EMU_F_LOAD = 1 << 0,  /* memory read into dst[0] */
    EMU_F_STORE = 1 << 1, /* memory written from the data operands */
    EMU_F_ATOMIC =
        1 << 2, /* read-modify-write; dst[0] present only when the old value is returned */
    EMU_F_LDS_DMA = 1 << 3, /* global/buffer load that writes LDS */
    EMU_F_D16 = 1 << 4,     /* writes one half of dst[0] and keeps the other */
    EMU_F_BRANCH = 1 << 5,  /* simm16 is a branch offset in dwords from the next instruction */
    EMU_F_TRAPPED =
        1 << 6, /* image, export, interpolation, GWS: decoded and printed, never executed */
    EMU_F_MATRIX = 1 << 7, /* MFMA, SMFMAC, WMMA */
    EMU_F_USER = 1 << 16   /* first bit free for the decoder's own use */
};

/* Address and cache bits of memory instructions, as encoded; the family gives them their printed
 * names. */
enum emu_membit {
    EMU_M_GLC = 1 << 0, /* gfx942: sc0; gfx12: an atomic that returns the old value */
    EMU_M_SLC = 1 << 1, /* gfx942: nt */
    EMU_M_DLC = 1 << 2,
    EMU_M_SCC = 1 << 3, /* gfx90a: scc; gfx942: sc1 */
    EMU_M_OFFEN = 1 << 4,
    EMU_M_IDXEN = 1 << 5,
    EMU_M_LDS = 1 << 6,
    EMU_M_TFE = 1 << 7,
    EMU_M_GDS = 1 << 8,
    EMU_M_SVE = 1 << 9,  /* gfx942/gfx11 scratch: vaddr is used */
    EMU_M_IMM = 1 << 10, /* gfx9 SMEM: the immediate offset is present */
    EMU_M_NV = 1 << 11
};

/*
 * Operand places (sources are always in the order of the assembly text unless said otherwise):
 *   SOP*, VOP*    dst[0] = D0, dst[1] = D1 (carry out, div_scale mask), src[0..2] = S0..S2.
 *                 Carry in and the mask of v_cndmask are src[2] (VCC with IMPLICIT in the _e32
 * form); carry out is dst[1] likewise. v_cmp: dst[0] is the mask (VCC with IMPLICIT in _e32).
 * v_cmpx: gfx9 has dst[0] = VCC/sdst and dst[1] = EXEC, gfx11 has dst[0] = EXEC, both EXEC operands
 * IMPLICIT. Accumulating forms (v_fmac, v_mac, v_dot2c, v_pk_fmac, ...) have src[2] = D0, IMPLICIT.
 *                 v_madmk/v_fmamk: S0, K, S1; v_madak/v_fmaak: S0, S1, K.
 *                 v_readlane/v_writelane: S0 = data, S1 = lane; v_writelane has src[2] = D0,
 * IMPLICIT. v_swap: dst[0], dst[1] and src[0], src[1] hold both registers. v_div_fmas: src[3] =
 * VCC, IMPLICIT. DPP and 16-bit forms that keep part of D0 need no entry. SOPK          simm16;
 * s_addk, s_mulk, s_cmovk: src[0] = D0, IMPLICIT; s_cmpk: src[0]. s_getreg: dst[0]; s_setreg:
 * src[0] (register, or literal for the imm32 form); simm16 = hwreg. SMEM          dst[0] = data;
 * src[0] = sbase, src[1] = soffset or NONE, src[2] = data of a store/atomic. DS            dst[0];
 * src[0] = addr, src[1] = data0, src[2] = data1; offset0/offset1 or offset. FLAT, GLOBAL, SCRATCH
 *                 dst[0]; src[0] = vaddr or NONE, src[1] = vdata, src[2] = saddr or NONE; offset.
 *   MUBUF, MTBUF  dst[0]; src[0] = vaddr or NONE, src[1] = vdata, src[2] = srsrc, src[3] = soffset;
 * offset. MAI, WMMA     dst[0] = D; src[0..2] = A, B, C; SMFMAC: src[2] = index register, src[3] =
 * D, IMPLICIT. VOPD          X: row, dst[0], src[0..2]; Y: row_y, dst[1], src[3..5].
 */
struct emu_insn {
    uint16_t row;   /* index into emu_rows[] */
    uint16_t row_y; /* VOPD second half */
    uint8_t enc;    /* enum emu_enc */
    uint8_t ext;    /* enum emu_ext */
    uint8_t size;   /* bytes: 4, 8, 12 */
    uint8_t ndst;   /* used entries of dst[] and src[]; entries in between may be NONE */
    uint8_t nsrc;
    uint8_t family; /* enum emu_family */
    uint8_t wave;   /* 32 or 64 */
    uint8_t clamp;
    uint32_t flags;          /* enum emu_flag */
    uint32_t offset_in_text; /* bytes from the start of the decoded function */
    uint32_t word[3];

    struct emu_operand dst[2];
    struct emu_operand src[6];

    uint8_t omod;      /* 0 none, 1 *2, 2 *4, 3 /2 */
    uint8_t op_sel;    /* bits 0..2: sources, bit 3: destination */
    uint8_t op_sel_hi; /* bits 0..2 */
    uint8_t neg_lo, neg_hi;
    uint8_t cbsz, abid, blgp;

    uint16_t dpp_ctrl; /* 9 bits */
    uint8_t row_mask, bank_mask;
    uint8_t bound_ctrl; /* 1: an invalid source lane reads as 0 */
    uint8_t fi;         /* fetch inactive */
    uint8_t dst_sel;    /* enum emu_sdwa_sel */
    uint8_t dst_unused; /* enum emu_sdwa_unused */
    uint32_t dpp8;      /* eight 3-bit lane numbers */

    int16_t simm16;
    uint16_t mem;             /* enum emu_membit */
    uint8_t cpol;             /* gfx12: temporal hint, 3 bits, and scope, 2 */
    int32_t offset;           /* signed where the encoding is */
    uint8_t offset0, offset1; /* DS two-address forms */
    uint8_t format;           /* MTBUF */
    uint8_t bitop3;           /* v_bitop3: truth table, bit 4 a + 2 b + c */
};

/* One row of isa*.def. op[] is -1 where the family lacks the instruction. */
struct emu_row {
    const char *name; /* LLVM's mnemonic without encoding suffix */
    const char *sem;  /* name of the semantic row */
    uint8_t enc;
    int16_t op[EMU_FAMILIES];
    const char *sig;
    uint32_t flags;
};

/* gfx942, and gfx950, which has its encodings and most of its instructions. */
static inline bool emu_is_gfx94(unsigned family)
{
    return family == EMU_GFX942 || family == EMU_GFX950;
}

/* The 8-bit floats of gfx950 and gfx12 are OCP's; those of gfx942 have no infinities and no -0. */
static inline bool emu_has_ocp_floats(unsigned family)
{
    return family == EMU_GFX950 || family >= EMU_GFX12;
}

/* Of v_mfma_*_f8f6f4: A or B has elements of 8 bits, which take twice as long as fewer. */
static inline bool emu_has_bytes(const struct emu_insn *insn)
{
    return insn->cbsz < 2 || insn->blgp < 2;
}

extern const struct emu_row emu_rows[];

/* Whether a name begins so. Of names of instructions most differ in the third letter. */
static inline bool emu_starts(const char *name, const char *prefix)
{
    while (*prefix)
        if (*name++ != *prefix++)
            return false;
    return true;
}

extern const unsigned emu_row_count;

/*
 * Decodes one instruction. text: bytes of the function, avail: bytes left at offset. Returns its
 * size in bytes, or 0 when the words are not an instruction of the family (LLVM 19 calls them
 * undecodable); *out is then unspecified. wave is 32 or 64. Pure; any thread.
 */
unsigned emu_decode(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                    uint32_t offset, struct emu_insn *out);

/*
 * As emu_decode, and also takes what gfx11 hardware runs but LLVM 19 does not print: register
 * halves (v3.h) as operands of all 16-bit instructions, by bit 7 of the 32-bit forms' fields and by
 * op_sel of the others; and the inline constant 0 that newer assemblers write into unused source
 * fields. For programs that are to be run.
 */
unsigned emu_decode_newer(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                          uint32_t offset, struct emu_insn *out);

/*
 * Prints in LLVM 19's syntax (no leading tab), NUL-terminated and cut at size. Returns the full
 * length. Pure.
 */
size_t emu_disasm(const struct emu_insn *insn, char *buf, size_t size);

#endif
