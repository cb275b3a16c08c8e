/* What options put into the kernels' arguments. */
#include "args.h"

#include <math.h>

#include "fake_problem.h"
#include "shape.h"
#include "tap.h"

typedef struct aothip_attn_fwd_params params;

static const struct args_order none;

enum { UNBOUNDED = 1 << 30, END_FIRST = KERNARG_FIRST_FROM_END, END_LAST = KERNARG_LAST_FROM_END };

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Windows; row m of 100 sees m + first .. m + last of 300 keys. */
static const struct {
    int mask;
    int32_t left, right;
    int device; /* lengths are known on the GPU only */
    int32_t first, last;
    uint32_t flags;
} windows[] = {
    {AOTHIP_MASK_WINDOW_TOP_LEFT, 3, 4, 0, -3, 4, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, -3, -4, 0, 3, -4, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, INT32_MAX, INT32_MAX, 0, -UNBOUNDED, UNBOUNDED, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, INT32_MIN, INT32_MIN, 0, UNBOUNDED, -UNBOUNDED, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, INT32_MAX - 1, 0, 0, -UNBOUNDED, 0, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, 3, 4, 1, -3, 4, 0},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 3, 4, 0, 197, 204, 0},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 3, INT32_MAX, 0, 197, UNBOUNDED, 0},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, INT32_MAX, 0, 0, -UNBOUNDED, 200, 0},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 3, 4, 1, -3, 4, END_FIRST | END_LAST},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, INT32_MAX, 4, 1, -UNBOUNDED, 4, END_LAST},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 3, INT32_MAX, 1, -3, UNBOUNDED, END_FIRST},
    {AOTHIP_MASK_WINDOW_MIXED, 3, 4, 0, -3, 204, 0},
    {AOTHIP_MASK_WINDOW_MIXED, 3, 4, 1, -3, 4, END_LAST},
    {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 9, 9, 1, -UNBOUNDED, 0, END_LAST},
    {AOTHIP_MASK_CAUSAL_TOP_LEFT, 9, 9, 1, -UNBOUNDED, 0, 0},
    {AOTHIP_MASK_NONE, 9, 9, 1, -UNBOUNDED, UNBOUNDED, 0},
};

static void test_windows(void)
{
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        params p = problem_make();
        struct args_keys keys;
        p.mask = windows[i].mask;
        p.window_left = windows[i].left;
        p.window_right = windows[i].right;
        p.k_seqs.lengths = windows[i].device ? at(0x60000000) : NULL;
        keys = args_visible_keys(&p);
        ok(keys.first == windows[i].first && keys.last == windows[i].last &&
               keys.flags == windows[i].flags,
           "mask %d, left %d, right %d: %d to %d, flags %x", p.mask, p.window_left, p.window_right,
           keys.first, keys.last, keys.flags);
    }
}

static struct attn_problem fill(const params *p)
{
    struct attn_problem problem;
    memset(&problem, 0xee, sizeof(problem));
    args_problem(p, &problem);
    return problem;
}

static params packed(void)
{
    params p = problem_make();
    struct aothip_tensor *all[] = {&p.q, &p.k, &p.v, &p.o};
    for (int i = 0; i < 4; i++)
        all[i]->size[0] = 1;
    p.sequences = 3;
    p.q_seqs = (struct aothip_seqs){.packed = 1, .cumulative = at(0x60000000), .max = 40};
    p.k_seqs = (struct aothip_seqs){.packed = 1,
                                    .cumulative = at(0x60001000),
                                    .lengths = at(0x60002000),
                                    .starts = at(0x60003000)};
    return p;
}

