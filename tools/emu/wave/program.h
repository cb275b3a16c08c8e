/*
 * Inside of the execution core: what the pre-decoder, the lane templates, the scalar handlers and
 * the run loops share. Nobody else includes it.
 */
#ifndef EMU_EXEC_H
#define EMU_EXEC_H

#include "wave.h"

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

/* Memory of whole waves (dense_lanes.h): lane l's dwords lie at byte at[l] behind a base. */
struct emu_dense_fns {
    void (*offsets)(uint32_t *at, const uint32_t *v, uint32_t add, uint32_t span[2]);
    void (*read)(uint32_t *d, const uint8_t *base, const uint32_t *at, unsigned words);
    void (*write)(uint8_t *base, const uint32_t *at, const uint32_t *s, unsigned words);
    bool (*shadow_is)(const uint8_t *shadow, const uint32_t *at, unsigned words, uint8_t value);
    void (*shadow_set)(uint8_t *shadow, const uint32_t *at, unsigned words, uint8_t value);
};

/* A shorter way for the usual case of a handler; leaves the rest to op->inner. */
struct emu_direct {
    const char *sem;
    emu_fn *fn;
};

/* Everything that is compiled once for each wave size and host level. */
struct emu_lanes {
    unsigned lanes;
    const struct emu_vrow *rows;
    emu_fn *plain[EMU_SHAPES];
    emu_fn *modified[EMU_SHAPES]; /* modifiers, partial destinations, DPP, SDWA */
    emu_fn *half;                 /* one half of D0, nothing else unusual */
    emu_fn *pair;                 /* v_pk_*_f32: the 32-bit row for each half */
    emu_fn *pair_move;            /* v_pk_mov_b32 */
    emu_fn *gpr_idx;              /* EMU_A_GPR_IDX: rows moved by M0, then fn */
    struct emu_dense_fns dense;
    const struct emu_direct *direct; /* ends with a null name */
};

/* The set for the running host. */
const struct emu_lanes *emu_lanes_for(unsigned wave);

/* Scratch rows behind the constants: the splats of one instruction, then temporaries of the
 * wrappers. */
#define EMU_SPLATS 4
#define EMU_TEMPS 16

/* emu_op.flags */
enum emu_opbits {
    EMU_B_KEEP_HALF = 1, /* 16-bit result: the other half of D0 stays */
    EMU_B_ALL_LANES = 2, /* EXEC is ignored */
    EMU_B_WIDE = 4,      /* D0 is two rows */
    EMU_B_DST_HI = 8,    /* the result goes to the high half */
    EMU_B_PACKED = 16,   /* op_sel, op_sel_hi, neg_lo, neg_hi pick halves (VOP3P) */
    EMU_B_NO_ALIAS = 32, /* pair: the low result may be written before the high one is computed */
    EMU_B_VECTOR = 64,   /* s_set_gpr_idx and MODE concern it */
    EMU_B_MODE = 128,    /* result depends on MODE: with EMU_A_MODE the slow path runs it */
    EMU_B_KEEP_BYTES = EMU_B_KEEP_HALF | EMU_B_PACKED /* of VOP3: op_sel[3:2] names the byte */
};

/*
 * Words of w->s that follow SCC, VCCZ and EXECZ when an instruction reads them as an operand; they
 * lie in the trash area, which nobody else reads.
 */
#define EMU_S_VCCZ (EMU_S_TRASH + 13)
#define EMU_S_EXECZ (EMU_S_TRASH + 14)
#define EMU_S_SCC (EMU_S_TRASH + 15)

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
    struct emu_insn *insns; /* one per instruction, and one per half of a VOPD */
    struct emu_op *pairs;   /* VOPD halves, two by two in order of execution, and wrapped ops */
    struct emu_permute *permutes;
    uint32_t *vconst; /* values of the constant rows */
    uint32_t *sconst; /* values of w->s[EMU_S_CONST...] */
    const struct emu_lanes *lanes;
    struct emu_strict_program *strict; /* NULL until the first strict launch */
    void (*strict_release)(struct emu_strict_program *strict); /* with it */
    unsigned nops, ninsns, npairs, npermutes, vconsts, sconsts;
    unsigned rows; /* of w->v: registers, constants, splats, temporaries */
    unsigned row_const, row_splat, row_temp;
};

