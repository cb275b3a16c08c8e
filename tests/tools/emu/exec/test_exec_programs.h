/* Kernels of a wave or two, each with what every work-item must find, in plain and in strict mode.
 */
#ifndef TEST_EXEC_PROGRAMS_H
#define TEST_EXEC_PROGRAMS_H

#include "test_exec_asm.h"

void emu_set_strict(bool on); /* tools/emu/session */

/* What a program stores for item i lies in word RESULTS + i, behind what is read. */
enum { ITEMS = 64, RESULTS = 512 };

struct asm_program {
    const char *name, *body;         /* with a %s where the GPU matters */
    uint32_t (*want)(uint32_t item); /* or: */
    const char *fault;
};

static inline void asm_check_program(const struct asm_program *p, const char *gpu, const char *text,
                                     const char *mode)
{
    char body[2048];
    struct asm_result r;
    unsigned bad = 0;

    snprintf(body, sizeof body, p->body, text);
    if (!asm_run(gpu, body, ITEMS, &r)) {
        ok(0, "%s, %s: %s", gpu, mode, p->name);
        return;
    }
    if (p->fault) {
        if (!ok(!r.ran && strstr(r.fault, p->fault), "%s, %s: %s is refused", gpu, mode, p->name))
            tap_diag("%s", r.fault);
        return;
    }
    for (unsigned i = 0; i < ITEMS; i++)
        if ((!r.ran || r.out[RESULTS + i] != p->want(i)) && !bad++)
            tap_diag("item %u: got %#x, want %#x; %s", i, r.out[RESULTS + i], p->want(i), r.fault);
    ok(!bad, "%s, %s: %s", gpu, mode, p->name);
}

/* Checks them on the first `gpus` of asm_gpus; `text_of` says what a GPU has for %s. A main(). */
static inline int asm_check_programs(const struct asm_program *programs, size_t count,
                                     unsigned gpus, const char *(*text_of)(const char *gpu))
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (size_t i = 0; i < count; i++)
        for (unsigned g = 0; g < gpus; g++) {
            asm_check_program(&programs[i], asm_gpus[g], text_of(asm_gpus[g]), "strict");
            emu_set_strict(false);
            asm_check_program(&programs[i], asm_gpus[g], text_of(asm_gpus[g]), "plain");
            emu_set_strict(true);
        }
    return tap_done();
}

#endif
