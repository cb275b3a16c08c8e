/* Plans the launches of a call. */
#include "plan.h"

#include "select.h"
#include "shape.h"

/*
 * When to share out keys: in launches of so few query rows that most of the GPU would idle, with
 * parts long enough to be worth the merge. With few rows attn_split is better in any case; with
 * more, where it takes much less time.
 */
enum {
    SPLIT_MAX_ROWS = 16,
    SPLIT_MIN_KEYS = 256,
    SPLIT_LEAST_KEYS = 128, /* of launches of more rows, where a table says that it pays */
    SPLIT_MAX = 64,
    SPLIT_AT_ONCE = 2,      /* workgroups of a compute unit */
    SPLIT_LDS = 128 << 10,  /* of a compute unit on wave32 */
    SPLIT_FURTHER = 8,      /* so many more parts are looked at, whether the last round is fuller */
    SPLIT_SURE = 4,         /* so many parts of so many keys pay off where no table says what */
    SPLIT_SURE_KEYS = 2048, /* attn_fwd would take */
    MERGE_COST = 200,       /* picoseconds that attn_merge takes a float, of one compute unit */
};

static const struct format_entry *entry_of(const struct plan *plan, int entry)
{
    return &plan->device->images->entries[entry];
}

void plan_refuse(const struct plan *plan, const struct select_need *need, struct status *why)
{
    static const char *const names[] = {[AOTHIP_F32] = "F32",
                                        [AOTHIP_F16] = "F16",
                                        [AOTHIP_BF16] = "BF16",
                                        [AOTHIP_FP8_E4M3] = "FP8_E4M3",
                                        [AOTHIP_FP8_E5M2] = "FP8_E5M2",
                                        [AOTHIP_FP8_E4M3_FNUZ] = "FP8_E4M3_FNUZ",
                                        [AOTHIP_FP8_E5M2_FNUZ] = "FP8_E5M2_FNUZ"};
    if (select_foreign_fp8(plan->device->target.gpu, need->dtype)) {
        status_set(why, AOTHIP_E_UNSUPPORTED,
                   "q: %s has no matrix instructions for %s; k and v of it go with q of F16 or "
                   "BF16",
                   plan->device->target.gpu, names[need->dtype]);
        return;
    }
    status_set(why, AOTHIP_E_UNSUPPORTED,
               "q, v: no kernel %s for %s%s, head dim %lld%s%s%s%s of %s in %s",
               select_op_name(need->op), names[need->dtype],
               need->features & FORMAT_FEATURE_FP8_CACHE ? " with k and v of FP8" : "",
               (long long)need->dim, need->features & FORMAT_FEATURE_SCORE ? ", score" : "",
               need->features & FORMAT_FEATURE_PAGED ? ", paged" : "",
               need->features & FORMAT_FEATURE_UNALIGNED ? ", unaligned" : "",
               need->features & FORMAT_FEATURE_STRIDED ? ", strided" : "", plan->device->target.gpu,
               plan->device->images->path);
}

/* Adds a launch whose arguments have `behind`, of FP8, behind their `size` bytes. */
static enum aothip_status add_fp8(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                  size_t size, struct kernarg_fp8 *behind, struct status *why)
{
    args_fp8(p, behind);
    return plan_add(plan, size + sizeof(*behind), why);
}

static struct select_size size_of(const struct plan *plan, const struct aothip_attn_fwd_params *p)
{
    const struct select_size size = {
        .heads = (uint64_t)p->q.size[1] * (uint64_t)shape_sequences(p),
        .rows = (uint32_t)shape_grid_q(p),
        .keys = (uint32_t)(shape_grid_k(p) + shape_new_rows(p)),
        .window = args_window(p),
        .units = (uint32_t)plan->device->compute_units,
        .seen = shape_seen(p),
    };
    return size;
}

/* The entry for a problem where several have kernels for it. */
static int choose_tile(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                       const struct select_row *first)
{
    const struct select_size size = size_of(plan, p);
    return select_tile(first, &size)->entry;
}

/*
 * The row for attention itself. Where the GPU multiplies q's type of FP8, what the kernels that do
 * so do not know is for those of caches.
 */
static const struct select_row *find_row(const struct plan *plan,
                                         const struct aothip_attn_fwd_params *p,
                                         const struct select_need *need)
{
    const struct select_index *index = plan->device->index;
    const struct select_row *row = select_row(index, need);
    struct select_need converted;
    if (row || !shape_is_fp8(p->q.dtype) || !select_knows(index, FORMAT_OP_ATTN_FWD, p->q.dtype))
        return row;
    converted = select_need_converted(need, p);
    return select_row(index, &converted);
}

