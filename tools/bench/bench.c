/* aothip-bench: how fast attention is on the GPU of this machine. */
#include "attn.h"
#include "report.h"
#include "cli.h"
#include "ref.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: aothip-bench [option ...] [SHAPE ...]\n"
    "Measures attention on a GPU. SHAPE is such as batch=4,heads=32,seq=4096,dim=128;\n"
    "its keys: batch heads heads_k seq seq_q seq_k dim dim_v, dtype=f16|bf16|f32,\n"
    "mask=none|tl|br, layout=bhsd|bshd, pass=fwd|bwd.\n"
    "\n"
    "      --file FILE        shapes, one a line; # begins a comment; -: stdin\n"
    "      --preset NAME      the shapes of mi300x or strix-halo\n"
    "      --backward         the backward pass of each shape instead\n"
    "      --both             both passes of each shape\n"
    "      --repeat N         timed calls; default 20\n"
    "      --warm-up N        calls before them; default 3\n"
    "      --json, --csv      for machines\n"
    "      --device N         which GPU, from 0; default 0\n"
    "      --emulate GPU      run on the emulator, as gfx942 or another GPU: counts,\n"
    "                         not times; shapes of presets are cut down\n"
    "      --images DIR       where the kernels are; default: beside libaothip\n"
    "      --help, --version\n"
    "\n"
    "Without shapes it takes the preset that fits.\n"
    "Exit status: 0 done, 1 something failed, 2 wrong command.\n";

enum { PASS_AS_GIVEN, PASS_BACKWARD, PASS_BOTH };

struct options {
    struct cli_common common;
    const char *file, *preset;
    int format; /* enum bench_format */
    int repeat, warm_up, pass;
};

/* The shapes to measure. */
struct shapes {
    struct bench_shape *list;
    int count, preset; /* those from number `preset` on are a preset's */
};

static void parse_options(int argc, char **argv, struct options *o)
{
    const struct cli_setting settings[] = {
        {"file", .text = &o->file},
        {"preset", .text = &o->preset},
        {"backward", .flag = &o->pass, .value = PASS_BACKWARD},
        {"both", .flag = &o->pass, .value = PASS_BOTH},
        {"repeat", .number = &o->repeat, .low = 1, .high = 1000000},
        {"warm-up", .number = &o->warm_up, .low = 0, .high = 1000000},
        {"json", .flag = &o->format, .value = BENCH_JSON},
        {"csv", .flag = &o->format, .value = BENCH_CSV},
        {0},
    };

    *o = (struct options){.format = BENCH_TEXT, .repeat = 20, .warm_up = 3};
    cli_parse(argc, argv, settings, help, CLI_DEVICE_MAX, &o->common);
    if (o->preset && !bench_preset(o->preset))
        cli_usage_error("--preset %s: wanted is mi300x or strix-halo", o->preset);
}

static void add_one(struct shapes *s, const struct bench_shape *shape)
{
    struct bench_shape *list = realloc(s->list, (size_t)(s->count + 1) * sizeof(*list));
    if (!list) {
        cli_say("no memory for %d shapes", s->count + 1);
        exit(CLI_FAILED);
    }
    s->list = list;
    list[s->count++] = *shape;
}

/* A shape, in the passes asked for; `where` it stands is told if it is wrong. */
static void add_shape(struct shapes *s, const struct options *o, const char *where,
                      const char *text)
{
    struct bench_shape shape = bench_default();
    char error[BENCH_ERROR_MAX];

    if (bench_parse(text, &shape, error))
        cli_usage_error("%s: %s", where, error);
    if (o->pass == PASS_BOTH) {
        shape.backward = 0;
        add_one(s, &shape);
    }
    if (o->pass != PASS_AS_GIVEN)
        shape.backward = 1;
    add_one(s, &shape);
}

