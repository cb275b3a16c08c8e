/* From a problem and an image's index to the entry that computes it. Pure. */
#ifndef AOTHIP_SELECT_H
#define AOTHIP_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "aothip/aothip.h"
#include "format.h"

/* "attn_fwd"; static. */
const char *select_op_name(unsigned op);

/* What a kernel must be able to do. */
struct select_need {
    enum format_op op;
    int32_t dtype;     /* enum aothip_dtype */
    uint32_t features; /* enum format_feature bits */
    int64_t dim;       /* the larger of dim_qk and dim_v */
    int64_t dim_v;     /* that of v or o; 0 where no kernel asks */
};

/* The needs of a valid problem; `plain` says that it has no options. */
struct select_need select_need_attn_fwd(const struct aothip_attn_fwd_params *params, int plain);

/*
 * The needs of another kernel `op` in the same problem: aligned where `tensors`, which it reads and
 * writes beside what needs no alignment, all are.
 */
struct select_need select_need_other(enum format_op op, const struct aothip_attn_fwd_params *params,
                                     const struct aothip_tensor *const *tensors, int count);

/*
 * What the kernels for caches of FP8 need for a problem whose q is of FP8, too: they make elements
 * of o's type of all three. Those for aligned rows do so of q in attn_fwd alone, with score terms
 * or beyond head dims of 128, where no kernel multiplies codes.
 */
struct select_need select_need_converted(const struct select_need *need,
                                         const struct aothip_attn_fwd_params *params);

/* Whether a type is one of FP8 that the GPU's matrix instructions do not take. */
int select_foreign_fp8(const char *gpu, int dtype);

/* The needs of a valid merge, which has no scores. */
struct select_need select_need_merge(const struct aothip_attn_merge_params *params);

/* What selection looks at of an entry. */
struct select_row {
    uint16_t dim_max, entry;
    uint32_t features, sole; /* sole: those that the problem must need */
    uint16_t tile_q, tile_k;
    uint16_t other; /* how many rows further on there is one for the same problems; 0: none. */
                    /* In attn_fwd and attn_split */
    uint16_t dim_v_max, dim_min;
    struct format_cost cost;
};

enum { SELECT_DTYPES = AOTHIP_FP8_E5M2_FNUZ + 1 };

/* The entries of an image by operation and type, and in each by rank. */
struct select_index {
    uint16_t begin[FORMAT_OP_END * SELECT_DTYPES + 1];
    struct select_row rows[];
};

/* Bytes of the index of `count` entries, at most FORMAT_MAX_ENTRIES. */
static inline size_t select_index_size(uint32_t count)
{
    return sizeof(struct select_index) + count * sizeof(struct select_row);
}

/*
 * Fills an index for entries that have passed store_check(). `costs` are theirs, or NULL. Among
 * entries for the same problems select_tile() chooses those that have costs, if the first one has;
 * of one with features and all channels in LDS at once, as of the same tiles without features.
 */
void select_index_fill(struct select_index *index, const struct format_entry *entries,
                       const struct format_cost *costs, uint32_t count);

static inline unsigned select_group(unsigned op, unsigned dtype)
{
    return op * SELECT_DTYPES + dtype;
}

/* The row of lowest rank that covers the need, or NULL. */
static inline const struct select_row *select_row(const struct select_index *index,
                                                  const struct select_need *need)
{
    const unsigned group = select_group(need->op, (unsigned)need->dtype);
    for (unsigned i = index->begin[group]; i < index->begin[group + 1]; i++)
        if (index->rows[i].dim_max >= need->dim && index->rows[i].dim_v_max >= need->dim_v &&
            index->rows[i].dim_min <= need->dim &&
            ((need->features & ~index->rows[i].features) |
             (~need->features & index->rows[i].sole)) == 0)
            return &index->rows[i];
    return NULL;
}

/* Whether there is any kernel for a type. */
static inline int select_knows(const struct select_index *index, enum format_op op, int32_t dtype)
{
    const unsigned group = select_group(op, (unsigned)dtype);
    return index->begin[group] < index->begin[group + 1];
}

/* The number of its entry, or -1. */
static inline int select_entry(const struct select_index *index, const struct select_need *need)
{
    const struct select_row *row = select_row(index, need);
    return row ? row->entry : -1;
}

/* How large a launch of attn_fwd is. */
struct select_size {
    uint64_t heads; /* of all sequences */
    uint32_t rows;  /* of queries in each */
    uint32_t keys;  /* of each */
    int64_t window; /* a tile of R rows sees at most window + R of them */
    uint32_t units; /* compute units of the device */
    double seen;    /* part of all keys that a row sees on average */
};

/* Picoseconds that the launch takes, by its row's cost. */
double select_time(const struct select_row *row, const struct select_size *size);

/* Of the rows for the same problems as `first`, the one that takes least time. */
const struct select_row *select_tile(const struct select_row *first,
                                     const struct select_size *size);

/*
 * Of the rows of attn_split for the same problems as `first`, the one with the smallest tile that
 * holds `rows` queries, of all heads that share keys; the largest tile where none does.
 */
const struct select_row *select_split(const struct select_row *first, uint64_t rows);

#endif
