/*
 * The handlers of XLA's custom calls on the emulator, under an XLA that is made up here: buffers of
 * the host, and those of a GPU with its stream and its memory for scratch. Results are held against
 * the double-precision reference.
 */
#include <sys/stat.h>

#include "device.h"
#include "ref.h"
#include "tap.h"
#include "xla.h"

enum { BATCH = 2, HEADS = 4, HEADS_K = 2, SEQ = 33, KEYS = 70, DIM = 64 };
enum { ARGUMENTS_MAX = 10, RESULTS_MAX = 4 };

static struct device_runtime runtime;
static struct device device;
static int32_t q_lengths[BATCH] = {33, 20}, k_lengths[BATCH] = {50, 70};
static unsigned state = 20261122;

/* The made-up XLA. */
struct xla_error {
    int code;
    char text[600];
};
static struct xla_error last;
static int allocated, refuse_stream, refuse_release, refuse_memory, no_memory;

static struct xla_error *create(struct xla_error_create *error)
{
    last.code = error->code;
    snprintf(last.text, sizeof(last.text), "%s", error->message);
    return &last;
}

static struct xla_error *get_stream(struct xla_stream_get *get)
{
    if (refuse_stream)
        return &last;
    get->stream = device.stream;
    return NULL;
}

static struct xla_error *allocate(struct xla_memory_allocate *get)
{
    struct status why;
    status_clear(&why);
    if (no_memory)
        return NULL;
    /* XLA's own refuses more. */
    if (refuse_memory || get->alignment > 16 || device_alloc(&device, get->size, &get->data, &why))
        return &last;
    allocated++;
    return NULL;
}

static struct xla_error *release(struct xla_memory_free *done)
{
    struct status why;
    status_clear(&why);
    device_finish(&device, &why);
    device_free(&device, done->data);
    allocated--;
    return refuse_release ? &last : NULL;
}

static const struct xla_api api = {.struct_size = sizeof(api),
                                   .error_create = create,
                                   .stream_get = get_stream,
                                   .memory_allocate = allocate,
                                   .memory_free = release};

/* A call: its buffers, and where each is on the host. */
struct frame {
    struct xla_call call;
    struct xla_buffer buffer[ARGUMENTS_MAX + RESULTS_MAX];
    void *host[ARGUMENTS_MAX + RESULTS_MAX];
    int64_t dims[ARGUMENTS_MAX + RESULTS_MAX][4];
    void *argument[ARGUMENTS_MAX], *result[RESULTS_MAX];
    int kinds[ARGUMENTS_MAX];
    struct xla_text name[6], *names[6];
    struct xla_scalar scalar[6];
    void *value[6];
    int scalar_kinds[6];
    int32_t given, mask, left, right;
    float scale, softcap;
};

static size_t type_size(int type)
{
    return type == XLA_BOOL ? 1 : type == XLA_F16 ? 2 : 4;
}

static size_t bytes_of(const struct xla_buffer *b)
{
    size_t bytes = type_size(b->type);
    for (int64_t i = 0; i < b->rank; i++)
        bytes *= (size_t)b->dims[i];
    return bytes;
}

/* Adds an argument or a result, of random values or, of a result, of NaN. */
static struct xla_buffer *add(struct frame *f, int is_result, int type, int rank,
                              const int64_t *dims)
{
    struct xla_values *to = is_result ? &f->call.results : &f->call.arguments;
    const int at = (int)to->count + is_result * ARGUMENTS_MAX;
    struct xla_buffer *b = &f->buffer[at];
    memcpy(f->dims[at], dims, (size_t)rank * sizeof(*dims));
    *b = (struct xla_buffer){
        .struct_size = sizeof(*b), .type = type, .rank = rank, .dims = f->dims[at]};
    to->kinds = f->kinds;
    to->values = is_result ? f->result : f->argument;
    to->values[to->count++] = b;
    b->data = f->host[at] = malloc(bytes_of(b));
    memset(b->data, 0xff, bytes_of(b));
    for (size_t i = 0; !is_result && i < bytes_of(b) / type_size(type); i++) {
        state = state * 1664525u + 1013904223u;
        if (type == XLA_BOOL)
            ((unsigned char *)b->data)[i] = state >> 28 != 0;
        else
            ref_store(b->data, (int64_t)i, type == XLA_F16 ? AOTHIP_F16 : AOTHIP_F32,
                      (double)(int)(state >> 8 & 0xffff) / 32768 - 1);
    }
    return b;
}

