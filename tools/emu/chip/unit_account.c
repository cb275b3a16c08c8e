/* Where the clocks of a compute unit go: by instruction, by cause, and as events. */
#include <stdlib.h>

#include "unit_parts.h"

/* Until now the wave has waited for what `cause` says. A barrier has been issued before the wait.
 */
void emu_unit_stall(struct unit *u, struct unit_wave *w)
{
    const size_t at = w->at - (w->cause == EMU_TIME_BARRIER && w->at);

    if (u->now > w->since)
        u->count[w->trace->record[at].op].stalled[w->cause] += (double)(u->now - w->since);
    w->since = u->now;
}

/* Clocks in which neither pipe nor port was busy belong to what the waves waited for. */
static void account_idle(struct unit *u, const struct unit_simd *s, double clocks)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->waves; i++)
        n += !s->wave[i]->ended;
    if (!n) {
        u->summary[EMU_TIME_TAIL] += clocks;
        return;
    }
    for (unsigned i = 0; i < s->waves; i++)
        if (!s->wave[i]->ended)
            u->summary[s->wave[i]->cause] += clocks / n;
}

static uint64_t until(uint64_t from, uint64_t end, uint64_t busy)
{
    return busy <= from ? from : busy < end ? busy : end;
}

/* Up to now. Matrix pipe before port before reasons to wait. */
void emu_unit_account(struct unit *u, struct unit_simd *s)
{
    uint64_t at = s->seen, next;

    if (u->now <= at)
        return;
    next = until(at, u->now, s->pipe);
    u->summary[EMU_TIME_MATRIX] += (double)(next - at);
    at = next;
    next = until(at, u->now, s->vector);
    u->summary[s->port_trans ? EMU_TIME_TRANS : EMU_TIME_ISSUE] += (double)(next - at);
    at = next;
    next = until(at, u->now, s->trans);
    u->summary[EMU_TIME_TRANS] += (double)(next - at);
    account_idle(u, s, (double)(u->now - next));
    s->seen = u->now;
}

void emu_unit_event(struct unit *u, const struct unit_wave *w, enum emu_time_pipe pipe,
                    uint64_t start, uint64_t end)
{
    if (!u->event || u->events == u->event_room)
        return;
    u->event[u->events++] = (struct emu_time_event){
        .start = start,
        .end = end,
        .offset = w->at < w->trace->n ? 4 * w->trace->record[w->at].op : 0,
        .wave = (uint16_t)w->index,
        .group = (uint16_t)u->group[w->group].number,
        .simd = (uint8_t)w->simd,
        .pipe = (uint8_t)pipe,
    };
}
