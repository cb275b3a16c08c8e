/*
 * How many workgroups share a walk of the backward pass: where a launch would not fill the GPU, so
 * that one workgroup's way through all rows, or through all heads of a group, would be the call's.
 */
#include "plan.h"
#include "shape.h"

/*
 * Steps of the walk below which a part's results cost more than its walk; steps that sharing must
 * take off a walk, lest the launch that adds the parts costs more; and a bound for the sums. With
 * score terms on wave64, where a step takes longer, one is enough for up to SCORE_PARTS parts, and
 * two for more. Steps of f32 there have few rows: with eight of them what a workgroup does beside
 * its walk is a third of its instructions; up to F32_PARTS parts four are enough.
 */
enum { PART_MIN_STEPS = 4, PART_MIN_SAVED = 10, PARTS_MAX = 64 };
enum { SCORE_PARTS = 8, SCORE_MIN_STEPS = 2, SCORE_MIN_SAVED = 5 };
enum { F32_PARTS = 4, F32_MIN_STEPS = 8 };
/*
 * Where rows see a part of the keys, units are done with short walks early: more parts than fill
 * the GPU cut the longest ones, as long as a part takes more steps off them than a unit takes to
 * store and add up the parts that it has more of: so many rows of steps for each, and for the first
 * more by a factor. By the clock of gfx942, gfx950 and gfx90a.
 */
enum { DKDV_PART_ROWS = 500, DQ_PART_ROWS = 420 };
#define FIRST_PART 1.4
enum { SIMDS = 4, TILE_MOST = 256 };

/* Workgroups of a kernel that a unit holds at a time. */
static uint64_t held(const struct format_entry *entry)
{
    const unsigned waves = entry->threads / entry->wave_size;
    const unsigned room = SIMDS * (entry->vgprs > 256 ? 1 : 2);
    const unsigned by_lds = entry->lds_size ? 65536 / entry->lds_size : room;
    const unsigned most = room / waves < by_lds ? room / waves : by_lds;
    return most ? most : 1;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a < b ? b : a;
}

/* A walk of the backward pass. */
struct walk {
    const struct format_entry *entry;
    uint64_t workgroups; /* that the launch would have, one a walk */
    int64_t steps;       /* of the longest */
    double part;         /* how many a part costs */
    double seen;         /* the mean walk, as a part of the longest */
};

/* Those that are worth it beyond `parts`, which fill the GPU. */
static int64_t cut_longest(const struct plan *plan, const struct walk *walk, int64_t parts,
                           int64_t most, int64_t least_saved)
{
    const double units = plan->device->compute_units, workgroups = (double)walk->workgroups;
    const double each = workgroups / units * walk->part;
    const double places = units * (double)held(walk->entry) / walk->seen;
    const double steps = (double)walk->steps;
    int64_t n = parts;
    while (n < most && workgroups * (double)(n + 1) <= places &&
           steps / (double)(n * (n + 1)) > (n > 1 ? each : FIRST_PART * each))
        n++;
    return parts > 1 || walk->steps - walk->steps / n >= least_saved ? n : 1;
}

/* Parts of each walk. */
static int64_t count_parts(const struct plan *plan, const struct walk *walk)
{
    const struct format_entry *entry = walk->entry;
    const uint64_t enough = (uint64_t)plan->device->compute_units * held(entry);
    const int score = entry->features & FORMAT_FEATURE_SCORE && entry->wave_size == 64;
    const int64_t steps = walk->steps, plain = steps / PART_MIN_STEPS;
    const int64_t f32 = larger(steps / F32_MIN_STEPS, smaller(plain, F32_PARTS));
    const int64_t terms = larger(steps / SCORE_MIN_STEPS, smaller(steps, SCORE_PARTS));
    const int64_t worth = !score ? plain : entry->dtype == AOTHIP_F32 ? f32 : terms;
    const int64_t most = smaller(worth, PARTS_MAX);
    const int64_t saved = score ? SCORE_MIN_SAVED : PART_MIN_SAVED;
    int64_t parts = most;
    if (!walk->workgroups || most < 2)
        return 1;
    if (enough / walk->workgroups < (uint64_t)most)
        parts = (int64_t)(enough / walk->workgroups);
    if (parts < 2 || steps - steps / parts < saved)
        parts = 1;
    return cut_longest(plan, walk, parts, most, saved);
}

