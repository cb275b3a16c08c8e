/*
 * v_cmp and v_cmpx: every predicate on every type, and the class tests.
 */
#include "oracle.h"

static int order_f(const struct oracle_lane *x, const struct sf_format *f)
{
    struct sf_env env = oracle_env(x->mode, f);

    return sf_compare(sf_load(f, x->s[0], &env), sf_load(f, x->s[1], &env));
}

static int order_i(const struct oracle_lane *x, unsigned bits)
{
    int64_t a = (int64_t)(x->s[0] << (64 - bits)), b = (int64_t)(x->s[1] << (64 - bits));

    return (a > b) - (a < b);
}

static int order_u(const struct oracle_lane *x, unsigned bits)
{
    uint64_t a = x->s[0] << (64 - bits), b = x->s[1] << (64 - bits);

    return (a > b) - (a < b);
}

/* Which kinds of number the mask S1 asks for; denormals count as such whatever MODE says. */
static bool class_of(const struct oracle_lane *x, const struct sf_format *f)
{
    struct sf a = sf_unpack(f, x->s[0]);
    unsigned bit;

    if (a.cls == SF_IS_NAN)
        bit = a.signalling ? 0 : 1;
    else if (a.cls == SF_IS_INF)
        bit = a.sign ? 2 : 9;
    else if (a.cls == SF_IS_ZERO)
        bit = a.sign ? 5 : 6;
    else if (a.denormal)
        bit = a.sign ? 4 : 7;
    else
        bit = a.sign ? 3 : 8;
    return x->s[1] >> bit & 1;
}

/* r: -1, 0, 1, and 2 for unordered */
#define FLOAT_PREDICATES(ROW)                                                                      \
    ROW(lt, lt, lt, r == -1)                                                                       \
    ROW(eq, eq, eq, r == 0)                                                                        \
    ROW(le, le, le, r == -1 || r == 0)                                                             \
    ROW(gt, gt, gt, r == 1)                                                                        \
    ROW(lg, lg, lg, r == -1 || r == 1)                                                             \
    ROW(ge, ge, ge, r == 1 || r == 0)                                                              \
    ROW(o, o, o, r != 2)                                                                           \
    ROW(u, u, u, r == 2)                                                                           \
    ROW(nge, nge, nge, !(r == 1 || r == 0))                                                        \
    ROW(nlg, nlg, nlg, !(r == -1 || r == 1))                                                       \
    ROW(ngt, ngt, ngt, r != 1)                                                                     \
    ROW(nle, nle, nle, !(r == -1 || r == 0))                                                       \
    ROW(neq, neq, neq, r != 0)                                                                     \
    ROW(nlt, nlt, nlt, r != -1)
#define FLOAT_CONSTANTS(ROW)                                                                       \
    ROW(f, f, f, r == 9)                                                                           \
    ROW(tru, tru, t, r != 9)

#define COMMON_PREDICATES(ROW)                                                                     \
    ROW(lt, lt, lt, r < 0)                                                                         \
    ROW(eq, eq, eq, r == 0)                                                                        \
    ROW(le, le, le, r <= 0)                                                                        \
    ROW(gt, gt, gt, r > 0)                                                                         \
    ROW(ne, ne, ne, r != 0)                                                                        \
    ROW(ge, ge, ge, r >= 0)
#define CONSTANT_PREDICATES(ROW)                                                                   \
    ROW(f, f, f, r == 9)                                                                           \
    ROW(t, t, t, r != 9)

#define DEFINE(pred, type, order, condition)                                                       \
    static void do_##pred##_##type(struct oracle_lane *x)                                          \
    {                                                                                              \
        int r = order;                                                                             \
        (void)r;                                                                                   \
        x->carry = condition;                                                                      \
    }
#define F16(p, n9, n11, c) DEFINE(p, f16, order_f(x, &sf_f16), c)
#define F32(p, n9, n11, c) DEFINE(p, f32, order_f(x, &sf_f32), c)
#define F64(p, n9, n11, c) DEFINE(p, f64, order_f(x, &sf_f64), c)
#define I16(p, n9, n11, c) DEFINE(p, i16, order_i(x, 16), c)
#define U16(p, n9, n11, c) DEFINE(p, u16, order_u(x, 16), c)
#define I32(p, n9, n11, c) DEFINE(p, i32, order_i(x, 32), c)
#define U32(p, n9, n11, c) DEFINE(p, u32, order_u(x, 32), c)
#define I64(p, n9, n11, c) DEFINE(p, i64, order_i(x, 64), c)
#define U64(p, n9, n11, c) DEFINE(p, u64, order_u(x, 64), c)
FLOAT_PREDICATES(F16)
FLOAT_CONSTANTS(F16)
FLOAT_PREDICATES(F32)
FLOAT_CONSTANTS(F32)
FLOAT_PREDICATES(F64)
FLOAT_CONSTANTS(F64)
COMMON_PREDICATES(I16)
CONSTANT_PREDICATES(I16)
COMMON_PREDICATES(U16)
CONSTANT_PREDICATES(U16)
COMMON_PREDICATES(I32)
CONSTANT_PREDICATES(I32)
COMMON_PREDICATES(U32)
CONSTANT_PREDICATES(U32)
COMMON_PREDICATES(I64)
CONSTANT_PREDICATES(I64)
COMMON_PREDICATES(U64)
CONSTANT_PREDICATES(U64)

