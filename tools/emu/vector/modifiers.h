/*
 * Wrappers for everything that a plain row does not do: modified sources (source_modifiers.h),
 * halves, omod, clamp, MODE, the two halves of v_pk_*_f32, and s_set_gpr_idx. Part of the lane
 * template, behind that file.
 */

static float clamp_f32(float x, bool nan_is_zero)
{
    float r = x > 0 ? x : 0.0f;

    r = r < 1 ? r : 1.0f;
    return x == x || nan_is_zero ? r : x;
}

/* What omod leaves: no denormals, no -0. */
static float scaled(float x, float k)
{
    float r = x * k;

    return k == 1 || fabsf(r) >= 0x1p-126f || r != r ? r : 0.0f;
}

/* omod works only while output denormals are flushed and IEEE is off; it also flushes them. */
static void modify_result(struct emu_wave *w, const struct emu_op *op, uint32_t *t)
{
    static const float factor[4] = {1, 2, 4, 0.5f};
    const struct emu_insn *insn = op->insn;
    uint8_t type = insn->dst[0].type;
    bool zero_nan, out;
    float k;

    if (!(w->attention & EMU_A_MODE) && !insn->clamp)
        return;
    zero_nan = w->mode >> 8 & 1;
    out = flushes(w, type, 1);
    k = insn->omod && out && !(w->mode >> 9 & 1) ? factor[insn->omod] : 1;

    if (out && type != EMU_T_MIX)
        flush(t, t, type);
    if (k == 1 && !insn->clamp)
        return;
    switch (type) {
    case EMU_T_F32:
    case EMU_T_PK_F32:
        FOR_EACH_LANE
        {
            float x = scaled(as_f32(t[l]), k);

            t[l] = f32_bits(insn->clamp ? clamp_f32(x, zero_nan) : x);
        }
        break;
    case EMU_T_F16:
        FOR_EACH_LANE
        {
            float x = f16_f32(t[l] & 0xffff) * k;

            t[l] = f32_f16(insn->clamp ? clamp_f32(x, zero_nan) : x);
        }
        break;
    case EMU_T_PK_F16:
        FOR_EACH_LANE t[l] = pack16(f32_f16(clamp_f32(f16_f32(t[l] & 0xffff), zero_nan)),
                                    f32_f16(clamp_f32(f16_f32(t[l] >> 16), zero_nan)));
        break;
    case EMU_T_F64:
        FOR_EACH_LANE
        {
            double x = as_f64(t[l] | (uint64_t)t[l + W] << 32) * (double)k;
            uint64_t u;

            x = k == 1 || fabs(x) >= 0x1p-1022 || x != x ? x : 0.0;
            if (insn->clamp && (x == x || zero_nan))
                x = x > 0 ? x < 1 ? x : 1 : 0;
            u = f64_bits(x);
            t[l] = (uint32_t)u;
            t[l + W] = (uint32_t)(u >> 32);
        }
        break;
    default:
        break;
    }
}

static bool is_partial(const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;

    return op->flags & EMU_B_KEEP_HALF ||
           (insn->ext == EMU_EXT_SDWA && insn->dst_sel != EMU_SDWA_DWORD);
}

/* The whole dwords of D0 with a partial result t in its place; out may be t or d. */
static void place_result(const struct emu_op *op, uint32_t *out, const uint32_t *t,
                         const uint32_t *d)
{
    const struct emu_insn *insn = op->insn;

    if (insn->ext == EMU_EXT_SDWA && insn->dst_sel != EMU_SDWA_DWORD) {
        bool is_byte = insn->dst_sel <= EMU_SDWA_BYTE_3;
        unsigned shift = is_byte ? 8 * insn->dst_sel : 16 * (insn->dst_sel - EMU_SDWA_WORD_0);
        uint32_t field = (is_byte ? 0xffu : 0xffffu) << shift, sign = field & ~(field >> 1);

        FOR_EACH_LANE
        {
            uint32_t x = t[l] << shift & field;

            if (insn->dst_unused == EMU_SDWA_PRESERVE)
                x |= d[l] & ~field;
            else if (insn->dst_unused == EMU_SDWA_SEXT && x & sign)
                x |= ~field & ~(sign - 1);
            out[l] = x;
        }
    } else if (insn->enc == EMU_VOP3 && (op->flags & EMU_B_KEEP_BYTES) == EMU_B_KEEP_BYTES) {
        unsigned shift = 8 * (insn->op_sel >> 2 & 3);

        FOR_LANES out[l] = (d[l] & ~(0xffu << shift)) | (t[l] & 0xff) << shift;
    } else if (op->flags & EMU_B_KEEP_HALF) {
        if (op->flags & EMU_B_DST_HI)
            FOR_LANES out[l] = (d[l] & 0xffff) | t[l] << 16;
        else
            FOR_LANES out[l] = (d[l] & 0xffff0000) | (t[l] & 0xffff);
    }
}

