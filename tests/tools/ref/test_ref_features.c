/* The reference's features against published vectors, results by hand, and dense equivalents. */
#include "ref.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>

static struct aothip_tensor view(void *data, int dtype, int64_t b, int64_t h, int64_t s, int64_t d)
{
    return (struct aothip_tensor){data, {b, h, s, d}, {h * s * d, s * d, d, 1}, dtype};
}

static int near_to(double got, double want)
{
    int good = got == want || fabs(got - want) <= 1e-6 * fmax(1, fabs(want));
    if (!good)
        tap_diag("got %.9g, want %.9g", got, want);
    return good;
}

static float noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (float)((double)(int64_t)(*seed >> 11) / 0x1p52 - 1);
}

/* The vectors that come with Random123. */
static void test_philox(void)
{
    static const struct {
        uint64_t key;
        uint32_t counter[4], words[4];
    } known[] = {
        {0, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    uint32_t words[4];
    unsigned i;

    for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
        ref_philox(known[i].key, known[i].counter, words);
        ok(!memcmp(words, known[i].words, sizeof(words)), "Philox4x32-10, vector %u", i);
    }
}

/* One query, two keys with the scores 0 and 1 (x scale), v = 4 and 8. */
struct pair {
    struct aothip_attn_fwd_params f;
    float q[1], k[2], v[2], extra[2];
};

static void make_pair(struct pair *p)
{
    memset(p, 0, sizeof(*p));
    p->q[0] = 1, p->k[1] = 1, p->v[0] = 4, p->v[1] = 8;
    p->f.q = view(p->q, AOTHIP_F32, 1, 1, 1, 1);
    p->f.k = view(p->k, AOTHIP_F32, 1, 1, 2, 1);
    p->f.v = view(p->v, AOTHIP_F32, 1, 1, 2, 1);
    p->f.scale = 1;
}

static void expect(const struct pair *p, double o, double lse, const char *name)
{
    struct ref_fwd a;

    if (!ok(!ref_attn_fwd(&p->f, REF_SUBNORMALS_KEPT, &a), "%s: solved", name))
        return;
    ok(near_to(a.o[0], o), "%s: o", name);
    ok(near_to(a.lse[0], lse), "%s: lse", name);
    ref_free(&a);
}

static void test_scores(void)
{
    const double e = exp(1), infinity = (double)INFINITY;
    unsigned char keep[2] = {0, 1};
    float three = 3;
    struct pair p;

    make_pair(&p);
    expect(&p, (4 + 8 * e) / (1 + e), log(1 + e), "plain");
    p.f.lse_base2 = 1;
    expect(&p, (4 + 8 * e) / (1 + e), log2(1 + e), "base 2");

    make_pair(&p);
    p.f.scale = 2, p.f.softcap = 0.5F;
    expect(&p, (4 + 8 * exp(tanh(4) / 2)) / (1 + exp(tanh(4) / 2)), log(1 + exp(tanh(4) / 2)),
           "soft-cap, after the scale");

    make_pair(&p);
    p.f.alibi_slopes = &three; /* row 0 is at position 1: distances 1 and 0 */
    expect(&p, (4 * exp(-3) + 8 * e) / (exp(-3) + e), log(exp(-3) + e), "ALiBi");

    make_pair(&p);
    p.f.bias = view(p.extra, AOTHIP_F32, 1, 1, 1, 2);
    p.extra[0] = 1;
    expect(&p, 6, log(2 * e), "bias");
    p.extra[1] = -INFINITY;
    expect(&p, 4, 1, "bias of -infinity");
    p.extra[0] = -INFINITY;
    expect(&p, 0, infinity, "a bias row of -infinity");
    p.extra[0] = -1;
    p.f.bias.size[3] = 1;
    expect(&p, (4 + 8 * e) / (1 + e), log(1 + e) - 1, "broadcast bias");

    make_pair(&p);
    p.f.keep = view(keep, AOTHIP_BOOL, 1, 1, 1, 2);
    expect(&p, 8, 1, "boolean mask");
    keep[1] = 0;
    expect(&p, 0, infinity, "a mask row of zeros");
    p.f.sinks = &three;
    expect(&p, 0, 3, "the same with a sink");
    p.f.keep.data = NULL;
    expect(&p, (4 + 8 * e) / (1 + e + exp(3)), log(1 + e + exp(3)), "sink");
}

/*
 * With seed 0, offset 0 the halves of the words, as signed numbers plus 2^15, are 26837, 58919,
 * 17805, 24937 for keys 0 .. 3 and 11340, 15447, 23512, 6912 for keys 16 .. 19. With p = 0.3 what
 * is at least 19661 stays. Keys between them have values of 0.
 */
static void test_dropout(void)
{
    static const uint64_t one = 1, four = 4;
    float zero[20] = {0}, v[20] = {1, 10, 100, 1000, [16] = 10000, 100000, 1000000, 10000000},
          probs[4];
    struct aothip_attn_fwd_params f = {
        .q = view(zero, AOTHIP_F32, 1, 1, 1, 1),
        .k = view(zero, AOTHIP_F32, 1, 1, 20, 1),
        .v = view(v, AOTHIP_F32, 1, 1, 20, 1),
        .probs = view(probs, AOTHIP_F32, 1, 1, 1, 4),
        .dropout_p = 0.3F,
    };
    struct ref_verdict verdict;
    struct ref_fwd a;
    double first;

    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    ok(near_to(a.o[0], 1001011 / 20.0 / 0.7), "dropout keeps what it should");
    ok(near_to(a.lse[0], log(20)), "and leaves lse alone");
    ref_free(&a);

    memcpy(probs, (float[]){0.5F, 0.5F, -0.5F, 0.5F}, sizeof(probs));
    verdict = ref_judge_probs(&f);
    is_int(verdict.wrong, 0, "probs: the mask passes");
    probs[1] = -0.5F;
    verdict = ref_judge_probs(&f);
    ok(verdict.wrong == 1 && verdict.at[3] == 1, "probs: a wrong element is found");
    f.probs_dropped = 1;
    memcpy(probs, (float[]){0.05F / 0.7F, 0.05F / 0.7F, -0.05F / 0.7F, 0.05F / 0.7F},
           sizeof(probs));
    verdict = ref_judge_probs(&f);
    is_int(verdict.wrong, 0, "probs: dropped probabilities pass");

    f.dropout_p = 1;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    ok(a.o[0] == 0, "p = 1 gives zeros");
    ref_free(&a);

    /* Row 1 of 20 keys is at counter 4, and so is row 0 with the offset 4, whence ever. */
    f.dropout_p = 0.5F;
    f.q = view(zero, AOTHIP_F32, 1, 1, 2, 1);
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    first = a.o[1];
    ref_free(&a);
    f.q = view(zero, AOTHIP_F32, 1, 1, 1, 1);
    f.dropout_offset_pointer = &four;
    f.dropout_seed_pointer = &one;
    f.dropout_seed = UINT64_MAX;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    ok(a.o[0] == first, "seeds and offsets are sums; rows follow each other");
    ref_free(&a);
}

enum { H = 4, HK = 2, D = 4, DV = 3, TOTAL = 12, COUNT = 1024 };

static float q[COUNT], k[COUNT], v[COUNT];

static struct aothip_attn_fwd_params dense(int64_t from_q, int64_t seq_q, int64_t from_k,
                                           int64_t seq_k)
{
    struct aothip_attn_fwd_params f = {
        .q = view(q + from_q * D, AOTHIP_F32, 1, H, TOTAL, D),
        .k = view(k + from_k * D, AOTHIP_F32, 1, HK, TOTAL, D),
        .v = view(v + from_k * DV, AOTHIP_F32, 1, HK, TOTAL, DV),
        .scale = 1,
        .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT,
    };
    f.q.size[2] = seq_q;
    f.k.size[2] = f.v.size[2] = seq_k;
    return f;
}

/* Rows of a's batch entry from row `from` on equal those of the dense problem. */
static int same_rows(const struct ref_fwd *a, int64_t entry, int64_t from,
                     const struct aothip_attn_fwd_params *f)
{
    int64_t h, m, d;
    struct ref_fwd b;
    int good = 1;

    if (ref_attn_fwd(f, REF_SUBNORMALS_KEPT, &b))
        return 0;
    for (h = 0; h < b.size[1]; h++)
        for (m = 0; m < b.size[2]; m++) {
            int64_t x = (entry * a->size[1] + h) * a->size[2] + from + m, y = h * b.size[2] + m;
            good &= a->lse[x] == b.lse[y];
            for (d = 0; d < b.size[3]; d++)
                good &= a->o[x * b.size[3] + d] == b.o[y * b.size[3] + d];
        }
    ref_free(&b);
    return good;
}

static void test_sequences(void)
{
    static const int32_t from_q[] = {0, 3, 3, 8}, from_k[] = {0, 4, 9, 9};
    static const int64_t wide[] = {0, 3, 3, 8}, starts[] = {0, 5, 5, 8}, lengths[] = {3, 0, 2};
    struct aothip_attn_fwd_params f = dense(0, TOTAL, 0, TOTAL), g = dense(0, 3, 0, 4);
    struct ref_fwd a;
    int64_t i, rest = 0;

    f.sequences = 3;
    f.q_seqs = (struct aothip_seqs){.cumulative = from_q, .packed = 1, .max = 5};
    f.k_seqs = (struct aothip_seqs){.cumulative = from_k, .packed = 1, .max = 5};
    f.lse_layout = AOTHIP_LSE_HEADS;
    is_int(ref_lse_count(&f), H * TOTAL, "packed: elements of lse");
    ok(!ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a), "packed: solved");
    ok(same_rows(&a, 0, 0, &g), "packed: the first sequence");
    ok(a.o[3 * DV] == 0 && isinf(a.lse[3]), "packed: five queries without a key");
    is_int(a.lse_at[TOTAL + 2], TOTAL + 2, "lse by head");
    for (i = 0; i < H * TOTAL; i++)
        rest += a.lse_allowed[i] < 0 && a.lse_at[i] < 0;
    is_int(rest, H * 4, "packed: rows of no sequence");
    ref_free(&a);

    f.lse_layout = AOTHIP_LSE_TOTAL;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(a.lse_at[TOTAL + 2], 2 * H + 1, "lse by row");
    ref_free(&a);
    f.lse_layout = AOTHIP_LSE_HEADS_COMPACT;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(a.lse_at[TOTAL + 2], 8 + 2, "lse by head, compact");
    ref_free(&a);
    f.lse_layout = AOTHIP_LSE_ROWS;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(a.lse_at[TOTAL + 4], (2 * H + 1) * 5 + 1, "lse by sequence");
    f.lse_size = 40;
    ref_free(&a);
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(a.lse_at[TOTAL + 4], -1, "lse beyond its size");
    ref_free(&a);

    /* The third sequence has rows 5 and 6 of q and the keys 8 .. */
    f = dense(0, TOTAL, 0, TOTAL);
    f.sequences = 3;
    f.index64 = 1;
    f.q_seqs = (struct aothip_seqs){.starts = starts, .lengths = lengths, .packed = 1};
    f.k_seqs = (struct aothip_seqs){.starts = starts + 1, .cumulative = wide, .packed = 1};
    g = dense(5, 2, 8, 4);
    ok(!ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a), "strided: solved");
    ok(same_rows(&a, 0, 5, &g), "strided: cut at the tensor's end, 64-bit arrays");
    ref_free(&a);
}

