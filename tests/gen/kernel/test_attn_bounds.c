/*
 * Arrays on the device that promise what is not so: sequences longer than bias and keep have keys,
 * pages and batch entries that do not exist, lengths and starts of all kinds. Nothing outside a
 * tensor may be read or written, which the emulator and the guards see, and what is left must be
 * right.
 */
#include "problem_maker.h"

enum { SEQUENCES = 3 };

static const struct device *gpu;
static struct aothip_context *images;
static int type;

static int64_t *longs(struct maker *m, const int64_t *values, int count)
{
    return memcpy(maker_memory(m, (size_t)count * sizeof(*values)), values,
                  (size_t)count * sizeof(*values));
}

/* Forward, with keys split or not. */
static void check(struct maker *m, const char *name)
{
    for (int splits = 1; splits <= 2; splits++) {
        char text[96];
        snprintf(text, sizeof(text), "%s, %d split%s", name, splits, splits > 1 ? "s" : "");
        m->p.splits = splits;
        ok(maker_check(gpu, images, m, text), "%s", text);
    }
}

static void check_bwd(struct maker *m, const char *name)
{
    const struct aothip_tensor *q = &m->p.q, *k = &m->p.k, *v = &m->p.v, *bias = &m->p.bias;
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &m->p};
    struct status why = {0};
    struct ref_bwd answer;
    bool good;

    m->p.splits = 0;
    b.d_o = maker_tensor(m, type, q->size[0], q->size[1], q->size[2], v->size[3]);
    b.dq = maker_blank(m, type, q->size[0], q->size[1], q->size[2], q->size[3]);
    b.dk = maker_blank(m, type, k->size[0], k->size[1], k->size[2], k->size[3]);
    b.dv = maker_blank(m, type, v->size[0], v->size[1], v->size[2], v->size[3]);
    if (bias->data)
        b.dbias = maker_blank(m, type, bias->size[0], bias->size[1], bias->size[2], bias->size[3]);
    good = !attn_fwd(gpu, images, &m->p, &why) && !attn_bwd(gpu, images, &b, &why);
    if (ref_attn_bwd(&b, ref_subnormals_of(gpu->properties.target), &answer))
        abort();
    good = good && maker_report(name, "dq", ref_judge_grad(&answer.dq, &b.dq)) &&
           maker_report(name, "dk", ref_judge_grad(&answer.dk, &b.dk)) &&
           maker_report(name, "dv", ref_judge_grad(&answer.dv, &b.dv)) &&
           !ref_strays_grad(&answer.dk, &b.dk) && !ref_strays_grad(&answer.dv, &b.dv) &&
           (!bias->data || maker_report(name, "dbias", ref_judge_grad(&answer.dbias, &b.dbias)));
    ok(good, "%s, backward%s%s", name, why.code ? ": " : "", why.text);
    ref_free_bwd(&answer);
}

/* Sequences of up to 61 keys, of which bias and keep have 20. */
static void test_terms(void)
{
    static const int keys[] = {33, 20, 61}, queries[] = {0, 9, 9, 30};
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"bias", "keep", "both, odd rows", "both, packed"};
        struct maker m = {.odd = i == 2};
        const bool packed = i == 3;
        maker_begin(&m, type,
                    (struct maker_shape){packed ? 1 : SEQUENCES, 2, 1, packed ? 30 : 9,
                                         packed ? 114 : 61, 64, 64});
        m.p.k_seqs.max = 20;
        m.p.k_seqs.lengths = maker_ints(&m, keys, SEQUENCES);
        m.p.mask = i % 2 ? AOTHIP_MASK_NONE : AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
        if (packed) {
            static const int starts[] = {0, 33, 53, 114};
            m.p.sequences = SEQUENCES;
            m.p.q_seqs = (struct aothip_seqs){.packed = 1, .max = 21};
            m.p.q_seqs.cumulative = maker_ints(&m, queries, SEQUENCES + 1);
            m.p.k_seqs = (struct aothip_seqs){.packed = 1, .max = 20};
            m.p.k_seqs.cumulative = maker_ints(&m, starts, SEQUENCES + 1);
            m.p.lse_layout = AOTHIP_LSE_HEADS;
        }
        if (i != 1)
            m.p.bias = maker_tensor(&m, type, SEQUENCES, 2, packed ? 21 : 9, 20);
        if (i != 0)
            m.p.keep = maker_tensor(&m, AOTHIP_BOOL, 1, 1, packed ? 21 : 9, 24);
        check(&m, names[i]);
        check_bwd(&m, names[i]);
        maker_free(&m);
    }
}

