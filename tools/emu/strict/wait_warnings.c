/*
 * Strict mode: missing wait states as warnings, which hand-written kernels need: they break rules
 * by which LLVM places its waits, and yet run on the hardware that they were written for. Each
 * place is counted, and reported once, after the launch in which it was met first.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strict.h"

struct emu_missing {
    atomic_uint times;
    char *text; /* of the first time */
    bool told;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of text and told */

bool emu_strict_warn_begin(struct emu_strict_program *s, unsigned nops)
{
    if (!s->missing) {
        s->missing = calloc(nops, sizeof *s->missing);
        s->nmissing = s->missing ? nops : 0;
    }
    return s->missing != NULL;
}

void emu_strict_warn_free(struct emu_strict_program *s)
{
    for (unsigned i = 0; i < s->nmissing; i++)
        free(s->missing[i].text);
    free(s->missing);
}

void emu_strict_blame(struct emu_wave *w, const char *fmt, ...)
{
    struct emu_missing *m;
    char what[256], text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!w->group->launch->warn_waits)
        emu_fault(w, emu_exec(w), "%s", what);
    if (w->strict->hazards.blamed) /* one instruction, several registers */
        return;
    w->strict->hazards.blamed = true;
    w->group->counters->missing_waits++;
    m = &emu_program_of(w)->strict->missing[w->op - emu_program_of(w)->ops];
    if (atomic_fetch_add(&m->times, 1))
        return;
    emu_describe(w, emu_exec(w), what, text, sizeof text);
    pthread_mutex_lock(&lock);
    m->text = strdup(text);
    pthread_mutex_unlock(&lock);
}

char *emu_strict_warnings(struct emu_strict_program *s)
{
    char *all = NULL, *more;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < s->nmissing; i++) {
        struct emu_missing *m = &s->missing[i];

        if (m->told || !m->text)
            continue;
        m->told = true;
        if (asprintf(&more, "%shipemu: warning: %s\n  %u times until the end of this launch\n",
                     all ? all : "", m->text, atomic_load(&m->times)) < 0)
            continue;
        free(all);
        all = more;
    }
    pthread_mutex_unlock(&lock);
    return all;
}
