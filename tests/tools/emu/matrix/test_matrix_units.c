/*
 * Matrix instructions against a second implementation that goes element by element through the
 * layout rules of the ISA manuals, and the rounding rules of each arithmetic mode on chosen values.
 *
 * Shapes come from the instructions' names and from the operand sizes of the instruction table, not
 * from the emulator's own list of shapes. Inputs are small integers, so that every sum is exact in
 * every mode and the comparison needs no tolerance.
 */
#include <math.h>

#include "matrix_ops.h"
#include "tap.h"

enum { ROW_A = 0, ROW_B = 8, ROW_C = 16, ROW_D = 64, ROW_INDEX = 14, ROWS = 112 };

static struct emu_launch launch;
static struct emu_group group = {.launch = &launch};
static struct emu_wave wave;
static struct emu_insn insn;
static struct emu_op op;
static uint64_t seed = 20240611;

static unsigned pick(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static const struct emu_sem *find(const char *name)
{
    for (const struct emu_sem *s = emu_sem_matrix; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

/* What the name and the operand sizes say. */
struct shape {
    unsigned m, n, k, blocks, bits; /* bits of one element of A */
    char type[8], type_b[8];
    bool sparse, f64, integer;
};

static unsigned bits_of(const char *type)
{
    if (strcmp(type, "f64") == 0)
        return 64;
    if (strcmp(type, "f32") == 0 || strcmp(type, "xf32") == 0)
        return 32;
    if (strncmp(type, "f16", 3) == 0 || strncmp(type, "bf16", 4) == 0)
        return 16;
    return 8;
}

static bool parse(const struct emu_row *row, struct shape *s)
{
    char rest[32] = "", result[8];
    unsigned blocks = 0;
    memset(s, 0, sizeof *s);
    s->sparse = strncmp(row->name, "v_smfmac_", 9) == 0;
    if (sscanf(row->name, s->sparse ? "v_smfmac_%3s_%ux%ux%u%31s" : "v_mfma_%3s_%ux%ux%u%31s",
               result, &s->m, &s->n, &s->k, rest) != 5)
        return false;
    const char *types = rest;
    if (sscanf(rest, "_%ub", &blocks) == 1 && strchr(rest + 1, '_'))
        types = strchr(rest + 1, '_');
    types += *types == '_';
    snprintf(s->type, sizeof s->type, "%.*s", (int)strcspn(types, "_"), types);
    const char *second = strchr(types, '_');
    snprintf(s->type_b, sizeof s->type_b, "%s",
             second && strcmp(second, "_1k") != 0 ? second + 1 : s->type);
    s->bits = bits_of(s->type);
    s->f64 = s->bits == 64;
    s->integer = strcmp(s->type, "i8") == 0;
    unsigned d_bits = 64;
    sscanf(row->sig, "b%u", &d_bits);
    s->blocks = d_bits / (s->f64 ? 64 : 32) * 64 / (s->m * s->n);
    return blocks == 0 || blocks == s->blocks;
}

static uint64_t encode(const char *type, int v)
{
    double d = v;
    float f = (float)v;
    uint32_t u;
    uint64_t u64;
    memcpy(&u, &f, 4);
    memcpy(&u64, &d, 8);
    if (strcmp(type, "f64") == 0)
        return u64;
    if (strcmp(type, "f32") == 0 || strcmp(type, "xf32") == 0)
        return u;
    if (strncmp(type, "bf16", 4) == 0)
        return u >> 16;
    if (strcmp(type, "i8") == 0)
        return (uint8_t)v;
    if (v == 0)
        return 0;
    /* sign, biased exponent and the top of the mantissa of the f32, for f16, fp8 and bf8 */
    unsigned sign = u >> 31;
    int exponent = (int)(u >> 23 & 255) - 127;
    if (strncmp(type, "f16", 3) == 0)
        return sign << 15 | (unsigned)(exponent + 15) << 10 | (u >> 13 & 1023);
    if (strcmp(type, "fp8") == 0)
        return sign << 7 | (unsigned)(exponent + 8) << 3 | (u >> 20 & 7);
    return sign << 7 | (unsigned)(exponent + 16) << 2 | (u >> 21 & 3);
}

/* Element e of lane l of an operand. */
static void put(unsigned row, unsigned bits, unsigned l, unsigned e, uint64_t x)
{
    for (unsigned b = 0; b<bits; b += b + 32> bits ? bits : 32) {
        unsigned at = e * bits + b, width = bits < 32 ? bits : 32;
        uint32_t *v = &wave.v[(row + at / 32) * 64 + l];
        uint32_t mask = width == 32 ? ~0u : ((1u << width) - 1) << at % 32;
        *v = (*v & ~mask) | (uint32_t)(x >> b) << at % 32;
    }
}

static uint64_t get(unsigned row, unsigned bits, unsigned l, unsigned e)
{
    uint64_t x = wave.v[(row + e * bits / 32) * 64 + l];
    return bits == 64 ? x | (uint64_t)wave.v[(row + e * 2 + 1) * 64 + l] << 32 : x;
}

/* The manuals' rule for C and D. */
static void place(const struct shape *s, unsigned b, unsigned i, unsigned j, unsigned *lane,
                  unsigned *item)
{
    unsigned h = s->f64 ? 1 : 4;
    unsigned bi = (64 + s->n * s->m / h - 1) / (s->n * s->m / h);
    unsigned mi = 64 / bi / s->n, g = s->m / (h * mi);
    *item = i % h + h * (i / (h * mi) + g * (b / bi));
    *lane = j + s->n * (i / h % mi + mi * (b % bi));
}

static int a[16][32][64], b[16][64][32];
static int64_t c[16][32][32];

static void fill(const struct shape *s)
{
    /* fp8 and bf8 hold -3..3 exactly with three and two bits of mantissa. */
    for (unsigned x = 0; x < s->blocks; x++)
        for (unsigned k = 0; k < s->k; k++) {
            for (unsigned i = 0; i < s->m; i++)
                a[x][i][k] = (int)pick(7) - 3;
            for (unsigned j = 0; j < s->n; j++)
                b[x][k][j] = (int)pick(7) - 3;
        }
    for (unsigned x = 0; x < s->blocks; x++)
        for (unsigned i = 0; i < s->m; i++)
            for (unsigned j = 0; j < s->n; j++)
                c[x][i][j] = (int)pick(201) - 100;
    for (unsigned r = 0; r < ROWS * 64; r++)
        wave.v[r] = 0xdead0000 + r;
}

static void store_dense(const struct shape *s, unsigned row, unsigned rows, const char *type,
                        bool is_a)
{
    unsigned per = s->k / (64 / (rows * s->blocks));
    for (unsigned x = 0; x < s->blocks; x++)
        for (unsigned i = 0; i < rows; i++)
            for (unsigned k = 0; k < s->k; k++)
                put(row, s->bits, i + rows * (x + s->blocks * (k / per)), k % per,
                    encode(type, is_a ? a[x][i][k] : b[x][k][i]));
}

/* Two of every four columns of A, and their numbers in set `set` of the index register. */
static void store_sparse(const struct shape *s, unsigned set)
{
    unsigned stored = s->k / 2 / (64 / s->m);
    for (unsigned l = 0; l < 64; l++)
        wave.v[ROW_INDEX * 64 + l] = 0;
    for (unsigned i = 0; i < s->m; i++)
        for (unsigned four = 0; four < s->k / 4; four++) {
            unsigned first = pick(3), second = first + 1 + pick(3 - first);
            for (unsigned q = 0; q < 4; q++)
                if (q != first && q != second)
                    a[0][i][4 * four + q] = 0;
            for (unsigned t = 0; t < 2; t++) {
                unsigned which = t ? second : first, e = (2 * four + t) % stored;
                unsigned lane = i + s->m * ((2 * four + t) / stored);
                put(ROW_A, s->bits, lane, e, encode(s->type, a[0][i][4 * four + which]));
                wave.v[ROW_INDEX * 64 + lane] |= which << (2 * e + set * 2 * stored);
            }
        }
}

/* As a kernel would: by the shorter way where there is one. */
static void run(const struct emu_sem *sem, const struct shape *s)
{
    emu_fn *direct;
    op.insn = &insn;
    op.s[0] = ROW_A;
    op.s[1] = ROW_B;
    op.s[2] = s->sparse ? ROW_INDEX : ROW_C;
    op.s[3] = ROW_C;
    op.d[0] = s->sparse ? ROW_C : ROW_D;
    for (unsigned i = 0; i < 4; i++)
        insn.src[i].kind = EMU_OPK_VGPR;
    op.inner = sem->fn[1];
    direct = emu_matrix_direct(&op, sem->name);
    (direct ? direct : op.inner)(&wave, &op);
}

/* BLGP, lane by lane in sixteens: which sixteen each of the four reads. */
static const unsigned lane_groups[8][4] = {
    {0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
    {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3},
};

/* B (x, k, j) as the multiplier sees it: BLGP moves lanes, and for f64 negates. */
static int multiplier_b(const struct shape *s, unsigned x, unsigned k, unsigned j)
{
    unsigned per = s->k / (64 / (s->n * s->blocks));
    unsigned lane = j + s->n * (x + s->blocks * (k / per));
    if (s->f64)
        return insn.blgp & 2 ? -b[x][k][j] : b[x][k][j];
    lane = lane_groups[insn.blgp][lane / 16] * 16 + lane % 16;
    return b[lane / s->n % s->blocks][lane / (s->n * s->blocks) * per + k % per][lane % s->n];
}

static unsigned compare(const struct shape *s)
{
    unsigned bad = 0, group_size = 1u << insn.cbsz;
    for (unsigned x = 0; x < s->blocks; x++)
        for (unsigned i = 0; i < s->m; i++)
            for (unsigned j = 0; j < s->n; j++) {
                unsigned lane, item;
                unsigned from =
                    s->sparse ? 0 : x / group_size * group_size + insn.abid % group_size;
                int64_t want = s->f64 && insn.blgp & 4 ? -c[x][i][j] : c[x][i][j];
                int sign = s->f64 && insn.blgp & 1 ? -1 : 1;
                for (unsigned k = 0; k < s->k; k++)
                    want += sign * a[from][i][k] * multiplier_b(s, x, k, j);
                place(s, x, i, j, &lane, &item);
                uint64_t got = get(op.d[0], s->f64 ? 64 : 32, lane, item);
                uint64_t bits =
                    s->integer ? (uint32_t)want : encode(s->f64 ? "f64" : "f32", (int)want);
                bad += got != bits;
            }
    return bad;
}

static void one_shape(const struct emu_row *row, enum emu_family family)
{
    static const char *const modes[] = {"hw", "exact", "adversarial", "f32"};
    const struct emu_sem *sem = find(row->sem);
    struct shape s;
    if (!ok(sem && parse(row, &s), "%s has a handler and a name that tells its shape", row->name))
        return;
    memset(&insn, 0, sizeof insn);
    insn.family = (uint8_t)family;
    insn.row = (uint16_t)(row - emu_rows);
    for (unsigned mode = 0; mode < 4; mode++) {
        unsigned cd = s.f64 ? 64 : 32;
        launch.matrix = (enum emu_matrix_mode)mode;
        insn.cbsz = !s.sparse && s.blocks > 1 && mode ? 1 : 0;
        insn.abid = s.sparse ? mode & 1 : insn.cbsz;
        if (s.sparse && 2 * (s.k / 2 / (64 / s.m)) * 2 > 32)
            insn.abid = 0;
        insn.blgp = s.sparse ? 0 : (uint8_t)pick(8);
        fill(&s);
        if (s.sparse)
            store_sparse(&s, insn.abid);
        else
            store_dense(&s, ROW_A, s.m, s.type, true);
        store_dense(&s, ROW_B, s.n, s.type_b, false);
        for (unsigned x = 0; x < s.blocks; x++)
            for (unsigned i = 0; i < s.m; i++)
                for (unsigned j = 0; j < s.n; j++) {
                    unsigned lane, item;
                    place(&s, x, i, j, &lane, &item);
                    put(ROW_C, cd, lane, item,
                        s.integer ? (uint32_t)c[x][i][j]
                                  : encode(s.f64 ? "f64" : "f32", (int)c[x][i][j]));
                }
        run(sem, &s);
        is_int(compare(&s), 0, row->name);
        tap_diag("%ux%ux%u, %u blocks, blgp %u, cbsz %u, abid %u, %s", s.m, s.n, s.k, s.blocks,
                 insn.blgp, insn.cbsz, insn.abid, modes[mode]);
    }
}

static void all_shapes(void)
{
    for (unsigned i = 0; i < emu_row_count; i++) {
        const struct emu_row *r = &emu_rows[i];
        if (r->enc != EMU_MAI || !(r->flags & EMU_F_MATRIX))
            continue;
        for (unsigned f = EMU_GFX90A; f <= EMU_GFX942; f++)
            if (r->op[f] >= 0)
                one_shape(r, (enum emu_family)f);
    }
}

/* One dot product of a 32x32x8 or 16x16x16: row 0 of A, column 0 of B, element (0, 0) of C. */
static float dot(const char *name, enum emu_family family, enum emu_matrix_mode mode, unsigned m,
                 const double *x, const double *y, unsigned k, float acc)
{
    const struct emu_sem *sem = find(name);
    unsigned per = m == 32 ? 4 : 4;
    _Float16 h;
    uint16_t bits;
    float result;
    memset(&insn, 0, sizeof insn);
    insn.family = (uint8_t)family;
    launch.matrix = mode;
    memset(wave.v, 0, ROWS * 64 * 4);
    for (unsigned i = 0; i < k; i++) {
        h = (_Float16)x[i];
        memcpy(&bits, &h, 2);
        put(ROW_A, 16, m * (i / per), i % per, bits);
        h = (_Float16)y[i];
        memcpy(&bits, &h, 2);
        put(ROW_B, 16, m * (i / per), i % per, bits);
    }
    memcpy(&wave.v[ROW_C * 64], &acc, 4);
    struct shape s = {.m = m};
    run(sem, &s);
    memcpy(&result, &wave.v[ROW_D * 64], 4);
    return result;
}

static void arithmetic(void)
{
    const char *mi200 = "v_mfma_f32_32x32x8f16", *mi300 = "v_mfma_f32_32x32x8_f16";
    const char *small = "v_mfma_f32_16x16x16_f16";
    const double tiny[1] = {0x1p-20}, large[1] = {0x1p10}, ones[4] = {1, 1, 1, 1};
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, tiny, large, 1, 0) == 0,
       "gfx90a, hw: a denormal f16 input counts as 0");
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_EXACT, 32, tiny, large, 1, 0) == 0x1p-10f,
       "gfx90a, exact: it counts in full");
    ok(dot(mi300, EMU_GFX942, EMU_MATRIX_HW, 32, tiny, large, 1, 0) == 0x1p-10f,
       "gfx942, hw: it counts in full");

    /* 1 + 2^-24 ties to 1; a second 2^-24 in the other pair is lost as well. */
    const double split[4] = {1, 0x1p-12, 0x1p-12, 0}, scale[4] = {1, 0x1p-12, 0x1p-12, 0};
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, split, scale, 4, 0) == 1,
       "gfx90a, hw: pairs are rounded to f32 one by one");
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_EXACT, 32, split, scale, 4, 0) == 1 + 0x1p-23f,
       "gfx90a, exact: the sum is rounded once");
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_F32, 32, split, scale, 4, 0) == 1,
       "gfx90a, f32: the sum is rounded at each product");
    /* Four at a time: (2^-24 + 2^-24) + ... the pair survives when it stands by itself. */
    const double apart[4] = {1, 0, 0x1p-12, 0x1p-12}, with[4] = {1, 0, 0x1p-12, 0x1p-12};
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, apart, with, 4, 0) == 1 + 0x1p-23f,
       "gfx90a, hw: the second pair is added first");

    const double minus[4] = {-1, -1, -1, -1}, zeros[4] = {0};
    ok(!signbit(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, minus, zeros, 4, -0.0f)),
       "gfx90a, hw: -1 * +0 + -0 is +0");
    const double denormals[4] = {-0x1p-20, -0x1p-20, -0x1p-20, -0x1p-20};
    ok(signbit(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, minus, zeros, 4, 0)) == 0 &&
           !signbit(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, denormals, ones, 4, -0x1p-130f)),
       "gfx90a, hw: what is flushed when read becomes +0");
    /* 16x16x16 adds two groups of eight, so products of different groups are not aligned. */
    double far[16] = {1}, unit[16];
    for (unsigned i = 0; i < 16; i++)
        unit[i] = 1;
    far[8] = -0x1p-24;
    ok(dot(small, EMU_GFX942, EMU_MATRIX_HW, 16, far, unit, 16, 0) == 1 - 0x1p-24f,
       "gfx942, hw: the second group meets the rounded sum of the first");
    ok(dot(mi300, EMU_GFX942, EMU_MATRIX_EXACT, 32, (double[]){1, -0x1p-13}, (double[]){1, 0x1p-13},
           2, 0) == 1,
       "gfx942, exact: the small product only matters for rounding");
    const double inf[2] = {INFINITY, 1};
    ok(isinf(dot(mi300, EMU_GFX942, EMU_MATRIX_HW, 32, inf, ones, 2, 0)),
       "gfx942, hw: infinity stays infinity");
    const double both[2] = {INFINITY, -INFINITY};
    ok(isnan(dot(mi200, EMU_GFX90A, EMU_MATRIX_HW, 32, both, ones, 2, 0)),
       "gfx90a, hw: inf - inf is NaN");
    /* Adversarial mode flushes, too, and loses nothing else to that. */
    const double nan[1] = {NAN};
    ok(isnan(dot(mi200, EMU_GFX90A, EMU_MATRIX_ADVERSARIAL, 32, nan, ones, 1, 0)) &&
           isnan(dot(mi200, EMU_GFX90A, EMU_MATRIX_ADVERSARIAL, 32, both, ones, 2, NAN)),
       "gfx90a, adversarial: NaN stays NaN");
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_ADVERSARIAL, 32, inf, ones, 2, 0) == INFINITY,
       "gfx90a, adversarial: infinity stays infinity");
    ok(dot(mi200, EMU_GFX90A, EMU_MATRIX_ADVERSARIAL, 32, ones, zeros, 4, 0x1p-127f) == 0,
       "gfx90a, adversarial: a denormal sum is flushed");
}

