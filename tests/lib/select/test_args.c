/* Kernel arguments, byte for byte, and grids. */
#include "args.h"

#include "fake_problem.h"
#include "tap.h"

static const struct format_entry entry = {.tile_q = 64, .threads = 256};
static const struct args_order none;

static void test_bytes(void)
{
    /* the struct as the GPU reads it: written by hand from the comment in kernarg.h */
    static const uint8_t q_address[8] = {0, 0, 0, 0x10};
    static const uint8_t scale[4] = {0, 0, 0, 0x3e}; /* 0.125 */
    static const int32_t tail[] = {2, 8, 2, 4, 100, 300, 64, 64, 2, 8, 0, KERNARG_ALIKE};
    static const int64_t strides[] = {8 * 100 * 64, 100 * 64, 64, 2 * 300 * 64, 300 * 64, 64};
    struct aothip_attn_fwd_params p = problem_make();
    struct attn_fwd_args args;
    struct args_grid grid;
    struct status why;
    const uint8_t *bytes = (const uint8_t *)&args;
    int32_t first, last;
    memset(&args, 0xee, sizeof(args));
    status_clear(&why);
    is_int(args_attn_fwd(&p, 1, &none, &entry, &args, &grid, &why), AOTHIP_OK, "args");
    ok(!memcmp(bytes, q_address, 8), "q at 0");
    ok(bytes[8 + 3] == 0x20 && bytes[16 + 3] == 0x30 && bytes[472 + 3] == 0x40 &&
           bytes[504 + 3] == 0x50,
       "k, v, o, lse at 8, 16, 472, 504");
    ok(!memcmp(bytes + 24, strides, 48), "strides of q and k at 24");
    ok(!memcmp(bytes + 96, tail, sizeof(tail)), "sizes at 96");
    ok(!memcmp(bytes + 144, scale, 4), "scale at 144");
    memcpy(&first, bytes + 148, 4);
    memcpy(&last, bytes + 152, 4);
    is_int(first, -(1 << 30), "key_first at 148");
    is_int(last, 1 << 30, "key_last at 152");
    is_int(sizeof(args), 528, "528 bytes in all");
    is_int(grid.x, 2 * 8, "2 query tiles of 8 heads along x");
    is_int(grid.y, 2, "batch along y");
    is_int(grid.z, 1, "one along z");
    is_int(grid.threads, 256, "threads");
    p.lse = NULL;
    args_attn_fwd(&p, 1, &none, &entry, &args, &grid, &why);
    is_int(args.lse, 0, "no lse");
}

static void test_strides_of_one(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    struct attn_fwd_args args;
    struct args_grid grid;
    struct status why;
    status_clear(&why);
    for (int i = 0; i < 3; i++) {
        p.q.size[i] = p.o.size[i] = 1;
        p.q.stride[i] = -12345;
    }
    args_attn_fwd(&p, 1, &none, &entry, &args, &grid, &why);
    is_int(args.problem.q_stride.batch, 0, "batch of 1: its stride is never seen");
    is_int(args.problem.q_stride.head, 0, "one head: neither");
    is_int(args.problem.q_stride.seq, 64, "one row: packed");
}

