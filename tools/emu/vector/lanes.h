/*
 * The lanes: every vector row and its wrappers, compiled once for each wave size and host level.
 *
 * The includer defines EMU_W (32 or 64), EMU_LEVEL (suffix of the exported name) and, for
 * x86-64-v3 and -v4, EMU_V3 or EMU_V4. A row is a pure loop over W lanes; wrappers fetch operands,
 * apply modifiers, and merge by EXEC.
 */
#include <math.h>
#include <string.h>

#include "program.h"
#include "screen_partition.h"

#if defined(EMU_V3)
#define EMU_TARGET "avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt"
#elif defined(EMU_V4)
#define EMU_TARGET "avx2,fma,f16c,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl"
#endif

#if defined(__clang__)
#ifdef EMU_TARGET
#pragma clang attribute push(__attribute__((target(EMU_TARGET))), apply_to = function)
#endif
#pragma clang diagnostic ignored "-Wpass-failed" /* a few rows are beyond the vectorizer */
#define EMU_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")
#define EMU_PRAGMA(x) _Pragma(#x)
#define EMU_GCC_TARGET(x) EMU_PRAGMA(GCC target(x))
#if defined(EMU_V3)
EMU_GCC_TARGET(EMU_TARGET)
#elif defined(EMU_V4)
EMU_GCC_TARGET(EMU_TARGET ",prefer-vector-width=512")
#endif
#define EMU_LOOP _Pragma("GCC ivdep")
#endif
#ifdef EMU_TARGET
#include <immintrin.h>
#define EMU_AVX2 1
#endif

#include "lane_math.h"

#define EMU_NO_TSAN __attribute__((no_sanitize("thread"))) /* see access.h */
#define W EMU_W
#define FULL (~UINT64_C(0) >> (64 - W))
#define FOR_LANES EMU_LOOP for (unsigned l = 0; l < W; l++)

/* ---- masks ---- */

static void expand(uint32_t *row, uint64_t mask)
{
    for (unsigned half = 0; half < W; half += 32) {
        uint32_t m = (uint32_t)(mask >> half);

        EMU_LOOP for (unsigned l = 0; l < 32; l++) row[half + l] = -(m >> l & 1);
    }
}

static uint64_t pack(const uint32_t *row)
{
    uint64_t mask = 0;
#ifdef EMU_AVX2
    for (unsigned l = 0; l < W; l += 8) {
        __m256 x = _mm256_loadu_ps((const float *)(row + l));

        mask |= (uint64_t)(unsigned)_mm256_movemask_ps(x) << l;
    }
#else
    for (unsigned l = 0; l < W; l++)
        mask |= (uint64_t)(row[l] >> 31) << l;
#endif
    return mask;
}

static void blend(uint32_t *d, const uint32_t *x, const uint32_t *mask)
{
    FOR_LANES d[l] = (x[l] & mask[l]) | (d[l] & ~mask[l]);
}

static inline uint32_t *row(const struct emu_wave *w, unsigned r)
{
    return w->v + (size_t)r * W;
}

static inline uint64_t exec(const struct emu_wave *w)
{
    uint64_t m;

    memcpy(&m, w->s + EMU_S_EXEC, sizeof m);
    return m & FULL;
}

static const uint32_t *exec_row(struct emu_wave *w, uint64_t m)
{
    if (w->mask_exec != m) {
        expand(w->mask, m);
        w->mask_exec = m;
    }
    return w->mask;
}

static inline uint64_t mask_operand(const struct emu_wave *w, unsigned i)
{
    return W == 64 ? emu_s64(w, i) : w->s[i];
}

static inline void set_mask_operand(struct emu_wave *w, unsigned i, uint64_t m)
{
    w->s[i] = (uint32_t)m;
    if (W == 64)
        w->s[i + 1] = (uint32_t)(m >> 32);
}

/* ---- the wrappers ---- */

static void splat(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *r = row(w, emu_program_of(w)->row_splat);

    for (unsigned i = 0; i < op->nsplat; i++, r += W) {
        if (op->sgpr[i] & EMU_SPLAT_MASK) {
            expand(r, mask_operand(w, op->sgpr[i] & ~EMU_SPLAT_MASK));
        } else {
            uint32_t x = w->s[op->sgpr[i]];

            FOR_LANES r[l] = x;
        }
    }
}

#define SOURCES row(w, op->s[0]), row(w, op->s[1]), row(w, op->s[2]), row(w, op->s[3])