static void test_sequences(void)
{
    params p = packed();
    struct attn_problem a = fill(&p);
    is_int(a.batch, 3, "three sequences");
    is_int(a.seq_q, 40, "the grid covers 40 rows of each");
    is_int(a.q_seqs.max, 100, "q: the tensor's rows where no array gave a length");
    is_int(a.q_seqs.rows, 100, "and as the limit");
    is_int(a.q_seqs.packed, 1, "packed");
    ok(a.q_seqs.cumulative == 0x60000000 && !a.q_seqs.lengths && !a.q_seqs.starts, "q: one array");
    ok(a.k_seqs.cumulative == 0x60001000 && a.k_seqs.lengths == 0x60002000 &&
           a.k_seqs.starts == 0x60003000,
       "k: three arrays");
    is_int(a.flags & KERNARG_INDEX64, 0, "of 32 bits");
    p.index64 = 1;
    is_int(fill(&p).flags & KERNARG_INDEX64, KERNARG_INDEX64, "of 64 bits");
    p.q_seqs.max = 1000;
    is_int(fill(&p).seq_q, 100, "no more rows than there are");
    p = packed();
    p.q_seqs.cumulative = p.k_seqs.cumulative = p.k_seqs.lengths = NULL;
    p.q_seqs.starts = p.k_seqs.starts = at(0x2000);
    p.k_seqs.max = 120;
    ok(fill(&p).q_seqs.max == 40 && fill(&p).q_seqs.rows == 100, "of q: max is the length of all");
    ok(fill(&p).k_seqs.max == 120 && fill(&p).k_seqs.rows == 300, "of k too");
    p.k_seqs.max = 1000;
    is_int(fill(&p).k_seqs.max, 300, "no longer than the tensor");
    p.k_seqs.lengths = at(0x3000);
    p.k_seqs.max = 120;
    is_int(fill(&p).k_seqs.max, 300, "but where lengths are given");
}

static const struct {
    int layout;
    int64_t batch, head, seq, size;
    uint32_t flags;
} layouts[] = {
    {AOTHIP_LSE_ROWS, 8 * 40, 40, 1, 3 * 8 * 40, 0},
    {AOTHIP_LSE_HEADS, 0, 100, 1, 800, KERNARG_LSE_PACKED},
    {AOTHIP_LSE_TOTAL, 0, 1, 8, 800, KERNARG_LSE_PACKED},
    {AOTHIP_LSE_HEADS_COMPACT, 0, 100, 1, 800, KERNARG_LSE_PACKED | KERNARG_LSE_PITCH_READ},
};

static void test_lse(void)
{
    params padded = problem_make();
    padded.q_seqs.max = 40;
    padded.q_seqs.lengths = at(0x1000);
    padded.lse_layout = AOTHIP_LSE_HEADS;
    ok(fill(&padded).lse_stride.batch == 40 && fill(&padded).lse_stride.head == 2 * 40 &&
           fill(&padded).lse_stride.seq == 1 && fill(&padded).lse_size == 8 * 2 * 40 &&
           !(fill(&padded).flags & KERNARG_LSE_PACKED),
       "lse by heads of queries that are not packed");
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        params p = packed();
        struct attn_problem a;
        p.lse_layout = layouts[i].layout;
        a = fill(&p);
        ok(a.lse_stride.batch == layouts[i].batch && a.lse_stride.head == layouts[i].head &&
               a.lse_stride.seq == layouts[i].seq && a.lse_size == layouts[i].size &&
               (a.flags & (KERNARG_LSE_PACKED | KERNARG_LSE_PITCH_READ)) == layouts[i].flags,
           "lse layout %d", layouts[i].layout);
        ok(a.lse_unit == 1, "natural");
        p.lse_size = 17;
        p.lse_base2 = 1;
        a = fill(&p);
        is_int(a.lse_size, 17, "17 elements of it");
        p.lse_size = INT64_MAX;
        is_int(fill(&p).lse_size, layouts[i].size, "no more than the layout takes, as of delta");
        ok(fabsf(a.lse_unit - 1.442695f) < 1e-6f, "to base 2");
    }
}

static void test_scores(void)
{
    params p = problem_make();
    struct attn_problem a = fill(&p);
    ok(!a.bias.data && !a.keep.data && !a.alibi && a.softcap == 0 && !a.sinks, "none");
    is_int(a.keys_most, INT32_MAX, "which have room for any number of keys");
    p.bias = problem_tensor(0x70000000, 1, 8, 1, 300);
    p.bias.stride[0] = p.bias.stride[2] = -7;
    p.bias.stride[3] = 2;
    p.keep = problem_tensor(0x78000000, 2, 1, 100, 300);
    p.alibi_slopes = at(0x65000000);
    p.alibi_stride = 8;
    p.softcap = 30;
    p.sinks = at(0x66000000);
    a = fill(&p);
    ok(a.bias.data == 0x70000000 && a.bias.stride[0] == 0 && a.bias.stride[1] == 300 &&
           a.bias.stride[2] == 0 && a.bias.stride[3] == 2,
       "bias: sizes of 1 have stride 0");
    is_int(a.flags & KERNARG_BIAS_F32, 0, "in q's type");
    ok(a.keep.data == 0x78000000 && a.keep.stride[0] == 30000 && a.keep.stride[1] == 0, "keep");
    ok(a.alibi == 0x65000000 && a.alibi_stride == 8, "ALiBi");
    ok(a.softcap == 30, "soft-cap");
    ok(a.sinks == 0x66000000, "sinks");
    p.bias.dtype = AOTHIP_F32;
    is_int(fill(&p).flags & KERNARG_BIAS_F32, KERNARG_BIAS_F32, "bias in F32");
    is_int(a.keys_most, 300, "room for 300 keys");
    p.k_seqs.max = 50;
    p.bias.size[3] = 50;
    is_int(fill(&p).keys_most, 50, "the bias has room for 50");
    is_int(fill(&p).k_seqs.max, 50, "more do not exist");
    p.keep.size[3] = 1;
    p.bias.size[3] = 1;
    is_int(fill(&p).keys_most, INT32_MAX, "a size of 1 has room for all");
}

