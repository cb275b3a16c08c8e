/*
 * Words for the decoder's test: made per encoding around the opcodes of the table, a share of them
 * purely random.
 */
#ifndef AOTHIP_TEST_RANDOM_WORDS_H
#define AOTHIP_TEST_RANDOM_WORDS_H

#include "insn.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct target {
    const char *mcpu, *features;
    enum emu_family family;
    unsigned wave;
    bool whole; /* gets the full number of words; the others share its tables */
    bool newer; /* LLVM 22 judges */
};

static uint64_t rng;

static uint32_t random32(void)
{
    rng ^= rng >> 12;
    rng ^= rng << 25;
    rng ^= rng >> 27;
    return (uint32_t)(rng * UINT64_C(2685821657736338717) >> 32);
}

/* Bits that are one with probability 1/2, 1/4, 1/8 ... */
static uint32_t sparse(unsigned density)
{
    uint32_t x = random32();

    while (density--)
        x &= random32();
    return x;
}

/* Where an encoding keeps its opcode: [0] gfx9, [1] gfx11, [2] gfx12. */
struct layout {
    uint32_t fixed; /* mask of the bits that are the encoding's */
    uint32_t bits[3];
    uint8_t shift[3];
    uint16_t max[3]; /* largest opcode */
};

static unsigned generation(const struct target *t)
{
    return t->family >= EMU_GFX12 ? 2 : t->family >= EMU_GFX11;
}

static const struct layout layouts[EMU_ENCODINGS] = {
    [EMU_SOP2] = {0xc0000000,
                  {0x80000000, 0x80000000, 0x80000000},
                  {23, 23, 23},
                  {0x7f, 0x7f, 0x7f}},
    [EMU_SOPK] = {0xf0000000,
                  {0xb0000000, 0xb0000000, 0xb0000000},
                  {23, 23, 23},
                  {0x1f, 0x1f, 0x1f}},
    [EMU_SOP1] = {0xff800000, {0xbe800000, 0xbe800000, 0xbe800000}, {8, 8, 8}, {0xff, 0xff, 0xff}},
    [EMU_SOPC] = {0xff800000,
                  {0xbf000000, 0xbf000000, 0xbf000000},
                  {16, 16, 16},
                  {0x7f, 0x7f, 0x7f}},
    [EMU_SOPP] = {0xff800000,
                  {0xbf800000, 0xbf800000, 0xbf800000},
                  {16, 16, 16},
                  {0x7f, 0x7f, 0x7f}},
    [EMU_SMEM] = {0xfc000000,
                  {0xc0000000, 0xf4000000, 0xf4000000},
                  {18, 18, 13},
                  {0xff, 0xff, 0x3f}},
    [EMU_VOP2] = {0x80000000, {0, 0, 0}, {25, 25, 25}, {0x3f, 0x3f, 0x3f}},
    [EMU_VOP1] = {0xfe000000, {0x7e000000, 0x7e000000, 0x7e000000}, {9, 9, 9}, {0xff, 0xff, 0xff}},
    [EMU_VOPC] = {0xfe000000,
                  {0x7c000000, 0x7c000000, 0x7c000000},
                  {17, 17, 17},
                  {0xff, 0xff, 0xff}},
    [EMU_VOP3] = {0xfc000000,
                  {0xd0000000, 0xd4000000, 0xd4000000},
                  {16, 16, 16},
                  {0x3ff, 0x3ff, 0x3ff}},
    [EMU_VOP3P] = {0xff800000,
                   {0xd3800000, 0xcc000000, 0xcc000000},
                   {16, 16, 16},
                   {0x7f, 0x7f, 0x7f}},
    [EMU_MAI] = {0xff800000,
                 {0xd3800000, 0xcc000000, 0xcc000000},
                 {16, 16, 16},
                 {0x7f, 0x7f, 0x7f}},
    [EMU_VOPD] = {0xfc000000, {0xc8000000, 0xc8000000, 0xc8000000}, {22, 22, 22}, {0xf, 0xf, 0xf}},
    [EMU_DS] = {0xfc000000, {0xd8000000, 0xd8000000, 0xd8000000}, {17, 18, 18}, {0xff, 0xff, 0xff}},
    [EMU_FLAT] = {0xfc000000,
                  {0xdc000000, 0xdc000000, 0xec000000},
                  {18, 18, 14},
                  {0x7f, 0x7f, 0xff}},
    [EMU_SCRATCH] = {0xfc000000,
                     {0xdc004000, 0xdc010000, 0xed000000},
                     {18, 18, 14},
                     {0x7f, 0x7f, 0xff}},
    [EMU_GLOBAL] = {0xfc000000,
                    {0xdc008000, 0xdc020000, 0xee000000},
                    {18, 18, 14},
                    {0x7f, 0x7f, 0xff}},
    [EMU_MUBUF] = {0xfc000000,
                   {0xe0000000, 0xe0000000, 0xc4000000},
                   {18, 18, 14},
                   {0x7f, 0xff, 0xff}},
    [EMU_MTBUF] = {0xfc000000, {0xe8000000, 0xe8000000, 0xc4200000}, {15, 15, 14}, {0xf, 0xf, 0xf}},
    [EMU_MIMG] = {0xfc000000,
                  {0xf0000000, 0xf0000000, 0xd0000000},
                  {18, 18, 14},
                  {0x7f, 0xff, 0xff}},
    [EMU_EXP] = {0xfc000000, {0xf8000000, 0xf8000000, 0xf8000000}, {26, 26, 26}, {0, 0, 0}},
    [EMU_VINTERP] = {0xff000000,
                     {0xcd000000, 0xcd000000, 0xcd000000},
                     {16, 16, 16},
                     {0x7f, 0x7f, 0x7f}},
    [EMU_LDSDIR] = {0xff000000,
                    {0xce000000, 0xce000000, 0xce000000},
                    {20, 20, 20},
                    {0x3, 0x3, 0x3}},
};