static void read_file(struct shapes *s, const struct options *o)
{
    FILE *f = strcmp(o->file, "-") ? fopen(o->file, "r") : stdin;
    char *line = NULL, where[300];
    size_t room = 0;
    int number = 0, before = s->count;

    if (!f) {
        cli_say("%s: cannot be read: %s", o->file, strerror(errno));
        exit(CLI_FAILED);
    }
    while (getline(&line, &room, f) >= 0) {
        number++;
        line[strcspn(line, "#\r\n")] = '\0';
        if (!line[strspn(line, " \t")])
            continue;
        snprintf(where, sizeof(where), "%.256s, line %d", o->file, number);
        add_shape(s, o, where, line);
    }
    if (ferror(f)) {
        cli_say("%s: cannot be read: %s", o->file, strerror(errno));
        exit(CLI_FAILED);
    }
    free(line);
    if (f != stdin)
        fclose(f);
    if (s->count == before)
        cli_usage_error("%s: holds no shape", o->file);
}

static void add_preset(struct shapes *s, const struct options *o, const char *name)
{
    const char *const *line;
    s->preset = s->count;
    for (line = bench_preset(name); *line; line++)
        add_shape(s, o, name, *line);
}

/* Tensors of a shape, in host memory. */
struct tensors {
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd;
    void *blocks[10];
    int count;
};

/* Random values about normal; a block of them is repeated, for filling is slower than computing. */
static void fill(void *data, int dtype, size_t count)
{
    enum { BLOCK = 1 << 16 };
    size_t size = ref_dtype_size(dtype), i, done;
    uint64_t state = 20261;

    for (i = 0; i < count && i < BLOCK; i++) {
        double value = 0;
        int j;
        for (j = 0; j < 3; j++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            value += (double)(int64_t)(state >> 11) / 0x1p52 - 1;
        }
        ref_store(data, (int64_t)i, dtype, value);
    }
    for (done = i; done < count; done += i)
        memcpy((char *)data + done * size, data, (count - done < i ? count - done : i) * size);
}

static struct aothip_tensor make_tensor(struct tensors *t, const struct bench_shape *s, int heads,
                                        int seq, int dim)
{
    const int64_t size[4] = {s->batch, heads, seq, dim};
    struct aothip_tensor view = attn_view(s->bshd ? ATTN_BSHD : ATTN_BHSD, NULL, s->dtype, size);
    size_t count = attn_span(&view);

    view.data = malloc(count * ref_dtype_size(s->dtype));
    if (view.data) {
        t->blocks[t->count++] = view.data;
        fill(view.data, s->dtype, count);
    }
    return view;
}

static void free_tensors(struct tensors *t)
{
    while (t->count)
        free(t->blocks[--t->count]);
}

