/* Atomics on device memory, LDS and scratch, lane after lane in ascending order. */
#include "access_handlers.h"

typedef uint32_t op32(uint32_t old, uint32_t a, uint32_t b);
typedef uint64_t op64(uint64_t old, uint64_t a, uint64_t b);
typedef void where_fn(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access);

static float F32(uint32_t x)
{
    float f;
    memcpy(&f, &x, sizeof f);
    return f;
}

static double F64(uint64_t x)
{
    double f;
    memcpy(&f, &x, sizeof f);
    return f;
}

static uint32_t bits32(float f)
{
    uint32_t x;
    memcpy(&x, &f, sizeof x);
    return x;
}

static uint64_t bits64(double f)
{
    uint64_t x;
    memcpy(&x, &f, sizeof x);
    return x;
}

static uint32_t add_f32(uint32_t old, uint32_t a)
{
    return bits32(F32(old) + F32(a));
}

static uint64_t add_f64(uint64_t old, uint64_t a)
{
    return bits64(F64(old) + F64(a));
}

/* A NaN operand loses; -0 is below +0. */
static uint32_t min_f32(uint32_t old, uint32_t a)
{
    float x = F32(old), y = F32(a);
    if (x != x || y != y)
        return x != x ? a : old;
    return x < y || (x == y && old >> 31) ? old : a;
}

static uint32_t max_f32(uint32_t old, uint32_t a)
{
    float x = F32(old), y = F32(a);
    if (x != x || y != y)
        return x != x ? a : old;
    return x > y || (x == y && !(old >> 31)) ? old : a;
}

static uint64_t min_f64(uint64_t old, uint64_t a)
{
    double x = F64(old), y = F64(a);
    if (x != x || y != y)
        return x != x ? a : old;
    return x < y || (x == y && old >> 63) ? old : a;
}

static uint64_t max_f64(uint64_t old, uint64_t a)
{
    double x = F64(old), y = F64(a);
    if (x != x || y != y)
        return x != x ? a : old;
    return x > y || (x == y && !(old >> 63)) ? old : a;
}

static uint16_t add_f16(uint16_t x, uint16_t y)
{
    _Float16 f, g;
    memcpy(&f, &x, 2);
    memcpy(&g, &y, 2);
    f = (_Float16)((float)f + (float)g); /* exact in f32, then one rounding */
    memcpy(&x, &f, 2);
    return x;
}

/* Rounds to nearest even; the sum of two bf16 is rounded to f32 first, as double rounding of so
 * short operands is innocuous only when their exponents are within 16 bits: hence double. */
