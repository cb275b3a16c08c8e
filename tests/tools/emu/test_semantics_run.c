/*
 * Runs cases: assembles and links them, makes states, launches, compares with the oracle.
 */
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_semantics_run.h"
#include "tests/tap.h"

enum { CHUNK = 400, SHOWN = 4 };

static uint64_t seed = 0x0ac1e5eed;

uint64_t sem_random(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(2685821657736338717);
}

struct sem_case *sem_add(struct sem_list *l)
{
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 256;
        l->c = realloc(l->c, l->room * sizeof *l->c);
        if (!l->c)
            abort();
    }
    memset(&l->c[l->count], 0, sizeof *l->c);
    return &l->c[l->count++];
}

void sem_free(struct sem_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->c[i].long_text);
    free(l->c);
    *l = (struct sem_list){0};
}

void sem_run_valu(const struct sem_case *c, const struct oracle_wave *before,
                  struct oracle_wave *after, struct sem_memory *m)
{
    (void)m;
    oracle_run_valu(&c->insn, before, after);
}

/* ---- values */

static uint64_t float_value(const struct sf_format *f, bool numbers)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    uint64_t emax = (UINT64_C(1) << f->exp_bits) - 1, one = emax >> 1, bits;
    uint64_t r = sem_random(), frac_mask = (UINT64_C(1) << f->frac_bits) - 1;
    uint64_t sign = (r >> 60 & 1) << (width - 1);

    switch (r % 16) {
    case 0: /* zeros, the smallest and largest of each kind, one, infinity */
    case 1: {
        const uint64_t special[] = {0,
                                    1,
                                    frac_mask,
                                    frac_mask + 1,
                                    frac_mask + 2,
                                    (emax << f->frac_bits) - 1,
                                    emax << f->frac_bits,
                                    one << f->frac_bits,
                                    (one - 1) << f->frac_bits,
                                    (one + 1) << f->frac_bits,
                                    (one << f->frac_bits) + 1,
                                    (one << f->frac_bits) - 1};

        return special[(r >> 8) % 12] | sign;
    }
    case 2: /* NaN, quiet and signalling */
        if (!numbers)
            return sign | emax << f->frac_bits | (sem_random() & frac_mask) | 1;
        break;
    case 3: /* denormal */
        return sign | (sem_random() & frac_mask);
    case 4: /* small integers and halves */
    case 5: {
        struct sf_env env = {SF_NEAREST, true, true};

        return sf_pack(f, sf_scale(sf_from_int((int64_t)(r >> 8 & 63) - 32), -(int)(r >> 20 & 3)),
                       &env);
    }
    case 6: /* any exponent */
    case 7:
        bits = sem_random() & (frac_mask | emax << f->frac_bits);
        if (bits >> f->frac_bits == emax)
            bits = one << f->frac_bits;
        return bits | sign;
    default: /* near one, all fractions */
        break;
    }
    return sign | (one - 6 + (r >> 8) % 12) << f->frac_bits | (sem_random() & frac_mask);
}

static uint64_t moderate(const struct sf_format *f)
{
    uint64_t one = (UINT64_C(1) << (f->exp_bits - 1)) - 1, frac = (UINT64_C(1) << f->frac_bits) - 1;
    uint64_t r = sem_random();

    return (r & 1) << (f->exp_bits + f->frac_bits) | (one - 4 + (r >> 8) % 8) << f->frac_bits |
           (sem_random() & frac);
}

static uint64_t int_value(unsigned bits)
{
    uint64_t r = sem_random(), mask = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    uint64_t half = UINT64_C(1) << (bits - 1);
    const uint64_t special[] = {0, 1, 2, mask, mask - 1, half, half - 1, half + 1, 31, 32, 33, 63};

    switch (r % 6) {
    case 0:
        return special[(r >> 8) % 12] & mask;
    case 1:
        return r >> 8 & 63;
    case 2:
        return (uint64_t)-(int64_t)(r >> 8 & 63) & mask;
    case 3:
        return (sem_random() & sem_random() & sem_random()) & mask;
    default:
        return sem_random() & mask;
    }
}

