/* Reads tables of what launches of kernels take. */
#include "tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { WORDS = 4 }; /* a kernel and three numbers */

struct word {
    const char *text;
    size_t length;
};

struct reader {
    const struct store *store;
    const char *path, *at, *end;
    struct format_cost *costs;
    int line, versioned, ours; /* ours: the rows that follow are for the store's GPU */
    struct word words[WORDS];
    int count;
    struct status *why;
};

#define TUNE_FAIL(r, code, format, ...)                                                            \
    status_set((r)->why, AOTHIP_E_##code, "%s:%d: " format, (r)->path, (r)->line, __VA_ARGS__)

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts the next line into words, at most WORDS + 1 of which are counted. */
static void next_line(struct reader *r)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *behind = end ? end + 1 : r->end, *note;
    const char *at = r->at;
    end = end ? end : r->end;
    note = memchr(at, '#', (size_t)(end - at));
    end = note ? note : end;
    r->count = 0;
    while (at < end && r->count <= WORDS) {
        const char *from = at;
        while (at < end && !is_blank(*at))
            at++;
        if (at > from) {
            if (r->count < WORDS)
                r->words[r->count] = (struct word){from, (size_t)(at - from)};
            r->count++;
        } else {
            at++;
        }
    }
    r->at = behind;
    r->line++;
}

static int is_word(const struct word *word, const char *text)
{
    return word->length == strlen(text) && !memcmp(word->text, text, word->length);
}

/* A positive number of 32 bits; 0 if it is none. */
static uint32_t number(const struct word *word)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word->length; i++) {
        if (word->text[i] < '0' || word->text[i] > '9')
            return 0;
        value = value * 10 + (uint64_t)(word->text[i] - '0');
        if (value > UINT32_MAX)
            return 0;
    }
    return (uint32_t)value;
}

static int shown(const struct word *word)
{
    return word->length < 64 ? (int)word->length : 64;
}

static enum aothip_status read_version(struct reader *r)
{
    if (r->count != 2 || !is_word(&r->words[0], "aothip-tune"))
        return TUNE_FAIL(r, FORMAT, "the first line is not \"aothip-tune %d\"",
                         FORMAT_COSTS_VERSION);
    if (number(&r->words[1]) != FORMAT_COSTS_VERSION)
        return TUNE_FAIL(r, VERSION, "version is %.*s, this library reads %d", shown(&r->words[1]),
                         r->words[1].text, FORMAT_COSTS_VERSION);
    r->versioned = 1;
    return AOTHIP_OK;
}

static enum aothip_status read_gpu(struct reader *r)
{
    if (r->count != 2)
        return TUNE_FAIL(r, FORMAT, "%d words instead of \"gpu NAME\"", r->count);
    r->ours = is_word(&r->words[1], r->store->gpu) ? 1 : -1;
    return AOTHIP_OK;
}

static enum aothip_status read_row(struct reader *r)
{
    static const char *const names[] = {"start", "alone", "shared"};
    const struct word *kernel = &r->words[0];
    uint32_t values[3];
    if (!r->ours)
        return TUNE_FAIL(r, FORMAT, "%.*s comes before any \"gpu NAME\"", shown(kernel),
                         kernel->text);
    if (r->count != WORDS)
        return TUNE_FAIL(r, FORMAT, "%.*s has %d numbers instead of start, alone and shared",
                         shown(kernel), kernel->text, r->count - 1);
    for (int i = 0; i < 3; i++) {
        values[i] = number(&r->words[i + 1]);
        if (!values[i])
            return TUNE_FAIL(r, FORMAT, "%s is %.*s, not 1 to %u", names[i],
                             shown(&r->words[i + 1]), r->words[i + 1].text, UINT32_MAX);
    }
    for (uint32_t i = 0; r->ours > 0 && i < r->store->header->entry_count; i++) {
        if (!is_word(kernel, r->store->entries[i].symbol))
            continue;
        if (r->costs[i].start)
            return TUNE_FAIL(r, FORMAT, "%s has a second row", r->store->entries[i].symbol);
        r->costs[i] = (struct format_cost){values[0], values[1], values[2]};
    }
    return AOTHIP_OK;
}

enum aothip_status tune_parse(const struct store *store, const char *path, const char *text,
                              size_t size, struct format_cost *costs, struct status *why)
{
    struct reader r = {
        .store = store, .path = path, .at = text, .end = text + size, .costs = costs, .why = why};
    while (r.at < r.end && !why->code) {
        next_line(&r);
        if (!r.count)
            continue;
        if (!r.versioned)
            read_version(&r);
        else if (is_word(&r.words[0], "gpu"))
            read_gpu(&r);
        else
            read_row(&r);
    }
    if (!why->code && !r.versioned)
        return TUNE_FAIL(&r, FORMAT, "no line \"aothip-tune %d\"", FORMAT_COSTS_VERSION);
    return why->code;
}

enum aothip_status tune_read(const struct store *store, const char *path,
                             struct format_cost **costs, struct status *why)
{
    const uint32_t count = store->header->entry_count;
    uint8_t *text = NULL;
    size_t size;
    int absent;
    *costs = NULL;
    if (file_read(path, TUNE_MAX_FILE, &text, &size, &absent, why) || absent)
        return why->code;
    *costs = calloc(count, sizeof(**costs));
    if (!*costs) {
        status_set(why, AOTHIP_E_MEMORY, "%s: no memory for %u kernels", path, count);
    } else if (tune_parse(store, path, (const char *)text, size, *costs, why)) {
        free(*costs);
        *costs = NULL;
    }
    free(text);
    return why->code;
}

char *tune_path(const struct store *store, const char *directory)
{
    char name[16 + sizeof("amd-/" FORMAT_COSTS)];
    snprintf(name, sizeof(name), "amd-%.15s/%s", store->gpu, FORMAT_COSTS);
    return file_join(directory, strlen(directory), name);
}
