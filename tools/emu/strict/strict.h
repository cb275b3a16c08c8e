/*
 * Inside of strict mode: what each op reads and writes, and the extra state of a wave and a
 * workgroup.
 */
#ifndef EMU_STRICT_H
#define EMU_STRICT_H

#include "program.h"
#include "dense_access.h"

struct emu_range {
    uint16_t first, n;
};

/* Any of the range's bits; rows number bits of `bits`. */
static inline uint64_t emu_range_bits(const uint64_t *bits, const struct emu_range *r)
{
    unsigned at = r->first & 63;
    uint64_t x;

    if (!r->n)
        return 0;
    x = bits[r->first >> 6] >> at;
    if (at + r->n > 64)
        x |= bits[(r->first >> 6) + 1] << (64 - at);
    return x & ~UINT64_C(0) >> (64 - r->n);
}

static inline void emu_set_range_bits(uint64_t *bits, const struct emu_range *r)
{
    unsigned at = r->first & 63;
    uint64_t x = r->n ? ~UINT64_C(0) >> (64 - r->n) : 0;

    bits[r->first >> 6] |= x << at;
    if (at + r->n > 64)
        bits[(r->first >> 6) + 1] |= x >> (64 - at);
}

enum emu_strict_kind {
    EMU_K_SCALAR, /* SALU and flow */
    EMU_K_ROW,    /* a vector row with its wrapper; poison by the shadow op */
    EMU_K_CROSS,  /* cross_lane.c */
    EMU_K_VOPD,
    EMU_K_MEMORY,
    EMU_K_MATRIX
};

/* How the poison of a scalar result follows from the sources. Inverted results are like others. */
enum emu_scalar_rule {
    EMU_SR_ANY,
    EMU_SR_MOVE,
    EMU_SR_AND,
    EMU_SR_ANDN2,
    EMU_SR_OR,
    EMU_SR_ORN2,
    EMU_SR_XOR,
    EMU_SR_SELECT,
    EMU_SR_FIELD /* of S0 the bits that S1 says */
};

/* What a memory instruction counts up until it is done. */
enum emu_counter {
    EMU_CNT_VM = 1,
    EMU_CNT_VS = 2,
    EMU_CNT_LDS = 4,
    EMU_CNT_SMEM = 8,
    EMU_CNT_EXP = 16,
    EMU_CNT_KM = 32 /* gfx12: scalar loads have a counter of their own */
};

/* emu_wave.scc_poison: known, but not to be read before a wait. */
enum { EMU_SCC_LATE = 2 };

struct emu_strict_op {
    uint8_t kind;     /* enum emu_strict_kind */
    uint8_t rule;     /* enum emu_scalar_rule */
    uint8_t counters; /* enum emu_counter */
    uint8_t matrix;   /* enum emu_matrix_kind */
    uint8_t passes;   /* of a matrix instruction, four cycles each */
    uint8_t nread, nwrite, nsread, nswrite;
    uint8_t control;       /* row: sources whose values, not whose poison, the shadow op gets */
    uint8_t waits;         /* enum emu_wait_kind */
    uint8_t keeps_half;    /* memory: 1 the load keeps the high half of D0, 2 the low half */
    uint8_t address_reads; /* memory: the first so many of read[] are addresses, the rest data */
    bool is_dpp, is_trans, is_nop, is_dot, is_fma64, is_permlane, is_empty; /* v_nop */
    bool needs_m0, reads_vcc, reads_vccz, reads_execz, reads_lane, writes_half, keeps_part,
        reads_literal;
    bool is_depctr;
    bool is_block;    /* gfx12: memory, the registers that M0 has bits of */
    bool is_sparse;   /* gfx12: a sparse matrix product */
    bool scc_is_late; /* gfx12: SCC is there once it has been waited for */
    bool overlaps;    /* D0 is written while sources that share registers with it are still read */
    /* what becomes of poison, where no rule for all instructions of its kind does it */
    void (*own_poison)(struct emu_wave *w, const struct emu_op *op);
    uint8_t relative;               /* of emu_relative_kind */
    uint8_t gets_hwreg, sets_hwreg; /* s_getreg, s_setreg: the register's number + 1 */
    uint16_t shift_row;             /* gfx90a: row + 1 that a 64-bit shift takes its amount from */
    struct emu_range stored;        /* rows of a store of more than 8 bytes */
    bool values;                    /* row: values of S0 and S1 go to S2 and S3 of the shadow op */
    uint16_t lane_select_sgpr;
    struct emu_range read[6], write[2];   /* rows */
    struct emu_range sread[7], swrite[3]; /* canonical scalar registers */
    struct emu_op shadow;                 /* runs on poison */
    struct emu_insn clean;                /* the shadow's instruction: no signs, clamp, omod */
};