static inline enum aothip_status add_fwd(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                         int plain, struct status *why)
{
    const struct select_need need = select_need_attn_fwd(p, plain);
    const struct select_row *row = find_row(plan, p, &need);
    struct plan_launch *launch = &plan->launches[plan->count];
    if (!row) {
        plan_refuse(plan, &need, why);
        return why->code;
    }
    launch->entry = row->other ? (uint32_t)choose_tile(plan, p, row) : row->entry;
    if (args_attn_fwd(p, plain, &plan->device->order, entry_of(plan, (int)launch->entry),
                      &launch->args.fwd, &launch->grid, why))
        return why->code;
    if (shape_is_fp8(p->k.dtype))
        return add_fp8(plan, p, sizeof(launch->args.fwd), &launch->args.fwd_fp8.fp8, why);
    return plan_add(plan, sizeof(launch->args.fwd), why);
}

/* How many query rows share a key head. */
static int64_t group_rows(const struct aothip_attn_fwd_params *p)
{
    return p->k.size[1] ? shape_grid_q(p) * (p->q.size[1] / p->k.size[1]) : 0;
}

/*
 * The first row for the same types and channels as a launch's that knows least, since what others
 * add to both ways is much the same; or NULL.
 */
static const struct select_row *least_row(const struct plan *plan,
                                          const struct aothip_attn_fwd_params *p, enum format_op op)
{
    struct select_need need = select_need_attn_fwd(p, 0);
    need.op = op;
    need.features = 0;
    return select_row(plan->device->index, &need);
}

/* The first with a cost of a row and its others, or NULL. */
static const struct select_row *with_cost(const struct select_row *row)
{
    while (row && row->cost.start <= 0)
        row = row->other ? row + row->other : NULL;
    return row;
}

/* Picoseconds that attn_fwd takes by a row's cost, or that of another tile, which *row becomes. */
static double time_of_whole(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                            const struct select_row **row)
{
    const struct select_size size = size_of(plan, p);
    if ((*row)->other)
        *row = select_tile(*row, &size);
    return select_time(*row, &size);
}

/* Picoseconds that `splits` parts of `keys` keys take, by the cost of a row of attn_split. That of
 * the merge of few rows is in its start. */
static double time_of_parts(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                            const struct select_row *split, int64_t splits, int64_t keys)
{
    const int64_t sequences = shape_sequences(p);
    struct select_size size = size_of(plan, p);
    const double floats =
        (double)sequences * (double)p->q.size[1] * size.rows * (double)(splits * p->v.size[3]);
    size.heads = (uint64_t)(sequences * p->k.size[1] * splits);
    size.rows = (uint32_t)group_rows(p);
    size.keys = (uint32_t)((keys + splits - 1) / splits);
    size.window = INT32_MAX;
    return select_time(split, &size) + floats * MERGE_COST / size.units;
}

/* rows_at_once() where K and V are FP8: what elements cost is what tiles of more rows save. */
static uint64_t rows_of_fp8(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                            const struct select_row *row, uint64_t rows, int64_t wanted)
{
    const int64_t units = plan->device->compute_units;
    const int few = shape_grid_q(p) <= SPLIT_MAX_ROWS;
    if (!select_foreign_fp8(plan->device->target.gpu, p->k.dtype)) /* instructions make them */
        return few && (rows <= 32 || wanted <= units) ? 1 : rows;
    if (entry_of(plan, row->entry)->wave_size < 64)
        return rows;
    return few && wanted <= (rows <= 32 ? units : units / 2) ? 1 : rows;
}

/*
 * How many rows tiles of attn_split, `row` and its others, are looked for, of `rows`. Beyond 128
 * channels those of 64 rows, teams of waves, read K and V once where those of 16 read it again from
 * L2. That is less work and fewer waves. On wave64 it takes more time where there are channels for
 * all of the kernel's and nothing else that those of 16 rows take long for: few queries without
 * pages or with few rows; with score terms, if parts of the keys leave half of the GPU idle.
 */
static uint64_t rows_at_once(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                             const struct select_row *row, uint64_t rows)
{
    const int64_t dim = row->dim_max, heads = shape_sequences(p) * p->k.size[1];
    const int64_t parts = shape_grid_k(p) / SPLIT_MIN_KEYS + 1;
    if (dim <= 128)
        return rows;
    if (row->features & FORMAT_FEATURE_FP8_CACHE)
        return rows_of_fp8(plan, p, row, rows, heads * parts);
    if (p->q.size[3] != dim || p->v.size[3] != dim || entry_of(plan, row->entry)->wave_size < 64)
        return rows;
    if (row->features & FORMAT_FEATURE_SCORE)
        return heads <= plan->device->compute_units / 2 / parts ? 1 : rows;
    return shape_grid_q(p) > SPLIT_MAX_ROWS || (rows > 32 && p->block_table) ? rows : 1;
}