static void put_bits(uint32_t *w, uint32_t mask, uint32_t bits)
{
    *w = (*w & ~mask) | (bits & mask);
}

/* gfx12: what is fixed beside the opcode, and mostly no SGPR, as compilers write it. */
static void shape_memory12(const struct emu_row *row, uint32_t *w)
{
    bool sampler =
        !strncmp(row->name, "image_sample", 12) || !strncmp(row->name, "image_gath", 10) ||
        !strncmp(row->name, "image_get_lod", 13) || !strncmp(row->name, "image_msaa", 10);
    uint32_t r = random32();

    if (row->enc == EMU_FLAT || row->enc == EMU_GLOBAL || row->enc == EMU_SCRATCH)
        put_bits(w, 0x3c00000, layouts[row->enc].bits[2]);
    if (row->enc == EMU_MTBUF)
        put_bits(w, 0x3c0000, 0x200000);
    if (row->enc == EMU_MIMG && sampler)
        put_bits(w, 0xfc000000, 0xe4000000);
    if (row->enc == EMU_MUBUF || row->enc == EMU_MTBUF) {
        put_bits(w, r & 6 ? 0x3800000 : 0, 0);
        put_bits(&w[1], r & 0x18 ? 0x30000 : 0, 0);
    }
    if (row->enc == EMU_SMEM && r & 2)
        put_bits(&w[1], 0xfe000000, 0xf8000000);
    else if (row->enc != EMU_SMEM && row->enc >= EMU_FLAT && row->enc <= EMU_MTBUF && r & 1)
        put_bits(w, 0x7f, 0x7c);
}

/* Puts an opcode of a row's encoding into w[0]; VOP1, VOP2 and VOPC every other time as VOP3. */
static void put_opcode(const struct target *t, const struct emu_row *row, unsigned op, uint32_t *w)
{
    unsigned g = generation(t), enc = row->enc;
    bool flat = enc == EMU_FLAT || enc == EMU_SCRATCH || enc == EMU_GLOBAL;
    const struct layout *l;

    if ((enc == EMU_VOP1 || enc == EMU_VOP2 || enc == EMU_VOPC) && random32() & 1) {
        op += enc == EMU_VOPC ? 0 : enc == EMU_VOP2 ? 0x100 : g ? 0x180 : 0x140;
        enc = EMU_VOP3;
    }
    l = &layouts[enc];
    put_bits(w, l->fixed, l->bits[g]);
    put_bits(w, (uint32_t)l->max[g] << l->shift[g], op << l->shift[g]);
    if (enc == EMU_DS && (random32() & 15) == 0) /* what has no operands wants zeros */
        w[1] = 0, put_bits(w, 0x200ffff, 0);
    if (enc == EMU_VOPD && op > 15) /* only second halves have these */
        put_bits(w, 0x3e0000, op << 17);
    if (enc == EMU_MIMG && strstr(row->name, "ray") && random32() & 7) { /* one legal value */
        put_bits(w, 0x2ff9c, 0x8f80);
        put_bits(&w[1], 0x7c600000, 0);
    }
    if (g == 2) {
        shape_memory12(row, w);
        return;
    }
    if (flat)
        put_bits(w, g ? 0x30000 : 0xc000, l->bits[g]);
    if (flat && random32() & 1) /* no scalar address, as each family writes it */
        put_bits(&w[1], 0x7f0000, g ? 0x7c0000 : enc == EMU_FLAT ? 0 : 0x7f0000);
}

