/*
 * Prepares a kernel once: decodes its text into an array of ops indexed by dword.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static void fault_undecodable(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_kernel *k = w->group->kernel;
    size_t offset = (size_t)(op - k->program->ops) * 4;
    uint32_t word;

    if (offset >= k->code_size)
        emu_fault(w, 0, "ran past the end of the text");
    memcpy(&word, k->code + offset, sizeof word);
    emu_fault(w, 0, "word 0x%08x is no instruction, or the middle of one", word);
}

static bool decode_all(struct emu_builder *b)
{
    const struct emu_kernel *k = b->kernel;
    struct emu_program *p = b->program;

    for (uint32_t at = 0; at < k->code_size;) {
        struct emu_insn *insn = &p->insns[p->ninsns];
        unsigned size;

        memset(insn, 0, sizeof *insn);
        size = emu_decode_newer(k->family, k->wave, k->code, k->code_size - at, at, insn);
        if (size) {
            p->ninsns++;
            emu_bind_op(b, &p->ops[at / 4], insn);
        }
        at += size ? size : 4;
    }
    return !b->failed;
}

/* Plain mode goes from an op straight to the next one with an effect. Branches ask where they are.
 */
static void skip_idle(struct emu_program *p)
{
    for (unsigned i = p->nops; i-- > 0;) {
        struct emu_op *op = &p->ops[i];
        bool steady = (op->cls != EMU_C_BRANCH && op->cls != EMU_C_MESSAGE) || emu_is_idle(op);
        const struct emu_op *after = op + op->dwords;

        op->next = op->dwords;
        if (steady && i + op->dwords < p->nops && emu_is_idle(after) &&
            op->dwords + after->next <= UINT8_MAX)
            op->next = (uint8_t)(op->dwords + after->next);
    }
}

/*
 * Where rows stand in w->v: registers first; then splats, temporaries and constants. The constants
 * come last because their number is known only after binding.
 */
static void lay_out_rows(struct emu_program *p, const struct emu_kernel *k)
{
    p->row_splat = k->vgprs;
    p->row_temp = p->row_splat + EMU_SPLATS;
    p->row_const = p->row_temp + EMU_TEMPS;
}

bool emu_kernel_prepare(struct emu_kernel *k, char *err, size_t size)
{
    struct emu_program *p;
    struct emu_builder b = {.kernel = k};

    if (k->program)
        return true;
    if (k->code_size % 4 || k->start >= k->code_size || k->code_size / 4 >= INT32_MAX) {
        snprintf(err, size, "%s: text of %zu bytes, start at %zu", k->name, k->code_size, k->start);
        return false;
    }
    p = calloc(1, sizeof *p);
    b.program = k->program = p;
    if (p) {
        p->nops = (unsigned)(k->code_size / 4) + 1;
        p->ops = aligned_alloc(64, p->nops * sizeof *p->ops);
        p->insns = calloc(2 * (size_t)p->nops, sizeof *p->insns); /* a VOPD takes three */
        p->lanes = emu_lanes_for(k->wave);
        lay_out_rows(p, k);
    }
    if (p && p->ops && p->insns) {
        memset(p->ops, 0, p->nops * sizeof *p->ops);
        for (unsigned i = 0; i < p->nops; i++) {
            p->ops[i].fn = fault_undecodable;
            p->ops[i].dwords = 1;
        }
        if (decode_all(&b)) {
            skip_idle(p);
            p->rows = p->row_const + p->vconsts;
            return true;
        }
    }
    emu_kernel_release(k);
    snprintf(err, size, "%s: out of memory while preparing the kernel", k->name);
    return false;
}

void emu_kernel_release(struct emu_kernel *k)
{
    struct emu_program *p = k->program;

    if (!p)
        return;
    if (p->strict)
        p->strict_release(p->strict);
    free(p->ops);
    free(p->insns);
    free(p->pairs);
    free(p->permutes);
    free(p->vconst);
    free(p->sconst);
    free(p);
    k->program = NULL;
}
