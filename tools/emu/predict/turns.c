/* Chooses what is simulated of some units in detail. */
#include "turns.h"

#include <math.h>
#include <stdlib.h>

#include "detail.h"
#include "stand_in.h"

/* Instructions that are simulated of them, of which a core does 2e6 a second and more. */
#define AFFORDABLE 4e6
/* At most; how often the units are full of those that were made shorter. */
enum { TURNS = 512, FULL = 6 };

/* What workgroup i does, by what was recorded. */
static struct emu_turn turn_of(const struct emu_turn_source *s, uint64_t i)
{
    const struct emu_stand_in x = emu_stand_in(s->recorder, s->clusters, i);

    return (struct emu_turn){.group = x.group, .tag = x.tag, .alone = (float)s->alone[x.cluster]};
}

struct emu_turn *emu_turns_all(const struct emu_turn_source *s)
{
    const uint64_t n = s->recorder->workgroups;
    struct emu_turn *turn = calloc(n, sizeof *turn);

    for (uint64_t i = 0; turn && i < n; i++)
        turn[i] = turn_of(s, i);
    return turn;
}

static void take_first(struct emu_turns *t, unsigned n)
{
    t->n = n < t->n ? n : t->n;
}

/* As many as are affordable, whose pace tells the rest; if that is too few of them for a pace, more
 * that are shorter, or else as many as fit. */
static void limit(struct emu_turns *t, double work, unsigned room, const struct emu_unit_kind *kind,
                  bool may_shorten)
{
    const double affordable = (double)t->all * fmin(AFFORDABLE / work, 1);
    const double wanted = fmin((double)t->all, FULL * room);

    if (affordable >= wanted) {
        take_first(t, (unsigned)fmin(affordable, TURNS));
        return;
    }
    take_first(t, (unsigned)wanted);
    if (may_shorten && emu_shorten(&t->shortened, kind,
                                   AFFORDABLE * (double)t->all / (work * wanted), t->turn, t->n))
        return;
    take_first(t, affordable >= 3 * room ? (unsigned)affordable : room);
}

/* Workgroups of a unit. */
struct met {
    unsigned n;
    double work;                         /* clocks alone */
    double score;                        /* how often they met their memory, and how soon */
    uint64_t tag[2 * EMU_CHIP_RESIDENT]; /* of the last ones */
};

static void meet(struct met *m, uint64_t tag, unsigned window, double work)
{
    for (unsigned back = 1; back <= window && back <= m->n; back++)
        if (m->tag[(m->n - back) % window] == tag) {
            m->score += (double)(window + 1 - back) / window;
            break;
        }
    m->tag[m->n++ % window] = tag;
    m->work += work;
}

/*
 * Of units with nearly as much work as any, *unit among them, the one whose workgroups find the
 * memory of those beside and before them as often as on all units in the mean: what is in caches
 * decides about the pace. False when out of memory.
 */
static bool find_typical(const struct emu_turn_source *s, const struct emu_chip *chip,
                         unsigned *unit)
{
    struct met *met = calloc(chip->units, sizeof *met);
    double mean = 0, most = 0, best = HUGE_VAL;

    for (uint64_t i = 0; met && i < chip->workgroups; i++)
        meet(&met[chip->unit_of[i]], emu_stand_in_tag(s->recorder, i), 2 * chip->resident,
             chip->alone[i]);
    for (unsigned i = 0; met && i < chip->units; i++) {
        mean += met[i].score / (double)chip->workgroups;
        most = fmax(most, met[i].work);
    }
    for (unsigned i = 0; met && i < chip->units; i++) {
        const double off = met[i].n ? fabs(met[i].score / met[i].n - mean) : HUGE_VAL;

        if (met[i].work >= EMU_DETAIL_NEARLY * most && off < best) {
            best = off;
            *unit = i;
        }
    }
    free(met);
    return met != NULL;
}

bool emu_turns_choose(struct emu_turns *t, const struct emu_turn_source *s,
                      const struct emu_chip *chip, unsigned last, const struct emu_unit_kind *kind,
                      bool may_shorten)
{
    const struct emu_clock_recorder *r = s->recorder;
    bool *chosen = calloc(chip->units, sizeof *chosen);
    const bool ok = chosen && (t->units > 1 || find_typical(s, chip, &last)) &&
                    emu_detail_choose(chip, last, chosen, t->units);
    double work = 0;

    t->n = 0;
    t->turn = calloc(TURNS, sizeof *t->turn);
    for (uint64_t i = 0; ok && t->turn && i < r->workgroups; i++) {
        if (!chosen[chip->unit_of[i]])
            continue;
        if (t->n < TURNS)
            t->turn[t->n++] = turn_of(s, i);
        t->all++;
        work += emu_clock_cost(r, i);
    }
    free(chosen);
    if (!ok || !t->turn)
        return false;
    limit(t, work, chip->resident * t->units, kind, may_shorten);
    for (unsigned i = 0; i < t->n; i++)
        t->work += t->turn[i].group->cost;
    return true;
}

void emu_turns_free(struct emu_turns *t)
{
    emu_shortened_free(&t->shortened);
    free(t->turn);
}
