/*
 * Backward attention, the gradient of the bias:  dB = dS, summed over what the bias is broadcast
 * along, in a fixed order.
 *
 * A workgroup has TILE_Q x TILE_K elements of one (batch, head) of dB: workgroup x has head
 * x % dbias_heads, key tile x / dbias_heads % tiles, query tile x / dbias_heads / tiles, where
 * tiles = ceil(dbias_keys / TILE_K). It adds up dS of that tile in all sequences and heads that
 * share it; where rows or keys share an element, dS of all tiles of rows or keys, and in the end
 * the rows or keys of the sum. In f32 a thread has elements of dS, one after the other.
 */
#if KERNEL_DTYPE == 1
#include "gradient_score.h"
#else
#define SUMS_ELEMENTS 1
#define SUMS_DQ 0
#include "query_walk.h"
#endif

/* first .. end - 1 of one dimension: all of it where dB has size 1, else number `at`. */
struct span {
    int first, end;
};

DEVICE struct span span_of(int at, int size, int all)
{
    return {size == 1 ? 0 : at, size == 1 ? all : at + 1};
}

/* The workgroup's part of dB. Uniform. */
struct part {
    int entry, head, tile_q, tile_k;
};

DEVICE void store_dbias(const struct part &part, int row, int key, float value)
{
    const struct attn_bwd_args &args = args_here();
    row += part.tile_q * KERNEL_TILE_Q;
    key += part.tile_k * KERNEL_TILE_K;
    if (row >= args.dbias_rows || key >= args.dbias_keys)
        return;
    const kernarg_i64 *stride = args.dbias.stride;
    kernarg_i64 at = awaited(part.entry) * stride[0] + awaited(part.head) * stride[1] +
                     row * stride[2] + key * stride[3];
#if KERNEL_DTYPE != 1
    if (!(args.problem.flags & KERNARG_BIAS_F32)) {
        ((GLOBAL u16 *)args.dbias.data)[at] = (u16)round_pair_even(value, 0);
        return;
    }
#endif
    ((GLOBAL float *)args.dbias.data)[at] = value;
}

#if KERNEL_DTYPE == 1

/*
 * Threads side by side have keys side by side; what is beyond a line of keys is another row. A sum
 * over rows or keys is shared out to the threads that would have them, LINES or TILE_K apart, and
 * added up at the end.
 */
constexpr int LINES = THREADS / KERNEL_TILE_K, ROUNDS = KERNEL_TILE_Q / LINES;

static_assert(KERNEL_TILE_K % KERNEL_WAVE == 0 && ROUNDS * LINES == KERNEL_TILE_Q,
              "a wave has one row, a thread one key");

static SHARED float partial[LINES][KERNEL_TILE_K];

/* A thread's sum, for row `row` and key `key` of dB or as far as it has part in them. */
struct sums {
    int row, key; /* the row is uniform */
    float x;
};

DEVICE void add_place(struct sums &to, const struct part &, const struct place &p)
{
    const bool all_rows = args_here().dbias_rows == 1, all_keys = args_here().dbias_keys == 1;
    const int end = p.sequence.seq_q;
#pragma unroll 1
    for (int m = to.row; m < end; m += LINES) {
        const struct key_range seen = keys_of_row(p.sequence, m);
        const int last = all_keys ? seen.last : to.key;
#pragma unroll 1
        for (int n = all_keys ? seen.first + to.key : to.key; n <= last; n += KERNEL_TILE_K)
            to.x += weights_at<OF_TERMS>(p, m, n).d;
        if (!all_rows)
            break;
    }
}

/* What the threads have of the rows or keys that dB sums up, in those of its first row or key. */
DEVICE float sum_up(float x)
{
    const u32 line = wave_id() * KERNEL_WAVE / KERNEL_TILE_K, key = thread_id() % KERNEL_TILE_K;
    const bool all_rows = args_here().dbias_rows == 1, all_keys = args_here().dbias_keys == 1;
    if (!all_rows && !all_keys)
        return x;
    partial[line][key] = x;
    lds_barrier();
    if (all_keys)
#pragma unroll 1
        for (u32 apart = KERNEL_TILE_K / 2; apart > 0; apart /= 2) {
            if (key < apart)
                partial[line][key] += partial[line][key + apart];
            lds_barrier();
        }
    x = partial[line][key];
    if (all_rows)
#pragma unroll 1
        for (u32 other = 1; other < LINES; other++)
            x += partial[(line + other) % LINES][key];
    lds_barrier();
    return x;
}

#else

/* The sums in LDS lie where rows were, if they fit there. */
constexpr int SUMS = KERNEL_TILE_Q * KERNEL_TILE_K,
              SUMS_APART = sizeof(row_tile) < SUMS * sizeof(float);
static SHARED float sum_tile[SUMS_APART ? SUMS : 1];

static_assert(KERNEL_TILE_K == 32, "sums of a row have a bank each");

/* dS of the wave's rows and the tile's keys. */
struct sums {
    block_acc x[STREAM_BLOCKS];
};

DEVICE void take_block(struct sums &to, block_acc &, block_acc &ds, const struct context &,
                       const struct column &, int, int block)
{
    to.x[block] += ds;
}