static void do_class_f16(struct oracle_lane *x)
{
    x->carry = class_of(x, &sf_f16);
}

static void do_class_f32(struct oracle_lane *x)
{
    x->carry = class_of(x, &sf_f32);
}

static void do_class_f64(struct oracle_lane *x)
{
    x->carry = class_of(x, &sf_f64);
}

#undef F16
#undef F32
#undef F64
#undef I16
#undef U16
#undef I32
#undef U32
#undef I64
#undef U64
#define ENTRY(pred, n9, n11, type, sig, targets, flags)                                            \
    {VC,    "v_cmp_" #pred "_" #type, {"_" #n9 "_" #type, "_" #n11 "_" #type}, sig, targets,       \
     flags, do_##pred##_##type},
#define F16(p, n9, n11, c) ENTRY(p, n9, n11, f16, "m:hh", ALL, 0)
#define F32(p, n9, n11, c) ENTRY(p, n9, n11, f32, "m:ff", ALL, 0)
#define F64(p, n9, n11, c) ENTRY(p, n9, n11, f64, "m:dd", ALL, F_NODPP | F_NOSDWA)
#define I16(p, n9, n11, c) ENTRY(p, n9, n11, i16, "m:ss", ALL, F_NOOPSEL)
#define U16(p, n9, n11, c) ENTRY(p, n9, n11, u16, "m:ww", ALL, F_NOOPSEL)
#define I32(p, n9, n11, c) ENTRY(p, n9, n11, i32, "m:ii", ALL, 0)
#define U32(p, n9, n11, c) ENTRY(p, n9, n11, u32, "m:uu", ALL, 0)
#define I64(p, n9, n11, c) ENTRY(p, n9, n11, i64, "m:II", ALL, F_NODPP | F_NOSDWA)
#define U64(p, n9, n11, c) ENTRY(p, n9, n11, u64, "m:UU", ALL, F_NODPP | F_NOSDWA)
/* gfx12 has no constant predicates, gfx11 none on 16-bit integers */
#define F16C(p, n9, n11, c) ENTRY(p, n9, n11, f16, "m:hh", BEFORE12, 0)
#define F32C(p, n9, n11, c) ENTRY(p, n9, n11, f32, "m:ff", BEFORE12, 0)
#define F64C(p, n9, n11, c) ENTRY(p, n9, n11, f64, "m:dd", BEFORE12, F_NODPP | F_NOSDWA)
#define I32C(p, n9, n11, c) ENTRY(p, n9, n11, i32, "m:ii", BEFORE12, 0)
#define U32C(p, n9, n11, c) ENTRY(p, n9, n11, u32, "m:uu", BEFORE12, 0)
#define I64C(p, n9, n11, c) ENTRY(p, n9, n11, i64, "m:II", BEFORE12, F_NODPP | F_NOSDWA)
#define U64C(p, n9, n11, c) ENTRY(p, n9, n11, u64, "m:UU", BEFORE12, F_NODPP | F_NOSDWA)
#define I16C(p, n9, n11, c) ENTRY(p, n9, n11, i16, "m:ss", G90A | G942, F_NOOPSEL)
#define U16C(p, n9, n11, c) ENTRY(p, n9, n11, u16, "m:ww", G90A | G942, F_NOOPSEL)

const struct oracle_op oracle_compares[] = {
    FLOAT_PREDICATES(F16) FLOAT_CONSTANTS(F16C) FLOAT_PREDICATES(F32) FLOAT_CONSTANTS(F32C)
        FLOAT_PREDICATES(F64) FLOAT_CONSTANTS(F64C) COMMON_PREDICATES(I16) CONSTANT_PREDICATES(I16C)
            COMMON_PREDICATES(U16) CONSTANT_PREDICATES(U16C) COMMON_PREDICATES(I32)
                CONSTANT_PREDICATES(I32C) COMMON_PREDICATES(U32) CONSTANT_PREDICATES(U32C)
                    COMMON_PREDICATES(I64) CONSTANT_PREDICATES(I64C) COMMON_PREDICATES(U64)
                        CONSTANT_PREDICATES(U64C)
    /* the class tests: float and a mask of ten bits */
    ENTRY(class, class, class, f16, "m:hw", ALL, F_NOOPSEL)
        ENTRY(class, class, class, f32, "m:fu", ALL, 0)
            ENTRY(class, class, class, f64, "m:du", ALL, F_NODPP | F_NOSDWA)};
const unsigned oracle_compare_count = sizeof oracle_compares / sizeof *oracle_compares;
