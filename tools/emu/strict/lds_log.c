/*
 * Strict mode: accesses of whole waves to LDS, and when their records are made.
 *
 * A race needs two waves at the same bytes between two barriers. So an access is only written down
 * at first, with the parts of LDS it touches; its records are made once another wave's access
 * touches the same parts and one of the two is a write. At a barrier what has been written down is
 * forgotten, unless a wave comes with writes that it has not waited for.
 */
#include <string.h>

#include "strict.h"

/* ---- accesses written down ---- */

static void forget(const struct emu_group *g, uint32_t epoch)
{
    struct emu_lds_log *log = &g->strict->lds;
    size_t words = g->lds_size / (64 * EMU_LDS_UNIT) + 1;

    words = words > EMU_LDS_WORDS ? EMU_LDS_WORDS : words;
    log->epoch = epoch;
    log->n = 0;
    for (unsigned i = 0; i < g->waves; i++) {
        memset(log->read[i], 0, words * sizeof **log->read);
        memset(log->foreign[i], 0, words * sizeof **log->foreign);
    }
}

void emu_strict_lds_init(struct emu_group *g)
{
    struct emu_lds_log *log = &g->strict->lds;

    forget(g, 0);
    log->under_way[0] = log->under_way[1] = 0;
    memset(log->clean, 0, sizeof log->clean);
}

static struct emu_lds_log *log_of(struct emu_wave *w)
{
    struct emu_lds_log *log = &w->group->strict->lds;

    if (log->epoch != w->strict->epoch)
        forget(w->group, w->strict->epoch);
    return log;
}

static void make_records(struct emu_strict *s)
{
    struct emu_lds_log *log = &s->lds;

    for (unsigned n = 0; n < log->n; n++) {
        const struct emu_lds_access *a = &log->access[n];
        const struct emu_lds_shape *shape =
            &log->shape[a->shape / EMU_LDS_WAYS][a->shape % EMU_LDS_WAYS];
        const struct emu_lds_write mark = {a->number, (uint16_t)log->epoch, (uint8_t)(a->wave + 1),
                                           15};

        for (unsigned l = 0; l < shape->different; l++) {
            uint32_t first = (a->first + shape->from[l]) / 4;

            for (unsigned i = first; i < first + shape->words; i++)
                if (a->access == EMU_WRITE)
                    s->writes[i] = mark;
                else
                    emu_lds_note_read(&s->reads[i], a->wave, log->epoch, 15);
        }
    }
    log->n = 0;
}

/* What add_units found, in any of the units. */
struct met {
    bool other;   /* another wave has written it, or read it where it is now written */
    bool unclean; /* may have poison */
};

typedef uint64_t two __attribute__((vector_size(16)));

