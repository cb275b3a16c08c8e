/* Holds a caller's arguments against every rule stated in aothip.h. Pure. */
#ifndef AOTHIP_VALIDATE_H
#define AOTHIP_VALIDATE_H

#include "status.h"
#include "validate_view.h"

/* Limits that aothip.h states. */
enum { VALIDATE_MIN_PAGE = 16, VALIDATE_MAX_PAGE = 4096, VALIDATE_MAX_SPLITS = 256 };

/* A forward problem that has been checked. */
struct validate_fwd {
    const struct aothip_attn_fwd_params *params; /* the caller's, or `room` */
    int plain; /* sequences all alike, lse by rows; nothing but the mask goes into the scores */
    int alone; /* nothing set that could take a kernel beside attn_fwd */
    struct aothip_attn_fwd_params
        room; /* a struct of another version, brought to this one's size */
};

/*
 * Says of nearly every sound problem checked->params, in few instructions, that it is sound: 1, or
 * 0 where it takes a closer look. Fills plain and alone in any case.
 */
int validate_is_sound(struct validate_fwd *checked);

/* The closer look: every rule by itself; names the first that is broken. */
enum aothip_status validate_examine(const struct validate_fwd *checked, struct status *why);

/* Both, for a problem in any version of the struct, or none at all. */
enum aothip_status validate_any_fwd(const struct aothip_attn_fwd_params *given,
                                    struct validate_fwd *checked, struct status *why);

/* Errors: ARGUMENT, UNSUPPORTED (a field of a newer header is set). */
static inline enum aothip_status validate_attn_fwd(const struct aothip_attn_fwd_params *given,
                                                   struct validate_fwd *checked, struct status *why)
{
    if (given && given->struct_size == sizeof(*given)) {
        checked->params = given;
        if (validate_is_sound(checked))
            return AOTHIP_OK;
    }
    return validate_any_fwd(given, checked, why);
}

/* A backward problem that has been checked. */
struct validate_bwd {
    const struct aothip_attn_bwd_params *params; /* the caller's, or `room` */
    struct validate_fwd fwd;
    struct aothip_attn_bwd_params room;
};

/* Errors: as validate_attn_fwd(). */
enum aothip_status validate_attn_bwd(const struct aothip_attn_bwd_params *given,
                                     struct validate_bwd *checked, struct status *why);

/* A merge of partial results that has been checked. */
struct validate_merge {
    const struct aothip_attn_merge_params *params; /* the caller's, or `room` */
    struct aothip_attn_merge_params room;
};

/* Errors: as validate_attn_fwd(). */
enum aothip_status validate_attn_merge(const struct aothip_attn_merge_params *given,
                                       struct validate_merge *checked, struct status *why);

/*
 * Brings the struct at `given`, whose first field is its size, into `room`, of this library's size
 * `own`; `oldest` is that of the first release: what is missing counts as zero. Errors: ARGUMENT
 * (`given` is NULL, no version has that size), UNSUPPORTED (a byte beyond `own` is set).
 */
enum aothip_status validate_convert(const void *given, size_t oldest, void *room, size_t own,
                                    struct status *why);

/* The struct as this library knows it: `given` itself, `room`, or NULL with the reason in `why`. */
static inline const void *validate_params(const void *given, size_t oldest, void *room, size_t own,
                                          struct status *why)
{
    if (given && *(const size_t *)given == own)
        return given;
    return validate_convert(given, oldest, room, own, why) ? NULL : room;
}

/*
 * The fields behind `mask`. `views` are those of q, k, v, o and have been filled; overlaps are
 * checked here.
 */
enum { VALIDATE_Q, VALIDATE_K, VALIDATE_V, VALIDATE_O, VALIDATE_REQUIRED };
enum aothip_status validate_options(const struct aothip_attn_fwd_params *params,
                                    const struct validate_view views[VALIDATE_REQUIRED],
                                    struct status *why);

#endif
