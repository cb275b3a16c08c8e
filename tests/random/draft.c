/* The text of a random problem, and which features may stand together. */
#include "draft.h"

#include "aothip/aothip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct draft_field draft_fields[] = {
#define FIELD(name, usual, words) {#name, offsetof(struct draft, name), usual, words},
#include "draft.def"
#undef FIELD
};
const int draft_field_count = sizeof(draft_fields) / sizeof(draft_fields[0]);

const char *draft_word(const struct draft_field *field, int value, char *room)
{
    const char *at = field->words;

    if (!*at)
        return NULL;
    for (; value > 0 && *at; value--) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    snprintf(room, 32, "%.*s", (int)strcspn(at, " "), at);
    return room;
}

struct draft draft_usual(void)
{
    struct draft d;
    int i;

    for (i = 0; i < draft_field_count; i++)
        *draft_at(&d, &draft_fields[i]) = draft_fields[i].usual;
    return d;
}

void draft_print(const struct draft *d, char line[DRAFT_LINE_MAX])
{
    struct draft copy = *d;
    char room[32];
    int used = 0, i;

    line[0] = '\0';
    for (i = 0; i < draft_field_count; i++) {
        const struct draft_field *f = &draft_fields[i];
        int value = *draft_at(&copy, f);
        const char *word = draft_word(f, value, room);
        if (value == f->usual)
            continue;
        if (!word)
            snprintf(room, sizeof(room), "%d", value);
        used += snprintf(line + used, DRAFT_LINE_MAX - (size_t)used, "%s%s=%s", used ? " " : "",
                         f->name, room);
    }
}

/* The value that a word or number means; false if none. */
static bool read_value(const struct draft_field *f, const char *text, size_t length, int *value)
{
    char room[32];
    char *end;
    int i;

    for (i = 0; *f->words && *draft_word(f, i, room); i++)
        if (strlen(room) == length && !strncmp(room, text, length)) {
            *value = i;
            return true;
        }
    *value = (int)strtol(text, &end, 10);
    return !*f->words && end == text + length && length > 0;
}

bool draft_parse(const char *line, struct draft *d)
{
    *d = draft_usual();
    while (*(line += strspn(line, " \n"))) {
        size_t name = strcspn(line, "= \n"), all = strcspn(line, " \n");
        int i;
        for (i = 0; i < draft_field_count; i++)
            if (strlen(draft_fields[i].name) == name && !strncmp(draft_fields[i].name, line, name))
                break;
        if (i == draft_field_count || line[name] != '=' ||
            !read_value(&draft_fields[i], line + name + 1, all - name - 1,
                        draft_at(d, &draft_fields[i]))) {
            fprintf(stderr, "%.*s: no field and value of a problem\n", (int)all, line);
            return false;
        }
        line += all;
    }
    return true;
}

static void at_least(int *value, int least)
{
    if (*value < least)
        *value = least;
}

static void at_most(int *value, int most)
{
    if (*value > most)
        *value = most;
}

/* The backward pass knows no caches and writes no probs; it needs lse. */
static void mend_bwd(struct draft *d)
{
    if (d->op != OP_BWD) {
        d->layout_grad = d->layout_d_o = BHSD;
        d->absent = d->delta = 0;
        return;
    }
    d->probs = d->page = d->index = d->fresh = d->rotary = d->splits = 0;
    if (d->lse == LSE_NONE)
        d->lse = LSE_ROWS;
    if (d->lse_room == ROOM_HALF)
        d->lse_room = ROOM_EXACT;
    d->workspace = WORKSPACE_ASKED;
}

/* The header's rules for caches. */
static void mend_cache(struct draft *d)
{
    if (d->page) {
        d->index = 0;
        if (d->side_k != LENGTHS && d->side_k != CUMULATIVE)
            d->side_k = d->side_k == DENSE ? DENSE : LENGTHS;
        at_least(&d->page, 16);
        while (d->page & (d->page - 1))
            d->page &= d->page - 1;
    }
    if (d->op == OP_PROBS) /* which of them then apply is not said */
        d->fresh = d->rotary = 0;
    if (d->index && draft_is_packed(d->side_k))
        d->side_k = LENGTHS;
    if (d->fresh && d->side_k != LENGTHS && d->side_k != CUMULATIVE && d->side_k != STARTS)
        d->side_k = LENGTHS;
    if (d->rotary) {
        if (draft_is_packed(d->side_q) || d->side_q == STARTS)
            d->side_q = DENSE;
        if (draft_is_packed(d->side_k))
            d->side_k = LENGTHS;
        d->workspace = WORKSPACE_ASKED;
        d->rotary_dim -= d->rotary_dim % 2;
        at_least(&d->rotary_dim, 2);
        at_most(&d->rotary_dim, d->dim_qk - d->dim_qk % 2);
        if (d->dim_qk < 2)
            d->rotary = 0;
    }
    if (!d->rotary)
        d->rotary_dim = 0;
    /* What is written must not overlap itself. */
    if (d->fresh && d->layout_k >= ONE_HEAD)
        d->layout_k = BHSD;
    if (d->fresh && d->layout_v >= ONE_HEAD)
        d->layout_v = BHSD;
    if (!d->page && !d->index)
        d->table = TABLE_SOUND;
    if (d->fresh && d->table == TABLE_SHARED)
        d->table = TABLE_SOUND;
}