static void test_keys(void)
{
    static const struct {
        int mask;
        int64_t seq_q, seq_k;
        int32_t first, last;
    } cases[] = {
        {AOTHIP_MASK_NONE, 5, 7, -(1 << 30), 1 << 30},
        {AOTHIP_MASK_CAUSAL_TOP_LEFT, 5, 7, -(1 << 30), 0},
        {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 5, 7, -(1 << 30), 2},
        {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 7, 5, -(1 << 30), -2},
        {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 1 << 30, 1, -(1 << 30), 1 - (1 << 30)},
        {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 1, 1 << 30, -(1 << 30), (1 << 30) - 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct aothip_attn_fwd_params p = problem_make();
        struct args_keys keys;
        p.mask = cases[i].mask;
        p.q.size[2] = cases[i].seq_q;
        p.k.size[2] = cases[i].seq_k;
        keys = args_visible_keys(&p);
        ok(keys.first == cases[i].first && keys.last == cases[i].last,
           "mask %d, %lld x %lld: keys m%+d to m%+d", cases[i].mask, (long long)cases[i].seq_q,
           (long long)cases[i].seq_k, keys.first, keys.last);
    }
}

static void test_grid(void)
{
    static const struct {
        int64_t batch, heads, seq;
        unsigned x, y, z;
        int status;
    } cases[] = {
        {1, 1, 1, 1, 1, 1, AOTHIP_OK},
        {3, 2, 64, 2, 3, 1, AOTHIP_OK},
        {3, 2, 65, 4, 3, 1, AOTHIP_OK},
        {65535, 1, 1, 1, 65535, 1, AOTHIP_OK},
        {65536, 1, 1, 1, 65535, 2, AOTHIP_OK},
        {1 << 30, 1, 1, 1, 65535, 16385, AOTHIP_OK},
        {1, 1, 1 << 29, 1 << 23, 1, 1, AOTHIP_OK},
        {1, 1, 1 << 30, 0, 0, 0, AOTHIP_E_UNSUPPORTED},
        {1, (1 << 24) - 1, 1, (1 << 24) - 1, 1, 1, AOTHIP_OK},
        {1, 1 << 24, 1, 0, 0, 0, AOTHIP_E_UNSUPPORTED},
        {1, 1 << 30, 1 << 30, 0, 0, 0, AOTHIP_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct aothip_attn_fwd_params p = problem_make();
        struct attn_fwd_args args;
        struct args_grid grid;
        struct status why;
        int status;
        p.q.size[0] = cases[i].batch;
        p.q.size[1] = cases[i].heads;
        p.q.size[2] = cases[i].seq;
        status_clear(&why);
        status = args_attn_fwd(&p, 1, &none, &entry, &args, &grid, &why);
        ok(status == cases[i].status, "%lld x %lld x %lld: status %d", (long long)cases[i].batch,
           (long long)cases[i].heads, (long long)cases[i].seq, status);
        if (cases[i].status == AOTHIP_OK)
            ok(grid.x == cases[i].x && grid.y == cases[i].y && grid.z == cases[i].z &&
                   (uint64_t)grid.y * grid.z >= (uint64_t)cases[i].batch,
               "grid %u x %u x %u", grid.x, grid.y, grid.z);
        else
            contains(why.text, "q: ", "the message names q");
    }
}

/* Heads in runs: whole groups, alike, with tiles for a run, or for half of one if many heads. */
static void test_runs(void)
{
    static const struct {
        int64_t batch, heads_q, heads_k, tiles;
        unsigned run, x, y, z;
    } cases[] = {
        {2, 64, 64, 64, 160, 64 * 4, 2, 16},         /* 3 are no even part */
        {2, 64, 64, 16, 160, 16 * 8, 2, 8},          /* 16 are many: half as many workgroups */
        {2, 64, 64, 16, 192, 16 * 16, 2, 4},         /* not many */
        {2, 20, 20, 16, 160, 16 * 10, 2, 2},         /* two runs */
        {2, 19, 19, 16, 160, 16 * 19, 2, 1},         /* less */
        {2, 64, 64, 16, 0, 16 * 64, 2, 1},           /* a GPU that has no runs */
        {3, 28, 4, 32, 160, 32 * 7, 3, 4},           /* groups of 7 stay together */
        {1, 71, 1, 32, 160, 32 * 71, 1, 1},          /* one group */
        {1, 37, 37, 32, 160, 32 * 37, 1, 1},         /* nothing parts 37 evenly */
        {1, 74, 74, 32, 160, 32 * 37, 1, 2},         /* many, but the fewest */
        {65535, 64, 64, 16, 160, 16 * 8, 65535, 8},  /* as many sequences as y takes */
        {65536, 64, 64, 16, 160, 16 * 64, 65535, 2}, /* z counts sequences */
        {1, 1 << 22, 1 << 22, 1, 160, 128, 1, 1 << 15},
        {1, 1 << 23, 1 << 23, 1, 160, 1 << 23, 1, 1}, /* too many runs for z */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct aothip_attn_fwd_params p = problem_make();
        const struct args_order order = {cases[i].run, 0};
        const struct attn_problem *a;
        struct attn_fwd_args args;
        struct args_grid grid;
        struct status why;
        int runs;
        p.q.size[0] = p.k.size[0] = cases[i].batch;
        p.q.size[1] = cases[i].heads_q;
        p.k.size[1] = p.v.size[1] = cases[i].heads_k;
        p.q.size[2] = cases[i].tiles * entry.tile_q;
        status_clear(&why);
        if (!is_int(args_attn_fwd(&p, 1, &order, &entry, &args, &grid, &why), AOTHIP_OK, "runs"))
            continue;
        a = &args.problem;
        runs = grid.z > 1 && cases[i].batch <= 65535;
        ok(grid.x == cases[i].x && grid.y == cases[i].y && grid.z == cases[i].z,
           "%lld/%lld heads of %lld tiles, runs of %u: %u x %u x %u workgroups",
           (long long)cases[i].heads_q, (long long)cases[i].heads_k, (long long)cases[i].tiles,
           cases[i].run, grid.x, grid.y, grid.z);
        ok(a->heads_x * cases[i].tiles == grid.x && a->heads_z == (runs ? a->heads_x : 0) &&
               a->grid_y == (runs ? 0 : (int)grid.y),
           "and the kernel knows: %d along x, %d and %d sequences along z", a->heads_x, a->heads_z,
           a->grid_y);
    }
}

/* Heads of all sequences together: with a causal mask, where they are few enough. */
static void test_all_heads(void)
{
    enum { TOP_LEFT, BOTTOM_RIGHT, NO_MASK, WINDOW, LARGE, OPTIONS, ALONE, MOST, FLAT, CASES };
    static const char *const names[CASES] = {"top-left",  "bottom-right", "no mask",
                                             "window",    "large",        "options",
                                             "one entry", "too many",     "a tile"};
    for (int i = 0; i < CASES; i++) {
        const enum aothip_mask masks[CASES] = {AOTHIP_MASK_CAUSAL_TOP_LEFT,
                                               AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, AOTHIP_MASK_NONE,
                                               AOTHIP_MASK_WINDOW_TOP_LEFT};
        const int64_t batch = i == MOST ? 1 << 20 : i == ALONE ? 1 : 3;
        const int all = i == TOP_LEFT || i == BOTTOM_RIGHT || i == OPTIONS;
        const struct args_order order = {i == TOP_LEFT ? 20 : 0, i == LARGE  ? 150
                                                                 : i == MOST ? UINT64_MAX
                                                                             : 151};
        struct aothip_attn_fwd_params p = problem_make();
        struct attn_fwd_args args;
        struct args_grid grid;
        struct status why;
        p.q = p.o = problem_tensor((uintptr_t)p.q.data, batch, 10, i == FLAT ? 60 : 300, 64);
        p.k = p.v = problem_tensor((uintptr_t)p.k.data, batch, 2, 300, 64);
        p.mask = i <= WINDOW ? masks[i] : AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
        p.window_left = 5;
        status_clear(&why);
        is_int(args_attn_fwd(&p, i != OPTIONS, &order, &entry, &args, &grid, &why), AOTHIP_OK,
               names[i]);
        is_int(grid.x, all || i == FLAT ? 10 : 50, "10 heads along x, or their 5 tiles");
        is_int(grid.y, i == ALONE ? 1 : i == MOST ? 65535 : 3, "sequences along y");
        is_int(grid.z, all ? 5 : i == MOST ? 17 : 1, "tiles along z, or more sequences");
        is_int(args.problem.grid_y, all ? 0 : (int)grid.y, "z counts sequences, or not");
        is_int(args.problem.heads_z, 0, "nor heads");
        is_int(!!(args.problem.flags & KERNARG_TILES_ALONG_Z), all, "the kernel knows");
        is_int(args.problem.heads_x, 10, "heads along x as they are");
        is_int(args.problem.batch, batch, "batch as it is");
        is_int(args.problem.heads_q, 10, "heads of a sequence as they are");
        is_int(args.problem.k_stride.batch, batch == 1 ? 0 : 2 * 300 * 64, "strides, too");
    }
}

int main(void)
{
    test_bytes();
    test_strides_of_one();
    test_keys();
    test_grid();
    test_runs();
    test_all_heads();
    return tap_done();
}
