/*
 * Matrix products of gfx12, element by element, after the tables of 7.12.2 of RDNA 4's manual. What
 * they say of the order of k in 16-bit operands is not looked at: both operands have the same.
 */
#include "oracle_matrix.h"

struct at {
    unsigned lane, item;
};

/* Row i, column j of C and D. Wave64: lane { row[2], row[3], col }, item row[1:0]. */
static struct at result_at(enum oracle_target t, unsigned i, unsigned j)
{
    if (oracle_machines[t].lanes == 64)
        return (struct at){(i >> 2 & 1) * 32 + (i >> 3) * 16 + j, i & 3};
    return (struct at){(i >> 3) * 16 + j, i & 7};
}

/*
 * Element n, of so many, of row i of A or column i of B. Wave64: lane { n[2], n[3], i }, item
 * n[1:0] of sixteen that fill more than a register of wave32, else lane { 0, n[3], i }; of 32
 * lane { n[3], n[4], i }, item n[2:0].
 */
static struct at operand_at(enum oracle_target t, unsigned bits, unsigned of, unsigned n,
                            unsigned i)
{
    const unsigned half = n / (of / 2), rest = n % (of / 2);

    if (oracle_machines[t].lanes == 64 && of / 2 * bits > 32)
        return (struct at){rest / (of / 4) * 32 + half * 16 + i, rest % (of / 4)};
    return (struct at){half * 16 + i, rest};
}

static uint64_t operand(enum oracle_target t, enum oracle_element e, const uint32_t *x, unsigned of,
                        unsigned n, unsigned i)
{
    const struct at at = operand_at(t, oracle_element_bits(e), of, n, i);

    return oracle_item(e, x, at.lane, at.item);
}

static void put(enum oracle_target t, enum oracle_element e, uint32_t *d, unsigned i, unsigned j,
                uint64_t value)
{
    const unsigned bits = oracle_element_bits(e);
    const struct at at = result_at(t, i, j);
    uint32_t *word = &d[at.item * bits / 32 * 64 + at.lane];

    for (unsigned b = 0; b < bits; b++) {
        const unsigned bit = at.item * bits % 32 + b;

        *word = (*word & ~(1u << bit)) | (uint32_t)(value >> b & 1) << bit;
    }
}

static uint64_t result(enum oracle_target t, enum oracle_element e, const uint32_t *c, unsigned i,
                       unsigned j)
{
    const struct at at = result_at(t, i, j);

    return oracle_item(e, c, at.lane, at.item);
}

void oracle_wmma_lanes(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                       const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    uint64_t out[16][16];

    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            uint64_t row[32], column[32];

            for (unsigned k = 0; k < p->k; k++) {
                row[k] = operand(t, p->a, a, p->k, k, i);
                column[k] = operand(t, p->b, b, p->k, k, j);
            }
            out[i][j] = oracle_dot(p, t, row, column, result(t, p->d, c, i, j));
        }
    for (unsigned i = 0; i < 256; i++)
        put(t, p->d, d, i / 16, i % 16, out[i / 16][i % 16]);
}

/* Integers; with clamp the sum is saturated behind the products of each half of the lanes. */
static uint64_t integer_sum(const struct oracle_product *p, const struct oracle_sparse *s,
                            const uint64_t *a, const uint64_t *b, uint64_t c)
{
    const unsigned bits = oracle_element_bits(p->a);
    int64_t sum = (int32_t)c;

    for (unsigned n = 0; n < p->k; n++) {
        sum += oracle_integer(a[n], bits, p->a_signed) * oracle_integer(b[n], bits, p->b_signed);
        if (s->clamp && n % (p->k / 2) == p->k / 2 - 1)
            sum = sum > 0x7fffffff ? 0x7fffffff : sum < -0x7fffffff - 1 ? -0x7fffffff - 1 : sum;
    }
    return (uint32_t)sum;
}

void oracle_swmmac(const struct oracle_product *p, const struct oracle_sparse *s,
                   enum oracle_target t, const uint32_t *a, const uint32_t *b,
                   const uint32_t *index, uint32_t *d)
{
    const unsigned bits = oracle_element_bits(p->a), kept = p->k / 2;
    struct oracle_product dense = *p;
    uint64_t out[16][16];

    dense.k = kept;
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            uint64_t row[32], column[32];

            for (unsigned n = 0; n < kept; n++) {
                const struct at at = operand_at(t, bits, kept, n, i);
                const bool split = oracle_machines[t].lanes == 64 && kept / 2 * bits > 32;
                const unsigned first = s->key * 2 * (split ? kept / 4 : kept / 2);
                const unsigned which = index[at.lane] >> (first + 2 * at.item) & 3;
                const unsigned neg = n % 2 ? s->neg_hi : s->neg_lo;

                row[n] = oracle_item(p->a, a, at.lane, at.item) ^ (uint64_t)(neg & 1) << (bits - 1);
                column[n] = operand(t, p->b, b, p->k, n / 2 * 4 + which, j) ^ (uint64_t)(neg >> 1)
                                                                                  << (bits - 1);
            }
            out[i][j] = p->d == M_I32
                            ? integer_sum(&dense, s, row, column, result(t, p->d, d, i, j))
                            : oracle_dot(&dense, t, row, column, result(t, p->d, d, i, j));
        }
    for (unsigned i = 0; i < 256; i++)
        put(t, p->d, d, i / 16, i % 16, out[i / 16][i % 16]);
}
