/* Chooses the kernel for a problem. Pure. */
#include "select.h"

#include <math.h>
#include <string.h>

#include "args.h"
#include "kernarg.h"
#include "shape.h"
#include "target.h"

enum { GROUPS = FORMAT_OP_END * SELECT_DTYPES };

const char *select_op_name(unsigned op)
{
    static const char *const names[FORMAT_OP_END] = {
        [FORMAT_OP_ATTN_FWD] = "attn_fwd",
        [FORMAT_OP_ATTN_SPLIT] = "attn_split",
        [FORMAT_OP_ATTN_MERGE] = "attn_merge",
        [FORMAT_OP_ATTN_APPEND] = "attn_append",
        [FORMAT_OP_ATTN_PROBS] = "attn_probs",
        [FORMAT_OP_ATTN_BWD_DELTA] = "attn_bwd_delta",
        [FORMAT_OP_ATTN_BWD_DKDV] = "attn_bwd_dkdv",
        [FORMAT_OP_ATTN_BWD_DQ] = "attn_bwd_dq",
        [FORMAT_OP_ATTN_BWD_DBIAS] = "attn_bwd_dbias",
        [FORMAT_OP_ATTN_BWD_DSCALAR] = "attn_bwd_dscalar",
        [FORMAT_OP_ATTN_MERGE_PART] = "attn_merge_part",
        [FORMAT_OP_ATTN_BWD_SUM] = "attn_bwd_sum",
        [FORMAT_OP_ATTN_BWD_FUSED] = "attn_bwd_fused",
        [FORMAT_OP_ATTN_BWD_BEGIN] = "attn_bwd_begin",
    };
    return op < FORMAT_OP_END && names[op] ? names[op] : "?";
}

static int within_reach(const struct aothip_tensor *tensor)
{
    return tensor->size[2] == 1 || tensor->stride[2] <= KERNARG_ALIGNED_STRIDE_MAX;
}

/* Whether the kernels for rows of any alignment can take this one: in chunks of 8 elements. */
static int has_rows(const struct aothip_tensor *tensor)
{
    return within_reach(tensor) && tensor->stride[3] == 1 && tensor->size[3] >= 8;
}

/*
 * Whether the kernels for aligned tensors can take this one: 16-byte loads of 8 elements, or 16 of
 * FP8, at every row and chunk, and rows within reach of 32-bit offsets. Strides of dimensions of
 * size 1 are never multiplied by anything but 0.
 */
static int is_aligned(const struct aothip_tensor *tensor)
{
    const int64_t *size = tensor->size, *stride = tensor->stride;
    const uint64_t elements =
        (uint64_t)(size[3] | (size[0] > 1 ? stride[0] : 0) | (size[1] > 1 ? stride[1] : 0) |
                   (size[2] > 1 ? stride[2] : 0));
    return within_reach(tensor) && stride[3] == 1 &&
           ((elements & (shape_is_fp8(tensor->dtype) ? 15 : 7)) | ((uintptr_t)tensor->data & 15)) ==
               0;
}

/* The same of q, k, v and o together, but for dimensions of size 1. */
static int are_aligned(const struct aothip_attn_fwd_params *p)
{
    const int64_t *q = p->q.stride, *k = p->k.stride, *v = p->v.stride, *o = p->o.stride;
    const uint64_t elements = (uint64_t)(p->q.size[3] | p->v.size[3] | q[0] | q[1] | q[2] | k[0] |
                                         k[1] | k[2] | v[0] | v[1] | v[2] | o[0] | o[1] | o[2]);
    const uintptr_t addresses =
        (uintptr_t)p->q.data | (uintptr_t)p->k.data | (uintptr_t)p->v.data | (uintptr_t)p->o.data;
    if (!((elements & 7) | (addresses & 15)) && !shape_is_fp8(p->k.dtype) &&
        q[2] <= KERNARG_ALIGNED_STRIDE_MAX && k[2] <= KERNARG_ALIGNED_STRIDE_MAX &&
        v[2] <= KERNARG_ALIGNED_STRIDE_MAX && o[2] <= KERNARG_ALIGNED_STRIDE_MAX)
        return 1;
    return is_aligned(&p->q) && is_aligned(&p->k) && is_aligned(&p->v) && is_aligned(&p->o);
}

