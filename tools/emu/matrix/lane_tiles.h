/*
 * Where a matrix of gfx12 lies: one register after the other of the 32 lanes of a wave32. In wave64
 * the lower half of these registers belongs to lanes 0..31, the upper half to lanes 32..63; of a
 * single register these have nothing. (Tables of 7.12.2 of RDNA 4's manual; where two of its orders
 * of k differ, no product does.)
 */
#ifndef EMU_LANE_TILES_H
#define EMU_LANE_TILES_H

#include "matrix_ops.h"

struct emu_tile {
    uint32_t *rows; /* the first register; NULL: a constant in all elements */
    unsigned lanes; /* of the wave */
    unsigned half;  /* how many registers go before those of lanes 32.. */
    unsigned bits;  /* of an element */
    uint32_t constant;
};

static inline struct emu_tile emu_tile_at(struct emu_wave *w, unsigned row, unsigned elements,
                                          unsigned bits)
{
    return (struct emu_tile){emu_row(w, row), w->lanes, elements * bits / 64, bits, 0};
}

/* Source s, of which a lane of wave32 has so many elements. */
static inline struct emu_tile emu_tile_source(struct emu_wave *w, const struct emu_op *op,
                                              unsigned s, unsigned elements, unsigned bits)
{
    const struct emu_operand *o = &op->insn->src[s];

    if (o->kind == EMU_OPK_VGPR)
        return emu_tile_at(w, op->s[s], elements, bits);
    return (struct emu_tile){NULL, w->lanes, 0, bits, (uint32_t)o->value};
}

/* Register r of lane `lane` of wave32. */
static inline uint32_t *emu_tile_word(const struct emu_tile *t, unsigned lane, unsigned r)
{
    if (t->lanes == 64 && t->half && r >= t->half)
        return t->rows + (size_t)(r - t->half) * 64 + 32 + lane;
    return t->rows + (size_t)r * t->lanes + lane;
}

static inline uint32_t emu_tile_element(const struct emu_tile *t, unsigned lane, unsigned e)
{
    const uint32_t x = t->rows ? *emu_tile_word(t, lane, e * t->bits / 32) : t->constant;

    if (t->bits == 32)
        return x;
    return (t->rows ? x >> e * t->bits % 32 : x) & ((1u << t->bits) - 1);
}

static inline void emu_tile_put(const struct emu_tile *t, unsigned lane, unsigned e, uint32_t x)
{
    uint32_t *word = emu_tile_word(t, lane, e * t->bits / 32);
    const unsigned at = e * t->bits % 32;

    *word = t->bits == 32 ? x : (*word & ~(((1u << t->bits) - 1) << at)) | x << at;
}

/* EXEC must be full; counts the instruction. */
void emu_tile_check(struct emu_wave *w);
/* A 16-bit or 8-bit element as a float. */
float emu_tile_float(uint32_t x, enum emu_elem type);
/* A 4-bit or 8-bit element as a number. */
static inline int32_t emu_tile_integer(uint32_t x, unsigned bits, bool is_signed)
{
    const uint32_t top = 1u << (bits - 1);

    return is_signed ? (int32_t)(x ^ top) - (int32_t)top : (int32_t)x;
}

#endif
