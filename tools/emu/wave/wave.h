/*
 * State of a running kernel: the launch, a workgroup, a wave, the pre-decoded operation, and what
 * handlers may call.
 *
 * One wave's registers are rows of W lanes (W = 32 or 64): lane l of row r is w->v[r * W + l]. Rows
 * 0..rows-1 are the VGPRs (gfx90a/gfx942: the unified file, AGPR n is row accum_offset + n); behind
 * them stand the constants of the kernel, one row each (a 64-bit constant: two), splat rows for
 * scalar sources and temporaries. So a vector source is always a row number, whatever its kind.
 * Scalar sources likewise are an index into w->s[]: 0..127 are the canonical registers (enum
 * emu_sreg), constants stand behind.
 */
#ifndef EMU_WAVE_H
#define EMU_WAVE_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "insn.h"

struct emu_wave;
struct emu_op;
struct emu_strict;
struct emu_clock_recorder; /* time/ */
struct emu_memory;         /* device memory map, owned by memory_map.c */
struct emu_block;

typedef void emu_fn(struct emu_wave *w, const struct emu_op *op);

/*
 * The body of a vector instruction: whole rows in, whole rows out. Masks are rows of 0 or ~0 here.
 * A destination may be one of the sources, row for row; a 64-bit operand is two consecutive rows.
 */
typedef void emu_rowfn(uint32_t *d0, uint32_t *d1, const uint32_t *s0, const uint32_t *s1,
                       const uint32_t *s2, const uint32_t *s3);

#define EMU_NO_ROW 0xffff
#define EMU_SPLAT_MASK 0x8000
#define EMU_S_TRASH EMU_S_REGS        /* 16 words: where writes to NULL go */
#define EMU_S_CONST (EMU_S_REGS + 16) /* first constant in w->s */

/* Address windows of LDS and scratch for flat addresses; outside what a host can map. */
#define EMU_SHARED_APERTURE UINT64_C(0x1000000000000000)
#define EMU_PRIVATE_APERTURE UINT64_C(0x2000000000000000)

/*
 * Word 3 of the scratch descriptor s[0:3] that gfx90a kernels get. A buffer instruction whose
 * descriptor carries it addresses w->scratch: byte vaddr + offset + soffset / 64 of the lane
 * (soffset counts unswizzled bytes of the whole wave; the scratch wave offset handed out is 0).
 */
#define EMU_SCRATCH_RSRC3 UINT32_C(0x00ea7000)
#define EMU_MAX_WAVES 32 /* of a workgroup: 1024 work-items, wave32 */

/* Instruction classes, for counters and for strict mode. */
enum emu_class {
    EMU_C_SALU,
    EMU_C_BRANCH,
    EMU_C_MESSAGE, /* s_nop, s_waitcnt, s_barrier, s_sendmsg, s_delay_alu, ... */
    EMU_C_SMEM,
    EMU_C_VALU,
    EMU_C_TRANS, /* v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos */
    EMU_C_MATRIX,
    EMU_C_LDS,
    EMU_C_VMEM, /* global, buffer, flat, scratch */
    EMU_CLASSES
};

/*
 * One row of a semantic table: name as in emu_row.sem. The tables end with a null name. fn[0]
 * serves wave32, fn[1] wave64 (both may be the same function, reading w->lanes). effects: enum
 * emu_effect.
 */
struct emu_sem {
    const char *name;
    emu_fn *fn[2];
    uint32_t effects;
    uint8_t cls; /* enum emu_class */
};

