/* aothip-bench: how fast attention is on the GPU of this machine, or would be on another. */
#include "bench_tune.h"
#include "beside.h"
#include "cli.h"
#include "page.h"
#include "report.h"
#include "session.h"
#include "shape_list.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-bench [option ...] [SHAPE ...]\n"
    "Measures attention on a GPU, or predicts its time on the emulator. SHAPE is\n"
    "such as batch=4,heads=32,seq=4096,dim=128; its keys: batch heads heads_k seq\n"
    "seq_q seq_k dim dim_v splits,\n"
    "dtype=f16|bf16|f32|e4m3|e5m2|e4m3fnuz|e5m2fnuz, kv= one of the last four,\n"
    "mask=none|tl|br, layout=bhsd|bshd, pass=fwd|bwd, atomics=0|1,\n"
    "with=window|keep|bias|alibi|softcap|sinks|dropout|lengths|paged.\n"
    "\n"
    "      --file FILE        shapes, one a line; # begins a comment; -: stdin\n"
    "      --preset NAME      the shapes of mi300x or strix-halo\n"
    "      --features         each shape with every feature, beside the plain one\n"
    "      --backward         the backward pass of each shape instead\n"
    "      --both             both passes of each shape\n"
    "      --repeat N         timed calls; default 20\n"
    "      --warm-up N        calls before them; default 3\n"
    "      --json, --csv      for machines\n"
    "      --device N         which GPU, from 0; default 0\n"
    "      --no-prediction    on a GPU: no predicted times beside the measured ones\n"
    "      --emulate GPU      predict, emulated, the times of gfx942 or another GPU\n"
    "      --profile          emulated: where the clocks go, by cause and instruction\n"
    "      --timeline FILE    emulated: waves and pipes over clocks, for Perfetto\n"
    "      --report FILE      also a page of HTML with pictures\n"
    "      --beside NAME=FILE[@SHAPE]\n"
    "                         on that page, too: another code object's counters under\n"
    "                         AOTHIP_EMU_TIME, or results of --json; may be repeated\n"
    "      --measure FILE     measures the GPU itself, and writes parameters of the\n"
    "                         clock that predicts to FILE; -: stdout\n"
    "      --clock FILE       predicts with the parameters of such a file\n"
    "      --tune FILE        measures the tiles for the shapes, or all; writes a\n"
    "                         table by which the library chooses (AOTHIP_TUNE)\n"
    "      --counts           emulated: counts of instructions and bytes, not times;\n"
    "                         shapes of presets are cut down\n"
    "      --images DIR       where the kernels are; default: beside libaothip\n"
    "      --help, --version\n"
    "\n"
    "Without shapes it takes the preset that fits.\n"
    "Exit status: 0 done, 1 something failed, 2 wrong command.\n";

struct options {
    struct cli_common common;
    struct bench_wishes wishes;
    const char *file, *preset, *report, *measure, *tune; /* or NULL */
    struct cli_list beside;
    int format; /* enum bench_format */
    int passes, features, alone;
};

