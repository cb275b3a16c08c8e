/*
 * What becomes of the sources of a vector instruction before its row sees them: DPP, SDWA, packed
 * halves, signs, denormals by MODE. Part of the lane template.
 */

#define FOR_EACH_LANE for (unsigned l = 0; l < W; l++)

static void permute_lanes(uint32_t *t, const uint32_t *s, const struct emu_permute *p,
                          uint64_t live)
{
    FOR_EACH_LANE t[l] = live >> l & 1 ? s[p->from[l]] : 0;
}

/* Lanes whose DPP source lane exists and may be read. */
static uint64_t live_sources(const struct emu_permute *p, uint64_t m)
{
    uint64_t live = 0;

    if (p->inactive || m == FULL)
        return p->valid;
    FOR_EACH_LANE live |= (m >> p->from[l] & 1) << l;
    return live & p->valid;
}

static void select_sdwa(uint32_t *t, const uint32_t *s, const struct emu_operand *o)
{
    unsigned shift = o->sel <= EMU_SDWA_BYTE_3 ? 8 * o->sel : 16 * (o->sel - EMU_SDWA_WORD_0);
    unsigned drop = o->sel <= EMU_SDWA_BYTE_3 ? 24 : 16;

    if (o->flags & EMU_OPF_SEXT)
        FOR_LANES t[l] = (uint32_t)((int32_t)(s[l] >> shift << drop) >> drop);
    else
        FOR_LANES t[l] = s[l] >> shift << drop >> drop;
}

/* The halves that op_sel picks, with their signs. */
static void select_packed(uint32_t *t, const uint32_t *s, const struct emu_insn *insn, unsigned i)
{
    bool real = insn->src[i].type != EMU_T_PK_I16;
    unsigned lo = insn->op_sel >> i & 1 ? 16 : 0, hi = insn->op_sel_hi >> i & 1 ? 16 : 0;
    uint32_t flip = real && insn->neg_lo >> i & 1 ? 0x8000 : 0;

    flip |= real && insn->neg_hi >> i & 1 ? 0x80000000 : 0;
    FOR_LANES t[l] = pack16(s[l] >> lo, s[l] >> hi) ^ flip;
}

static void select_mix(uint32_t *t, const uint32_t *s, const struct emu_insn *insn, unsigned i)
{
    uint32_t keep = insn->neg_hi >> i & 1 ? 0x7fffffff : 0xffffffff;
    uint32_t flip = insn->neg_lo >> i & 1 ? 0x80000000 : 0;
    unsigned half = insn->op_sel >> i & 1 ? 16 : 0;

    if (insn->op_sel_hi >> i & 1)
        FOR_LANES t[l] = (f32_bits(f16_f32(s[l] >> half & 0xffff)) & keep) ^ flip;
    else
        FOR_LANES t[l] = (s[l] & keep) ^ flip;
}

static bool is_f16(uint8_t type)
{
    return type == EMU_T_F16 || type == EMU_T_PK_F16;
}

/* MODE says that denormals of this type are flushed: bit 0 lets inputs through, bit 1 outputs. */
static bool flushes(const struct emu_wave *w, uint8_t type, unsigned bit)
{
    if (!(w->attention & EMU_A_MODE))
        return false;
    if (type == EMU_T_F32 || type == EMU_T_PK_F32 || type == EMU_T_MIX)
        return !(w->mode >> (4 + bit) & 1);
    if (is_f16(type) || type == EMU_T_F64)
        return !(w->mode >> (6 + bit) & 1);
    return false;
}

static void flush(uint32_t *t, const uint32_t *s, uint8_t type)
{
    if (type == EMU_T_F64)
        FOR_LANES
        {
            uint32_t lo = s[l], hi = s[l + W];
            bool tiny = !(hi & 0x7ff00000);

            t[l] = tiny ? 0 : lo;
            t[l + W] = tiny ? hi & 0x80000000 : hi;
        }
    else if (type == EMU_T_PK_F16)
        FOR_LANES t[l] =
            s[l] & (s[l] & 0x7c00 ? ~0u : 0xffff8000) & (s[l] & 0x7c000000 ? ~0u : 0x8000ffff);
    else if (type == EMU_T_F16)
        FOR_LANES t[l] = s[l] & (s[l] & 0x7c00 ? ~0u : 0xffff8000);
    else
        FOR_LANES t[l] = s[l] & 0x7f800000 ? s[l] : s[l] & 0x80000000;
}

/* Outside IEEE mode a signalling NaN counts as a quiet one. */
static void quiet(uint32_t *t, const uint32_t *s, uint8_t type)
{
    if (type == EMU_T_F64)
        FOR_LANES
        {
            uint32_t lo = s[l], hi = s[l + W];

            t[l] = lo;
            t[l + W] = (uint32_t)(quiet64(lo | (uint64_t)hi << 32) >> 32);
        }
    else if (type == EMU_T_PK_F16)
        FOR_LANES t[l] = pack16(quiet16(s[l] & 0xffff), quiet16(s[l] >> 16));
    else if (type == EMU_T_F16)
        FOR_LANES t[l] = quiet16(s[l]);
    else
        FOR_LANES t[l] = quiet32(s[l]);
}

