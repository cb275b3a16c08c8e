/*
 * S and dP of a block to P~ and dS, in walks over aligned rows with score features: code for a term
 * that is alone, and for all of them. A part of gradient_block.h.
 */
#ifndef AOTHIP_GRADIENT_ALONE_H
#define AOTHIP_GRADIENT_ALONE_H

/* differentiate_block() where the problem has the terms `known`, or where those have to be asked
 * for. */
template <enum gradient of, u32 known, class V>
DEVICE void differentiate_known(V &s, V &dp, const struct context &context,
                                const struct column &column, int row, int block, u32 first,
                                const char *vector)
{
    const int count = elements_of<V>(), from = row + rows_to(first);
    const struct terms_known<known> terms = {
        context.terms
    };
    u32 kept = 0;
    float kept_scale = 1;
    if (has_term(terms, KERNARG_TERM_DROPOUT)) {
        const struct attn_problem &a = args_here().problem;
        const struct place &p = context.place;
        kept = kept_elements<count>(dropout_of(a, p.sequence.number, p.head), column, from);
        kept_scale = a.dropout_scale;
#if OWNS_KEYS
        each_element<count>([&](int i) { dp[i] = keep_bit(dp[i], kept, (u32)i); });
        dp = __builtin_elementwise_fma(dp, (V)kept_scale, -row_values<V>(1, block, vector));
    } else {
        dp -= row_values<V>(1, block, vector);
    }
#else /* there are no registers for two subtractions */
        each_element<count>([&](int i) { dp[i] = keep_bit(dp[i], kept, (u32)i) * kept_scale; });
    }
    dp -= column.delta;
    (void)block;
    (void)vector;
#endif
    float unit = args_here().problem.scale; /* of s */
    if (known != KERNARG_TERM_BIAS) {
        s *= unit;
        unit = 1;
    }
    if (has_term(terms, KERNARG_TERM_SOFTCAP | KERNARG_TERM_ALIBI | KERNARG_TERM_BIAS |
                            KERNARG_TERM_KEEP)) {
        const struct near_place at = near_place_of(column.index, from);
        add_curve_and_slope<of>(s, dp, context.place, terms, column.index, from);
        add_near_terms(s, context.place, terms, at, context.ahead, unit);
    }
    if (row < awaited_long(column.full.first) || row + BLOCK - 1 > awaited_long(column.full.last))
        each_element<count>(
            [&](int i) { s[i] = sees(column, from, i) ? s[i] : -__builtin_inff(); });
#if OWNS_KEYS
    const V lse = row_values<V>(0, block, vector);
#else
    const V lse = column.lse;
#endif
    /* Where there are registers for all exponents of a block at a time. */
    const bool at_once = KNOWS_TERMS || (OWNS_KEYS && KERNEL_DIM <= 128);
    if (at_once) {
        s -= lse;
        limit_exponents(s);
    }
    each_element<count>([&](int i) {
        s[i] = at_once ? weight_below(s[i], raise_of(column))
                       : weight_of(s[i], lse[i], raise_of(column));
        dp[i] *= s[i];
    });
    if (has_term(terms, KERNARG_TERM_DROPOUT))
        each_element<count>([&](int i) { s[i] = keep_bit(s[i], kept, (u32)i) * kept_scale; });
}

/*
 * S to P~ and dP to dX or dS, in place, for the block whose first row is `row`, or for those of its
 * rows that are elements `first` on. On RDNA a bias, a mask and slopes have code of their own where
 * each is alone, without questions between the terms: see KNOWS_TERMS.
 */
template <enum gradient of, enum lse_form, class V>
DEVICE void differentiate_block(V &s, V &dp, const struct context &context,
                                const struct column &column, int row, int block, u32 first = 0,
                                const char *vector = nullptr)
{
    u32 terms = TERMS_APART ? uniform(context.terms) : context.terms;
    asm volatile("" : "+s"(terms));
    terms &= TERMS_OF_SCORE;
    if (KNOWS_TERMS && terms == KERNARG_TERM_BIAS)
        differentiate_known<of, KERNARG_TERM_BIAS>(s, dp, context, column, row, block, first,
                                                   vector);
    else if (KNOWS_TERMS && terms == KERNARG_TERM_KEEP)
        differentiate_known<of, KERNARG_TERM_KEEP>(s, dp, context, column, row, block, first,
                                                   vector);
    else if (KNOWS_TERMS && terms == KERNARG_TERM_ALIBI)
        differentiate_known<of, KERNARG_TERM_ALIBI>(s, dp, context, column, row, block, first,
                                                    vector);
    else
        differentiate_known<of, TERMS_ASKED>(s, dp, context, column, row, block, first, vector);
}

#endif