static void test_cache(void)
{
    static const int32_t table[] = {2, 0, 9, 1}, lengths[] = {5, 3}, index[] = {1, 0};
    static float paged_k[3 * HK * 4 * D], paged_v[3 * HK * 4 * DV], new_k[2 * HK * D], cosine[99],
        sine[99];
    struct aothip_attn_fwd_params f = dense(0, 2, 0, 5), g = dense(0, 2, 0, 5);
    struct ref_verdict verdict;
    struct ref_fwd a;
    int64_t h, n, i;

    /* Pages of four keys: the first sequence's keys 0 .. 3 lie in page 2, key 4 in page 0. */
    for (h = 0; h < HK; h++)
        for (n = 0; n < 5; n++) {
            int64_t to = ((n < 4 ? 2 : 0) * HK + h) * 4 + n % 4;
            memcpy(paged_k + to * D, k + (h * TOTAL + n) * D, D * sizeof(float));
            memcpy(paged_v + to * DV, v + (h * TOTAL + n) * DV, DV * sizeof(float));
        }
    f.q.size[0] = 2;
    f.k = view(paged_k, AOTHIP_F32, 3, HK, 4, D);
    f.v = view(paged_v, AOTHIP_F32, 3, HK, 4, DV);
    f.block_table = table;
    f.block_table_stride = 3;
    f.block_table_columns = 2;
    f.k_seqs.lengths = lengths;
    ok(!ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a), "pages: solved");
    ok(same_rows(&a, 0, 0, &g), "pages: as without");
    ref_free(&a);

    f = dense(0, 2, 0, 5);
    f.q.size[0] = f.k.size[0] = f.v.size[0] = 2;
    f.batch_index = index;
    ok(!ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a), "batch index: solved");
    f.batch_index = NULL;
    f.k.data = k + HK * TOTAL * D;
    f.v.data = v + HK * TOTAL * DV;
    f.q.size[0] = f.k.size[0] = f.v.size[0] = 1;
    ok(same_rows(&a, 0, 0, &f), "batch index: the other entry's keys");
    ref_free(&a);

    /* One new key behind 3; a quarter turn at every position takes (x, y) to (-y, x). */
    f = dense(0, 1, 0, 5);
    f.k_seqs.lengths = lengths + 1;
    f.k_new = view(new_k, AOTHIP_F32, 1, HK, 1, D);
    f.v_new = view(v + 3 * DV, AOTHIP_F32, 1, HK, TOTAL, DV);
    f.v_new.size[2] = 1;
    for (i = 0; i < 99; i++)
        sine[i] = 1;
    f.rotary_cos = cosine;
    f.rotary_sin = sine;
    f.rotary_stride = 1;
    f.rotary_dim = 2;
    f.rotary_rows = 9;
    g = dense(0, 1, 0, 4);
    for (h = 0; h < HK; h++) {
        const float *row = k + (h * TOTAL + 3) * D;
        memcpy(new_k + h * D, (float[]){row[1], -row[0], row[2], row[3]}, D * sizeof(float));
    }
    for (h = 0; h < H; h++) {
        float *row = q + h * TOTAL * D;
        memcpy(row, (float[]){row[1], -row[0], row[2], row[3]}, D * sizeof(float));
    }
    ok(!ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a), "a growing cache: solved");
    verdict = ref_judge_append(&f, &g.k, &g.v);
    is_int(verdict.wrong, -1, "caches of another shape are not compared");
    for (h = 0; h < H; h++) {
        float *row = q + h * TOTAL * D;
        memcpy(row, (float[]){-row[1], row[0], row[2], row[3]}, D * sizeof(float));
    }
    ok(same_rows(&a, 0, 0, &g), "a growing cache: q and the new key are rotated");
    ref_free(&a);
    verdict = ref_judge_append(&f, &f.k, &f.v);
    is_int(verdict.wrong, 0, "a growing cache: the keys are there already");
    k[3 * D] += 0.01F;
    verdict = ref_judge_append(&f, &f.k, &f.v);
    is_int(verdict.wrong, 1, "a growing cache: a wrong element of the new key is found");
    k[3 * D] -= 0.01F;
}

