/*
 * Decoder and disassembler against LLVM's, word by word: both must agree on what is an
 * instruction, on its size and on its text.
 *
 *     test_decode_llvm [-n WORDS] [-s SEED] [-m MCPU] [-v] [FILE.co ...]
 *
 * Words are made per encoding around the opcodes of the table, a share of them purely random; and
 * every instruction of the code objects named. LLVM is loaded at run time (the test is skipped
 * without it) and runs in a child, for it crashes on some words that are no instructions: the
 * child's successor goes on behind the word that killed it.
 */
#include "code_object.h"
#include "insn.h"
#include "llvm_judge.h"
#include "random_words.h"
#include "tap.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* gfx1153 is not among them: LLVM 19 does not know that name. Nor does it know gfx950, for which
 * LLVM 22 is the judge, as it is for gfx12. */
static const struct target targets[] = {
    {"gfx90a", "", EMU_GFX90A, 64, true, false},
    {"gfx942", "", EMU_GFX942, 64, true, false},
    {"gfx950", "", EMU_GFX950, 64, true, true},
    {"gfx1100", "", EMU_GFX11, 32, true, false},
    {"gfx1151", "", EMU_GFX11_5, 32, true, false},
    {"gfx1100", "+wavefrontsize64", EMU_GFX11, 64, false, false},
    {"gfx1151", "+wavefrontsize64", EMU_GFX11_5, 64, false, false},
    {"gfx1101", "", EMU_GFX11, 32, false, false},
    {"gfx1102", "", EMU_GFX11, 32, false, false},
    {"gfx1103", "", EMU_GFX11, 32, false, false},
    {"gfx1150", "", EMU_GFX11_5, 32, false, false},
    {"gfx1152", "", EMU_GFX11_5, 32, false, false},
    {"gfx1201", "", EMU_GFX12, 32, true, true},
    {"gfx1201", "+wavefrontsize64", EMU_GFX12, 64, false, true},
    {"gfx1200", "", EMU_GFX12, 32, false, true},
};

/* What child and parent share: the child counts, the parent sees where it died. */
struct progress {
    uint64_t at, decoded, refused, crashed, differ;
    char seen[8192]; /* rows seen, one byte each */
};

static struct progress *progress;
static bool verbose;

/* Of instructions of code objects, of which most come again and again: each hash of one, with its
 * target, that has been compared. Shared with the child. */
enum { KNOWN = 1 << 20 };
static uint64_t *known;

