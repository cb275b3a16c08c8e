/*
 * Vector ALU operations of one lane: the functions that oracle_valu.def calls, and its table.
 */
#include "oracle.h"

#define D x->d
#define D0 x->old
#define S0 x->s[0]
#define S1 x->s[1]
#define S2 x->s[2]
#define LO(v) ((v) & 0xffff)
#define HI(v) ((v) >> 16 & 0xffff)
#define PAIR(lo, hi) (((uint64_t)(lo) & 0xffff) | ((uint64_t)(hi) & 0xffff) << 16)
#define CARRY(sum)                                                                                 \
    uint64_t r = (sum);                                                                            \
    x->d = (uint32_t)r;                                                                            \
    x->carry = r >> 32 & 1
#define MAD64(product, addend)                                                                     \
    sf_u128 r = (sf_u128)(product) + (addend);                                                     \
    x->d = (uint64_t)r;                                                                            \
    x->carry = r >> 64 & 1
#define MAD64S(product, addend)                                                                    \
    sf_i128 r = (sf_i128)(product) + (int64_t)(addend);                                            \
    x->d = (uint64_t)r;                                                                            \
    x->carry = (sf_u128)r >> 64 & 1

const struct oracle_machine oracle_machines[ORACLE_TARGETS] = {
    {"gfx90a", "gfx90a", "", 64, false, G90A},
    {"gfx942", "gfx942", "", 64, false, G942},
    {"gfx1100", "gfx1100", "+wavefrontsize32,-wavefrontsize64", 32, true, G1100},
    {"gfx1151", "gfx1151", "+wavefrontsize32,-wavefrontsize64", 32, true, G1151},
    {"gfx1100 wave64", "gfx1100", "-wavefrontsize32,+wavefrontsize64", 64, true, G1100},
};

unsigned oracle_bits(char type)
{
    switch (type) {
    case 'c':
        return 8;
    case 'h':
    case 'T':
    case 'e':
    case 's':
    case 'w':
    case 'x':
        return 16;
    case 'd':
    case 'I':
    case 'U':
    case 'q':
    case 'F':
    case 'N':
        return 64;
    case 'z':
        return 128;
    case 'm':
        return 1;
    default:
        return 32;
    }
}

const struct sf_format *oracle_format(char type)
{
    switch (type) {
    case 'f':
    case 't':
    case 'F':
        return &sf_f32;
    case 'h':
    case 'T':
    case 'Y':
        return &sf_f16;
    case 'd':
        return &sf_f64;
    case 'e':
        return &sf_bf16;
    default:
        return NULL;
    }
}

/* bf16 follows the f32 fields, f16 and f64 share theirs. */
struct sf_env oracle_env(uint32_t mode, const struct sf_format *f)
{
    bool single = f == &sf_f32 || f == &sf_bf16;
    unsigned denorm = mode >> (single ? 4 : 6) & 3;

    return (struct sf_env){(enum sf_round)(mode >> (single ? 0 : 2) & 3), denorm & 1, denorm >> 1};
}

static struct sf load(const struct oracle_lane *x, const struct sf_format *f, uint64_t bits)
{
    struct sf_env env = oracle_env(x->mode, f);

    return sf_load(f, bits, &env);
}

static uint64_t pack(const struct oracle_lane *x, const struct sf_format *f, struct sf a)
{
    struct sf_env env = oracle_env(x->mode, f);

    return sf_pack(f, a, &env);
}

static uint64_t pack_as(const struct sf_format *f, struct sf a, enum sf_round round, bool denorm)
{
    struct sf_env env = {round, denorm, denorm};

    return sf_pack(f, a, &env);
}

static enum sf_round round_of(const struct oracle_lane *x, const struct sf_format *f)
{
    return oracle_env(x->mode, f).round;
}

static void permit(struct oracle_lane *x, uint64_t alternative)
{
    x->alt = alternative;
    x->has_alt = true;
}

/* ---- arithmetic */

static uint64_t add(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_add(load(x, f, a), load(x, f, b), round_of(x, f)));
}

static uint64_t sub(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_add(load(x, f, a), sf_neg(load(x, f, b)), round_of(x, f)));
}

static uint64_t mul(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_mul(load(x, f, a), load(x, f, b)));
}

static uint64_t fma_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                     uint64_t c)
{
    return pack(x, f, sf_fma(load(x, f, a), load(x, f, b), load(x, f, c), round_of(x, f)));
}

/*
 * v_mad and v_mac round the product before the sum and flush denormals whatever MODE says; for f16
 * some manuals let MODE decide, so that is permitted.
 */
static uint64_t mad(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                    uint64_t c)
{
    struct sf_env env = {round_of(x, f), false, false};
    uint64_t p = sf_pack(f, sf_mul(sf_load(f, a, &env), sf_load(f, b, &env)), &env);
    uint64_t r = sf_pack(f, sf_add(sf_load(f, p, &env), sf_load(f, c, &env), env.round), &env);

    if (f == &sf_f16)
        permit(x, add(x, f, mul(x, f, a, b), c));
    return r;
}

