/* What the parts of the vector ALU oracle share; only oracle_valu.c includes them. */
#ifndef AOTHIP_TEST_ORACLE_VALU_H
#define AOTHIP_TEST_ORACLE_VALU_H

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

#endif
