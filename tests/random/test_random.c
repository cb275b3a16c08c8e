/*
 * The parts of check-random: lines are read as they were written, the reference's gradients are
 * those of its forward pass, whatever is wrong in a result is noticed, and shrinking ends at what
 * a failure needs.
 */
#include "judge.h"
#include "number.h"
#include "shrink.h"

#include "tap.h"

static void test_lines(void)
{
    char line[DRAFT_LINE_MAX];
    int wrong = 0, unsettled = 0, i;

    for (i = 0; i < 3000; i++) {
        struct draft d = draft_draw(5, (uint64_t)i), back, again = d;
        draft_print(&d, line);
        wrong += !draft_parse(line, &back) || memcmp(&d, &back, sizeof(d)) != 0;
        draft_mend(&again);
        unsettled += memcmp(&d, &again, sizeof(d)) != 0;
    }
    is_int(wrong, 0, "lines that are not read as they were written");
    is_int(unsettled, 0, "problems that do not keep to the rules");
    ok(!draft_parse("seq_q=x", &(struct draft){0}), "a number that is none is refused");
    ok(!draft_parse("seqq=1", &(struct draft){0}), "so is a name that is none");
    ok(!draft_parse("op=sideways", &(struct draft){0}), "and a word that is none");
}

/* sum(o * d_o), by the forward reference. */
static double loss(const struct scene *s)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    int64_t b, h, m, c, group = p->q.size[1] / p->k.size[1];
    double sum = 0;

    for (b = 0; b < place_sequences(p); b++)
        for (h = 0; h < p->q.size[1]; h++) {
            struct expect_head x;
            expect_head_make(p, (struct expect_device){0}, b, h / group, &x);
            for (m = 0; m < x.q.length; m++) {
                struct expect_row r;
                expect_row_make(&x, h, m, &r);
                for (c = 0; c < p->o.size[3]; c++)
                    sum += r.o[c] * number_get(&s->here.bwd.d_o, x.q.entry, h, x.q.start + m, c);
                expect_row_free(&r);
            }
            expect_head_free(&x);
        }
    return sum;
}

/* The slope of the loss at an F32 number of the scene. */
static double slope(const struct scene *s, float *number)
{
    const float here = *number, step = 0x1p-7F;
    double above, below;

    *number = here + step;
    above = loss(s);
    *number = here - step;
    below = loss(s);
    *number = here;
    return (above - below) / (2 * (double)step);
}

/* The worst difference between a gradient and slopes, element by element. */
static double compare(const struct scene *s, const struct expect_grad *g,
                      const struct aothip_tensor *t)
{
    double worst = 0;
    int64_t b, h, r, c, i = 0;

    for (b = 0; b < g->size[0]; b++)
        for (h = 0; h < g->size[1]; h++)
            for (r = 0; r < g->size[2]; r++)
                for (c = 0; c < g->size[3]; c++, i++)
                    if (g->met[i])
                        worst = fmax(worst,
                                     fabs(g->value[i] -
                                          slope(s, (float *)t->data + number_at(t, b, h, r, c))));
    return worst;
}

static void test_gradients(const char *line)
{
    static struct scene s;
    struct aothip_attn_fwd_params *p = &s.here.fwd;
    struct aothip_tensor floats = {.size = {1, 1, 1, 2}, .stride = {0, 0, 0, 1}};
    struct draft d;
    struct expect_bwd x;
    double worst;

    if (!draft_parse(line, &d))
        abort();
    draft_mend(&d);
    scene_make(&d, &s);
    s.here.bwd.fwd = p;
    expect_bwd_make(&s.here.bwd, (struct expect_device){0}, &x);
    worst = fmax(compare(&s, &x.dq, &p->q), compare(&s, &x.dk, &p->k));
    worst = fmax(worst, compare(&s, &x.dv, &p->v));
    if (p->bias.data)
        worst = fmax(worst, compare(&s, &x.dbias, &p->bias));
    floats.data = (void *)(uintptr_t)p->sinks;
    if (p->sinks)
        worst = fmax(worst, compare(&s, &x.dsinks, &floats));
    floats.data = (void *)(uintptr_t)p->alibi_slopes;
    if (p->alibi_slopes)
        worst = fmax(worst, compare(&s, &x.dalibi, &floats));
    ok(worst < 1e-3, "slopes of the forward pass are the gradients, but for %.2g: %s", worst, line);
    expect_bwd_free(&x);
    scene_free(&s);
}

/* Judges the scene again with one byte of what came back changed. */
static int wrong_with(struct scene *s, const struct block *x, size_t at, unsigned char change)
{
    struct verdict v;

    x->after[at] ^= change;
    judge(s, &v);
    x->after[at] ^= change;
    return v.wrong;
}

