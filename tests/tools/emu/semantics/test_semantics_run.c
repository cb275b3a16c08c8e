/*
 * Runs cases: launches their kernels from many states and compares with the oracle.
 *
 * A quarter of each kernel's workgroups runs in strict mode, the others in plain mode, which has
 * code of its own for full EXEC. Which quarter turns from kernel to kernel, so that every MODE
 * meets both. AOTHIP_EMU_MODE, where set, is the mode of all.
 */
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "test_semantics_run.h"
#include "tap.h"

enum { CHUNK = 48, SHOWN = 4, QUICK_ONE_IN = 8, TWIN_ONE_IN = 32 };

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

static void free_case(struct sem_case *c)
{
    free(c->long_text);
    free(c->own_row);
}

void sem_free(struct sem_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free_case(&l->c[i]);
    free(l->c);
    *l = (struct sem_list){0};
}

void sem_run_valu(const struct sem_case *c, const struct oracle_wave *before,
                  struct oracle_wave *after, struct sem_memory *m)
{
    (void)m;
    oracle_run_valu(&c->insn, before, after);
}

const char *emu_last_fault(void);
void emu_set_strict(bool on);

static bool mixed;
static uint8_t *states_in, *states_out, *windows;
static void *device_in, *device_out, *device_windows;

void sem_begin(const char *test)
{
    /* the emulator's devices, in the order of enum oracle_target up to its wave64 twin */
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx950,gfx1100,gfx1151,gfx1201", 1);
    setenv("AOTHIP_EMU_THREADS", "1", 0); /* launches are tiny */
    mixed = !getenv("AOTHIP_EMU_MODE");
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    tap_diag("%s, seed %llx", test, (unsigned long long)sem_seed());
    if (!sem_build_begin()) {
        ok(0, "a temporary directory");
        exit(tap_done());
    }
#ifdef __GLIBC__
    mallopt(M_TOP_PAD, 64 << 20); /* memory of one launch stays for the next: a fifth of the time */
#endif
    states_in = malloc(SEM_GROUPS * SEM_STATE_BYTES);
    states_out = malloc(SEM_GROUPS * SEM_STATE_BYTES);
    windows = malloc(SEM_GROUPS * SEM_WINDOW);
    if (!states_in || !states_out || !windows || hipInit(0) != hipSuccess) {
        ok(0, "memory and the emulator");
        exit(tap_done());
    }
}

/* ---- running */

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

/* Runs workgroups first to first + n - 1 of a case. */
static bool launch(hipFunction_t fn, unsigned lanes, bool memory, unsigned first, unsigned n)
{
    uint8_t *in = (uint8_t *)device_in + first * SEM_STATE_BYTES;
    uint8_t *out = (uint8_t *)device_out + first * SEM_STATE_BYTES;
    uint8_t *window = (uint8_t *)device_windows + first * SEM_WINDOW;
    void *arguments[2] = {in, out};
    size_t size = sizeof arguments, states = n * SEM_STATE_BYTES;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                     &size, HIP_LAUNCH_PARAM_END};
    hipError_t e;

    if (hipMemcpy(in, states_in + first * SEM_STATE_BYTES, states, hipMemcpyHostToDevice) ||
        hipMemset(out, 0, states) ||
        (memory &&
         hipMemcpy(window, windows + first * SEM_WINDOW, n * SEM_WINDOW, hipMemcpyHostToDevice)))
        return false;
    e = hipModuleLaunchKernel(fn, n, 1, 1, lanes, 1, 1, 0, NULL, NULL, extra);
    if (!e)
        e = hipDeviceSynchronize();
    if (!e)
        e = hipMemcpy(states_out + first * SEM_STATE_BYTES, out, states, hipMemcpyDeviceToHost);
    if (!e && memory)
        e = hipMemcpy(windows + first * SEM_WINDOW, window, n * SEM_WINDOW, hipMemcpyDeviceToHost);
    if (e && shown++ < SHOWN)
        tap_diag("%s: launch failed: %s", comparing->text, hipGetErrorString(e));
    return !e;
}

static bool launch_all(hipFunction_t fn, unsigned lanes, bool memory, unsigned groups)
{
    unsigned strict = mixed ? groups / 4 : 0;
    bool good = true;

    if (strict)
        good = launch(fn, lanes, memory, 0, strict);
    if (mixed)
        emu_set_strict(false);
    good &= launch(fn, lanes, memory, strict, groups - strict);
    if (mixed)
        emu_set_strict(true);
    return good;
}