static bool zero_for(const struct oracle_lane *x, uint64_t bits)
{
    return load(x, &sf_f32, bits).cls == SF_IS_ZERO;
}

static uint64_t dx9_mul(struct oracle_lane *x, uint64_t a, uint64_t b)
{
    return zero_for(x, a) || zero_for(x, b) ? 0 : mul(x, &sf_f32, a, b);
}

/* Zero times anything is +0 and is added: the manual's shortcut to S2 differs in +0 + -0 only. */
static uint64_t dx9_fma(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    if (zero_for(x, a) || zero_for(x, b)) {
        permit(x, pack(x, &sf_f32, sf_add(sf_zero(false), load(x, &sf_f32, c), SF_NEAREST)));
        return c;
    }
    return fma_(x, &sf_f32, a, b, c);
}

static uint64_t dx9_mad(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    struct sf_env env = {round_of(x, &sf_f32), false, false};

    if (sf_unpack(&sf_f32, a).denormal || sf_unpack(&sf_f32, b).denormal ||
        sf_unpack(&sf_f32, c).denormal)
        x->open = 1; /* is a flushed denormal a zero for the legacy rule? */
    if (sf_is_nan_bits(&sf_f32, c) && !sf_is_quiet_bits(&sf_f32, c))
        x->open = 1; /* does the addend pass as it is? */
    if (sf_load(&sf_f32, a, &env).cls == SF_IS_ZERO ||
        sf_load(&sf_f32, b, &env).cls == SF_IS_ZERO) {
        permit(x, sf_pack(&sf_f32, sf_add(sf_zero(false), sf_load(&sf_f32, c, &env), SF_NEAREST),
                          &env));
        return sf_pack(&sf_f32, sf_load(&sf_f32, c, &env), &env);
    }
    return mad(x, &sf_f32, a, b, c);
}

static uint64_t quieted(const struct sf_format *f, uint64_t bits)
{
    return bits | UINT64_C(1) << (f->frac_bits - 1);
}

/* A number passed through by min and max; denormals obey MODE. */
static uint64_t through(const struct oracle_lane *x, const struct sf_format *f, uint64_t bits)
{
    return sf_is_nan_bits(f, bits) ? bits : pack(x, f, load(x, f, bits));
}

/*
 * The number if one operand is NaN. IEEE mode returns a signalling NaN of either operand, quieted.
 * With two NaNs gfx9's text returns S1 and gfx11's S0.
 */
static uint64_t extremum(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                         bool greatest)
{
    bool an = sf_is_nan_bits(f, a), bn = sf_is_nan_bits(f, b);
    struct sf p, q;
    int order;

    if (x->mode & MODE_IEEE) {
        if (an && !sf_is_quiet_bits(f, a))
            return quieted(f, a);
        if (bn && !sf_is_quiet_bits(f, b))
            return quieted(f, b);
    }
    if (an && bn) {
        x->any_nan = true;
        return x->gfx11 ? a : b;
    }
    if (an)
        return through(x, f, b);
    if (bn)
        return through(x, f, a);
    p = load(x, f, a);
    q = load(x, f, b);
    order = sf_compare(p, q);
    if (!order) /* -0 is less than +0 */
        order = p.sign == q.sign ? 0 : p.sign ? -1 : 1;
    return pack(x, f, (greatest ? order > 0 : order < 0) ? p : q);
}

static uint64_t min_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return extremum(x, f, a, b, false);
}

static uint64_t max_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return extremum(x, f, a, b, true);
}

static bool less(struct sf a, struct sf b) /* -0 is less than +0 */
{
    int order = sf_compare(a, b);

    return order < 0 || (!order && a.sign && !b.sign);
}

/*
 * The middle one; with a NaN, the least. The text finds it by comparing with the greatest, which
 * takes zeros of both signs for equal.
 */
static uint64_t med3(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                     uint64_t c)
{
    struct sf v[3] = {load(x, f, a), load(x, f, b), load(x, f, c)}, t;

    if (sf_is_nan_bits(f, a) || sf_is_nan_bits(f, b) || sf_is_nan_bits(f, c))
        return min_(x, f, min_(x, f, a, b), c);
    for (int i = 0; i < 3; i++)
        if (less(v[(i + 1) % 2 + 1], v[(i + 1) % 2])) {
            t = v[(i + 1) % 2];
            v[(i + 1) % 2] = v[(i + 1) % 2 + 1];
            v[(i + 1) % 2 + 1] = t;
        }
    if (v[1].cls == SF_IS_ZERO)
        permit(x, pack(x, f, sf_neg(v[1])));
    return pack(x, f, v[1]);
}