/* Of attn_split, the row by whose cost a launch is judged, or NULL. *sure: it is for as many rows
 * as the launch's own. */
static const struct select_row *judge_parts(const struct plan *plan,
                                            const struct aothip_attn_fwd_params *p, int *sure)
{
    const struct select_row *first = least_row(plan, p, FORMAT_OP_ATTN_SPLIT), *row = first;
    if (first)
        row = select_split(first, rows_at_once(plan, p, first, (uint64_t)group_rows(p)));
    *sure = row && row->cost.start > 0;
    return *sure ? row : with_cost(first);
}

/*
 * How many parts of the keys, `most` or a half of it and so on, take much less time than attn_fwd
 * would; 1 where none do. Much less, since they are more work, for which other launches may leave
 * no room. Where the table says nothing of attn_split, parts take at most three times attn_fwd's
 * start, or twice that of long rows, and half as long again a step.
 */
static int64_t choose_parts(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                            int64_t most, int64_t keys)
{
    int sure;
    const struct select_row *row = with_cost(least_row(plan, p, FORMAT_OP_ATTN_FWD));
    const struct select_row *split = judge_parts(plan, p, &sure);
    int64_t best = 1;
    double whole, least;
    if ((!row || !split) && most > keys / SPLIT_MIN_KEYS)
        most = keys / SPLIT_MIN_KEYS;
    if (!row)
        return most >= SPLIT_SURE && keys >= SPLIT_SURE_KEYS ? most : 1;
    whole = time_of_whole(plan, p, &row);
    if (!split) {
        const double start = (row->dim_max > 128 ? 2 : 3) * row->cost.start;
        const double steps = (whole - row->cost.start) * 1.5;
        return start + steps / (double)most < 0.7 * whole ? most : 1;
    }
    least = 0.85 * whole;
    for (int64_t splits = most; splits > 1; splits /= 2) {
        const double time = time_of_parts(plan, p, split, splits, keys);
        if (time < least)
            least = time, best = splits;
    }
    return best;
}

/*
 * Whether parts of the keys of few rows take no more time than attn_fwd would: of few keys they do,
 * since there is a merge. Where the table has larger tiles of attn_split only, these take about a
 * third longer.
 */
static int pays_for_few(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                        int64_t splits, int64_t keys)
{
    int sure;
    const struct select_row *row = with_cost(least_row(plan, p, FORMAT_OP_ATTN_FWD));
    const struct select_row *split = judge_parts(plan, p, &sure);
    return !row || !split ||
           time_of_parts(plan, p, split, splits, keys) <
               (sure ? 1 : 1.3) * time_of_whole(plan, p, &row);
}

/*
 * Whether attn_fwd would have a general kernel and so few workgroups that parts of the keys take
 * less time, though attn_split's tiles for such problems have few rows and read K and V again and
 * again. A workgroup of long rows that are not aligned takes so long because it walks over the
 * keys more than once.
 */
static int leaves_idle(const struct plan *plan, const struct aothip_attn_fwd_params *p)
{
    const struct select_need need = select_need_attn_fwd(p, 0);
    const struct select_row *row = find_row(plan, p, &need);
    const struct select_size size = size_of(plan, p);
    unsigned times;
    if (row && row->other)
        row = select_tile(row, &size);
    if (!row || (row->features & FORMAT_FEATURE_SCORE) != FORMAT_FEATURE_SCORE)
        return 0;
    times = row->dim_max <= 128 ? 8 : row->features & FORMAT_FEATURE_STRIDED ? 3 : 4;
    return size.heads * args_count_tiles(size.rows, row->tile_q) * times <= size.units;
}

/* The entries of attn_split and attn_merge; 0 where one of them is missing. */
static int find_split(const struct plan *plan, const struct aothip_attn_fwd_params *p, int entry[2])
{
    struct select_need need = select_need_attn_fwd(p, 0);
    const struct aothip_tensor *const o[] = {&p->o};
    const struct select_row *split;
    need.op = FORMAT_OP_ATTN_SPLIT;
    split = find_row(plan, p, &need);
    entry[0] = -1;
    if (split)
        entry[0] =
            select_split(split, rows_at_once(plan, p, split, (uint64_t)group_rows(p)))->entry;
    need = select_need_other(FORMAT_OP_ATTN_MERGE, p, o, 1);
    entry[1] = select_entry(plan->device->index, &need);
    return entry[0] >= 0 && entry[1] >= 0;
}

