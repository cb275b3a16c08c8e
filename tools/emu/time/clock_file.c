/* Reads a file of parameters for the clock. */
#include "clock_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_params.h"

enum { LINES_MOST = 1000, SIZE_MOST = 1 << 20, WORD_MOST = 200 };

static const struct {
    const char *name;
    enum emu_family family;
} gpus[] = {
    {"gfx90a", EMU_GFX90A},   {"gfx942", EMU_GFX942},   {"gfx950", EMU_GFX950},
    {"gfx1100", EMU_GFX11},   {"gfx1101", EMU_GFX11},   {"gfx1102", EMU_GFX11},
    {"gfx1103", EMU_GFX11},   {"gfx1150", EMU_GFX11_5}, {"gfx1151", EMU_GFX11_5},
    {"gfx1152", EMU_GFX11_5}, {"gfx1153", EMU_GFX11_5}, {"gfx1200", EMU_GFX12},
    {"gfx1201", EMU_GFX12},
};

struct change {
    enum emu_family family;
    size_t field;
    struct emu_clock_origin to;
    char source[WORD_MOST], *copy;
};

struct reader {
    const char *name, *at, *end;
    int line;
    char *why;
    size_t room;
    bool has_gpu;
    enum emu_family family;
    struct change *change;
    size_t changes;
};

static bool wrong(struct reader *r, const char *format, ...)
{
    va_list list;
    int n = snprintf(r->why, r->room, "%s:%d: ", r->name, r->line);

    va_start(list, format);
    if (n >= 0 && (size_t)n < r->room)
        vsnprintf(r->why + n, r->room - (size_t)n, format, list);
    va_end(list);
    return false;
}

/* To the next character that is neither white nor of a comment. */
static bool skip(struct reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '\n')
            r->line++;
        if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n') {
            r->at++;
        } else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*') {
            const int line = r->line;

            for (r->at += 2; r->end - r->at > 1 && (r->at[0] != '*' || r->at[1] != '/'); r->at++)
                r->line += *r->at == '\n';
            if (r->end - r->at < 2) {
                r->line = line;
                return wrong(r, "a comment that does not end");
            }
            r->at += 2;
        } else {
            return true;
        }
    }
    return true;
}

static bool expect(struct reader *r, char c)
{
    if (!skip(r))
        return false;
    if (r->at == r->end)
        return wrong(r, "the file ends where '%c' is wanted", c);
    if (*r->at != c)
        return wrong(r, "'%c' is wanted, not '%c'", c,
                     *r->at >= ' ' && *r->at <= '~' ? *r->at : '?');
    r->at++;
    return true;
}

static bool read_name(struct reader *r, char *word)
{
    size_t n = 0;

    if (!skip(r))
        return false;
    while (r->at < r->end && n < WORD_MOST - 1 &&
           ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') ||
            (*r->at >= '0' && *r->at <= '9') || *r->at == '_'))
        word[n++] = *r->at++;
    word[n] = 0;
    return n || wrong(r, "a name is wanted");
}

/* Between `mark`s, on one line; what is printable of it. */
static bool read_quoted(struct reader *r, char mark, char *word)
{
    size_t n = 0;

    if (!expect(r, mark))
        return false;
    for (; r->at < r->end && *r->at != mark && *r->at != '\n'; r->at++)
        if (n < WORD_MOST - 1)
            word[n++] = *r->at >= ' ' && *r->at <= '~' ? *r->at : '?';
    word[n] = 0;
    if (r->at == r->end || *r->at != mark)
        return wrong(r, "a text that does not end");
    r->at++;
    return true;
}

static bool read_number(struct reader *r, const char *what, double *x)
{
    char word[64], *end;
    size_t n = 0;

    if (!skip(r))
        return false;
    while (r->at < r->end && n < sizeof word - 1 && *r->at > ' ' && !strchr(",)", *r->at))
        word[n++] = *r->at++;
    word[n] = 0;
    *x = strtod(word, &end);
    if (!n || word[strspn(word, "0123456789.eE+-")] || *end || !isfinite(*x))
        return wrong(r, "the %s is no number: '%s'", what, word);
    return true;
}

static bool read_gpu(struct reader *r)
{
    char word[WORD_MOST];

    if (!expect(r, '(') || !read_quoted(r, '"', word) || !expect(r, ')'))
        return false;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (strcmp(gpus[i].name, word) == 0) {
            r->family = gpus[i].family;
            r->has_gpu = true;
            return true;
        }
    return wrong(r, "GPU(\"%.40s\"): no GPU with a clock; such as gfx942 is wanted", word);
}

