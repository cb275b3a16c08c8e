/*
 * What runs beside attention: caches that grow and rotary embedding (attn_append), the dropout mask
 * and probabilities (attn_probs), on all emulated GPUs in all types.
 */
#include "problem_maker.h"

enum { SEQUENCES = 3, NEW = 3, POSITIONS = 60 };

static const struct device *gpu;
static struct aothip_context *images;
static int type;

/* New rows for the caches, cosines and sines for `dim` channels. */
static void grow(struct maker *m, int dim)
{
    struct aothip_attn_fwd_params *p = &m->p;
    p->k_new = maker_tensor(m, type, SEQUENCES, p->k.size[1], NEW, p->k.size[3]);
    p->v_new = maker_tensor(m, type, SEQUENCES, p->v.size[1], NEW, p->v.size[3]);
    if (!dim)
        return;
    p->rotary_cos = maker_tensor(m, type, 1, 1, POSITIONS, dim / 2).data;
    p->rotary_sin = maker_tensor(m, type, 1, 1, POSITIONS, dim / 2).data;
    p->rotary_stride = dim / 2 + (m->odd ? 3 : 0);
    p->rotary_dim = dim;
    p->rotary_rows = POSITIONS;
}

/* Attention with the grown caches, and the caches themselves. */
static void check_growth(struct maker *m, const char *name)
{
    const struct aothip_attn_fwd_params before = m->p;
    struct aothip_tensor *caches[] = {&m->p.k, &m->p.v};
    bool good;

    for (int i = 0; i < 2; i++) { /* the problem as it was stays in `before` */
        const size_t bytes = attn_span(caches[i]) * maker_size(type);
        caches[i]->data = memcpy(maker_memory(m, bytes), caches[i]->data, bytes);
    }
    good = maker_check(gpu, images, m, name);
    ok(good && maker_report(name, "caches", ref_judge_append(&before, &m->p.k, &m->p.v)), "%s",
       name);
    maker_free(m);
}

static void test_append(void)
{
    static const int lengths[SEQUENCES] = {20, 0, 39}; /* of 40: the last one's rows do not fit */
    const struct maker_shape shape = {SEQUENCES, 4, 2, NEW, 40, 24, 20};
    for (int i = 0; i < 7; i++) {
        static const char *const names[] = {"appended",
                                            "rotated",
                                            "rotated in pairs",
                                            "rotated, one position for q",
                                            "rotated, odd lines",
                                            "rotated, in pages",
                                            "rotated, rows that begin later"};
        static const int entries[SEQUENCES] = {4, 0, 2}, starts[SEQUENCES] = {3, 12, 0};
        struct maker m = {.odd = i == 4};
        maker_begin(&m, type, shape);
        if (i == 5)
            maker_page(&m, SEQUENCES, 3, 16);
        if (i == 1) {
            m.p.k = maker_tensor(&m, type, 5, 2, 40, 24);
            m.p.v = maker_tensor(&m, type, 5, 2, 40, 20);
            m.p.batch_index = maker_ints(&m, entries, SEQUENCES);
        }
        m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
        if (i == 6)
            m.p.k_seqs.starts = maker_ints(&m, starts, SEQUENCES);
        m.p.mask = i == 3 ? AOTHIP_MASK_NONE : AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
        m.p.rotary_interleaved = i == 2;
        m.p.splits = 2;
        grow(&m, i == 0 ? 0 : i == 4 ? 10 : 24);
        check_growth(&m, names[i]);
    }
}

/* lse is the reference's, as attention would have left it. */
static void give_lse(struct maker *m)
{
    struct ref_fwd answer;
    if (ref_attn_fwd(&m->p, REF_SUBNORMALS_KEPT, &answer))
        abort();
    for (int64_t i = 0; i < answer.size[0] * answer.size[1] * answer.size[2]; i++)
        m->p.lse[i] = (float)answer.lse[i];
    ref_free(&answer);
}

static void test_probs(void)
{
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"signs", "probabilities",
                                            "probabilities, every feature", "all dropped"};
        static const int lengths[SEQUENCES] = {70, 9, 0};
        struct maker m = {.odd = i == 2};
        struct status why = {0};
        maker_begin(&m, type, (struct maker_shape){SEQUENCES, 4, 2, 10, 70, 24, 8});
        m.p.dropout_p = i == 3 ? 1 : 0.4F;
        m.p.dropout_seed = 7;
        m.p.probs = maker_blank(&m, type, SEQUENCES, 4, i == 0 ? 7 : 10, i == 1 ? 75 : 70);
        m.p.probs_dropped = i > 0;
        if (i == 2) {
            m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
            m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
            m.p.bias = maker_tensor(&m, AOTHIP_F32, 1, 4, 10, 70);
            m.p.keep = maker_tensor(&m, AOTHIP_BOOL, SEQUENCES, 1, 10, 70);
            m.p.alibi_slopes = maker_floats(&m, 4);
            m.p.sinks = maker_floats(&m, 4);
        }
        give_lse(&m);
        bool good = !attn_probs(gpu, images, &m.p, &why);
        if (!good)
            tap_diag("%s", why.text);
        ok(good && maker_report(names[i], "probs", ref_judge_probs(&m.p)), "%s", names[i]);
        maker_free(&m);
    }
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    test_append();
    test_probs();
}

int main(void)
{
    return maker_main(test, "strict");
}
