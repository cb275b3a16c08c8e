/*
 * Reads MessagePack, as far as AMDGPU metadata notes use it. A cursor over bytes that are trusted
 * in nothing: a value that does not fit what is left is an error.
 */
#ifndef AOTHIP_MSGPACK_H
#define AOTHIP_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msgpack {
    const uint8_t *at, *end;
};

enum msgpack_kind {
    MSGPACK_NUMBER,
    MSGPACK_BOOL,
    MSGPACK_STRING,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
    MSGPACK_OTHER
};

struct msgpack_value {
    enum msgpack_kind kind;
    uint64_t number;  /* NUMBER (negative ones are OTHER), BOOL; elements of ARRAY, pairs of MAP;
                         bytes of STRING */
    const char *text; /* STRING: not terminated */
};

/* Takes the next value; of an array or map only its head. False: damaged or at the end. */
bool msgpack_next(struct msgpack *m, struct msgpack_value *value);

/* Passes over the next value with all that it holds. */
bool msgpack_skip(struct msgpack *m);

/* Is it this string? */
bool msgpack_is(const struct msgpack_value *value, const char *text);

#endif
