/*
 * S and dP of a block to P~ and dS where hardware takes two floats at a time: CDNA, in walks over
 * aligned rows with score features. A part of gradient_block.h.
 */
#ifndef AOTHIP_GRADIENT_PAIRS_H
#define AOTHIP_GRADIENT_PAIRS_H

#include "packed_block.h"

/* x * factor + y(i), two at a time. */
template <int N, class Y> DEVICE void scale_and_add(float (&x)[N], float factor, Y y)
{
    factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, factor)));
    asm("" : "+s"(factor)); /* a known number would be a part of each instruction of one float */
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        const f32x2 pair = __builtin_elementwise_fma(f32x2{x[i], x[i + 1]}, (f32x2)factor, y(i));
        x[i] = pair.x;
        x[i + 1] = pair.y;
    }
}

template <int N> DEVICE void scale_elements(float (&x)[N], float factor)
{
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        const f32x2 pair = f32x2{x[i], x[i + 1]} * factor;
        x[i] = pair.x;
        x[i + 1] = pair.y;
    }
}

/* A number of the lane, as often as needed: here, or the compiler would hold it for each element.
 */
DEVICE f32x2 twice(float x)
{
    asm volatile("" : "+v"(x));
    return f32x2{x, x};
}

/* Two products rounded to f16. */
#if ROUNDS_PRODUCTS
DEVICE u32 round_product_pair(float a, float b, float x, float y)
{
    typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
    asm("" : "+v"(x), "+v"(y)); /* or both would be multiplied at once, and rounded by more */
    const f16x2 pair = {(_Float16)(a * x), (_Float16)(b * y)};
    return __builtin_bit_cast(u32, pair);
}

#if OWNS_KEYS
/* The operand of rows 16 * group .. + 15, of dS in pairs: as pack_p(). */
DEVICE block_frag packed_products(const block_acc &ds, int group)
{
    block_frag to;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float pair = ds[4 * group + i]; /* a bit cast takes element 0 of an unnamed one */
        to[i] = __builtin_bit_cast(u32, pair);
    }
    return to;
}
#else
/* All operands, of P and dP. */
DEVICE struct packed_block pack_products(const block_acc &p, const block_acc &dp)
{
    struct packed_block to;
#pragma unroll
    for (int i = 0; i < ACC; i += 2)
        to.group[i / 8][i % 8 / 2] = round_product_pair(p[i], p[i + 1], dp[i], dp[i + 1]);
    return to;
}
#endif
#endif

/*
 * S to P~ and dP to dX or dS, in place, for the block whose first row is `row`. row_vector has lse
 * and delta negated: there is an instruction that adds two, and none that subtracts.
 */
template <enum gradient of, enum lse_form>
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    const struct terms_known<TERMS_ASKED> terms = {
        TERMS_APART ? uniform(context.terms) : context.terms
    };
    float x[ACC], y[ACC]; /* a vector's registers would be copied where ways meet */
    u32 kept = 0;
    float kept_scale = 1;
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        x[i] = s[i];
        y[i] = dp[i];
    }
    if (has_term(terms, KERNARG_TERM_DROPOUT)) {
        const struct attn_problem &a = args_here().problem;
        const struct place &p = context.place;
        kept = kept_elements<ACC>(dropout_of(a, p.sequence.number, p.head), column, row);
        kept_scale = a.dropout_scale;
        each_element<ACC>([&](int i) { y[i] = keep_bit(y[i], kept, (u32)i); });
    }
#if OWNS_KEYS
    const block_acc delta = row_values(1, block);
    scale_and_add(y, kept_scale, [&](int i) { return f32x2{delta[i], delta[i + 1]}; });
#else
    (void)block;
    const f32x2 delta = twice(-column.delta);
    scale_and_add(y, kept_scale, [&](int) { return delta; });
#endif
    float unit = args_here().problem.scale; /* of x; of 0, what is infinite would be lost */
    u32 exponent = __builtin_bit_cast(u32, unit) & 0x7f800000u;
    asm("" : "+s"(exponent)); /* there are no scalar instructions for floats */
#if ONLY_KEEP
    unit = exponent ? unit : 0x1p-126f;
#else
    const u32 curves = terms_among(terms.terms, KERNARG_TERM_SOFTCAP | KERNARG_TERM_ALIBI);
    if (exponent ? curves : 1) {
        scale_elements(x, unit);
        unit = 1;
        add_curve_and_slope<of>(x, y, context.place, terms, column.index, row);
    }
#endif
    stay_pairs(x);
    add_near_terms(x, context.place, terms, near_place_of(column.index, row), context.ahead, unit);
    stay_pairs(x);
    if (row < awaited_long(column.full.first) || row + BLOCK - 1 > awaited_long(column.full.last)) {
        const float hidden = hidden_score(unit);
        each_element<ACC>([&](int i) { x[i] = sees(column, row, i) ? x[i] : hidden; });
    }
#if OWNS_KEYS
    const block_acc lse = row_values(0, block);
    scale_and_add(x, unit, [&](int i) { return f32x2{lse[i], lse[i + 1]}; });
#else
    const f32x2 lse = twice(-column.lse);
    scale_and_add(x, unit, [&](int) { return lse; });
#endif
    limit_exponents(x);
#if LIFTS
    const f32x2 raise = twice(raise_of(column));
    scale_and_add(x, LOG2_E, [&](int) { return raise; });
#else
    float log2_e = LOG2_E;
    asm("" : "+s"(log2_e)); /* as in scale_and_add() */
    scale_elements(x, log2_e);
#endif
#pragma unroll
    for (int i = 0; i < ACC; i++)
        x[i] = __builtin_amdgcn_exp2f(x[i]);
#if ROUNDS_PRODUCTS && OWNS_KEYS
#pragma unroll
    for (int i = 0; i < ACC; i += 2) {
        u32 pair = round_product_pair(x[i], x[i + 1], y[i], y[i + 1]);
        asm volatile("" : "+v"(pair)); /* or it would wait behind the branch, and x be copied */
        dp[i / 2] = __builtin_bit_cast(float, pair);
    }
#elif ROUNDS_PRODUCTS
#pragma unroll
    for (int i = 0; i < ACC; i++)
        dp[i] = y[i];
#else
#pragma unroll
    for (int i = 0; i < ACC; i += 2) {
        f32x2 pair = f32x2{x[i], x[i + 1]} * f32x2{y[i], y[i + 1]};
        asm volatile("" : "+v"(pair));
        dp[i] = pair.x;
        dp[i + 1] = pair.y;
    }
#endif
#if OWNS_KEYS || SUMS_ELEMENTS
    if (has_term(terms, KERNARG_TERM_DROPOUT))
        each_element<ACC>([&](int i) { x[i] = keep_bit(x[i], kept, (u32)i) * kept_scale; });
#endif
#pragma unroll
    for (int i = 0; i < ACC; i++)
        s[i] = x[i];
}

#endif