/* Key 1 of 3 is not finite; causal rows 1 and 2 see it. */
static void test_special(void)
{
    float qs[3] = {1, 1, 1}, ks[3] = {0, NAN, 0}, vs[3] = {1, 2, 3}, os[3] = {1, NAN, 5};
    struct aothip_attn_fwd_params f = {
        .q = view(qs, AOTHIP_F32, 1, 1, 3, 1),
        .k = view(ks, AOTHIP_F32, 1, 1, 3, 1),
        .v = view(vs, AOTHIP_F32, 1, 1, 3, 1),
        .scale = 1,
        .mask = AOTHIP_MASK_CAUSAL_TOP_LEFT,
    };
    struct aothip_tensor o = view(os, AOTHIP_F32, 1, 1, 3, 1);
    struct ref_fwd a;

    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(ref_judge_o(&a, &o).wrong, 1, "NaN in k: rows that see it must be NaN");
    os[2] = NAN;
    is_int(ref_judge_o(&a, &o).wrong, 0, "and may");
    os[0] = NAN;
    is_int(ref_judge_o(&a, &o).wrong, 1, "others not");
    ref_free(&a);
    ks[1] = INFINITY;
    os[0] = 1, os[1] = 77;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(ref_judge_o(&a, &o).wrong, 0, "infinity in k: rows that see it may be anything");
    os[0] = 2;
    is_int(ref_judge_o(&a, &o).wrong, 1, "others not");
    ref_free(&a);
    ks[1] = 0, vs[1] = NAN;
    os[0] = 1, os[1] = 2;
    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    is_int(ref_judge_o(&a, &o).wrong, 1, "NaN in v: rows that see it must be NaN");
    ref_free(&a);
}