static void shape_sources(const struct emu_row *row, uint32_t *w)
{
    static const uint16_t escapes[] = {0xfa, 0xf9, 0xe9, 0xea, 0xff, 0x80, 0xf0, 0x7c};
    uint32_t r = random32();
    bool wide = row->enc == EMU_VOP3 || row->enc == EMU_VOP3P || row->enc == EMU_MAI ||
                w[0] >> 26 == 0x34 || w[0] >> 26 == 0x35;
    bool vop = row->enc == EMU_VOP1 || row->enc == EMU_VOP2 || row->enc == EMU_VOPC;

    if (!wide && !vop && row->enc != EMU_VOPD)
        return;
    if (r & 1) { /* VGPR sources are what is usual */
        if (wide)
            w[1] |= 0x100 | (r & 2 ? 0x20000 : 0) | (r & 4 ? 0x4000000 : 0);
        else
            w[0] |= 0x100;
    }
    if (wide && r & 8) /* two sources */
        w[1] &= ~0x7fc0000u;
    if (wide && (r & 0x30) == 0x30) /* one source */
        w[1] &= ~0x7fffe00u;
    if ((r & 0xc0) == 0xc0) { /* an escape */
        uint32_t e = escapes[r >> 8 & 7];

        if (wide)
            w[1] = (w[1] & ~0x1ffu) | e;
        else
            w[0] = (w[0] & ~0x1ffu) | e;
    }
    if (wide && r & 0x10000) /* no modifiers */
        w[1] &= 0x7ffffff, w[0] &= 0xffff00ff | (r & 0x20000 ? 0x7f00 : 0);
    if (row->op[EMU_GFX12] >= 0 && row->enc == EMU_VOP3P && r & 0x40000) /* what its WMMA want */
        w[1] |= 0x18000000, w[0] = (w[0] & 0xffff87ff) | 0x4000 | (r & 0x80000 ? 0x800 : 0);
}

/* Four words, of which mostly three are given; those of gfx950's scaled products are four. */
static unsigned make_words(const struct target *t, uint32_t *w)
{
    uint32_t r = random32();
    unsigned density = r % 4;

    for (unsigned i = 0; i < 3; i++)
        w[i] = density == 3 ? random32() : sparse(density);
    if (r >> 8 & 15) {
        const struct emu_row *row = &emu_rows[random32() % emu_row_count];

        /* Mostly what this family has, however much the table has for others. */
        for (unsigned tries = 0; tries < 3 && row->op[t->family] < 0; tries++)
            row = &emu_rows[random32() % emu_row_count];
        /* One in eight has any opcode of the encoding: rows that the table lacks show up too. */
        if ((r >> 16 & 7) == 0) {
            put_opcode(t, row, layouts[row->enc].max[generation(t)] & random32(), w);
            shape_sources(row, w);
        } else if (!strncmp(row->name, "v_mfma_scale", 12) && row->op[t->family] >= 0) {
            put_bits(w, ~0u, 0xd3ac0000 | (random32() & (r >> 19 & 1 ? 0x1800 : 0xffff)));
            w[1] = r >> 20 & 1 ? (random32() & 0x1801fe00) | 0x20100 : w[1];
            w[3] = random32();
            put_opcode(t, row, (unsigned)row->op[t->family] & 0x7f, w + 2);
            shape_sources(row, w + 2);
            put_bits(w + 2, 0x7800, r >> 21 & 3 ? 0x800 : random32());
            return 4;
        } else if (row->op[t->family] >= 0) {
            put_opcode(t, row, (unsigned)row->op[t->family], w);
            shape_sources(row, w);
        }
    }
    return 3;
}

#endif
