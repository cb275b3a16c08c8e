/*
 * The instruction table by itself: no two rows claim the same opcode, every row can be read, and
 * the page COVERAGE.md says what the table says.
 *
 *     test_isa [--coverage]      prints the page instead
 */
#include "program.h"
#include "insn.h"
#include "tap.h"

#include <stdbool.h>

static const char *const family_names[EMU_FAMILIES] = {"gfx90a",  "gfx942",  "gfx950",
                                                       "gfx1100", "gfx1150", "gfx1200"};
static const char *const enc_names[EMU_ENCODINGS] = {
    [EMU_SOP1] = "SOP1",       [EMU_SOP2] = "SOP2",       [EMU_SOPC] = "SOPC",
    [EMU_SOPK] = "SOPK",       [EMU_SOPP] = "SOPP",       [EMU_SMEM] = "SMEM",
    [EMU_VOP1] = "VOP1",       [EMU_VOP2] = "VOP2",       [EMU_VOPC] = "VOPC",
    [EMU_VOP3] = "VOP3",       [EMU_VOP3P] = "VOP3P",     [EMU_MAI] = "MAI",
    [EMU_VOPD] = "VOPD",       [EMU_DS] = "DS",           [EMU_FLAT] = "FLAT",
    [EMU_GLOBAL] = "GLOBAL",   [EMU_SCRATCH] = "SCRATCH", [EMU_MUBUF] = "MUBUF",
    [EMU_MTBUF] = "MTBUF",     [EMU_MIMG] = "MIMG",       [EMU_EXP] = "EXP",
    [EMU_VINTERP] = "VINTERP", [EMU_LDSDIR] = "LDSDIR"};

/* ---- structure ---- */

/* Rows of one space share its opcodes: matrix rows lie among the packed ones. */
static unsigned space_of(const struct emu_row *row)
{
    return row->enc == EMU_MAI ? (unsigned)EMU_VOP3P : row->enc;
}

static void test_overlaps(void)
{
    static int taken[EMU_ENCODINGS][1024];

    for (unsigned f = 0; f < EMU_FAMILIES; f++) {
        unsigned overlaps = 0, beyond = 0;

        memset(taken, 0, sizeof taken);
        for (unsigned i = 0; i < emu_row_count; i++) {
            const struct emu_row *row = &emu_rows[i];
            int op = row->op[f], *slot;

            if (op < 0)
                continue;
            if (op >= 1024) {
                beyond++;
                continue;
            }
            slot = &taken[space_of(row)][op];
            if (*slot) {
                tap_diag("%s: %s and %s", family_names[f], emu_rows[*slot - 1].name, row->name);
                overlaps++;
            }
            *slot = (int)i + 1;
        }
        ok(!overlaps && !beyond, "%s: every opcode belongs to one row", family_names[f]);
    }
}

/* A VOP3 opcode below the ranges that VOP1, VOP2 and VOPC own would never be found. */
static void test_ranges(void)
{
    for (unsigned f = 0; f < EMU_FAMILIES; f++) {
        unsigned bad = 0;

        for (unsigned i = 0; i < emu_row_count; i++) {
            const struct emu_row *row = &emu_rows[i];
            int op = row->op[f], low = f < EMU_GFX11 ? 0x1c0 : 0x200,
                high = f < EMU_GFX11 ? 0x380 : 0x400;
            int limit[] = {[EMU_VOP1] = 0x80, [EMU_VOP2] = 0x40, [EMU_VOPC] = 0x100};

            if (op < 0)
                continue;
            if (row->enc == EMU_VOP3 && (op < low || op >= high))
                bad++, tap_diag("%s: VOP3 0x%x", row->name, (unsigned)op);
            if ((row->enc == EMU_VOP1 || row->enc == EMU_VOP2 || row->enc == EMU_VOPC) &&
                op >= limit[row->enc])
                bad++, tap_diag("%s: 0x%x", row->name, (unsigned)op);
        }
        ok(!bad, "%s: opcodes lie where their encoding puts them", family_names[f]);
    }
}

static bool known_token(const char *s, size_t n)
{
    static const char *const tokens[] = {
        "b16",    "b32",   "b64",    "b96",  "b128", "b192", "b256", "b512",  "b1024",
        "i16",    "i32",   "i64",    "f16",  "bf16", "f32",  "f64",  "pki16", "pkf16",
        "pkbf16", "pkf32", "pkb32",  "mix",  "mask", "wacc", "w64",  "w128",  "w256",
        "k16",    "k32",   "simm16", "addr", "base", "buf",  "="};

    if (n > 2 && s[1] == '.' && strchr("vsa", s[0]))
        s += 2, n -= 2;
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        if (strlen(tokens[i]) == n && !memcmp(tokens[i], s, n))
            return true;
    return false;
}