static void mend_sequences(struct draft *d)
{
    bool packed_q = draft_is_packed(d->side_q);

    if (!draft_is_varied(d->side_q))
        d->lie_q = LIE_NO;
    if (!draft_is_varied(d->side_k))
        d->lie_k = LIE_NO;
    if (packed_q && d->lie_q == LIE_GARBAGE) /* sequences that overlap would race for o */
        d->lie_q = LIE_BEYOND;
    if (draft_is_packed(d->side_k) && d->lie_k == LIE_GARBAGE && d->op == OP_BWD) /* for dk, dv */
        d->lie_k = LIE_BEYOND;
    /* `equal` has its length from max, which cannot be 0; lengths that lie are on the device. */
    if (d->side_q == EQUAL && !d->seq_q)
        d->side_q = STRIDED;
    if (d->side_k == EQUAL && !d->seq_k)
        d->side_k = STRIDED;
    if (d->side_q == EQUAL)
        d->max_q = MAX_EXACT;
    if (d->side_k == EQUAL)
        d->max_k = MAX_EXACT;
    if (!draft_is_varied(d->side_q) && d->max_q == MAX_LESS)
        d->max_q = MAX_EXACT;
    if (!draft_is_varied(d->side_k) && d->max_k == MAX_LESS)
        d->max_k = MAX_EXACT;
    if (d->lse == LSE_COMPACT && (!packed_q || d->side_q == EQUAL))
        d->lse = LSE_HEADS;
    if (d->lse == LSE_COMPACT && d->lie_q)
        d->lie_q = LIE_NO;
    if (!draft_is_varied(d->side_q) && !draft_is_varied(d->side_k))
        d->index64 = 0;
    if (d->lse == LSE_NONE)
        d->lse_base2 = d->lse_room = 0;
}

static void mend_scores(struct draft *d)
{
    at_most(&d->bias, 16);
    at_most(&d->keep, 16);
    if (!d->bias) {
        d->bias_f32 = d->bias_layout = d->holes = 0;
        if (d->special == BIAS_NAN)
            d->special = NO_SPECIAL;
    }
    if (!d->keep)
        d->keep_layout = 0;
    if (d->op == OP_PROBS && !d->probs)
        d->probs = PROBS_MASK;
    if (d->probs == PROBS_DROPPED && d->lse == LSE_NONE)
        d->lse = LSE_ROWS;
    if (d->probs == PROBS_DROPPED && d->lse_room == ROOM_HALF)
        d->lse_room = ROOM_EXACT;
    if (!d->probs) {
        d->probs_dtype = 1;
        d->probs_cut = 0;
    }
    if (d->mask < 3)
        d->left = d->right = 0;
    if (d->special == NO_SPECIAL)
        d->specials = 1;
    /* Huge scores and soft caps, large values and f16 sums of dropout: no one's arithmetic. */
    if (d->values == HUGE_SCORES)
        d->softcap = 0;
    if (d->op == OP_PROBS && d->values == HUGE_SCORES)
        d->values = THOUSANDS;
}

/*
 * K and V of FP8, perhaps q, with what else the header allows; rows that are written into such
 * caches are another test's.
 */
static void mend_fp8(struct draft *d)
{
    enum gpu { GFX90A, GFX942, GFX1100, GFX1151 };
    const bool fnuz = d->fp8 >= FP8_E4M3_FNUZ;

    if (d->op != OP_FWD || d->dtype == AOTHIP_F32 || d->probs == PROBS_DROPPED || d->fresh)
        d->fp8 = FP8_NONE;
    if (!d->fp8)
        d->fp8_q = d->scales = 0;
    if (d->gpu == GFX90A || d->gpu == GFX1100 || d->gpu == GFX1151 || d->rotary ||
        fnuz != (d->gpu == GFX942))
        d->fp8_q = 0;
    if (d->fp8 && (d->gpu == GFX1100 || d->gpu == GFX1151)) {
        at_most(&d->dim_qk, 256);
        at_most(&d->dim_v, 256);
        at_most(&d->rotary_dim, 256);
    }
}

void draft_mend(struct draft *d)
{
    at_least(&d->batch, 1);
    at_most(&d->batch, DRAFT_BATCH_MAX);
    at_least(&d->heads_k, 1);
    at_least(&d->group, 1);
    at_least(&d->seq_q, 0);
    at_least(&d->seq_k, 0);
    at_least(&d->dim_qk, 1);
    at_least(&d->dim_v, 1);
    at_most(&d->dim_qk, 512);
    at_most(&d->dim_v, 512);
    at_least(&d->specials, 1);
    mend_bwd(d);
    mend_cache(d);
    mend_sequences(d);
    mend_scores(d);
    mend_fp8(d);
}