static void add_number(struct frame *f, const char *name, int type, void *value)
{
    const int64_t at = f->call.attributes.count++;
    f->name[at] = (struct xla_text){name, strlen(name)};
    f->names[at] = &f->name[at];
    f->scalar[at] = (struct xla_scalar){type, value};
    f->value[at] = &f->scalar[at];
    f->scalar_kinds[at] = XLA_KIND_SCALAR;
}

static void begin(struct frame *f)
{
    *f = (struct frame){.given = 15,
                        .mask = AOTHIP_MASK_WINDOW_TOP_LEFT,
                        .left = 40,
                        .right = 9,
                        .scale = 0.125f,
                        .softcap = 3};
    for (int i = 0; i < ARGUMENTS_MAX; i++)
        f->kinds[i] = XLA_KIND_BUFFER;
    f->call.struct_size = sizeof(f->call);
    f->call.api = &api;
    f->call.stage = XLA_EXECUTE;
    f->call.attributes =
        (struct xla_attributes){.kinds = f->scalar_kinds, .names = f->names, .values = f->value};
    add_number(f, "given", XLA_S32, &f->given);
    add_number(f, "left", XLA_S32, &f->left);
    add_number(f, "mask", XLA_S32, &f->mask);
    add_number(f, "right", XLA_S32, &f->right);
    add_number(f, "scale", XLA_F32, &f->scale);
    add_number(f, "softcap", XLA_F32, &f->softcap);
}

static const int64_t q_dims[] = {BATCH, SEQ, HEADS, DIM}, k_dims[] = {BATCH, KEYS, HEADS_K, DIM};
static const int64_t lse_dims[] = {BATCH, HEADS, SEQ}, bias_dims[] = {1, HEADS, SEQ, KEYS};

/* q, k, v, and all that is optional. */
static void add_problem(struct frame *f)
{
    static const int64_t keep_dims[] = {BATCH, 1, 1, KEYS};
    add(f, 0, XLA_F16, 4, q_dims);
    add(f, 0, XLA_F16, 4, k_dims);
    add(f, 0, XLA_F16, 4, k_dims);
    add(f, 0, XLA_F32, 4, bias_dims);
    add(f, 0, XLA_BOOL, 4, keep_dims);
    memcpy(add(f, 0, XLA_S32, 1, (int64_t[4]){BATCH})->data, q_lengths, sizeof(q_lengths));
    memcpy(add(f, 0, XLA_S32, 1, (int64_t[4]){BATCH})->data, k_lengths, sizeof(k_lengths));
}

static void end(struct frame *f)
{
    for (int i = 0; i < ARGUMENTS_MAX + RESULTS_MAX; i++)
        free(f->host[i]);
}

/* Calls the handler with buffers in host memory, or on the device. */
static struct xla_error *run(struct frame *f, struct xla_error *(*handler)(struct xla_call *),
                             int host)
{
    struct xla_error *error;
    struct status why;
    status_clear(&why);
    for (int i = 0; !host && i < ARGUMENTS_MAX + RESULTS_MAX; i++)
        if (f->host[i]) {
            device_alloc(&device, bytes_of(&f->buffer[i]), &f->buffer[i].data, &why);
            device_upload(&device, f->buffer[i].data, f->host[i], bytes_of(&f->buffer[i]), &why);
        }
    error = handler(&f->call);
    if (error)
        tap_diag("%s", error->text);
    device_finish(&device, &why);
    for (int i = 0; !host && i < ARGUMENTS_MAX + RESULTS_MAX; i++)
        if (f->host[i]) {
            device_download(&device, f->host[i], f->buffer[i].data, bytes_of(&f->buffer[i]), &why);
            device_free(&device, f->buffer[i].data);
            f->buffer[i].data = f->host[i];
        }
    return error;
}