/* Returns 0, or -1 if memory ran out. */
static int make_tensors(const struct bench_shape *s, struct tensors *t)
{
    struct aothip_attn_fwd_params *f = &t->fwd;
    size_t rows = (size_t)s->batch * (size_t)s->heads * (size_t)s->seq_q;
    int wanted = s->backward ? 9 : 5;

    memset(t, 0, sizeof(*t));
    *f = (struct aothip_attn_fwd_params){
        .struct_size = sizeof(*f), .scale = (float)(1 / sqrt(s->dim)), .mask = s->mask};
    f->q = make_tensor(t, s, s->heads, s->seq_q, s->dim);
    f->k = make_tensor(t, s, s->heads_k, s->seq_k, s->dim);
    f->v = make_tensor(t, s, s->heads_k, s->seq_k, s->dim_v);
    f->o = make_tensor(t, s, s->heads, s->seq_q, s->dim_v);
    f->lse = calloc(rows, sizeof(float));
    if (f->lse)
        t->blocks[t->count++] = f->lse;
    if (s->backward) {
        t->bwd = (struct aothip_attn_bwd_params){.struct_size = sizeof(t->bwd), .fwd = f};
        t->bwd.d_o = make_tensor(t, s, s->heads, s->seq_q, s->dim_v);
        t->bwd.dq = make_tensor(t, s, s->heads, s->seq_q, s->dim);
        t->bwd.dk = make_tensor(t, s, s->heads_k, s->seq_k, s->dim);
        t->bwd.dv = make_tensor(t, s, s->heads_k, s->seq_k, s->dim_v);
    }
    return t->count == wanted ? 0 : -1;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { EVENTS_MAX = 65 };

/* The first call that fails ends it; *symbol tells which. */
#define HIP_TRY(call, name)                                                                        \
    do {                                                                                           \
        *symbol = name;                                                                            \
        error = call;                                                                              \
        if (error != hipSuccess)                                                                   \
            return error;                                                                          \
    } while (0)

/* Times `count` calls that follow each other without a pause, each from the event before it. */
static hipError_t time_block(const struct device *device, struct aothip_context *context,
                             const struct attn_call *call, int count, hipEvent_t *event,
                             float *times, const char **symbol, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error;
    int i;

    HIP_TRY(hip->event_record(event[0], device->stream), "hipEventRecord");
    for (i = 0; i < count; i++) {
        if (attn_launch(device, context, call, why))
            return hipSuccess;
        HIP_TRY(hip->event_record(event[i + 1], device->stream), "hipEventRecord");
    }
    HIP_TRY(hip->event_synchronize(event[count]), "hipEventSynchronize");
    for (i = 0; i < count; i++)
        HIP_TRY(hip->event_elapsed(&times[i], event[i], event[i + 1]), "hipEventElapsedTime");
    return hipSuccess;
}

/* Times the calls by events on the device; times[] in milliseconds. */
static enum aothip_status time_calls(const struct device *device, struct aothip_context *context,
                                     const struct attn_call *call, int count, float *times,
                                     struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    const char *symbol = "hipEventCreate";
    hipEvent_t event[EVENTS_MAX];
    hipError_t error = hipSuccess;
    int events = 0, done = 0;

    while (events < EVENTS_MAX && events <= count && error == hipSuccess) {
        error = hip->event_create(&event[events]);
        events += error == hipSuccess;
    }
    while (done < count && error == hipSuccess && !why->code) {
        int block = count - done < events - 1 ? count - done : events - 1;
        error = time_block(device, context, call, block, event, times + done, &symbol, why);
        done += block;
    }
    while (events)
        hip->event_destroy(event[--events]);
    return error == hipSuccess ? why->code : hip_fail(hip, symbol, error, why);
}

/* Where the emulator's counters go, and how many launches were read from there. */
struct counting {
    char file[64];
    int own; /* 1: the file is to be removed */
    long long seen;
};

static const char *counters_file(const struct counting *counting)
{
    return counting->own ? counting->file : getenv("AOTHIP_EMU_COUNTERS");
}

static void measure(const struct options *o, const struct device *device,
                    struct aothip_context *context, const struct attn_call *call,
                    struct counting *counting, struct bench_result *r)
{
    int emulated = device->runtime->emulated, i;
    float *times = calloc((size_t)o->repeat, sizeof(*times));

    if (!times) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for %d times", o->repeat);
        return;
    }
    for (i = 0; i < (emulated ? 1 : o->warm_up) && !r->why.code; i++)
        attn_launch(device, context, call, &r->why);
    if (!r->why.code)
        device_finish(device, &r->why);
    if (emulated && !r->why.code) {
        bench_read_counters(counters_file(counting), &counting->seen, &r->counters, &r->why);
    } else if (!r->why.code && !time_calls(device, context, call, o->repeat, times, &r->why)) {
        qsort(times, (size_t)o->repeat, sizeof(*times), compare);
        if (!(times[0] > 0))
            status_set(&r->why, AOTHIP_E_HIP, "a call took %g ms by the device's clock",
                       (double)times[0]);
        r->fastest = (double)times[0] / 1e3;
        r->median = (double)(times[o->repeat / 2] + times[(o->repeat - 1) / 2]) / 2e3;
    }
    free(times);
}

/* Lets the forward pass make what the backward pass reads: o and lse. */
static enum aothip_status make_outputs(const struct device *device, struct aothip_context *context,
                                       const struct attn_call *call, struct counting *counting,
                                       struct bench_result *r)
{
    if (aothip_attn_fwd(context, &call->fwd, device->stream))
        return status_set(&r->why, AOTHIP_E_HIP, "%s", aothip_last_error());
    if (device_finish(device, &r->why))
        return r->why.code;
    if (!device->runtime->emulated)
        return AOTHIP_OK;
    return bench_read_counters(counters_file(counting), &counting->seen, &r->counters, &r->why);
}

static void run_shape(const struct options *o, const struct device *device,
                      struct aothip_context *context, struct counting *counting,
                      struct bench_result *r)
{
    struct attn_call call;
    struct tensors t;
    int failed;