/* Products, of which each element is a sum of many, from half as many states at a time. */
static bool run_case(const struct sem_case *c, enum oracle_target t, hipFunction_t fn)
{
    const unsigned groups = c->matrix ? SEM_GROUPS / 2 : SEM_GROUPS;
    static struct oracle_wave before[SEM_GROUPS], after;
    static struct sem_memory memory[SEM_GROUPS];
    static unsigned turn;
    bool good = true;

    comparing = c;
    turn++;
    for (unsigned g = 0; g < groups; g++) {
        sem_make_state(c, t, &before[g], (g + turn * 4) % SEM_GROUPS);
        memory[g].address = (uint64_t)(uintptr_t)device_windows + g * SEM_WINDOW;
        if (c->memory)
            sem_fill_memory(&memory[g], c->arg[5] ? (char)c->arg[5] : 'b', c->numbers);
        if (c->prepare)
            c->prepare(c, &before[g], &memory[g]);
        sem_to_memory(&before[g], &memory[g], states_in + g * SEM_STATE_BYTES);
        memcpy(windows + g * SEM_WINDOW, memory[g].window, window_size(c));
    }
    if (!launch_all(fn, oracle_machines[t].lanes, c->memory, groups))
        return false;
    for (unsigned g = 0; g < groups && good; g++) {
        c->run(c, &before[g], &after, &memory[g]);
        good = compare(&before[g], &after, &memory[g], states_out + g * SEM_STATE_BYTES,
                       windows + g * SEM_WINDOW);
    }
    return good;
}

static bool allocate(enum oracle_target t)
{
    int device = t == T_GFX1100_W64 ? T_GFX1100 : t == T_GFX1201_W64 ? T_GFX1201 : (int)t;

    return hipSetDevice(device) == hipSuccess &&
           hipMalloc(&device_in, SEM_GROUPS * SEM_STATE_BYTES) == hipSuccess &&
           hipMalloc(&device_out, SEM_GROUPS * SEM_STATE_BYTES) == hipSuccess &&
           hipMalloc(&device_windows, SEM_GROUPS * SEM_WINDOW) == hipSuccess;
}

/* The harness leaves v31 as it finds it: its value must not come out of a strict launch. */
static void check_strict(enum oracle_target t)
{
    static const struct sem_case reads_poison = {.text = "v_mov_b32_e32 v0, v31"};
    static const struct sem_memory none;
    static struct oracle_wave w;
    void *image = sem_build(&oracle_machines[t], &reads_poison, 1);
    hipModule_t module = NULL;
    hipFunction_t fn;

    comparing = &reads_poison;
    sem_make_state(&reads_poison, t, &w, 0);
    sem_to_memory(&w, &none, states_in);
    if (!ok(image && hipModuleLoadData(&module, image) == hipSuccess &&
                hipModuleGetFunction(&fn, module, "k0") == hipSuccess,
            "%s: a kernel that stores poison", oracle_machines[t].name))
        goto out;
    ok(!launch(fn, oracle_machines[t].lanes, false, 0, 1), "strict mode stops it");
    contains(emu_last_fault(), "v0", "and names the register");
    emu_set_strict(false);
    ok(launch(fn, oracle_machines[t].lanes, false, 0, 1), "plain mode does not");
    emu_set_strict(true);
out:
    if (module)
        hipModuleUnload(module);
    free(image);
}

/* For a quick answer, and for what sanitizers see, every eighth form is enough; so it is for what
 * gfx950 has of gfx942, and gfx1201 of gfx1100; and one of 32 for that in wave64. */
static void thin_out(struct sem_list *l, unsigned one_in)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++)
        if (i % one_in && (!l->c[i].fresh || tap_quick() || TAP_SANITIZED))
            free_case(&l->c[i]);
        else
            l->c[kept++] = l->c[i];
    l->count = kept;
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
    if (mixed)
        check_strict(t);
    if (tap_quick() || TAP_SANITIZED || t == T_GFX950 || oracle_is_gfx12(t))
        thin_out(l, t == T_GFX1201_W64 ? TWIN_ONE_IN : QUICK_ONE_IN);
    for (size_t first = 0; first < l->count; first += CHUNK) {
        size_t n = l->count - first < CHUNK ? l->count - first : CHUNK;
        void *image = sem_build(m, l->c + first, n);
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