/* Without any array: k_seqs.max is less than the tensor has. */
static void test_dense_terms(void)
{
    struct maker m = {.count = 0};
    maker_begin(&m, type, (struct maker_shape){1, 2, 2, 7, 50, 128, 128});
    m.p.k_seqs.max = 13;
    m.p.bias = maker_tensor(&m, type, 1, 1, 7, 13);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    check(&m, "bias shorter than dense keys");
    maker_free(&m);
}

static void test_pages(void)
{
    static const int lengths[SEQUENCES] = {47, 64, 10};
    static const int bad[] = {-1, INT32_MAX, INT32_MIN, 13, 1 << 24}; /* there are 13 pages */
    struct maker m = {.count = 0};
    int32_t *table;

    maker_begin(&m, type, (struct maker_shape){SEQUENCES, 4, 2, 3, 1, 64, 64});
    maker_page(&m, SEQUENCES, 4, 16);
    table = (int32_t *)m.p.block_table;
    for (int i = 0; i < 5; i++)
        table[(const int[]){1, 4, 6, 7, 8}[i]] = bad[i];
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    check(&m, "pages that do not exist");
    m.p.probs = maker_blank(&m, AOTHIP_F32, SEQUENCES, 4, 3, 64);
    m.p.probs_dropped = 1;
    ok(maker_check(gpu, images, &m, "probabilities") &&
           maker_report("pages", "probs", ref_judge_probs(&m.p)),
       "probabilities in pages that do not exist");
    maker_free(&m);
}

static void test_entries(void)
{
    static const int which[] = {-1, 1, 2}, lengths[] = {30, 20, 30};
    struct maker m = {.count = 0};

    maker_begin(&m, type, (struct maker_shape){2, 2, 1, 3, 40, 64, 64});
    m.p.q = maker_tensor(&m, type, SEQUENCES, 2, 3, 64);
    m.p.o = maker_blank(&m, type, SEQUENCES, 2, 3, 64);
    m.p.lse = NULL;
    m.p.sequences = SEQUENCES;
    m.p.batch_index = maker_ints(&m, which, SEQUENCES);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    check(&m, "batch entries that do not exist");
    maker_free(&m);
}

/* New rows behind lengths of all kinds, some into pages or batch entries that do not exist. */
static void test_appended(bool paged, bool bias)
{
    static const int lengths[] = {14, 30, -2, 62, INT32_MAX, INT32_MIN, 20};
    enum { COUNT = sizeof(lengths) / sizeof(*lengths) };
    static const int which[COUNT] = {2, 0, 1, 3, 4, 5, 7};
    const struct maker_shape shape = {COUNT, 2, 1, 2, 64, 64, 64};
    const char *const name = paged ? "rows for pages" : "rows for batch entries";
    struct maker m = {.count = 0};
    struct aothip_attn_fwd_params before;
    bool good;

    maker_begin(&m, type, shape);
    if (paged) {
        maker_page(&m, COUNT, 4, 16);
        ((int32_t *)m.p.block_table)[0] = -7;
        ((int32_t *)m.p.block_table)[4 * (COUNT - 1) + 1] = 4 * COUNT + 1;
    } else {
        m.p.batch_index = maker_ints(&m, which, COUNT);
    }
    m.p.k_seqs.lengths = maker_ints(&m, lengths, COUNT);
    m.p.k_new = maker_tensor(&m, type, COUNT, 1, 4, 64);
    m.p.v_new = maker_tensor(&m, type, COUNT, 1, 4, 64);
    m.p.rotary_dim = 32;
    m.p.rotary_rows = 40;
    m.p.rotary_stride = 16;
    m.p.rotary_cos = maker_tensor(&m, type, 1, 1, 40, 16).data;
    m.p.rotary_sin = maker_tensor(&m, type, 1, 1, 40, 16).data;
    if (bias) { /* which says nothing of where rows are appended */
        m.p.k_seqs.max = 16;
        m.p.bias = maker_tensor(&m, type, 1, 1, 1, 16);
    }
    before = m.p;
    before.k.data = memcpy(maker_memory(&m, attn_span(&m.p.k) * maker_size(type)), m.p.k.data,
                           attn_span(&m.p.k) * maker_size(type));
    before.v.data = memcpy(maker_memory(&m, attn_span(&m.p.v) * maker_size(type)), m.p.v.data,
                           attn_span(&m.p.v) * maker_size(type));
    good = maker_check(gpu, images, &m, name) &&
           maker_report(name, "cache", ref_judge_append(&before, &m.p.k, &m.p.v));
    ok(good, "%s%s that do not exist", name, bias ? " and a short bias" : "");
    maker_free(&m);
}