/* Whether the kernels for aligned tensors can read this bias or mask: rows of four keys or more. */
static int has_runs(const struct aothip_tensor *tensor)
{
    return !tensor->data || (tensor->stride[3] == 1 && tensor->size[3] >= 4);
}

/* What the kernels for a mask that is the same for all queries read at a time. */
#define PADDING_RUN 16

static int is_padding(const struct aothip_tensor *keep)
{
    return (keep->size[2] == 1 || keep->stride[2] == 0) && keep->stride[3] == 1 &&
           keep->size[3] >= PADDING_RUN;
}

/*
 * The kernels for slopes or bias alone divide them by the scale, and those without either may count
 * in scores: nothing seen, times a scale of 0, is not below every sink.
 */
#define SCALE_MIN 0x1p-40f

static uint32_t option_features(const struct aothip_attn_fwd_params *p)
{
    uint32_t features = 0;
    if (p->bias.data)
        features |= p->bias.dtype == p->o.dtype && fabsf(p->scale) >= SCALE_MIN
                        ? FORMAT_FEATURE_BIAS
                        : FORMAT_FEATURE_SCORE;
    if (p->keep.data)
        features |= is_padding(&p->keep) ? FORMAT_FEATURE_PADDING : FORMAT_FEATURE_KEEP;
    if (p->alibi_slopes)
        features |= fabsf(p->scale) < SCALE_MIN ? FORMAT_FEATURE_SCORE : FORMAT_FEATURE_SLOPES;
    if (p->softcap > 0)
        features |= FORMAT_FEATURE_SOFTCAP;
    if (p->dropout_p > 0)
        features |= FORMAT_FEATURE_DROPOUT;
    if (p->block_table || p->batch_index)
        features |= FORMAT_FEATURE_PAGED;
    return features;
}

static int64_t largest_dim(const struct aothip_attn_fwd_params *p)
{
    return p->v.size[3] > p->q.size[3] ? p->v.size[3] : p->q.size[3];
}

struct select_need select_need_attn_fwd(const struct aothip_attn_fwd_params *p, int plain)
{
    struct select_need need = {FORMAT_OP_ATTN_FWD, p->q.dtype, 0, largest_dim(p), p->v.size[3]};
    if (!plain)
        need.features = option_features(p);
    if (!plain && p->sinks && fabsf(p->scale) < SCALE_MIN)
        need.features |= FORMAT_FEATURE_SCORE;
    if (shape_is_fp8_cache(p))
        need.features |= FORMAT_FEATURE_FP8_CACHE;
    if (are_aligned(p) && (plain || (has_runs(&p->bias) && has_runs(&p->keep))))
        return need;
    need.features |= FORMAT_FEATURE_UNALIGNED;
    if (!has_rows(&p->q) || !has_rows(&p->k) || !has_rows(&p->v) || !has_rows(&p->o) ||
        (!plain && (!has_runs(&p->bias) || !has_runs(&p->keep))))
        need.features |= FORMAT_FEATURE_STRIDED;
    return need;
}

/*
 * Whether the kernels of the gradients for aligned rows reach a bias or a mask: with 32-bit offsets
 * from the first of 32 rows, key by key.
 */
static int is_near(const struct aothip_tensor *scores)
{
    return !scores->data ||
           (scores->size[3] > 1 && scores->stride[3] == 1 &&
            scores->size[3] <= KERNARG_ALIGNED_STRIDE_MAX &&
            (scores->size[2] == 1 || scores->stride[2] <= KERNARG_ALIGNED_STRIDE_MAX));
}

/* Whether the kernels of the gradients for a mask alone reach its heads and batch entries, and
 * those of another tensor: with strides of 32 bits. */