/* keep iff a signed half of a word is above that of the thresholds */
static const struct {
    float p;
    uint32_t thresholds;
    float scale;
} dropouts[] = {
    {0.5f, 0xffffffff, 2},
    {0.25f, 0xbfffbfff, 4.0f / 3},
    {0.75f, 0x3fff3fff, 4},
    {1, 0x7fff7fff, 0},
    {1e-30f, 0x80008000, 1},
    {1.5f / 65536, 0x80008000, 1 + 1.5f / 65536}, /* halves are rounded down */
    {1.6f / 65536, 0x80018001, 1 + 1.6f / 65536},
};

static void test_dropout(void)
{
    params p = problem_make();
    struct attn_problem a;
    p.dropout_seed = 5;
    p.dropout_seed_pointer = at(3); /* anything, as long as dropout_p is 0 */
    a = fill(&p);
    ok(!(a.flags & KERNARG_DROPOUT) && !a.dropout_seed_pointer && !a.dropout_seed,
       "without dropout no seed is passed on");
    for (size_t i = 0; i < sizeof(dropouts) / sizeof(dropouts[0]); i++) {
        p.dropout_p = dropouts[i].p;
        a = fill(&p);
        is_int(a.dropout_thresholds, dropouts[i].thresholds, "thresholds");
        ok(fabsf(a.dropout_scale - dropouts[i].scale) < 1e-6f, "scale of p = %g",
           (double)dropouts[i].p);
    }
    ok(a.flags & KERNARG_DROPOUT, "dropout");
    ok(a.dropout_seed == 5 && a.dropout_seed_pointer == 3, "seed");
    is_int(a.dropout_row_pitch, 40, "300 keys are 40 counters");
    is_int(a.dropout_head_pitch, 40 * 100, "of 100 rows");
    p = packed();
    p.dropout_p = 0.5f;
    a = fill(&p);
    is_int(a.dropout_row_pitch, 1 << 28, "packed keys of unknown length");
    is_int(a.dropout_head_pitch, (int64_t)40 << 28, "of 40 rows");
    p.k_seqs.max = 7;
    is_int(fill(&p).dropout_row_pitch, 4, "7 keys are 4 counters");
}

static void test_pages(void)
{
    params p = problem_make();
    struct attn_problem a;
    p.k = problem_tensor(0x20000000, 32, 2, 64, 64);
    p.v = problem_tensor(0x30000000, 32, 2, 64, 64);
    p.block_table = at(0x61000000);
    p.block_table_stride = 6;
    p.block_table_columns = 5;
    a = fill(&p);
    ok(a.block_table == 0x61000000 && a.block_table_stride == 6, "block table");
    is_int(a.page_shift, 6, "pages of 64 rows");
    is_int(a.pages, 32, "32 of them");
    is_int(a.k_seqs.rows, 5 * 64, "5 pages a sequence");
    is_int(a.k_seqs.max, 5 * 64, "all of them, where no lengths are given");
    is_int(a.batch, 2, "two sequences");
    p.k_seqs.max = 300;
    is_int(fill(&p).k_seqs.max, 300, "or as many as max says");
    p = problem_make();
    p.batch_index = at(0x67000000);
    is_int((intmax_t)fill(&p).batch_index, 0x67000000, "batch_index");
}

