/*
 * Exact floating point on integers: unpack, add, multiply, fuse, divide, root, round, pack.
 */
#include "softfloat.h"

const struct sf_format sf_f16 = {5, 10, false, false};
const struct sf_format sf_bf16 = {8, 7, false, false};
const struct sf_format sf_f32 = {8, 23, false, false};
const struct sf_format sf_f64 = {11, 52, false, false};
const struct sf_format sf_fp8 = {4, 3, true, false};
const struct sf_format sf_bf8 = {5, 2, true, false};
const struct sf_format sf_fp8_ocp = {4, 3, false, true};
const struct sf_format sf_bf8_ocp = {5, 2, false, false};
const struct sf_format sf_fp6 = {2, 3, false, true};
const struct sf_format sf_bf6 = {3, 2, false, true};
const struct sf_format sf_fp4 = {2, 1, false, true};

/* Finite significands are normalised to this many bits before an alignment. */
#define SF_TOP 126

static int bias_of(const struct sf_format *f)
{
    return (1 << (f->exp_bits - 1)) - (f->fnuz ? 0 : 1);
}

static int bit_length(sf_u128 x)
{
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;

    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

struct sf sf_nan(void)
{
    return (struct sf){.cls = SF_IS_NAN, .payload = UINT64_C(1) << 51};
}

struct sf sf_zero(bool sign)
{
    return (struct sf){.cls = SF_IS_ZERO, .sign = sign};
}

struct sf sf_inf(bool sign)
{
    return (struct sf){.cls = SF_IS_INF, .sign = sign};
}

struct sf sf_unpack(const struct sf_format *f, uint64_t bits)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    uint64_t frac = bits & ((UINT64_C(1) << f->frac_bits) - 1);
    unsigned e = (unsigned)(bits >> f->frac_bits) & ((1u << f->exp_bits) - 1);
    struct sf a = {.sign = bits >> (width - 1) & 1};

    if (f->fnuz && bits == UINT64_C(1) << (width - 1))
        return sf_nan();
    if (f->fn && (bits & 0x7f) == 0x7f)
        return sf_nan();
    if (!f->fnuz && !f->fn && e == (1u << f->exp_bits) - 1) {
        a.cls = frac ? SF_IS_NAN : SF_IS_INF;
        a.payload = frac << (52 - f->frac_bits);
        a.signalling = frac && !(frac >> (f->frac_bits - 1) & 1);
        return a;
    }
    if (!e && !frac)
        return sf_zero(a.sign);
    a.cls = SF_IS_FINITE;
    a.denormal = !e;
    a.sig = e ? frac | UINT64_C(1) << f->frac_bits : frac;
    a.exp = (e ? (int)e : 1) - bias_of(f) - (int)f->frac_bits;
    return a;
}

struct sf sf_load(const struct sf_format *f, uint64_t bits, const struct sf_env *env)
{
    struct sf a = sf_unpack(f, bits);

    return a.denormal && !env->denorm_in ? sf_zero(a.sign) : a;
}

/* Shifts right and keeps what is lost as the lowest bit. */
static sf_u128 shift_sticky(sf_u128 x, int n)
{
    if (n <= 0)
        return x << -n;
    if (n >= 128)
        return x != 0;
    return x >> n | ((x & (((sf_u128)1 << n) - 1)) != 0);
}

/* Should a significand with `rest` of `half * 2` cut off go up? */
static bool rounds_up(enum sf_round round, bool sign, bool odd, sf_u128 rest, sf_u128 half)
{
    if (!rest)
        return false;
    switch (round) {
    case SF_NEAREST:
        return rest > half || (rest == half && odd);
    case SF_UP:
        return !sign;
    case SF_DOWN:
        return sign;
    case SF_ZERO:
        break;
    }
    return false;
}

/* The finite number as an integer multiple of 2^lsb. */
static sf_u128 round_at(struct sf a, int lsb, enum sf_round round)
{
    int cut = lsb - a.exp;
    sf_u128 kept, rest, half;

    if (cut <= 0)
        return a.sig << -cut;
    if (cut > 127) { /* all of it is far below the last bit */
        kept = 0;
        rest = 1;
        half = 2;
    } else {
        kept = a.sig >> cut;
        rest = a.sig & (((sf_u128)1 << cut) - 1);
        half = (sf_u128)1 << (cut - 1);
    }
    return kept + rounds_up(round, a.sign, kept & 1, rest, half);
}

static uint64_t pack_nan(const struct sf_format *f, struct sf a)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;

    if (f->fnuz)
        return UINT64_C(1) << (width - 1);
    return (uint64_t)a.sign << (width - 1) | (uint64_t)((1u << f->exp_bits) - 1) << f->frac_bits |
           UINT64_C(1) << (f->frac_bits - 1) | a.payload >> (52 - f->frac_bits);
}

