/*
 * A MessagePack reader without allocation.
 */
#include "msgpack.h"

#include <string.h>

/* A big-endian number of n bytes. */
static bool take(struct msgpack *m, int n, uint64_t *number)
{
    if (m->end - m->at < n)
        return false;
    *number = 0;
    for (int i = 0; i < n; i++)
        *number = *number << 8 | *m->at++;
    return true;
}

/* Sets the text of a string, or passes over as many bytes of something else. */
static bool take_bytes(struct msgpack *m, struct msgpack_value *v)
{
    if ((uint64_t)(m->end - m->at) < v->number)
        return false;
    v->text = (const char *)m->at;
    m->at += v->number;
    return true;
}

static bool with_length(struct msgpack *m, struct msgpack_value *v, enum msgpack_kind kind,
                        int length_bytes, uint64_t more)
{
    v->kind = kind;
    if (!take(m, length_bytes, &v->number))
        return false;
    v->number += more;
    return take_bytes(m, v);
}

bool msgpack_next(struct msgpack *m, struct msgpack_value *v)
{
    uint64_t tag;
    memset(v, 0, sizeof(*v));
    if (!take(m, 1, &tag))
        return false;
    if (tag < 0x80) { /* positive number */
        v->number = tag;
        return true;
    }
    if (tag < 0x90 || (tag >= 0xde && tag <= 0xdf)) {
        v->kind = MSGPACK_MAP;
        v->number = tag & 15;
        return tag < 0x90 || take(m, tag == 0xde ? 2 : 4, &v->number);
    }
    if (tag < 0xa0 || (tag >= 0xdc && tag <= 0xdd)) {
        v->kind = MSGPACK_ARRAY;
        v->number = tag & 15;
        return tag < 0xa0 || take(m, tag == 0xdc ? 2 : 4, &v->number);
    }
    if (tag < 0xc0) {
        v->kind = MSGPACK_STRING;
        v->number = tag & 31;
        return take_bytes(m, v);
    }
    if (tag >= 0xcc && tag <= 0xcf) /* uint8, 16, 32, 64 */
        return take(m, 1 << (tag - 0xcc), &v->number);
    if (tag >= 0xd9 && tag <= 0xdb) /* str8, 16, 32 */
        return with_length(m, v, MSGPACK_STRING, 1 << (tag - 0xd9), 0);
    if (tag == 0xc2 || tag == 0xc3) {
        v->kind = MSGPACK_BOOL;
        v->number = tag & 1;
        return true;
    }
    v->kind = MSGPACK_OTHER;
    if (tag == 0xc0 || tag >= 0xe0) /* nil, negative number */
        return true;
    if (tag >= 0xc4 && tag <= 0xc6) /* bin8, 16, 32 */
        return with_length(m, v, MSGPACK_OTHER, 1 << (tag - 0xc4), 0);
    if (tag >= 0xc7 && tag <= 0xc9) /* ext8, 16, 32: a type byte more */
        return with_length(m, v, MSGPACK_OTHER, 1 << (tag - 0xc7), 1);
    if (tag >= 0xd4 && tag <= 0xd8) { /* fixext1 .. 16 */
        v->number = (1u << (tag - 0xd4)) + 1;
        return take_bytes(m, v);
    }
    if (tag == 0xca || tag == 0xcb) /* float32, 64 */
        return take(m, tag == 0xca ? 4 : 8, &v->number);
    if (tag >= 0xd0 && tag <= 0xd3) /* int8 .. 64 */
        return take(m, 1 << (tag - 0xd0), &v->number);
    return false;
}

bool msgpack_skip(struct msgpack *m)
{
    /* Ends at the latest with the bytes, whatever lengths they claim. */
    for (uint64_t open = 1; open; open--) {
        struct msgpack_value v;
        if (!msgpack_next(m, &v))
            return false;
        if (v.kind == MSGPACK_ARRAY || v.kind == MSGPACK_MAP)
            open += v.kind == MSGPACK_MAP ? 2 * v.number : v.number;
    }
    return true;
}

bool msgpack_is(const struct msgpack_value *value, const char *text)
{
    return value->kind == MSGPACK_STRING && value->number == strlen(text) &&
           !memcmp(value->text, text, (size_t)value->number);
}