static uint64_t mullit(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    struct sf q = load(x, &sf_f32, b), r = load(x, &sf_f32, c);

    if (b == 0xff7fffff || (q.cls == SF_IS_INF && q.sign) || q.cls == SF_IS_NAN ||
        r.cls == SF_IS_NAN || sf_compare(r, sf_zero(false)) <= 0)
        return 0xff7fffff;
    if (zero_for(x, a) || zero_for(x, b))
        permit(x, 0);
    return mul(x, &sf_f32, a, b);
}

static uint64_t ldexp_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int n)
{
    n = n > 100000 ? 100000 : n < -100000 ? -100000 : n;
    return pack(x, f, sf_scale(load(x, f, a), n));
}

/* which: 0 face, 1 S, 2 T, 3 twice the major axis */
static uint64_t cube(struct oracle_lane *x, int which, uint64_t a, uint64_t b, uint64_t c)
{
    const struct sf_format *f = &sf_f32;
    struct sf vx = load(x, f, a), vy = load(x, f, b), vz = load(x, f, c), r;
    struct sf ax = sf_abs(vx), ay = sf_abs(vy), az = sf_abs(vz), zero = sf_zero(false);
    bool z_major = sf_compare(az, ax) >= 0 && sf_compare(az, ay) >= 0;
    bool y_major = !z_major && sf_compare(ay, ax) >= 0;
    struct sf major = z_major ? vz : y_major ? vy : vx;
    bool negative = sf_compare(major, zero) < 0;

    switch (which) {
    case 0:
        return pack(x, f, sf_from_int((z_major ? 4 : y_major ? 2 : 0) + negative));
    case 1:
        r = z_major ? (negative ? sf_neg(vx) : vx) : y_major ? vx : negative ? vz : sf_neg(vz);
        return pack(x, f, r);
    case 2:
        r = y_major ? (negative ? sf_neg(vz) : vz) : sf_neg(vy);
        return pack(x, f, r);
    default:
        return pack(x, f, sf_scale(major, 1));
    }
}

/* ---- conversions */

static uint64_t to_i(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int64_t lo,
                     int64_t hi)
{
    uint64_t mask = hi == INT16_MAX ? 0xffff : 0xffffffff;

    return (uint64_t)sf_to_int(load(x, f, a), lo, hi) & mask;
}

static uint64_t to_u(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t hi)
{
    return sf_to_uint(load(x, f, a), hi);
}

/* floor(S0 + 0.5): the sum is rounded, or not, to f32 */
static uint64_t nearest_i32(struct oracle_lane *x, uint64_t a)
{
    struct sf exact = sf_add(load(x, &sf_f32, a), sf_scale(sf_from_int(1), -1), SF_NEAREST);
    struct sf rounded = sf_unpack(&sf_f32, pack(x, &sf_f32, exact));

    permit(x, (uint32_t)sf_to_int(sf_integral(rounded, SF_DOWN), INT32_MIN, INT32_MAX));
    return (uint32_t)sf_to_int(sf_integral(exact, SF_DOWN), INT32_MIN, INT32_MAX);
}

static uint64_t floor_i32(struct oracle_lane *x, uint64_t a)
{
    permit(x,
           (uint32_t)sf_to_int(sf_integral(sf_unpack(&sf_f32, a), SF_DOWN), INT32_MIN, INT32_MAX));
    return (uint32_t)sf_to_int(sf_integral(load(x, &sf_f32, a), SF_DOWN), INT32_MIN, INT32_MAX);
}

/* f64 to f32: the manuals do not say which of the two rounding fields rules. */
static uint64_t narrow(struct oracle_lane *x, uint64_t a)
{
    struct sf_env env = oracle_env(x->mode, &sf_f32);

    env.round = round_of(x, &sf_f64);
    permit(x, sf_pack(&sf_f32, load(x, &sf_f64, a), &env));
    return pack(x, &sf_f32, load(x, &sf_f64, a));
}

/*
 * Scaled and rounded to the nearest. Which rounding mode rules, whether the product is first
 * rounded to f32 and whether input denormals are flushed is not documented.
 */
static uint64_t norm(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int scale,
                     int lo)
{
    struct sf_env env = {SF_NEAREST, true, true};
    struct sf v = sf_unpack(f, a), once;

    if (v.cls == SF_IS_NAN)
        return 0;
    if ((v.denormal && load(x, f, a).cls == SF_IS_ZERO) || round_of(x, f) || round_of(x, &sf_f32))
        x->open = 1;
    if (sf_compare(v, sf_from_int(lo)) < 0)
        v = sf_from_int(lo);
    if (sf_compare(v, sf_from_int(1)) > 0)
        v = sf_from_int(1);
    v = sf_mul(v, sf_from_int(scale));
    once = sf_unpack(&sf_f32, sf_pack(&sf_f32, v, &env));
    permit(x, (uint64_t)sf_to_int(sf_integral(once, SF_NEAREST), INT32_MIN, INT32_MAX) & 0xffff);
    return (uint64_t)sf_to_int(sf_integral(v, SF_NEAREST), INT32_MIN, INT32_MAX) & 0xffff;
}