uint64_t sem_value(char type, bool numbers)
{
    const struct sf_format *f = oracle_format(type);
    uint64_t v;

    switch (type) {
    case 't': /* turns, within +-256 */
    case 'T':
        do
            v = float_value(f, numbers);
        while (sf_unpack(f, v).cls == SF_IS_FINITE &&
               sf_compare(sf_abs(sf_unpack(f, v)), sf_from_int(type == 't' ? 256 : 200)) > 0);
        return v;
    case 'Y':
        return float_value(&sf_f16, numbers) | float_value(&sf_f16, numbers) << 16;
    case 'n': /* f32, f64, two f16, two bf16 of moderate size: sums neither overflow nor underflow
               */
        return moderate(&sf_f32);
    case 'N':
        return moderate(&sf_f64);
    case 'H':
        return moderate(&sf_f16) | moderate(&sf_f16) << 16;
    case 'G':
        return moderate(&sf_bf16) | moderate(&sf_bf16) << 16;
    case 'E': /* two bf16 */
        return float_value(&sf_bf16, numbers) | float_value(&sf_bf16, numbers) << 16;
    case 'y':
        return int_value(16) | int_value(16) << 16;
    default:
        break;
    }
    if (f)
        v = float_value(f, numbers);
    else
        v = int_value(oracle_bits(type) == 1   ? 32
                      : oracle_bits(type) > 64 ? 64
                                               : oracle_bits(type));
    if (oracle_bits(type) == 16) /* something in the other half too */
        v |= (f ? float_value(f, numbers) : int_value(16)) << 16;
    return v;
}

/* MODE and EXEC of a group: the usual ones first, then each rounding and denormal mode. */
static void group_controls(const struct sem_case *c, struct oracle_wave *w, unsigned g)
{
    static const uint32_t modes[SEM_GROUPS] = {
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT,
        MODE_DEFAULT | 0x5,                 /* up */
        MODE_DEFAULT | 0xa,                 /* down */
        MODE_DEFAULT | 0xf,                 /* to zero */
        MODE_DX10_CLAMP | MODE_IEEE,        /* denormals flushed */
        MODE_DX10_CLAMP | MODE_IEEE | 0x50, /* denormals in */
        MODE_DX10_CLAMP | MODE_IEEE | 0xa0, /* denormals out */
        MODE_DX10_CLAMP | 0xf0,             /* not IEEE */
        0,                                  /* output modifiers work */
        MODE_DX10_CLAMP,
        MODE_IEEE | 0xf0 | 0x8,
        MODE_DEFAULT,
        MODE_DEFAULT};
    uint64_t all = oracle_machines[w->target].lanes == 64 ? ~UINT64_C(0) : 0xffffffff;

    w->mode = modes[g];
    w->exec = all;
    if (g % 2 && !c->full_exec)
        w->exec &= sem_random();
    if (g == 13 && !c->full_exec)
        w->exec = UINT64_C(1) << sem_random() % oracle_machines[w->target].lanes;
    if (g == 15 && !c->full_exec)
        w->exec = 0;
}

static void make_state(const struct sem_case *c, enum oracle_target t, struct oracle_wave *w,
                       unsigned g)
{
    bool wide = oracle_machines[t].lanes == 64;

    memset(w, 0, sizeof *w);
    w->target = t;
    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        for (unsigned l = 0; l < oracle_machines[t].lanes; l++) {
            char type = c->vtype[r] ? c->vtype[r] : 'b';
            uint64_t v = sem_value(type, c->numbers);

            w->v[r][l] = (uint32_t)v;
            if (oracle_bits(type) > 32 && r + 1 < ORACLE_VGPRS)
                w->v[r + 1][l] = (uint32_t)(v >> 32);
        }
    for (unsigned r = 0; r + 1 < ORACLE_VGPRS; r++) /* high halves belong to the pair */
        if (c->vtype[r] && oracle_bits(c->vtype[r]) > 32)
            for (unsigned l = 0; l < oracle_machines[t].lanes; l++) {
                uint64_t v = sem_value(c->vtype[r], c->numbers);

                w->v[r][l] = (uint32_t)v;
                w->v[r + 1][l] = (uint32_t)(v >> 32);
            }
    for (unsigned r = 16; r < 64; r++)
        w->s[r] = (uint32_t)sem_value(c->stype[r] ? c->stype[r] : 'b', c->numbers);
    for (unsigned r = 16; r < 63; r++)
        if (c->stype[r] && oracle_bits(c->stype[r]) > 32) {
            uint64_t v = sem_value(c->stype[r], c->numbers);

            w->s[r] = (uint32_t)v;
            w->s[r + 1] = (uint32_t)(v >> 32);
        }
    w->vcc = sem_random() & (wide ? ~UINT64_C(0) : 0xffffffff);
    w->scc = sem_random() & 1;
    w->m0 = (uint32_t)sem_random();
    group_controls(c, w, g);
}