static int has_near_heads(const struct aothip_tensor *tensor)
{
    return (tensor->size[0] == 1 || tensor->stride[0] <= UINT32_MAX) &&
           (tensor->size[1] == 1 || tensor->stride[1] <= UINT32_MAX);
}

/* The forward pass alone has kernels for a mask that is the same for all queries: to the others its
 * rows are as any, no bytes apart. */
static uint32_t other_features(const struct aothip_attn_fwd_params *p)
{
    const uint32_t features = option_features(p);
    return features & FORMAT_FEATURE_PADDING
               ? (features & ~(uint32_t)FORMAT_FEATURE_PADDING) | FORMAT_FEATURE_KEEP
               : features;
}

struct select_need select_need_other(enum format_op op, const struct aothip_attn_fwd_params *p,
                                     const struct aothip_tensor *const *tensors, int count)
{
    struct select_need need = {op, p->q.dtype, other_features(p), largest_dim(p), 0};
    const int scores = op != FORMAT_OP_ATTN_MERGE && op != FORMAT_OP_ATTN_APPEND &&
                       op != FORMAT_OP_ATTN_BWD_DELTA && op != FORMAT_OP_ATTN_BWD_BEGIN &&
                       (op != FORMAT_OP_ATTN_PROBS || p->probs_dropped);
    const int append = op == FORMAT_OP_ATTN_APPEND;
    if (!scores && !append) /* which does not see q, k and v */
        need.dtype = p->o.dtype;
    if (shape_is_fp8_cache(p) && (scores || (append && shape_new_rows(p))))
        need.features |= FORMAT_FEATURE_FP8_CACHE;
    if (!scores)
        need.features &= ~(uint32_t)FORMAT_FEATURE_SCORE;
    if (!scores && !append)
        need.features &= ~(uint32_t)FORMAT_FEATURE_PAGED;
    if (scores && (!is_near(&p->bias) || !is_near(&p->keep)))
        need.features |= FORMAT_FEATURE_UNALIGNED;
    if (scores && p->keep.data && !has_near_heads(&p->keep))
        need.features |= FORMAT_FEATURE_UNALIGNED;
    for (int i = 0; i < count; i++)
        if (tensors[i]->data &&
            (!is_aligned(tensors[i]) || (scores && p->keep.data && !has_near_heads(tensors[i]))))
            need.features |= FORMAT_FEATURE_UNALIGNED;
    return need;
}

struct select_need select_need_converted(const struct select_need *need,
                                         const struct aothip_attn_fwd_params *p)
{
    struct select_need converted = *need;
    converted.dtype = p->o.dtype;
    converted.features |= FORMAT_FEATURE_FP8_CACHE;
    /* Those for aligned rows know q of FP8 where no kernel that multiplies it does. */
    if (need->op != FORMAT_OP_ATTN_FWD ||
        (need->dim <= 128 && !(need->features & FORMAT_FEATURE_SCORE)))
        converted.features |= FORMAT_FEATURE_UNALIGNED;
    return converted;
}

int select_foreign_fp8(const char *gpu, int dtype)
{
    const enum target_fp8 own = target_fp8(gpu);
    const int fnuz = dtype == AOTHIP_FP8_E4M3_FNUZ || dtype == AOTHIP_FP8_E5M2_FNUZ;
    return shape_is_fp8(dtype) && own != TARGET_FP8_UNKNOWN &&
           own != (fnuz ? TARGET_FP8_FNUZ : TARGET_FP8_OCP);
}

struct select_need select_need_merge(const struct aothip_attn_merge_params *p)
{
    struct select_need need = {FORMAT_OP_ATTN_MERGE_PART, p->part_o.dtype, 0, p->o.size[3], 0};
    if (!is_aligned(&p->o) || !is_aligned(&p->part_o))
        need.features |= FORMAT_FEATURE_UNALIGNED;
    return need;
}

