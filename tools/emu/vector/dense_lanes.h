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

/*
 * QUADS quads side by side in a vector of the host, and the ways to interleave two of them within
 * each pair of quads: the low or the high dwords, the low or the high 64 bits.
 */
#if defined(EMU_V4)
enum { QUADS = 4 };
typedef __m512i quads;
#define LOW32(x, y) _mm512_unpacklo_epi32(x, y)
#define HIGH32(x, y) _mm512_unpackhi_epi32(x, y)
#define LOW64(x, y) _mm512_unpacklo_epi64(x, y)
#define HIGH64(x, y) _mm512_unpackhi_epi64(x, y)
#elif defined(EMU_V3)
enum { QUADS = 2 };
typedef __m256i quads;
#define LOW32(x, y) _mm256_unpacklo_epi32(x, y)
#define HIGH32(x, y) _mm256_unpackhi_epi32(x, y)
#define LOW64(x, y) _mm256_unpacklo_epi64(x, y)
#define HIGH64(x, y) _mm256_unpackhi_epi64(x, y)
#else
enum { QUADS = 1 };
typedef quad quads;
#define LOW32(x, y) __builtin_shufflevector(x, y, 0, 4, 1, 5)
#define HIGH32(x, y) __builtin_shufflevector(x, y, 2, 6, 3, 7)
#define LOW64(x, y) __builtin_shufflevector(x, y, 0, 1, 4, 5)
#define HIGH64(x, y) __builtin_shufflevector(x, y, 2, 3, 6, 7)
#endif

/* The quads of lanes 0, 4, 8 .. from at[0] on. */
static inline quads join(const uint8_t *base, const uint32_t *at)
{
#if defined(EMU_V4)
    __m512i x = _mm512_castsi128_si512((__m128i)load_quad(base + at[0]));

    x = _mm512_inserti32x4(x, (__m128i)load_quad(base + at[4]), 1);
    x = _mm512_inserti32x4(x, (__m128i)load_quad(base + at[8]), 2);
    return _mm512_inserti32x4(x, (__m128i)load_quad(base + at[12]), 3);
#elif defined(EMU_V3)
    __m256i x = _mm256_castsi128_si256((__m128i)load_quad(base + at[0]));

    return _mm256_inserti128_si256(x, (__m128i)load_quad(base + at[4]), 1);
#else
    return load_quad(base + at[0]);
#endif
}

#if defined(EMU_V4)
/* join for at and at + 1: two offsets in one load, of which there are so many. */
static inline void join_two(const uint8_t *base, const uint32_t *at, quads x[2])
{
    uint64_t two[4];

    for (unsigned q = 0; q < 4; q++)
        memcpy(&two[q], at + 4 * q, sizeof *two);
#define FIRST(q) (__m128i) load_quad(base + (uint32_t)two[q])
#define SECOND(q) (__m128i) load_quad(base + (two[q] >> 32))
    x[0] = _mm512_castsi128_si512(FIRST(0));
    x[1] = _mm512_castsi128_si512(SECOND(0));
    x[0] = _mm512_inserti32x4(x[0], FIRST(1), 1);
    x[1] = _mm512_inserti32x4(x[1], SECOND(1), 1);
    x[0] = _mm512_inserti32x4(x[0], FIRST(2), 2);
    x[1] = _mm512_inserti32x4(x[1], SECOND(2), 2);
    x[0] = _mm512_inserti32x4(x[0], FIRST(3), 3);
    x[1] = _mm512_inserti32x4(x[1], SECOND(3), 3);
}
#endif

/* Quad i of x. */
static inline quad part(quads x, unsigned i)
{
    quad all[QUADS];

    memcpy(all, &x, sizeof x);
    return all[i];
}

/* Quad q of x[0..3] as the rows of a matrix: its columns, for each q. */
static inline void transpose(quads x[4])
{
    quads a = LOW32(x[0], x[1]), b = LOW32(x[2], x[3]);
    quads c = HIGH32(x[0], x[1]), d = HIGH32(x[2], x[3]);

    x[0] = LOW64(a, b);
    x[1] = HIGH64(a, b);
    x[2] = LOW64(c, d);
    x[3] = HIGH64(c, d);
}

static void read_quads(uint32_t *d, const uint8_t *base, const uint32_t *at)
{
    for (unsigned l = 0; l < W; l += 4 * QUADS) {
        quads x[4];

#if defined(EMU_V4)
        for (unsigned i = 0; i < 4; i += 2)
            join_two(base, at + l + i, x + i);
#else
        for (unsigned i = 0; i < 4; i++)
            x[i] = join(base, at + l + i);
#endif
        transpose(x);
        for (unsigned i = 0; i < 4; i++)
            memcpy(d + i * W + l, &x[i], sizeof x[i]);
    }
}