/* Lengths and starts of any kind; of q and of gradients no row is two sequences'. */
static void test_lengths(void)
{
    enum { COUNT = 5 };
    static const int64_t hostile[COUNT] = {INT64_MAX, -3, INT64_C(1) << 32, INT64_MIN, 7};
    static const int64_t starts[COUNT] = {10, 0, 41, -1, INT64_MAX};
    struct maker m = {.count = 0};

    maker_begin(&m, type, (struct maker_shape){COUNT, 2, 1, 9, 40, 64, 64});
    m.p.index64 = 1;
    m.p.q_seqs.lengths = longs(&m, hostile, COUNT);
    m.p.k_seqs.lengths = longs(&m, (const int64_t[]){5, INT64_MAX, -1, 3, 0}, COUNT);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    check(&m, "lengths of all kinds");
    check_bwd(&m, "lengths of all kinds");
    maker_free(&m);

    m = (struct maker){.odd = true};
    maker_begin(&m, type, (struct maker_shape){COUNT, 2, 1, 9, 40, 64, 64});
    m.p.index64 = 1;
    m.p.k = maker_tensor(&m, type, 1, 1, 40, 64);
    m.p.v = maker_tensor(&m, type, 1, 1, 40, 64);
    m.p.sequences = COUNT;
    m.p.k_seqs = (struct aothip_seqs){.packed = 1, .starts = longs(&m, starts, COUNT)};
    m.p.k_seqs.lengths = longs(&m, hostile, COUNT);
    check(&m, "starts of all kinds");
    maker_free(&m);
}

/* A pitch of lse that is read on the device, and wrong: lse stays within its room. */
static void test_lse(void)
{
    static const int pitches[] = {100, -40, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        struct maker m = {.count = 0};
        char name[64];
        snprintf(name, sizeof(name), "a pitch of %d", pitches[i]);
        maker_begin(&m, type, (struct maker_shape){1, 4, 1, 20, 30, 64, 64});
        m.p.sequences = 2;
        m.p.q_seqs = (struct aothip_seqs){.packed = 1};
        m.p.q_seqs.starts = maker_ints(&m, (const int[]){0, 9, pitches[i]}, 3);
        m.p.q_seqs.lengths = maker_ints(&m, (const int[]){9, 11}, 2);
        m.p.k_seqs = (struct aothip_seqs){.packed = 1};
        m.p.k_seqs.cumulative = maker_ints(&m, (const int[]){0, 14, 30}, 3);
        m.p.lse_layout = AOTHIP_LSE_HEADS_COMPACT;
        check(&m, name);
        maker_free(&m);
    }
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    test_terms();
    test_dense_terms();
    test_pages();
    test_entries();
    test_appended(true, false);
    test_appended(false, false);
    test_appended(true, true);
    test_lengths();
    test_lse();
}

int main(int argc, char **argv)
{
    return maker_main(test, argc > 1 ? argv[1] : "strict");
}