/* The fast way of filling must agree with the general one. */
static void test_plain(void)
{
    for (int mask = AOTHIP_MASK_NONE; mask <= AOTHIP_MASK_WINDOW_MIXED; mask++) {
        const struct format_entry entry = {.tile_q = 64, .threads = 256};
        params p = problem_make();
        struct attn_fwd_args plain, general;
        struct args_grid grid[2];
        struct status why;
        status_clear(&why);
        p.mask = mask;
        p.window_left = 40;
        p.window_right = mask - 4;
        p.lse_size = mask * 50;
        p.lse_base2 = mask & 1;
        memset(&plain, 0x11, sizeof(plain));
        memset(&general, 0x22, sizeof(general));
        args_attn_fwd(&p, 1, &none, &entry, &plain, &grid[0], &why);
        args_attn_fwd(&p, 0, &none, &entry, &general, &grid[1], &why);
        ok(!memcmp(&plain, &general, sizeof(plain)) && !memcmp(&grid[0], &grid[1], sizeof(grid[0])),
           "mask %d: plain as in general", mask);
    }
}

static uint32_t fwd_flags(const params *p)
{
    const struct format_entry entry = {.tile_q = 64, .threads = 256};
    struct attn_fwd_args args;
    struct args_grid grid;
    struct status why;
    status_clear(&why);
    args_attn_fwd(p, 0, &none, &entry, &args, &grid, &why);
    return args.problem.flags;
}

/* Whether the host says of the forward pass that all sequences are alike. */
static void test_alike(void)
{
    static const int32_t lengths[2];
    params p = problem_make();
    ok(fwd_flags(&p) & KERNARG_ALIKE, "all sequences are alike");
    p.k_seqs.lengths = lengths;
    ok(!(fwd_flags(&p) & KERNARG_ALIKE), "not those with lengths");
    p = problem_make();
    p.q_seqs.max = (int32_t)p.q.size[2] - 1;
    ok(!(fwd_flags(&p) & KERNARG_ALIKE), "nor those with fewer rows than there is room for");
    p = problem_make();
    p.lse_size = 1;
    ok(!(fwd_flags(&p) & KERNARG_ALIKE), "nor those whose lse ends before");
    p = problem_make();
    p.batch_index = at(0x67000000);
    ok(!(fwd_flags(&p) & KERNARG_ALIKE), "nor those in other batch entries");
    p = problem_make();
    p.k = p.v = problem_tensor(0x20000000, 32, 2, 64, 64);
    p.block_table = at(0x61000000);
    p.block_table_stride = p.block_table_columns = 5;
    p.k_seqs.max = 64;
    ok(!(fwd_flags(&p) & KERNARG_ALIKE), "nor those in pages");
}

static void test_workspace(void)
{
    params p = problem_make();
    struct args_workspace w;
    p.q.size[0] = p.q.size[1] = p.q.size[2] = p.v.size[3] = 1 << 30;
    w = args_fwd_workspace(&p, 256);
    ok(w.size > SIZE_MAX / 2, "a workspace that no number of bytes holds is never found");
    is_int(shape_lse_elements(&p), INT64_MAX, "nor such an lse");
}

/* Where attn_bwd_dq writes dbias. */
static void test_dbias(void)
{
    static const int32_t lengths[2];
    const struct format_entry aligned = {.op = FORMAT_OP_ATTN_BWD_DQ,
                                         .features = FORMAT_FEATURE_SCORE};
    struct format_entry other = aligned;
    struct problem_gradients g;
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b;
    problem_gradients(&g);
    g.fwd.bias = problem_tensor(0x70000000, 2, 8, 100, 300);
    g.b.dbias = problem_tensor(0xb5000000, 2, 8, 100, 300);
    ok(args_dbias_beside(&g.b, &g.fwd, &aligned), "one element of dbias a score");
    for (int i = 0; i < 4; i++) {
        b = g.b;
        b.dbias.size[i] = 1;
        ok(!args_dbias_beside(&b, &g.fwd, &aligned), "not with size[%d] of dbias 1", i);
    }
    b = g.b;
    b.dbias.stride[3] = 2;
    ok(!args_dbias_beside(&b, &g.fwd, &aligned), "not with keys apart");
    b = g.b;
    b.dbias.stride[2] = KERNARG_ALIGNED_STRIDE_MAX + 1;
    ok(!args_dbias_beside(&b, &g.fwd, &aligned), "not with rows out of reach");
    b.dbias.data = NULL;
    ok(!args_dbias_beside(&b, &g.fwd, &aligned), "not without dbias");
    p = g.fwd;
    p.softcap = 1;
    ok(!args_dbias_beside(&g.b, &p, &aligned), "not with a soft-cap");
    p = g.fwd;
    p.k_seqs.lengths = lengths;
    ok(!args_dbias_beside(&g.b, &p, &aligned), "not with lengths of k");
    p = g.fwd;
    p.q_seqs.max = 99;
    ok(!args_dbias_beside(&g.b, &p, &aligned), "not with rows that no sequence has");
    p = g.fwd;
    p.keep = problem_tensor(0x71000000, 2, 8, 100, 299);
    ok(!args_dbias_beside(&g.b, &p, &aligned), "not with a mask of fewer keys");
    other.features |= FORMAT_FEATURE_UNALIGNED;
    ok(!args_dbias_beside(&g.b, &g.fwd, &other), "not by the kernel of all alignments");
    other = aligned;
    other.op = FORMAT_OP_ATTN_BWD_DKDV;
    ok(!args_dbias_beside(&g.b, &g.fwd, &other), "not by attn_bwd_dkdv");
}