static bool check(struct reader *r, const struct change *c, const char *name)
{
    const struct emu_clock_origin o = emu_clock_origin(c->family, c->field);

    if (!(o.most > 0))
        return wrong(r, "%s is what the GPU is built of, and stays %g", name, o.value);
    if (c->to.value < o.least || c->to.value > o.most)
        return wrong(r, "%s is %g; from %g to %g is possible", name, c->to.value, o.least, o.most);
    if (c->to.uncertainty < 0 || c->to.uncertainty > 1000)
        return wrong(r, "the uncertainty of %s is %g %%; from 0 to 1000 is possible", name,
                     c->to.uncertainty);
    for (size_t i = 0; i < r->changes; i++)
        if (r->change[i].family == c->family && r->change[i].field == c->field)
            return wrong(r, "%s is there twice", name);
    return true;
}

static bool read_parameter(struct reader *r)
{
    char name[WORD_MOST], tag[WORD_MOST];
    struct change *c = &r->change[r->changes];

    if (!r->has_gpu)
        return wrong(r, "GPU(\"gfx...\") has to stand before the first P(...)");
    if (r->changes == LINES_MOST)
        return wrong(r, "more than %d parameters", LINES_MOST);
    memset(c, 0, sizeof *c);
    c->family = r->family;
    if (!expect(r, '(') || !read_name(r, name) || !expect(r, ',') ||
        !read_number(r, "value", &c->to.value) || !expect(r, ',') ||
        !read_number(r, "uncertainty", &c->to.uncertainty) || !expect(r, ',') ||
        !read_quoted(r, '\'', tag) || !expect(r, ',') || !read_quoted(r, '"', c->source) ||
        !expect(r, ')'))
        return false;
    while (c->field < emu_clock_origins() &&
           strcmp(emu_clock_origin(c->family, c->field).name, name) != 0)
        c->field++;
    if (c->field == emu_clock_origins())
        return wrong(r, "the clock has no parameter '%.60s'", name);
    if (strlen(tag) != 1 || !strchr("MVLCD?", *tag))
        return wrong(r, "the tag of %s is '%.20s'; one of M, V, L, C, D and ? is wanted", name,
                     tag);
    if (!*c->source)
        return wrong(r, "%s has no source", name);
    c->to.tag = *tag;
    if (!check(r, c, name))
        return false;
    r->changes++;
    return true;
}

static bool read_line(struct reader *r)
{
    char word[WORD_MOST];

    if (!read_name(r, word))
        return false;
    if (strcmp(word, "GPU") == 0)
        return read_gpu(r);
    if (strcmp(word, "P") == 0)
        return read_parameter(r);
    return wrong(r, "'%.40s' is neither GPU nor P", word);
}

static bool read_all(struct reader *r)
{
    while (skip(r) && r->at < r->end)
        if (!read_line(r))
            return false;
    if (r->at < r->end)
        return false;
    return r->changes || wrong(r, "no parameter");
}

/* All or, without memory, none. */
static bool apply(struct reader *r)
{
    size_t copies = 0;

    while (copies < r->changes) {
        struct change *c = &r->change[copies];

        c->copy = strdup(c->source);
        if (!c->copy)
            break;
        copies++;
    }
    if (copies < r->changes) {
        while (copies > 0)
            free(r->change[--copies].copy);
        return wrong(r, "no memory");
    }
    for (size_t i = 0; i < r->changes; i++)
        emu_clock_change(r->change[i].family, r->change[i].field, &r->change[i].to,
                         r->change[i].copy);
    return true;
}

bool emu_clock_text_read(const char *text, size_t n, const char *name, char *why, size_t room)
{
    struct reader r = {
        .name = name, .at = text, .end = text + n, .line = 1, .why = why, .room = room};
    bool good;

    r.change = calloc(LINES_MOST, sizeof *r.change);
    if (!r.change)
        return wrong(&r, "no memory");
    good = read_all(&r) && apply(&r);
    free(r.change);
    return good;
}

bool emu_clock_file_read(const char *path, char *why, size_t room)
{
    char *text = malloc(SIZE_MOST + 1);
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    bool good = false;

    errno = f ? 0 : errno;
    if (f && text)
        n = fread(text, 1, SIZE_MOST + 1, f);
    if (!text || !f || ferror(f))
        snprintf(why, room, "%s: %s", path, errno ? strerror(errno) : "no memory");
    else if (n > SIZE_MOST)
        snprintf(why, room, "%s: more than %d bytes, which no table of parameters has", path,
                 SIZE_MOST);
    else
        good = emu_clock_text_read(text, n, path, why, room);
    if (f)
        fclose(f);
    free(text);
    return good;
}