/* A name may stand twice where a GPU has the instruction in another shape. */
static bool stands_behind(const struct emu_row *row, const struct emu_row *next)
{
    int order = strcmp(row->name, next->name);

    for (unsigned f = 0; f < EMU_FAMILIES && order == 0; f++)
        if (row->op[f] >= 0 && next->op[f] >= 0)
            return true;
    return order > 0;
}

static void test_rows(void)
{
    unsigned unknown = 0, unsorted = 0, nowhere = 0, strangers = 0;

    for (unsigned i = 0; i < emu_row_count; i++) {
        const struct emu_row *row = &emu_rows[i];
        bool somewhere = false, named = false;

        for (const char *s = row->sig; *s; s += strcspn(s, " "), s += *s == ' ') {
            if (!known_token(s, strcspn(s, " ")))
                unknown++, tap_diag("%s: operand '%s'", row->name, s);
        }
        if (i && emu_rows[i - 1].enc == row->enc && stands_behind(&emu_rows[i - 1], row))
            unsorted++, tap_diag("%s stands behind %s", row->name, emu_rows[i - 1].name);
        for (unsigned f = 0; f < EMU_FAMILIES; f++)
            somewhere |= row->op[f] >= 0;
        nowhere += !somewhere;
        for (unsigned k = 0; k < emu_row_count && !named; k++)
            named = !strcmp(emu_rows[k].name, row->sem);
        if (!named)
            strangers++, tap_diag("%s: no row is called %s", row->name, row->sem);
    }
    is_int(unknown, 0, "operand signatures consist of known words");
    is_int(unsorted, 0, "rows are sorted by name within their encoding, each once a GPU");
    is_int(nowhere, 0, "every row has an opcode on some GPU");
    is_int(strangers, 0, "every semantic name is the mnemonic of some GPU");
}

/* ---- COVERAGE.md ---- */

enum state { ABSENT, DONE, TRAPPED, MISSING };

/* The operation behind a row, as emu_bind_op() finds it: a v_cmpx is its v_cmp and writes EXEC too,
 * a packed float operation is the plain one done twice. */
static const char *operation_of(const struct emu_row *row, char *buffer, size_t size)
{
    bool packed = !strncmp(row->sem, "v_pk_", 5) && !strncmp(row->sig, "pkf32", 5);

    if (!strncmp(row->sem, "v_cmpx_", 7))
        snprintf(buffer, size, "v_cmp_%s", row->sem + 7);
    else if (packed)
        snprintf(buffer, size, "v_%s", row->sem + 5);
    else if (!strcmp(row->sem, "v_pk_mov_b32"))
        snprintf(buffer, size, "v_mov_b32");
    else
        snprintf(buffer, size, "%s", row->sem);
    return buffer;
}

static enum state state_of(const struct emu_row *row, unsigned f)
{
    struct emu_binding b;
    char name[64];

    if (row->op[f] < 0)
        return ABSENT;
    if (row->flags & EMU_F_TRAPPED)
        return TRAPPED;
    b = emu_bind(operation_of(row, name, sizeof name), f < EMU_GFX11 ? 64 : 32);
    return b.row || (b.sem && b.sem->fn[f < EMU_GFX11]) ? DONE : MISSING;
}

static void print_summary(FILE *f)
{
    fputs("| | done | trapped by design | missing |\n|---|---|---|---|\n", f);
    for (unsigned k = 0; k < EMU_FAMILIES; k++) {
        unsigned n[4] = {0};

        for (unsigned i = 0; i < emu_row_count; i++)
            n[state_of(&emu_rows[i], k)]++;
        fprintf(f, "| %s | %u | %u | %u |\n", family_names[k], n[DONE], n[TRAPPED], n[MISSING]);
    }
}