static struct attn_bwd_share_args fill_bwd(const struct problem_gradients *g,
                                           const struct aothip_attn_fwd_params *p, uint32_t op)
{
    const struct format_entry entry = {
        .op = op, .features = FORMAT_FEATURE_SCORE, .tile_q = 64, .tile_k = 64, .threads = 256};
    const struct args_bwd_room room = {.parts = {1, 1, 1, 64, 0}};
    struct attn_bwd_share_args args;
    struct args_grid grid;
    struct status why;
    status_clear(&why);
    args_attn_bwd(&g->b, p, &room, &none, &entry, &args, &grid, &why);
    return args;
}

/* What the host finds out for all workgroups of the backward pass. */
static void test_known(void)
{
    static const int32_t lengths[2];
    struct problem_gradients g;
    struct aothip_attn_fwd_params p;
    problem_gradients(&g);
    ok(fill_bwd(&g, &g.fwd, FORMAT_OP_ATTN_BWD_DQ).bwd.problem.flags & KERNARG_ALIKE,
       "all sequences are alike");
    p = g.fwd;
    p.q_seqs.lengths = lengths;
    ok(!(fill_bwd(&g, &p, FORMAT_OP_ATTN_BWD_DQ).bwd.problem.flags & KERNARG_ALIKE),
       "not those with lengths");
    p = g.fwd;
    p.lse_size = 1;
    ok(!(fill_bwd(&g, &p, FORMAT_OP_ATTN_BWD_DQ).bwd.problem.flags & KERNARG_ALIKE),
       "nor those whose lse ends before");
    g.fwd.bias = problem_tensor(0x70000000, 2, 8, 100, 300);
    g.b.dbias = problem_tensor(0xb5000000, 2, 8, 100, 300);
    is_int(fill_bwd(&g, &g.fwd, FORMAT_OP_ATTN_BWD_DQ).bwd.terms & ~KERNARG_TERM_KEEP_QUADS,
           KERNARG_TERM_BIAS | KERNARG_TERM_BIAS_QUADS | KERNARG_TERM_DBIAS |
               KERNARG_TERM_DBIAS_QUADS,
           "terms of a bias and its gradient");
    g.fwd.bias.data = at(0x70000004);
    is_int(fill_bwd(&g, &g.fwd, FORMAT_OP_ATTN_BWD_DKDV).bwd.terms & ~KERNARG_TERM_KEEP_QUADS,
           KERNARG_TERM_BIAS, "of a bias whose quads are not aligned");
    p = g.fwd;
    p.bias = (struct aothip_tensor){0};
    p.keep = problem_tensor(0x71000000, 2, 8, 100, 299);
    is_int(fill_bwd(&g, &p, FORMAT_OP_ATTN_BWD_DKDV).bwd.terms & ~KERNARG_TERM_BIAS_QUADS,
           KERNARG_TERM_KEEP, "of a mask");
    is_int(fill_bwd(&g, &p, FORMAT_OP_ATTN_BWD_DKDV).bwd.problem.k_seqs.max, 299,
           "whose keys are the length of k");
}

int main(void)
{
    test_dbias();
    test_known();
    test_windows();
    test_sequences();
    test_lse();
    test_scores();
    test_dropout();
    test_pages();
    test_plain();
    test_alike();
    test_workspace();
    return tap_done();
}