static void plain_rows(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t m = op->flags & EMU_B_ALL_LANES ? FULL : exec(w);

    if (op->nsplat)
        splat(w, op);
    if (m == FULL) {
        op->row(row(w, op->d[0]), NULL, SOURCES);
    } else {
        uint32_t *t = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);
        const uint32_t *lanes = exec_row(w, m);

        op->row(t, NULL, SOURCES);
        blend(d, t, lanes);
        if (op->flags & EMU_B_WIDE)
            blend(d + W, t + W, lanes);
    }
}

static void plain_cmp(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *t = row(w, emu_program_of(w)->row_temp);
    uint64_t m;

    if (op->nsplat)
        splat(w, op);
    op->row(t, NULL, SOURCES);
    m = pack(t) & exec(w);
    set_mask_operand(w, op->d[0], m);
    if (op->d[1] != EMU_NO_ROW)
        set_mask_operand(w, op->d[1], m);
}

static void plain_carry(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *t = row(w, emu_program_of(w)->row_temp), *d = row(w, op->d[0]);
    uint64_t m = exec(w);

    if (op->nsplat)
        splat(w, op);
    if (m == FULL) {
        op->row(d, t, SOURCES);
    } else {
        const uint32_t *lanes = exec_row(w, m);

        op->row(t + W, t, SOURCES);
        blend(d, t + W, lanes);
        if (op->flags & EMU_B_WIDE)
            blend(d + W, t + 2 * W, lanes);
    }
    set_mask_operand(w, op->d[1], pack(t) & m);
}

#include "source_modifiers.h"
#include "modifiers.h"

#include "dense_lanes.h"

/* ---- the rows ---- */

#define EMU_LOAD1(s) {.u32 = s[l]}
#define EMU_LOAD2(s) {.u64 = s[l] | (uint64_t)s[l + W] << 32}
#define EMU_LOAD0(s) {.u32 = 0}
#define EMU_STORE1 d0[l] = D.u32
#define EMU_STORE2 d0[l] = D.u32, d0[l + W] = (uint32_t)(D.u64 >> 32)
#define emu_r0 emu_r1

#define V(name, dw, w0, w1, w2, cls, effects, ...)                                                 \
    __attribute__((unused)) /* where the level has a better one, below */                          \
    static void row_##name(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,     \
                           const uint32_t *s2, const uint32_t *s3)                                 \
    {                                                                                              \
        (void)d1, (void)s0, (void)s1, (void)s2, (void)s3;                                          \
        FOR_LANES                                                                                  \
        {                                                                                          \
            const union emu_r##w0 S0 = EMU_LOAD##w0(s0);                                           \
            const union emu_r##w1 S1 = EMU_LOAD##w1(s1);                                           \
            const union emu_r##w2 S2 = EMU_LOAD##w2(s2);                                           \
            union emu_r##dw D;                                                                     \
            (void)S0, (void)S1, (void)S2;                                                          \
            __VA_ARGS__;                                                                           \
            EMU_STORE##dw;                                                                         \
        }                                                                                          \
    }
#define L l
#define F EMU_E_FLOAT
#define FX (EMU_E_FLOAT | EMU_E_EXTREMUM)
#define P0 (EMU_E_BITS | EMU_E_DATA0)
#define P1 (EMU_E_BITS | EMU_E_DATA1)
#define P2 (EMU_E_BITS | EMU_E_DATA2)
#define WHOLE EMU_E_WHOLE
#define MASK(condition) (-(uint32_t)((condition) ? 1 : 0))
#define CARRY(condition) d1[l] = MASK(condition)
#include "sem_vector.def"
#include "sem_poison.def"
#undef V

#ifdef EMU_AVX2
/*
 * v_perm_b32 while all selectors name bytes, eight lanes at a time: of each source the byte that
 * the selector's low bits name in its own dword, then bit 2 chooses the source.
 */
static void perm_bytes(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,
                       const uint32_t *s2, const uint32_t *s3)
{
    uint32_t special = 0;

    FOR_LANES special |= s2[l] & 0xf8f8f8f8;
    if (special) {
        row_v_perm_b32(d0, d1, s0, s1, s2, s3);
        return;
    }
#ifdef EMU_V4
    const __m512i three = _mm512_set1_epi8(3), four = _mm512_set1_epi8(4);
    const __m512i dword =
        _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));

    for (unsigned l = 0; l < W; l += 16) {
        __m512i sel = _mm512_loadu_si512(s2 + l);
        __m512i at = _mm512_or_si512(_mm512_and_si512(sel, three), dword);
        __m512i x = _mm512_shuffle_epi8(_mm512_loadu_si512(s1 + l), at);

        x = _mm512_mask_shuffle_epi8(x, _mm512_test_epi8_mask(sel, four),
                                     _mm512_loadu_si512(s0 + l), at);
        _mm512_storeu_si512(d0 + l, x);
    }
