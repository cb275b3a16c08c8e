/*
 * A vector ALU instruction on a whole wave: operand fetch, DPP, SDWA, input and output modifiers,
 * EXEC, and the rules for the part of a register that is not written.
 */
#include <string.h>

#include "oracle.h"

static bool active(const struct oracle_wave *w, unsigned lane)
{
    return w->exec >> lane & 1;
}

void oracle_wave_strict(struct oracle_wave *w)
{
    memset(w->v_mask, 0xff, sizeof w->v_mask);
    memset(w->s_mask, 0xff, sizeof w->s_mask);
    memcpy(w->v_alt, w->v, sizeof w->v_alt);
    memcpy(w->s_alt, w->s, sizeof w->s_alt);
    w->vcc_mask = ~UINT64_C(0);
    w->scc_mask = ~0u;
}

static uint64_t read_scalar(const struct oracle_wave *w, const struct oracle_operand *o,
                            unsigned bits)
{
    uint64_t lo = 0, hi = 0;

    switch (o->place) {
    case P_SGPR:
        lo = w->s[o->reg];
        hi = bits > 32 ? w->s[o->reg + 1] : 0;
        break;
    case P_VCC:
        return bits > 32 ? w->vcc : (uint32_t)w->vcc;
    case P_EXEC:
        return bits > 32 ? w->exec : (uint32_t)w->exec;
    case P_M0:
        return w->m0;
    case P_SCC:
        return w->scc;
    case P_CONST:
        return o->value;
    default:
        return 0;
    }
    return lo | hi << 32;
}

static uint64_t read_lane(const struct oracle_wave *w, const struct oracle_operand *o,
                          unsigned lane, unsigned bits)
{
    if (o->place == P_VGPR)
        return w->v[o->reg][lane] | (bits > 32 ? (uint64_t)w->v[o->reg + 1][lane] << 32 : 0);
    return read_scalar(w, o, bits);
}

/* A lane mask operand: VCC or one or two SGPRs. */
static uint64_t read_mask(const struct oracle_wave *w, const struct oracle_operand *o)
{
    return read_scalar(w, o, oracle_machines[w->target].lanes == 64 ? 64 : 32);
}

static void write_mask(struct oracle_wave *w, const struct oracle_operand *o, uint64_t value,
                       uint64_t known)
{
    bool wide = oracle_machines[w->target].lanes == 64;

    if (o->place == P_VCC) {
        w->vcc = value;
        w->vcc_mask = known;
    } else if (o->place == P_SGPR) {
        w->s[o->reg] = w->s_alt[o->reg] = (uint32_t)value;
        w->s_mask[o->reg] = (uint32_t)known;
        if (wide) {
            w->s[o->reg + 1] = w->s_alt[o->reg + 1] = (uint32_t)(value >> 32);
            w->s_mask[o->reg + 1] = (uint32_t)(known >> 32);
        }
    }
}

int oracle_dpp_source(const struct oracle_insn *i, unsigned lanes, unsigned lane)
{
    int l = (int)lane, row = l & ~15, in = l & 15, n = (int)(i->dpp_ctrl & 15);
    unsigned c = i->dpp_ctrl;

    if (i->ext == X_DPP8)
        return (l & ~7) + i->dpp8[l & 7];
    if (c < 0x100) /* quad_perm */
        return (l & ~3) + (int)(c >> 2 * (l & 3) & 3);
    if (c > 0x100 && c < 0x110) /* row_shl: from the lane n above */
        return in + n < 16 ? l + n : -1;
    if (c > 0x110 && c < 0x120) /* row_shr */
        return in - n >= 0 ? l - n : -1;
    if (c > 0x120 && c < 0x130) /* row_ror */
        return row + ((in - n) & 15);
    switch (c) {
    case 0x130: /* wave_shl */
        return l + 1 < (int)lanes ? l + 1 : -1;
    case 0x134: /* wave_rol */
        return (l + 1) % (int)lanes;
    case 0x138: /* wave_shr */
        return l - 1;
    case 0x13c: /* wave_ror */
        return (l + (int)lanes - 1) % (int)lanes;
    case 0x140: /* row_mirror */
        return row + 15 - in;
    case 0x141: /* row_half_mirror */
        return (l & ~7) + 7 - (l & 7);
    case 0x142: /* row_bcast15: lane 15 of a row to the next row */
        return row ? row - 1 : -1;
    case 0x143: /* row_bcast31: lane 31 to rows 2 and 3 */
        return l >= 32 ? 31 : -1;
    }
    if (c >= 0x150 && c < 0x160) /* row_newbcast on gfx90a, row_share on gfx11 */
        return row + n;
    if (c >= 0x160 && c < 0x170) /* row_xmask */
        return row + (in ^ n);
    return -1;
}