uint64_t sf_pack(const struct sf_format *f, struct sf a, const struct sf_env *env)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    uint64_t sign = (uint64_t)a.sign << (width - 1);
    uint64_t inf = (uint64_t)((1u << f->exp_bits) - 1) << f->frac_bits;
    int emin = 1 - bias_of(f);
    int top, lsb;
    sf_u128 kept;
    uint64_t e;

    if (a.cls == SF_IS_NAN)
        return pack_nan(f, a);
    if (a.cls == SF_IS_INF)
        return sign | inf;
    if (a.cls == SF_IS_ZERO)
        return sign;
    top = a.exp + bit_length(a.sig) - 1; /* 2^top <= |a| < 2^(top+1) */
    lsb = (top < emin ? emin : top) - (int)f->frac_bits;
    kept = round_at(a, lsb, env->round);
    if (kept >> (f->frac_bits + 1)) { /* carried into the next binade */
        kept >>= 1;
        lsb++;
    }
    if (!(kept >> f->frac_bits)) /* denormal or zero */
        return env->denorm_out ? sign | (uint64_t)kept : sign;
    e = (uint64_t)(lsb + (int)f->frac_bits + bias_of(f));
    if (e >= (1u << f->exp_bits) - 1) {
        bool to_inf = env->round == SF_NEAREST || (env->round == SF_UP && !a.sign) ||
                      (env->round == SF_DOWN && a.sign);

        return sign | (to_inf ? inf : inf - 1);
    }
    return sign | e << f->frac_bits | ((uint64_t)kept & ((UINT64_C(1) << f->frac_bits) - 1));
}

uint64_t sf_pack8(const struct sf_format *f, struct sf a, bool saturate)
{
    const uint64_t sign = (uint64_t)a.sign << 7, largest = f->fnuz ? 0x7f : f->fn ? 0x7e : 0x7b;
    const uint64_t nan = f->fnuz ? 0x80 : sign | 0x7f, zero = f->fnuz ? 0 : sign;
    const uint64_t beyond = saturate ? sign | largest : f->fnuz || f->fn ? nan : sign | 0x7c;
    int emin = 1 - bias_of(f), top, lsb;
    sf_u128 kept;
    uint64_t e;

    if (a.cls == SF_IS_NAN)
        return nan;
    if (a.cls == SF_IS_INF)
        return beyond;
    if (a.cls == SF_IS_ZERO)
        return zero;
    top = a.exp + bit_length(a.sig) - 1;
    lsb = (top < emin ? emin : top) - (int)f->frac_bits;
    kept = round_at(a, lsb, SF_NEAREST);
    if (kept >> (f->frac_bits + 1)) {
        kept >>= 1;
        lsb++;
    }
    if (!kept)
        return zero;
    if (!(kept >> f->frac_bits))
        return (uint64_t)kept | sign;
    e = (uint64_t)(lsb + (int)f->frac_bits + bias_of(f));
    e = e << f->frac_bits | ((uint64_t)kept & ((1u << f->frac_bits) - 1));
    return e > largest ? beyond : sign | e;
}

struct sf sf_neg(struct sf a)
{
    a.sign = !a.sign;
    return a;
}

struct sf sf_abs(struct sf a)
{
    a.sign = false;
    return a;
}

static struct sf quiet(struct sf a)
{
    a.signalling = false;
    a.payload |= UINT64_C(1) << 51;
    return a;
}

static struct sf normalise(struct sf a)
{
    int n = SF_TOP - bit_length(a.sig);

    a.sig = shift_sticky(a.sig, -n);
    a.exp -= n;
    return a;
}

struct sf sf_add(struct sf a, struct sf b, enum sf_round round)
{
    struct sf r, big, small;

    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (b.cls == SF_IS_NAN)
        return quiet(b);
    if (a.cls == SF_IS_INF)
        return b.cls == SF_IS_INF && a.sign != b.sign ? sf_nan() : a;
    if (b.cls == SF_IS_INF)
        return b;
    if (a.cls == SF_IS_ZERO && b.cls == SF_IS_ZERO)
        return a.sign == b.sign ? a : sf_zero(round == SF_DOWN);
    if (a.cls == SF_IS_ZERO)
        return b;
    if (b.cls == SF_IS_ZERO)
        return a;
    a = normalise(a);
    b = normalise(b);
    big = a.exp >= b.exp ? a : b;
    small = a.exp >= b.exp ? b : a;
    small.sig = shift_sticky(small.sig, big.exp - small.exp);
    r = big;
    r.denormal = false;
    if (a.sign == b.sign) {
        r.sig = shift_sticky(big.sig + small.sig, 1);
        r.exp++;
        return r;
    }
    if (big.sig == small.sig)
        return sf_zero(round == SF_DOWN);
    if (big.sig > small.sig) {
        r.sig = big.sig - small.sig;
    } else {
        r.sig = small.sig - big.sig;
        r.sign = small.sign;
    }
    return r;
}

/* Operands of at most 63 significant bits, as all unpacked ones. */
struct sf sf_mul(struct sf a, struct sf b)
{
    struct sf r = {.sign = a.sign != b.sign};

    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (b.cls == SF_IS_NAN)
        return quiet(b);
    if (a.cls == SF_IS_INF || b.cls == SF_IS_INF)
        return a.cls == SF_IS_ZERO || b.cls == SF_IS_ZERO ? sf_nan() : sf_inf(r.sign);
    if (a.cls == SF_IS_ZERO || b.cls == SF_IS_ZERO)
        return sf_zero(r.sign);
    r.cls = SF_IS_FINITE;
    r.sig = a.sig * b.sig;
    r.exp = a.exp + b.exp;
    return r;
}