#else
    const __m256i three = _mm256_set1_epi8(3);
    const __m256i dword = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,
                                            0x08080808, 0x0c0c0c0c);

    for (unsigned l = 0; l < W; l += 8) {
        __m256i sel = _mm256_loadu_si256((const __m256i *)(s2 + l));
        __m256i at = _mm256_or_si256(_mm256_and_si256(sel, three), dword);
        __m256i hi = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(s0 + l)), at);
        __m256i lo = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(s1 + l)), at);

        lo = _mm256_blendv_epi8(lo, hi, _mm256_slli_epi16(sel, 5));
        _mm256_storeu_si256((__m256i *)(d0 + l), lo);
    }
#endif
}
#define row_v_perm_b32 perm_bytes

/*
 * Results of f16: one instruction of the host does what is a dozen as arithmetic. It rounds as the
 * host's mode says.
 */
#ifdef EMU_V4
enum { FLOATS = 16 };
typedef __m512 floats;
#define LOAD_FLOATS(p) _mm512_loadu_ps(p)
#define FUSED(x, y, z) _mm512_fmadd_ps(x, y, z)
#else
enum { FLOATS = 8 };
typedef __m256 floats;
#define LOAD_FLOATS(p) _mm256_loadu_ps((const float *)(p))
#define FUSED(x, y, z) _mm256_fmadd_ps(x, y, z)
#endif

static inline void store_halves(uint32_t *d, floats x)
{
#ifdef EMU_V4
    __m256i h = _mm512_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION);

    _mm512_storeu_si512(d, _mm512_cvtepu16_epi32(h));
#else
    __m128i h = _mm256_cvtps_ph(x, _MM_FROUND_CUR_DIRECTION);

    _mm256_storeu_si256((__m256i *)d, _mm256_cvtepu16_epi32(h));
#endif
}

static void fma_half(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,
                     const uint32_t *s2, const uint32_t *s3)
{
    (void)d1, (void)s3;
    for (unsigned l = 0; l < W; l += FLOATS)
        store_halves(d0 + l, FUSED(LOAD_FLOATS(s0 + l), LOAD_FLOATS(s1 + l), LOAD_FLOATS(s2 + l)));
}

static void convert_half(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,
                         const uint32_t *s2, const uint32_t *s3)
{
    (void)d1, (void)s1, (void)s2, (void)s3;
    for (unsigned l = 0; l < W; l += FLOATS)
        store_halves(d0 + l, LOAD_FLOATS(s0 + l));
}
#define row_v_fma_mixlo_f16 fma_half
#define row_v_fma_mixhi_f16 fma_half
#define row_v_cvt_f16_f32 convert_half
#endif

#ifdef EMU_V4
/*
 * v_exp_f32, sixteen lanes at a time: x = n + j / 16 + r, |r| <= 1 / 32, and 2^x = 2^n 2^(j/16)
 * 2^r, of which 2^(j/16) is looked up and 2^r a polynomial of degree 6, fitted to that range. The
 * looked-up bits lack j / 16 of the exponent, so that adding 16 n + j to the exponent's fraction
 * multiplies by 2^n. Rounded to f32 this is for every x what exp_f32 says.
 */
static inline __m512d exp2_part(__m256 x)
{
    const __m512i lo = _mm512_setr_epi64(0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b,
                                         0x3fef387a6e756238, 0x3fef06fe0a31b715, 0x3feedea64c123422,
                                         0x3feebfdad5362a27, 0x3feeab07dd485429);
    const __m512i hi = _mm512_setr_epi64(0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db,
                                         0x3feec49182a3f090, 0x3feee89f995ad3ad, 0x3fef199bdd85529c,
                                         0x3fef5818dcfba487, 0x3fefa4afa2a490da);
    const __m512d whole = _mm512_set1_pd(0x1.8p48); /* its last place is 1/16 */
    __m512d d = _mm512_cvtps_pd(x), big = _mm512_add_pd(d, whole);
    __m512d r = _mm512_sub_pd(d, _mm512_sub_pd(big, whole)),
            p = _mm512_set1_pd(0x1.430a1d08ec681p-13), root;
    __m512i k = _mm512_castpd_si512(big);

    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0x1.5d897e525c216p-10));
    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0x1.3b2ab6fb41213p-7));
    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0x1.c6b08d6f2a289p-5));
    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0x1.ebfbdff82c590p-3));
    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(0x1.62e42fefa39f3p-1));
    k = _mm512_add_epi64(_mm512_permutex2var_epi64(lo, k, hi), _mm512_slli_epi64(k, 48));
    root = _mm512_castsi512_pd(k);
    return _mm512_fmadd_pd(_mm512_mul_pd(p, r), root, root);
}

