/*
 * The report of a fault: who, where, what, and the instruction.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct text {
    char *buf;
    size_t size, used;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->buf + t->used, t->size - t->used, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->used += (size_t)n < t->size - t->used ? (size_t)n : t->size - t->used - 1;
}

/* "0-3, 7" */
static void say_lanes(struct text *t, uint64_t lanes)
{
    const char *sep = "";

    for (unsigned l = 0; l < 64; l++) {
        unsigned end = l;

        if (!(lanes >> l & 1))
            continue;
        while (end < 63 && lanes >> (end + 1) & 1)
            end++;
        say(t, end > l ? "%s%u-%u" : "%s%u", sep, l, end);
        sep = ", ";
        l = end;
    }
}

static void say_instruction(struct text *t, const struct emu_kernel *k, uint64_t pc)
{
    const struct emu_program *p = k->program;
    const struct emu_insn *insn = pc / 4 < p->nops ? p->ops[pc / 4].insn : NULL;
    char line[256];
    uint32_t word;

    say(t, "\n  at pc 0x%" PRIx64 " (entry %c 0x%" PRIx64 "): ", pc, pc < k->entry ? '-' : '+',
        pc < k->entry ? k->entry - pc : pc - k->entry);
    if (insn && emu_disasm(insn, line, sizeof line))
        say(t, "%s", line);
    say(t, "  [");
    for (unsigned i = 0; i < (insn ? insn->size : 4u) && pc + i + 4 <= k->code_size; i += 4) {
        memcpy(&word, k->code + pc + i, sizeof word);
        say(t, "%s%08x", i ? " " : "", word);
    }
    say(t, "]");
    if (k->source_line && k->source_line(k, pc, line, sizeof line))
        say(t, "\n  source: %s", line);
}

static void say_all(struct text *t, const struct emu_wave *w, uint64_t lanes, const char *what)
{
    const struct emu_group *g = w->group;

    say(t, "%s\n  kernel %s, workgroup (%u, %u, %u), wave %u", what, g->kernel->name, g->id[0],
        g->id[1], g->id[2], w->index);
    if (lanes) {
        say(t, ", lanes ");
        say_lanes(t, lanes);
    }
    say_instruction(t, g->kernel, (uint64_t)(w->op - g->kernel->program->ops) * 4);
}

void emu_describe(const struct emu_wave *w, uint64_t lanes, const char *what, char *buf,
                  size_t size)
{
    struct text t = {buf, size, 0};

    buf[0] = 0;
    say_all(&t, w, lanes, what);
}

_Noreturn void emu_fault(struct emu_wave *w, uint64_t lanes, const char *fmt, ...)
{
    const struct emu_group *g = w->group;
    struct emu_fault_info *f = &g->launch->fault;
    struct text t = {f->text, sizeof f->text, 0};
    char what[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&lock);
    if (!f->text[0]) {
        f->pc = (uint64_t)(w->op - g->kernel->program->ops) * 4;
        memcpy(f->workgroup, g->id, sizeof f->workgroup);
        f->wave = w->index;
        f->lanes = lanes;
        say_all(&t, w, lanes, what);
    }
    pthread_mutex_unlock(&lock);
    longjmp(*w->escape, 1);
}