static uint16_t add_bf16(uint16_t x, uint16_t y)
{
    double sum = (double)F32((uint32_t)x << 16) + (double)F32((uint32_t)y << 16);
    float f = (float)sum;
    uint32_t u = bits32(f);
    if (f != f)
        return (uint16_t)(u >> 16 | 0x40);
    /* Round to odd in f32, so that the second rounding sees a sticky bit. */
    if ((double)f != sum && !(u & 1)) {
        bool away = (f > 0) == ((double)f > sum);
        u += away ? UINT32_MAX : 1;
    }
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static uint32_t pk_add_f16(uint32_t old, uint32_t a)
{
    return add_f16((uint16_t)old, (uint16_t)a) |
           (uint32_t)add_f16((uint16_t)(old >> 16), (uint16_t)(a >> 16)) << 16;
}

static uint32_t pk_add_bf16(uint32_t old, uint32_t a)
{
    return add_bf16((uint16_t)old, (uint16_t)a) |
           (uint32_t)add_bf16((uint16_t)(old >> 16), (uint16_t)(a >> 16)) << 16;
}

/* Each half is exchanged where bit 31 of its operand is set; that bit itself is stored as 0. */
static uint64_t condxchg32(uint64_t old, uint64_t a)
{
    uint32_t lo = (uint32_t)a >> 31 ? (uint32_t)a & 0x7fffffff : (uint32_t)old;
    uint64_t hi = a >> 63 ? (a >> 32) & 0x7fffffff : old >> 32;
    return hi << 32 | lo;
}

static void check_atomic(struct emu_wave *w, const struct emu_op *op, const struct emu_where *a,
                         unsigned bytes, bool replaces)
{
    EMU_EACH_LANE(l, a->mask)
    {
        if (a->addr[l] % bytes)
            emu_fault(w, UINT64_C(1) << l, "atomic of %u bytes at unaligned address 0x%llx", bytes,
                      (unsigned long long)a->addr[l]);
        if (!w->strict)
            continue;
        for (unsigned i = 0; i < bytes; i += 4) {
            uint32_t poison = emu_lane_poison(a, l, i, 4);
            if (poison && !replaces)
                emu_fault(w, UINT64_C(1) << l,
                          "atomic on memory that was never written (address 0x%llx)",
                          (unsigned long long)a->addr[l]);
            if (poison && op->d[0] != EMU_NO_ROW)
                emu_set_poison(w, op->d[0] + i / 4, l, poison);
        }
    }
}

static void mark_written(struct emu_where *a, unsigned bytes)
{
    EMU_EACH_LANE(l, a->mask)
    for (unsigned i = 0; i < bytes; i += 4)
        emu_lane_set_poison(a, l, i, 4, 0);
}

/* Rows of the operands. */
struct operands {
    const uint32_t *a, *b;
    uint32_t *d;
};

/* Global and buffer instructions keep both data operands in one register group. */
static struct operands global_operands(const struct emu_wave *w, const struct emu_op *op,
                                       unsigned words, bool pair)
{
    const uint32_t *a = emu_row(w, op->s[1]);
    return (struct operands){a, pair ? a + words * w->lanes : NULL,
                             op->d[0] == EMU_NO_ROW ? NULL : emu_row(w, op->d[0])};
}

static struct operands lds_operands(const struct emu_wave *w, const struct emu_op *op)
{
    return (struct operands){emu_row(w, op->s[1]),
                             op->s[2] == EMU_NO_ROW ? NULL : emu_row(w, op->s[2]),
                             op->d[0] == EMU_NO_ROW ? NULL : emu_row(w, op->d[0])};
}

EMU_DEVICE_DATA static void run32(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                                  const struct operands *o, bool replaces, op32 *fn)
{
    check_atomic(w, op, a, 4, replaces);
    EMU_EACH_LANE(l, a->mask)
    {
        uint32_t *p = (uint32_t *)a->p[l];
        uint32_t x = o->a[l], y = o->b ? o->b[l] : 0;
        uint32_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, fn(old, x, y), false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED))
            ;
        if (o->d)
            o->d[l] = old;
    }
    EMU_EACH_LANE(l, a->zero)
    if (o->d)
        o->d[l] = 0;
    if (w->strict)
        mark_written(a, 4);
}

EMU_DEVICE_DATA static void run64(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                                  const struct operands *o, bool replaces, op64 *fn)
{
    const unsigned n = w->lanes;
    check_atomic(w, op, a, 8, replaces);
    EMU_EACH_LANE(l, a->mask)
    {
        uint64_t *p = (uint64_t *)a->p[l];
        uint64_t x = o->a[l] | (uint64_t)o->a[n + l] << 32;
        uint64_t y = o->b ? o->b[l] | (uint64_t)o->b[n + l] << 32 : 0;
        uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, fn(old, x, y), false, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED))
            ;
        if (o->d) {
            o->d[l] = (uint32_t)old;
            o->d[n + l] = (uint32_t)(old >> 32);
        }
    }
    EMU_EACH_LANE(l, a->zero)
    if (o->d)
        o->d[l] = o->d[n + l] = 0;
    if (w->strict)
        mark_written(a, 8);
}

static bool is_swap(const char *name)
{
    return strncmp(name, "swap", 4) == 0 || strcmp(name, "wrxchg") == 0;
}

static bool is_cmpswap(const char *name)
{
    return strncmp(name, "cmpswap", 7) == 0;
}

#define I32(x) ((int32_t)(x))
#define I64(x) ((int64_t)(x))

#define ATOMIC32(name, ...)                                                                        \
    static uint32_t name##_op(uint32_t old, uint32_t a, uint32_t b)                                \
    {                                                                                              \
        (void)old, (void)a, (void)b;                                                               \
        return __VA_ARGS__;                                                                        \
    }
#define ATOMIC64(name, ...)                                                                        \
    static uint64_t name##_op(uint64_t old, uint64_t a, uint64_t b)                                \
    {                                                                                              \
        (void)old, (void)a, (void)b;                                                               \
        return __VA_ARGS__;                                                                        \
    }
#define DS_ATOMIC32(op, type, ...) ATOMIC32(ds_##op##_##type, __VA_ARGS__)
#define DS_ATOMIC64(op, type, ...) ATOMIC64(ds_##op##_##type, __VA_ARGS__)
#include "sem_memory.def"