static void parse_options(int argc, char **argv, struct options *o)
{
    struct bench_wishes *w = &o->wishes;
    const struct cli_setting settings[] = {
        {"file", .text = &o->file},
        {"preset", .text = &o->preset},
        {"features", .flag = &o->features, .value = 1},
        {"backward", .flag = &o->passes, .value = BENCH_PASS_BACKWARD},
        {"both", .flag = &o->passes, .value = BENCH_PASS_BOTH},
        {"repeat", .number = &w->repeat, .low = 1, .high = 1000000},
        {"warm-up", .number = &w->warm_up, .low = 0, .high = 1000000},
        {"json", .flag = &o->format, .value = BENCH_JSON},
        {"csv", .flag = &o->format, .value = BENCH_CSV},
        {"no-prediction", .flag = &o->alone, .value = 1},
        {"profile", .flag = &w->profile, .value = 1},
        {"timeline", .text = &w->timeline},
        {"report", .text = &o->report},
        {"beside", .list = &o->beside},
        {"measure", .text = &o->measure},
        {"clock", .text = &w->clock},
        {"tune", .text = &o->tune},
        {"counts", .flag = &w->counts, .value = 1},
        {0},
    };

    *o = (struct options){.format = BENCH_TEXT, .wishes = {.repeat = 20, .warm_up = 3}};
    cli_parse(argc, argv, settings, help, CLI_DEVICE_MAX, &o->common);
    if (o->preset && !bench_preset(o->preset))
        cli_usage_error("--preset %s: wanted is mi300x or strix-halo", o->preset);
    if (w->counts && (w->profile || w->timeline || o->features || o->report))
        cli_usage_error("--counts and %s exclude each other", o->report     ? "--report"
                                                              : w->profile  ? "--profile"
                                                              : w->timeline ? "--timeline"
                                                                            : "--features");
    if (o->measure && (w->counts || w->profile || w->timeline || o->features || o->report ||
                       o->file || o->preset || o->format != BENCH_TEXT))
        cli_usage_error("--measure measures the GPU, not shapes: it goes with --device, --emulate "
                        "and --clock alone");
    if (o->tune && (w->counts || w->profile || w->timeline || o->features || o->report ||
                    o->measure || o->passes || o->format != BENCH_TEXT))
        cli_usage_error(
            "--tune writes a table: it goes with shapes, --repeat, --warm-up, --device, "
            "--emulate, --clock and --images alone");
    if (o->report && w->timeline && !strcmp(o->report, w->timeline))
        cli_usage_error("--report and --timeline %s: one file cannot be both", o->report);
    if (o->beside.count && !o->report)
        cli_usage_error("--beside needs --report: it adds to that page");
    if (w->profile && o->format != BENCH_TEXT)
        cli_usage_error("--profile is text: it goes with neither --json nor --csv");
    w->emulate = o->common.emulate;
    w->images = o->common.images;
    w->device = o->common.device;
    w->beside = !o->alone && !o->tune;
}

/* What is measured where nothing was asked for. */
static void add_default(struct bench_shapes *shapes, const struct options *o, const char *target)
{
    int large = !strncmp(target, "gfx9", 4), seq;
    char text[BENCH_TEXT_MAX];

    for (seq = 512; o->report && !o->features && seq <= 16384; seq *= 2) {
        int batch = 16384 / seq / (large ? 1 : 4);
        for (int mask = 0; mask < 2; mask++) {
            snprintf(text, sizeof(text), "batch=%d,heads=16,seq=%d,dim=128,dtype=bf16,mask=%s",
                     batch ? batch : 1, seq, mask ? "tl" : "none");
            bench_add_shape(shapes, "default", text);
        }
    }
    if (shapes->count)
        return;
    if (!o->features)
        bench_add_preset(shapes, large ? "mi300x" : "strix-halo");
    else if (large)
        bench_add_shape(shapes, "default", "batch=4,heads=16,seq=4096,dim=128,dtype=bf16");
    else
        bench_add_shape(shapes, "default", "batch=1,heads=16,seq=2048,dim=128,dtype=f16");
}

/* The files of others; a wrong argument or file ends the program. Their shapes are measured where
 * none was asked for. */
static void read_besides(struct bench_besides *besides, struct options *o,
                         struct bench_shapes *shapes)
{
    const int asked = shapes->count;
    struct status why;

    status_clear(&why);
    for (int i = 0; i < o->beside.count; i++) {
        if (!bench_beside_read(besides, o->beside.item[i], &why))
            continue;
        if (why.code == AOTHIP_E_ARGUMENT)
            cli_usage_error("%s", why.text);
        cli_say("%s", why.text);
        exit(CLI_FAILED);
    }
    shapes->passes = BENCH_PASS_AS_GIVEN;
    for (size_t i = 0; i < besides->count && !asked; i++) {
        char text[BENCH_TEXT_MAX], other[BENCH_TEXT_MAX];
        int known = besides->list[i].result.shapeless;

        bench_text(&besides->list[i].result.shape, text);
        for (int j = 0; j < shapes->count && !known; j++)
            known = !strcmp(text, bench_text(&shapes->list[j], other));
        if (!known)
            bench_add_shape(shapes, text, text);
    }
}

