/*
 * The states that cases start from: random values of each operand type, special ones among them,
 * MODE and EXEC by group.
 */
#include <stdlib.h>
#include <string.h>

#include "test_semantics_run.h"

static uint64_t seed = 0x0ac1e5eed;

uint64_t sem_seed(void)
{
    return seed;
}

uint64_t sem_random(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(2685821657736338717);
}

static uint64_t float_value(const struct sf_format *f, bool numbers)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    uint64_t emax = (UINT64_C(1) << f->exp_bits) - 1, one = emax >> 1, bits;
    uint64_t r = sem_random(), frac_mask = (UINT64_C(1) << f->frac_bits) - 1;
    uint64_t sign = (r >> 60 & 1) << (width - 1);

    switch (r % 16) {
    case 0: /* zeros, the smallest and largest of each kind, one, infinity */
    case 1: {
        const uint64_t special[] = {0,
                                    1,
                                    frac_mask,
                                    frac_mask + 1,
                                    frac_mask + 2,
                                    (emax << f->frac_bits) - 1,
                                    emax << f->frac_bits,
                                    one << f->frac_bits,
                                    (one - 1) << f->frac_bits,
                                    (one + 1) << f->frac_bits,
                                    (one << f->frac_bits) + 1,
                                    (one << f->frac_bits) - 1};

        return special[(r >> 8) % 12] | sign;
    }
    case 2: /* NaN, quiet and signalling */
        if (!numbers)
            return sign | emax << f->frac_bits | (sem_random() & frac_mask) | 1;
        break;
    case 3: /* denormal */
        return sign | (sem_random() & frac_mask);
    case 4: /* small integers and halves */
    case 5: {
        struct sf_env env = {SF_NEAREST, true, true};

        return sf_pack(f, sf_scale(sf_from_int((int64_t)(r >> 8 & 63) - 32), -(int)(r >> 20 & 3)),
                       &env);
    }
    case 6: /* any exponent */
    case 7:
        bits = sem_random() & (frac_mask | emax << f->frac_bits);
        if (bits >> f->frac_bits == emax)
            bits = one << f->frac_bits;
        return bits | sign;
    default: /* near one, all fractions */
        break;
    }
    return sign | (one - 6 + (r >> 8) % 12) << f->frac_bits | (sem_random() & frac_mask);
}

static uint64_t moderate(const struct sf_format *f)
{
    uint64_t one = (UINT64_C(1) << (f->exp_bits - 1)) - 1, frac = (UINT64_C(1) << f->frac_bits) - 1;
    uint64_t r = sem_random();

    return (r & 1) << (f->exp_bits + f->frac_bits) | (one - 4 + (r >> 8) % 8) << f->frac_bits |
           (sem_random() & frac);
}

static uint64_t int_value(unsigned bits)
{
    uint64_t r = sem_random(), mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    uint64_t half = UINT64_C(1) << (bits - 1);
    const uint64_t special[] = {0, 1, 2, mask, mask - 1, half, half - 1, half + 1, 31, 32, 33, 63};

    switch (r % 6) {
    case 0:
        return special[(r >> 8) % 12] & mask;
    case 1:
        return r >> 8 & 63;
    case 2:
        return (uint64_t)-(int64_t)(r >> 8 & 63) & mask;
    case 3:
        return (sem_random() & sem_random() & sem_random()) & mask;
    default:
        return sem_random() & mask;
    }
}

uint64_t sem_value(char type, bool numbers)
{
    const struct sf_format *f = oracle_format(type);
    uint64_t v;

    switch (type) {
    case 't': /* turns, within +-256 */
    case 'T':
        do
            v = float_value(f, numbers);
        while (sf_unpack(f, v).cls == SF_IS_FINITE &&
               sf_compare(sf_abs(sf_unpack(f, v)), sf_from_int(type == 't' ? 256 : 200)) > 0);
        return v;
    case 'Y':
        return float_value(&sf_f16, numbers) | float_value(&sf_f16, numbers) << 16;
    case 'n': /* f32, f64, two f16, two bf16 of moderate size: sums neither overflow nor underflow
               */
        return moderate(&sf_f32);
    case 'N':
        return moderate(&sf_f64);
    case 'H':
        return moderate(&sf_f16) | moderate(&sf_f16) << 16;
    case 'G':
        return moderate(&sf_bf16) | moderate(&sf_bf16) << 16;
    case 'E': /* two bf16 */
        return float_value(&sf_bf16, numbers) | float_value(&sf_bf16, numbers) << 16;
    case 'y':
        return int_value(16) | int_value(16) << 16;
    default:
        break;
    }
    if (f)
        v = float_value(f, numbers);
    else
        v = int_value(oracle_bits(type) == 1   ? 32
                      : oracle_bits(type) > 64 ? 64
                                               : oracle_bits(type));
    if (oracle_bits(type) == 16) /* something in the other half too */
        v |= (f ? float_value(f, numbers) : int_value(16)) << 16;
    return v;
}