/* (batch, head, row, channel) of a buffer on the host. */
static struct aothip_tensor view(const struct frame *f, int at, int scores)
{
    const struct xla_buffer *b = &f->buffer[at];
    const int64_t *d = b->dims;
    struct aothip_tensor t = {.data = f->host[at]};
    t.dtype = b->type == XLA_F16 ? AOTHIP_F16 : b->type == XLA_BOOL ? AOTHIP_BOOL : AOTHIP_F32;
    if (scores)
        t = (struct aothip_tensor){f->host[at],
                                   {d[0], d[1], d[2], d[3]},
                                   {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1},
                                   t.dtype};
    else
        t = (struct aothip_tensor){f->host[at],
                                   {d[0], d[2], d[1], d[3]},
                                   {d[1] * d[2] * d[3], d[3], d[2] * d[3], 1},
                                   t.dtype};
    return t;
}

/* The problem that begins with argument `first`, as the reference takes it. */
static struct aothip_attn_fwd_params problem(const struct frame *f, int first)
{
    return (struct aothip_attn_fwd_params){.struct_size = sizeof(struct aothip_attn_fwd_params),
                                           .q = view(f, first, 0),
                                           .k = view(f, first + 1, 0),
                                           .v = view(f, first + 2, 0),
                                           .bias = view(f, first + 3, 1),
                                           .keep = view(f, first + 4, 1),
                                           .q_seqs.lengths = q_lengths,
                                           .k_seqs.lengths = k_lengths,
                                           .mask = f->mask,
                                           .window_left = f->left,
                                           .window_right = f->right,
                                           .scale = f->scale,
                                           .softcap = f->softcap};
}

/* How many elements of the second entry's rows from `from` on are not 0. */
static int beyond(const struct aothip_tensor *t, int64_t from)
{
    int found = 0;
    for (int64_t h = 0; h < t->size[1]; h++)
        for (int64_t s = from; s < t->size[2]; s++)
            for (int64_t d = 0; d < t->size[3]; d++)
                found += ref_load(t->data, ref_offset(t, 1, h, s, d), t->dtype) != 0;
    return found;
}

static const enum ref_subnormals flushed = REF_SUBNORMALS_FLUSHED; /* gfx90a */

static void test_forward(int host)
{
    const char *where = host ? "host" : "GPU";
    struct aothip_attn_fwd_params p;
    struct ref_fwd answer;
    struct frame f;
    begin(&f);
    add_problem(&f);
    add(&f, 1, XLA_F16, 4, q_dims);
    add(&f, 1, XLA_F32, 3, lse_dims);
    ok(!run(&f, host ? aothip_xla_fwd_host : aothip_xla_fwd, host), "forward, %s", where);
    p = problem(&f, 0);
    p.o = view(&f, ARGUMENTS_MAX, 0);
    p.lse = f.host[ARGUMENTS_MAX + 1];
    ok(!ref_attn_fwd(&p, flushed, &answer), "has an answer");
    is_int(ref_judge_o(&answer, &p.o).wrong, 0, "o");
    is_int(ref_judge_lse(&answer, p.lse).wrong, 0, "lse");
    is_int(beyond(&p.o, q_lengths[1]), 0, "rows of no query are 0");
    is_int(allocated, 0, "all scratch is given back");
    ref_free(&answer);
    end(&f);
}