static void sort_rows(struct select_index *index, const struct format_entry *entries,
                      const struct format_cost *costs, uint32_t count)
{
    uint16_t filled[GROUPS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct format_entry *entry = &entries[i];
        const unsigned group = select_group(entry->op, entry->dtype);
        struct select_row *rows = &index->rows[index->begin[group]];
        unsigned at = filled[group]++;
        for (; at > 0 && entries[rows[at - 1].entry].rank > entry->rank; at--)
            rows[at] = rows[at - 1];
        rows[at] =
            (struct select_row){.dim_max = entry->dim_max,
                                .dim_v_max = entry->dim_v_max ? entry->dim_v_max : entry->dim_max,
                                .dim_min = entry->dim_min,
                                .entry = (uint16_t)i,
                                .features = entry->features,
                                .sole = format_sole_features(entry->features),
                                .tile_q = entry->tile_q,
                                .tile_k = entry->tile_k};
        if (costs)
            rows[at].cost = costs[i];
    }
}

/* Whether a row is for fewer channels of v. */
static int is_narrow(const struct select_row *row)
{
    return row->dim_v_max < row->dim_max;
}

/* Chains the rows with costs that are for the same problems; and one for fewer channels of v, which
 * has large tiles, to those for as many as of q. */
static void chain_rows(struct select_row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = i + 1; j < count && rows[i].cost.start && !rows[i].other; j++)
            if (rows[j].cost.start && rows[j].features == rows[i].features &&
                (is_narrow(&rows[i]) ? rows[j].dim_max >= rows[i].dim_max && !rows[j].dim_min
                                     : rows[j].dim_max == rows[i].dim_max))
                rows[i].other = (uint16_t)(j - i);
}

/* The cost of the row without features that has the channels and the tile of another one; or 0. */
static struct format_cost plain_cost(const struct select_row *rows, unsigned count,
                                     const struct select_row *like)
{
    for (unsigned i = 0; i < count; i++)
        if (!rows[i].features && rows[i].dim_max == like->dim_max &&
            rows[i].dim_v_max == like->dim_v_max && rows[i].tile_q == like->tile_q &&
            rows[i].tile_k == like->tile_k)
            return rows[i].cost;
    return (struct format_cost){0};
}

/*
 * Chains a row with features that computes all channels, with large tiles, to the one that would be
 * taken without it. Those have no costs of their own: which is faster the same tiles without
 * features say, since what features add to both is much the same.
 */
static void chain_features(struct select_row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned j = i + 1;
        struct format_cost cost, other;
        if (!rows[i].features || !rows[i].dim_min || rows[i].cost.start)
            continue;
        while (j < count &&
               (rows[j].dim_max != rows[i].dim_max || rows[j].dim_min ||
                ((rows[i].features & ~rows[j].features) | (~rows[i].features & rows[j].sole)) != 0))
            j++;
        if (j == count)
            continue;
        cost = plain_cost(rows, count, &rows[i]);
        other = plain_cost(rows, count, &rows[j]);
        if (!cost.start || !other.start)
            continue;
        rows[i].cost = cost;
        rows[j].cost = other;
        rows[i].other = (uint16_t)(j - i);
    }
}

/* Chains the rows of attn_split that differ in how many queries they take, and that the later ones
 * may have more features. */
static void chain_splits(struct select_row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = i + 1; j < count && !rows[i].other; j++)
            if (rows[j].dim_max == rows[i].dim_max && rows[j].sole == rows[i].sole &&
                !(rows[i].features & ~rows[j].features))
                rows[i].other = (uint16_t)(j - i);
}

void select_index_fill(struct select_index *index, const struct format_entry *entries,
                       const struct format_cost *costs, uint32_t count)
{
    memset(index->begin, 0, sizeof(index->begin));
    for (uint32_t i = 0; i < count; i++)
        index->begin[select_group(entries[i].op, entries[i].dtype) + 1]++;
    for (unsigned group = 0; group < GROUPS; group++)
        index->begin[group + 1] = (uint16_t)(index->begin[group + 1] + index->begin[group]);
    sort_rows(index, entries, costs, count);
    for (unsigned group = select_group(FORMAT_OP_ATTN_FWD, 0);
         group < select_group(FORMAT_OP_ATTN_FWD + 1, 0); group++) {
        struct select_row *rows = &index->rows[index->begin[group]];
        const unsigned of_group = index->begin[group + 1] - index->begin[group];
        chain_rows(rows, of_group);
        chain_features(rows, of_group);
    }
    for (unsigned group = select_group(FORMAT_OP_ATTN_SPLIT, 0);
         group < select_group(FORMAT_OP_ATTN_SPLIT + 1, 0); group++)
        chain_splits(&index->rows[index->begin[group]],
                     index->begin[group + 1] - index->begin[group]);
}