/* ---- building */

static char directory[] = "/tmp/aothip-semantics-XXXXXX";

static void clean_up(void)
{
    char path[128];

    for (const char *const *n = (const char *const[]){"s", "o", "co", "err", NULL}; *n; n++) {
        snprintf(path, sizeof path, "%s/%s", directory, *n);
        unlink(path);
    }
    rmdir(directory);
}

static const char *tool(const char *variable, const char *otherwise)
{
    const char *v = getenv(variable);

    return v && *v ? v : otherwise;
}

static void *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *p;

    if (!f || fstat(fileno(f), &st)) {
        if (f)
            fclose(f);
        return NULL;
    }
    p = malloc((size_t)st.st_size + 1);
    if (p)
        *size = fread(p, 1, (size_t)st.st_size, f);
    fclose(f);
    if (p)
        p[*size] = 0;
    return p;
}

/* The code object of some cases, or null after telling why. */
static void *build(const struct oracle_machine *m, const struct sem_case *c, size_t count)
{
    char path[128], command[768];
    size_t size = 0;
    FILE *f;
    char *text;

    snprintf(path, sizeof path, "%s/s", directory);
    f = fopen(path, "w");
    if (!f)
        return NULL;
    sem_write_text(f, m, c, count);
    fclose(f);
    snprintf(command, sizeof command,
             "%s -triple=amdgcn-amd-amdhsa -mcpu=%s %s%s -filetype=obj -o %s/o %s/s 2>%s/err && "
             "%s -shared -o %s/co %s/o 2>>%s/err",
             tool("LLVM_MC", "llvm-mc-19"), m->gpu, *m->attributes ? "-mattr=" : "", m->attributes,
             directory, directory, directory, tool("LD_LLD", "ld.lld-19"), directory, directory,
             directory);
    if (system(command)) {
        snprintf(path, sizeof path, "%s/err", directory);
        text = slurp(path, &size);
        for (char *line = text ? strtok(text, "\n") : NULL, *end = line; line && end;
             line = strtok(NULL, "\n"))
            tap_diag("%s", line);
        free(text);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/co", directory);
    return slurp(path, &size);
}

static uint8_t *states_in, *states_out, *windows;
static void *device_in, *device_out, *device_windows;

void sem_begin(const char *test)
{
    char command[128];

    /* the emulator's devices, in the order of enum oracle_target up to its wave64 twin */
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_THREADS", "1", 0); /* launches are tiny */
    tap_diag("%s, seed %llx", test, (unsigned long long)seed);
    snprintf(command, sizeof command,
             "%s --version >/dev/null 2>&1 && %s --version >/dev/null 2>&1",
             tool("LLVM_MC", "llvm-mc-19"), tool("LD_LLD", "ld.lld-19"));
    if (system(command))
        tap_skip_all("llvm-mc or ld.lld (version 19) is missing");
    if (!mkdtemp(directory)) {
        ok(0, "a temporary directory");
        exit(tap_done());
    }
    atexit(clean_up);
    states_in = malloc(SEM_GROUPS * SEM_STATE_BYTES);
    states_out = malloc(SEM_GROUPS * SEM_STATE_BYTES);
    windows = malloc(SEM_GROUPS * SEM_WINDOW);
    if (!states_in || !states_out || !windows || hipInit(0) != hipSuccess) {
        ok(0, "memory and the emulator");
        exit(tap_done());
    }
}

/* ---- running */

static void to_memory(const struct oracle_wave *w, const struct sem_memory *m, uint8_t *at)
{
    uint32_t *words = (uint32_t *)(void *)(at + SEM_SCALARS);

    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        memcpy(at + r * 256, w->v[r], 256);
    memcpy(words, w->s + 16, 48 * 4);
    words[48] = (uint32_t)w->vcc;
    words[49] = (uint32_t)(w->vcc >> 32);
    words[50] = (uint32_t)w->exec;
    words[51] = (uint32_t)(w->exec >> 32);
    words[52] = w->scc;
    words[53] = w->m0;
    words[54] = w->mode;
    words[55] = 0;
    memcpy(at + SEM_LDS_AT, m->lds, SEM_LDS);
}

static const struct sem_case *comparing;
static unsigned shown;

static unsigned window_size(const struct sem_case *c)
{
    return c->matrix ? SEM_WINDOW : SEM_MEMORY;
}

static bool differs(const char *what, unsigned index, unsigned lane, uint32_t got, uint32_t want,
                    uint32_t alt, uint32_t mask, const struct oracle_wave *b)
{
    if (!((got ^ want) & mask) || !((got ^ alt) & mask))
        return false;
    if (shown < SHOWN) {
        tap_diag("%s: %s%u lane %u: got %08x, want %08x%s mask %08x (mode %03x, exec %016llx)",
                 comparing->text, what, index, lane, got, want, want == alt ? "" : " or another",
                 mask, b->mode, (unsigned long long)b->exec);
        if (*what == 'v' || *what == 'c') {
            char line[400];
            int n = 0;

            for (unsigned r = 0; r < 12; r++)
                n += snprintf(line + n, sizeof line - (size_t)n, " v%u=%08x", r, b->v[r][lane]);
            tap_diag("    before:%s", line);
        }
    }
    return true;
}

/* Compares one group; returns true when all agrees. */
static bool compare(const struct oracle_wave *b, const struct oracle_wave *w,
                    const struct sem_memory *m, const uint8_t *at, const uint8_t *window)
{
    const uint32_t *words = (const uint32_t *)(const void *)(at + SEM_SCALARS);
    unsigned bad = 0;

    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        for (unsigned l = 0; l < oracle_machines[w->target].lanes && bad < 2; l++) {
            uint32_t got;

            memcpy(&got, at + r * 256 + l * 4, 4);
            bad += differs("v", r, l, got, w->v[r][l], w->v_alt[r][l], w->v_mask[r][l], b);
        }
    for (unsigned r = 16; r < 64 && bad < 4; r++)
        bad += differs("s", r, 0, words[r - 16], w->s[r], w->s_alt[r], w->s_mask[r], b);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t want = (uint32_t)(w->vcc >> 32 * i), mask = (uint32_t)(w->vcc_mask >> 32 * i);
        uint32_t e = (uint32_t)(w->exec >> 32 * i), wrong = (words[48 + i] ^ want) & mask;
        unsigned l = 32 * i;

        while (wrong && !(wrong & 1)) {
            wrong >>= 1;
            l++;
        }
        bad += differs("carry/vcc", i, l, words[48 + i], want, want, mask, b);
        bad += differs("exec", i, 0, words[50 + i], e, e, ~0u, b);
    }
    bad += differs("scc", 0, 0, words[52], w->scc, w->scc, w->scc_mask, b);
    bad += differs("m", 0, 0, words[53], w->m0, w->m0, ~0u, b);
    if (comparing->memory) {
        for (unsigned i = 0; i < SEM_LDS && bad < 4; i += 4) {
            uint32_t got, want;

            memcpy(&got, at + SEM_LDS_AT + i, 4);
            memcpy(&want, m->lds + i, 4);
            bad += differs("lds+", i, 0, got, want, want, ~0u, b);
        }
        for (unsigned i = 0; i < window_size(comparing) && bad < 4; i += 4) {
            uint32_t got, want;

            memcpy(&got, window + i, 4);
            memcpy(&want, m->window + i, 4);
            bad += differs("memory+", i, 0, got, want, want, ~0u, b);
        }
    }
    shown += bad != 0;
    return !bad;
}