/*
 * How many parts, from `least` to `most`, of which `at_once` workgroups are computed together: the
 * time is that of all rounds, ceil(workgroups * parts / at_once), divided by parts. More parts are
 * more work, so that they have to take a seventh less time.
 */
static int64_t fill_rounds(int64_t workgroups, int64_t at_once, int64_t least, int64_t most)
{
    int64_t best = least, rounds = (workgroups * least + at_once - 1) / at_once;
    if (most > least + SPLIT_FURTHER)
        most = least + SPLIT_FURTHER;
    /* Rounds may be so full that nothing could save as much. */
    for (int64_t parts = least + 1; parts <= most && 7 * workgroups * best < 6 * rounds * at_once;
         parts++) {
        const int64_t other = (workgroups * parts + at_once - 1) / at_once;
        if (7 * other * best < 6 * rounds * parts)
            best = parts, rounds = other;
    }
    return best;
}

/* Workgroups of a kernel of attn_split that a compute unit holds. */
static int64_t held(const struct format_entry *split)
{
    if (split->dim_max <= 128 || split->tile_q <= 16)
        return SPLIT_AT_ONCE;
    if (split->wave_size == 64)
        return split->vgprs > 256 ? 1 : SPLIT_AT_ONCE;
    return split->lds_size > 0 && split->lds_size <= SPLIT_LDS ? SPLIT_LDS / split->lds_size
                                                               : SPLIT_AT_ONCE;
}

/* The most parts, up to `splits`, whose results fit into a workspace of `room` bytes. */
static int64_t fit_parts(const struct aothip_attn_fwd_params *p, int64_t splits, size_t room)
{
    const uint64_t needed = args_fwd_workspace(p, (int32_t)splits).size;
    if (needed <= room)
        return splits;
    /* one more than that would not fit even if nothing else were there */
    splits = (int64_t)((unsigned __int128)room * (uint64_t)splits / needed) + 1;
    while (splits > 1 && args_fwd_workspace(p, (int32_t)splits).size > room)
        splits--;
    return splits;
}

/* How many workgroups should share the keys with so much workspace; 1 where it is not worth it. */
static int32_t choose_splits(const struct plan *plan, const struct aothip_attn_fwd_params *p,
                             size_t room)
{
    const int64_t rows = shape_grid_q(p), heads_k = p->k.size[1];
    const int few = rows <= SPLIT_MAX_ROWS;
    const struct format_entry *split;
    int64_t keys = shape_grid_k(p), workgroups, at_once, most, splits;
    int entry[2], idle;
    if (p->splits == 1 || !rows || !heads_k || !find_split(plan, p, entry))
        return 1;
    if (p->splits > 1)
        return (int32_t)fit_parts(p, p->splits, room);
    split = entry_of(plan, entry[0]);
    idle =
        !few && (split->tile_q <= SPLIT_MAX_ROWS || split->dim_max > 128) && leaves_idle(plan, p);
    if (!few && split->tile_q <= SPLIT_MAX_ROWS && !idle)
        return 1;
    if (keys > args_window(p) + rows) /* what a window leaves of them */
        keys = args_window(p) + rows;
    workgroups =
        shape_sequences(p) * heads_k * ((group_rows(p) + split->tile_q - 1) / split->tile_q);
    if (!workgroups)
        return 1;
    at_once = (int64_t)plan->device->compute_units * held(split);
    most = keys / (few || idle ? SPLIT_MIN_KEYS : SPLIT_LEAST_KEYS);
    most = most < SPLIT_MAX ? most : SPLIT_MAX;
    most = most > 1 ? fit_parts(p, most, room) : most;
    splits = at_once / workgroups;
    /* Its tiles hold the queries of a group's heads; attn_fwd reads K and V again for each head. */
    if (splits < 2 && (idle || (few && p->q.size[1] > heads_k)))
        splits = 2;
    if (splits < 1)
        splits = 1;
    if (splits > most)
        splits = most;
    else if (few) /* in other launches attn_fwd would fill the GPU, too */
        splits = fill_rounds(workgroups, at_once, splits, most);
    if (splits > 1 && few && !pays_for_few(plan, p, splits, keys))
        splits = 1;
    if (splits > 1 && !few && !idle)
        splits = choose_parts(plan, p, splits, keys);
    return splits > 1 ? (int32_t)splits : 1;
}

