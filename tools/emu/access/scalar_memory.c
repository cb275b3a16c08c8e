/* Scalar memory: loads, stores and atomics of SGPRs, scalar buffers, scratch, and the clocks. */
#include "access_handlers.h"

/* Into a buffer, in 64 bits: a sum beyond 2^32 is out of range and does not come back to the start
 * (LLVM PR 68302). */
static uint64_t scalar_offset(const struct emu_wave *w, const struct emu_op *op)
{
    return (emu_scalar(w, op, 1) + (uint64_t)(int64_t)op->insn->offset) & ~UINT64_C(3);
}

/* Dword-aligned whatever the operands: the low two bits do not exist in the hardware's adder. */
static uint64_t scalar_address(const struct emu_wave *w, const struct emu_op *op)
{
    uint64_t base = emu_s64(w, op->s[0]) & ~UINT64_C(3);
    return (base + (uint64_t)(int64_t)op->insn->offset + emu_scalar(w, op, 1)) & ~UINT64_C(3);
}

/* Scratch: the offset register counts 64 bytes. */
static uint64_t scratch_address(const struct emu_wave *w, const struct emu_op *op)
{
    uint64_t base = emu_s64(w, op->s[0]) & ~UINT64_C(3);
    return (base + (uint64_t)(int64_t)op->insn->offset + emu_scalar(w, op, 1) * UINT64_C(64)) &
           ~UINT64_C(3);
}

static void give_scalars(struct emu_wave *w, const struct emu_op *op, const uint32_t *x, unsigned n,
                         const uint8_t *init)
{
    emu_write_sgprs(w, op->d[0], x, n);
    if (!w->strict || !init)
        return;
    for (unsigned i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, init + 4 * i, 4);
        if (op->d[0] + i < EMU_S_REGS)
            w->sp[op->d[0] + i] |= ~bits;
    }
}

EMU_DEVICE_DATA static void load_at(struct emu_wave *w, const struct emu_op *op, uint64_t addr,
                                    unsigned n)
{
    uint32_t x[16];
    uint8_t *init;
    const uint8_t *p = emu_scalar_bytes(w, addr, 4 * n, EMU_READ, &init);
    memcpy(x, p, 4 * n);
    give_scalars(w, op, x, n, init);
}

static void load(struct emu_wave *w, const struct emu_op *op, unsigned n)
{
    load_at(w, op, scalar_address(w, op), n);
}

/* gfx12: a byte or two, extended. Their address may have any low bits that suit them. */
EMU_DEVICE_DATA static void load_small_at(struct emu_wave *w, const struct emu_op *op,
                                          uint64_t addr, unsigned bytes, bool is_signed)
{
    uint8_t *init, shadow[4] = {0xff, 0xff, 0xff, 0xff};
    const uint8_t *p;
    uint32_t x = 0;

    if (addr % bytes)
        emu_fault(w, 0, "scalar load of %u bytes at unaligned address 0x%llx", bytes,
                  (unsigned long long)addr);
    p = emu_scalar_bytes(w, addr, bytes, EMU_READ, &init);
    memcpy(&x, p, bytes);
    if (is_signed)
        x = bytes == 1 ? (uint32_t)(int8_t)x : (uint32_t)(int16_t)x;
    if (init)
        memcpy(shadow, init, bytes);
    give_scalars(w, op, &x, 1, init ? shadow : NULL);
}

static void load_small(struct emu_wave *w, const struct emu_op *op, unsigned bytes, bool is_signed)
{
    uint64_t addr =
        emu_s64(w, op->s[0]) + (uint64_t)(int64_t)op->insn->offset + emu_scalar(w, op, 1);
    load_small_at(w, op, addr, bytes, is_signed);
}

/* A scalar buffer: base and size of the descriptor; every dword past the end reads 0. */
struct scalar_buffer {
    uint64_t base, size;
};

static struct scalar_buffer scalar_buffer(const struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *d = &w->s[op->s[0]];
    uint64_t stride = d[1] >> 16 & 0x3fff;
    return (struct scalar_buffer){
        (d[0] | (uint64_t)(d[1] & 0xffff) << 32) & ~UINT64_C(3),
        stride ? stride * d[2] : d[2],
    };
}

EMU_DEVICE_DATA static void buffer_load(struct emu_wave *w, const struct emu_op *op, unsigned n)
{
    uint32_t x[16];
    uint8_t shadow[64];
    struct scalar_buffer b = scalar_buffer(w, op);
    uint64_t offset = scalar_offset(w, op);
    memset(shadow, 0xff, sizeof shadow);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *init = NULL;
        x[i] = 0;
        if (offset >= b.size || b.size - offset < 4 * i + 4)
            continue;
        memcpy(&x[i], emu_scalar_bytes(w, b.base + offset + 4 * i, 4, EMU_READ, &init), 4);
        if (init)
            memcpy(shadow + 4 * i, init, 4);
    }
    give_scalars(w, op, x, n, shadow);
}