/* Classes of MFMA that need different wait states. */
enum emu_matrix_kind { EMU_X_NONE, EMU_X_XDL, EMU_X_F32, EMU_X_F64_SMALL, EMU_X_F64_LARGE };

/* What wrote a row last, as far as hazards go. */
struct emu_written {
    uint32_t mfma, mfma_c, valu, trans, dot, half, stored; /* wait states, see emu_hazards.states */
    uint16_t mfma_first, dot_row;
    uint8_t passes, matrix, c_passes, c_matrix;
};

/*
 * What gfx11 does not resolve. VALU instructions are counted, transcendental ones also by
 * themselves; rows hold in emu_written.valu and .trans the counts after the one that wrote them.
 */
struct emu_hazards11 {
    uint32_t valus, trans;
    uint32_t drained;      /* valus, when all of them had last been waited for */
    struct emu_range wmma; /* D of a WMMA that no VALU instruction followed yet; n 0: none */
    bool cmpx;             /* no VALU instruction followed v_cmpx yet */
    /* wave64 only */
    uint32_t exec_at[4]; /* valus at the last writes of EXEC by SALU, by their number modulo 4 */
    unsigned exec_writes;
    uint64_t masks[2]; /* scalar registers that VALU has read as masks, and no other since */
    uint64_t stale[2]; /* of those: written by SALU since */
};

/* Scalar registers of gfx12, and VCC apart: see hazard_gfx12.c. */
struct emu_hazards12 {
    uint64_t tracked;          /* pairs that VALU has read */
    uint64_t salu[2], valu[2]; /* registers written by these, and not waited for */
    uint8_t vcc;
};

/* When rows and registers were written, by what. */
struct emu_hazards {
    struct emu_wave *wave; /* to blame; NULL while a program is looked through */
    enum emu_family family;
    bool found;         /* too few wait states */
    bool blamed;        /* the op at hand was reported for them */
    uint32_t states;    /* wait states since the start, modulo 2^32; 0: "never" */
    uint32_t hot_until; /* until then matrix and dot results are checked */
    uint64_t hot[8];    /* rows that have such results since then, or are C of a product */
    struct emu_written row[512];
    uint32_t valu_sgpr[EMU_S_REGS], valu_exec, salu_m0, valu_last;
    uint32_t dgemm_last, store_last, setreg[64];
    unsigned rows; /* that the kernel has */
    struct emu_hazards11 gfx11;
    struct emu_hazards12 gfx12;
};

enum emu_wait_kind {
    EMU_W_NONE,
    EMU_W_ALL,
    EMU_W_GFX9,
    EMU_W_GFX11,
    EMU_W_VS,
    EMU_W_VM,
    EMU_W_LGKM,
    EMU_W_EXP,
    /* gfx12; loadcnt is VM, storecnt VS */
    EMU_W_DS,
    EMU_W_KM,
    EMU_W_LOAD_DS,
    EMU_W_STORE_DS
};

enum { EMU_ROW_WORDS = 512 / 64 };

/* What decides whether an op needs a closer look: the state that it touches, as bits. */
struct emu_strict_gate {
    uint64_t rows[EMU_ROW_WORDS];
    uint64_t scalars[2]; /* that of EMU_S_NULL stands for SCC */
    uint8_t kind, waits; /* as in emu_strict_op */
    bool always;         /* look in any case */
    bool counts;         /* a memory operation that is waited for */
    bool is_plain;       /* nothing but these registers: no memory, no wait, no barrier */
};

