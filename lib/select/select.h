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
};

/* The needs of a valid problem; `plain` says that it has no options. */
struct select_need select_need_attn_fwd(const struct aothip_attn_fwd_params *params, int plain);

/*
 * The needs of another kernel `op` in the same problem: aligned where `tensors`, which it reads and
 * writes beside what needs no alignment, all are.
 */
struct select_need select_need_other(enum format_op op, const struct aothip_attn_fwd_params *params,
                                     const struct aothip_tensor *const *tensors, int count);

/* The needs of a valid merge, which has no scores. */
struct select_need select_need_merge(const struct aothip_attn_merge_params *params);

/* What selection looks at of an entry. */
struct select_row {
    uint16_t dim_max, entry;
    uint32_t features, sole; /* sole: those that the problem must need */
};

/* The entries of an image by operation and type, and in each by rank. */
struct select_index {
    uint16_t begin[FORMAT_OP_END * (AOTHIP_BF16 + 1) + 1];
    struct select_row rows[];
};

/* Bytes of the index of `count` entries, at most FORMAT_MAX_ENTRIES. */
static inline size_t select_index_size(uint32_t count)
{
    return sizeof(struct select_index) + count * sizeof(struct select_row);
}

/* Fills an index for entries that have passed store_check(). */
void select_index_fill(struct select_index *index, const struct format_entry *entries,
                       uint32_t count);

static inline unsigned select_group(unsigned op, unsigned dtype)
{
    return op * (AOTHIP_BF16 + 1) + dtype;
}

/* The number of the entry of lowest rank that covers the need, or -1. */
static inline int select_entry(const struct select_index *index, const struct select_need *need)
{
    const unsigned group = select_group(need->op, (unsigned)need->dtype);
    for (unsigned i = index->begin[group]; i < index->begin[group + 1]; i++)
        if (index->rows[i].dim_max >= need->dim && ((need->features & ~index->rows[i].features) |
                                                    (~need->features & index->rows[i].sole)) == 0)
            return index->rows[i].entry;
    return -1;
}

#endif
