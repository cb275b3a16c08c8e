/* The parts of the decoder, a family of encodings each. */
#ifndef EMU_DECODE_PARTS_H
#define EMU_DECODE_PARTS_H

#include "decode_read.h"

/* Decoders of the families of encodings; size, word[], row and enc are set by the caller. */
bool emu_decode_scalar(struct emu_reader *r);
bool emu_decode_vop(struct emu_reader *r);   /* VOP1, VOP2, VOPC with DPP and SDWA */
bool emu_decode_vop3(struct emu_reader *r);  /* VOP3 and the VOP3 forms of the others */
bool emu_decode_vop3p(struct emu_reader *r); /* VOP3P and MAI */
bool emu_decode_vopd(struct emu_reader *r);
bool emu_decode_memory(struct emu_reader *r);
bool emu_decode_memory12(struct emu_reader *r); /* gfx12's, DS excepted */
bool emu_decode_trapped(struct emu_reader *r);
bool emu_decode_image12(struct emu_reader *r);
/* DPP16 or DPP8 control word w, shared by VOP and VOP3; false when it must not decode. */
bool emu_decode_dpp(struct emu_reader *r, uint32_t w, bool dpp8);

#endif
