/* Vector loads, stores and atomics: moves the bytes that lane_addresses.c has located. */
#include "dense_access.h"
#include "access_handlers.h"
#include "program.h"

typedef void load_body(uint32_t *d, size_t stride, const uint8_t *p);
typedef void store_body(uint8_t *p, const uint32_t *s, size_t stride);

#define BODY static inline __attribute__((always_inline, no_sanitize("thread")))

BODY uint16_t get16(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

BODY uint32_t get32(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

BODY void put16(uint8_t *p, uint32_t v)
{
    uint16_t x = (uint16_t)v;
    memcpy(p, &x, sizeof x);
}

BODY void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

#define D(i) d[(i)*stride]
#define S(i) s[(i)*stride]
#define U8(i) p[i]
#define U16(i) get16(p + (i))
#define U32(i) get32(p + (i))
#define W8(i, x) p[i] = (uint8_t)(x)
#define W16(i, x) put16(p + (i), (x))
#define W32(i, x) put32(p + (i), (x))
#define SEXT8(x) ((uint32_t)(int8_t)(x))
#define SEXT16(x) ((uint32_t)(int16_t)(x))
#define LOW(d0, x) (((d0)&0xffff0000u) | ((x)&0xffffu))
#define HIGH(d0, x) (((d0)&0xffffu) | (uint32_t)(x) << 16)

#define LOAD(name, bytes, words, ...)                                                              \
    BODY void name##_body(uint32_t *d, size_t stride, const uint8_t *p)                            \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define DS_LOAD LOAD
#define STORE(name, bytes, words, ...)                                                             \
    BODY void name##_body(uint8_t *p, const uint32_t *s, size_t stride)                            \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
#define DS_STORE STORE
#include "sem_memory.def"

/* Bytes of lane l's access that are in range. */
static unsigned stored_bytes(const struct emu_where *a, unsigned l, unsigned bytes)
{
    return a->partial >> l & 1 ? a->valid[l] : bytes;
}

/* Poison of a load: the body again, on the shadow. */
static void load_poison(struct emu_wave *w, const struct emu_op *op, const struct emu_where *a,
                        unsigned bytes, unsigned words, load_body *body)
{
    EMU_EACH_LANE(l, a->mask)
    {
        uint8_t shadow[16] = {0};
        uint32_t bits[4] = {0}, any = 0;
        const unsigned n = stored_bytes(a, l, bytes);
        if (emu_lane_clean(a, l, n))
            continue;
        for (unsigned i = 0; i < n; i++)
            shadow[i] = (uint8_t)emu_lane_poison(a, l, i, 1);
        body(bits, 1, shadow);
        for (unsigned i = 0; i < words; i++)
            any |= bits[i];
        for (unsigned i = 0; any && i < words; i++)
            if (bits[i])
                emu_set_poison(w, op->d[0] + i, l, bits[i]);
    }
}

/* Bytes of lane l with zeros where a buffer ends inside it. */
EMU_DEVICE_DATA static const uint8_t *partial_bytes(const struct emu_where *a, unsigned l,
                                                    uint8_t tmp[16])
{
    memset(tmp, 0, 16);
    for (unsigned i = 0; i < a->valid[l]; i++)
        tmp[i] = a->p[l][i];
    return tmp;
}

BODY void run_load(struct emu_wave *w, const struct emu_op *op, struct emu_where *a, unsigned bytes,
                   unsigned words, load_body *body)
{
    uint32_t *d = emu_row(w, op->d[0]);
    const size_t stride = w->lanes;
    uint64_t plain = (a->mask | a->zero) & ~a->partial;
    EMU_EACH_LANE(l, plain)
    body(d + l, stride, a->p[l]);
    EMU_EACH_LANE(l, a->partial)
    {
        uint8_t tmp[16];
        body(d + l, stride, partial_bytes(a, l, tmp));
    }
    if (w->strict)
        load_poison(w, op, a, bytes, words, body);
}

/* Poison of a store: into LDS and scratch it moves along, into device memory it is a fault. */
static void store_poison(struct emu_wave *w, const struct emu_op *op, unsigned row,
                         struct emu_where *a, unsigned bytes, unsigned words, store_body *body)
{
    EMU_EACH_LANE(l, a->mask)
    {
        uint8_t shadow[16] = {0};
        uint32_t bits[4], any = 0;
        for (unsigned i = 0; i < words; i++)
            bits[i] = emu_get_poison(w, row + i, l);
        body(shadow, bits, 1);
        for (unsigned i = 0; i < bytes; i++)
            any |= shadow[i];
        if (any && a->invert[l])
            emu_fault(w, UINT64_C(1) << l, "stores a value that was never computed (v%u)",
                      op->insn->src[1].reg);
        const unsigned n = stored_bytes(a, l, bytes);
        for (unsigned i = 0; i < n; i++)
            emu_lane_set_poison(a, l, i, 1, shadow[i]);
    }
}

/* Another lane whose bytes some of lane l's are, or -1. */
static int lane_beside(const struct emu_where *a, unsigned l, unsigned bytes)
{
    EMU_EACH_LANE(other, a->mask & ~(UINT64_C(1) << l))
    if (a->p[other] < a->p[l] + stored_bytes(a, l, bytes) &&
        a->p[l] < a->p[other] + stored_bytes(a, other, bytes))
        return (int)other;
    return -1;
}

/*
 * Behind a store to device memory: lanes have stored the same bytes if they share any, for nothing
 * says whose are last. What another wave has stored since is for the races between waves to judge.
 * In adversarial mode the same number may come out twice with different last bits.
 */
static void check_shared_bytes(struct emu_wave *w, unsigned row, const struct emu_where *a,
                               unsigned bytes, store_body *body)
{
    const uint32_t *s = emu_row(w, row);
    EMU_EACH_LANE(l, a->mask)
    {
        uint8_t own[16];
        int other = -1;
        body(own, s + l, w->lanes);
        if (memcmp(own, a->p[l], stored_bytes(a, l, bytes)) != 0)
            other = lane_beside(a, l, bytes);
        if (other >= 0)
            emu_fault(w, UINT64_C(1) << l | UINT64_C(1) << other,
                      "lanes store different values to the same bytes, from 0x%llx and 0x%llx on",
                      (unsigned long long)a->addr[l], (unsigned long long)a->addr[other]);
    }
}

BODY void run_store(struct emu_wave *w, const struct emu_op *op, unsigned row, struct emu_where *a,
                    unsigned bytes, unsigned words, store_body *body)
{
    const uint32_t *s = emu_row(w, row);
    const size_t stride = w->lanes;
    if (w->strict)
        store_poison(w, op, row, a, bytes, words, body);
    uint64_t plain = a->mask & ~a->partial;
    EMU_EACH_LANE(l, plain)
    body(a->p[l], s + l, stride);
    EMU_EACH_LANE(l, a->partial)
    {
        uint8_t tmp[16];
        body(tmp, s + l, stride);
        for (unsigned i = 0; i < a->valid[l]; i++)
            a->p[l][i] = tmp[i];
    }
    if (w->strict && a->global && w->group->launch->matrix != EMU_MATRIX_ADVERSARIAL)
        check_shared_bytes(w, row, a, bytes, body);
}

/* A swizzled buffer keeps the dwords of a lane apart: each is an access by itself. */
static void locate_part(struct emu_wave *w, const struct emu_op *op, unsigned i,
                        struct emu_where *a, enum emu_access access)
{
    struct emu_insn insn = *op->insn;
    struct emu_op part = *op;

    insn.offset += 4 * (int32_t)i;
    part.insn = &insn;
    emu_where_buffer(w, &part, a, 4, access);
}

EMU_DEVICE_DATA static bool load_parts(struct emu_wave *w, const struct emu_op *op, unsigned words)
{
    struct emu_where a[4];
    struct emu_op part = *op;

    if (words < 2 || !emu_buffer_is_swizzled(w, op))
        return false;
    for (unsigned i = 0; i < words; i++) /* before the first is loaded, which may be the address */
        locate_part(w, op, i, &a[i], EMU_READ);
    for (unsigned i = 0; i < words; i++, part.d[0]++)
        run_load(w, &part, &a[i], 4, 1, load_dword_body);
    return true;
}

EMU_DEVICE_DATA static bool store_parts(struct emu_wave *w, const struct emu_op *op, unsigned words)
{
    struct emu_where a;

    if (words < 2 || !emu_buffer_is_swizzled(w, op))
        return false;
    for (unsigned i = 0; i < words; i++) {
        locate_part(w, op, i, &a, EMU_WRITE);
        run_store(w, op, op->s[1] + i, &a, 4, 1, store_dword_body);
    }
    return true;
}

static bool dense_lds(struct emu_wave *w, const struct emu_op *op, unsigned offset, unsigned words,
                      enum emu_access access, struct emu_dense *x)
{
    return (w->strict && w->group->watch->lds_quick(w, op, offset, words, access, x)) ||
           emu_dense_lds(w, op, offset, words, access, x);
}

/* The short way for dwords; `...` locates them. */
#define TRY_LOAD(bytes, words, ...)                                                                \
    do {                                                                                           \
        struct emu_dense x;                                                                        \
        if (bytes == 4 * words && __VA_ARGS__) {                                                   \
            emu_dense_load(w, op->d[0], words, &x);                                                \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define TRY_STORE(bytes, words, ...)                                                               \
    do {                                                                                           \
        struct emu_dense x;                                                                        \
        if (bytes == 4 * words && emu_dense_may_store(w, op->s[1], words) && __VA_ARGS__) {        \
            emu_dense_store(w, op->s[1], words, &x);                                               \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* Scratch is interleaved, lane by lane. */
#define DENSE_global_(words, access) emu_dense_global(w, op, words, access, &x)
#define DENSE_flat_ DENSE_global_
#define DENSE_scratch_(words, access) false
#define DENSE_buffer_(words, access) emu_dense_buffer(w, op, words, access, &x)
#define DENSE_lds_(words, access) dense_lds(w, op, (unsigned)op->insn->offset, words, access, &x)

/* One instruction of each address space around a body. */
#define SPACES(X, name, ...)                                                                       \
    X(global_, name, emu_where_global, name##_body, __VA_ARGS__)                                   \
    X(flat_, name, emu_where_flat, name##_body, __VA_ARGS__)                                       \
    X(scratch_, name, emu_where_scratch, name##_body, __VA_ARGS__)

/* On gfx90a those of one register have the LDS bit too. */
#define LOAD_FN(space, name, where, body, bytes, words)                                            \
    EMU_DEVICE_DATA void EMU_DO(space##name)(struct emu_wave * w, const struct emu_op *op)         \
    {                                                                                              \
        struct emu_where a;                                                                        \
        if (words == 1 && op->insn->mem & EMU_M_LDS) {                                             \
            where(w, op, &a, bytes, EMU_READ);                                                     \
            emu_lds_dma(w, op, &a, bytes, body);                                                   \
            return;                                                                                \
        }                                                                                          \
        TRY_LOAD(bytes, words, DENSE_##space(words, EMU_READ));                                    \
        where(w, op, &a, bytes, EMU_READ);                                                         \
        run_load(w, op, &a, bytes, words, body);                                                   \
    }
/* A gfx9 buffer load with the LDS bit writes LDS instead of registers. */
#define BUFFER_LOAD_FN(name, bytes, words)                                                         \
    EMU_DEVICE_DATA void EMU_DO(buffer_##name)(struct emu_wave * w, const struct emu_op *op)       \
    {                                                                                              \
        struct emu_where a;                                                                        \
        if (!(op->insn->mem & EMU_M_LDS))                                                          \
            TRY_LOAD(bytes, words, DENSE_buffer_(words, EMU_READ));                                \
        if (load_parts(w, op, words))                                                              \
            return;                                                                                \
        emu_where_buffer(w, op, &a, bytes, EMU_READ);                                              \
        if (op->insn->mem & EMU_M_LDS)                                                             \
            emu_lds_dma(w, op, &a, bytes, name##_body);                                            \
        else                                                                                       \
            run_load(w, op, &a, bytes, words, name##_body);                                        \
    }
#define LOAD(name, bytes, words, ...)                                                              \
    SPACES(LOAD_FN, name, bytes, words) BUFFER_LOAD_FN(name, bytes, words)
#define DS_LOAD(name, bytes, words, ...)                                                           \
    EMU_DEVICE_DATA void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                \
    {                                                                                              \
        struct emu_where a;                                                                        \
        TRY_LOAD(bytes, words, DENSE_lds_(words, EMU_READ));                                       \
        emu_where_lds(w, op, &a, (unsigned)op->insn->offset, bytes, EMU_READ);                     \
        run_load(w, op, &a, bytes, words, name##_body);                                            \
    }
#define STORE_FN(space, name, where, body, bytes, words)                                           \
    EMU_DEVICE_DATA void EMU_DO(space##name)(struct emu_wave * w, const struct emu_op *op)         \
    {                                                                                              \
        struct emu_where a;                                                                        \
        TRY_STORE(bytes, words, DENSE_##space(words, EMU_WRITE));                                  \
        where(w, op, &a, bytes, EMU_WRITE);                                                        \
        run_store(w, op, op->s[1], &a, bytes, words, body);                                        \
    }
#define BUFFER_STORE_FN(name, bytes, words)                                                        \
    EMU_DEVICE_DATA void EMU_DO(buffer_##name)(struct emu_wave * w, const struct emu_op *op)       \
    {                                                                                              \
        struct emu_where a;                                                                        \
        TRY_STORE(bytes, words, DENSE_buffer_(words, EMU_WRITE));                                  \
        if (store_parts(w, op, words))                                                             \
            return;                                                                                \
        emu_where_buffer(w, op, &a, bytes, EMU_WRITE);                                             \
        run_store(w, op, op->s[1], &a, bytes, words, name##_body);                                 \
    }
#define STORE(name, bytes, words, ...)                                                             \
    SPACES(STORE_FN, name, bytes, words) BUFFER_STORE_FN(name, bytes, words)
#define DS_STORE(name, bytes, words, ...)                                                          \
    EMU_DEVICE_DATA void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                \
    {                                                                                              \
        struct emu_where a;                                                                        \
        TRY_STORE(bytes, words, DENSE_lds_(words, EMU_WRITE));                                     \
        emu_where_lds(w, op, &a, (unsigned)op->insn->offset, bytes, EMU_WRITE);                    \
        run_store(w, op, op->s[1], &a, bytes, words, name##_body);                                 \
    }
#include "sem_memory.def"

/*
 * gfx12: up to 32 registers, those of M0's bits, to or from the dwords in their places. All are
 * located before the first is loaded, which may be the address.
 */
typedef void where_fn(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access);

EMU_DEVICE_DATA static void move_block(struct emu_wave *w, const struct emu_op *op, where_fn *where,
                                       enum emu_access access)
{
    struct emu_where a[32];
    struct emu_insn insn = *op->insn;
    struct emu_op part = *op;
    const uint32_t wanted = w->s[EMU_S_M0];

    part.insn = &insn;
    for (unsigned i = 0; i < 32; i++, insn.offset += 4)
        if (wanted >> i & 1)
            where(w, &part, &a[i], 4, access);
    part.insn = op->insn;
    for (unsigned i = 0; i < 32; i++, part.d[0]++) {
        if (wanted >> i & 1 && access == EMU_READ)
            run_load(w, &part, &a[i], 4, 1, load_dword_body);
        else if (wanted >> i & 1)
            run_store(w, op, op->s[1] + i, &a[i], 4, 1, store_dword_body);
    }
}

#define BLOCK(space, name, access)                                                                 \
    void EMU_DO(space##_##name##_block)(struct emu_wave * w, const struct emu_op *op)              \
    {                                                                                              \
        move_block(w, op, emu_where_##space, access);                                              \
    }
BLOCK(global, load, EMU_READ)
BLOCK(global, store, EMU_WRITE)
BLOCK(scratch, load, EMU_READ)
BLOCK(scratch, store, EMU_WRITE)

/* Two addresses in one instruction: offset0 and offset1 count elements, or 64 elements. */
EMU_DEVICE_DATA static void read2(struct emu_wave *w, const struct emu_op *op, unsigned bytes,
                                  unsigned stride, load_body *body)
{
    const unsigned offset[2] = {op->insn->offset0, op->insn->offset1};
    struct emu_where a[2];
    struct emu_op half[2] = {*op, *op};
    struct emu_dense x[2];
    unsigned words = bytes / 4;
    half[1].d[0] = (uint16_t)(op->d[0] + words);
    if (dense_lds(w, op, offset[0] * stride * bytes, words, EMU_READ, &x[0]) &&
        dense_lds(w, op, offset[1] * stride * bytes, words, EMU_READ, &x[1])) {
        for (unsigned i = 0; i < 2; i++)
            emu_dense_load(w, half[i].d[0], words, &x[i]);
        return;
    }
    /* Both halves are located before either is written: the address may be a destination. */
    for (int i = 0; i < 2; i++)
        emu_where_lds(w, op, &a[i], offset[i] * stride * bytes, bytes, EMU_READ);
    for (int i = 0; i < 2; i++)
        run_load(w, &half[i], &a[i], bytes, words, body);
}

EMU_DEVICE_DATA static void write2(struct emu_wave *w, const struct emu_op *op, unsigned bytes,
                                   unsigned stride, store_body *body)
{
    const unsigned offset[2] = {op->insn->offset0, op->insn->offset1};
    for (int i = 0; i < 2; i++) {
        struct emu_where a;
        struct emu_dense x;
        if (emu_dense_may_store(w, op->s[1 + i], bytes / 4) &&
            dense_lds(w, op, offset[i] * stride * bytes, bytes / 4, EMU_WRITE, &x)) {
            emu_dense_store(w, op->s[1 + i], bytes / 4, &x);
            continue;
        }
        emu_where_lds(w, op, &a, offset[i] * stride * bytes, bytes, EMU_WRITE);
        run_store(w, op, op->s[1 + i], &a, bytes, bytes / 4, body);
    }
}

#define READ2(name, bytes, stride, body)                                                           \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        read2(w, op, bytes, stride, body);                                                         \
    }
#define WRITE2(name, bytes, stride, body)                                                          \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        write2(w, op, bytes, stride, body);                                                        \
    }
READ2(ds_read2_b32, 4, 1, ds_read_b32_body)
READ2(ds_read2_b64, 8, 1, ds_read_b64_body)
READ2(ds_read2st64_b32, 4, 64, ds_read_b32_body)
READ2(ds_read2st64_b64, 8, 64, ds_read_b64_body)
WRITE2(ds_write2_b32, 4, 1, ds_write_b32_body)
WRITE2(ds_write2_b64, 8, 1, ds_write_b64_body)
WRITE2(ds_write2st64_b32, 4, 64, ds_write_b32_body)
WRITE2(ds_write2st64_b64, 8, 64, ds_write_b64_body)

/* addtid: no vector address; lane l is at M0[15:0] + offset + 4 l. */
static void addtid_lds(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                       enum emu_access access)
{
    uint32_t base = (w->s[EMU_S_M0] & 0xffff) + (uint32_t)op->insn->offset;
    a->mask = emu_exec(w);
    for (unsigned l = 0; l < w->lanes; l++)
        a->addr[l] = base + 4 * l;
    emu_where_lds_at(w, a, 4, access);
}

void EMU_DO(ds_read_addtid_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_where a;
    addtid_lds(w, op, &a, EMU_READ);
    run_load(w, op, &a, 4, 1, load_dword_body);
}

void EMU_DO(ds_write_addtid_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_where a;
    addtid_lds(w, op, &a, EMU_WRITE);
    run_store(w, op, op->s[1], &a, 4, 1, store_dword_body);
}

static void addtid_global(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                          enum emu_access access)
{
    uint64_t base =
        (op->s[2] == EMU_NO_ROW ? 0 : emu_s64(w, op->s[2])) + (uint64_t)(int64_t)op->insn->offset;
    a->mask = emu_exec(w);
    a->zero = a->partial = 0;
    for (unsigned l = 0; l < w->lanes; l++)
        a->addr[l] = base + 4 * l;
    emu_where_global_at(w, a, 4, access);
}

void EMU_DO(global_load_addtid_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_where a;
    addtid_global(w, op, &a, EMU_READ);
    run_load(w, op, &a, 4, 1, load_dword_body);
}

void EMU_DO(global_store_addtid_b32)(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_where a;
    addtid_global(w, op, &a, EMU_WRITE);
    run_store(w, op, op->s[1], &a, 4, 1, store_dword_body);
}