/* gfx9 outside IEEE mode: where all sources are NaN the last one comes out as it is, not quieted.
 */
static void keep_signalling(struct emu_wave *w, const struct emu_op *op, uint32_t *t)
{
    struct emu_op raw = *op;
    uint8_t type = op->insn->dst[0].type;
    const uint32_t *s;

    if (!(w->attention & EMU_A_MODE) || w->mode >> 9 & 1 || op->insn->family >= EMU_GFX11)
        return;
    raw.effects = 0;
    s = modify_source(w, &raw, op->insn->nsrc - 1u, row(w, emu_program_of(w)->row_temp + 12), NULL,
                      0);
    FOR_EACH_LANE
    {
        uint32_t last = s[l], high = 0xffff0000;

        if (type == EMU_T_F64) {
            bool nan = nan64(t[l] | (uint64_t)t[l + W] << 32);

            t[l] = nan ? last : t[l];
            t[l + W] = nan ? s[l + W] : t[l + W];
        } else if (type == EMU_T_F32) {
            t[l] = nan32(t[l]) ? last : t[l];
        } else {
            t[l] = nan16(t[l] & 0xffff) ? (t[l] & high) | (last & 0xffff) : t[l];
            if (type == EMU_T_PK_F16)
                t[l] = nan16(t[l] >> 16) ? (t[l] & 0xffff) | (last & high) : t[l];
        }
    }
}

static void modified_rows(struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *s[4];
    uint64_t write = modify_sources(w, op, s);
    bool partial = is_partial(op), whole = write == FULL;
    uint32_t *d = row(w, op->d[0]);
    uint32_t *t = whole && !partial ? d : row(w, emu_program_of(w)->row_temp);

    op->row(t, NULL, s[0], s[1], s[2], s[3]);
    if (op->effects & EMU_E_EXTREMUM)
        keep_signalling(w, op, t);
    modify_result(w, op, t);
    if (partial)
        place_result(op, whole ? d : t, t, d);
    if (whole)
        return;
    blend(d, t, exec_row(w, write));
    if (op->flags & EMU_B_WIDE)
        blend(d + W, t + W, exec_row(w, write));
}

#ifdef EMU_V4
static emu_rowfn fma_half; /* lanes.h */

/* The same, put into place at once. */
static void fma_half_into(uint32_t *d, bool high, const uint32_t *s0, const uint32_t *s1,
                          const uint32_t *s2)
{
    const __m512i keep = _mm512_set1_epi32(high ? 0xffff : (int)0xffff0000);
    const __m128i shift = _mm_cvtsi32_si128(high ? 16 : 0);

    for (unsigned l = 0; l < W; l += 16) {
        __m512 x = _mm512_fmadd_ps(_mm512_loadu_ps(s0 + l), _mm512_loadu_ps(s1 + l),
                                   _mm512_loadu_ps(s2 + l));
        __m512i h = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION));
        __m512i old = _mm512_and_si512(_mm512_loadu_si512(d + l), keep);

        _mm512_storeu_si512(d + l, _mm512_or_si512(old, _mm512_sll_epi32(h, shift)));
    }
}
#endif

static void half_rows(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *t = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);

    if (w->attention & EMU_A_MODE || exec(w) != FULL) {
        modified_rows(w, op);
        return;
    }
    if (op->nsplat)
        splat(w, op);
#ifdef EMU_V4
    if (op->row == fma_half) {
        fma_half_into(d, op->flags & EMU_B_DST_HI, row(w, op->s[0]), row(w, op->s[1]),
                      row(w, op->s[2]));
        return;
    }
#endif
    op->row(t, NULL, SOURCES);
    if (op->flags & EMU_B_DST_HI)
        FOR_LANES d[l] = (d[l] & 0xffff) | t[l] << 16;
    else
        FOR_LANES d[l] = (d[l] & 0xffff0000) | (t[l] & 0xffff);
}

static void modified_cmp(struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *s[4];
    uint64_t m = modify_sources(w, op, s);
    uint32_t *t = row(w, emu_program_of(w)->row_temp);

    op->row(t, NULL, s[0], s[1], s[2], s[3]);
    m &= pack(t);
    set_mask_operand(w, op->d[0], m);
    if (op->d[1] != EMU_NO_ROW)
        set_mask_operand(w, op->d[1], m);
}