static void test_backward(int host)
{
    const char *where = host ? "host" : "GPU";
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &p};
    struct ref_bwd answer;
    struct ref_fwd forward;
    struct frame f;
    begin(&f);
    add(&f, 0, XLA_F16, 4, q_dims);
    add(&f, 0, XLA_F16, 4, q_dims);
    add(&f, 0, XLA_F32, 3, lse_dims);
    add_problem(&f);
    p = problem(&f, 3);
    p.o = view(&f, 1, 0);
    p.lse = f.host[2];
    ok(!ref_attn_fwd(&p, flushed, &forward), "has an answer");
    for (int64_t i = 0, n = BATCH * HEADS * SEQ; i < n; i++) {
        p.lse[i] = (float)forward.lse[i];
        for (int64_t d = 0; d < DIM; d++)
            ref_store(p.o.data, ref_offset(&p.o, i / (HEADS * SEQ), i / SEQ % HEADS, i % SEQ, d),
                      AOTHIP_F16, forward.o[i * DIM + d]);
    }
    add(&f, 1, XLA_F16, 4, q_dims);
    add(&f, 1, XLA_F16, 4, k_dims);
    add(&f, 1, XLA_F16, 4, k_dims);
    add(&f, 1, XLA_F32, 4, bias_dims);
    ok(!run(&f, host ? aothip_xla_bwd_host : aothip_xla_bwd, host), "backward, %s", where);
    b.d_o = view(&f, 0, 0);
    b.dq = view(&f, ARGUMENTS_MAX, 0);
    b.dk = view(&f, ARGUMENTS_MAX + 1, 0);
    b.dv = view(&f, ARGUMENTS_MAX + 2, 0);
    b.dbias = view(&f, ARGUMENTS_MAX + 3, 1);
    ok(!ref_attn_bwd(&b, flushed, &answer), "has an answer");
    is_int(ref_judge_grad(&answer.dq, &b.dq).wrong, 0, "dq");
    is_int(ref_judge_grad(&answer.dk, &b.dk).wrong, 0, "dk");
    is_int(ref_judge_grad(&answer.dv, &b.dv).wrong, 0, "dv");
    is_int(ref_judge_grad(&answer.dbias, &b.dbias).wrong, 0, "dbias");
    is_int(beyond(&b.dq, q_lengths[1]), 0, "rows of no query are 0");
    is_int(allocated, 0, "all scratch is given back");
    ref_free(&forward);
    ref_free_bwd(&answer);
    end(&f);
}

/* What an error says, and its code; nothing must be left behind. */
static void fails(struct frame *f, struct xla_error *(*handler)(struct xla_call *), int host,
                  int code, const char *text)
{
    const struct xla_error *error = run(f, handler, host);
    ok(error && error->code == code && strstr(error->text, text), "refused: %s", text);
    is_int(allocated, 0, "and nothing left behind");
    end(f);
}

