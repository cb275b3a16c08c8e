/*
 * Vector instructions that are no lane-by-lane rows: data crosses lanes, goes to scalar registers,
 * or the register number comes from M0.
 */
#include <string.h>

#include "program.h"

static unsigned first_lane(const struct emu_wave *w)
{
    uint64_t m = emu_exec(w);

    return m ? (unsigned)__builtin_ctzll(m) : 0;
}

/* A source operand of a lane: register row or scalar. Scalars of these instructions are not splat.
 */
static uint32_t source(const struct emu_wave *w, const struct emu_op *op, unsigned i, unsigned lane)
{
    uint8_t kind = op->insn->src[i].kind;

    if (kind == EMU_OPK_VGPR || kind == EMU_OPK_AGPR)
        return emu_row(w, op->s[i])[lane];
    return w->s[op->s[i]];
}

static void readfirstlane(struct emu_wave *w, const struct emu_op *op)
{
    w->s[op->d[0]] = source(w, op, 0, first_lane(w));
}

static void readlane(struct emu_wave *w, const struct emu_op *op)
{
    w->s[op->d[0]] = source(w, op, 0, source(w, op, 1, 0) & (w->lanes - 1));
}

static void writelane(struct emu_wave *w, const struct emu_op *op)
{
    emu_row(w, op->d[0])[source(w, op, 1, 0) & (w->lanes - 1)] = source(w, op, 0, 0);
}

static void swap(struct emu_wave *w, unsigned a, unsigned b)
{
    uint32_t *x = emu_row(w, a), *y = emu_row(w, b);
    uint64_t m = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1) {
            uint32_t t = x[l];

            x[l] = y[l];
            y[l] = t;
        }
}

static void swap_rows(struct emu_wave *w, const struct emu_op *op)
{
    swap(w, op->d[0], op->d[1]);
}

/* Row `row` moved by `by`, checked against the kernel's registers. */
static unsigned relative(struct emu_wave *w, unsigned row, uint32_t by)
{
    uint64_t i = (uint64_t)row + by;

    if (i >= w->group->kernel->vgprs)
        emu_fault(w, 0, "v[%u + %u] is beyond the %u registers of the kernel", row, by,
                  w->group->kernel->vgprs);
    return (unsigned)i;
}

/* Of the _2 forms and v_swaprel, bits 9:0 of M0 move the source, bits 25:16 the destination. */
static uint32_t source_offset(uint32_t m0, bool split)
{
    return split ? m0 & 0x3ff : m0;
}

static uint32_t destination_offset(uint32_t m0, bool split)
{
    return split ? m0 >> 16 & 0x3ff : m0;
}

static void swaprel(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t m0 = w->s[EMU_S_M0];

    swap(w, relative(w, op->d[0], destination_offset(m0, true)),
         relative(w, op->d[1], source_offset(m0, true)));
}

unsigned emu_relative_kind(const char *sem)
{
    static const struct {
        const char *sem;
        unsigned kind;
    } kinds[] = {
        {"v_movrels_b32", EMU_RELATIVE_S},
        {"v_movreld_b32", EMU_RELATIVE_D},
        {"v_movrelsd_b32", EMU_RELATIVE_S | EMU_RELATIVE_D},
        {"v_movrelsd_2_b32", EMU_RELATIVE_S | EMU_RELATIVE_D | EMU_RELATIVE_SPLIT},
        {"v_swaprel_b32", EMU_RELATIVE_D | EMU_RELATIVE_SWAP | EMU_RELATIVE_SPLIT},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(sem, kinds[i].sem) == 0)
            return kinds[i].kind;
    return 0;
}

void emu_relative_rows(struct emu_wave *w, unsigned kind, struct emu_op *op)
{
    uint32_t m0 = w->s[EMU_S_M0];
    bool split = kind & EMU_RELATIVE_SPLIT;

    if (kind & EMU_RELATIVE_D)
        op->d[0] = (uint16_t)relative(w, op->d[0], destination_offset(m0, split));
    if (kind & EMU_RELATIVE_S)
        op->s[0] = (uint16_t)relative(w, op->s[0], source_offset(m0, split));
    if (kind & EMU_RELATIVE_SWAP)
        op->d[1] = (uint16_t)relative(w, op->d[1], source_offset(m0, split));
}