/* Both launches of attention with split keys. */
static enum aothip_status add_split(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                    const struct args_workspace *workspace, int32_t splits,
                                    struct status *why)
{
    int entry[2];
    find_split(plan, p, entry);
    for (int merge = 0; merge < 2; merge++) {
        struct plan_launch *launch = &plan->launches[plan->count];
        launch->entry = (uint32_t)entry[merge];
        if (args_attn_split(p, workspace, splits, merge, entry_of(plan, entry[merge]),
                            &launch->args.split, &launch->grid, why))
            return why->code;
        if (shape_is_fp8(p->k.dtype) && !merge
                ? add_fp8(plan, p, sizeof(launch->args.split), &launch->args.split_fp8.fp8, why)
                : plan_add(plan, sizeof(launch->args.split), why))
            return why->code;
    }
    return AOTHIP_OK;
}

static enum aothip_status add_append(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                     const struct args_workspace *workspace, struct status *why)
{
    const struct aothip_tensor *const tensors[] = {&p->q, &p->k, &p->v, &p->k_new, &p->v_new};
    const struct select_need need = select_need_other(FORMAT_OP_ATTN_APPEND, p, tensors, 5);
    struct plan_launch *launch = plan_next(plan, &need, why);
    if (!launch || args_attn_append(p, workspace, entry_of(plan, (int)launch->entry),
                                    &launch->args.append, &launch->grid, why))
        return why->code;
    if (need.features & FORMAT_FEATURE_FP8_CACHE)
        return add_fp8(plan, p, sizeof(launch->args.append), &launch->args.append_fp8.fp8, why);
    return plan_add(plan, sizeof(launch->args.append), why);
}

enum aothip_status plan_attn_probs(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                   struct status *why)
{
    const struct aothip_tensor *const tensors[] = {&p->q, &p->k};
    const struct select_need need =
        select_need_other(FORMAT_OP_ATTN_PROBS, p, tensors, p->probs_dropped ? 2 : 0);
    struct plan_launch *launch;
    if (!p->probs.size[1] || !p->probs.size[2] || !p->probs.size[3] || !shape_sequences(p) ||
        !shape_grid_q(p))
        return AOTHIP_OK;
    launch = plan_next(plan, &need, why);
    if (!launch || args_attn_probs(p, entry_of(plan, (int)launch->entry), &launch->args.probs,
                                   &launch->grid, why))
        return why->code;
    return plan_add(plan, sizeof(launch->args.probs), why);
}

size_t plan_fwd_workspace(const struct plan *plan, const struct aothip_attn_fwd_params *p)
{
    return args_fwd_workspace(p, choose_splits(plan, p, SIZE_MAX)).size;
}

/* What options add around attention itself: an append before it, split keys, probs behind it. */
static enum aothip_status plan_options(struct plan *plan, const struct aothip_attn_fwd_params *p,
                                       struct status *why)
{
    const size_t room = p->workspace ? p->workspace_size : 0;
    struct aothip_attn_fwd_params rotated;
    struct args_workspace workspace = {0, 0, 0, 0};
    const int32_t splits = room ? choose_splits(plan, p, room) : 1;
    if (splits > 1 || p->rotary_cos)
        workspace = args_fwd_workspace(p, splits);
    if (workspace.size > room)
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "workspace: rotary_cos needs %llu bytes, but workspace_size is %zu%s",
                          (unsigned long long)workspace.size, p->workspace_size,
                          p->workspace ? "" : " and workspace NULL");
    if ((shape_new_rows(p) || p->rotary_cos) && shape_sequences(p) && p->k.size[1] &&
        (shape_new_rows(p) || !shape_is_empty(p)) && add_append(plan, p, &workspace, why))
        return why->code;
    if (shape_is_empty(p) || !shape_grid_q(p) || !shape_sequences(p))
        return AOTHIP_OK;
    if (p->rotary_cos) {
        rotated = *p;
        rotated.q = args_rotated_q(p, &workspace);
        p = &rotated;
    }
    if (splits > 1 ? add_split(plan, p, &workspace, splits, why) : add_fwd(plan, p, 0, why))
        return why->code;
    return p->probs.data ? plan_attn_probs(plan, p, why) : AOTHIP_OK;
}

enum aothip_status plan_attn_fwd(struct plan *plan, const struct validate_fwd *checked,
                                 struct status *why)
{
    const struct aothip_attn_fwd_params *p = checked->params;
    if (!checked->alone)
        return plan_options(plan, p, why);
    if (shape_is_empty(p) || !shape_grid_q(p) || !shape_sequences(p))
        return AOTHIP_OK;
    return add_fwd(plan, p, checked->plain, why);
}