/* Where a way through a kernel may lack wait states: ops by their index; from == to when that is
 * not known, since the kernel is left to counting. */
struct emu_hazard_way {
    unsigned from, to;
};

/* The strict side of a prepared kernel. */
struct emu_strict_program {
    struct emu_strict_op *ops; /* as program->ops */
    struct emu_strict_gate *gates;
    struct emu_strict_op *pairs; /* as program->pairs */
    bool may_hazard;             /* wait states have to be counted while the kernel runs */
    struct emu_hazard_way way;   /* for what */
    struct emu_missing *missing; /* as program->ops; NULL where they are faults */
    unsigned nmissing;
};

#define EMU_EPOCHS 64

/*
 * A write to where another wave has written since the last barrier. It is no race when it leaves
 * the bytes as they are, which is known once the instruction has run: compilers let all waves that
 * hold a value store it.
 */
struct emu_rewrite {
    const uint8_t *at;
    uint64_t address, writer; /* writer: its wave in LDS, its number in the launch otherwise */
    uint32_t old;
    uint8_t bytes; /* 1..4 */
    int8_t lane;
    uint8_t space; /* enum emu_space */
};

#define EMU_REWRITES 256

/* Extra state of a wave. */
struct emu_strict_wave {
    /* memory operations issued and known to be done, counted since the wave began */
    uint32_t vm_issued, vm_done, vs_issued, vs_done, lgkm_issued, lgkm_done, last_smem;
    uint32_t km_issued, km_done, km_op[64];
    uint32_t vpend_vm[512], vpend_lgkm[512]; /* number of the operation that will write the row */
    uint32_t exp_issued, exp_done;           /* lds_direct_load, of gfx11 only */
    uint32_t vpend_exp[256];
    uint32_t spend[EMU_S_REGS];
    /* rows and registers that may have something pending */
    uint64_t vpend[EMU_ROW_WORDS], spending[2];
    uint32_t vm_op[64], lgkm_op[64], exp_op[8]; /* the ops under way, by their number modulo 64 */
    /* as in emu_strict_gate: what may be pending or poison */
    uint64_t busy_scalars[2];
    struct emu_hazards hazards;
    /* race detector */
    uint32_t epoch;                                      /* barriers passed */
    uint32_t lds_done[EMU_EPOCHS], dma_done[EMU_EPOCHS]; /* by lgkmcnt, by vmcnt */
    uint32_t last_write, last_dma; /* the LDS and the vector memory operation that wrote LDS last */
    uint64_t polled;               /* the dword that an atomic load took last; 0: none */
    uint64_t lane_read[64];        /* address and operation of each lane's last LDS read */
};

/* Last write to a dword of LDS, and the reads since the last barrier. Wave numbers are + 1; 0:
 * none. */
struct emu_lds_write {
    uint32_t number; /* of the writer's LDS operations, or vector memory operations by DMA */
    uint16_t epoch;
    uint8_t writer, bytes;
};

struct emu_lds_read {
    uint16_t epoch;
    uint8_t reader, bytes;
};

/* In emu_lds_write.bytes beside the four byte bits; in emu_lds_read.reader. */
enum { EMU_LDS_BY_ATOMIC = 0x10, EMU_LDS_BY_DMA = 0x20, EMU_LDS_SEVERAL = 255 };

static inline void emu_lds_note_read(struct emu_lds_read *x, unsigned wave, uint32_t epoch,
                                     unsigned bytes)
{
    uint8_t me = (uint8_t)(wave + 1);
    bool now = x->epoch == (uint16_t)epoch;

    x->reader = now && x->reader && x->reader != me ? EMU_LDS_SEVERAL : me;
    x->bytes = (uint8_t)(now ? x->bytes | bytes : bytes);
    x->epoch = (uint16_t)epoch;
}

enum {
    EMU_LDS_UNIT = 16,                          /* bytes of LDS that have one bit in the log */
    EMU_LDS_WORDS = 163840 / EMU_LDS_UNIT / 64, /* of bits, for the largest LDS */
    EMU_LDS_SETS = 32,                          /* of shapes */
    EMU_LDS_WAYS = 4,
    EMU_LDS_ACCESSES = 2048
};