static uint64_t snorm(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return norm(x, f, a, 32767, -1);
}

static uint64_t unorm(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return norm(x, f, a, 65535, 0);
}

/* Two of a kind: both take the first reading, or both the second. */
#define BOTH(fn)                                                                                   \
    static uint64_t fn##_pair(struct oracle_lane *x, const struct sf_format *f, uint64_t a,        \
                              uint64_t b)                                                          \
    {                                                                                              \
        uint64_t lo = fn(x, f, a), lo_alt = x->has_alt ? x->alt : lo, hi, hi_alt;                  \
                                                                                                   \
        x->has_alt = false;                                                                        \
        hi = fn(x, f, b);                                                                          \
        hi_alt = x->has_alt ? x->alt : hi;                                                         \
        permit(x, PAIR(lo_alt, hi_alt));                                                           \
        return PAIR(lo, hi);                                                                       \
    }

/* Toward zero whatever MODE says; f16 denormals may be kept whatever it says. */
static uint64_t rtz16(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf_env env = oracle_env(x->mode, f);

    env.round = SF_ZERO;
    permit(x, pack_as(f, load(x, &sf_f32, a), SF_ZERO, true));
    return sf_pack(f, load(x, &sf_f32, a), &env);
}

/* A move that may canonicalise: denormals flushed by MODE. */
static uint64_t canonical(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    permit(x, through(x, f, a));
    return a;
}

BOTH(snorm)
BOTH(unorm)
BOTH(rtz16)
BOTH(canonical)

/* One byte replaced; the conversion to it truncates or rounds to even. */
static uint64_t pk_u8(struct oracle_lane *x, uint64_t a, uint64_t byte, uint64_t into)
{
    unsigned at = (unsigned)(byte & 3) * 8;
    struct sf v = load(x, &sf_f32, a);
    uint64_t rest = into & ~(UINT64_C(255) << at) & 0xffffffff;

    permit(x, rest | sf_to_uint(sf_integral(v, round_of(x, &sf_f32)), 255) << at);
    return rest | sf_to_uint(v, 255) << at;
}

static uint64_t f32_to_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return sf_pack8(f, load(x, &sf_f32, a), x->mode & MODE_FP16_OVFL);
}

/* Stochastic rounding: random bits are added below the last bit that stays, then truncation. How many
 * random bits take part is not documented: 20 of them may lose a sum of exactly one. */
static uint64_t sr_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t random)
{
    struct sf v = load(x, &sf_f32, a);
    const unsigned width = 23 - f->frac_bits;
    int bias = f == &sf_fp8 ? 8 : 16;

    if (v.cls != SF_IS_FINITE)
        return sf_pack8(f, v, x->mode & MODE_FP16_OVFL);
    if (v.denormal || v.exp + 23 < 1 - bias || round_of(x, &sf_f32)) { /* not documented */
        x->open = 1;
        return 0;
    }
    v.sig = (v.sig + (random >> (32 - width))) & ~((UINT64_C(1) << width) - 1);
    return sf_pack8(f, v, x->mode & MODE_FP16_OVFL);
}

static uint64_t pk_f32_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return pack(x, &sf_f32, sf_unpack(f, a & 255)) | pack(x, &sf_f32, sf_unpack(f, a >> 8 & 255))
                                                         << 32;
}

/* ---- to integral values */

/* No manual says whether input denormals are flushed before they are rounded away from zero. */
static uint64_t integral(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                         enum sf_round round)
{
    permit(x, pack(x, f, sf_integral(sf_unpack(f, a), round)));
    return pack(x, f, sf_integral(load(x, f, a), round));
}

/* x - floor x; the largest number below 1 when that rounds to 1 */
static uint64_t fract(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf v = load(x, f, a), r;
    uint64_t one = pack(x, f, sf_from_int(1)), got;

    if (v.cls == SF_IS_NAN)
        return pack(x, f, v);
    r = sf_add(v, sf_neg(sf_integral(v, SF_DOWN)), round_of(x, f));
    got = pack(x, f, r);
    if (got == one) {
        permit(x, one);
        return one - 1;
    }
    if (r.cls == SF_IS_ZERO) /* the sign of zero follows the rounding mode, or is + */
        permit(x, 0);
    return got;
}