enum emu_effect {
    EMU_E_READ_SCC = 1 << 0,
    EMU_E_WRITE_SCC = 1 << 1,
    EMU_E_READ_EXEC = 1 << 2, /* SALU that uses EXEC beyond its operands (saveexec, cbranch_exec) */
    EMU_E_WRITE_EXEC = 1 << 3,
    EMU_E_READ_VCC = 1 << 4, /* beyond the operands: s_cbranch_vcc* */
    EMU_E_READ_M0 = 1 << 5,
    EMU_E_IGNORES_EXEC =
        1 << 6, /* runs in all lanes: readlane, writelane, permlane64, matrix, accvgpr moves */
    EMU_E_FLOAT = 1 << 7, /* result depends on MODE */
    EMU_E_BITS =
        1 << 8, /* moves bits: poison of the result is the same function of the poison of S0.. */
    EMU_E_OWN_POISON = 1 << 9, /* handler sets the poison of its results itself (memory loads) */
    EMU_E_CROSS_LANE = 1 << 10,
    EMU_E_DATA0 = 1 << 11, /* with EMU_E_BITS: the sources whose bits are moved */
    EMU_E_DATA1 = 1 << 12,
    EMU_E_DATA2 = 1 << 13,
    EMU_E_WHOLE = 1 << 14,   /* writes all of D0 although its type is 16 bits wide */
    EMU_E_EXTREMUM = 1 << 15 /* minimum, maximum, median of floats */
};

extern const struct emu_sem
    emu_sem_memory[]; /* emu_mem*.c: SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF */
extern const struct emu_sem emu_sem_matrix[]; /* emu_matrix*.c: MFMA, SMFMAC, WMMA */

/* The shorter way of an MFMA (emu_sem.name) whose operands are bound, or NULL. Leaves the rest to
 * op->inner. */
emu_fn *emu_matrix_direct(struct emu_op *op, const char *sem);

/* A pre-decoded instruction, one cache line. ops[] of a kernel has one entry per dword of code. */
struct emu_op {
    emu_fn *fn;
    /* What fn wraps: the general handler, or the body of a vector instruction. */
    union {
        emu_fn *inner;
        emu_rowfn *row;
    };
    const struct emu_insn *insn;
    /* Vector operand: row; scalar operand: index into w->s; EMU_NO_ROW when absent. */
    uint16_t d[2];
    uint16_t s[6];
    uint16_t sgpr[4]; /* for each splat row: scalar index, + EMU_SPLAT_MASK for a lane mask */
    int32_t imm;      /* simm16, memory offset; rows: bits of the sources that are modified; pairs
                       * of f32: signs or clamp are; direct MFMA: passes */
    int32_t target;   /* branch: index of the op jumped to, or -1 */
    uint8_t dwords;   /* distance to the next op */
    uint8_t next;     /* to the next one that does something in plain mode */
    uint8_t nsplat;
    uint8_t cls;
    uint8_t flags;
    uint16_t effects;
};

enum emu_matrix_mode { EMU_MATRIX_HW, EMU_MATRIX_EXACT, EMU_MATRIX_ADVERSARIAL, EMU_MATRIX_F32 };

/*
 * A kernel of a loaded module. The loader fills the first part from ELF, notes and descriptor and
 * keeps it (and what it points to) alive until emu_kernel_release; emu_kernel_prepare fills program
 * once, under the module's lock.
 */
struct emu_kernel {
    const char *name;
    enum emu_family family;
    unsigned wave;         /* 32 or 64 */
    const uint8_t *code;   /* bytes of the function (host copy) */
    size_t code_size;      /* of the whole text from `code` on: calls leave the kernel's function */
    size_t entry;          /* byte offset of the kernel's first instruction in code */
    size_t start;          /* where waves begin: entry, or behind the prologue of preloading */
    uint64_t code_address; /* device address of code[0]: s_getpc, s_load from text */
    unsigned vgprs;        /* allocated rows: 1..512 unified, 1..256 on gfx11 */
    unsigned accum_offset; /* gfx90a/gfx942; else 0 */
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties;   /* kernel_code_properties */
    uint16_t preload;      /* kernarg preload: length in bits 0..6, offset in 7..15 */
    uint32_t lds_static;   /* bytes */
    uint32_t scratch_lane; /* private segment bytes per lane */
    uint32_t kernarg_size;
    /* Source line of a code offset into buf ("file:line"), or false when the code object has no
     * line table. */
    bool (*source_line)(const struct emu_kernel *k, size_t offset, char *buf, size_t size);
    void *loader;