/* The page with what others took on it; NULL, and why, if it cannot be. */
static struct bench_page *open_page(const char *file, const struct bench_besides *besides,
                                    const struct bench_session *session, struct status *why)
{
    struct bench_page *page;

    if (bench_besides_fit(besides, session->device.properties.target, why))
        return NULL;
    page = bench_page_open(file, why);
    for (size_t i = 0; page && i < besides->count; i++)
        bench_page_add(page, &besides->list[i].result, why);
    return page;
}

/* The variants of a shape, or it alone; returns how many failed. */
static int run_shape(struct bench_session *session, const struct bench_style *style,
                     const struct bench_shape *shape, int cut, struct bench_page *page, int *first)
{
    struct bench_result r = {.shape = *shape, .cut = cut};
    double plain = 0;
    int failed = 0, i;

    for (i = 0; style->features ? bench_variant(shape, i, &r.shape, r.words) : i == 0; i++) {
        if (style->features)
            cli_progress("%s", r.words);
        bench_session_run(session, &r);
        cli_progress_end();
        failed += r.why.code != AOTHIP_OK;
        bench_print_result(style, &r, *first);
        if (page && bench_page_add(page, &r, &r.why))
            cli_say("%s", r.why.text);
        *first = 0;
        plain = i ? plain : bench_seconds(&r);
        r = (struct bench_result){.plain = plain};
    }
    return failed;
}

/* Everything that needs a GPU; returns how many shapes failed. */
static int run(const struct options *o, struct bench_shapes *shapes, struct bench_session *session,
               struct bench_page *page)
{
    const struct bench_style style = {o->format, session->kind, session->beside, o->features};
    int failed = 0, first = 1, i;

    if (!shapes->count)
        add_default(shapes, o, session->device.properties.target);
    bench_print_head(&style, &session->device);
    for (i = 0; i < shapes->count; i++) {
        struct bench_shape shape = shapes->list[i];
        int cut = session->kind == BENCH_COUNTED && i >= shapes->preset;
        if (cut)
            shape = bench_cut(&shape);
        cli_progress("shape %d of %d", i + 1, shapes->count);
        failed += run_shape(session, &style, &shape, cut, page, &first);
    }
    bench_print_tail(&style);
    return failed;
}

static void read_shapes(struct bench_shapes *shapes, const struct options *o, int argc, char **argv)
{
    shapes->passes = o->passes;
    for (int i = optind; i < argc; i++) {
        if (!*argv[i])
            cli_usage_error("an empty argument is no shape");
        bench_add_shape(shapes, argv[i], argv[i]);
    }
    if (o->file)
        bench_add_file(shapes, o->file);
    if (o->preset)
        bench_add_preset(shapes, o->preset);
}

int main(int argc, char **argv)
{
    struct bench_shapes shapes = {.preset = INT_MAX};
    struct bench_besides besides = {0};
    struct bench_page *page = NULL;
    struct bench_session session;
    struct status why;
    struct options o;
    int failed;

    cli_name = "aothip-bench";
    parse_options(argc, argv, &o);
    read_shapes(&shapes, &o, argc, argv);
    read_besides(&besides, &o, &shapes);
    status_clear(&why);
    if (o.measure && shapes.count)
        cli_usage_error("--measure takes no shape");
    if (o.measure)
        return cli_end(bench_session_measure(&o.wishes, o.measure) ? CLI_FAILED : CLI_OK);
    failed = bench_session_open(&session, &o.wishes);
    if (!failed && o.report && !(page = open_page(o.report, &besides, &session, &why)))
        failed = -1;
    if (!failed && o.tune)
        failed = bench_tune(&session, &shapes, o.tune);
    else if (!failed)
        failed = run(&o, &shapes, &session, page);
    if (bench_page_close(page, &session.device, &why))
        failed = -1;
    if (why.code)
        cli_say("%s", why.text);
    failed |= bench_session_close(&session);
    free(shapes.list);
    bench_besides_free(&besides);
    return cli_end(failed ? CLI_FAILED : CLI_OK);
}