const struct select_row *select_split(const struct select_row *first, uint64_t rows)
{
    const struct select_row *best = first;
    for (const struct select_row *row = first; row->other;) {
        row += row->other;
        if (best->tile_q < rows ? row->tile_q > best->tile_q
                                : row->tile_q >= rows && row->tile_q < best->tile_q)
            best = row;
    }
    return best;
}

/* By how much more a step's share of a unit takes than a step alone where memory bounds both. */
#define SHARED_MEMORY 1.25

/* Of rows that see a part of the keys each: how much of a longest workgroup's time units wait for
 * the last ones, and what part of a workgroup's start each that follows another one takes of a
 * unit. */
#define LAST_WAIT 0.25
#define NEXT_START 0.08

/*
 * Where rows see `part` of all keys on average, and half of a tile's rows more, the longest
 * workgroup has all steps. The longest come first, so that units have as much to do each.
 */
static double time_of_part(const struct select_row *row, const struct select_size *size,
                           uint64_t all, uint32_t steps, double shared, double part)
{
    const double alone = steps * (double)row->cost.alone, each = (double)all / size->units;
    double time;
    part += row->tile_q / 2.0 / size->keys;
    shared *= steps * (part < 1 ? part : 1);
    time = shared * each;
    if (each > 1)
        time += shared * LAST_WAIT + (each - 1) * row->cost.start * NEXT_START;
    return row->cost.start + (time > alone ? time : alone);
}

/* Where all have as many steps, workgroups follow each other in rounds. */
static double time_of(const struct select_row *row, const struct select_size *size, double part)
{
    const uint64_t all = size->heads * args_count_tiles(size->rows, row->tile_q);
    const uint64_t filled = all + size->units - 1;
    /* Dividing 32 bits takes a fraction of the time. */
    const uint64_t rounds = filled >> 32 ? filled / size->units : (uint32_t)filled / size->units;
    const int64_t seen = size->window + row->tile_q;
    const uint32_t keys = seen < size->keys ? (uint32_t)(seen > 0 ? seen : 0) : size->keys;
    const uint32_t steps = args_count_tiles(keys, row->tile_k);
    const double alone = row->cost.alone;
    double shared = row->cost.shared;
    /* The GPU's memory is shared then, which other tiles need as much of: two at a time. */
    if (shared > SHARED_MEMORY * alone)
        shared = alone / 2;
    if (part < 1 && keys)
        return time_of_part(row, size, all, steps, shared, part);
    shared *= (double)rounds;
    return row->cost.start + steps * (shared > alone ? shared : alone);
}

double select_time(const struct select_row *row, const struct select_size *size)
{
    return time_of(row, size, 1);
}

/* What steps of kernels for as many channels of v as of q take of their time where it has fewer;
 * and where rows see a part of the keys each. */
#define NARROW_SHARE 0.75
#define NARROW_SHARE_OF_PART 0.65

const struct select_row *select_tile(const struct select_row *first, const struct select_size *size)
{
    const double share = size->seen < 1 ? NARROW_SHARE_OF_PART : NARROW_SHARE;
    const struct select_row *best = first;
    double least = time_of(first, size, size->seen);
    for (const struct select_row *row = first; row->other;) {
        double time;
        row += row->other;
        time = time_of(row, size, size->seen);
        if (is_narrow(first) && !is_narrow(row))
            time = row->cost.start + (time - row->cost.start) * share;
        if (time < least) {
            least = time;
            best = row;
        }
    }
    return best;
}