/* ---- WMMA */

static float wmma_value(const char *type, uint32_t bits)
{
    float f;
    _Float16 h;
    uint16_t half = (uint16_t)bits;
    if (strcmp(type, "f16") == 0) {
        memcpy(&h, &half, 2);
        return (float)h;
    }
    bits = strcmp(type, "bf16") == 0 ? bits << 16 : bits;
    memcpy(&f, &bits, 4);
    return f;
}

/* v_wmma_<acc>_16x16x16_<type>, every element by the manual's layout. */
static void wmma_float(const char *acc, const char *type, unsigned lanes, unsigned high)
{
    char name[64];
    snprintf(name, sizeof name, "v_wmma_%s_16x16x16_%s", acc, type);
    const struct emu_sem *sem = find(name);
    bool narrow = strcmp(acc, "f32") != 0;
    unsigned bad = 0, rows = lanes / 16, kept = 0;
    struct shape s = {.m = 16, .n = 16, .k = 16, .blocks = 1};
    wave.lanes = lanes;
    memset(&insn, 0, sizeof insn);
    insn.family = EMU_GFX11;
    insn.op_sel = high ? 4 : 0;
    fill(&s);
    for (unsigned l = 0; l < lanes; l++)
        for (unsigned k = 0; k < 16; k++) {
            uint16_t *va = (uint16_t *)&wave.v[(ROW_A + k / 2) * lanes + l];
            uint16_t *vb = (uint16_t *)&wave.v[(ROW_B + k / 2) * lanes + l];
            va[k % 2] = (uint16_t)encode(type, a[0][l % 16][k]);
            vb[k % 2] = (uint16_t)encode(type, b[0][k][l % 16]);
        }
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            uint32_t *v = &wave.v[(ROW_C + i / rows) * lanes + i % rows * 16 + j];
            uint32_t x = (uint32_t)encode(acc, (int)c[0][i][j]);
            *v = narrow ? high ? x << 16 | 0x1234 : x | 0x56780000 : x;
        }
    memcpy(&wave.v[ROW_D * lanes], &wave.v[ROW_C * lanes], 8 * lanes * 4);
    s.sparse = false;
    run(sem, &s);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            int64_t want = c[0][i][j];
            for (unsigned k = 0; k < 16; k++)
                want += a[0][i][k] * b[0][k][j];
            uint32_t got = wave.v[(ROW_D + i / rows) * lanes + i % rows * 16 + j];
            uint32_t other = high ? got & 0xffff : got >> 16;
            kept += !narrow || other == (high ? 0x1234 : 0x5678);
            got = narrow ? (high ? got >> 16 : got & 0xffff) : got;
            bad += wmma_value(acc, got) != (float)want;
        }
    ok(sem && bad == 0, "%s, wave%u, op_sel %u: every element (%u wrong)", name, lanes, high, bad);
    is_int(kept, 256, "the other half of a 16-bit result stays");
}