/* v_movrel: the move that stands in `pairs`, on the rows that M0 says. */
void emu_relative(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_op moved = emu_program_of(w)->pairs[op->target];

    emu_relative_rows(w, (unsigned)op->imm, &moved);
    moved.fn(w, &moved);
}

/*
 * v_permlane16: lane l takes lane (nibble of S1:S2 for l % 16) of its own row of 16, x16 of the
 * neighbour row; of the forms _var each lane has its nibble in S1. op_sel bit 0 is FI (disabled
 * lanes may be read), bit 1 BOUND_CTRL (a disabled lane reads as 0 instead of leaving D0 alone).
 */
static void permlane(struct emu_wave *w, const struct emu_op *op, unsigned flip, bool var)
{
    uint64_t select = source(w, op, 1, 0), m = emu_exec(w);
    bool inactive = op->insn->op_sel & 1, zero = op->insn->op_sel & 2;
    bool is_row = op->insn->src[0].kind == EMU_OPK_VGPR, all = m == emu_all_lanes(w);
    uint32_t *d = emu_row(w, op->d[0]), t[64];

    if (!var)
        select |= (uint64_t)source(w, op, 2, 0) << 32;
    for (unsigned l = 0; l < w->lanes; l++) {
        const uint64_t nibble = var ? source(w, op, 1, l) : select >> 4 * (l & 15);
        unsigned from = ((l & ~15u) ^ flip) | (unsigned)(nibble & 15);

        if (all && is_row)
            t[l] = emu_row(w, op->s[0])[from];
        else if (inactive || m >> from & 1)
            t[l] = source(w, op, 0, from);
        else
            t[l] = zero ? 0 : d[l];
    }
    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1)
            d[l] = t[l];
}

static void permlane16(struct emu_wave *w, const struct emu_op *op)
{
    permlane(w, op, 0, false);
}

static void permlanex16(struct emu_wave *w, const struct emu_op *op)
{
    permlane(w, op, 16, false);
}

static void permlane16_var(struct emu_wave *w, const struct emu_op *op)
{
    permlane(w, op, 0, true);
}

static void permlanex16_var(struct emu_wave *w, const struct emu_op *op)
{
    permlane(w, op, 16, true);
}

/* Swaps the halves of a wave64; nothing in wave32. */
static void permlane64(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *d = emu_row(w, op->d[0]), t[64];
    uint64_t m = emu_exec(w);

    if (w->lanes == 32)
        return;
    for (unsigned l = 0; l < w->lanes; l++)
        t[l] = source(w, op, 0, l ^ 32);
    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1)
            d[l] = t[l];
}

/*
 * v_permlane16_swap, v_permlane32_swap: the odd rows of `row` lanes of the destination change
 * places with the even rows, one before, of the source. op_sel bit 0 is FI, bit 1 BOUND_CTRL: as
 * DPP, a lane whose partner is disabled keeps its value, or reads it or 0.
 */
static void lane_swap(struct emu_wave *w, const struct emu_op *op, unsigned row)
{
    bool inactive = op->insn->op_sel & 1, zero = op->insn->op_sel & 2;
    uint32_t *d = emu_row(w, op->d[0]), *s = emu_row(w, op->d[1]), x[64], y[64];
    uint64_t m = emu_exec(w);

    memcpy(x, d, sizeof x);
    memcpy(y, s, sizeof y);
    for (unsigned l = 0; l < 64; l++) {
        bool odd = l & row, active = m >> (l ^ row) & 1;

        if (!(m >> l & 1) || !(active || inactive || zero))
            continue;
        if (odd)
            d[l] = active || inactive ? y[l ^ row] : 0;
        else
            s[l] = active || inactive ? x[l ^ row] : 0;
    }
}

static void permlane16_swap(struct emu_wave *w, const struct emu_op *op)
{
    lane_swap(w, op, 16);
}

static void permlane32_swap(struct emu_wave *w, const struct emu_op *op)
{
    lane_swap(w, op, 32);
}