    if (make_tensors(&r->shape, &t)) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for the tensors");
        free_tensors(&t);
        return;
    }
    failed = r->shape.backward ? attn_upload_bwd(device, context, &t.bwd, &call, &r->why)
                               : attn_upload_fwd(device, context, &t.fwd, ATTN_FWD, &call, &r->why);
    if (!failed) {
        if (!r->shape.backward || !make_outputs(device, context, &call, counting, r))
            measure(o, device, context, &call, counting, r);
        attn_release(device, &call);
    }
    free_tensors(&t);
}

/* The file that an interrupted program must not leave behind. */
static const char *left_behind;

static void clean_up(int number)
{
    unlink(left_behind);
    signal(number, SIG_DFL);
    raise(number);
}

static void clean_up_when_interrupted(const char *file)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    size_t i;

    left_behind = file;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signal(signals[i], clean_up) == SIG_IGN)
            signal(signals[i], SIG_IGN);
}

/* Must come before the emulator is opened. */
static int prepare_counters(struct counting *counting)
{
    const char *tmp = getenv("TMPDIR");
    int file;

    if (getenv("AOTHIP_EMU_COUNTERS"))
        return 0;
    if (snprintf(counting->file, sizeof(counting->file), "%s/aothip-bench-XXXXXX",
                 tmp ? tmp : "/tmp") >= (int)sizeof(counting->file))
        snprintf(counting->file, sizeof(counting->file), "/tmp/aothip-bench-XXXXXX");
    file = mkstemp(counting->file);
    if (file < 0 || setenv("AOTHIP_EMU_COUNTERS", counting->file, 1)) {
        cli_say("%s: cannot be made", counting->file);
        return -1;
    }
    close(file);
    counting->own = 1;
    clean_up_when_interrupted(counting->file);
    return 0;
}

/* Everything that needs a GPU; returns how many shapes failed, or -1. */
static int run(const struct options *o, struct shapes *shapes, struct counting *counting,
               struct aothip_context *context)
{
    struct device_runtime runtime;
    struct device device = {0};
    struct status why;
    int failed = 0, i;

    status_clear(&why);
    if ((o->common.emulate && device_emulate(o->common.emulate, &why)) ||
        device_open_runtime(&runtime, &why) ||
        device_open(&runtime, o->common.device, &device, &why)) {
        cli_say("%s", why.text);
        return -1;
    }
    if (!shapes->count)
        add_preset(shapes, o,
                   strncmp(device.properties.target, "gfx9", 4) ? "strix-halo" : "mi300x");
    bench_print_head(o->format, &device);
    for (i = 0; i < shapes->count; i++) {
        struct bench_result r = {.shape = shapes->list[i]};
        if (runtime.emulated && i >= shapes->preset) {
            r.shape = bench_cut(&r.shape);
            r.cut = 1;
        }
        cli_progress("shape %d of %d", i + 1, shapes->count);
        run_shape(o, &device, context, counting, &r);
        cli_progress_end();
        failed += r.why.code != AOTHIP_OK;
        bench_print_result(o->format, &r, runtime.emulated, i == 0);
    }
    bench_print_tail(o->format);
    device_close(&device);
    return failed;
}

int main(int argc, char **argv)
{
    struct aothip_context *context = NULL;
    struct counting counting = {.own = 0};
    struct shapes shapes = {.preset = INT_MAX};
    struct options o;
    int failed, i;

    cli_name = "aothip-bench";
    parse_options(argc, argv, &o);
    for (i = optind; i < argc; i++) {
        if (!*argv[i])
            cli_usage_error("an empty argument is no shape");
        add_shape(&shapes, &o, argv[i], argv[i]);
    }
    if (o.file)
        read_file(&shapes, &o);
    if (o.preset)
        add_preset(&shapes, &o, o.preset);
    if (aothip_open(o.common.images, &context)) {
        cli_say("%s", aothip_last_error());
        failed = -1;
    } else {
        failed = prepare_counters(&counting) ? -1 : run(&o, &shapes, &counting, context);
    }
    aothip_close(context);
    if (counting.own)
        unlink(counting.file);
    free(shapes.list);
    return cli_end(failed ? CLI_FAILED : CLI_OK);
}