static void wmma_integer(unsigned bits, unsigned lanes, unsigned sign)
{
    const struct emu_sem *sem =
        find(bits == 8 ? "v_wmma_i32_16x16x16_iu8" : "v_wmma_i32_16x16x16_iu4");
    unsigned bad = 0, rows = lanes / 16, mask = (1u << bits) - 1;
    struct shape s = {.m = 16, .n = 16, .k = 16, .blocks = 1};
    uint32_t ra[16][16], rb[16][16];
    wave.lanes = lanes;
    memset(&insn, 0, sizeof insn);
    insn.family = EMU_GFX11;
    insn.neg_lo = (uint8_t)sign;
    fill(&s);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned k = 0; k < 16; k++) {
            ra[i][k] = pick(mask + 1);
            rb[i][k] = pick(mask + 1);
        }
    memset(wave.v, 0, ROW_C * lanes * 4);
    for (unsigned l = 0; l < lanes; l++)
        for (unsigned k = 0; k < 16; k++) {
            unsigned at = k * bits;
            wave.v[(ROW_A + at / 32) * lanes + l] |= ra[l % 16][k] << at % 32;
            wave.v[(ROW_B + at / 32) * lanes + l] |= rb[l % 16][k] << at % 32;
        }
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++)
            wave.v[(ROW_C + i / rows) * lanes + i % rows * 16 + j] = (uint32_t)c[0][i][j];
    run(sem, &s);
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            int64_t want = c[0][i][j];
            for (unsigned k = 0; k < 16; k++) {
                int x = (int)ra[i][k], y = (int)rb[j][k], half = 1 << (bits - 1);
                x -= (sign & 1) && x >= half ? 2 * half : 0;
                y -= (sign & 2) && y >= half ? 2 * half : 0;
                want += x * y;
            }
            bad += wave.v[(ROW_D + i / rows) * lanes + i % rows * 16 + j] != (uint32_t)want;
        }
    ok(sem && bad == 0, "iu%u, wave%u, signs %u: every element (%u wrong)", bits, lanes, sign, bad);
}

