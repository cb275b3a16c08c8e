/* S and dP to P and dS where there are no score terms. The rest of gradient_block.h. */
#ifndef AOTHIP_ATTN_BWD_GRADIENT_PLAIN_H
#define AOTHIP_ATTN_BWD_GRADIENT_PLAIN_H

/* Of natural scores and lse; see weight_of(). The scores are rounded as lse was. */
DEVICE f32x2 wide_exponents(f32x2 scores, f32x2 lse, float raise)
{
    asm("" : "+v"(scores));
    f32x2 less = scores - lse;
    less = f32x2{less.x > 0 ? 0 : less.x, less.y > 0 ? 0 : less.y};
    return LIFTS ? less * LOG2_E + raise : less * LOG2_E;
}

/* A score that gives P = 0 wherever a column of S does not see the row. */
DEVICE void hide_rows(block_acc &s, const struct context &context, const struct column &column,
                      int row)
{
    /* On wave32 hardware always: the registers do not suffice for two ways through the loop. */
    if (KERNEL_WAVE == 32 || row < awaited_long(column.full.first) ||
        row + BLOCK - 1 > awaited_long(column.full.last))
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[i] = sees(column, row, i) ? s[i] : context.masked;
}

/* P of two scores. Pairs: wave64 hardware has instructions for them. */
template <enum lse_form form>
DEVICE f32x2 weights_of(f32x2 x, f32x2 lse, const struct context &context,
                        const struct column &column)
{
    x = form == LSE_BASE2 ? __builtin_elementwise_fma(x, f32x2(context.factor), -lse)
                          : wide_exponents(x * context.factor, lse, raise_of(column));
    return f32x2{__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)};
}

/* S to P and dP to dS, after begin_round(), in place, for the block whose first row is `row`. */
template <enum gradient of, enum lse_form form>
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    hide_rows(s, context, column, row);
#if OWNS_KEYS
    const block_acc lse = row_values(0, block);
#else
    const block_acc lse = column.lse;
    (void)block;
#endif
#pragma unroll
    for (int i = 0; i < ACC; i += 2) {
        const f32x2 x = weights_of<form>(f32x2{s[i], s[i + 1]}, f32x2{lse[i], lse[i + 1]}, context,
                                         column);
        f32x2 y = {dp[i], dp[i + 1]};
#if !DELTA_FIRST
        y -= f32x2(column.delta);
#endif
        y *= x;
        s[i] = begin_round(x.x);
        s[i + 1] = begin_round(x.y);
        dp[i] = begin_round(y.x);
        dp[i + 1] = begin_round(y.y);
    }
}

#endif
