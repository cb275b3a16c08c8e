/*
 * Line tables (.debug_line, DWARF 4 and 5) to source positions.
 *
 * A table that does not parse is dropped as a whole: reports then have no source lines. Nothing in
 * it is trusted; every read is checked against the end of its section.
 */
#include "code_object.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FILES = 65536,
    MAX_ROWS = 1 << 22,
    MAX_FORMATS = 16,

    LNCT_PATH = 1,
    LNCT_DIRECTORY = 2,

    FORM_DATA2 = 0x05,
    FORM_DATA4 = 0x06,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_BLOCK = 0x09,
    FORM_DATA1 = 0x0b,
    FORM_STRP = 0x0e,
    FORM_UDATA = 0x0f,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f,
};

struct row {
    uint64_t addr;
    uint32_t file, line; /* line 0: the end of a sequence */
};

struct emu_line_table {
    char **files;
    size_t nfiles;
    struct row *rows;
    size_t nrows, room;
};

struct section {
    const uint8_t *p;
    size_t size;
};

struct reader {
    const uint8_t *p, *end;
    bool bad;
    struct section line_str, str;
};

static bool find_section(const uint8_t *image, size_t size, const char *name, struct section *out)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, strings;
    memcpy(&h, image, sizeof h);
    *out = (struct section){NULL, 0};
    if (h.e_shentsize != sizeof s || h.e_shoff > size ||
        (uint64_t)h.e_shnum * sizeof s > size - h.e_shoff || h.e_shstrndx >= h.e_shnum)
        return false;
    memcpy(&strings, image + h.e_shoff + h.e_shstrndx * sizeof s, sizeof s);
    if (strings.sh_offset > size || strings.sh_size > size - strings.sh_offset)
        return false;
    for (unsigned i = 0; i < h.e_shnum; i++) {
        memcpy(&s, image + h.e_shoff + i * sizeof s, sizeof s);
        size_t n = strlen(name) + 1;
        if (s.sh_name > strings.sh_size || n > strings.sh_size - s.sh_name ||
            memcmp(image + strings.sh_offset + s.sh_name, name, n) != 0)
            continue;
        /* A compressed section would need zlib; compilers do not compress these by themselves. */
        if (s.sh_type == SHT_NOBITS || (s.sh_flags & SHF_COMPRESSED) || s.sh_offset > size ||
            s.sh_size > size - s.sh_offset)
            return false;
        *out = (struct section){image + s.sh_offset, s.sh_size};
        return true;
    }
    return false;
}

static uint64_t take(struct reader *r, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(r->end - r->p) < n) {
        r->bad = true;
        r->p = r->end;
        return 0;
    }
    memcpy(&v, r->p, n > 8 ? 8 : n);
    r->p += n;
    return v;
}

static uint64_t take_uleb(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = take(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        if (!(byte & 0x80) || r->bad)
            return v;
    }
}