/* What a row of the instruction table is bound to; at most one is set. */
struct emu_binding {
    const struct emu_sem *sem;
    const struct emu_vrow *row;
};

/* Looks a semantic name up for a wave size. Thread-safe. */
struct emu_binding emu_bind(const char *name, unsigned wave);

/* Is this one of those that take time on hardware but have no effect, such as s_waitcnt? */
bool emu_is_idle(const struct emu_op *op);

/* Fills op for insn. Never fails: what cannot run gets a handler that faults with the reason. */
struct emu_builder;
void emu_bind_op(struct emu_builder *b, struct emu_op *op, const struct emu_insn *insn);

/* Growing parts of a program under construction. */
struct emu_builder {
    const struct emu_kernel *kernel;
    struct emu_program *program;
    unsigned cap_pairs, cap_permutes, cap_vconst, cap_sconst;
    bool failed; /* out of memory */
};

unsigned emu_add_pairs(struct emu_builder *b, unsigned n);
unsigned emu_add_permute(struct emu_builder *b, const struct emu_permute *p);
unsigned emu_add_vconst(struct emu_builder *b, const uint32_t *x, unsigned n);
unsigned emu_add_sconst(struct emu_builder *b, const uint32_t *x, unsigned n);

/* emu_exec_vopd.c, dpp.c */
void emu_resolve_dpp(struct emu_permute *p, const struct emu_insn *insn);
void emu_vopd(struct emu_wave *w, const struct emu_op *op);
void emu_with_specials(struct emu_wave *w, const struct emu_op *op);

/* Registers whose numbers M0 moves; 0 for an instruction that has none. */
enum {
    EMU_RELATIVE_S = 1,     /* the source */
    EMU_RELATIVE_D = 2,     /* the destination */
    EMU_RELATIVE_SWAP = 4,  /* the second destination, like a source */
    EMU_RELATIVE_SPLIT = 8, /* each by a field of M0 of its own */
};
unsigned emu_relative_kind(const char *sem);
/* Moves the rows of op; a fault when one is beyond the kernel's registers. */
void emu_relative_rows(struct emu_wave *w, unsigned kind, struct emu_op *op);
void emu_relative(struct emu_wave *w, const struct emu_op *op);

/* Scalar and cross-lane handlers, and conversions with a scale: scalar.c, flow.c, fork.c,
 * cross_lane.c, scaled_floats.c. */
extern const struct emu_sem emu_sem_scalar[];
extern const struct emu_sem emu_sem_flow[];
extern const struct emu_sem emu_sem_fork[];
extern const struct emu_sem emu_sem_barriers[];
extern const struct emu_sem emu_sem_cross[];
extern const struct emu_sem emu_sem_scaled[];

static inline const struct emu_program *emu_program_of(const struct emu_wave *w)
{
    return w->group->kernel->program;
}

/* Byte offset in the text of the next instruction. */
static inline uint64_t emu_next_offset(const struct emu_wave *w)
{
    return (uint64_t)(w->ip - emu_program_of(w)->ops) * 4;
}

/* Piece (53 bits) of 2/pi for an argument with the bits s0. */
double emu_trig_preop(uint64_t s0, unsigned piece);

/* Runs one op with EMU_A_MODE: rounding as MODE says, denormals flushed. */
void emu_run_mode(struct emu_wave *w, const struct emu_op *op);

/* Sets up the registers of wave w->index of its workgroup. */
void emu_init_wave(struct emu_wave *w);

void emu_jump(struct emu_wave *w, uint64_t address);
void emu_stop_wave(struct emu_wave *w, enum emu_state state);
void emu_end_wave(struct emu_wave *w);

/* Bits of MODE on gfx9. */
#define EMU_MODE_GPR_IDX (UINT32_C(1) << 27)
#define EMU_MODE_VSKIP (UINT32_C(1) << 28)
void emu_set_mode(struct emu_wave *w, uint32_t mode);

/* Does s_setvskip keep op from being issued? Scalar instructions stand first in enum emu_enc. */
static inline bool emu_skipped(const struct emu_wave *w, const struct emu_op *op)
{
    return w->attention & EMU_A_VSKIP && op->insn && op->insn->enc > EMU_SMEM;
}

#endif
