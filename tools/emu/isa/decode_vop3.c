/*
 * Decodes VOP3 (and the VOP3 forms of VOP1, VOP2, VOPC), VOP3P, matrix instructions, and their DPP
 * forms on gfx11.
 */
#include "decode_parts.h"

#include <string.h>

static bool extended(const struct emu_reader *r, unsigned src0)
{
    return r->gfx11 && r->avail >= 3 && r->row->flags & EMU_D_DPP64 &&
           (src0 == 0xfa || src0 == 0xe9 || src0 == 0xea);
}

/* v_permlane16_swap and v_permlane32_swap: two registers, both read and written. */
static bool read_swapped(struct emu_reader *r)
{
    struct emu_insn *in = r->in;

    if (!emu_read_src(r, emu_bits(r, 32, 9), r->sig->src[0], &in->src[0]) ||
        !emu_read_vgpr(r, emu_bits(r, 0, 8), false, r->sig->dst[0], &in->dst[0]))
        return false;
    in->dst[1] = in->src[0];
    in->src[1] = in->dst[0];
    in->ndst = in->nsrc = 2;
    return true;
}

/* The three 9-bit source fields, in order of the signature; a field without a source is zero, or
 * with newer assemblers the inline constant. */
enum { INLINE_ZERO = 0x80 };

static bool read_sources(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned src0 = emu_bits(r, 32, 9), n = r->sig->nsrc;

    if (extended(r, src0)) {
        in->size = 12;
        in->fi = src0 == 0xea;
        if (!emu_decode_dpp(r, in->word[2], src0 != 0xfa))
            return false;
        src0 = 256 + (in->word[2] & 0xff);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned value = i ? emu_bits(r, 32 + 9 * i, 9) : src0;

        if (i >= n) {
            if (value && !r->lenient && !(r->newer && value == INLINE_ZERO))
                return false;
        } else if (!emu_read_src(r, value, r->sig->src[i], &in->src[i])) {
            return false;
        }
    }
    in->nsrc = (uint8_t)n;
    return true;
}

static bool read_dst(struct emu_reader *r, bool *has_sdst)
{
    struct emu_insn *in = r->in;
    unsigned vdst = emu_bits(r, 0, 8);
    const struct emu_sig *sig = r->sig;

    *has_sdst = sig->ndst == 2 && sig->dst[1].kind == EMU_SLOT_MASK;
    if (sig->ndst == 0)
        return vdst == 0;
    if (sig->cmpx && r->gfx11)
        return !r->gfx12 || vdst == EMU_S_EXEC;
    if (sig->dst[0].kind == EMU_SLOT_MASK || sig->dst[0].kind == EMU_SLOT_S) {
        if (!emu_read_src(r, vdst, sig->dst[0], &in->dst[0]))
            return false;
    } else if (!emu_read_vgpr(r, vdst, false, sig->dst[0], &in->dst[0])) {
        return false;
    }
    in->ndst = 1;
    if (*has_sdst) {
        in->ndst = 2;
        return emu_read_sgpr(r, emu_bits(r, 8, 7), sig->dst[1], &in->dst[1]);
    }
    return true;
}

/* neg and abs of source i; bit 0 neg, bit 1 abs. */
static bool set_mods(struct emu_reader *r, unsigned i, unsigned bits)
{
    struct emu_operand *o = &r->in->src[i];
    uint32_t f = r->row->flags;
    bool present = i < r->sig->nsrc && r->sig->src[i].kind != EMU_SLOT_MASK;
    bool third = r->sig->third_sel && i == 2;

    bool is_float = emu_type_is_float(o->type) || r->sig->cndmask;

    /* gfx11's v_ldexp_f16_e64 sees its exponent as a half. */
    is_float |= r->sig->half_src1 && r->gfx11 && !r->gfx12;
    if (present && f & EMU_D_FMODS && is_float) {
        o->flags |= (bits & 1 ? EMU_OPF_NEG : 0) | (bits & 2 ? EMU_OPF_ABS : 0);
        return true;
    }
    if (r->gfx12 && r->sig->two_sel) /* v_permlane16 */
        return bits == 0;
    if (present && f & EMU_D_NEGX) {
        o->flags |= r->in->ext && bits & 1 && !r->gfx12 ? EMU_OPF_SEXT : 0;
        return true;
    }
    if (present && f & EMU_D_IMODS) {
        o->flags |= bits & 1 && !r->gfx12 ? EMU_OPF_SEXT : 0;
        return true;
    }
    /* gfx950's newer ones ignore them where they have no meaning but have sources with. */
    return bits == 0 || (r->sig->stochastic && !(r->gfx12 && i == 2)) || third ||
           (r->lenient && present && f & (EMU_D_FMODS | EMU_D_OPSEL));
}