static void test_strays(void)
{
    static const int32_t lengths[] = {2};
    float zero[3] = {0}, os[6], lse[4];
    struct aothip_attn_fwd_params f = {
        .q = view(zero, AOTHIP_F32, 1, 1, 3, 1),
        .k = view(zero, AOTHIP_F32, 1, 1, 3, 1),
        .v = view(zero, AOTHIP_F32, 1, 1, 3, 1),
        .q_seqs = {.lengths = lengths},
    };
    struct aothip_tensor o = {os, {1, 1, 3, 1}, {0, 0, 2, 1}, AOTHIP_F32};
    struct ref_fwd a;

    ref_attn_fwd(&f, REF_SUBNORMALS_KEPT, &a);
    memset(os, REF_POISON, sizeof(os));
    memset(lse, REF_POISON, sizeof(lse));
    os[0] = os[2] = lse[0] = lse[1] = 0;
    is_int(ref_strays_o(&a, &o), 0, "nothing astray in o");
    is_int(ref_strays_lse(&a, lse, 4), 0, "nor in lse");
    os[1] = os[4] = lse[2] = 0;
    is_int(ref_strays_o(&a, &o), 2, "between the rows and beyond the sequence");
    is_int(ref_strays_lse(&a, lse, 4), 1, "beyond the sequence's lse");
    ref_free(&a);
}

int main(void)
{
    uint64_t seed = 11;
    int i;

    for (i = 0; i < COUNT; i++)
        q[i] = noise(&seed), k[i] = noise(&seed), v[i] = noise(&seed);
    test_philox();
    test_scores();
    test_dropout();
    test_sequences();
    test_cache();
    test_special();
    test_strays();
    return tap_done();
}