/* Changes each output in turn, where it has a result and where it has none. */
static void test_judge(struct aothip_context *context, const char *line)
{
    static struct scene s;
    struct draft d;
    struct verdict v;
    char text[STAGE_TEXT];
    int i;

    if (!draft_parse(line, &d))
        abort();
    draft_mend(&d);
    scene_make(&d, &s);
    if (!stage_run(context, &s, text)) {
        ok(false, "%s: %s", line, text);
        return;
    }
    judge(&s, &v);
    ok(!v.wrong && v.most > 0.01, "%s: right, with %.2f of the tolerance%s%s", line, v.most,
       *v.text ? "; " : "", v.text);
    for (i = 0; i < s.count; i++) {
        const struct block *x = &s.blocks[i];
        size_t at;
        if (!x->after || !strcmp(x->name, "delta"))
            continue;
        for (at = x->bytes - 1; at > 0 && !x->owned[at]; at--)
            continue;
        ok(wrong_with(&s, x, at, 0x41) > 0, "a wrong element of %s is noticed", x->name);
        for (at = 0; at < x->bytes && x->owned[at]; at++)
            continue;
        if (at < x->bytes)
            ok(wrong_with(&s, x, at, 1) > 0, "and a byte that is nobody's");
    }
    scene_free(&s);
}

/* What random problems have found, shrunk. */
static const char *const found[] = {
    /* NaN in V reached rows that do not see its key */
    "gpu=gfx942 seq_k=2 special=v_nan mask=causal_tl seed=917445939",
    "gpu=gfx1151 seq_q=2 seq_k=2 special=v_nan mask=window_tl seed=95275241",
    /* finite scores beyond 3e8 gave NaN or 0 */
    "gpu=gfx942 dtype=bf16 values=huge seed=236473396",
    "gpu=gfx1151 dtype=f16 dim_v=96 values=huge seed=961969519",
    "op=bwd heads_k=2 values=huge seed=546396968",
    /* a bias and a mask were read beyond their end */
    ("seq_k=3 gaps=unwritten side_k=lengths max_q=more max_k=less keep=13 keep_layout=odd "
     "seed=880295355"),
    "gpu=gfx1100 seq_k=3 side_k=strided max_k=less keep=9 seed=1012978033",
    /* pages and batch entries that do not exist were read, and written */
    "gpu=gfx1100 page=16 table=missing seed=812593914",
    "gpu=gfx942 dtype=f16 table=missing index=yes seed=646866592",
    "gpu=gfx1151 dtype=f16 side_k=lengths page=16 table=missing fresh=1 seed=956372814",
    /* whether V is finite was asked of memory that nobody wrote, in place of a page */
    "gpu=gfx1100 dtype=bf16 gaps=unwritten page=16 table=missing seed=691164708",
    "gpu=gfx1100 gaps=unwritten page=16 table=missing seed=3",
    ("gpu=gfx942 dtype=f16 seq_q=3 seq_k=40 dim_qk=200 dim_v=200 gaps=unwritten page=16 "
     "table=missing seed=3"),
    "gpu=gfx1151 dtype=bf16 seq_k=300 gaps=unwritten page=16 table=missing splits=3 seed=1",
    /* delta of o below 2^-14, whose steps are coarse in F16: the reference's tolerance */
    "gpu=gfx1100 op=bwd dtype=f16 seq_k=96 dim_qk=65 values=tiny bias=1 seed=981656819",
    /* likewise q, turned and stored; P below the smallest F32, times V of a million */
    ("gpu=gfx942 dtype=f16 batch=3 seq_q=160 seq_k=5 dim_qk=6 dim_v=6 values=tiny side_q=lengths "
     "side_k=lengths max_q=more max_k=more keep=13 page=32 rotary=halves rotary_dim=2 "
     "seed=242300220"),
    ("batch=2 seq_q=97 seq_k=81 layout_o=wide_rows values=thousands mask=window_br "
     "left=2147483647 right=26 side_k=lengths index64=yes max_q=more dropout=value splits=3 "
     "seed=984294833"),
    /* V below 2^-14 counts as 0 on gfx90a, and Q and K there too, which makes P of it large */
    "matrix=adversarial dtype=f16 heads_k=44 seq_k=2 values=tiny seed=129169634",
    /* the emulator: NaN in a sum of random rounding was flushed to 0, as a denormal is */
    "gpu=gfx90a matrix=adversarial dtype=f16 special=q_nan seed=505282794",
    /* the compiler: dP was read a wait state too soon, along one of several branches */
    ("order=3 op=bwd dtype=f16 group=4 seq_q=4 dim_qk=24 dim_v=24 layout_grad=wide_rows "
     "gaps=unwritten mask=causal_br max_q=exact max_k=exact lse=total lse_room=exact softcap=yes "
     "sinks=yes delta=given seed=555303126"),
    /* in place of a page's code that does not exist one was branched upon that nobody wrote */
    ("gpu=gfx942 dtype=f16 seq_k=49 dim_qk=15 gaps=unwritten page=16 table=missing fp8=e4m3fnuz "
     "seed=790727343"),
    /* a row without keys lost its sink to a scale of 0 */
    "gpu=gfx1100 dtype=f16 seq_q=2 scale=zero mask=causal_br sinks=yes seed=685344933",
    /* a score that is far off lies near the sink, which may take all: the reference's tolerance */
    ("gpu=gfx942 dtype=bf16 batch=2 heads_k=2 seq_q=31 seq_k=3 dim_qk=128 layout_q=wide_rows "
     "values=thousands mask=window_br right=15 max_k=exact sinks=yes page=32 rotary=halves "
     "rotary_dim=64 seed=39123922"),
    /* a soft-cap's slope went to a second score where a wave has one */
    "gpu=gfx1100 op=bwd dtype=f16 seq_k=2 dim_qk=512 softcap=yes seed=594732026",
    /* lanes of queries that do not exist cleared the gradient of a bias with one row */
    "gpu=gfx942 op=bwd dtype=f16 seq_k=40 bias=9 seed=19760162",
    "gpu=gfx1100 op=bwd dtype=bf16 seq_k=3 bias=16 bias_f32=yes seed=19760162",
    /* rows of O of half of the channels were taken for whole ones, of one byte an element */
    "gpu=gfx1201 dtype=bf16 seq_q=33 dim_v=32 fp8=e4m3 fp8_q=yes seed=786917975",
    "gpu=gfx1201 dtype=f16 seq_q=3 dim_qk=128 fp8=e4m3 fp8_q=yes seed=786917975",
    /* f32: NaN of keys to which a sink leaves no weight became 0 */
    "gpu=gfx1151 values=thousands special=v_nan sinks=yes seed=147317386",
    /* two workgroups merged the same channels: to the same numbers, but who knows */
    "gpu=gfx1100 dtype=bf16 seq_k=512 dim_v=257 seed=667380953",
};