static void wmma_all(void)
{
    for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
        for (unsigned mode = 0; mode < 4; mode++) {
            launch.matrix = (enum emu_matrix_mode)mode;
            wmma_float("f32", "f16", lanes, 0);
            wmma_float("f32", "bf16", lanes, 0);
        }
        launch.matrix = EMU_MATRIX_EXACT;
        for (unsigned high = 0; high < 2; high++) {
            wmma_float("f16", "f16", lanes, high);
            wmma_float("bf16", "bf16", lanes, high);
        }
        for (unsigned sign = 0; sign < 4; sign++) {
            wmma_integer(8, lanes, sign);
            wmma_integer(4, lanes, sign);
        }
    }
}

/* ---- host levels */

/* Bits of a finite float that a 16-bit float holds; bf16 reaches into overflow and denormals. */
static float operand(bool bf16)
{
    uint32_t bits = pick(1u << 16);
    float f;
    if (bf16) {
        bits = (bits & 0x7f80) == 0x7f80 ? 0 : bits << 16;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    return ldexpf((float)(int)(bits % 4095) - 2047, (int)(bits >> 12) - 24);
}

static void compare_level(const struct emu_matrix_level *level, const char *name)
{
    static float x[2048], y[2048], want[1024], got[1024];
    static const enum emu_rule rules[3] = {EMU_RULE_CUT, EMU_RULE_CUT_HALVES, EMU_RULE_PAIRS};
    struct emu_dot d = {.group = 4};
    unsigned bad = 0;
    for (unsigned round = 0; round < 480; round++) {
        unsigned shape = round % 3;
        d.mode = round & 32 ? EMU_MATRIX_HW : round & 8 ? EMU_MATRIX_EXACT : EMU_MATRIX_F32;
        d.rule = rules[round / 64 % 3];
        d.lowest[0] = d.lowest[1] = round & 16 ? -126 : -14;
        d.m = d.n = shape == 0 ? 32 : shape == 1 ? 16 : 4;
        d.k = shape == 0 ? 8 : shape == 1 ? 16 : 4;
        for (unsigned i = 0; i < d.m * d.k; i++) {
            x[i] = operand(round & 16);
            y[i] = operand(round & 16);
        }
        for (unsigned i = 0; i < d.m * d.n; i++)
            want[i] = got[i] = operand(true) * 0x1.000002p0f;
        emu_matrix_base.dot(&d, x, y, want);
        level->dot(&d, x, y, got);
        for (unsigned i = 0; i < d.m * d.n; i++)
            bad += memcmp(&want[i], &got[i], 4) != 0 && !(isnan(want[i]) && isnan(got[i]));
    }
    is_int(bad, 0, name);
}

/* C a few registers before D: it is read before D is written. */
static void overlapping(const char *name)
{
    const struct emu_sem *sem = find(name);
    const size_t bytes = 16 * 64 * 4;
    uint32_t *from = &wave.v[ROW_C * 64], *d = &wave.v[ROW_D * 64], want[16 * 64];
    memset(&insn, 0, sizeof insn);
    insn.family = EMU_GFX942;
    launch.matrix = EMU_MATRIX_F32;
    for (unsigned i = 0; i < ROW_D * 64; i++) /* halves and floats of about one */
        wave.v[i] = 0x3f003a00 + (pick(256) << 16) + pick(256);
    run(sem, &(struct shape){.m = 32});
    memcpy(want, d, bytes);
    memcpy(d - 4 * 64, from, bytes);
    op.s[2] = ROW_D - 4;
    (op.fn = emu_matrix_direct(&op, name)) ? op.fn(&wave, &op) : op.inner(&wave, &op);
    ok(memcmp(want, d, name[11] == '3' ? bytes : bytes / 4) == 0, "%s: C overlaps D", name);
}

static void host_levels(void)
{
    enum emu_host host = emu_host();
    tap_diag("host level %d", (int)host);
#if defined(__x86_64__)
    if (host >= EMU_HOST_AVX2)
        compare_level(&emu_matrix_v3, "AVX2 gives the bits of the portable code");
    if (host >= EMU_HOST_AVX512)
        compare_level(&emu_matrix_v4, "AVX-512 gives the bits of the portable code");
#endif
    emu_host_limit(EMU_HOST_BASE);
    ok(emu_matrix_best() == &emu_matrix_base, "the level is limited");
    emu_host_limit(EMU_HOST_AVX512);
    ok(emu_host() == host, "and back");
}

int main(void)
{
    wave.group = &group;
    wave.lanes = 64;
    wave.rng = 7;
    wave.v = calloc(ROWS * 64, 4);
    tap_diag("seed %llu", (unsigned long long)seed);
    all_shapes();
    arithmetic();
    overlapping("v_mfma_f32_32x32x8_f16");
    overlapping("v_mfma_f32_16x16x16_bf16");
    wmma_all();
    host_levels();
    free(wave.v);
    return tap_done();
}