/* A denormal is its own exponent and mantissa, or, as the pseudo-code reads, has that of 2^emin. */
static uint64_t frexp_exp(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                          unsigned bits)
{
    struct sf v = load(x, f, a);
    uint64_t mask = bits == 16 ? 0xffff : 0xffffffff;
    int emin = 2 - (1 << (f->exp_bits - 1)), n = 0;

    if (v.cls == SF_IS_ZERO)
        permit(x, (uint64_t)emin & mask);
    if (v.cls != SF_IS_FINITE)
        return 0;
    while (v.sig >> n)
        n++;
    return (uint64_t)(v.exp + n) & mask;
}

static uint64_t frexp_mant(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf v = load(x, f, a);
    int n = 0;

    if (v.cls == SF_IS_NAN)
        permit(x, a);
    if (v.cls == SF_IS_FINITE) {
        while (v.sig >> n)
            n++;
        v.exp = -n;
    }
    return pack(x, f, v);
}

/* ---- transcendental */

/*
 * f32 ones flush denormals even when MODE keeps them; not all manuals say so: both are permitted.
 * f16 and f64 ones may round by MODE or to nearest.
 */
static struct sf trans_load(struct oracle_lane *x, const struct sf_format *f, uint64_t a, bool keep)
{
    struct sf v = keep ? load(x, f, a) : sf_unpack(f, a);

    return !keep && v.denormal ? sf_zero(v.sign) : v;
}

static uint64_t trans(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                      struct sf (*fn)(struct sf))
{
    struct sf_env env = oracle_env(x->mode, f);
    uint64_t kept, flushed;

    env.round = SF_NEAREST;
    kept = sf_pack(f, fn(trans_load(x, f, a, true)), &env);
    if (f != &sf_f32) {
        permit(x, pack(x, f, fn(trans_load(x, f, a, true))));
        return kept;
    }
    flushed = pack_as(f, fn(trans_load(x, f, a, false)), SF_NEAREST, false);
    permit(x, flushed);
    return kept;
}

static struct sf do_exp2(struct sf v)
{
    if (v.cls == SF_IS_FINITE)
        return sf_transcendental(SF_EXP2, v);
    if (v.cls == SF_IS_ZERO)
        return sf_from_int(1);
    return v.cls == SF_IS_INF && v.sign ? sf_zero(false) : v;
}

static struct sf do_log2(struct sf v)
{
    if (v.cls == SF_IS_ZERO)
        return sf_inf(true);
    if (v.cls == SF_IS_NAN)
        return v;
    if (v.sign)
        return sf_nan();
    return v.cls == SF_IS_FINITE ? sf_transcendental(SF_LOG2, v) : v;
}

static struct sf do_rcp(struct sf v)
{
    return sf_div(sf_from_int(1), v);
}

static struct sf do_rsq(struct sf v)
{
    if (v.cls == SF_IS_ZERO)
        return sf_inf(v.sign);
    if (v.cls == SF_IS_NAN)
        return v;
    if (v.sign)
        return sf_nan();
    return v.cls == SF_IS_FINITE ? sf_sqrt(sf_div(sf_from_int(1), v)) : sf_zero(false);
}

static uint64_t exp2_(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, do_exp2);
}

static uint64_t log2_(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    uint64_t r = trans(x, f, a, do_log2);

    if (sf_unpack(f, r).cls == SF_IS_ZERO) /* log 1: the sign of a difference */
        permit(x, pack(x, f, sf_zero(true)));
    return r;
}

static uint64_t rcp(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, do_rcp);
}

static uint64_t root(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, sf_sqrt);
}

/* The f64 one is an approximation on silicon: a rounded root and a rounded quotient will do. */
static uint64_t rsq(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    uint64_t r = trans(x, f, a, do_rsq);

    if (f == &sf_f64) {
        permit(x, rcp(x, f, root(x, f, a)));
        x->open = round_of(x, f) != SF_NEAREST;
    }
    return r;
}

static uint64_t turn(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                     enum sf_function fn)
{
    struct sf v = load(x, f, a), r;

    if (v.cls == SF_IS_NAN || v.cls == SF_IS_INF)
        return pack(x, f, sf_nan());
    r = v.cls == SF_IS_ZERO ? (fn == SF_SIN ? v : sf_from_int(1)) : sf_transcendental(fn, v);
    if (r.cls == SF_IS_ZERO) /* its sign is not documented */
        permit(x, pack(x, f, sf_neg(r)));
    else if (v.denormal) /* flushed or not, to which zero */
        x->open = 1;
    else if (f == &sf_f16 && round_of(x, f)) /* MODE rounding a table's value is not documented */
        x->open = 1;
    return pack_as(f, r, SF_NEAREST, oracle_env(x->mode, f).denorm_out);
}

/* ---- division */

static unsigned exponent_of(const struct sf_format *f, uint64_t bits)
{
    return (unsigned)(bits >> f->frac_bits) & ((1u << f->exp_bits) - 1);
}