DEVICE void add_place(struct sums &to, const struct part &part, const struct place &p)
{
    const int tiles = (p.sequence.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    struct span span = span_of(part.tile_q, args_here().dbias_rows, tiles);
    span.end = span.end < tiles ? span.end : tiles;
#pragma unroll 1
    for (int tile = span.first; tile < span.end; tile++) {
        const struct job job = job_of(p, tile * KERNEL_TILE_Q);
        struct walk walk = plan_walk(p.sequence, job.first_row, job.end_row - 1);
        struct span keys = span_of(part.tile_k, args_here().dbias_keys, walk.end);
        walk.begin = walk.begin > keys.first ? walk.begin : keys.first;
        walk.end = walk.end < keys.end ? walk.end : keys.end;
        add_elements(to, job, walk);
    }
}

/*
 * Where the sum of row `row` and key `key` lies in LDS: in different banks for 32 rows side by
 * side, and for two keys of 16 rows, which is what a wave32 stores at a time: keys side by side, or
 * on RDNA 4 eight apart.
 */
DEVICE float *sum_at(int row, int key)
{
    const int turn = KERNEL_WAVE == 32 && MMA_STRAIGHT
                         ? row % 8 | row / 16 % 2 << 3 | row / 8 % 2 << 4
                         : row % 16 * 2 + row / 16 % 2;
    float *sums = SUMS_APART ? sum_tile : (float *)row_tile[0];
    return sums + row * KERNEL_TILE_K + (key ^ turn);
}

DEVICE void store_sums(const struct sums &from, const struct part &part)
{
    const int thread = (int)thread_id();
    const int rows = args_here().dbias_rows, keys = args_here().dbias_keys;
    lds_barrier();
#pragma unroll
    for (int block = 0; block < STREAM_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            *sum_at((int)(wave_id() * BLOCK + lane_column()), block * BLOCK + (int)acc_row(i)) =
                from.x[block][i];
    lds_barrier();
    if (keys == 1) {
        if (thread < KERNEL_TILE_Q)
#pragma unroll 1
            for (int key = 1; key < KERNEL_TILE_K; key++)
                *sum_at(thread, 0) += *sum_at(thread, key);
        lds_barrier();
    }
    if (rows == 1) {
        if (thread < (keys == 1 ? 1 : KERNEL_TILE_K))
#pragma unroll 1
            for (int row = 1; row < KERNEL_TILE_Q; row++)
                *sum_at(0, thread) += *sum_at(row, thread);
        lds_barrier();
    }
#pragma unroll 1
    for (int at = thread; at < KERNEL_TILE_Q * KERNEL_TILE_K; at += THREADS)
        store_dbias(part, at / KERNEL_TILE_K, at % KERNEL_TILE_K,
                    *sum_at(at / KERNEL_TILE_K, at % KERNEL_TILE_K));
}

#endif

/* Adds up what all sequences and heads have that share the part. */
DEVICE void add_places(struct sums &to, const struct part &part)
{
    struct span entries =
        span_of(awaited(part.entry), args_here().dbias_batch, args_here().problem.batch);
    const int behind = wait_apart(entries.end);
#pragma unroll 1
    for (int b = wait_apart(entries.first); awaited(b) < awaited(behind); b = wait_apart(b + 1)) {
        struct span heads =
            span_of(awaited(part.head), args_here().dbias_heads, args_here().problem.heads_q);
        const int last = wait_apart(heads.end - 1);
#pragma unroll 1
        for (int h = wait_apart(heads.first); awaited(h) <= awaited(last); h = wait_apart(h + 1))
            add_place(to, part, place_of(args_here().problem, awaited(b), awaited(h)));
    }
}

#if KERNEL_DTYPE == 1
DEVICE void compute_dbias(const struct part &part)
{
    const int line = (int)(wave_id() * KERNEL_WAVE / KERNEL_TILE_K);
    const int key = (int)thread_id() % KERNEL_TILE_K;
    const int first = part.tile_q * KERNEL_TILE_Q;
    int rounds = (args_here().dbias_rows - first + LINES - 1) / LINES;
    rounds = rounds < ROUNDS ? rounds : ROUNDS;
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        const int row = round * LINES + line;
        struct sums sums = {first + row, part.tile_k * KERNEL_TILE_K + key, 0};
        add_places(sums, part);
        store_dbias(part, row, key, sum_up(sums.x));
    }
}
#else
DEVICE void compute_dbias(const struct part &part)
{
    struct sums sums = {};
    add_places(sums, part);
    store_sums(sums, part);
}
#endif

/* Up to how many waves a SIMD may hold: registers are given out for as many, and no more. */
#if KERNEL_WAVE == 32 && KERNEL_DIM == 64 && KERNEL_DTYPE != 1
#define WAVES_MOST 8
#else
#define WAVES_MOST KERNEL_WAVES_PER_EU
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, WAVES_MOST))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    u32 entry = __builtin_amdgcn_workgroup_id_z() * (u32)args.problem.grid_y +
                __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();

    if (entry >= (u32)args.dbias_batch)
        return;
    u32 tile = uniform(x / (u32)args.dbias_heads);
    u32 tiles_k = ((u32)args.dbias_keys + KERNEL_TILE_K - 1) / KERNEL_TILE_K;
    u32 tile_q = uniform(tile / tiles_k);
    compute_dbias({wait_apart((int)entry), wait_apart((int)(x - tile * (u32)args.dbias_heads)),
                   (int)tile_q, (int)(tile - tile_q * tiles_k)});
}