static inline two load_two(const uint64_t *p)
{
    two x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Adds bits to those at p. */
static inline void add_two(uint64_t *p, two bits)
{
    bits |= load_two(p);
    memcpy(p, &bits, sizeof bits);
}

/*
 * Adds units first.. of the wave, given as bits, to those it has read or written. The n words of
 * units have a word of zeros before them and three behind.
 */
static inline __attribute__((always_inline)) struct met
add_units(const struct emu_group *g, struct emu_lds_log *log, unsigned wave, enum emu_access access,
          unsigned first, const uint64_t *units, unsigned n)
{
    unsigned at = first / 64, shift = first % 64;
    two other = {0}, unclean = {0};

    for (unsigned i = 0; i <= n && at + i < EMU_LDS_WORDS; i += 2) {
        two bits = load_two(units + i) << shift | load_two(units + i - 1) >> 1 >> (63 - shift);
        unsigned k = at + i;

        other |= bits & load_two(log->foreign[wave] + k);
        unclean |= bits & ~load_two(log->clean + k);
        if (access == EMU_READ) {
            add_two(log->read[wave] + k, bits);
            continue;
        }
        for (unsigned x = 0; x < g->waves; x++)
            if (x != wave) {
                other |= bits & load_two(log->read[x] + k);
                add_two(log->foreign[x] + k, bits);
            }
    }
    return (struct met){(other[0] | other[1]) != 0, (unclean[0] | unclean[1]) != 0};
}

void emu_strict_lds_touch(struct emu_wave *w, enum emu_access access, uint32_t first, uint32_t last)
{
    struct emu_lds_log *log = log_of(w);
    const uint64_t units[5] = {0, 1}, one = 1;

    if (log->n)
        make_records(w->group->strict);
    for (uint32_t unit = first / EMU_LDS_UNIT; unit <= last / EMU_LDS_UNIT; unit++) {
        add_units(w->group, log, w->index, access, unit, units + 1, 1);
        if (access != EMU_READ && unit / 64 < EMU_LDS_WORDS)
            log->clean[unit / 64] &= ~(one << unit % 64);
    }
}

void emu_strict_at_barrier(struct emu_wave *w)
{
    struct emu_strict_wave *s = w->strict;
    bool under_way = s->last_write > s->lgkm_done || s->last_dma > s->vm_done;
    struct emu_lds_log *log = log_of(w);
    uint32_t *next = &log->under_way[(s->epoch + 1) & 1], me = UINT32_C(1) << w->index;

    if (under_way)
        make_records(w->group->strict);
    *next = under_way ? *next | me : *next & ~me;
    s->lds_done[s->epoch % EMU_EPOCHS] = s->lgkm_done;
    s->dma_done[s->epoch % EMU_EPOCHS] = s->vm_done;
    s->epoch++;
}

/* Lanes 16.. read what lanes 0..15 do, as operands of WMMA are read. */
static bool repeats_16(const uint32_t *at, unsigned lanes)
{
    for (unsigned l = 16; l < lanes; l += 16)
        if (memcmp(at + l, at, 16 * sizeof *at) != 0)
            return false;
    return true;
}

/* at: of the lanes; lowest: of them */
static void set_units(struct emu_lds_shape *shape, const uint32_t *at, uint32_t lowest)
{
    lowest -= lowest % EMU_LDS_UNIT;
    memset(shape->units, 0, sizeof shape->units);
    shape->n = 0;
    for (unsigned l = 0; l < shape->different; l++)
        for (unsigned i = 0; i < shape->words; i++) {
            unsigned unit = (at[l] + 4 * i - lowest) / EMU_LDS_UNIT;

            shape->units[1 + unit / 64] |= UINT64_C(1) << unit % 64;
            if (unit / 64 >= shape->n)
                shape->n = (uint8_t)(unit / 64 + 1);
        }
}

static bool has_shape(const struct emu_lds_shape *shape, const uint32_t *row, unsigned lanes)
{
    uint32_t other = 0;

    for (unsigned l = 1; l < lanes; l *= 2) /* most that differ do so here */
        if (row[l] - row[0] != shape->from[l])
            return false;
    for (unsigned l = 0; l < lanes; l++)
        other |= (row[l] - row[0]) ^ shape->from[l];
    return !other;
}

/* An access of whole dwords: its address register, and lane 0's address. */
struct lds_dense {
    const uint32_t *row;
    uint32_t first;
    unsigned words;
};

static struct emu_lds_shape *find_shape(const struct emu_wave *w, struct emu_lds_shape *set,
                                        const struct lds_dense *a)
{
    unsigned phase = a->first % EMU_LDS_UNIT;
    bool suits[EMU_LDS_WAYS];

    for (unsigned i = 0; i < EMU_LDS_WAYS; i++) {
        suits[i] = set[i].lanes == w->lanes && set[i].words == a->words && set[i].phase == phase;
        if (suits[i] && memcmp(set[i].row, a->row, w->lanes * sizeof *a->row) == 0)
            return &set[i];
    }
    for (unsigned i = 0; i < EMU_LDS_WAYS; i++)
        if (suits[i] && has_shape(&set[i], a->row, w->lanes)) {
            memcpy(set[i].row, a->row, w->lanes * sizeof *a->row);
            return &set[i];
        }
    return NULL;
}

static unsigned shape_set(unsigned reg, const struct lds_dense *a)
{
    return (reg * 8 + a->words / 4 * 4 + a->first % EMU_LDS_UNIT / 4) % EMU_LDS_SETS;
}

/*
 * The lanes' shape. Instructions that take their addresses from one register mostly have one or a
 * few, and mostly the same addresses; where they have more, the oldest gives way, and what was
 * written down with it is made into records before.
 */
static struct emu_lds_shape *shape_of(struct emu_wave *w, struct emu_lds_log *log,
                                      const struct lds_dense *a, const uint32_t *at,
                                      const uint32_t span[2])
{
    unsigned set = shape_set(w->op->s[0], a);
    struct emu_lds_shape *shape = find_shape(w, log->shape[set], a);

    if (shape)
        return shape;
    if (log->n)
        make_records(w->group->strict);
    shape = &log->shape[set][log->next_way[set]++ % EMU_LDS_WAYS];
    memcpy(shape->row, a->row, w->lanes * sizeof *a->row);
    for (unsigned l = 0; l < w->lanes; l++)
        shape->from[l] = at[l] - at[0];
    shape->lowest = span[0] - at[0];
    shape->spread = span[1] - span[0];
    shape->lanes = (uint8_t)w->lanes;
    shape->words = (uint8_t)a->words;
    shape->phase = (uint8_t)(at[0] % EMU_LDS_UNIT);
    shape->different = repeats_16(at, w->lanes) ? 16 : (uint8_t)w->lanes;
    set_units(shape, at, span[0]);
    return shape;
}

static void write_down(struct emu_wave *w, struct emu_lds_log *log, enum emu_access access,
                       const struct emu_lds_shape *shape, uint32_t first)
{
    if (log->n == EMU_LDS_ACCESSES)
        make_records(w->group->strict);
    log->access[log->n++] =
        (struct emu_lds_access){first, w->strict->lgkm_issued, (uint8_t)(shape - log->shape[0]),
                                (uint8_t)w->index, (uint8_t)access};
    if (access == EMU_WRITE)
        w->strict->last_write = w->strict->lgkm_issued;
}

/* ---- records ---- */

/* Up to this number each wave's writes can be seen by w, which has passed the same barrier. */
static void visible_until(const struct emu_wave *w, uint32_t until[EMU_MAX_WAVES + 1])
{
    until[0] = UINT32_MAX; /* nobody's */
    for (unsigned i = 0; i < w->group->waves; i++) {
        const struct emu_wave *x = &w->group->wave[i];

        until[i + 1] = x->state == EMU_ENDED
                           ? UINT32_MAX
                           : x->strict->lds_done[(w->strict->epoch - 1) % EMU_EPOCHS];
    }
}

static inline uint64_t write_bits(const struct emu_lds_write *x)
{
    uint64_t bits;

    memcpy(&bits, x, sizeof bits);
    return bits;
}

/*
 * Nothing that another wave wrote, unless it can be seen, and nothing that a load under way will
 * write. Neighbours were mostly written by one instruction: `known` is the last record that was
 * found good.
 */
static inline bool may_touch(const struct emu_wave *w, const struct emu_lds_write *x,
                             unsigned words, const uint32_t *until, uint64_t *known)
{
    uint64_t other = 0;

#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i++)
        other |= write_bits(&x[i]) ^ *known;
    for (unsigned i = 0; other && i < words; i++) {
        bool mine = x[i].writer == w->index + 1, dma = x[i].bytes & EMU_LDS_BY_DMA;

        if (dma && (mine ? x[i].number > w->strict->vm_done : !emu_strict_lds_visible(w, &x[i])))
            return false;
        if (!dma && !mine && x[i].writer &&
            (x[i].epoch == (uint16_t)w->strict->epoch || x[i].number > until[x[i].writer]))
            return false;
        *known = write_bits(&x[i]);
    }
    return true;
}

/* All dwords have the record `mark`. */
static inline bool are_read(const struct emu_lds_read *y, unsigned words,
                            const struct emu_lds_read *mark)
{
    uint32_t other = 0, want, bits;

    memcpy(&want, mark, sizeof want);
#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i++) {
        memcpy(&bits, &y[i], sizeof bits);
        other |= bits ^ want;
    }
    return !other;
}