static bool is_known(const struct target *t, const uint32_t *w, unsigned size)
{
    uint64_t hash = (uint64_t)(t - targets) + 1;

    for (unsigned i = 0; i < size / 4; i++)
        hash = (hash ^ w[i]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
    if (known[hash % KNOWN] == hash)
        return true;
    known[hash % KNOWN] = hash;
    return false;
}

/* ---- comparison ---- */

/* 4, 8, 12 or 16 bytes from the heap, so that AddressSanitizer sees a read beyond them. */
static uint8_t *exact_buffer(unsigned dwords)
{
    static uint8_t *buffers[5];

    if (!buffers[dwords] && !(buffers[dwords] = malloc(4 * dwords)))
        _exit(4);
    return buffers[dwords];
}

/* SDWA with a reserved selector: LLVM's behaviour is undefined there (it crashes, or prints the
 * selector of an earlier word), so it gives no verdict. We refuse them. */
static bool reserved_sdwa(const struct target *t, const uint32_t *w, unsigned dwords)
{
    bool vopc = w[0] >> 25 == 0x3e, vop1 = w[0] >> 25 == 0x3f;

    if (t->family >= EMU_GFX11 || w[0] >> 31 || (w[0] & 0x1ff) != 0xf9 || dwords < 2)
        return false;
    return (w[1] >> 16 & 7) == 7 || (!vop1 && (w[1] >> 24 & 7) == 7) ||
           (!vopc && ((w[1] >> 8 & 7) == 7 || (w[1] >> 11 & 3) == 3));
}

/* Ray tracing with separate registers of which three would reach beyond v255: LLVM dies. We refuse
 * it. */
static bool ray_beyond(const struct target *t, const uint32_t *w, unsigned dwords)
{
    unsigned op = w[0] >> 18 & 0xff, vectors = w[0] >> 16 & 1 ? 2 : 3;
    bool beyond = false;

    if (t->family < EMU_GFX11 || dwords < 3 || w[0] >> 26 != 0x3c || (op != 0x19 && op != 0x1a))
        return false;
    for (unsigned i = 0; i < vectors; i++)
        beyond |= (w[2] >> (8 + 8 * i) & 0xff) > 253;
    return w[0] & 1 && beyond;
}

/*
 * Products of floats whose number of bits no format has, of which LLVM's opinion is undefined; and
 * with scales, of 4 or 6 registers so near the last one that 8 would not fit, which it refuses.
 */
static bool reserved_format(const struct emu_insn *in)
{
    if (!strstr(emu_rows[in->row].name, "f8f6f4"))
        return false;
    return in->cbsz > 4 || in->blgp > 4 ||
           (in->size == 16 && (in->src[0].reg > 248 || in->src[1].reg > 248));
}

static void compare(const struct target *t, struct judges *j, const uint32_t *w, unsigned dwords)
{
    uint8_t *bytes = exact_buffer(dwords);
    char theirs[512] = "", ours[512] = "";
    struct emu_insn in;
    unsigned mine;
    size_t other;
    bool same;

    memcpy(bytes, w, 4 * dwords);
    mine = emu_decode(t->family, t->wave, bytes, 4 * dwords, 0, &in);
    if (reserved_sdwa(t, w, dwords) || ray_beyond(t, w, dwords)) {
        progress->crashed++;
        progress->differ += mine && ray_beyond(t, w, dwords);
        return;
    }
    if (mine && reserved_format(&in)) {
        progress->crashed++;
        return;
    }
    if (mine)
        emu_disasm(&in, ours, sizeof ours);
    normalise(ours);
    other = judge(j, bytes, dwords, ours, theirs);
    if (j->gfx12 && mine && in.enc == EMU_MIMG)
        theirs[strcspn(theirs, " ")] = 0, other = other ? other : mine,
                               *theirs || strcpy(theirs, ours);
    same = mine == other && !strcmp(ours, theirs);
    if (!same && doubtful) {
        progress->crashed++;
        return;
    }
    if (mine && same)
        progress->decoded++,
            progress->seen[in.row] = progress->seen[in.enc == EMU_VOPD ? in.row_y : in.row] = 1;
    if (!mine && same)
        progress->refused++;
    if (!same && (verbose || progress->differ < 5))
        printf("# %s %08x %08x %08x: ours %u \"%s\"  llvm %zu \"%s\"\n", t->mcpu, w[0], w[1], w[2],
               mine, ours, other, theirs);
    progress->differ += !same;
}

/* LLVM dies of some words: by a signal also under the sanitizers, whose own findings are an exit.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";
}

/* Words of one run: made by seed, or the instructions of a code object. */
struct input {
    uint64_t seed, count;
    const uint8_t *text; /* NULL: random */
    size_t size;
};

static void run_child(const struct target *t, const struct input *input)
{
    struct judges j = {
        t->newer, t->family >= EMU_GFX12, make_judge(t->newer, t->mcpu, t->features), {NULL, NULL}};
    uint32_t w[4];

    if (j.gfx12)
        j.base[0] = make_judge(0, t->mcpu, t->features);
    if (!j.dc || (j.gfx12 && !j.base[0]))
        _exit(3);
    if (input->text) {
        while (progress->at + 4 <= input->size) {
            size_t left = input->size - progress->at;
            struct emu_insn in;
            unsigned n = left < 16 ? (unsigned)left / 4 : 4, size;

            memset(w, 0, sizeof w);
            memcpy(w, input->text + progress->at, 4 * n);
            size = emu_decode(t->family, t->wave, (const uint8_t *)w, 4 * n, 0, &in);
            if (size && is_known(t, w, size))
                progress->decoded++;
            else
                compare(t, &j, w, n);
            progress->at += size ? size : 4;
        }
        _exit(0);
    }
    for (; progress->at < input->count; progress->at++) {
        /* A state of its own for each word: a successor starts in the middle. */
        rng = (input->seed * UINT64_C(0xd1342543de82ef95) ^ progress->at) *
                  UINT64_C(0x9e3779b97f4a7c15) +
              1;
        random32();
        const unsigned most = make_words(t, w);
        compare(t, &j, w, progress->at % 16 ? most : 1 + progress->at / 16 % most);
    }
    _exit(0);
}

static void run(const struct target *t, const struct input *input, const char *what)
{
    unsigned rows = 0;

    memset(progress, 0, sizeof *progress);
    if (!llvms[t->newer].run) {
        tap_diag("no libLLVM-%u: %s not compared", llvms[t->newer].release, t->mcpu);
        return;
    }
    for (;;) {
        int status = 0;
        pid_t pid;

        fflush(stdout);
        pid = fork();
        if (pid == 0)
            run_child(t, input);
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            ok(0, "%s %s: fork", t->mcpu, what);
            return;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status)) { /* no decoder, or a sanitizer's finding */
            ok(0, "%s %s: ended early, at %llu", t->mcpu, what, (unsigned long long)progress->at);
            return;
        }
        if (WIFEXITED(status))
            break;
        if (++progress->crashed > 10000 + input->count / 50) { /* of gfx950's, one in 130 */
            ok(0, "%s %s: LLVM dies on every word", t->mcpu, what);
            return;
        }
        progress->at += input->text ? 4 : 1;
    }
    for (unsigned i = 0; i < emu_row_count; i++)
        rows += progress->seen[i];
    ok(progress->differ == 0 && progress->decoded > 0,
       "%s%s %s: %llu decoded alike (%u rows), %llu refused alike, %llu differ, %llu without "
       "verdict",
       t->mcpu, t->features, what, (unsigned long long)progress->decoded, rows,
       (unsigned long long)progress->refused, (unsigned long long)progress->differ,
       (unsigned long long)progress->crashed);
}

