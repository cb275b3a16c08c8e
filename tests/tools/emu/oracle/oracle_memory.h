/*
 * The memory part of the oracle: what one lane's access does to bytes.
 */
#ifndef AOTHIP_TEST_ORACLE_MEMORY_H
#define AOTHIP_TEST_ORACLE_MEMORY_H

#include "oracle.h"

enum oracle_atomic {
    A_ADD,
    A_SUB,
    A_RSUB,
    A_INC,
    A_DEC,
    A_MIN_I,
    A_MAX_I,
    A_MIN_U,
    A_MAX_U,
    A_AND,
    A_OR,
    A_XOR,
    A_MSKOR,
    A_SWAP,
    A_CMPST, /* compare value, new value */
    A_CSUB,
    A_COND_SUB,
    A_WRAP,
    A_ADD_F,
    A_MIN_F,
    A_MAX_F,
    A_CMPST_F,
    A_PK_ADD_F16,
    A_PK_ADD_BF16
};

/* The new content of memory. width: 32 or 64. data2: second data operand. */
uint64_t oracle_atomic(enum oracle_atomic op, unsigned width, uint64_t old, uint64_t data,
                       uint64_t data2);

uint64_t oracle_get(const uint8_t *at, unsigned bytes);
void oracle_put(uint8_t *at, unsigned bytes, uint64_t v);

/* A load into registers: what each destination dword becomes. */
enum oracle_load {
    L_U8,
    L_I8,
    L_U16,
    L_I16,
    L_B32,
    L_B64,
    L_B96,
    L_B128,
    L_D16_U8, /* the low half, the other kept */
    L_D16_I8,
    L_D16_B16,
    L_HI_U8, /* the high half */
    L_HI_I8,
    L_HI_B16
};

unsigned oracle_load_bytes(enum oracle_load kind);
/* reg: the first destination register of the lane, in a column of stride words. */
void oracle_load(enum oracle_load kind, const uint8_t *at, uint32_t *reg, size_t stride);

enum oracle_store { S_B8, S_B16, S_B32, S_B64, S_B96, S_B128, S_HI_B8, S_HI_B16 };

unsigned oracle_store_bytes(enum oracle_store kind);
void oracle_store(enum oracle_store kind, uint8_t *at, const uint32_t *reg, size_t stride);

#endif