static inline __attribute__((always_inline)) bool
dense_reads(struct emu_wave *w, const uint32_t *at, unsigned words, const uint32_t *until)
{
    const struct emu_lds_read mark = {(uint16_t)w->strict->epoch, (uint8_t)(w->index + 1), 15};
    const struct emu_lds_read many = {mark.epoch, EMU_LDS_SEVERAL, 15};
    struct emu_strict *s = w->group->strict;
    unsigned lanes = repeats_16(at, w->lanes) ? 16 : w->lanes;
    uint64_t known = 0;

    for (unsigned l = 0; l < lanes; l++) {
        struct emu_lds_read *y = &s->reads[at[l] / 4];

        /* of several readers since the last barrier all but the writer have asked for the write */
        if (are_read(y, words, &many))
            continue;
        if (!may_touch(w, &s->writes[at[l] / 4], words, until, &known))
            return false;
        if (are_read(y, words, &mark))
            continue;
        for (unsigned i = 0; i < words; i++)
            emu_lds_note_read(&y[i], w->index, w->strict->epoch, 15);
    }
    return true;
}

static inline __attribute__((always_inline)) bool
dense_writes(struct emu_wave *w, const uint32_t *at, unsigned words, const uint32_t *until)
{
    const uint8_t me = (uint8_t)(w->index + 1);
    const uint16_t epoch = (uint16_t)w->strict->epoch;
    const struct emu_lds_write mark = {w->strict->lgkm_issued, epoch, me, 15};
    struct emu_strict *s = w->group->strict;
    uint64_t known = 0;

    for (unsigned l = 0; l < w->lanes; l++) {
        struct emu_lds_write *x = &s->writes[at[l] / 4];
        const struct emu_lds_read *y = &s->reads[at[l] / 4];

        if (!may_touch(w, x, words, until, &known))
            return false;
#pragma GCC unroll 4
        for (unsigned i = 0; i < words; i++) {
            if (x[i].bytes & EMU_LDS_BY_ATOMIC ||
                (y[i].epoch == epoch && y[i].reader && y[i].reader != me))
                return false;
            memcpy(&x[i], &mark, sizeof mark);
        }
    }
    w->strict->last_write = mark.number;
    return true;
}