static uint64_t div_fixup(struct oracle_lane *x, const struct sf_format *f, uint64_t q, uint64_t b,
                          uint64_t a)
{
    struct sf den = load(x, f, b), num = load(x, f, a), quot;
    bool sign = den.sign != num.sign;
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    int gap = (int)exponent_of(f, a) - (int)exponent_of(f, b);
    uint64_t minus = (uint64_t)sign << (width - 1);

    if (num.cls == SF_IS_NAN)
        return quieted(f, a);
    if (den.cls == SF_IS_NAN)
        return quieted(f, b);
    if ((den.cls == SF_IS_ZERO && num.cls == SF_IS_ZERO) ||
        (den.cls == SF_IS_INF && num.cls == SF_IS_INF))
        return pack(x, f, sf_neg(sf_nan()));
    if (den.cls == SF_IS_ZERO || num.cls == SF_IS_INF)
        return pack(x, f, sf_inf(sign));
    if (den.cls == SF_IS_INF || num.cls == SF_IS_ZERO)
        return minus;
    if ((f == &sf_f32 && gap < -150) || (f == &sf_f64 && gap < -1075)) { /* underflow */
        permit(x,
               pack(x, f, (struct sf){.cls = SF_IS_FINITE, .sign = sign, .sig = 1, .exp = -3000}));
        return minus;
    }
    quot = load(x, f, q);
    if (quot.cls == SF_IS_NAN) /* an estimate that overflowed: infinity on hardware */
        permit(x, pack(x, f, sf_inf(sign)));
    return (pack(x, f, quot) & ~(UINT64_C(1) << (width - 1))) | minus;
}

/*
 * The fused sum, scaled when VCC is set. The text scales by 2^32 (2^64 for f64); silicon was seen
 * to scale by 2^64 (2^128), up when S2 is at least 2 and down otherwise, which is what undoes
 * v_div_scale: that is taken. The sum is rounded before the scaling, or after.
 */
static uint64_t div_fmas(struct oracle_lane *x, const struct sf_format *f, int scale)
{
    struct sf r = sf_fma(load(x, f, S0), load(x, f, S1), load(x, f, S2), round_of(x, f));
    int n = exponent_of(f, S2) >= 1u << (f->exp_bits - 1) ? 2 * scale : -2 * scale;

    if (!x->s[3])
        return pack(x, f, r);
    permit(x, pack(x, f, sf_scale(r, n)));
    return pack(x, f, sf_scale(sf_unpack(f, pack(x, f, r)), n));
}

/* The cases in which manual and silicon agree; elsewhere the result is left open. */
static void div_scale(struct oracle_lane *x, const struct sf_format *f)
{
    uint64_t num = S2, den = S1;
    int gap = (int)exponent_of(f, num) - (int)exponent_of(f, den);
    int far = f == &sf_f32 ? 96 : 768, step = f == &sf_f32 ? 64 : 128;
    int low = f == &sf_f32 ? 23 : 53;
    struct sf a = load(x, f, num), b = load(x, f, den);
    bool plain = a.cls == SF_IS_FINITE && b.cls == SF_IS_FINITE && !a.denormal && !b.denormal &&
                 (int)exponent_of(f, num) > low + 1 &&
                 exponent_of(f, den) < (1u << f->exp_bits) - 4 && gap > -far;

    D = S0;
    x->carry = false;
    if (!plain) {
        x->open = 3;
        return;
    }
    if (gap >= far) {
        x->carry = true;
        if (S0 == S1)
            D = pack(x, f, sf_scale(load(x, f, S0), step));
    }
}

#define DIV_SCALE(f) div_scale(x, f)

/* 2/pi, 1216 bits after the point */
static const uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

/* 53 bits of 2/pi (of which 1201 are known), counted from the point by S1 and by the exponent */
static uint64_t trig_preop(struct oracle_lane *x, uint64_t a, uint64_t index)
{
    int e = (int)exponent_of(&sf_f64, a), shift = (int)(index & 31) * 53, scale;
    uint64_t bits = 0;
    struct sf r;

    if (e > 1077)
        shift += e - 1077;
    for (int i = shift; i < shift + 53; i++)
        bits = bits << 1 | (i < 1201 ? two_over_pi[i / 32] >> (31 - i % 32) & 1 : 0);
    scale = -53 - shift;
    if (e >= 1968)
        scale += 128;
    r = sf_scale(sf_from_uint(bits), scale);
    return pack(x, &sf_f64, r);
}

/* ---- integers */

static uint64_t clamp_u(const struct oracle_lane *x, unsigned bits, int64_t v)
{
    int64_t top = (INT64_C(1) << bits) - 1;

    if (x->clamp)
        v = v < 0 ? 0 : v > top ? top : v;
    return (uint64_t)v & (uint64_t)top;
}

static uint64_t clamp_i(const struct oracle_lane *x, unsigned bits, int64_t v)
{
    int64_t half = INT64_C(1) << (bits - 1);

    if (x->clamp)
        v = v < -half ? -half : v > half - 1 ? half - 1 : v;
    return (uint64_t)v & ((UINT64_C(1) << bits) - 1);
}