/* Rows of the other side that a tile of `tile` rows sees, at most. */
static int64_t visible(const struct aothip_attn_fwd_params *p, int64_t rows, int64_t tile)
{
    const int64_t span = args_window(p) + tile;
    return span < rows ? span : rows;
}

static const struct format_entry *entry_of(const struct plan *plan, const struct select_need *need)
{
    const int entry = select_entry(plan->device->index, need);
    return entry < 0 ? NULL : &plan->device->images->entries[entry];
}

struct args_parts plan_bwd_parts(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                                 const struct aothip_attn_fwd_params *p,
                                 const struct select_need *dkdv, const struct select_need *dq)
{
    const struct select_need sum = select_need_other(FORMAT_OP_ATTN_BWD_SUM, p, NULL, 0);
    const int64_t rows = shape_grid_q(p), keys = shape_grid_k(p), heads_k = p->k.size[1];
    const int64_t n = shape_sequences(p);
    struct args_parts parts = {1, 1, 1, 1, 0};
    const struct format_entry *entry;
    const int64_t enough = (int64_t)plan->device->compute_units * SIMDS;
    /* No kernel has tiles of more rows than that. */
    const int full = n * heads_k * (keys / TILE_MOST) >= enough &&
                     n * p->q.size[1] * (rows / TILE_MOST) >= enough;
    if (!heads_k || full || !entry_of(plan, &sum))
        return parts;
    entry = b->dk.data || b->dv.data ? entry_of(plan, dkdv) : NULL;
    if (entry) {
        const int64_t group = p->q.size[1] / heads_k, tile = entry->tile_q;
        const int64_t steps = (visible(p, rows, entry->tile_k) + tile - 1) / tile;
        const struct walk walk = {entry, args_bwd_workgroups(b, p, entry), group * steps,
                                  (double)DKDV_PART_ROWS / entry->tile_q, shape_seen(p)};
        const int64_t all = count_parts(plan, &walk);
        parts.heads = (int32_t)(all < group ? all : group);
        parts.rows = (int32_t)(all / parts.heads);
        parts.tile_k = entry->tile_k;
    }
    entry = b->dq.data ? entry_of(plan, dq) : NULL;
    if (entry) {
        const int64_t tile = entry->tile_k;
        const int64_t steps = (visible(p, keys, entry->tile_q) + tile - 1) / tile;
        const struct walk walk = {entry, args_bwd_workgroups(b, p, entry), steps,
                                  (double)DQ_PART_ROWS / entry->tile_k, shape_seen(p)};
        parts.keys = (int32_t)count_parts(plan, &walk);
    }
    return parts;
}

/*
 * Rows of queries from which on attn_bwd_fused takes less time than the two walks by more than the
 * clock may be off, if seven of ten compute units have a workgroup; with a causal mask, where the
 * two walks are cut into more parts, if each has one, beyond FUSED_CAUSAL_ROWS of a group.
 */
enum { FUSED_MIN_ROWS = 512, FUSED_CAUSAL_ROWS = 2048 };

int plan_bwd_fuses(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                   const struct aothip_attn_fwd_params *p, const struct select_need *fused)
{
    const struct select_need begin = select_need_other(FORMAT_OP_ATTN_BWD_BEGIN, p, NULL, 0);
    const struct select_need sum = select_need_other(FORMAT_OP_ATTN_BWD_SUM, p, NULL, 0);
    const int asked = module_atomics(plan->context);
    const int64_t rows = shape_grid_q(p);
    const int in_parts =
        shape_seen(p) < 1 && rows * p->q.size[1] > FUSED_CAUSAL_ROWS * p->k.size[1];
    const uint64_t tenths = in_parts ? 10 : 7;
    const struct format_entry *entry;
    if (asked == 0 || (asked < 0 && !b->atomics) || !b->dq.data || !(b->dk.data || b->dv.data))
        return 0;
    entry = entry_of(plan, fused);
    if (!entry || !entry_of(plan, &begin) || !entry_of(plan, &sum))
        return 0;
    return asked > 0 || (rows >= FUSED_MIN_ROWS && 10 * args_bwd_workgroups(b, p, entry) >=
                                                       tenths * plan->device->compute_units);
}