/* What MODE does to a source of a floating-point operation; returns where the source is now. */
static const uint32_t *apply_mode(const struct emu_wave *w, const struct emu_op *op, uint32_t *t,
                                  const uint32_t *s, uint8_t type)
{
    bool number = type == EMU_T_F32 || type == EMU_T_F64 || is_f16(type);

    if (!(op->effects & EMU_E_FLOAT))
        return s;
    if (flushes(w, type, 0)) {
        flush(t, s, type);
        s = t;
    }
    if (w->attention & EMU_A_MODE && number && !(w->mode >> 9 & 1)) {
        quiet(t, s, type);
        s = t;
    }
    return s;
}

static void sign_modifiers(uint32_t *t, const uint32_t *s, const struct emu_operand *o)
{
    bool wide = o->dwords == 2;
    uint32_t sign = o->type == EMU_T_F16 || o->type == EMU_T_B16 || o->type == EMU_T_I16 ||
                            o->type == EMU_T_BF16
                        ? 0x8000
                        : 0x80000000;
    uint32_t keep = o->flags & EMU_OPF_ABS ? ~sign : ~0u;
    uint32_t flip = o->flags & EMU_OPF_NEG ? sign : 0;

    if (wide) {
        FOR_LANES t[l] = s[l];
        t += W;
        s += W;
    }
    FOR_LANES t[l] = (s[l] & keep) ^ flip;
}

/* What 8-bit floats are summed onto (gfx12) has its sign where packed sources have theirs. */
static void sum_modifiers(uint32_t *t, const uint32_t *s, const struct emu_insn *insn, unsigned i)
{
    const uint32_t keep = insn->neg_hi >> i & 1 ? 0x7fffffff : ~0u;
    const uint32_t flip = insn->neg_lo >> i & 1 ? 0x80000000 : 0;

    FOR_LANES t[l] = (s[l] & keep) ^ flip;
}

/* One source through all its modifiers; t is room for two rows. */
static const uint32_t *modify_source(struct emu_wave *w, const struct emu_op *op, unsigned i,
                                     uint32_t *t, const struct emu_permute *dpp, uint64_t live)
{
    const struct emu_insn *insn = op->insn;
    const struct emu_operand *o = &insn->src[i];
    const uint32_t *s = row(w, op->s[i]);

    if (o->kind == EMU_OPK_NONE || o->type == EMU_T_MASK)
        return s;
    if (dpp && i == 0) {
        permute_lanes(t, s, dpp, live);
        if (o->dwords == 2)
            permute_lanes(t + W, s + W, dpp, live);
        s = t;
    }
    if (o->flags & EMU_OPF_BYTE ||
        (insn->ext == EMU_EXT_SDWA && o->sel != EMU_SDWA_DWORD && !(o->flags & EMU_OPF_IMPLICIT))) {
        select_sdwa(t, s, o);
        s = t;
    }
    if (op->flags & EMU_B_PACKED && o->type >= EMU_T_PK_I16 && o->type <= EMU_T_PK_BF16) {
        s = apply_mode(w, op, t, s, o->type);
        select_packed(t, s, insn, i);
        return t;
    }
    if (o->flags & EMU_OPF_HI) {
        FOR_LANES t[l] = s[l] >> 16;
        s = t;
    }
    if (o->type == EMU_T_MIX) {
        select_mix(t, s, insn, i);
        s = t;
    }
    s = apply_mode(w, op, t, s, o->type);
    if (op->flags & EMU_B_PACKED && o->type == EMU_T_F32 && insn->src[0].type == EMU_T_B32) {
        sum_modifiers(t, s, insn, i);
        s = t;
    }
    if (o->flags & (EMU_OPF_NEG | EMU_OPF_ABS)) {
        sign_modifiers(t, s, o);
        s = t;
    }
    return s;
}

/*
 * Fetches all sources; returns the lanes to write. Those that op->imm does not name have nothing
 * to be done for them while MODE is as usual.
 */
static uint64_t modify_sources(struct emu_wave *w, const struct emu_op *op, const uint32_t *s[4])
{
    const struct emu_permute *dpp = NULL;
    uint64_t m = op->flags & EMU_B_ALL_LANES ? FULL : exec(w), live = 0, write = m;
    uint32_t *t = row(w, emu_program_of(w)->row_temp + 4);
    unsigned some = w->attention & EMU_A_MODE ? 15 : (unsigned)op->imm;

    if (op->nsplat)
        splat(w, op);
    if (op->insn->ext == EMU_EXT_DPP16 || op->insn->ext == EMU_EXT_DPP8) {
        dpp = &emu_program_of(w)->permutes[op->target];
        live = live_sources(dpp, m);
        write &= dpp->rows & (dpp->zero ? ~UINT64_C(0) : live);
    }
    for (unsigned i = 0; i < 4; i++)
        s[i] = some >> i & 1 ? modify_source(w, op, i, t + 2 * i * W, dpp, live) : row(w, op->s[i]);
    return write;
}