/* How the lanes of a wave lie to each other: instructions of a loop mostly differ in the first one
 * only. */
struct emu_lds_shape {
    uint32_t row[64];  /* the address register when it was met last */
    uint32_t from[64]; /* bytes from lane 0, modulo 2^32, as the lowest lane's */
    uint32_t lowest;
    uint32_t spread;   /* from the lowest to the highest lane */
    uint8_t lanes;     /* 0: none yet */
    uint8_t different; /* so many lanes; the others repeat them, as operands of WMMA do */
    uint8_t words;     /* dwords of a lane */
    uint8_t phase;     /* of lane 0 in its unit */
    uint8_t n;         /* of units */
    /* touched, from the lowest lane's on, behind a word of none and before others of none */
    uint64_t units[EMU_LDS_WORDS + 4];
};

/* An access of a whole wave to LDS whose records have been put off. */
struct emu_lds_access {
    uint32_t first;  /* byte of lane 0 */
    uint32_t number; /* of the wave's LDS operations */
    uint8_t shape, wave, access;
};

/*
 * The accesses since the last barrier. Most of them never meet another wave's: then their records
 * are not needed.
 */
struct emu_lds_log {
    uint32_t epoch;
    unsigned n;
    /* bit i: wave i came to the barrier before this epoch (even, odd) with writes under way */
    uint32_t under_way[2];
    /* units, for each wave: what it has read, and what other waves have written */
    uint64_t read[EMU_MAX_WAVES][EMU_LDS_WORDS + 2], foreign[EMU_MAX_WAVES][EMU_LDS_WORDS + 2];
    uint64_t clean[EMU_LDS_WORDS + 2]; /* units known to have no poison, at any time */
    struct emu_lds_shape shape[EMU_LDS_SETS][EMU_LDS_WAYS];
    uint8_t next_way[EMU_LDS_SETS];
    struct emu_lds_access access[EMU_LDS_ACCESSES];
};

struct emu_strict_global; /* last writes of the launch to device memory */

struct emu_strict {
    struct emu_lds_write *writes;
    struct emu_lds_read *reads;
    struct emu_strict_global *global;
    struct emu_lds_log lds;
    struct emu_rewrite rewrite[EMU_REWRITES]; /* of the instruction being run */
    unsigned rewrites;
};

/* Builds program->strict once. Thread-safe. False when out of memory. */
bool emu_strict_prepare(const struct emu_kernel *k, bool warn_waits);
void emu_strict_release(struct emu_strict_program *s);
void emu_strict_describe(struct emu_strict_op *so, const struct emu_op *op,
                         const struct emu_program *p);

/* State of a fresh wave and workgroup. */
void emu_strict_init_wave(struct emu_wave *w);

/*
 * Runs at most n ops with all checks and returns what is left of n; hits: executions of each op.
 * `run` executes one when the wave's attention is wanted.
 */
unsigned emu_strict_run(struct emu_wave *w, uint32_t *hits, unsigned n, emu_fn *run);

/* The same for an op that touches something pending or poison. */
void emu_strict_look(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                     emu_fn *run);
/* Finds out what of the op's scalar registers is pending or poison now. */
void emu_strict_refresh(struct emu_wave *w, const struct emu_strict_gate *gate);

/* The parts of a step. */
void emu_strict_check_pending(struct emu_wave *w, const struct emu_strict_op *so);
void emu_strict_issue(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op);
/* waits: enum emu_wait_kind */
void emu_strict_scc_arrives(struct emu_wave *w);
void emu_strict_wait(struct emu_wave *w, unsigned waits, const struct emu_op *op);
void emu_strict_check_hazards(struct emu_hazards *h, const struct emu_strict_op *so,
                              const struct emu_op *op);
void emu_strict_note_hazards(struct emu_hazards *h, const struct emu_strict_op *so,
                             const struct emu_op *op);
/*
 * Missing wait states: a fault, or, where the launch asks for it, counted at the op
 * (wait_warnings.c). emu_strict_warnings gives what has not been told yet, malloc'ed, or NULL.
 */