static bool set_op_sel(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned bits = emu_bits(r, 11, 4) & (r->sig->two_sel ? 3 : r->sig->dot16 ? 12 : 15);

    if ((r->sig->var_lanes && emu_bits(r, 13, 1)) ||
        (r->gfx12 && r->sig->stochastic && bits & 3 && !in->ext) ||
        (r->gfx12 && r->sig->byte_sel && bits & 12 && !in->ext))
        return false;
    if (r->sig->byte_sel && r->row->flags & EMU_D_OPSEL) {
        bits &= 3;
        in->op_sel = (uint8_t)bits;
        if (bits) {
            in->src[0].flags |= EMU_OPF_BYTE;
            in->src[0].sel = (uint8_t)(bits >> 1 | (bits & 1) << 1);
        }
        return true;
    }
    if (!(r->row->flags & EMU_D_OPSEL) && !r->newer)
        return !(r->sig->no_sel2 && bits & 4) && !(r->sig->bitop3 && bits);
    if (r->gfx12 && r->sig->stochastic)
        bits &= 12;
    for (unsigned i = 0; i < 3; i++) {
        if (i >= 0u + r->sig->nsrc + r->sig->third_sel && bits >> i & 1 && !r->sig->stochastic &&
            r->row->flags & EMU_D_OPSEL)
            return false;
        if (i < r->sig->nsrc && bits >> i & 1 && emu_type_is_16bit(in->src[i].type))
            in->src[i].flags |= EMU_OPF_HI;
    }
    if (bits & 8 && emu_type_is_16bit(in->dst[0].type))
        in->dst[0].flags |= EMU_OPF_HI;
    if (r->row->flags & EMU_D_OPSEL)
        in->op_sel = (uint8_t)bits;
    return true;
}

bool emu_decode_vop3(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    uint32_t f = r->row->flags;
    bool sdst;

    if (f & EMU_D_NO64 && !(r->newer && r->sig->true16)) /* v_mov_b16_e64 */
        return false;
    if (r->sig->lane_swap)
        return read_swapped(r) && emu_bits(r, 8, 3) == 0 && emu_bits(r, 15, 1) == 0 &&
               emu_bits(r, 59, 5) == 0 && set_op_sel(r);
    if (!read_sources(r) || !read_dst(r, &sdst))
        return false;
    if (r->sig->bitop3) {
        in->bitop3 =
            (uint8_t)(emu_bits(r, 61, 3) | emu_bits(r, 8, 3) << 3 | emu_bits(r, 59, 2) << 6);
        return emu_bits(r, 15, 1) == 0 && set_op_sel(r);
    }
    in->clamp = emu_bits(r, 15, 1);
    in->omod = emu_bits(r, 59, 2);
    if ((in->clamp && !(f & EMU_D_CLAMP)) || (in->omod && !(f & EMU_D_OMOD)))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        unsigned abs = sdst ? 0 : emu_bits(r, 8 + i, 1);

        if (!set_mods(r, i, emu_bits(r, 61 + i, 1) | abs << 1))
            return false;
    }
    if (!sdst && !set_op_sel(r))
        return false;
    emu_add_implicit(r);
    return true;
}

/* ---- VOP3P ---- */

/* A constant of a mix operand is a float, or a half where op_sel_hi says so. */
static bool fix_mix(struct emu_reader *r)
{
    static const struct emu_slot half = {EMU_SLOT_ANY, EMU_T_F16, 1};
    struct emu_insn *in = r->in;

    for (unsigned i = 0; i < in->nsrc; i++) {
        struct emu_operand *o = &in->src[i];
        unsigned value = emu_bits(r, 32 + 9 * i, 9);

        if (o->type != EMU_T_MIX || o->kind != EMU_OPK_CONST || !(in->op_sel_hi >> i & 1))
            continue;
        if (!emu_read_src(r, value, half, o))
            return false;
        o->type = EMU_T_MIX;
    }
    return true;
}

/* A lane's indices fill 16 or 32 bits of a register in wave32, in wave64 half of that, but for what
 * has a single register of A. */
static unsigned most_index_key(unsigned wave, const char *name)
{
    if (strstr(name, "64_iu4"))
        return wave == 32 ? 0 : 1;
    return wave == 32 || strstr(name, "iu4") ? 1 : 3;
}

/* gfx12: the sources of a WMMA have no halves to choose; what else it takes goes by their type. */
static bool set_wmma_mods(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    unsigned sel = emu_bits(r, 11, 3), hi = emu_bits(r, 59, 2) | emu_bits(r, 14, 1) << 2;
    unsigned neg_lo = sig->fp8 ? 4 : sig->iu ? 3 : 7, neg_hi = sig->iu ? 0 : neg_lo;

    if (sig->swmmac) { /* the third source holds indices */
        in->op_sel = sel & most_index_key(in->wave, r->row->name);
        sel &= ~(unsigned)in->op_sel;
        neg_lo &= 3, neg_hi &= 3;
        emu_add_implicit(r);
    }
    return hi == 7 && !sel && !(in->neg_lo & ~neg_lo) && !(in->neg_hi & ~neg_hi);
}