#define ATOMIC_FN(fn, where, name, bits)                                                           \
    void EMU_DO(fn)(struct emu_wave * w, const struct emu_op *op)                                  \
    {                                                                                              \
        struct emu_where a;                                                                        \
        where(w, op, &a, bits / 8, EMU_RMW);                                                       \
        struct operands o = global_operands(w, op, bits / 32, is_cmpswap(#name));                  \
        run##bits(w, op, &a, &o, is_swap(#name), name##_op);                                       \
    }
#define DS_ATOMIC_FN(fn, op_, base, bits)                                                          \
    void EMU_DO(fn)(struct emu_wave * w, const struct emu_op *op)                                  \
    {                                                                                              \
        struct emu_where a;                                                                        \
        emu_where_lds(w, op, &a, (unsigned)op->insn->offset, bits / 8, EMU_RMW);                   \
        struct operands o = lds_operands(w, op);                                                   \
        run##bits(w, op, &a, &o, is_swap(#op_), base##_op);                                        \
    }
#define GLOBAL_ATOMICS(name, bits)                                                                 \
    ATOMIC_FN(global_atomic_##name, emu_where_global, name, bits)                                  \
    ATOMIC_FN(flat_atomic_##name, emu_where_flat, name, bits)                                      \
    ATOMIC_FN(buffer_atomic_##name, emu_where_buffer, name, bits)
#define ATOMIC32(name, ...) GLOBAL_ATOMICS(name, 32)
#define ATOMIC64(name, ...) GLOBAL_ATOMICS(name, 64)
#define DS_ATOMIC32(op, type, ...)                                                                 \
    DS_ATOMIC_FN(ds_##op##_##type, op, ds_##op##_##type, 32)                                       \
    DS_ATOMIC_FN(ds_##op##_rtn_##type, op, ds_##op##_##type, 32)
#define DS_ATOMIC64(op, type, ...)                                                                 \
    DS_ATOMIC_FN(ds_##op##_##type, op, ds_##op##_##type, 64)                                       \
    DS_ATOMIC_FN(ds_##op##_rtn_##type, op, ds_##op##_##type, 64)
#include "sem_memory.def"

/* Two exchanges in one instruction; offsets count elements, or 64 elements. */
static void exchange2(struct emu_wave *w, const struct emu_op *op, unsigned bits, unsigned stride)
{
    const unsigned bytes = bits / 8, words = bits / 32;
    const unsigned offset[2] = {op->insn->offset0, op->insn->offset1};
    uint32_t second[2 * 64]; /* the first result may overwrite the second operand */
    struct emu_where a[2];
    memcpy(second, emu_row(w, op->s[2]), words * w->lanes * sizeof *second);
    for (int i = 0; i < 2; i++)
        emu_where_lds(w, op, &a[i], offset[i] * stride * bytes, bytes, EMU_RMW);
    for (int i = 0; i < 2; i++) {
        struct emu_op half = *op;
        half.d[0] = (uint16_t)(op->d[0] + (unsigned)i * words);
        struct operands o = lds_operands(w, &half);
        o.a = i ? second : o.a;
        o.b = NULL;
        if (bits == 32)
            run32(w, &half, &a[i], &o, true, swap_op);
        else
            run64(w, &half, &a[i], &o, true, swap_x2_op);
    }
}

#define EXCHANGE2(name, bits, stride)                                                              \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        exchange2(w, op, bits, stride);                                                            \
    }
EXCHANGE2(ds_wrxchg2_rtn_b32, 32, 1)
EXCHANGE2(ds_wrxchg2_rtn_b64, 64, 1)
EXCHANGE2(ds_wrxchg2st64_rtn_b32, 32, 64)
EXCHANGE2(ds_wrxchg2st64_rtn_b64, 64, 64)

/*
 * Adds or subtracts the number of active lanes; every active lane gets the value before. The manuals
 * call the place M0.base; compilers put the LDS address into M0 as it is.
 */
static void append(struct emu_wave *w, const struct emu_op *op, int sign)
{
    uint64_t exec = emu_exec(w);
    unsigned first = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    struct emu_where a;
    a.mask = exec ? UINT64_C(1) << first : 0;
    a.addr[first] = (w->s[EMU_S_M0] & 0xffff) + (uint32_t)op->insn->offset;
    emu_where_lds_at(w, &a, 4, EMU_RMW);
    if (!exec)
        return;
    check_atomic(w, op, &a, 4, false);
    uint32_t *p = (uint32_t *)a.p[first], old = *p, *d = emu_row(w, op->d[0]);
    *p = old + (uint32_t)(sign * __builtin_popcountll(exec));
    EMU_EACH_LANE(l, exec)
    d[l] = old;
}

void EMU_DO(ds_append)(struct emu_wave *w, const struct emu_op *op)
{
    append(w, op, 1);
}

void EMU_DO(ds_consume)(struct emu_wave *w, const struct emu_op *op)
{
    append(w, op, -1);
}
