/*
 * A random problem as a short list of numbers: what it has, how large it is, what is odd about it.
 * Everything else (tensors, arrays, their values) follows from these.
 */
#ifndef RANDOM_DRAFT_H
#define RANDOM_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct draft {
#define FIELD(name, usual, words) int name;
#include "draft.def"
#undef FIELD
};

enum op { OP_FWD, OP_BWD, OP_PROBS };
enum graph { GRAPH_NO, GRAPH_CAPTURED, GRAPH_TWICE };
enum layout {
    BHSD,
    BSHD,
    SBHD,
    ODD_ROWS,  /* three elements between rows */
    WIDE_ROWS, /* eight */
    FAR,       /* much between batch entries */
    ODD_BASE,  /* data one element off */
    ONE_HEAD,  /* stride 0 over the heads */
    ONE_BATCH, /* over the batch */
    EXPANDED   /* over everything, as the gradient of a sum is */
};
enum gaps { GAPS_NAN, GAPS_UNWRITTEN };
enum values { NORMAL, POSITIVE, RISING, THOUSANDS, HUGE_SCORES, TINY, JUMPS };
enum scale { SCALE_USUAL, SCALE_NEGATIVE, SCALE_ONE, SCALE_ZERO };
enum special { NO_SPECIAL, V_NAN, V_INF, K_NAN, Q_NAN, BIAS_NAN };
enum side { DENSE, LENGTHS, CUMULATIVE, STARTS, COMPACT, STRIDED, STRIDED_SUMS, EQUAL };
enum max { MAX_NONE, MAX_EXACT, MAX_MORE, MAX_LESS };
enum lie { LIE_NO, LIE_BEYOND, LIE_GARBAGE };
enum lse { LSE_NONE, LSE_ROWS, LSE_HEADS, LSE_TOTAL, LSE_COMPACT };
enum lse_room { ROOM_DEFAULT, ROOM_EXACT, ROOM_HALF };
enum score_layout { SCORES_ROWS, SCORES_ODD, SCORES_COLUMNS, SCORES_LARGER };
enum holes { HOLES_NONE, HOLES_SOME, HOLES_ROWS, HOLES_ALL };
enum alibi { ALIBI_NONE, ALIBI_HEADS, ALIBI_BATCH };
enum dropout { DROPOUT_NONE, DROPOUT_VALUE, DROPOUT_POINTERS, DROPOUT_ALL };
enum probs { PROBS_NONE, PROBS_MASK, PROBS_DROPPED };
enum table { TABLE_SOUND, TABLE_SHARED, TABLE_MISSING };
enum rotary { ROTARY_NONE, ROTARY_HALVES, ROTARY_PAIRS };
enum fp8 { FP8_NONE, FP8_E4M3, FP8_E5M2, FP8_E4M3_FNUZ, FP8_E5M2_FNUZ };
enum scales { SCALES_NONE, SCALES_ONE, SCALES_HEADS, SCALES_BATCH };
enum workspace { WORKSPACE_ASKED, WORKSPACE_NONE, WORKSPACE_LESS };
enum {
    ABSENT_DQ = 1,
    ABSENT_DK = 2,
    ABSENT_DV = 4,
    ABSENT_DBIAS = 8,
    ABSENT_DSINKS = 16,
    ABSENT_DALIBI = 32
};

enum { DRAFT_BATCH_MAX = 6, DRAFT_LINE_MAX = 2048, DRAFT_GPUS = 6 };

/* One field, for those who go through them all. */
struct draft_field {
    const char *name;
    size_t offset;
    int usual;
    const char *words;
};
extern const struct draft_field draft_fields[];
extern const int draft_field_count;

static inline int *draft_at(struct draft *d, const struct draft_field *field)
{
    return (int *)((char *)d + field->offset);
}

/* The word for a field's value; NULL where it is a plain number. `room` has 32 bytes. */
const char *draft_word(const struct draft_field *field, int value, char *room);

/* All fields as usual. */
struct draft draft_usual(void);

/* The names and values of all that is not usual: "gpu=gfx942 seq_q=65". */
void draft_print(const struct draft *d, char line[DRAFT_LINE_MAX]);

/* Reads such a line; false with the culprit's text on stderr. */
bool draft_parse(const char *line, struct draft *d);

/* Takes away what the header does not allow together. */
void draft_mend(struct draft *d);

/* Draws the problem of a seed and number. `richness` of 1000 features are there. */
struct draft draft_draw(uint64_t seed, uint64_t number);

static inline bool draft_is_packed(int side)
{
    return side >= COMPACT;
}

/* Whether the rows of a side differ from sequence to sequence. */
static inline bool draft_is_varied(int side)
{
    return side != DENSE && side != EQUAL;
}

/* 64 well mixed bits (the finalizer of MurmurHash3, twice over a sum). */
static inline uint64_t draft_hash(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;
    for (int i = 0; i < 2; i++) {
        x ^= x >> 33;
        x *= UINT64_C(0xff51afd7ed558ccd);
        x ^= x >> 33;
        x *= UINT64_C(0xc4ceb9fe1a85ec53);
        x ^= x >> 33;
    }
    return x;
}

#endif