static bool launch(hipFunction_t fn, unsigned lanes, bool memory)
{
    void *arguments[2] = {device_in, device_out};
    size_t size = sizeof arguments;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, HIP_LAUNCH_PARAM_END};
    hipError_t e;

    if (hipMemcpy(device_in, states_in, SEM_GROUPS * SEM_STATE_BYTES, hipMemcpyHostToDevice) ||
        hipMemset(device_out, 0, SEM_GROUPS * SEM_STATE_BYTES) ||
        (memory &&
         hipMemcpy(device_windows, windows, SEM_GROUPS * SEM_WINDOW, hipMemcpyHostToDevice)))
        return false;
    e = hipModuleLaunchKernel(fn, SEM_GROUPS, 1, 1, lanes, 1, 1, 0, NULL, NULL, extra);
    if (!e)
        e = hipDeviceSynchronize();
    if (!e)
        e = hipMemcpy(states_out, device_out, SEM_GROUPS * SEM_STATE_BYTES, hipMemcpyDeviceToHost);
    if (!e && memory)
        e = hipMemcpy(windows, device_windows, SEM_GROUPS * SEM_WINDOW, hipMemcpyDeviceToHost);
    if (e && shown++ < SHOWN)
        tap_diag("%s: launch failed: %s", comparing->text, hipGetErrorString(e));
    return !e;
}

