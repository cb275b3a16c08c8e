/* What the parts of aothip-run share. */
#ifndef AOTHIP_RUN_H
#define AOTHIP_RUN_H

#include "attn.h"
#include "cli.h"
#include "npy.h"
#include "ref.h"

#include <stdbool.h>

enum { RUN_Q, RUN_K, RUN_V, RUN_INPUTS };
enum { RUN_DQ, RUN_DK, RUN_DV, RUN_DBIAS, RUN_GRADS };

struct run_options {
    struct cli_common common;
    const char *input[RUN_INPUTS], *o, *lse;
    const char *bias, *alibi, *sinks, *lengths_q, *lengths_k;
    const char *backward, *grads[RUN_GRADS];
    enum attn_layout layout;
    int mask, window_left, window_right, dtype;
    int fp8;                        /* what files of uint8 hold; 0: not said */
    float fp8_scales[RUN_INPUTS];   /* NaN: none */
    double scale, softcap, dropout; /* scale NaN: the default */
    uint64_t seed, offset;
    bool verify, base2;
};

/* A tensor from a file: as read, and as it is computed on. */
struct run_input {
    const char *path;
    struct npy_array array;
    char shape[NPY_SHAPE_MAX];
    struct aothip_tensor tensor; /* owns its data */
};

/*
 * Reads a file of 4, 3 or 2 dimensions in the layout and type of the options. All functions here
 * return 0, or -1 after a message.
 */
int run_load(const struct run_options *o, const char *path, struct run_input *in);
void run_free_input(struct run_input *in);

/* How q, k and v must fit together; a breach is told with both files and both shapes. */
int run_check_shapes(const struct run_input in[RUN_INPUTS]);

/*
 * Memory for an output that is like `like` but for `dim` channels; its array has the dimensions
 * that the user's files have.
 */
int run_make_output(const struct run_options *o, const struct run_input *like, int64_t dim,
                    struct run_input *out);

/* npy_stage() of an output in the type that q's file had: float32 where it was converted. */
int run_stage_output(const struct run_options *o, const char *path, const struct run_input *like,
                     struct run_input *out, struct npy_new *new);

/* What beside q, k and v goes into a problem; owns what it points at. */
struct run_extra {
    struct npy_array bias, alibi, sinks, lse;
    int32_t *cumulative_q, *cumulative_k;
};

/* Reads the files and lists that the options name into *p. */
int run_add_extra(const struct run_options *o, const struct run_input in[RUN_INPUTS],
                  struct aothip_attn_fwd_params *p, struct run_extra *extra);
/* Memory for lse in the layout of *p, also as the array to be written. */
int run_add_lse(const struct run_options *o, const struct run_input *q,
                struct aothip_attn_fwd_params *p, struct run_extra *extra);
void run_free_extra(struct run_extra *extra);

/* Prints how far results are from the reference in double precision; -1 if one is too far. */
int run_verify_fwd(const struct aothip_attn_fwd_params *p, const char *target);
int run_verify_bwd(const struct aothip_attn_bwd_params *b, const char *target);

#endif