/* A forward call in which one buffer is not what it must be. */
static void test_wrong_buffers(int host)
{
    static const struct {
        int at, result, type;
        int64_t less; /* of its first dimension */
        const char *says;
    } cases[] = {{6, 0, XLA_F32, 0, "lengths"}, {6, 0, XLA_S32, 1, "lengths"},
                 {5, 0, XLA_S32, 1, "lengths"}, {1, 1, XLA_F16, 0, "lse"},
                 {1, 1, XLA_F32, 1, "lse"},     {3, 0, 8 /* U32 */, 0, "other arguments"},
                 {0, 0, XLA_BOOL, 0, "q"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct frame f;
        struct xla_buffer *b;
        begin(&f);
        add_problem(&f);
        add(&f, 1, XLA_F16, 4, q_dims);
        add(&f, 1, XLA_F32, 3, lse_dims);
        b = &f.buffer[cases[i].at + cases[i].result * ARGUMENTS_MAX];
        b->type = cases[i].type;
        b->dims[0] -= cases[i].less;
        fails(&f, host ? aothip_xla_fwd_host : aothip_xla_fwd, host, XLA_INVALID_ARGUMENT,
              cases[i].says);
    }
}

/* XLA does not give or take scratch: that is the call's error. */
static void test_scratch(int *refused, int code, const char *text)
{
    struct frame f;
    begin(&f);
    f.given = 0;
    for (int i = 0; i < 6; i++)
        add(&f, 0, i == 2 ? XLA_F32 : XLA_F16, i == 2 ? 3 : 4,
            i == 2  ? lse_dims
            : i < 4 ? q_dims
                    : k_dims);
    add(&f, 1, XLA_F16, 4, q_dims);
    add(&f, 1, XLA_F16, 4, k_dims);
    add(&f, 1, XLA_F16, 4, k_dims);
    *refused = 1;
    last = (struct xla_error){code, ""};
    snprintf(last.text, sizeof(last.text), "%s", text);
    fails(&f, aothip_xla_bwd, 0, code, text);
    *refused = 0;
}

static void test_failures(void)
{
    static const int64_t narrow[] = {BATCH, KEYS, HEADS_K, DIM - 1};
    for (int host = 0; host < 2; host++) {
        struct frame f;
        begin(&f);
        f.given = 0;
        add(&f, 0, XLA_F16, 4, q_dims);
        add(&f, 0, XLA_F16, 4, narrow);
        add(&f, 0, XLA_F16, 4, k_dims);
        add(&f, 1, XLA_F16, 4, q_dims);
        add(&f, 1, XLA_F32, 3, lse_dims);
        fails(&f, host ? aothip_xla_fwd_host : aothip_xla_fwd, host, XLA_INVALID_ARGUMENT, "k");
        begin(&f);
        add(&f, 0, XLA_F16, 4, q_dims);
        fails(&f, host ? aothip_xla_fwd_host : aothip_xla_fwd, host, XLA_INVALID_ARGUMENT,
              "other arguments");
        begin(&f);
        f.call.attributes.count = 2;
        add_problem(&f);
        fails(&f, host ? aothip_xla_bwd_host : aothip_xla_bwd, host, XLA_INVALID_ARGUMENT,
              "attribute");
        test_wrong_buffers(host);
    }
    test_scratch(&refuse_release, 7, "not freed");
    test_scratch(&refuse_memory, 8, "no more");
    test_scratch(&no_memory, XLA_INTERNAL, "no memory for a workspace");
    struct frame f;
    begin(&f);
    refuse_stream = 1;
    last = (struct xla_error){7, "no stream"};
    fails(&f, aothip_xla_fwd, 0, 7, "no stream");
}

static void test_version(void)
{
    struct xla_metadata metadata = {.struct_size = sizeof(metadata), .version.minor = -1};
    struct xla_metadata_extension asked = {.base = {sizeof(asked), XLA_EXTENSION_METADATA, NULL},
                                           .metadata = &metadata};
    struct xla_call call = {.struct_size = sizeof(call), .extension = &asked.base};
    ok(!aothip_xla_fwd(&call), "the question for the interface");
    ok(!metadata.version.major && metadata.version.minor == 3, "is answered");
}

int main(void)
{
    struct aothip_xla_library library = {.fwd = aothip_attn_fwd,
                                         .fwd_workspace = aothip_attn_fwd_workspace,
                                         .bwd = aothip_attn_bwd,
                                         .bwd_workspace = aothip_attn_bwd_workspace,
                                         .hip_function = aothip_hip_function,
                                         .last_error = aothip_last_error,
                                         .minor = 3};
    struct status why;
    struct stat info;
    if (stat(IMAGES "/amd-gfx90a", &info) || stat(EMULATOR, &info))
        tap_skip_all("there are no images of gfx90a or no emulator");
    setenv("AOTHIP_HIP_LIBRARY", EMULATOR, 1);
    setenv("AOTHIP_EMU_GPU", "gfx90a", 1);
    status_clear(&why);
    if (device_open_runtime(&runtime, &why) || device_open(&runtime, 0, &device, &why) ||
        aothip_open(IMAGES, &library.context)) {
        ok(0, "%s %s", why.text, aothip_last_error());
        return tap_done();
    }
    aothip_xla_setup(&library);
    test_version();
    for (int host = 0; host < 2; host++) {
        test_forward(host);
        test_backward(host);
    }
    test_failures();
    aothip_close(library.context);
    device_close(&device);
    return tap_done();
}
