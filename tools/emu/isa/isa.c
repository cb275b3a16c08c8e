/*
 * The instruction table: every mnemonic of the emulated families, one row each, from isa_*.def.
 *
 * I(name, sem, encoding, opcode on gfx90a, gfx942, gfx1100..1103, gfx1150..1153, gfx1200..1201,
 * operands, flags)
 * I5 has a column of its own for gfx950, behind gfx942's; in I it has gfx942's opcode.
 * I950(name, sem, encoding, opcode, operands, flags) is on gfx950 alone, I12 on gfx1200..1201.
 *
 * name: LLVM's mnemonic without encoding suffix. sem: the name under which the semantic tables know
 * the operation; families that only renamed an instruction share it. NO: the family lacks it.
 *
 * operands: destinations = sources, in the order of emu_insn.dst[] and src[] without the implicit
 * ones. A type is b16 b32 b64 b96 ... (bits), i16 i32 i64 (sign-extended constants), f16 bf16 f32
 * f64, pki16 pkf16 pkbf16 (two halves of a dword), pkf32 pkb32 (two dwords), mix (f32 or f16 by
 * modifier), mask (a bit per lane), wacc (WMMA accumulator: 256 bits in wave32, 128 in wave64),
 * w256 w128 w64 (so many bits in wave32, half of them in wave64),
 * k16 k32 (mandatory literal), simm16. Prefix v. VGPR only, s. scalar only, a. AGPR only; the
 * second source of VOP2 and VOPC is a VGPR in the 32-bit form. In memory rows: addr (an address
 * or LDS offset), base (64-bit scalar address), buf (resource descriptor).
 *
 * flags: enum emu_flag and enum emu_mod without their prefixes; FLOAT is what nearly every float
 * operation has, EXT the DPP and SDWA forms that nearly every 32-bit vector operation has.
 */
#include "isa_flags.h"

#define NO (-1)
#define LOAD EMU_F_LOAD
#define STORE EMU_F_STORE
#define ATOMIC EMU_F_ATOMIC
#define LDS_DMA EMU_F_LDS_DMA
#define D16 EMU_F_D16
#define BRANCH EMU_F_BRANCH
#define TRAPPED EMU_F_TRAPPED
#define MATRIX EMU_F_MATRIX
#define FMODS EMU_D_FMODS
#define CLAMP EMU_D_CLAMP
#define OMOD EMU_D_OMOD
#define FLOAT (EMU_D_FMODS | EMU_D_CLAMP | EMU_D_OMOD)
#define OPSEL EMU_D_OPSEL
#define NEGX EMU_D_NEGX
#define IMODS EMU_D_IMODS
#define NO64 EMU_D_NO64
#define DPP9 EMU_D_DPP9
#define SDWA EMU_D_SDWA
#define DPP11 EMU_D_DPP11
#define DPP64 EMU_D_DPP64
#define EXT (EMU_D_DPP9 | EMU_D_SDWA | EMU_D_DPP11 | EMU_D_DPP64)
#define I5(name, sem, enc, gfx90a, gfx942, gfx950, gfx11, gfx11_5, gfx12, sig, flags)              \
    {#name, #sem, EMU_##enc, {gfx90a, gfx942, gfx950, gfx11, gfx11_5, gfx12}, sig, flags},
#define I(name, sem, enc, gfx90a, gfx942, gfx11, gfx11_5, gfx12, sig, flags)                       \
    I5(name, sem, enc, gfx90a, gfx942, gfx942, gfx11, gfx11_5, gfx12, sig, flags)
#define I950(name, sem, enc, gfx950, sig, flags)                                                   \
    I5(name, sem, enc, NO, NO, gfx950, NO, NO, NO, sig, flags)
#define I12(name, sem, enc, gfx12, sig, flags)                                                     \
    I5(name, sem, enc, NO, NO, NO, NO, NO, gfx12, sig, flags)

const struct emu_row emu_rows[] = {
#include "isa_scalar.def"

#include "isa_vop.def"

#include "isa_vop3.def"

#include "isa_memory.def"

#include "isa_trapped.def"
};

const unsigned emu_row_count = sizeof emu_rows / sizeof emu_rows[0];