/* Fetches source 0 through DPP. Returns false when the lane must not be written. */
static bool fetch_dpp(const struct oracle_insn *i, const struct oracle_wave *w, unsigned lane,
                      unsigned bits, uint64_t *value, bool *open)
{
    unsigned lanes = oracle_machines[w->target].lanes;
    int from = oracle_dpp_source(i, lanes, lane);

    if (i->ext == X_DPP16 &&
        (!(i->row_mask >> (lane / 16) & 1) || !(i->bank_mask >> (lane % 16 / 4) & 1)))
        return false;
    *value = 0;
    if (from >= 0 && (active(w, (unsigned)from) || i->fetch_inactive)) {
        *value = read_lane(w, &i->s[0], (unsigned)from, bits);
        return true;
    }
    if (i->ext == X_DPP8) /* an inactive source: zero, or the lane is not written */
        *open = true;
    return i->bound_ctrl || i->ext == X_DPP8;
}

static uint64_t sdwa_select(uint64_t v, enum oracle_sel sel, bool sext)
{
    unsigned bits = sel == DWORD ? 32 : sel >= WORD_0 ? 16 : 8;
    unsigned at = sel == DWORD ? 0 : sel >= WORD_0 ? 16 * (sel - WORD_0) : 8 * sel;
    uint64_t field = v >> at & ((UINT64_C(1) << bits) - 1);

    return sext ? (uint32_t)((int64_t)(field << (64 - bits)) >> (64 - bits)) : field;
}

static uint64_t modified(char type, unsigned flags, uint64_t v, bool neg, bool abs)
{
    const struct sf_format *f = oracle_format(type);
    uint64_t sign;

    if (!f && flags & F_FMODS)
        f = type == 'x' ? &sf_f16 : &sf_f32;
    if (!f)
        return v;
    sign = UINT64_C(1) << (f->exp_bits + f->frac_bits);
    v = abs ? v & ~sign : v;
    return neg ? v ^ sign : v;
}

static uint64_t output_modifiers(const struct oracle_insn *i, uint32_t mode,
                                 const struct sf_format *f, uint64_t v)
{
    struct sf_env env = oracle_env(mode, f);
    static const int scale[] = {0, 1, 2, -1};
    struct sf a = sf_unpack(f, v);
    uint64_t one;

    /* omod is ignored in IEEE mode and where output denormals are kept; it turns -0 into +0 */
    if (i->omod && !(mode & MODE_IEEE) && !env.denorm_out) {
        a = sf_scale(a, scale[i->omod]);
        if (a.cls == SF_IS_ZERO)
            a.sign = false;
        v = sf_pack(f, a, &env);
        a = sf_unpack(f, v);
        if (a.cls == SF_IS_ZERO)
            v = 0;
    }
    if (!i->clamp)
        return v;
    if (a.cls == SF_IS_NAN)
        return mode & MODE_DX10_CLAMP ? 0 : v;
    one = sf_pack(f, sf_from_int(1), &env);
    if (a.sign)
        return 0;
    return sf_compare(a, sf_from_int(1)) > 0 ? one : v;
}

/* The bits of a NaN that count when its payload is not documented: exponent and quiet bit. */
static uint64_t nan_mask(const struct sf_format *f)
{
    return ((UINT64_C(2) << f->exp_bits) - 1) << (f->frac_bits - 1);
}

