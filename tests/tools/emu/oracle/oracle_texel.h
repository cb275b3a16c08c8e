/*
 * The formats of buffer elements, for the oracle: from the formats' names and exact arithmetic.
 */
#ifndef AOTHIP_TEST_ORACLE_TEXEL_H
#define AOTHIP_TEST_ORACLE_TEXEL_H

#include <stdbool.h>
#include <stdint.h>

enum texel_type {
    TEXEL_UNORM,
    TEXEL_SNORM,
    TEXEL_USCALED,
    TEXEL_SSCALED,
    TEXEL_UINT,
    TEXEL_SINT,
    TEXEL_FLOAT
};

struct texel {
    char name[32];     /* such as 10_11_11_FLOAT: the last number is X */
    unsigned number;   /* as encoded: gfx9 data format + 16 * numeric format, gfx11 one number */
    unsigned width[4]; /* of X, Y, Z, W */
    unsigned count, bytes;
    enum texel_type type;
};

/* The i-th format of gfx9 or gfx11; false past the last. */
bool texel_format(bool gfx11, unsigned i, struct texel *f);

/* Component c of an element as a register sees it; 16 bits wide when d16. */
uint32_t texel_load(const struct texel *f, const uint8_t *element, unsigned c, bool d16);
/* Adds component c, made of a register, to an element that starts as zeros. */
void texel_store(const struct texel *f, uint8_t *element, unsigned c, uint32_t reg, bool d16);

#endif