    struct emu_program *program; /* NULL before emu_kernel_prepare */
};

/* Counters of one launch; exact counts, summed over the workers at the end. */
struct emu_counters {
    uint64_t instructions[EMU_CLASSES];
    uint64_t matrix_passes;
    uint64_t lds_conflict_cycles;
    uint64_t vmem_transactions;
    uint64_t bytes_loaded, bytes_stored; /* global and buffer */
    uint64_t lds_bytes;
    uint64_t barriers;
    uint64_t waves, workgroups;
    uint64_t missing_waits; /* instructions that ran too early, where that is a warning */
};

/* A fault stops the launch; the first one wins. */
struct emu_fault_info {
    char text[2048]; /* whole report, several lines */
    uint64_t pc;     /* byte offset in code */
    uint32_t workgroup[3];
    unsigned wave;
    uint64_t lanes;
};

struct emu_launch {
    struct emu_kernel *kernel;
    uint32_t grid[3], block[3]; /* workgroups; work-items per workgroup */
    uint32_t lds_bytes;         /* static + dynamic */
    uint64_t kernarg;           /* device address */
    uint64_t dispatch_packet;   /* device address of a 64-byte AQL packet, or 0 when the kernel does
                                   not ask for it */
    struct emu_memory *memory;
    bool strict;
    bool warn_waits;   /* strict mode: missing wait states are no fault */
    bool count_memory; /* count transactions and bank conflicts, which costs time */
    enum emu_matrix_mode matrix;
    unsigned order;   /* 0: waves and workgroups ascending; others: see run_launch.c */
    uint64_t seed;    /* adversarial mode, random orders */
    unsigned threads; /* 0: one per core */
    uint64_t limit;   /* wave-instructions per wave before "endless loop" is reported; 0: none */
    struct emu_clock_recorder *clock; /* for the clock; NULL: nothing is recorded */
    /* results */
    struct emu_counters counters;
    struct emu_fault_info fault;
    char *warnings; /* malloc'ed; NULL: none */
};

/* What an instruction does to memory, for the clock; it adds up until the clock has taken it. */
struct emu_footprint {
    unsigned lds_cycles, lds_ideal; /* of the busiest banks; if there were no conflicts */
    unsigned lines;
    uint64_t line[128]; /* addresses / 64 of the distinct lines */
};

struct emu_group {
    struct emu_launch *launch;
    const struct emu_kernel *kernel;
    uint32_t id[3];
    uint8_t *lds; /* lds_size bytes; poison pattern at start in strict mode */
    uint32_t lds_size;
    uint8_t *lds_poison; /* strict: one byte per byte, bits set are poison; else NULL */
    unsigned waves;
    bool count_memory;                /* counters or the clock ask for each lane's access */
    bool unwatched;                   /* neither they nor strict mode do */
    struct emu_wave *wave;            /* [waves] */
    struct emu_strict *strict;        /* NULL in plain mode */
    const struct emu_watch *watch;    /* of strict mode; likewise */
    struct emu_counters *counters;    /* of this worker */
    struct emu_footprint *footprint;  /* NULL unless the clock records this workgroup */
    const struct emu_block *block[2]; /* last ones found (dense_access.c) */
    unsigned older;                   /* index of the one found before the other */
};

enum emu_state { EMU_RUNNING, EMU_AT_BARRIER, EMU_ENDED };

/* Reasons to leave the fast loop, bits of emu_wave.attention. */
enum emu_attention {
    EMU_A_STOP = 1, /* state is no longer RUNNING */
    EMU_A_GPR_IDX =
        2, /* s_set_gpr_idx_on: every vector operation goes through the indexing wrapper */
    EMU_A_ADVERSARIAL = 8, /* transcendentals are off by up to one last place */
    EMU_A_VSKIP = 16,      /* s_setvskip: vector instructions do nothing */
    EMU_A_MODE = 4         /* rounding, denormals or IEEE differ from RNE / all denormals / on */
};