struct outcome {
    uint64_t d, d_hi, alt, mask;
    bool carry, has_alt;
    unsigned open;
};

static void run_lane(const struct oracle_insn *i, const struct oracle_wave *w, unsigned lane,
                     const uint64_t *src, uint64_t src_hi, uint64_t old, unsigned half,
                     struct outcome *o)
{
    const struct oracle_op *op = i->op;
    char type = op->sig[0];
    const struct sf_format *f = oracle_format(type);
    struct oracle_lane x = {.target = w->target,
                            .gfx11 = oracle_machines[w->target].gfx11,
                            .lane = lane,
                            .mode = w->mode,
                            .half = half,
                            .s_hi = src_hi,
                            .old = old,
                            .clamp = i->clamp,
                            .op_is_signed = type == 'i' || type == 's',
                            .opsel = i->opsel,
                            .opsel_hi = i->opsel_hi,
                            .neg_lo = i->neg_lo,
                            .neg_hi = i->neg_hi};

    memcpy(x.s, src, sizeof x.s);
    op->lane(&x);
    *o = (struct outcome){x.d, x.d_hi, x.alt, ~UINT64_C(0), x.carry, x.has_alt, x.open};
    if (!f)
        return;
    if (x.any_nan && sf_is_nan_bits(f, o->d)) { /* quiet in IEEE mode only */
        o->mask = nan_mask(f);
        if (!(w->mode & MODE_IEEE))
            o->mask &= o->mask - 1;
        if (i->clamp && w->mode & MODE_DX10_CLAMP)
            o->d = 0;
        return;
    }
    if (type == 'F' || type == 'Y') { /* two results side by side */
        unsigned n = type == 'F' ? 32 : 16;

        for (unsigned h = 0; h < 2; h++)
            if (op->flags & F_NAN && sf_is_nan_bits(f, o->d >> h * n & ((UINT64_C(1) << n) - 1)))
                o->mask ^= (((UINT64_C(1) << n) - 1) & ~nan_mask(f)) << h * n;
        return;
    }
    if (!(op->flags & (F_NOMODS | F_NOCLAMP))) {
        o->d = output_modifiers(i, w->mode, f, o->d);
        o->alt = output_modifiers(i, w->mode, f, o->alt);
    }
    if (op->flags & F_NAN && sf_is_nan_bits(f, o->d))
        o->mask = nan_mask(f);
}

/* Writes n bits at `at` of one register of the result. */
static void put(struct oracle_wave *r, unsigned reg, unsigned lane, unsigned at, unsigned n,
                const struct outcome *o)
{
    uint32_t field = (uint32_t)(((UINT64_C(1) << n) - 1) << at);
    uint32_t keep = ~field;
    uint64_t alt = o->has_alt ? o->alt : o->d;

    r->v[reg][lane] = (r->v[reg][lane] & keep) | ((uint32_t)(o->d << at) & field);
    r->v_alt[reg][lane] = (r->v_alt[reg][lane] & keep) | ((uint32_t)(alt << at) & field);
    r->v_mask[reg][lane] &= keep | (o->open & 1 ? 0 : (uint32_t)(o->mask << at) & field);
}

static void write_sdwa(const struct oracle_insn *i, struct oracle_wave *r, unsigned lane,
                       const struct outcome *o)
{
    unsigned n = i->dst_sel == DWORD ? 32 : i->dst_sel >= WORD_0 ? 16 : 8;
    unsigned at = i->dst_sel == DWORD    ? 0
                  : i->dst_sel >= WORD_0 ? 16 * (i->dst_sel - WORD_0)
                                         : 8 * i->dst_sel;
    uint32_t *v = &r->v[i->d[0].reg][lane], *alt = &r->v_alt[i->d[0].reg][lane];

    if (i->unused != UNUSED_PRESERVE && n < 32) {
        bool sign = i->unused == UNUSED_SEXT && o->d >> (n - 1) & 1;
        uint32_t above = at + n < 32 ? ~0u << (at + n) : 0;

        *v = sign ? above : 0;
        sign = i->unused == UNUSED_SEXT && (o->has_alt ? o->alt : o->d) >> (n - 1) & 1;
        *alt = sign ? above : 0;
        if (o->open & 1 || o->mask != ~UINT64_C(0))
            r->v_mask[i->d[0].reg][lane] &= ~above;
    }
    put(r, i->d[0].reg, lane, at, n, o);
}

