/*
 * Memory accesses of one lane: atomics, loads with extension or into a half, stores of halves.
 */
#include "oracle_memory.h"

uint64_t oracle_get(const uint8_t *at, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)at[i] << 8 * i;
    return v;
}

void oracle_put(uint8_t *at, unsigned bytes, uint64_t v)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t float_atomic(enum oracle_atomic op, const struct sf_format *f, uint64_t old,
                             uint64_t data, uint64_t data2)
{
    const struct sf_env env = {SF_NEAREST, true, true};
    struct sf a = sf_unpack(f, old), b = sf_unpack(f, data);

    switch (op) {
    case A_ADD_F:
        return sf_pack(f, sf_add(a, b, SF_NEAREST), &env);
    case A_MIN_F:
        return sf_compare(b, a) == -1 ? data : old;
    case A_MAX_F:
        return sf_compare(b, a) == 1 ? data : old;
    default: /* compare and store */
        return sf_compare(a, b) == 0 ? data2 : old;
    }
}

static uint64_t halves(const struct sf_format *f, uint64_t old, uint64_t data)
{
    return float_atomic(A_ADD_F, f, old & 0xffff, data & 0xffff, 0) |
           float_atomic(A_ADD_F, f, old >> 16 & 0xffff, data >> 16 & 0xffff, 0) << 16;
}

uint64_t oracle_atomic(enum oracle_atomic op, unsigned width, uint64_t old, uint64_t data,
                       uint64_t data2)
{
    uint64_t mask = width == 64 ? ~UINT64_C(0) : 0xffffffff;
    int64_t so = width == 64 ? (int64_t)old : (int32_t)old;
    int64_t sd = width == 64 ? (int64_t)data : (int32_t)data;

    switch (op) {
    case A_ADD:
        return (old + data) & mask;
    case A_SUB:
        return (old - data) & mask;
    case A_RSUB:
        return (data - old) & mask;
    case A_INC:
        return old >= data ? 0 : old + 1;
    case A_DEC:
        return old == 0 || old > data ? data : old - 1;
    case A_MIN_I:
        return sd < so ? data : old;
    case A_MAX_I:
        return sd >= so ? data : old;
    case A_MIN_U:
        return data < old ? data : old;
    case A_MAX_U:
        return data >= old ? data : old;
    case A_AND:
        return old & data;
    case A_OR:
        return old | data;
    case A_XOR:
        return old ^ data;
    case A_MSKOR:
        return (old & ~data) | data2;
    case A_SWAP:
        return data;
    case A_CMPST:
        return old == data ? data2 : old;
    case A_CSUB:
        return old < data ? 0 : old - data;
    case A_COND_SUB:
        return data <= old ? old - data : old;
    case A_WRAP:
        return (old >= data ? old - data : old + data2) & mask;
    case A_PK_ADD_F16:
        return halves(&sf_f16, old, data);
    case A_PK_ADD_BF16:
        return halves(&sf_bf16, old, data);
    default:
        return float_atomic(op, width == 64 ? &sf_f64 : &sf_f32, old, data, data2);
    }
}

unsigned oracle_load_bytes(enum oracle_load kind)
{
    switch (kind) {
    case L_B32:
        return 4;
    case L_B64:
        return 8;
    case L_B96:
        return 12;
    case L_B128:
        return 16;
    case L_U16:
    case L_I16:
    case L_D16_B16:
    case L_HI_B16:
        return 2;
    default:
        return 1;
    }
}

void oracle_load(enum oracle_load kind, const uint8_t *at, uint32_t *reg, size_t stride)
{
    unsigned bytes = oracle_load_bytes(kind);
    uint32_t v = (uint32_t)oracle_get(at, bytes > 4 ? 4 : bytes);

    switch (kind) {
    case L_I8:
        *reg = (uint32_t)(int8_t)v;
        break;
    case L_I16:
        *reg = (uint32_t)(int16_t)v;
        break;
    case L_D16_U8:
    case L_D16_B16:
        *reg = (*reg & 0xffff0000) | v;
        break;
    case L_D16_I8:
        *reg = (*reg & 0xffff0000) | (uint16_t)(int8_t)v;
        break;
    case L_HI_U8:
    case L_HI_B16:
        *reg = (*reg & 0xffff) | v << 16;
        break;
    case L_HI_I8:
        *reg = (*reg & 0xffff) | (uint32_t)(int8_t)v << 16;
        break;
    default:
        for (unsigned i = 0; i < (bytes + 3) / 4; i++)
            reg[i * stride] = (uint32_t)oracle_get(at + 4 * i, bytes < 4 ? bytes : 4);
        break;
    }
}

unsigned oracle_store_bytes(enum oracle_store kind)
{
    static const unsigned bytes[] = {1, 2, 4, 8, 12, 16, 1, 2};

    return bytes[kind];
}

void oracle_store(enum oracle_store kind, uint8_t *at, const uint32_t *reg, size_t stride)
{
    unsigned bytes = oracle_store_bytes(kind);

    if (kind == S_HI_B8 || kind == S_HI_B16) {
        oracle_put(at, bytes, *reg >> 16);
        return;
    }
    for (unsigned i = 0; i < bytes; i += 4)
        oracle_put(at + i, bytes - i < 4 ? bytes - i : 4, reg[i / 4 * stride]);
}