static void fill_memory(struct sem_memory *m, char type, bool numbers)
{
    unsigned step = oracle_bits(type) > 32 ? 8 : 4;

    for (unsigned i = 0; i < SEM_MEMORY; i += step) {
        uint64_t a = sem_value(type, numbers), b = sem_value(type, numbers);

        memcpy(m->window + i, &a, step);
        memcpy(m->lds + i, &b, step);
    }
}

static bool run_case(const struct sem_case *c, enum oracle_target t, hipFunction_t fn)
{
    static struct oracle_wave before[SEM_GROUPS], after;
    static struct sem_memory memory[SEM_GROUPS];
    bool good = true;

    comparing = c;
    for (unsigned g = 0; g < SEM_GROUPS; g++) {
        make_state(c, t, &before[g], g);
        memory[g].address = (uint64_t)(uintptr_t)device_windows + g * SEM_WINDOW;
        if (c->memory)
            fill_memory(&memory[g], c->arg[5] ? (char)c->arg[5] : 'b', c->numbers);
        if (c->prepare)
            c->prepare(c, &before[g], &memory[g]);
        to_memory(&before[g], &memory[g], states_in + g * SEM_STATE_BYTES);
        memcpy(windows + g * SEM_WINDOW, memory[g].window, window_size(c));
    }
    if (!launch(fn, oracle_machines[t].lanes, c->memory))
        return false;
    for (unsigned g = 0; g < SEM_GROUPS && good; g++) {
        c->run(c, &before[g], &after, &memory[g]);
        good = compare(&before[g], &after, &memory[g], states_out + g * SEM_STATE_BYTES,
                       windows + g * SEM_WINDOW);
    }
    return good;
}

static bool allocate(enum oracle_target t)
{
    int device = t == T_GFX1100_W64 ? T_GFX1100 : (int)t;

    return hipSetDevice(device) == hipSuccess &&
           hipMalloc(&device_in, SEM_GROUPS * SEM_STATE_BYTES) == hipSuccess &&
           hipMalloc(&device_out, SEM_GROUPS * SEM_STATE_BYTES) == hipSuccess &&
           hipMalloc(&device_windows, SEM_GROUPS * SEM_WINDOW) == hipSuccess;
}

void sem_run(enum oracle_target t, struct sem_list *l)
{
    const struct oracle_machine *m = &oracle_machines[t];
    const char *only = getenv("SEMANTICS_ONLY");
    size_t good = 0, of_group = 0;

    if (!allocate(t)) {
        ok(0, "%s: device and memory", m->name);
        return;
    }
    for (size_t first = 0; first < l->count; first += CHUNK) {
        size_t n = l->count - first < CHUNK ? l->count - first : CHUNK;
        void *image = build(m, l->c + first, n);
        hipModule_t module = NULL;

        if (!ok(image != NULL, "%s: %zu kernels assemble", m->name, n))
            continue;
        if (!ok(hipModuleLoadData(&module, image) == hipSuccess, "%s: they load", m->name)) {
            free(image);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            const struct sem_case *c = &l->c[first + i];
            hipFunction_t fn;
            char name[16];

            if (!only || strstr(c->text, only)) {
                snprintf(name, sizeof name, "k%zu", i);
                good += hipModuleGetFunction(&fn, module, name) == hipSuccess && run_case(c, t, fn);
                of_group++;
            }
            if (first + i + 1 == l->count || strcmp(c->group, c[1].group)) {
                if (of_group)
                    ok(good == of_group, "%s: %s (%zu forms)", m->name, c->group, of_group);
                good = of_group = 0;
                shown = 0;
            }
        }
        hipModuleUnload(module);
        free(image);
    }
    hipFree(device_in);
    hipFree(device_out);
    hipFree(device_windows);
}

int sem_done(void)
{
    return tap_done();
}