/* MODE and EXEC of a group: the usual ones first, then each rounding and denormal mode. */
static void group_controls(const struct sem_case *c, struct oracle_wave *w, unsigned g)
{
    static const uint32_t modes[SEM_GROUPS] = {
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT | 0x5,                 /* up */
        MODE_DEFAULT | 0xa,                 /* down */
        MODE_DEFAULT | 0xf,                 /* to zero */
        MODE_DX10_CLAMP | MODE_IEEE,        /* denormals flushed */
        MODE_DX10_CLAMP | MODE_IEEE | 0x50, /* denormals in */
        MODE_DX10_CLAMP | MODE_IEEE | 0xa0, /* denormals out */
        MODE_DX10_CLAMP | 0xf0,             /* not IEEE */
        0,                                  /* output modifiers work */
        MODE_DX10_CLAMP,
        MODE_IEEE | 0xf0 | 0x8,
        MODE_DEFAULT,
        MODE_DEFAULT};
    uint64_t all = oracle_machines[w->target].lanes == 64 ? ~UINT64_C(0) : 0xffffffff;

    w->mode = modes[g];
    if (oracle_is_gfx12(w->target)) /* has no such bits: it is always as with both */
        w->mode |= MODE_DX10_CLAMP | MODE_IEEE;
    w->exec = all;
    if (g % 2 && !c->full_exec)
        w->exec &= sem_random();
    if (g == 13 && !c->full_exec)
        w->exec = UINT64_C(1) << sem_random() % oracle_machines[w->target].lanes;
    if (g == 15 && !c->full_exec)
        w->exec = 0;
}

void sem_make_state(const struct sem_case *c, enum oracle_target t, struct oracle_wave *w,
                    unsigned g)
{
    bool wide = oracle_machines[t].lanes == 64;

    memset(w, 0, sizeof *w);
    w->target = t;
    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        for (unsigned l = 0; l < oracle_machines[t].lanes; l++) {
            char type = c->vtype[r] ? c->vtype[r] : 'b';
            uint64_t v = sem_value(type, c->numbers);

            w->v[r][l] = (uint32_t)v;
            if (oracle_bits(type) > 32 && r + 1 < ORACLE_VGPRS)
                w->v[r + 1][l] = (uint32_t)(v >> 32);
        }
    for (unsigned r = 0; r + 1 < ORACLE_VGPRS; r++) /* high halves belong to the pair */
        if (c->vtype[r] && oracle_bits(c->vtype[r]) > 32)
            for (unsigned l = 0; l < oracle_machines[t].lanes; l++) {
                uint64_t v = sem_value(c->vtype[r], c->numbers);

                w->v[r][l] = (uint32_t)v;
                w->v[r + 1][l] = (uint32_t)(v >> 32);
            }
    for (unsigned r = 16; r < 64; r++)
        w->s[r] = (uint32_t)sem_value(c->stype[r] ? c->stype[r] : 'b', c->numbers);
    for (unsigned r = 16; r < 63; r++)
        if (c->stype[r] && oracle_bits(c->stype[r]) > 32) {
            uint64_t v = sem_value(c->stype[r], c->numbers);

            w->s[r] = (uint32_t)v;
            w->s[r + 1] = (uint32_t)(v >> 32);
        }
    w->vcc = sem_random() & (wide ? ~UINT64_C(0) : 0xffffffff);
    w->scc = sem_random() & 1;
    w->m0 = (uint32_t)sem_random();
    group_controls(c, w, g);
}

void sem_fill_memory(struct sem_memory *m, char type, bool numbers)
{
    unsigned step = oracle_bits(type) > 32 ? 8 : 4;

    for (unsigned i = 0; i < SEM_MEMORY; i += step) {
        uint64_t a = sem_value(type, numbers), b = sem_value(type, numbers);

        memcpy(m->window + i, &a, step);
        memcpy(m->lds + i, &b, step);
    }
}

void sem_to_memory(const struct oracle_wave *w, const struct sem_memory *m, uint8_t *at)
{
    uint32_t *words = (uint32_t *)(void *)(at + SEM_SCALARS);

    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        memcpy(at + r * 256, w->v[r], 256);
    memcpy(words, w->s + 16, 48 * 4);
    words[48] = (uint32_t)w->vcc;
    words[49] = (uint32_t)(w->vcc >> 32);
    words[50] = (uint32_t)w->exec;
    words[51] = (uint32_t)(w->exec >> 32);
    words[52] = w->scc;
    words[53] = w->m0;
    words[54] = w->mode;
    words[55] = 0;
    memcpy(at + SEM_LDS_AT, m->lds, SEM_LDS);
}
