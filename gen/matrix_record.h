/* images/matrix.def as data: the GPUs and the kernels that exist. */
#ifndef AOTHIP_MATRIX_RECORD_H
#define AOTHIP_MATRIX_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MATRIX_MAX_TARGETS 4

struct matrix_gpu {
    char name[16];                        /* "gfx942" */
    char targets[MATRIX_MAX_TARGETS][32]; /* target IDs: "gfx942" or "gfx90a:xnack+" */
    int target_count;
    int wave;          /* lanes of a wave: 32 or 64 */
    int registers;     /* most vector registers a lane may have */
    int register_pool; /* vector registers a SIMD has for one lane of all its waves */
    int lds;           /* bytes a workgroup may have */
    int line;          /* where it is declared */
    int code;          /* index of the GPU whose code it runs: its own, but for a sibling */
};

/* Which rows a kernel takes: what the compiler sees as KERNEL_UNALIGNED. */
enum matrix_unaligned { MATRIX_UNALIGNED_NO, MATRIX_UNALIGNED_YES, MATRIX_UNALIGNED_ROWS };

/* What may go into the scores, all or one of it: KERNEL_SCORE. */
enum matrix_score {
    MATRIX_SCORE_NO,
    MATRIX_SCORE_YES,
    MATRIX_SCORE_BIAS,
    MATRIX_SCORE_SLOPES,
    MATRIX_SCORE_SOFTCAP,
    MATRIX_SCORE_DROPOUT,
    MATRIX_SCORE_PADDING,
    MATRIX_SCORE_KEEP,
};

/* By which compilers a kernel is made: see matrix_leave_out(). */
enum matrix_compiler { MATRIX_BY_ANY, MATRIX_BY_OWN };

/* One kernel for one GPU: a row after its axes have been multiplied out. */
struct matrix_kernel {
    const struct matrix_op *op;
    int gpu;          /* index into matrix.gpus; siblings have it too, see matrix_serves() */
    int dtype;        /* enum aothip_dtype */
    int dim;          /* serves head dims 1..dim */
    int dim_v;        /* those of v up to this; 0: to dim */
    int unaligned;    /* enum matrix_unaligned */
    int score;        /* enum matrix_score */
    int paged;        /* 0 or 1 */
    int tile_q;       /* query rows of a workgroup */
    int tile_k;       /* keys of one step */
    int waves;        /* of a workgroup */
    int waves_per_eu; /* of a SIMD */
    int registers;    /* budget, vector + accumulation */
    int scratch;      /* budget, bytes of scratch memory a lane */
    int other_clang;  /* enum matrix_compiler */
    int rank;         /* position among the kernels of its GPU, from 0: lower is preferred */
    int line;         /* of its row */
    char symbol[64];  /* the kernel's name */
};

/* What an operation is called in the matrix, in the source tree and in an image. */
struct matrix_op {
    const char *name;   /* statement in the matrix and prefix of symbols */
    const char *source; /* file below gen/kernel */
    int format_op;      /* enum format_op */
    int tiled; /* whether a workgroup holds tile_q x dim and tile_q x tile_k in registers */
    int cache; /* whether k and v are FP8: FORMAT_FEATURE_FP8_CACHE */
    size_t kernarg_size;
};

struct matrix {
    char *file; /* its name, for messages */
    struct matrix_gpu *gpus;
    int gpu_count;
    struct matrix_kernel *kernels; /* in the order of preference */
    int kernel_count;
};

/* Ends with an entry whose name is NULL. */
extern const struct matrix_op matrix_ops[];

/* Whether the kernel is in the images of GPU `gpu`. */
static inline int matrix_serves(const struct matrix *m, const struct matrix_kernel *k, int gpu)
{
    return k->gpu == m->gpus[gpu].code;
}

/* Threads of a workgroup. */
static inline int matrix_threads(const struct matrix *m, const struct matrix_kernel *k)
{
    return k->waves * m->gpus[k->gpu].wave;
}

#endif