static int64_t take_sleb(struct reader *r)
{
    uint64_t v = 0, byte;
    unsigned shift = 0;
    do {
        byte = take(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) && !r->bad);
    if (shift < 64 && (byte & 0x40))
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

static const char *take_string(struct reader *r)
{
    const uint8_t *nul = memchr(r->p, 0, (size_t)(r->end - r->p));
    const char *s = (const char *)r->p;
    if (!nul) {
        r->bad = true;
        return "";
    }
    r->p = nul + 1;
    return s;
}

static const char *string_at(struct reader *r, const struct section *s, uint64_t offset)
{
    if (offset >= s->size || !memchr(s->p + offset, 0, s->size - offset)) {
        r->bad = true;
        return "";
    }
    return (const char *)s->p + offset;
}

/* One value of a directory or file entry: text for strings, else the number. */
static uint64_t take_form(struct reader *r, uint64_t form, const char **text)
{
    switch (form) {
    case FORM_STRING:
        *text = take_string(r);
        return 0;
    case FORM_LINE_STRP:
        *text = string_at(r, &r->line_str, take(r, 4));
        return 0;
    case FORM_STRP:
        *text = string_at(r, &r->str, take(r, 4));
        return 0;
    case FORM_UDATA:
        return take_uleb(r);
    case FORM_DATA1:
        return take(r, 1);
    case FORM_DATA2:
        return take(r, 2);
    case FORM_DATA4:
        return take(r, 4);
    case FORM_DATA8:
        return take(r, 8);
    case FORM_DATA16:
        return take(r, 16);
    case FORM_BLOCK: {
        uint64_t n = take_uleb(r);
        if (n > (uint64_t)(r->end - r->p))
            r->bad = true;
        else
            r->p += n;
        return 0;
    }
    default:
        r->bad = true;
        return 0;
    }
}

static bool add_file(struct emu_line_table *t, const char *dir, const char *name)
{
    char path[1024];
    if (t->nfiles == MAX_FILES)
        return false;
    char **more = realloc(t->files, (t->nfiles + 1) * sizeof *more);
    if (!more)
        return false;
    t->files = more;
    if (*name == '/' || !*dir)
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s", dir, name);
    t->files[t->nfiles] = strdup(path);
    return t->files[t->nfiles++] != NULL;
}

/* The directory and the file list of DWARF 5 have the same shape. */
static bool read_list5(struct reader *r, struct emu_line_table *t, const char **dirs, size_t *ndirs,
                       bool files)
{
    uint64_t kind[MAX_FORMATS], form[MAX_FORMATS];
    unsigned formats = (unsigned)take(r, 1);
    if (formats > MAX_FORMATS)
        return false;
    for (unsigned i = 0; i < formats; i++) {
        kind[i] = take_uleb(r);
        form[i] = take_uleb(r);
    }
    uint64_t n = take_uleb(r);
    if (n > MAX_FILES || (n && !formats))
        return false;
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        const char *path = "", *text = "";
        uint64_t dir = 0;
        for (unsigned f = 0; f < formats; f++) {
            uint64_t v = take_form(r, form[f], &text);
            if (kind[f] == LNCT_PATH)
                path = text;
            else if (kind[f] == LNCT_DIRECTORY)
                dir = v;
        }
        if (!files)
            dirs[(*ndirs)++] = path;
        else if (!add_file(t, dir && dir < *ndirs ? dirs[dir] : "", path))
            return false;
    }
    return !r->bad;
}

static bool read_lists4(struct reader *r, struct emu_line_table *t, const char **dirs,
                        size_t *ndirs)
{
    dirs[(*ndirs)++] = "";
    while (r->p < r->end && *r->p && *ndirs < MAX_FILES)
        dirs[(*ndirs)++] = take_string(r);
    take(r, 1);
    /* Files count from 1. */
    if (!add_file(t, "", ""))
        return false;
    while (r->p < r->end && *r->p && !r->bad) {
        const char *name = take_string(r);
        uint64_t dir = take_uleb(r);
        take_uleb(r);
        take_uleb(r);
        if (!add_file(t, dir < *ndirs ? dirs[dir] : "", name))
            return false;
    }
    take(r, 1);
    return !r->bad;
}

static bool add_row(struct emu_line_table *t, uint64_t addr, uint64_t file, uint64_t line)
{
    if (t->nrows == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        struct row *more = room > MAX_ROWS ? NULL : realloc(t->rows, room * sizeof *more);
        if (!more)
            return false;
        t->rows = more;
        t->room = room;
    }
    t->rows[t->nrows++] = (struct row){addr, (uint32_t)file, (uint32_t)line};
    return true;
}

struct program {
    unsigned min_length, line_range, opcode_base;
    int line_base;
    uint8_t lengths[256];
    size_t first_file;
};

