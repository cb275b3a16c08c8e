/*
 * A random problem made real: its tensors and arrays on the host, each in a block of exactly its
 * size, with the params that point at them. What no sequence owns is NaN or was never written;
 * outputs are full of a pattern that must survive wherever nothing is to be written.
 */
#ifndef RANDOM_SCENE_H
#define RANDOM_SCENE_H

#include "draft.h"

#include "aothip/aothip.h"

enum { SCENE_BLOCKS = 48, SCENE_PATTERN = 0xa5 };

struct block {
    const char *name;
    size_t bytes, shift;   /* data begins `shift` bytes after the block */
    unsigned char *before; /* as it is sent to the device, `shift` bytes included */
    unsigned char *given;  /* per byte: whether it has a value before; NULL: all have */
    unsigned char *after;  /* as it came back; NULL where it is only read */
    unsigned char *owned;  /* per byte of `after`: somebody has judged it */
    size_t slot;           /* of the pointer to it in struct calls */
    void *there;           /* on the device */
};

struct calls {
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd;
};

struct scene {
    const struct draft *d;
    struct calls here, there; /* pointing at the host, and at the device */
    struct block blocks[SCENE_BLOCKS];
    int count;
    int64_t lengths_q[DRAFT_BATCH_MAX], lengths_k[DRAFT_BATCH_MAX];
};

enum scene_use { SCENE_READ, SCENE_WRITTEN, SCENE_BOTH };

/* Makes all of it; memory running out aborts. */
void scene_make(const struct draft *d, struct scene *s);
void scene_free(struct scene *s);

/* The parts of scene_make() in files of their own. */
void scene_make_scores(struct scene *s);
void scene_make_cache(struct scene *s);
void scene_make_bwd(struct scene *s);

/* A block of `bytes` for the pointer at `slot`, in s->here, which gets its address. */
struct block *scene_add(struct scene *s, const char *name, void *slot, size_t bytes, size_t shift,
                        enum scene_use use);

/* Which block a pointer of s->here leads to. */
struct block *scene_block(struct scene *s, const void *slot);

/* An element of an input, with the mark that it has a value. */
void scene_put(struct scene *s, const struct aothip_tensor *t, int64_t at, double value);

/* Sizes and strides of a layout, and memory for it. */
void scene_add_view(struct scene *s, const char *name, struct aothip_tensor *t, int dtype,
                    int layout, const int64_t size[4], enum scene_use use);

/* A number that depends on the problem's seed and `about` alone; the same on [-1, 1). */
uint64_t scene_hash(const struct scene *s, uint64_t about, uint64_t at);
double scene_uniform(const struct scene *s, uint64_t about, uint64_t at);
double scene_normal(const struct scene *s, uint64_t about, uint64_t at);

#endif