/* A source of 16 or 32 bits. */
static uint32_t half_or_whole(const struct emu_wave *w, const struct emu_op *op, unsigned i,
                              unsigned lane)
{
    return source(w, op, i, lane) >> (op->insn->src[i].flags & EMU_OPF_HI ? 16 : 0);
}

/* v_bitop3: bit 4 a + 2 b + c of the table, for each bit of the three sources. */
static void bitop3_bits(struct emu_wave *w, const struct emu_op *op, uint32_t mask)
{
    const unsigned table = op->insn->bitop3, shift = op->insn->op_sel & 8 ? 16 : 0;
    uint64_t m = emu_exec(w);
    uint32_t r[64];

    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t a = half_or_whole(w, op, 0, l), b = half_or_whole(w, op, 1, l);
        uint32_t c = half_or_whole(w, op, 2, l);

        r[l] = 0;
        for (unsigned i = 0; i < 8; i++)
            if (table >> i & 1)
                r[l] |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    }
    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1) {
            uint32_t *d = &emu_row(w, op->d[0])[l];

            *d = (*d & ~(mask << shift)) | (r[l] & mask) << shift;
        }
}

static void bitop3(struct emu_wave *w, const struct emu_op *op)
{
    bitop3_bits(w, op, ~0u);
}

static void bitop3_b16(struct emu_wave *w, const struct emu_op *op)
{
    bitop3_bits(w, op, 0xffff);
}

static void nothing(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

/* v_mqsad_u32_u8: four masked sums of absolute differences, 128-bit result. */
static void mqsad(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t m = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++) {
        uint64_t a = source(w, op, 0, l);
        uint32_t b = source(w, op, 1, l), r[4];
        bool vector = op->insn->src[0].kind == EMU_OPK_VGPR;

        if (!(m >> l & 1))
            continue;
        a |= (uint64_t)(vector ? emu_row(w, op->s[0] + 1u)[l] : w->s[op->s[0] + 1]) << 32;
        for (unsigned i = 0; i < 4; i++) {
            r[i] = emu_row(w, op->s[2] + i)[l];
            for (unsigned j = 0; j < 4; j++) {
                int x = (int)(a >> 8 * (i + j) & 0xff), y = (int)(b >> 8 * j & 0xff);

                r[i] += y ? (uint32_t)(x > y ? x - y : y - x) : 0;
            }
        }
        for (unsigned i = 0; i < 4; i++)
            emu_row(w, op->d[0] + i)[l] = r[i];
    }
}

#define R(name, fn, effects)                                                                       \
    {                                                                                              \
#name, {fn, fn }, effects, EMU_C_VALU                                                      \
    }

const struct emu_sem emu_sem_cross[] = {
    R(v_readfirstlane_b32, readfirstlane, EMU_E_CROSS_LANE | EMU_E_READ_EXEC),
    R(v_readlane_b32, readlane, EMU_E_CROSS_LANE | EMU_E_IGNORES_EXEC),
    R(v_writelane_b32, writelane, EMU_E_CROSS_LANE | EMU_E_IGNORES_EXEC),
    R(v_swap_b32, swap_rows, 0),
    R(v_swaprel_b32, swaprel, EMU_E_READ_M0),
    R(v_permlane16_b32, permlane16, EMU_E_CROSS_LANE),
    R(v_permlanex16_b32, permlanex16, EMU_E_CROSS_LANE),
    R(v_permlane16_var_b32, permlane16_var, EMU_E_CROSS_LANE),
    R(v_permlanex16_var_b32, permlanex16_var, EMU_E_CROSS_LANE),
    R(v_permlane64_b32, permlane64, EMU_E_CROSS_LANE),
    R(v_permlane16_swap_b32, permlane16_swap, EMU_E_CROSS_LANE),
    R(v_permlane32_swap_b32, permlane32_swap, EMU_E_CROSS_LANE),
    R(v_bitop3_b32, bitop3, 0),
    R(v_bitop3_b16, bitop3_b16, 0),
    R(v_mqsad_u32_u8, mqsad, 0),
    R(v_nop, nothing, 0),
    R(v_pipeflush, nothing, 0),
    R(v_clrexcp, nothing, 0),
    {NULL, {NULL, NULL}, 0, 0},
};
