/*
 * Exact floating point for the oracle: every operation is computed on integers and rounded once.
 *
 * A number is unpacked into (-1)^sign * sig * 2^exp; sums whose terms lie too far apart to be held
 * exactly keep the lost part as a sticky lowest bit, far below the last bit of any format. Nothing
 * here uses the host's floating point, except the transcendental functions of softfloat_trans.c.
 */
#ifndef AOTHIP_TEST_SOFTFLOAT_H
#define AOTHIP_TEST_SOFTFLOAT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 sf_u128;
__extension__ typedef __int128 sf_i128;

/* The values of MODE.FP_ROUND. */
enum sf_round { SF_NEAREST, SF_UP, SF_DOWN, SF_ZERO };

enum sf_class { SF_IS_ZERO, SF_IS_FINITE, SF_IS_INF, SF_IS_NAN };

/*
 * fnuz: the 8-bit formats of gfx942, which have neither infinity nor -0; NaN is 0x80.
 * fn: OCP's e4m3, which has no infinity; NaN is 0x7f, of either sign.
 */
struct sf_format {
    unsigned exp_bits, frac_bits;
    bool fnuz, fn;
};

extern const struct sf_format sf_f16, sf_bf16, sf_f32, sf_f64, sf_fp8, sf_bf8, sf_fp8_ocp, sf_bf8_ocp;
extern const struct sf_format sf_fp6, sf_bf6, sf_fp4; /* every code is a number */

struct sf {
    enum sf_class cls;
    bool sign;
    bool signalling; /* NaN only */
    bool denormal;   /* as unpacked */
    int exp;
    sf_u128 sig;      /* nonzero for SF_IS_FINITE; below 2^126 */
    uint64_t payload; /* NaN: fraction bits, left-aligned in 52 bits */
};

/* How one instruction treats one format. */
struct sf_env {
    enum sf_round round;
    bool denorm_in, denorm_out; /* denormals are kept */
};

struct sf sf_unpack(const struct sf_format *f, uint64_t bits);
/* Rounds; NaN becomes quiet and keeps what fits of its payload. */
uint64_t sf_pack(const struct sf_format *f, struct sf a, const struct sf_env *env);
/* As sf_pack for 8 bits: beyond the largest number, NaN, of sf_bf8_ocp infinity, or (saturate) the
 * largest number. */
uint64_t sf_pack8(const struct sf_format *f, struct sf a, bool saturate);

/* sf_unpack with input denormals flushed as the environment says. */
struct sf sf_load(const struct sf_format *f, uint64_t bits, const struct sf_env *env);

struct sf sf_neg(struct sf a);
struct sf sf_abs(struct sf a);
struct sf sf_add(struct sf a, struct sf b, enum sf_round round);
struct sf sf_mul(struct sf a, struct sf b);
struct sf sf_fma(struct sf a, struct sf b, struct sf c, enum sf_round round);
struct sf sf_div(struct sf a, struct sf b);
struct sf sf_sqrt(struct sf a);
struct sf sf_scale(struct sf a, int n); /* a * 2^n */
/* To an integral value: toward zero, down, up, or to nearest even. */
struct sf sf_integral(struct sf a, enum sf_round round);
struct sf sf_from_int(int64_t x);
struct sf sf_from_uint(uint64_t x);
/* Toward zero, saturating to [lo, hi]; NaN gives 0. */
int64_t sf_to_int(struct sf a, int64_t lo, int64_t hi);
uint64_t sf_to_uint(struct sf a, uint64_t hi);
/* -1, 0, 1; 2 when unordered. */
int sf_compare(struct sf a, struct sf b);
struct sf sf_nan(void);
struct sf sf_zero(bool sign);
struct sf sf_inf(bool sign);

bool sf_is_nan_bits(const struct sf_format *f, uint64_t bits);
bool sf_is_quiet_bits(const struct sf_format *f, uint64_t bits);

/*
 * 2^x, log2 x, sin 2 pi x, cos 2 pi x of a finite number, good to at least 60 bits: the
 * rounding to f32 or f16 is then the correct one but for one argument in 2^30.
 */
enum sf_function { SF_EXP2, SF_LOG2, SF_SIN, SF_COS };
struct sf sf_transcendental(enum sf_function fn, struct sf a);

#endif