static int64_t i24(uint64_t v)
{
    return (int64_t)(v << 40) >> 40;
}

static uint64_t u24(uint64_t v)
{
    return v & 0xffffff;
}

static uint64_t reverse(uint64_t v, unsigned bits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

static uint64_t first_from_top(uint64_t v, unsigned bits, unsigned want)
{
    for (unsigned i = 0; i < bits; i++)
        if ((v >> (bits - 1 - i) & 1) == want)
            return i;
    return 0xffffffff;
}

static uint64_t first_from_bottom(uint64_t v, unsigned bits, unsigned want)
{
    for (unsigned i = 0; i < bits; i++)
        if ((v >> i & 1) == want)
            return i;
    return 0xffffffff;
}

static uint64_t first_unlike_sign(uint64_t v, unsigned bits)
{
    return first_from_top(v, bits, !(v >> (bits - 1) & 1));
}

static uint64_t ones(uint64_t v)
{
    uint64_t n = 0;

    for (int i = 0; i < 64; i++)
        n += v >> i & 1;
    return n;
}

static uint64_t below(unsigned lane)
{
    return (UINT64_C(1) << lane) - 1;
}

static uint64_t bfe_signed(uint64_t v, uint64_t from, uint64_t width)
{
    int64_t field = (int32_t)v >> from;

    if (!width)
        return 0;
    return (uint32_t)((int64_t)((uint64_t)field << (64 - width)) >> (64 - width));
}

static uint64_t lerp8(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;

    for (int at = 0; at < 32; at += 8)
        r |= (((a >> at & 255) + (b >> at & 255) + (c >> at & 1)) >> 1) << at;
    return r;
}

static int64_t sorted(int64_t a, int64_t b, int64_t c, int rank)
{
    int64_t v[3] = {a, b, c}, t;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (v[j] > v[j + 1]) {
                t = v[j];
                v[j] = v[j + 1];
                v[j + 1] = t;
            }
    return v[rank];
}

static int64_t maxmin(int64_t a, int64_t b, int64_t c)
{
    int64_t m = a > b ? a : b;

    return m < c ? m : c;
}

static uint64_t gap(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* masked: bytes of b that are 0 do not count */
static uint64_t sad8(uint64_t a, uint64_t b, int masked)
{
    uint64_t sum = 0;

    for (int at = 0; at < 32; at += 8)
        if (!masked || (b >> at & 255))
            sum += gap(a >> at & 255, b >> at & 255);
    return sum;
}

static uint64_t qsad16(uint64_t a, uint64_t b, uint64_t c, int masked)
{
    uint64_t r = 0;

    for (int i = 0; i < 4; i++)
        r |= ((sad8(a >> 8 * i & 0xffffffff, b, masked) + (c >> 16 * i & 0xffff)) & 0xffff)
             << 16 * i;
    return r;
}

static void mqsad32(struct oracle_lane *x)
{
    uint64_t c[4] = {S2 & 0xffffffff, S2 >> 32, x->s_hi & 0xffffffff, x->s_hi >> 32}, r[4];

    for (int i = 0; i < 4; i++)
        r[i] = (uint32_t)(sad8(S0 >> 8 * i & 0xffffffff, S1, 1) + c[i]);
    D = r[0] | r[1] << 32;
    x->d_hi = r[2] | r[3] << 32;
}

#define MQSAD32() mqsad32(x)

static uint64_t sat8(uint64_t v)
{
    int n = (int16_t)v;

    return (uint64_t)(n < 0 ? 0 : n > 255 ? 255 : n);
}

static uint64_t sat16(int64_t v)
{
    return (uint64_t)(v < -32768 ? -32768 : v > 32767 ? 32767 : v) & 0xffff;
}

static uint64_t perm(uint64_t data, uint64_t selectors)
{
    uint64_t r = 0;

    for (int at = 0; at < 32; at += 8) {
        uint64_t sel = selectors >> at & 255, byte;

        if (sel >= 13)
            byte = 255;
        else if (sel == 12)
            byte = 0;
        else if (sel >= 8) /* sign of byte 1, 3, 5, 7 */
            byte = data >> (16 * (sel - 8) + 15) & 1 ? 255 : 0;
        else
            byte = data >> 8 * sel & 255;
        r |= byte << at;
    }
    return r;
}

/* ---- dot products */

static int64_t element(uint64_t v, unsigned bits, unsigned i, int is_signed)
{
    uint64_t e = v >> i * bits & ((UINT64_C(1) << bits) - 1);

    return is_signed ? (int64_t)(e << (64 - bits)) >> (64 - bits) : (int64_t)e;
}

static uint64_t dot(struct oracle_lane *x, unsigned bits, int a_signed, int b_signed, uint64_t a,
                    uint64_t b, uint64_t c)
{
    int64_t sum = a_signed || b_signed || x->op_is_signed ? (int64_t)(int32_t)c : (int64_t)c;

    for (unsigned i = 0; i < 32 / bits; i++)
        sum += element(a, bits, i, a_signed) * element(b, bits, i, b_signed);
    if (a_signed || b_signed || x->op_is_signed)
        return clamp_i(x, 32, sum);
    return clamp_u(x, 32, sum);
}

/*
 * Two products and a sum, each step rounded, in the order of the manual; or the products summed
 * first; or everything rounded once.
 */
static uint64_t dot2(struct oracle_lane *x, const struct sf_format *in, const struct sf_format *out,
                     uint64_t a, uint64_t b, uint64_t c)
{
    struct sf al = load(x, in, LO(a)), ah = load(x, in, HI(a)), acc = load(x, out, c);
    struct sf bl = load(x, in, LO(b)), bh = load(x, in, HI(b));
    enum sf_round r = round_of(x, out);
    uint64_t step = pack(x, out, sf_fma(al, bl, acc, r));
    struct sf pair = sf_add(sf_mul(al, bl), sf_mul(ah, bh), r);

    if (in == &sf_bf16 && (al.denormal || ah.denormal || bl.denormal || bh.denormal ||
                           !oracle_env(x->mode, in).denorm_in))
        x->open = 1; /* which field of MODE rules bf16 is not documented */
    if (in == out && (r != SF_NEAREST || !oracle_env(x->mode, in).denorm_in ||
                      !oracle_env(x->mode, in).denorm_out))
        x->open = 1; /* where the steps round and flush */
    permit(x, pack(x, out, sf_add(pair, acc, r)));
    return pack(x, out, sf_fma(ah, bh, load(x, out, step), r));
}

static uint64_t dot2_f16(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    return dot2(x, &sf_f16, &sf_f32, a, b, c);
}

static uint64_t dot2_bf16(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    return dot2(x, &sf_bf16, &sf_f32, a, b, c);
}

/* The 16-bit results: each step rounded to 16 bits, as the text reads, or the steps in f32. */
static uint64_t dot2_16(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                        uint64_t c)
{
    uint64_t r = dot2(x, f, f, a, b, c), wide;
    struct sf al = load(x, f, LO(a)), ah = load(x, f, HI(a));
    struct sf bl = load(x, f, LO(b)), bh = load(x, f, HI(b));

    wide = pack_as(&sf_f32, sf_fma(al, bl, load(x, f, c), SF_NEAREST), SF_NEAREST, true);
    wide = pack_as(&sf_f32, sf_fma(ah, bh, sf_unpack(&sf_f32, wide), SF_NEAREST), SF_NEAREST, true);
    permit(x, pack(x, f, sf_unpack(&sf_f32, wide)));
    return r;
}

/*
 * Each source is an f32 or one half of a register as f16 (op_sel_hi, op_sel); neg_lo negates and
 * neg_hi takes the absolute value. A result in f16 is rounded from the f32 sum, or once.
 */
static uint64_t mix(struct oracle_lane *x, int to_f16)
{
    struct sf v[3];
    struct sf sum;
    uint64_t f32;

    for (int i = 0; i < 3; i++) {
        uint64_t raw = x->s[i];

        if (x->opsel_hi >> i & 1) {
            v[i] = sf_unpack(&sf_f16, x->opsel >> i & 1 ? HI(raw) : LO(raw));
            if (v[i].denormal && !oracle_env(x->mode, &sf_f16).denorm_in)
                x->open = 1; /* does MODE flush them here? */
        } else {
            v[i] = load(x, &sf_f32, raw & 0xffffffff);
        }
        if (x->neg_hi >> i & 1)
            v[i].sign = false;
        if (x->neg_lo >> i & 1)
            v[i].sign = !v[i].sign;
    }
    sum = sf_fma(v[0], v[1], v[2], round_of(x, &sf_f32));
    f32 = pack(x, &sf_f32, sum);
    if (!to_f16)
        return f32;
    permit(x, pack(x, &sf_f16, sum));
    return pack(x, &sf_f16, load(x, &sf_f32, f32));
}

#define OP(kind, sem, n9, n11, sig, targets, flags, body)                                          \
    static void do_##sem(struct oracle_lane *x)                                                    \
    {                                                                                              \
        body;                                                                                      \
    }
#include "oracle_valu.def"
#undef OP

#define OP(kind, sem, n9, n11, sig, targets, flags, body)                                          \
    {kind, #sem, {n9, n11}, sig, targets, flags, do_##sem},
const struct oracle_op oracle_valu[] = {
#include "oracle_valu.def"
};
const unsigned oracle_valu_count = sizeof oracle_valu / sizeof *oracle_valu;