static void write_quads(uint8_t *base, const uint32_t *at, const uint32_t *s)
{
    for (unsigned l = 0; l < W; l += 4 * QUADS) {
        quads x[4];

        for (unsigned i = 0; i < 4; i++)
            memcpy(&x[i], s + i * W + l, sizeof x[i]);
        transpose(x);
        for (unsigned q = 0; q < QUADS; q++)
            for (unsigned i = 0; i < 4; i++) {
                quad y = part(x[i], q);

                memcpy(base + at[l + 4 * q + i], &y, sizeof y);
            }
    }
}

/* Two dwords a lane: lanes 0 and 1 of each four in one quad, 2 and 3 in the other. */
static void write_pairs(uint8_t *base, const uint32_t *at, const uint32_t *s)
{
    for (unsigned l = 0; l < W; l += 4 * QUADS) {
        quads x, y, pair[2];

        memcpy(&x, s + l, sizeof x);
        memcpy(&y, s + W + l, sizeof y);
        pair[0] = LOW32(x, y);
        pair[1] = HIGH32(x, y);
        for (unsigned q = 0; q < QUADS; q++)
            for (unsigned i = 0; i < 2; i++) {
                const uint32_t *to = at + l + 4 * q + 2 * i;
                quad z = part(pair[i], q);
                uint64_t lane[2];

                memcpy(lane, &z, sizeof z);
                memcpy(base + to[0], &lane[0], 8);
                memcpy(base + to[1], &lane[1], 8);
            }
    }
}

/*
 * Registers d.. of all lanes from memory, and back. The lanes' bytes may overlap: the last counts.
 * `at` may be one of the registers.
 */
EMU_NO_TSAN static void dense_read(uint32_t *d, const uint8_t *base, const uint32_t *at,
                                   unsigned words)
{
    if (words == 4) {
        read_quads(d, base, at);
        return;
    }
    for (unsigned l = 0; l < W; l++) {
        const uint8_t *from = base + at[l];

        for (unsigned i = 0; i < words; i++)
            memcpy(d + i * W + l, from + 4 * i, 4);
    }
}

EMU_NO_TSAN static void dense_write(uint8_t *base, const uint32_t *at, const uint32_t *s,
                                    unsigned words)
{
    if (words == 4) {
        write_quads(base, at, s);
        return;
    }
    if (words == 2) {
        write_pairs(base, at, s);
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

/* LDS in plain mode: lane l's bytes lie at v[l] behind this, unless it takes more to say where. */
static inline uint8_t *lds_base(const struct emu_wave *w, const struct emu_op *op, unsigned words,
                                const uint32_t *v)
{
    const struct emu_group *g = w->group;
    const uint32_t offset = (uint32_t)op->imm;
    uint32_t last = 0;

    if (!g->unwatched || exec(w) != FULL)
        return NULL;
    for (unsigned l = 0; l < W; l++)
        last = v[l] > last ? v[l] : last;
    return (uint64_t)last + offset + 4 * words <= g->lds_size ? g->lds + offset : NULL;
}

#define DIRECT_LDS(words)                                                                          \
    static void lds_read_##words(struct emu_wave *w, const struct emu_op *op)                      \
    {                                                                                              \
        const uint32_t *v = row(w, op->s[0]);                                                      \
        const uint8_t *base = lds_base(w, op, words, v);                                           \
                                                                                                   \
        if (base)                                                                                  \
            dense_read(row(w, op->d[0]), base, v, words);                                          \
        else                                                                                       \
            op->inner(w, op);                                                                      \
    }                                                                                              \
    static void lds_write_##words(struct emu_wave *w, const struct emu_op *op)                     \
    {                                                                                              \
        const uint32_t *v = row(w, op->s[0]);                                                      \
        uint8_t *base = lds_base(w, op, words, v);                                                 \
                                                                                                   \
        if (base)                                                                                  \
            dense_write(base, v, row(w, op->s[1]), words);                                         \
        else                                                                                       \
            op->inner(w, op);                                                                      \
    }
DIRECT_LDS(1)
DIRECT_LDS(2)
DIRECT_LDS(4)

static const struct emu_direct direct[] = {{"ds_read_b32", lds_read_1},
                                           {"ds_read_b64", lds_read_2},
                                           {"ds_read_b128", lds_read_4},
                                           {"ds_write_b32", lds_write_1},
                                           {"ds_write_b64", lds_write_2},
                                           {"ds_write_b128", lds_write_4},
                                           {NULL, NULL}};

#define DENSE {dense_offsets, dense_read, dense_write, dense_shadow_is, dense_shadow_set}