static void buffer_load_small(struct emu_wave *w, const struct emu_op *op, unsigned bytes,
                              bool is_signed)
{
    static const uint32_t nothing;
    struct scalar_buffer b = scalar_buffer(w, op);
    uint64_t offset = emu_scalar(w, op, 1) + (uint64_t)(int64_t)op->insn->offset;

    if (offset < b.size && b.size - offset >= bytes)
        load_small_at(w, op, b.base + offset, bytes, is_signed);
    else
        give_scalars(w, op, &nothing, 1, NULL);
}

EMU_DEVICE_DATA static void store_at(struct emu_wave *w, const struct emu_op *op, uint64_t addr,
                                     unsigned n)
{
    uint8_t *init;
    uint8_t *p = emu_scalar_bytes(w, addr, 4 * n, EMU_WRITE, &init);
    for (unsigned i = 0; w->strict && i < n; i++)
        if (op->s[2] + i < EMU_S_REGS && w->sp[op->s[2] + i])
            emu_fault(w, 0, "stores a value that was never computed (s%u)", op->s[2] + i);
    memcpy(p, &w->s[op->s[2]], 4 * n);
    if (init)
        memset(init, 0xff, 4 * n);
}

static void buffer_store(struct emu_wave *w, const struct emu_op *op, unsigned n)
{
    struct scalar_buffer b = scalar_buffer(w, op);
    uint64_t offset = scalar_offset(w, op);
    if (offset < b.size && b.size - offset >= 4 * n)
        store_at(w, op, b.base + offset, n);
}

#define SCALAR(name, call)                                                                         \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        call;                                                                                      \
    }
SCALAR(s_load_dword, load(w, op, 1))
SCALAR(s_load_dwordx2, load(w, op, 2))
SCALAR(s_load_dwordx4, load(w, op, 4))
SCALAR(s_load_dwordx8, load(w, op, 8))
SCALAR(s_load_dwordx16, load(w, op, 16))
SCALAR(s_buffer_load_dword, buffer_load(w, op, 1))
SCALAR(s_buffer_load_dwordx2, buffer_load(w, op, 2))
SCALAR(s_buffer_load_dwordx4, buffer_load(w, op, 4))
SCALAR(s_buffer_load_dwordx8, buffer_load(w, op, 8))
SCALAR(s_buffer_load_dwordx16, buffer_load(w, op, 16))
SCALAR(s_load_b96, load(w, op, 3))
SCALAR(s_load_i8, load_small(w, op, 1, true))
SCALAR(s_load_u8, load_small(w, op, 1, false))
SCALAR(s_load_i16, load_small(w, op, 2, true))
SCALAR(s_load_u16, load_small(w, op, 2, false))
SCALAR(s_buffer_load_b96, buffer_load(w, op, 3))
SCALAR(s_buffer_load_i8, buffer_load_small(w, op, 1, true))
SCALAR(s_buffer_load_u8, buffer_load_small(w, op, 1, false))
SCALAR(s_buffer_load_i16, buffer_load_small(w, op, 2, true))
SCALAR(s_buffer_load_u16, buffer_load_small(w, op, 2, false))
SCALAR(s_store_dword, store_at(w, op, scalar_address(w, op), 1))
SCALAR(s_store_dwordx2, store_at(w, op, scalar_address(w, op), 2))
SCALAR(s_store_dwordx4, store_at(w, op, scalar_address(w, op), 4))
SCALAR(s_buffer_store_dword, buffer_store(w, op, 1))
SCALAR(s_buffer_store_dwordx2, buffer_store(w, op, 2))
SCALAR(s_buffer_store_dwordx4, buffer_store(w, op, 4))
SCALAR(s_scratch_load_dword, load_at(w, op, scratch_address(w, op), 1))
SCALAR(s_scratch_load_dwordx2, load_at(w, op, scratch_address(w, op), 2))
SCALAR(s_scratch_load_dwordx4, load_at(w, op, scratch_address(w, op), 4))
SCALAR(s_scratch_store_dword, store_at(w, op, scratch_address(w, op), 1))
SCALAR(s_scratch_store_dwordx2, store_at(w, op, scratch_address(w, op), 2))
SCALAR(s_scratch_store_dwordx4, store_at(w, op, scratch_address(w, op), 4))

