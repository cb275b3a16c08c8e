/*
 * Inside of the execution core: what the pre-decoder, the lane templates, the scalar handlers and the
 * run loops share. Nobody else includes it.
 */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "emu_wave.h"

/* One lane of a 32-bit or 64-bit operand, in the words of AMD's manuals. */
union emu_r1 {
    uint32_t u32;
    int32_t i32;
    float f32;
};

union emu_r2 {
    uint64_t u64;
    int64_t i64;
    double f64;
    uint32_t u32;
    int32_t i32;
    float f32;
};

/* A row of sem_vector.def as compiled for one wave size and one host level. */
struct emu_vrow {
    const char *name;
    emu_rowfn *fn;
    uint8_t dw, w[3]; /* dwords of D0 and S0..S2; 0: the operand does not exist */
    uint8_t cls;
    uint32_t effects;
};

/* Shapes of vector instructions: how the wrapper treats the destinations. */
enum emu_shape {
    EMU_SHAPE_ROWS,  /* d[0] is 1 or 2 rows */
    EMU_SHAPE_CMP,   /* d[0] is a mask (v_cmp, v_cmpx) */
    EMU_SHAPE_CARRY, /* d[0] is rows, d[1] a mask */
    EMU_SHAPES
};

/* Everything that is compiled once for each wave size and host level. */
struct emu_lanes {
    unsigned lanes;
    const struct emu_vrow *rows;
    emu_fn *plain[EMU_SHAPES];
    emu_fn *modified[EMU_SHAPES]; /* modifiers, partial destinations, DPP, SDWA */
    emu_fn *pair;                 /* v_pk_*_f32: the 32-bit row for each half */
    emu_fn *gpr_idx;              /* EMU_A_GPR_IDX: rows moved by M0, then fn */
};

/* The set for the running host. */
const struct emu_lanes *emu_lanes_for(unsigned wave);

/* Scratch rows behind the constants: the splats of one instruction, then temporaries of the wrappers. */
#define EMU_SPLATS 4
#define EMU_TEMPS 16

/* emu_op.flags */
enum emu_opbits {
    EMU_B_KEEP_HALF = 1, /* 16-bit result: the other half of D0 stays */
    EMU_B_ALL_LANES = 2, /* EXEC is ignored */
    EMU_B_WIDE = 4,      /* D0 is two rows */
    EMU_B_IDX = 8,       /* s_set_gpr_idx applies */
};

/* DPP, resolved: source lane of each lane. */
struct emu_permute {
    uint8_t from[64];
    uint64_t valid; /* lanes whose source lane exists */
    uint64_t rows;  /* lanes that row_mask and bank_mask let through */
    bool zero;      /* bound_ctrl: a missing source is 0 instead of "keep D0" */
    bool inactive;  /* fi: lanes that EXEC disables may be read */
};

/* A prepared kernel. */
struct emu_program {
    struct emu_op *ops;     /* code_size / 4 + 1 entries */
    struct emu_insn *insns; /* one per instruction */
    struct emu_op *pairs;   /* VOPD halves, two by two in order of execution */
    struct emu_permute *permutes;
    uint32_t *vconst; /* values of the constant rows */
    uint32_t *sconst; /* values of w->s[EMU_S_CONST...] */
    unsigned nops, ninsns, npairs, npermutes, vconsts, sconsts;
    unsigned rows; /* of w->v: registers, constants, splats, temporaries */
    unsigned row_const, row_splat, row_temp;
};

/* Scalar and cross-lane handlers: emu_exec_scalar.c, emu_exec_flow.c, emu_exec_cross.c. */
extern const struct emu_sem emu_sem_scalar[];
extern const struct emu_sem emu_sem_flow[];
extern const struct emu_sem emu_sem_cross[];

static inline const struct emu_program *emu_program_of(const struct emu_wave *w)
{
    return w->group->kernel->program;
}

/* Byte offset in the text of the next instruction. */
static inline uint64_t emu_next_offset(const struct emu_wave *w)
{
    return (uint64_t)(w->ip - emu_program_of(w)->ops) * 4;
}

void emu_jump(struct emu_wave *w, uint64_t address);
void emu_set_mode(struct emu_wave *w, uint32_t mode);

#endif