static void test_found(struct aothip_context *context)
{
    static struct scene s;
    struct draft d;
    struct verdict v = {0};
    size_t i;

    for (i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        if (!draft_parse(found[i], &d))
            abort();
        draft_mend(&d);
        if (aothip_check_device(context, d.gpu) == AOTHIP_E_NO_IMAGES)
            continue;
        scene_make(&d, &s);
        if (stage_run(context, &s, v.text))
            judge(&s, &v);
        else
            v.wrong = 1;
        if (!ok(!v.wrong, "once wrong: %s", found[i]))
            tap_diag("%s", v.text);
        scene_free(&s);
    }
}

static bool needs_bias_and_keys(const struct draft *d, void *user)
{
    ++*(int *)user;
    return d->bias && d->seq_k >= 41 && d->dtype == AOTHIP_BF16 && d->lse == LSE_TOTAL;
}

static void test_shrink(void)
{
    char line[DRAFT_LINE_MAX];
    struct draft d;
    uint64_t i;
    int runs = 0, tries;

    for (i = 0;; i++) {
        d = draft_draw(9, i);
        if (d.op == OP_FWD && d.page && d.gpu == 1 && needs_bias_and_keys(&d, &runs))
            break;
    }
    d.seed = 1;
    runs = 0;
    tries = shrink(&d, needs_bias_and_keys, &runs, 400);
    draft_print(&d, line);
    is_str(line, "gpu=gfx942 dtype=bf16 seq_k=41 lse=total bias=1", "what is needed is left");
    is_int(tries, runs, "tries are counted");
}

int main(void)
{
    struct aothip_context *context;

    test_lines();
    test_shrink();
    test_gradients("op=bwd batch=2 seq_q=3 seq_k=5 dim_qk=3 dim_v=2 group=2 mask=causal_br "
                   "side_q=compact side_k=compact softcap=yes");
    test_gradients("op=bwd batch=2 seq_q=3 seq_k=4 dim_qk=2 dim_v=2 heads_k=2 bias=14 "
                   "sinks=yes alibi=heads dropout=value keep=16");
    test_gradients("op=bwd batch=2 seq_q=4 seq_k=5 dim_qk=2 dim_v=3 heads_k=2 bias=5 softcap=yes "
                   "sinks=yes alibi=heads mask=window_mixed left=2 right=1");
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151,gfx950,gfx1201", 1);
    if (aothip_open(NULL, &context)) {
        printf("Bail out! %s\n", aothip_last_error());
        return 99;
    }
    test_found(context);
    if (aothip_check_device(context, 1) == AOTHIP_E_NO_IMAGES) {
        tap_diag("gfx942: its images were not asked for");
        return tap_done();
    }
    test_judge(context, "gpu=gfx942 dtype=f16 batch=2 seq_q=5 seq_k=37 layout_o=odd_rows "
                        "side_q=lengths side_k=lengths lse=rows dropout=pointers probs=dropped");
    test_judge(context, "gpu=gfx942 dtype=bf16 batch=2 seq_q=3 seq_k=20 side_k=lengths page=16 "
                        "fresh=3 rotary=pairs rotary_dim=32 lse=total");
    test_judge(context, "gpu=gfx942 op=bwd batch=2 seq_q=7 seq_k=20 side_q=compact side_k=compact "
                        "layout_grad=odd_rows sinks=yes alibi=batch bias=13 delta=given lse=heads "
                        "max_q=exact max_k=exact");
    aothip_close(context);
    return tap_done();
}