struct emu_wave {
    uint32_t *v;             /* rows, see above; 64-byte aligned */
    uint32_t *s;             /* registers and constants */
    const struct emu_op *ip; /* next op */
    const struct emu_op *op; /* the one being executed */
    unsigned lanes;          /* 32 or 64 */
    uint32_t scc;            /* 0 or 1 */
    uint32_t attention;      /* enum emu_attention */
    uint32_t mode;           /* MODE register as s_getreg sees it */
    uint32_t trapsts, status;
    uint64_t mask_exec; /* EXEC for which mask[] holds */
    uint32_t *mask;     /* W words, all ones in active lanes */

    struct emu_group *group;
    unsigned index; /* wave number in the workgroup */
    enum emu_state state;
    bool signalled;        /* gfx12: s_barrier_signal without its s_barrier_wait */
    uint64_t executed;     /* wave-instructions */
    uint8_t *scratch;      /* W * scratch_lane bytes, lane-major: byte b of lane l is scratch[l *
                              scratch_lane + b] */
    uint32_t scratch_lane; /* 16-byte multiple */
    uint64_t rng;          /* adversarial mode */
    jmp_buf *escape;       /* emu_fault leaves by this */

    /* strict mode; NULL in plain mode */
    uint32_t *vp;       /* poison bits, same rows as v; a set bit was never given a value */
    uint64_t *vp_dirty; /* bit r: some lane of row r has poison */
    uint32_t *sp;       /* poison bits of s[0..127] */
    uint8_t scc_poison; /* 1, or EMU_SCC_LATE: it is on its way */
    uint8_t *scratch_poison; /* one byte per byte of scratch */
    struct emu_strict_wave *strict;
};

static inline uint64_t emu_exec(const struct emu_wave *w)
{
    uint64_t lo = w->s[EMU_S_EXEC];

    return w->lanes == 64 ? lo | (uint64_t)w->s[EMU_S_EXEC + 1] << 32 : lo;
}

static inline uint64_t emu_all_lanes(const struct emu_wave *w)
{
    return w->lanes == 64 ? ~UINT64_C(0) : UINT64_C(0xffffffff);
}

/* 64-bit scalar pair; i indexes w->s. */
static inline uint64_t emu_s64(const struct emu_wave *w, unsigned i)
{
    return w->s[i] | (uint64_t)w->s[i + 1] << 32;
}

static inline void emu_set_s64(struct emu_wave *w, unsigned i, uint64_t x)
{
    w->s[i] = (uint32_t)x;
    w->s[i + 1] = (uint32_t)(x >> 32);
}

static inline uint32_t *emu_row(const struct emu_wave *w, unsigned row)
{
    return w->v + (size_t)row * w->lanes;
}

/* Writes one scalar destination of n dwords (loads, readlane); NULL is a place like others. */
static inline void emu_write_sgprs(struct emu_wave *w, unsigned i, const uint32_t *x, unsigned n)
{
    memcpy(w->s + i, x, n * sizeof *x);
}

/* The report of something about the op being executed: what, whose, where, the instruction. */
void emu_describe(const struct emu_wave *w, uint64_t lanes, const char *what, char *buf,
                  size_t size);

/*
 * Reports a fault of the op being executed (w->op) and stops the launch; does not return. lanes:
 * the lanes to blame, 0 when the fault is the wave's. Whoever calls it must hold no lock and no
 * allocation.
 */
