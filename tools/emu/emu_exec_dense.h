/*
 * Memory of whole waves: every lane moves one to four dwords at its own offset from one base. Part
 * of the lane template.
 */

typedef uint32_t quad __attribute__((vector_size(16)));

/* at[l] = v[l] + add, in 32 bits; span: the smallest and the largest of them. */
static void dense_offsets(uint32_t *at, const uint32_t *v, uint32_t add, uint32_t span[2])
{
    uint32_t lo = ~0u, hi = 0;

    for (unsigned l = 0; l < W; l++) {
        uint32_t x = v[l] + add;

        at[l] = x;
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
    }
    span[0] = lo;
    span[1] = hi;
}

static inline quad load_quad(const void *p)
{
    quad x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Four quads as the rows of a matrix: its columns. */
static inline void transpose(quad x[4])
{
    quad a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    quad b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    quad c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    quad d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);

    x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    x[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

static void read_quads(uint32_t *d, const uint8_t *base, const uint32_t *at)
{
    for (unsigned l = 0; l < W; l += 4) {
        quad x[4];

        for (unsigned i = 0; i < 4; i++)
            x[i] = load_quad(base + at[l + i]);
        transpose(x);
        for (unsigned i = 0; i < 4; i++)
            memcpy(d + i * W + l, &x[i], sizeof x[i]);
    }
}

static void write_quads(uint8_t *base, const uint32_t *at, const uint32_t *s)
{
    for (unsigned l = 0; l < W; l += 4) {
        quad x[4];

        for (unsigned i = 0; i < 4; i++)
            x[i] = load_quad(s + i * W + l);
        transpose(x);
        for (unsigned i = 0; i < 4; i++)
            memcpy(base + at[l + i], &x[i], sizeof x[i]);
    }
}

/* Registers d.. of all lanes from memory, and back. The lanes' bytes may overlap: the last counts.
 */
EMU_NO_TSAN static void dense_read(uint32_t *d, const uint8_t *base, const uint32_t *at,
                                   unsigned words)
{
    if (words == 4) {
        read_quads(d, base, at);
        return;
    }
    for (unsigned l = 0; l < W; l++)
        for (unsigned i = 0; i < words; i++)
            memcpy(d + i * W + l, base + at[l] + 4 * i, 4);
}

EMU_NO_TSAN static void dense_write(uint8_t *base, const uint32_t *at, const uint32_t *s,
                                    unsigned words)
{
    if (words == 4) {
        write_quads(base, at, s);
        return;
    }
    for (unsigned l = 0; l < W; l++)
        for (unsigned i = 0; i < words; i++)
            memcpy(base + at[l] + 4 * i, s + i * W + l, 4);
}

/* Strict mode: do all bytes of all lanes have this shadow byte? */
EMU_NO_TSAN static bool dense_shadow_is(const uint8_t *shadow, const uint32_t *at, unsigned words,
                                        uint8_t value)
{
    const uint32_t want = value * 0x01010101u;
    quad other = {0};
    uint32_t any = 0;

    if (words == 4) {
        for (unsigned l = 0; l < W; l++)
            other |= load_quad(shadow + at[l]) ^ want;
        return !(other[0] | other[1] | other[2] | other[3]);
    }
    for (unsigned l = 0; l < W; l++)
        for (unsigned i = 0; i < words; i++) {
            uint32_t x;

            memcpy(&x, shadow + at[l] + 4 * i, 4);
            any |= x ^ want;
        }
    return !any;
}

EMU_NO_TSAN static void dense_shadow_set(uint8_t *shadow, const uint32_t *at, unsigned words,
                                         uint8_t value)
{
    for (unsigned l = 0; l < W; l++)
        memset(shadow + at[l], value, 4 * words);
}

#define DENSE {dense_offsets, dense_read, dense_write, dense_shadow_is, dense_shadow_set}