static void write_lane(const struct oracle_insn *i, struct oracle_wave *r, unsigned lane,
                       const struct outcome *o)
{
    unsigned bits = oracle_bits(i->op->sig[0]), reg = i->d[0].reg, flags = i->op->flags;
    struct outcome hi = *o;
    bool gfx11 = oracle_machines[r->target].gfx11;

    if (bits >= 64) {
        put(r, reg, lane, 0, 32, o);
        hi.d >>= 32;
        hi.alt >>= 32;
        hi.mask >>= 32;
        put(r, reg + 1, lane, 0, 32, &hi);
        if (bits == 128) {
            hi.d = o->d_hi;
            hi.has_alt = false;
            put(r, reg + 2, lane, 0, 32, &hi);
            hi.d >>= 32;
            put(r, reg + 3, lane, 0, 32, &hi);
        }
    } else if (bits == 32) {
        put(r, reg, lane, 0, 32, o);
    } else if (bits == 8) {
        put(r, reg, lane, (i->opsel >> 2 & 3) * 8, 8, o);
    } else if (i->opsel & 8 || flags & F_KEEPLO) {
        put(r, reg, lane, 16, 16, o);
    } else {
        if (!gfx11 && !(flags & F_KEEPHI)) {
            uint32_t was = r->v[reg][lane];

            r->v[reg][lane] &= 0xffff;
            r->v_alt[reg][lane] &= 0xffff;
            put(r, reg, lane, 0, 16, o);
            if (flags & F_OPENHI) { /* zeroed, or kept: silicon and manuals differ */
                if (o->has_alt && o->alt != o->d)
                    r->v_mask[reg][lane] &= 0xffff;
                else
                    r->v_alt[reg][lane] |= was & 0xffff0000;
            }
            return;
        }
        put(r, reg, lane, 0, 16, o);
    }
}

/* Gathers the sources of a lane. Returns false when DPP forbids the write. */
static bool gather(const struct oracle_insn *i, const struct oracle_wave *w, unsigned lane,
                   uint64_t *src, uint64_t *src_hi, bool *open)
{
    const char *types = strchr(i->op->sig, ':') + 1;
    size_t n = strlen(types);

    memset(src, 0, 4 * sizeof *src);
    *src_hi = 0;
    for (size_t k = 0; k < n; k++) {
        unsigned bits = oracle_bits(types[k]);

        if (types[k] == 'm') {
            src[k] = read_mask(w, &i->s[k]) >> lane & 1;
            continue;
        }
        if (k == 0 && (i->ext == X_DPP16 || i->ext == X_DPP8)) {
            if (!fetch_dpp(i, w, lane, bits, &src[0], open))
                return false;
        } else {
            src[k] = read_lane(w, &i->s[k], lane, bits);
        }
        if (bits == 128) {
            *src_hi = w->v[i->s[k].reg + 2][lane] | (uint64_t)w->v[i->s[k].reg + 3][lane] << 32;
        }
        if ((i->ext == X_SDWA || i->op->flags & F_BYTESEL) && k < 2)
            src[k] = sdwa_select(src[k], i->sel[k], i->sext[k]);
        if (bits == 16 && i->op->kind != PK) {
            if (i->opsel >> k & 1 && i->s[k].place != P_CONST)
                src[k] >>= 16;
            src[k] &= 0xffff;
        }
        src[k] = modified(types[k], i->op->flags, src[k], i->neg >> k & 1, i->abs >> k & 1);
        if (bits <= 32 && i->op->kind != PK)
            src[k] &= 0xffffffff;
    }
    if (i->op->flags & F_VCC)
        src[3] = w->vcc >> lane & 1;
    return true;
}

