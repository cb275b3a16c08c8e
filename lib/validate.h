/* Holds a caller's arguments against every rule stated in aothip.h. Pure. */
#ifndef AOTHIP_VALIDATE_H
#define AOTHIP_VALIDATE_H

#include "status.h"

/*
 * Checks `given` and points *params at it or, where its struct_size differs from this library's, at
 * a copy made in *room. Errors: ARGUMENT, UNSUPPORTED (a field of a newer header is set).
 */
enum aothip_status validate_attn_fwd(const struct aothip_attn_fwd_params *given,
                                     struct aothip_attn_fwd_params *room,
                                     const struct aothip_attn_fwd_params **params,
                                     struct status *why);

/* Whether a valid problem has no output element at all. */
int validate_is_empty(const struct aothip_attn_fwd_params *params);

#endif
