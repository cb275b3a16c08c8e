/*
 * Scalar arithmetic: one handler for each row of sem_scalar.def.
 */
#include <math.h>
#include <string.h>

#include "program.h"
#include "lane_math.h"

/* For each group of four bits that is not empty: all four (whole quad mode), or one bit of a mask.
 */
static uint64_t quads(uint64_t x, bool compress)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < 16; i++)
        if (x >> 4 * i & 15)
            r |= compress ? UINT64_C(1) << i : UINT64_C(15) << 4 * i;
    return r;
}

static uint64_t field(uint64_t x, unsigned n)
{
    return n >= 64 ? x : x & ((UINT64_C(1) << n) - 1);
}

static uint64_t reverse(uint64_t x)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < 64; i++)
        r |= (x >> i & 1) << (63 - i);
    return r;
}

/* Bit i goes to bit 2i. */
static uint64_t spread(uint32_t x)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < 32; i++)
        r |= (uint64_t)(x >> i & 1) << 2 * i;
    return r;
}

/* v_s_exp_f32 and its kind: neg, abs, omod and clamp of a VOP3, on one scalar. */
static float in_f32(const struct emu_op *op, float x)
{
    const unsigned flags = op->insn->src[0].flags;

    x = flags & EMU_OPF_ABS ? fabsf(x) : x;
    return flags & EMU_OPF_NEG ? -x : x;
}

static float out_f32(const struct emu_op *op, float x)
{
    static const float factor[] = {1, 2, 4, 0.5f};

    x *= factor[op->insn->omod & 3];
    if (op->insn->clamp)
        x = x > 0 ? (x < 1 ? x : 1) : 0; /* NaN becomes 0 */
    return x;
}

#define SCC w->scc
#define IMM op->imm
#define EXEC32 w->s[EMU_S_EXEC]
#define EXEC64 emu_s64(w, EMU_S_EXEC)
#define SET_EXEC32(x) w->s[EMU_S_EXEC] = x
#define SET_EXEC64(x) emu_set_s64(w, EMU_S_EXEC, x)

#define emu_r0 emu_r1
#define LOAD0(i) {.u32 = 0}
#define LOAD1(i) {.u32 = w->s[i]}
#define LOAD2(i) {.u64 = emu_s64(w, i)}
#define STORE0
#define STORE1 w->s[op->d[0]] = D.u32
#define STORE2 emu_set_s64(w, op->d[0], D.u64)

/* A source that the row lacks is never loaded: its width 0 picks LOAD0. */
#define S(name, dw, w0, w1, w2, effects, ...)                                                      \
    static void scalar_##name(struct emu_wave *w, const struct emu_op *op)                         \
    {                                                                                              \
        const union emu_r##w0 S0 = LOAD##w0(op->s[0]);                                             \
        const union emu_r##w1 S1 = LOAD##w1(op->s[1]);                                             \
        const union emu_r##w2 S2 = LOAD##w2(op->s[2]);                                             \
        const union emu_r##dw OLD = LOAD##dw(op->d[0]);                                            \
        union emu_r##dw D = OLD;                                                                   \
        (void)S0, (void)S1, (void)S2, (void)D;                                                     \
        __VA_ARGS__;                                                                               \
        STORE##dw;                                                                                 \
    }
#include "sem_scalar.def"
#undef S

#define RS EMU_E_READ_SCC
#define WS EMU_E_WRITE_SCC
#define X (EMU_E_READ_EXEC | EMU_E_WRITE_EXEC)
#define F EMU_E_FLOAT
#define P (EMU_E_BITS | EMU_E_DATA0)

#define S(name, dw, w0, w1, w2, effects, ...)                                                      \
    {#name, {scalar_##name, scalar_##name}, effects, EMU_C_SALU},
const struct emu_sem emu_sem_scalar[] = {
#include "sem_scalar.def"
    {NULL, {NULL, NULL}, 0, 0}};