void emu_strict_blame(struct emu_wave *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool emu_strict_warn_begin(struct emu_strict_program *s, unsigned nops);
void emu_strict_warn_free(struct emu_strict_program *s);
char *emu_strict_warnings(struct emu_strict_program *s);
/* The same on gfx11. */
void emu_strict_check_hazards11(struct emu_hazards *h, const struct emu_strict_op *so,
                                const struct emu_op *op);
void emu_strict_note_hazards11(struct emu_hazards *h, const struct emu_strict_op *so,
                               const struct emu_op *op);
/* Beside that, on gfx12. */
void emu_strict_check_hazards12(struct emu_hazards *h, const struct emu_strict_op *so,
                                const struct emu_op *op);
void emu_strict_note_hazards12(struct emu_hazards *h, const struct emu_strict_op *so,
                               const struct emu_op *op);
/* What passes with the op, without what it leaves in registers. */
void emu_strict_pass11(struct emu_hazards *h, const struct emu_strict_op *so,
                       const struct emu_op *op);
/* Wait states that pass with the op. */
unsigned emu_strict_states(const struct emu_strict_op *so, const struct emu_op *op);
/* May any way through the kernel lack wait states? When in doubt, yes; then `way` is the first. */
bool emu_strict_may_hazard(const struct emu_kernel *k, const struct emu_strict_op *ops,
                           struct emu_hazard_way *way);
void emu_strict_matrix_poison(struct emu_wave *w, const struct emu_strict_op *so,
                              const struct emu_op *op);
/* The caller keeps the dirty bit of the row that it writes. */
void emu_strict_bitop3_poison(struct emu_wave *w, const struct emu_op *op);
void emu_strict_scaled_poison(struct emu_wave *w, const struct emu_op *op);
/* Poison of word i of the result; any: some source has poison. */
uint32_t emu_strict_scalar_poison(const struct emu_wave *w, const struct emu_strict_op *so,
                                  const struct emu_op *op, unsigned i, bool any);
/* Lanes whose poison in S0 an instruction like saveexec would take into EXEC. */
uint64_t emu_strict_saveexec_poison(const struct emu_wave *w, const struct emu_strict_op *so,
                                    const struct emu_op *op);
/*
 * waves: of the whole launch. NULL when out of memory. Any thread may use one, but for one that is
 * `alone`.
 */
struct emu_strict_global *emu_strict_global_new(uint64_t waves, bool alone);
void emu_strict_global_free(struct emu_strict_global *g);
void emu_strict_global_access(struct emu_wave *w, enum emu_access access, int lane,
                              uint64_t address, unsigned bytes);

void emu_strict_lds_access(struct emu_wave *w, enum emu_access access, int lane, uint64_t address,
                           unsigned bytes);

/* As in struct emu_watch. */
extern const struct emu_watch emu_strict_watch;
bool emu_strict_lds_quick(struct emu_wave *w, const struct emu_op *op, unsigned offset,
                          unsigned words, enum emu_access access, struct emu_dense *x);
bool emu_strict_lds_dense(struct emu_wave *w, enum emu_access access, const uint32_t *at,
                          unsigned words, const uint32_t span[2]);
bool emu_strict_global_dense(struct emu_wave *w, enum emu_access access, uint64_t address,
                             const uint32_t *at, unsigned words);

/* Announces an access to some bytes of LDS: after it the records of all earlier ones are there. */
void emu_strict_lds_touch(struct emu_wave *w, enum emu_access access, uint32_t first,
                          uint32_t last);
/* Was the write done before its wave passed the last barrier that `w` has passed, too? */
bool emu_strict_lds_visible(const struct emu_wave *w, const struct emu_lds_write *x);
/* A fresh workgroup. */
void emu_strict_lds_init(struct emu_group *g);
void emu_strict_at_barrier(struct emu_wave *w);

/*
 * Notes bytes of a store that meet another wave's; at: where they lie. emu_strict_rewritten, after
 * the instruction, faults if they have changed. More than EMU_REWRITES in one instruction fault at
 * once.
 */
void emu_strict_rewrite(struct emu_wave *w, enum emu_space space, int lane, uint64_t address,
                        unsigned bytes, const uint8_t *at, uint64_t writer);
void emu_strict_rewritten(struct emu_wave *w);

#endif
