/* Kernel arguments, byte for byte, and grids. */
#include "args.h"

#include "fake_problem.h"
#include "tap.h"

static const struct format_entry entry = {.tile_q = 64, .threads = 256};

static void test_bytes(void)
{
    /* the struct as the GPU reads it: written by hand from the comment in kernarg.h */
    static const uint8_t q_address[8] = {0, 0, 0, 0x10};
    static const uint8_t scale[4] = {0, 0, 0, 0x3e}; /* 0.125 */
    static const int32_t tail[] = {2, 8, 2, 4, 100, 300, 64, 64, 2, KERNARG_ALIKE};
    static const int64_t strides[] = {8 * 100 * 64, 100 * 64, 64, 2 * 300 * 64, 300 * 64, 64};
    struct aothip_attn_fwd_params p = problem_make();
    struct attn_fwd_args args;
    struct args_grid grid;
    struct status why;
    const uint8_t *bytes = (const uint8_t *)&args;
    int32_t first, last;
    memset(&args, 0xee, sizeof(args));
    status_clear(&why);
    is_int(args_attn_fwd(&p, 1, &entry, &args, &grid, &why), AOTHIP_OK, "args");
    ok(!memcmp(bytes, q_address, 8), "q at 0");
    ok(bytes[8 + 3] == 0x20 && bytes[16 + 3] == 0x30 && bytes[464 + 3] == 0x40 &&
           bytes[496 + 3] == 0x50,
       "k, v, o, lse at 8, 16, 464, 496");
    ok(!memcmp(bytes + 24, strides, 48), "strides of q and k at 24");
    ok(!memcmp(bytes + 96, tail, sizeof(tail)), "sizes at 96");
    ok(!memcmp(bytes + 136, scale, 4), "scale at 136");
    memcpy(&first, bytes + 140, 4);
    memcpy(&last, bytes + 144, 4);
    is_int(first, -(1 << 30), "key_first at 140");
    is_int(last, 1 << 30, "key_last at 144");
    is_int(sizeof(args), 520, "520 bytes in all");
    is_int(grid.x, 2 * 8, "2 query tiles of 8 heads along x");
    is_int(grid.y, 2, "batch along y");
    is_int(grid.z, 1, "one along z");
    is_int(grid.threads, 256, "threads");
    p.lse = NULL;
    args_attn_fwd(&p, 1, &entry, &args, &grid, &why);
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
    args_attn_fwd(&p, 1, &entry, &args, &grid, &why);
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
        status = args_attn_fwd(&p, 1, &entry, &args, &grid, &why);
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

int main(void)
{
    test_bytes();
    test_strides_of_one();
    test_keys();
    test_grid();
    return tap_done();
}