static void print_coverage(FILE *f)
{
    static const char *const words[] = {"", "done", "trapped", "**missing**"};
    int enc = -1;

    fputs(
        "# Instructions of the emulator\n\n"
        "Made by `make coverage` from `isa_*.def` and the semantic tables; a test keeps it true.\n"
        "gfx1100 stands for gfx1100 to gfx1103, gfx1150 for gfx1150 to gfx1153 (with gfx1151), "
        "gfx1200\n"
        "for gfx1200 and gfx1201.\n\n"
        "- done: executed; for s_trap, s_code_end, s_rfe_b64 and the like that is the exception "
        "they\n"
        "  raise in a kernel, and the launch stops with it\n"
        "- trapped: recognised and printed; running one stops the kernel with its name. These are\n"
        "  images with their ray tracing, export, interpolation, what works on global wave sync\n"
        "  (GWS) and the ordered counters of the global data share alone; of gfx950 what\n"
        "  loads scales without the product behind it; and of gfx1200 named barriers, which its\n"
        "  manual does not have, dynamic registers and the ordered addition of 64 bits\n"
        "- missing: as trapped, but nobody meant it so\n"
        "- empty: the GPU has no such instruction\n\n",
        f);
    print_summary(f);
    for (unsigned i = 0; i < emu_row_count; i++) {
        const struct emu_row *row = &emu_rows[i];

        if (row->enc != enc) {
            enc = row->enc;
            fprintf(f, "\n## %s\n\n| |", enc_names[enc]);
            for (unsigned k = 0; k < EMU_FAMILIES; k++)
                fprintf(f, " %s |", family_names[k]);
            fputs("\n|---|---|---|---|---|---|---|\n", f);
        }
        fprintf(f, "| %s |", row->name);
        for (unsigned k = 0; k < EMU_FAMILIES; k++)
            fprintf(f, " %s |", words[state_of(row, k)]);
        fputc('\n', f);
    }
}

static char *read_all(FILE *f, size_t *size)
{
    char *text = NULL;
    size_t room = 0, n;

    *size = 0;
    do {
        char *more = realloc(text, room += 65536);

        if (!more)
            break;
        text = more;
        n = fread(text + *size, 1, room - *size, f);
        *size += n;
    } while (n);
    return text;
}

static void test_page(const char *path)
{
    FILE *page = fopen(path, "rb"), *made = tmpfile();
    char *a, *b;
    size_t na = 0, nb = 0;

    if (!ok(page && made, "%s is there", path)) {
        if (page)
            fclose(page);
        if (made)
            fclose(made);
        return;
    }
    print_coverage(made);
    rewind(made);
    a = read_all(page, &na);
    b = read_all(made, &nb);
    if (!ok(a && b && na == nb && !memcmp(a, b, na), "COVERAGE.md is what the tables say"))
        tap_diag("write it anew with: make coverage");
    free(a);
    free(b);
    fclose(page);
    fclose(made);
}

/* What LLVM 19 knows, programs may contain; emu_decode_newer only adds to it. */
static void test_newer(enum emu_family family)
{
    uint64_t seed = 17;
    unsigned lost = 0, more = 0;
    char text[256];

    for (unsigned i = 0; i < 200000; i++) {
        uint32_t word[3];
        struct emu_insn old, in;
        unsigned size;

        for (unsigned k = 0; k < 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            word[k] = (uint32_t)(seed >> 32);
        }
        if (i & 1) /* VOP3 and the 32-bit forms of 16-bit operations are where they differ */
            word[0] = (word[0] & 0x03ffffff) | (i & 2 ? 0xd4000000 : 0x7c000000);
        size = emu_decode(family, 32, (const uint8_t *)word, sizeof word, 0, &old);
        lost += size &&
                emu_decode_newer(family, 32, (const uint8_t *)word, sizeof word, 0, &in) != size;
        if (!size && emu_decode_newer(family, 32, (const uint8_t *)word, sizeof word, 0, &in)) {
            more++;
            lost += emu_disasm(&in, text, sizeof text) == 0;
        }
    }
    is_int(lost, 0, "words that only the older decoder takes");
    ok(family < EMU_GFX11 ? more == 0 : more > 100, "%s: %u more words for programs",
       family_names[family], more);
}

int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir");
    char path[4096];

    if (argc > 1 && !strcmp(argv[1], "--coverage")) {
        print_coverage(stdout);
        return fflush(stdout) || ferror(stdout);
    }
    snprintf(path, sizeof path, "%s/tools/emu/isa/COVERAGE.md", srcdir ? srcdir : ".");
    test_overlaps();
    test_ranges();
    test_rows();
    test_page(path);
    for (unsigned f = 0; f < EMU_FAMILIES; f++)
        test_newer((enum emu_family)f);
    return tap_done();
}