static bool check_records(struct emu_wave *w, enum emu_access access, const uint32_t *at,
                          unsigned words)
{
    uint32_t until[EMU_MAX_WAVES + 1];

    visible_until(w, until);
    if (access == EMU_WRITE)
        return words == 4   ? dense_writes(w, at, 4, until)
               : words == 2 ? dense_writes(w, at, 2, until)
                            : dense_writes(w, at, words, until);
    return words == 4   ? dense_reads(w, at, 4, until)
           : words == 2 ? dense_reads(w, at, 2, until)
                        : dense_reads(w, at, words, until);
}

/* Units of the shape, from the one with byte `lowest` on, that prove to have no poison. */
static void note_clean(const struct emu_group *g, struct emu_lds_log *log,
                       const struct emu_lds_shape *shape, uint32_t lowest)
{
    for (unsigned i = 0; i < shape->n; i++)
        for (uint64_t rest = shape->units[1 + i]; rest; rest &= rest - 1) {
            unsigned unit = lowest / EMU_LDS_UNIT + 64 * i + (unsigned)__builtin_ctzll(rest);
            uint64_t poison[2];

            memcpy(poison, g->lds_poison + (size_t)unit * EMU_LDS_UNIT, sizeof poison);
            if (unit / 64 < EMU_LDS_WORDS && !(poison[0] | poison[1]))
                log->clean[unit / 64] |= UINT64_C(1) << unit % 64;
        }
}

/* Waves have come to the last barrier with writes under way, or LDS is larger than the log. */
static bool is_special(const struct emu_wave *w, const struct emu_lds_log *log)
{
    return log->under_way[log->epoch & 1] || w->strict->last_dma > w->strict->vm_done ||
           w->group->lds_size > EMU_LDS_WORDS * 64 * EMU_LDS_UNIT;
}

typedef uint32_t four __attribute__((vector_size(16)));

/* to[l] = from[l] + n */
static void add_to_all(uint32_t *to, const uint32_t *from, uint32_t n, unsigned lanes)
{
    for (unsigned l = 0; l < lanes; l += 16)
#pragma GCC unroll 4
        for (unsigned i = l; i < l + 16; i += 4) {
            four x;

            memcpy(&x, from + i, sizeof x);
            x += n;
            memcpy(to + i, &x, sizeof x);
        }
}

bool emu_strict_lds_quick(struct emu_wave *w, const struct emu_op *op, unsigned offset,
                          unsigned words, enum emu_access access, struct emu_dense *x)
{
    struct emu_group *g = w->group;
    struct emu_lds_log *log = log_of(w);
    const uint32_t *row = emu_row(w, op->s[0]);
    const struct lds_dense a = {row, row[0] + offset, words};
    const struct emu_lds_shape *shape;
    uint32_t lowest;
    struct met met;

    if (emu_exec(w) != emu_all_lanes(w) || g->count_memory || is_special(w, log))
        return false;
    shape = find_shape(w, log->shape[shape_set(op->s[0], &a)], &a);
    if (!shape)
        return false;
    lowest = a.first + shape->lowest;
    if ((uint64_t)lowest + shape->spread + 4 * words > g->lds_size)
        return false;
    met = add_units(g, log, w->index, access, lowest / EMU_LDS_UNIT, shape->units + 1, shape->n);
    if (met.other || met.unclean)
        return false;
    write_down(w, log, access, shape, a.first);
    x->base = g->lds;
    x->shadow = NULL;
    add_to_all(x->at, row, offset, w->lanes);
    return true;
}

bool emu_strict_lds_dense(struct emu_wave *w, enum emu_access access, const uint32_t *at,
                          unsigned words, const uint32_t span[2])
{
    struct emu_lds_log *log = log_of(w);
    const struct lds_dense a = {emu_row(w, w->op->s[0]), at[0], words};
    const struct emu_lds_shape *shape;
    uint32_t odd = 0;
    struct met met;

    for (unsigned l = 0; l < w->lanes; l++)
        odd |= at[l];
    if (odd & 3 || access == EMU_RMW)
        return false;
    shape = shape_of(w, log, &a, at, span);
    met = add_units(w->group, log, w->index, access, span[0] / EMU_LDS_UNIT, shape->units + 1,
                    shape->n);
    if (met.unclean)
        note_clean(w->group, log, shape, span[0]);
    if (!met.other && !is_special(w, log)) {
        write_down(w, log, access, shape, at[0]);
        return true;
    }
    if (log->n)
        make_records(w->group->strict);
    return check_records(w, access, at, words);
}