static void modified_carry(struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *s[4];
    uint64_t write = modify_sources(w, op, s);
    uint32_t *t = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);
    const uint32_t *lanes = exec_row(w, write);
    uint32_t *carry = t + 2 * W;

    op->row(t, carry, s[0], s[1], s[2], s[3]);
    modify_result(w, op, t);
    if (is_partial(op))
        place_result(op, t, t, d);
    blend(d, t, lanes);
    if (op->flags & EMU_B_WIDE)
        blend(d + W, t + W, lanes);
    set_mask_operand(w, op->d[1], pack(carry) & write);
}

/* The dword of source i that a half of v_pk_*_f32 takes. */
static inline const uint32_t *dword(const struct emu_wave *w, const struct emu_op *op, unsigned i,
                                    unsigned sel)
{
    return row(w, op->s[i]) + (sel >> i & 1 ? W : 0);
}

/* v_pk_*_f32: op_sel picks the dword for the low result, op_sel_hi for the high one. */
static void pair_rows(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    uint32_t *temp = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);
    uint64_t m = exec(w);
    bool direct = m == FULL && op->flags & EMU_B_NO_ALIAS;

    if (op->nsplat)
        splat(w, op);
    if (direct && !op->imm && !(w->attention & EMU_A_MODE)) {
        for (unsigned half = 0; half < 2; half++) {
            unsigned sel = half ? insn->op_sel_hi : insn->op_sel;
            const uint32_t *s2 = dword(w, op, 2, sel); /* rows of poison read four sources */

            op->row(d + half * W, NULL, dword(w, op, 0, sel), dword(w, op, 1, sel), s2, s2);
        }
        return;
    }
    for (unsigned half = 0; half < 2; half++) {
        unsigned sel = half ? insn->op_sel_hi : insn->op_sel,
                 neg = half ? insn->neg_hi : insn->neg_lo;
        uint32_t *out = direct ? d + half * W : temp + half * W;
        const uint32_t *s[3];

        for (unsigned i = 0; i < 3; i++) {
            s[i] = dword(w, op, i, sel);
            if (i >= insn->nsrc || insn->src[i].type != EMU_T_PK_F32)
                continue;
            if (flushes(w, EMU_T_F32, 0)) {
                flush(temp + (4 + i) * W, s[i], EMU_T_F32);
                s[i] = temp + (4 + i) * W;
            }
            if (neg >> i & 1) {
                uint32_t *t = temp + (4 + i) * W;
                const uint32_t *x = s[i];

                FOR_LANES t[l] = x[l] ^ 0x80000000;
                s[i] = t;
            }
        }
        op->row(out, NULL, s[0], s[1], s[2], s[2]);
        modify_result(w, op, out);
    }
    if (!direct) {
        blend(d, temp, exec_row(w, m));
        blend(d + W, temp + W, exec_row(w, m));
    }
}

/* v_pk_mov_b32: each result dword is any dword of one source. */
static void pair_moves(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    uint32_t *t = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);
    const uint32_t *lanes = exec_row(w, exec(w));

    if (op->nsplat)
        splat(w, op);
    memcpy(t, row(w, op->s[0]) + (insn->op_sel & 1 ? W : 0), W * sizeof *t);
    memcpy(t + W, row(w, op->s[1]) + (insn->op_sel & 2 ? W : 0), W * sizeof *t);
    blend(d, t, lanes);
    blend(d + W, t + W, lanes);
}

/* s_set_gpr_idx_on: M0[7:0] is added to the VGPR numbers of the operands that M0[15:12] enables. */
static void indexed_rows(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_op moved = *op;
    const struct emu_insn *insn = op->insn;
    unsigned index = w->s[EMU_S_M0] & 0xff, enabled = w->s[EMU_S_M0] >> 12;
    unsigned limit = w->group->kernel->vgprs;

    for (unsigned i = 0; i < 3; i++)
        if (enabled >> i & 1 && insn->src[i].kind == EMU_OPK_VGPR) {
            moved.s[i] = (uint16_t)(moved.s[i] + index);
            if (moved.s[i] + insn->src[i].dwords > limit)
                emu_fault(w, 0,
                          "indexed source v[%u + %u] is beyond the %u registers of the kernel",
                          op->s[i], index, limit);
        }
    if (enabled & 8 && insn->dst[0].kind == EMU_OPK_VGPR) {
        moved.d[0] = (uint16_t)(moved.d[0] + index);
        if (moved.d[0] + insn->dst[0].dwords > limit)
            emu_fault(w, 0,
                      "indexed destination v[%u + %u] is beyond the %u registers of the kernel",
                      op->d[0], index, limit);
    }
    if (w->attention & EMU_A_MODE && op->flags & EMU_B_MODE)
        emu_run_mode(w, &moved);
    else
        moved.fn(w, &moved);
}
