/*
 * Where the rows of each sequence lie, and how long things are: the header's text on struct
 * aothip_seqs, block tables and growing caches, for params whose pointers are host memory.
 */
#ifndef RANDOM_PLACE_H
#define RANDOM_PLACE_H

#include "aothip/aothip.h"

#include <stdbool.h>

/* Row r < length is row start + r of batch entry `entry`. */
struct place {
    int64_t entry, start, length;
    int64_t old; /* of k: rows before this call; those from here on are k_new's */
    int64_t
        stored; /* of k: rows in the cache after it, also where bias or keep have room for less */
};

int64_t place_sequences(const struct aothip_attn_fwd_params *p);

/* What the header calls max_seq_q and max_seq_k. */
int64_t place_max_q(const struct aothip_attn_fwd_params *p);
int64_t place_max_k(const struct aothip_attn_fwd_params *p);

struct place place_q(const struct aothip_attn_fwd_params *p, int64_t b);
struct place place_k(const struct aothip_attn_fwd_params *p, int64_t b);

/* Where key n of sequence b lies in k and v; false: nowhere. */
bool place_key(const struct aothip_attn_fwd_params *p, const struct place *k, int64_t b, int64_t n,
               int64_t *entry, int64_t *row);

/* Elements of lse, and where row m of sequence b and head h is there. */
int64_t place_lse_count(const struct aothip_attn_fwd_params *p);
int64_t place_lse(const struct aothip_attn_fwd_params *p, const struct place *q, int64_t b,
                  int64_t h, int64_t m);

#endif