/* So many words that each row of the table must have come up. */
enum { WORDS_FOR_ALL_ROWS = 1000000 };

static void check_all_seen(const struct target *t)
{
    unsigned never = 0;

    for (unsigned i = 0; i < emu_row_count; i++)
        if (!progress->seen[i] && emu_rows[i].op[t->family] >= 0) {
            tap_diag("%s: never made: %s", t->mcpu, emu_rows[i].name);
            never++;
        }
    ok(!never, "%s: the words contained every instruction of the table", t->mcpu);
}

/* v_nop before what may be a control word of DPP or SDWA: of each, every bit by itself, and some. */
static void run_escapes(const struct target *t)
{
    static const uint32_t escapes[] = {0x7e0000f9, 0x7e0000fa, 0x7e0000e9, 0x7e0000ea};
    static const uint32_t some[] = {0, 0x1404, 0x1f00, 0x40401fff, 0xff0000e4, 0xff08114f};
    enum { SOME = sizeof some / sizeof *some, ALL = 4 * (32 + SOME) };
    uint32_t words[ALL][2];
    unsigned n = 0;

    for (unsigned e = 0; e < 4; e++)
        for (unsigned i = 0; i < 32 + SOME; i++, n++) {
            words[n][0] = escapes[e];
            words[n][1] = i < 32 ? UINT32_C(1) << i : some[i - 32];
        }
    run(t, &(struct input){0, 0, (const uint8_t *)words, sizeof words}, "v_nop with DPP or SDWA");
}

static void run_object(const char *path)
{
    char err[256] = "", what[300];
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    uint8_t *data = NULL;
    struct emu_object *o = NULL;
    FILE *f = fopen(path, "rb");
    long size = 0;

    if (f && !fseek(f, 0, SEEK_END) && (size = ftell(f)) > 0 && (data = malloc((size_t)size))) {
        rewind(f);
        if (fread(data, 1, (size_t)size, f) == (size_t)size)
            o = emu_object_open(data, (size_t)size, err, sizeof err);
    }
    if (f)
        fclose(f);
    if (!ok(o != NULL, "%s opens %s", base, err)) {
        free(data);
        return;
    }
    for (size_t i = 0; i < o->symbols.count; i++) {
        const struct emu_symbol *s = &o->symbols.symbol[i];
        const struct target *t = NULL;
        uint64_t off;

        for (unsigned k = 0; k < sizeof targets / sizeof targets[0]; k++)
            if (!t && !strcmp(targets[k].mcpu, o->target.processor))
                t = &targets[k];
        if (s->type != 2 || !t || !emu_object_offset(o, s->value, s->size, &off))
            continue;
        snprintf(what, sizeof what, "%s %s", base, s->name);
        run(t, &(struct input){0, 0, o->image + off, s->size}, what);
    }
    emu_object_close(o);
    free(data);
}

static void *shared(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
    uint64_t words = TAP_SANITIZED ? 60000 : 1000000, seed = 20240917;
    const char *only = NULL;
    int c;

    while ((c = getopt(argc, argv, "n:s:m:v")) != -1) {
        if (c == 'n')
            words = strtoull(optarg, NULL, 0);
        else if (c == 's')
            seed = strtoull(optarg, NULL, 0);
        else if (c == 'm')
            only = optarg;
        else if (c == 'v')
            verbose = true;
        else
            return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* children print, and end without flushing */
    for (unsigned i = 0; i < 2; i++)
        load_llvm(&llvms[i]);
    if (!llvms[0].run) {
        puts("1..0 # SKIP no libLLVM-19 (package libllvm19): decoder not compared with LLVM");
        return 0;
    }
    progress = shared(sizeof *progress);
    known = shared(KNOWN * sizeof *known);
    if (progress == MAP_FAILED || known == MAP_FAILED) {
        puts("Bail out! no shared memory");
        return 1;
    }
    tap_diag("seed %llu, %llu words a target", (unsigned long long)seed, (unsigned long long)words);
    for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const struct target *t = &targets[i];

        if (only && strcmp(only, t->mcpu))
            continue;
        run(t,
            &(struct input){seed + i * UINT64_C(1000000007), t->whole ? words : words / 20, NULL,
                            0},
            "random words");
        if (t->whole && words >= WORDS_FOR_ALL_ROWS && progress->at)
            check_all_seen(t);
        if (t->whole)
            run_escapes(t);
    }
    for (int i = optind; i < argc; i++)
        run_object(argv[i]);
    return tap_done();
}
