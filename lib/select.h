/* From a problem and an image's index to the entry that computes it. Pure. */
#ifndef AOTHIP_SELECT_H
#define AOTHIP_SELECT_H

#include <stdint.h>

#include "aothip/aothip.h"
#include "format.h"

/* What a kernel must be able to do. */
struct select_need {
    enum format_op op;
    int32_t dtype;     /* enum aothip_dtype */
    uint32_t features; /* enum format_feature bits */
    int64_t dim;       /* the larger of dim_qk and dim_v */
};

/* The needs of a valid problem. */
struct select_need select_need_attn_fwd(const struct aothip_attn_fwd_params *params);

/* The entry of lowest rank that covers the need, or -1. */
int select_entry(const struct format_entry *entries, uint32_t count,
                 const struct select_need *need);

#endif