static void clock_now(struct emu_wave *w, const struct emu_op *op)
{
    const uint64_t clock = emu_clock(w);
    const uint32_t now[2] = {(uint32_t)clock, (uint32_t)(clock >> 32)};
    emu_write_sgprs(w, op->d[0], now, 2);
}
SCALAR(s_memtime, clock_now(w, op))
SCALAR(s_memrealtime, clock_now(w, op))

/* ---- atomics: one for the wave, whatever EXEC; the old value comes back when dst is there */

typedef uint64_t atomic_fn(uint64_t old, uint64_t a, uint64_t b);

EMU_DEVICE_DATA static uint64_t exchange(uint8_t *p, unsigned bytes, atomic_fn *fn, uint64_t a,
                                         uint64_t b)
{
    uint64_t old64 = 0;
    uint32_t old32 = 0;

    if (bytes == 8) {
        while (!__atomic_compare_exchange_n((uint64_t *)p, &old64, fn(old64, a, b), false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;
        return old64;
    }
    while (!__atomic_compare_exchange_n((uint32_t *)p, &old32, (uint32_t)fn(old32, a, b), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        ;
    return old32;
}

static uint64_t operand(const struct emu_wave *w, unsigned at, unsigned bytes)
{
    return bytes == 8 ? emu_s64(w, at) : w->s[at];
}

static void atomic_at(struct emu_wave *w, const struct emu_op *op, uint64_t addr, unsigned bytes,
                      atomic_fn *fn, bool swaps)
{
    const unsigned words = bytes / 4, at = op->s[2];
    uint8_t *init;
    uint8_t *p = emu_scalar_bytes(w, addr, bytes, EMU_RMW, &init);

    if (addr % bytes)
        emu_fault(w, 0, "atomic of %u bytes at unaligned address 0x%llx", bytes,
                  (unsigned long long)addr);
    for (unsigned i = 0; init && i < bytes; i++)
        if (!init[i] && !swaps)
            emu_fault(w, 0, "atomic on memory that was never written (address 0x%llx)",
                      (unsigned long long)addr);
    uint64_t old = exchange(p, bytes, fn, operand(w, at, bytes), operand(w, at + words, bytes));
    const uint32_t x[2] = {(uint32_t)old, (uint32_t)(old >> 32)};
    if (op->d[0] != EMU_NO_ROW)
        give_scalars(w, op, x, words, init);
    if (init)
        memset(init, 0xff, bytes);
}

static void buffer_atomic(struct emu_wave *w, const struct emu_op *op, unsigned bytes,
                          atomic_fn *fn, bool swaps)
{
    static const uint32_t nothing[2];
    struct scalar_buffer b = scalar_buffer(w, op);
    uint64_t offset = scalar_offset(w, op);

    if (offset < b.size && b.size - offset >= bytes)
        atomic_at(w, op, b.base + offset, bytes, fn, swaps);
    else if (op->d[0] != EMU_NO_ROW)
        give_scalars(w, op, nothing, bytes / 4, NULL);
}

#define ATOMIC(name, bits, ...)                                                                    \
    static uint64_t name##_op(uint64_t old, uint64_t a, uint64_t b)                                \
    {                                                                                              \
        typedef int##bits##_t I;                                                                   \
        (void)b, (void)sizeof(I);                                                                  \
        return __VA_ARGS__;                                                                        \
    }                                                                                              \
    SCALAR(s_atomic_##name, atomic_at(w, op, scalar_address(w, op), bits / 8, name##_op,           \
                                      strncmp(#name, "swap", 4) == 0))                             \
    SCALAR(s_buffer_atomic_##name,                                                                 \
           buffer_atomic(w, op, bits / 8, name##_op, strncmp(#name, "swap", 4) == 0))
#define ATOMICS(name, ...) ATOMIC(name, 32, __VA_ARGS__) ATOMIC(name##_x2, 64, __VA_ARGS__)
ATOMICS(swap, ((void)old, a))
ATOMICS(cmpswap, old == b ? a : old)
ATOMICS(add, old + a)
ATOMICS(sub, old - a)
ATOMICS(smin, (I)old < (I)a ? old : a)
ATOMICS(umin, old < a ? old : a)
ATOMICS(smax, (I)old > (I)a ? old : a)
ATOMICS(umax, old > a ? old : a)
ATOMICS(and, old &a)
ATOMICS(or, old | a)
ATOMICS(xor, old ^ a)
ATOMICS(inc, old >= a ? 0 : old + 1)
ATOMICS(dec, old == 0 || old > a ? a : old - 1)