_Noreturn void emu_fault(struct emu_wave *w, uint64_t lanes, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* xorshift64*; one stream per wave, seeded from the launch and the wave's place, so orders do not
 * change it. */
static inline uint64_t emu_random(struct emu_wave *w)
{
    w->rng ^= w->rng >> 12;
    w->rng ^= w->rng << 25;
    w->rng ^= w->rng >> 27;
    return w->rng * UINT64_C(2685821657736338717);
}

/*
 * There is no time here: clocks count the wave's own instructions, so that runs repeat. They go on
 * by a whole turn of the wave, and by one with each reading.
 */
static inline uint64_t emu_clock(struct emu_wave *w)
{
    return ++w->executed;
}

/* ---- strict mode: what memory handlers tell the core; all are no-ops in plain mode (w->strict ==
 * NULL) ---- */

enum emu_space { EMU_SPACE_LDS, EMU_SPACE_GLOBAL, EMU_SPACE_SCRATCH };
enum emu_access { EMU_READ, EMU_WRITE, EMU_RMW };

/*
 * Who watches the accesses of a workgroup: strict mode hands these to the handlers, which do not
 * know it.
 */
struct emu_dense;
struct emu_watch {
    /* One lane's access, for the race detector. lane -1: scalar load. */
    void (*access)(struct emu_wave *w, enum emu_space space, enum emu_access access, int lane,
                   uint64_t address, unsigned bytes);
    /*
     * Locates dwords of LDS as emu_dense_lds does, when all lanes are active, nothing that they
     * touch may be poison and no other wave has touched it. False: not known.
     */
    bool (*lds_quick)(struct emu_wave *w, const struct emu_op *op, unsigned offset, unsigned words,
                      enum emu_access access, struct emu_dense *x);
    /*
     * The checks for all lanes of a wave at once, each with its dwords at at[] (of LDS, or behind
     * address), poison aside. False when they find something, which is then reported lane by lane,
     * or when the access is none of these: dwords, no atomics, and in device memory reads, and
     * writes of 16 bytes that no other wave has touched. span: the smallest and the largest of
     * at[].
     */
    bool (*lds_dense)(struct emu_wave *w, enum emu_access access, const uint32_t *at,
                      unsigned words, const uint32_t span[2]);
    bool (*global_dense)(struct emu_wave *w, enum emu_access access, uint64_t address,
                         const uint32_t *at, unsigned words);
};

/*
 * Poison of one lane of a destination row. Before a load's handler runs, the core has already
 * declared the active lanes of all its destination rows clean; the handler calls this only where
 * memory was poison.
 */
static inline void emu_set_poison(struct emu_wave *w, unsigned row, unsigned lane, uint32_t bits)
{
    w->vp[(size_t)row * w->lanes + lane] |= bits;
    w->vp_dirty[row >> 6] |= UINT64_C(1) << (row & 63);
}

/* Poison of one lane of a row (store data); cheap when the row is clean. */
static inline uint32_t emu_get_poison(const struct emu_wave *w, unsigned row, unsigned lane)
{
    if (!w->vp || !(w->vp_dirty[row >> 6] >> (row & 63) & 1))
        return 0;
    return w->vp[(size_t)row * w->lanes + lane];
}

/*
 * Division of labour on poison: the core faults on a poison address, resource, offset or M0 operand
 * and on poison data of an atomic before the handler runs. The handler itself reports poison data
 * that reaches global memory, moves poison between registers and LDS or scratch (group->lds_poison,
 * scratch_poison), and takes the poison of fresh device memory from the memory map.
 */

/*
 * Vectors of the host. The same code is compiled for each of these levels, with the same results;
 * emu_host says which one runs: the best that the host has, up to the limit. The limit is set
 * before the first kernel is prepared, or never.
 */
enum emu_host { EMU_HOST_BASE, EMU_HOST_AVX2, EMU_HOST_AVX512 };
enum emu_host emu_host(void);
void emu_host_limit(enum emu_host most);

/* ---- the run loop ---- */

/* Decodes and binds the whole text. Returns false with a message in err (cut at size). */
bool emu_kernel_prepare(struct emu_kernel *k, char *err, size_t size);
void emu_kernel_release(struct emu_kernel *k);

/*
 * Runs a launch to its end on l->threads threads. Returns true when all waves ended; false on a
 * fault (l->fault holds the report). Thread-safe: several launches may run at once.
 */
bool emu_run(struct emu_launch *l);

#endif