struct sf sf_fma(struct sf a, struct sf b, struct sf c, enum sf_round round)
{
    struct sf p = sf_mul(a, b);

    if (a.cls != SF_IS_NAN && b.cls != SF_IS_NAN && c.cls == SF_IS_NAN)
        return quiet(c);
    return sf_add(p, c, round);
}

struct sf sf_div(struct sf a, struct sf b)
{
    struct sf r = {.sign = a.sign != b.sign};
    int up;

    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (b.cls == SF_IS_NAN)
        return quiet(b);
    if (a.cls == SF_IS_INF)
        return b.cls == SF_IS_INF ? sf_nan() : sf_inf(r.sign);
    if (b.cls == SF_IS_INF)
        return sf_zero(r.sign);
    if (b.cls == SF_IS_ZERO)
        return a.cls == SF_IS_ZERO ? sf_nan() : sf_inf(r.sign);
    if (a.cls == SF_IS_ZERO)
        return sf_zero(r.sign);
    up = 127 - bit_length(a.sig);
    a.sig <<= up;
    r.cls = SF_IS_FINITE;
    r.sig = a.sig / b.sig << 1 | (a.sig % b.sig != 0);
    r.exp = a.exp - up - b.exp - 1;
    return r;
}

struct sf sf_sqrt(struct sf a)
{
    struct sf r = {.cls = SF_IS_FINITE};
    sf_u128 root = 0, bit;
    int up;

    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (a.cls == SF_IS_ZERO)
        return a;
    if (a.sign)
        return sf_nan();
    if (a.cls == SF_IS_INF)
        return a;
    up = 125 - bit_length(a.sig);
    if ((a.exp - up) & 1)
        up--;
    a.sig = shift_sticky(a.sig, -up);
    a.exp -= up;
    for (bit = (sf_u128)1 << 63; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= a.sig)
            root |= bit;
    r.sig = root << 1 | (root * root != a.sig);
    r.exp = a.exp / 2 - 1;
    return r;
}

struct sf sf_scale(struct sf a, int n)
{
    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (a.cls == SF_IS_FINITE)
        a.exp += n;
    return a;
}

struct sf sf_integral(struct sf a, enum sf_round round)
{
    if (a.cls == SF_IS_NAN)
        return quiet(a);
    if (a.cls != SF_IS_FINITE || a.exp >= 0)
        return a;
    a.sig = round_at(a, 0, round);
    a.exp = 0;
    if (!a.sig)
        return sf_zero(a.sign);
    return a;
}

struct sf sf_from_uint(uint64_t x)
{
    return x ? (struct sf){.cls = SF_IS_FINITE, .sig = x} : sf_zero(false);
}

struct sf sf_from_int(int64_t x)
{
    struct sf a = sf_from_uint(x < 0 ? -(uint64_t)x : (uint64_t)x);

    a.sign = x < 0;
    return a;
}

int64_t sf_to_int(struct sf a, int64_t lo, int64_t hi)
{
    sf_i128 x;

    if (a.cls == SF_IS_NAN || a.cls == SF_IS_ZERO)
        return 0;
    if (a.cls == SF_IS_INF || bit_length(a.sig) + a.exp > 70)
        return a.sign ? lo : hi;
    x = (sf_i128)round_at(a, 0, SF_ZERO);
    x = a.sign ? -x : x;
    return x < lo ? lo : x > hi ? hi : (int64_t)x;
}

uint64_t sf_to_uint(struct sf a, uint64_t hi)
{
    sf_u128 x;

    if (a.cls == SF_IS_NAN || a.cls == SF_IS_ZERO || a.sign)
        return 0;
    if (a.cls == SF_IS_INF || bit_length(a.sig) + a.exp > 70)
        return hi;
    x = round_at(a, 0, SF_ZERO);
    return x > hi ? hi : (uint64_t)x;
}

int sf_compare(struct sf a, struct sf b)
{
    struct sf d;

    if (a.cls == SF_IS_NAN || b.cls == SF_IS_NAN)
        return 2;
    if (a.cls == SF_IS_INF || b.cls == SF_IS_INF) {
        int x = a.cls == SF_IS_INF ? (a.sign ? -1 : 1) : 0;
        int y = b.cls == SF_IS_INF ? (b.sign ? -1 : 1) : 0;

        return (x > y) - (x < y);
    }
    d = sf_add(a, sf_neg(b), SF_NEAREST);
    return d.cls == SF_IS_ZERO ? 0 : d.sign ? -1 : 1;
}

bool sf_is_nan_bits(const struct sf_format *f, uint64_t bits)
{
    return sf_unpack(f, bits).cls == SF_IS_NAN;
}

bool sf_is_quiet_bits(const struct sf_format *f, uint64_t bits)
{
    struct sf a = sf_unpack(f, bits);

    return a.cls == SF_IS_NAN && !a.signalling;
}