static uint64_t old_destination(const struct oracle_insn *i, const struct oracle_wave *w,
                                unsigned lane)
{
    unsigned bits = oracle_bits(i->op->sig[0]);
    uint64_t old = w->v[i->d[0].reg][lane];

    if (bits == 64)
        old |= (uint64_t)w->v[i->d[0].reg + 1][lane] << 32;
    if (bits == 16) /* op_sel[3] of a multiply-accumulate chooses the half to accumulate on */
        old = i->opsel & 8 ? old >> 16 : old & 0xffff;
    return old;
}

/* Packed: the low result takes the halves that op_sel names, the high result those of op_sel_hi. */
static void run_packed(const struct oracle_insn *i, const struct oracle_wave *w,
                       struct oracle_wave *r, unsigned lane)
{
    const char *types = strchr(i->op->sig, ':') + 1;
    unsigned n = oracle_bits(i->op->sig[0]);
    struct outcome o;

    for (unsigned half = 0; half < 2; half++) {
        uint64_t src[4] = {0};

        for (size_t k = 0; k < strlen(types); k++) {
            uint64_t whole = read_lane(w, &i->s[k], lane, 2 * n);
            unsigned pick = (half ? i->opsel_hi : i->opsel) >> k & 1;
            bool neg = (half ? i->neg_hi : i->neg_lo) >> k & 1;

            if (i->op->flags & F_PKMOV)
                pick = i->opsel >> k & 1;
            if (n == 32 && i->s[k].place == P_CONST)
                pick = 0; /* a 32-bit constant serves both halves */
            src[k] = whole >> pick * n & ((UINT64_C(1) << n) - 1);
            src[k] = modified(types[k], 0, src[k], neg, false);
        }
        run_lane(i, w, lane, src, 0, 0, half, &o);
        put(r, i->d[0].reg + (n == 32 ? half : 0), lane, n == 32 ? 0 : half * 16, n, &o);
    }
}

void oracle_run_valu(const struct oracle_insn *i, const struct oracle_wave *before,
                     struct oracle_wave *after)
{
    const struct oracle_wave *w = before;
    struct oracle_wave *r = after;
    unsigned lanes = oracle_machines[w->target].lanes;
    bool has_carry = i->op->sig[1] == 'm', is_compare = i->op->sig[0] == 'm';
    uint64_t mask = 0, known = ~UINT64_C(0);

    *r = *before;
    oracle_wave_strict(r);
    for (unsigned lane = 0; lane < lanes; lane++) {
        uint64_t src[4], src_hi;
        struct outcome o;
        bool open = false;

        if (!active(w, lane))
            continue;
        if (i->op->kind == PK) {
            run_packed(i, w, r, lane);
            continue;
        }
        if (!gather(i, w, lane, src, &src_hi, &open))
            continue;
        run_lane(i, w, lane, src, src_hi, is_compare ? 0 : old_destination(i, w, lane), 0, &o);
        if (open)
            o.open = 3;
        mask |= (uint64_t)o.carry << lane;
        if (o.open & 2)
            known &= ~(UINT64_C(1) << lane);
        if (is_compare)
            continue;
        if (i->ext == X_SDWA && !(i->op->flags & (F_SDWABYTE | F_SDWAWORD)))
            write_sdwa(i, r, lane, &o);
        else
            write_lane(i, r, lane, &o);
        if (i->op->flags & F_SWAP)
            r->v[i->s[0].reg][lane] = r->v_alt[i->s[0].reg][lane] = w->v[i->d[0].reg][lane];
    }
    if (has_carry)
        write_mask(r, &i->d[1], mask, known);
    if (is_compare && !(i->is_cmpx && oracle_machines[w->target].gfx11))
        write_mask(r, &i->d[0], mask, known);
    if (i->is_cmpx)
        r->exec = mask;
}