static void exp_rows(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,
                     const uint32_t *s2, const uint32_t *s3)
{
    const __m512i least = _mm512_set1_epi32(0x00800000), quiet = _mm512_set1_epi32(0x00400000);

    (void)d1, (void)s1, (void)s2, (void)s3;
    for (unsigned l = 0; l < W; l += 16) {
        __m512 x = _mm512_loadu_ps(s0 + l), c;
        __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        __m256 lo, hi;
        __m512i y;

        c = _mm512_max_ps(x, _mm512_set1_ps(-200.0f)); /* -200 for a NaN */
        c = _mm512_min_ps(c, _mm512_set1_ps(200.0f));
        lo = _mm512_cvtpd_ps(exp2_part(_mm512_castps512_ps256(c)));
        hi = _mm512_cvtpd_ps(exp2_part(_mm512_extractf32x8_ps(c, 1)));
        y = _mm512_inserti32x8(_mm512_castsi256_si512(_mm256_castps_si256(lo)),
                               _mm256_castps_si256(hi), 1);
        y = _mm512_maskz_mov_epi32(_mm512_cmpge_epu32_mask(y, least), y);
        y = _mm512_mask_or_epi32(y, nan, _mm512_castps_si512(x), quiet);
        _mm512_storeu_si512(d0 + l, y);
    }
}
#define row_v_exp_f32 exp_rows

/* VRANGE is minimum and maximum with -0 below +0. Which of several NaNs it returns differs. */
#define RANGE_ROWS(name, generic, which, three)                                                    \
    static void name(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,           \
                     const uint32_t *s2, const uint32_t *s3)                                       \
    {                                                                                              \
        const uint32_t *last = three ? s2 : s1;                                                    \
        unsigned nan = 0;                                                                          \
                                                                                                   \
        for (unsigned l = 0; l < W; l += 16) {                                                     \
            __m512 x = _mm512_loadu_ps(s0 + l), y = _mm512_loadu_ps(s1 + l);                       \
            __m512 z = _mm512_loadu_ps(last + l);                                                  \
                                                                                                   \
            nan |= _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q);                                         \
            nan |= _mm512_cmp_ps_mask(z, z, _CMP_UNORD_Q);                                         \
        }                                                                                          \
        if (nan) {                                                                                 \
            generic(d0, d1, s0, s1, s2, s3);                                                       \
            return;                                                                                \
        }                                                                                          \
        for (unsigned l = 0; l < W; l += 16) {                                                     \
            __m512 x = _mm512_loadu_ps(s0 + l);                                                    \
                                                                                                   \
            x = _mm512_range_ps(x, _mm512_loadu_ps(s1 + l), which);                                \
            if (three)                                                                             \
                x = _mm512_range_ps(x, _mm512_loadu_ps(s2 + l), which);                            \
            _mm512_storeu_ps(d0 + l, x);                                                           \
        }                                                                                          \
    }
RANGE_ROWS(min_rows, row_v_min_f32, 4, false)
RANGE_ROWS(max_rows, row_v_max_f32, 5, false)
RANGE_ROWS(min3_rows, row_v_min3_f32, 4, true)
RANGE_ROWS(max3_rows, row_v_max3_f32, 5, true)
#define row_v_min_f32 min_rows
#define row_v_max_f32 max_rows
#define row_v_min3_f32 min3_rows
#define row_v_max3_f32 max3_rows
#endif

#define V(name, dw, w0, w1, w2, cls, effects, ...)                                                 \
    {#name, row_##name, dw, {w0, w1, w2}, EMU_C_##cls, effects},
static const struct emu_vrow rows[] = {
#include "sem_vector.def"
#include "sem_poison.def"
    {NULL, NULL, 0, {0, 0, 0}, 0, 0}};
#undef V

#define EMU_NAME2(w, level) emu_lanes_##w##_##level
#define EMU_NAME1(w, level) EMU_NAME2(w, level)
extern const struct emu_lanes EMU_NAME1(EMU_W, EMU_LEVEL);
const struct emu_lanes EMU_NAME1(EMU_W, EMU_LEVEL) = {
    .lanes = W,
    .rows = rows,
    .plain = {plain_rows, plain_cmp, plain_carry},
    .modified = {modified_rows, modified_cmp, modified_carry},
    .half = half_rows,
    .pair = pair_rows,
    .pair_move = pair_moves,
    .gpr_idx = indexed_rows,
    .dense = DENSE,
    .direct = direct,
};

#if defined(__clang__) && defined(EMU_TARGET)
#pragma clang attribute pop
#endif