/* Runs one unit's line number program. */
static bool run_program(struct reader *r, struct emu_line_table *t, const struct program *u)
{
    uint64_t addr = 0, file = 1;
    int64_t line = 1;
    while (r->p < r->end && !r->bad) {
        unsigned op = (unsigned)take(r, 1);
        bool emit = op >= u->opcode_base;
        if (emit) {
            unsigned adjusted = op - u->opcode_base;
            addr += adjusted / u->line_range * u->min_length;
            line += u->line_base + (int)(adjusted % u->line_range);
        } else if (op == 0) {
            uint64_t n = take_uleb(r);
            if (n == 0 || n > (uint64_t)(r->end - r->p))
                return false;
            const uint8_t *next = r->p + n;
            unsigned sub = (unsigned)take(r, 1);
            if (sub == 2 && n == 9)
                addr = take(r, 8);
            if (sub == 1) {
                if (!add_row(t, addr, 0, 0))
                    return false;
                addr = 0, file = 1, line = 1;
            }
            r->p = next;
        } else {
            switch (op) {
            case 1:
                emit = true;
                break;
            case 2:
                addr += take_uleb(r) * u->min_length;
                break;
            case 3:
                line += take_sleb(r);
                break;
            case 4:
                file = take_uleb(r);
                break;
            case 8:
                addr += (255 - u->opcode_base) / u->line_range * u->min_length;
                break;
            case 9:
                addr += take(r, 2);
                break;
            default:
                for (unsigned i = 0; i < u->lengths[op]; i++)
                    take_uleb(r);
            }
        }
        if (emit && line > 0 && file < MAX_FILES &&
            !add_row(t, addr, u->first_file + file, (uint64_t)line))
            return false;
    }
    return !r->bad;
}

static bool read_unit(struct reader *all, struct emu_line_table *t, const char **dirs)
{
    uint64_t length = take(all, 4);
    /* 64-bit DWARF starts with 0xffffffff, which is longer than any section here. */
    if (all->bad || length > (uint64_t)(all->end - all->p))
        return false;
    struct reader r = *all;
    r.end = all->p + length;
    all->p = r.end;
    unsigned version = (unsigned)take(&r, 2);
    if (version < 4 || version > 5)
        return false;
    if (version == 5)
        take(&r, 2); /* address and segment selector size */
    uint64_t header = take(&r, 4);
    if (r.bad || header > (uint64_t)(r.end - r.p))
        return false;
    const uint8_t *code = r.p + header;
    struct program u = {.first_file = t->nfiles};
    u.min_length = (unsigned)take(&r, 1);
    take(&r, 2); /* operations per instruction, default is_stmt */
    u.line_base = (int8_t)take(&r, 1);
    u.line_range = (unsigned)take(&r, 1);
    u.opcode_base = (unsigned)take(&r, 1);
    if (r.bad || u.line_range == 0 || u.opcode_base == 0)
        return false;
    for (unsigned i = 1; i < u.opcode_base; i++)
        u.lengths[i] = (uint8_t)take(&r, 1);
    size_t ndirs = 0;
    bool ok = version == 5
                  ? read_list5(&r, t, dirs, &ndirs, false) && read_list5(&r, t, dirs, &ndirs, true)
                  : read_lists4(&r, t, dirs, &ndirs);
    r.p = code;
    return ok && run_program(&r, t, &u);
}

static int by_address(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->addr != y->addr)
        return x->addr < y->addr ? -1 : 1;
    /* The end of one sequence may be the start of the next. */
    return (y->line == 0) - (x->line == 0);
}

struct emu_line_table *emu_line_open(const uint8_t *image, size_t size)
{
    struct section line;
    struct reader r = {0};
    if (!find_section(image, size, ".debug_line", &line) || line.size == 0)
        return NULL;
    find_section(image, size, ".debug_line_str", &r.line_str);
    find_section(image, size, ".debug_str", &r.str);
    struct emu_line_table *t = calloc(1, sizeof *t);
    const char **dirs = calloc(MAX_FILES + 1, sizeof *dirs);
    r.p = line.p;
    r.end = line.p + line.size;
    bool ok = t && dirs;
    while (ok && r.p < r.end)
        ok = read_unit(&r, t, dirs);
    free(dirs);
    if (!ok || t->nrows == 0) {
        emu_line_close(t);
        return NULL;
    }
    qsort(t->rows, t->nrows, sizeof *t->rows, by_address);
    return t;
}

void emu_line_close(struct emu_line_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->nfiles; i++)
        free(t->files[i]);
    free(t->files);
    free(t->rows);
    free(t);
}

bool emu_line_find(const struct emu_line_table *t, uint64_t vaddr, const char **file,
                   unsigned *line)
{
    size_t lo = 0, hi = t->nrows;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (t->rows[mid].addr <= vaddr)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || t->rows[lo - 1].line == 0 || t->rows[lo - 1].file >= t->nfiles)
        return false;
    *file = t->files[t->rows[lo - 1].file];
    *line = t->rows[lo - 1].line;
    return true;
}
