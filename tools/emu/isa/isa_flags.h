/* The flags of isa_*.def that only the decoder and the disassembler read. */
#ifndef EMU_ISA_FLAGS_H
#define EMU_ISA_FLAGS_H

#include "insn.h"

/* Which modifier bits a vector instruction has. A bit that it has not must be zero to decode. */
enum emu_mod {
    EMU_D_FMODS = EMU_F_USER << 0, /* neg and abs on its sources; DPP and SDWA: on float sources */
    EMU_D_CLAMP = EMU_F_USER << 1,
    EMU_D_OMOD = EMU_F_USER << 2,
    EMU_D_OPSEL = EMU_F_USER << 3, /* VOP3 op_sel; without it the four bits are ignored */
    EMU_D_NEGX = EMU_F_USER << 4,  /* neg and abs of the used sources are ignored, not refused */
    EMU_D_IMODS = EMU_F_USER << 5, /* an integer source has neg; its abs is ignored */
    EMU_D_NO64 = EMU_F_USER << 6,  /* VOP1 or VOP2 without a VOP3 form */
    /* Encodings with cross-lane or sub-dword sources. */
    EMU_D_DPP9 = EMU_F_USER << 7,   /* gfx9: DPP */
    EMU_D_SDWA = EMU_F_USER << 8,   /* gfx9: SDWA */
    EMU_D_DPP11 = EMU_F_USER << 9,  /* gfx11: DPP16 and DPP8 on the 32-bit form */
    EMU_D_DPP64 = EMU_F_USER << 10, /* gfx11: DPP16 and DPP8 on the VOP3 or VOP3P form */
};

#endif