/* gfx12: v_dot4 and v_dot8 have no halves either; those of integers ignore op_sel_hi. */
static bool set_dot_mods(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned hi = emu_bits(r, 59, 2) | emu_bits(r, 14, 1) << 2;

    in->op_sel_hi = 7;
    if (r->sig->fp8 && (hi != 7 || (in->neg_lo | in->neg_hi) & 3))
        return false;
    return emu_bits(r, 11, 3) == 0;
}

static bool decode_packed(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned n = r->sig->nsrc, used = (1u << n) - 1;
    bool sdst;

    if (!read_sources(r) || !read_dst(r, &sdst))
        return false;
    if (r->sig->ld_scale) {
        in->op_sel = (uint8_t)emu_bits(r, 11, 2);
        in->op_sel_hi = (uint8_t)emu_bits(r, 59, 2);
        return !(emu_bits(r, 10, 1) | emu_bits(r, 13, 1) | emu_bits(r, 15, 1) | emu_bits(r, 63, 1));
    }
    in->clamp = emu_bits(r, 15, 1);
    in->neg_lo = (uint8_t)emu_bits(r, 61, 3);
    in->neg_hi = (uint8_t)emu_bits(r, 8, 3);
    if (in->clamp && !(r->row->flags & EMU_D_CLAMP))
        return false;
    if ((in->neg_lo | in->neg_hi) & ~used)
        return false;
    if (r->gfx12 && in->flags & EMU_F_MATRIX)
        return set_wmma_mods(r);
    if (r->gfx12 && r->sig->dot)
        return set_dot_mods(r);
    if (in->flags & EMU_F_MATRIX && !(r->row->flags & EMU_D_OPSEL))
        return emu_bits(r, 11, 3) == 0; /* WMMA without halves to choose */
    in->op_sel = (uint8_t)emu_bits(r, 11, 3);
    in->op_sel_hi = (uint8_t)((emu_bits(r, 59, 2) | emu_bits(r, 14, 1) << 2) & used);
    return (in->op_sel & ~used) == 0 && fix_mix(r);
}

/* ---- matrix ---- */

/* Of 32 elements of A or B: 8 bits each, 6, or 4. */
static uint8_t narrow_dwords(unsigned format)
{
    return format == 2 || format == 3 ? 6 : format == 4 ? 4 : 8;
}

static bool read_matrix_src(struct emu_reader *r, unsigned i, bool acc)
{
    struct emu_operand *o = &r->in->src[i];
    struct emu_slot slot = r->sig->src[i];
    unsigned value = emu_bits(r, 32 + 9 * i, 9);

    slot.type = r->sig->f64_neg ? EMU_T_F64 : EMU_T_F32; /* constants */
    if (r->sig->f8f6f4 && i < 2 && value < 256)
        return false; /* vector registers only: LLVM 22 calls all else invalid, or refuses it */
    if (r->sig->f8f6f4 && i < 2)
        slot.dwords = narrow_dwords(emu_bits(r, i ? 61 : 8, 3));
    if (!emu_read_src(r, value, slot, o))
        return false;
    o->type = r->sig->src[i].type;
    if (o->kind == EMU_OPK_VGPR && acc)
        o->kind = EMU_OPK_AGPR;
    return true;
}

static bool decode_accvgpr(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    struct emu_slot dst = r->sig->dst[0];

    if (!emu_read_vgpr(r, emu_bits(r, 0, 8), dst.kind == EMU_SLOT_A, dst, &in->dst[0]))
        return false;
    in->ndst = in->nsrc = 1;
    if (!emu_read_src(r, emu_bits(r, 32, 9), r->sig->src[0], &in->src[0]))
        return false;
    return emu_bits(r, 41, 18) == 0 && emu_bits(r, 61, 3) == 0 && emu_bits(r, 8, 6) == 0;
}

static bool decode_mai(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    bool acc_cd = emu_bits(r, 15, 1);
    unsigned acc = emu_bits(r, 59, 2);

    if (!(in->flags & EMU_F_MATRIX))
        return decode_accvgpr(r);
    if (!emu_read_vgpr(r, emu_bits(r, 0, 8), acc_cd, r->sig->dst[0], &in->dst[0]))
        return false;
    in->ndst = 1;
    for (unsigned i = 0; i < 3; i++)
        if (!read_matrix_src(r, i, i < 2 ? acc >> i & 1 : acc_cd && !r->sig->acc))
            return false;
    in->nsrc = 3;
    in->cbsz = (uint8_t)emu_bits(r, 8, 3);
    in->abid = (uint8_t)emu_bits(r, 11, 4);
    in->blgp = (uint8_t)emu_bits(r, 61, 3);
    if ((r->sig->sparse && in->blgp) || (r->sig->f8f6f4 && in->abid))
        return false;
    emu_add_implicit(r);
    return true;
}

bool emu_decode_vop3p(struct emu_reader *r)
{
    return r->in->enc == EMU_MAI ? decode_mai(r) : decode_packed(r);
}
