/* aothip-run: forward attention on tensors from NumPy files. */
#include "attn.h"
#include "cli.h"
#include "half.h"
#include "npy.h"
#include "ref.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-run Q.npy K.npy V.npy -o O.npy [option ...]\n"
    "Computes softmax(scale Q K^T) V on a GPU and writes it to O.npy.\n"
    "\n"
    "  -o, --output FILE      where o goes; its type is that of Q.npy\n"
    "      --lse FILE         write the log-sum-exp of each row too, float32\n"
    "      --causal tl|br     mask: keys after the query, aligned at the top left or\n"
    "                         the bottom right\n"
    "      --scale NUMBER     default: 1 / sqrt(dim of q)\n"
    "      --layout LAYOUT    bhsd (default): (batch, head, sequence, channel)\n"
    "                         bshd: (batch, sequence, head, channel)\n"
    "      --bf16             compute in bfloat16: uint16 files hold bfloat16, and\n"
    "                         float32 files are converted to it instead of float16\n"
    "      --verify           compare with attention in double precision as well\n"
    "      --device N         which GPU, from 0; default 0\n"
    "      --emulate GPU      run on the emulator, as gfx942 or another GPU\n"
    "      --images DIR       where the kernels are; default: beside libaothip\n"
    "      --help, --version\n"
    "\n"
    "The files may also lack the batch, (head, sequence, channel), or the heads too,\n"
    "(sequence, channel). Exit status: 0 done, 1 failed, 2 wrong command.\n";

struct options {
    const char *input[3], *o, *lse, *images, *emulate;
    enum attn_layout layout;
    int mask, device;
    double scale; /* NaN: the default */
    bool bf16, verify;
};

/* q, k or v: as read, and as it is computed on. */
struct input {
    const char *path;
    struct npy_array array;
    char shape[NPY_SHAPE_MAX];
    struct aothip_tensor tensor; /* owns its data */
};

enum { Q, K, V };

static enum attn_layout parse_layout(const char *text)
{
    if (!strcmp(text, "bhsd"))
        return ATTN_BHSD;
    if (!strcmp(text, "bshd"))
        return ATTN_BSHD;
    cli_usage_error("--layout %s: wanted is bhsd or bshd", text);
}

static int parse_mask(const char *text)
{
    if (!strcmp(text, "tl"))
        return AOTHIP_MASK_CAUSAL_TOP_LEFT;
    if (!strcmp(text, "br"))
        return AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    cli_usage_error("--causal %s: wanted is tl or br", text);
}

enum {
    LSE = 256,
    CAUSAL,
    SCALE,
    LAYOUT,
    BF16,
    VERIFY,
    DEVICE,
    EMULATE,
    IMAGES,
    SHOW_HELP,
    SHOW_VERSION
};

/* clang-format off */
static const struct option known[] = {
    {"output", required_argument, NULL, 'o'},
    {"lse", required_argument, NULL, LSE},
    {"causal", required_argument, NULL, CAUSAL},
    {"scale", required_argument, NULL, SCALE},
    {"layout", required_argument, NULL, LAYOUT},
    {"bf16", no_argument, NULL, BF16},
    {"verify", no_argument, NULL, VERIFY},
    {"device", required_argument, NULL, DEVICE},
    {"emulate", required_argument, NULL, EMULATE},
    {"images", required_argument, NULL, IMAGES},
    {"help", no_argument, NULL, SHOW_HELP},
    {"version", no_argument, NULL, SHOW_VERSION},
    {0},
};
/* clang-format on */

static void parse_options(int argc, char **argv, struct options *o)
{
    int option, i;

    *o = (struct options){.layout = ATTN_BHSD, .scale = (double)NAN};
    while ((option = cli_option(argc, argv, ":o:", known)) != -1)
        switch (option) {
        case 'o':
            o->o = optarg;
            break;
        case LSE:
            o->lse = optarg;
            break;
        case CAUSAL:
            o->mask = parse_mask(optarg);
            break;
        case SCALE:
            o->scale = cli_number("--scale", optarg);
            break;
        case LAYOUT:
            o->layout = parse_layout(optarg);
            break;
        case BF16:
            o->bf16 = true;
            break;
        case VERIFY:
            o->verify = true;
            break;
        case DEVICE:
            o->device = cli_int("--device", optarg, 0, 1 << 20);
            break;
        case EMULATE:
            o->emulate = optarg;
            break;
        case IMAGES:
            o->images = optarg;
            break;
        case SHOW_HELP:
            fputs(help, stdout);
            exit(CLI_OK);
        case SHOW_VERSION:
            cli_print_version();
            exit(CLI_OK);
        }
    if (argc - optind != 3)
        cli_usage_error("wanted are three files, Q.npy K.npy V.npy; given %s %d",
                        argc - optind == 1 ? "is" : "are", argc - optind);
    if (!o->o)
        cli_usage_error("-o FILE is missing");
    for (i = Q; i <= V; i++)
        o->input[i] = argv[optind + i];
}

/* (batch, head, sequence, channel) of a file's shape; missing dimensions are 1. */
static int read_sizes(const struct options *o, struct input *in)
{
    const int64_t *size = in->array.size;
    int64_t *to = in->tensor.size;
    int i, missing = 4 - in->array.dims;

    npy_shape_text(&in->array, in->shape);
    if (missing < 0 || missing > 2) {
        cli_say("%s: its shape %s has %d dimensions; wanted are 4, 3 or 2", in->path, in->shape,
                in->array.dims);
        return -1;
    }
    for (i = 0; i < 4; i++)
        to[i] = i < missing ? 1 : size[i - missing];
    if (o->layout == ATTN_BSHD && missing == 0) {
        to[1] = size[2];
        to[2] = size[1];
    } else if (o->layout == ATTN_BSHD && missing == 1) {
        to[1] = size[1];
        to[2] = size[0];
    }
    for (i = 0; i < 4; i++)
        if (to[i] < 1) {
            cli_say("%s: its shape %s is empty", in->path, in->shape);
            return -1;
        }
    return 0;
}

/* Brings the elements into the type that is computed in. */
static int convert(const struct options *o, struct input *in)
{
    int dtype = o->bf16 ? AOTHIP_BF16 : AOTHIP_F16;
    enum npy_type type = in->array.type;
    size_t i, count = in->array.count, infinite = 0;
    uint16_t *data;

    if (type == (o->bf16 ? NPY_F16 : NPY_U16)) {
        cli_say(o->bf16 ? "%s: it holds float16; leave --bf16 away"
                        : "%s: it holds uint16; if that is bfloat16, say --bf16",
                in->path);
        return -1;
    }
    if (npy_type_size(type) == sizeof(uint16_t)) {
        in->tensor = attn_view(o->layout, in->array.data, dtype, in->tensor.size);
        in->array.data = NULL;
        return 0;
    }
    data = malloc(count * sizeof(*data));
    if (!data) {
        cli_say("%s: no memory for its %zu elements", in->path, count);
        return -1;
    }
    for (i = 0; i < count; i++) {
        double value =
            type == NPY_F32 ? ((float *)in->array.data)[i] : ((double *)in->array.data)[i];
        ref_store(data, (int64_t)i, dtype, value);
        infinite += isfinite(value) && isinf(ref_load(data, (int64_t)i, dtype));
    }
    cli_say("%s: %s converted to %s", in->path, npy_type_name(type),
            o->bf16 ? "bfloat16" : "float16");
    if (infinite)
        cli_say("%s: %zu of its %zu values became infinite%s", in->path, infinite, count,
                o->bf16 ? "" : "; --bf16 has the range of float32");
    in->tensor = attn_view(o->layout, data, dtype, in->tensor.size);
    return 0;
}

static int load(const struct options *o, const char *path, struct input *in)
{
    char error[NPY_ERROR_MAX];

    in->path = path;
    if (npy_read(path, &in->array, error)) {
        cli_say("%s", error);
        return -1;
    }
    return read_sizes(o, in) || convert(o, in) ? -1 : 0;
}

/* How the shapes must fit; a breach is told with both files and both shapes. */
static int check_shapes(const struct input in[3])
{
    static const char *const names[] = {"batch entries", "heads", "keys", "channels"};
    static const struct {
        int a, b, dimension;
    } equal[] = {{Q, K, 0}, {Q, V, 0}, {K, V, 1}, {K, V, 2}, {Q, K, 3}};
    size_t i;

    for (i = K; i <= V; i++)
        if (in[i].array.dims != in[Q].array.dims) {
            cli_say("%s %s has another number of dimensions than %s %s", in[i].path, in[i].shape,
                    in[Q].path, in[Q].shape);
            return -1;
        }
    for (i = 0; i < sizeof(equal) / sizeof(equal[0]); i++) {
        const struct input *a = &in[equal[i].a], *b = &in[equal[i].b];
        int64_t x = a->tensor.size[equal[i].dimension], y = b->tensor.size[equal[i].dimension];
        if (x != y) {
            cli_say("%s %s has %lld %s and %s %s has %lld", a->path, a->shape, (long long)x,
                    names[equal[i].dimension], b->path, b->shape, (long long)y);
            return -1;
        }
    }
    if (in[Q].tensor.size[1] % in[K].tensor.size[1]) {
        cli_say("%s %s has %lld heads, no multiple of the %lld of %s %s", in[Q].path, in[Q].shape,
                (long long)in[Q].tensor.size[1], (long long)in[K].tensor.size[1], in[K].path,
                in[K].shape);
        return -1;
    }
    return 0;
}

/* o and lse as arrays of the shape that the user's files have. */
struct output {
    struct npy_array o, lse;
    char shape[NPY_SHAPE_MAX];
};

static int make_output(const struct options *o, const struct input in[3], struct output *out)
{
    int dims = in[Q].array.dims, bshd = o->layout == ATTN_BSHD && dims > 2;

    out->o = in[Q].array;
    out->o.size[dims - 1] = in[V].tensor.size[3];
    out->o.count = in[Q].array.count / (size_t)in[Q].tensor.size[3] * (size_t)in[V].tensor.size[3];
    out->o.data = calloc(out->o.count, sizeof(uint16_t));
    npy_shape_text(&out->o, out->shape);

    out->lse = (struct npy_array){.type = NPY_F32, .dims = dims - 1};
    memcpy(out->lse.size, in[Q].array.size, sizeof(int64_t) * (size_t)(dims - 1));
    if (bshd) {
        out->lse.size[dims - 3] = in[Q].tensor.size[1];
        out->lse.size[dims - 2] = in[Q].tensor.size[2];
    }
    out->lse.count = in[Q].array.count / (size_t)in[Q].tensor.size[3];
    out->lse.data = calloc(out->lse.count, sizeof(float));
    if (out->o.data && out->lse.data)
        return 0;
    cli_say("no memory for the output %s", out->shape);
    return -1;
}

/* A file in the type of q's: float32 where q was converted. */
static int write_output(const struct options *o, const struct input in[3], struct output *out,
                        int dtype)
{
    char error[NPY_ERROR_MAX];
    size_t i;

    if (npy_type_size(in[Q].array.type) != sizeof(uint16_t)) {
        float *wide = malloc(out->o.count * sizeof(*wide));
        if (!wide) {
            cli_say("no memory for the output %s", out->shape);
            return -1;
        }
        for (i = 0; i < out->o.count; i++)
            wide[i] = (float)ref_load(out->o.data, (int64_t)i, dtype);
        free(out->o.data);
        out->o.data = wide;
        out->o.type = NPY_F32;
    }
    if (npy_write(o->o, &out->o, error) || (o->lse && npy_write(o->lse, &out->lse, error))) {
        cli_say("%s", error);
        return -1;
    }
    return 0;
}

static void print_verdict(const char *name, const struct ref_verdict *v)
{
    printf("%-4s error %.1e, allowed %.1e  %s\n", name, v->error, v->allowed,
           v->wrong ? "FAIL" : "OK");
}

/* Compares with the reference in double precision. */
static int verify(const struct aothip_attn_fwd_params *p, const char *target)
{
    struct ref_verdict o, lse;
    struct ref_fwd answer;

    if (ref_attn_fwd(p, ref_subnormals_of(target), &answer)) {
        cli_say("no memory for the reference");
        return -1;
    }
    o = ref_judge_o(&answer, &p->o);
    lse = ref_judge_lse(&answer, p->lse);
    ref_free(&answer);
    print_verdict("o", &o);
    print_verdict("lse", &lse);
    return o.wrong || lse.wrong ? -1 : 0;
}

/* A target ID of up to 255 bytes, and whether it is an emulated one. */
enum { TARGET_MAX = 300 };

/* Everything that needs a GPU. */
static int compute(const struct options *o, const struct aothip_attn_fwd_params *p,
                   struct aothip_context *context, char target[TARGET_MAX])
{
    struct device_runtime runtime;
    struct device device = {0};
    struct status why;
    int failed;

    status_clear(&why);
    failed = (o->emulate && device_emulate(o->emulate, &why)) ||
             device_open_runtime(&runtime, &why) ||
             device_open(&runtime, o->device, &device, &why) || attn_fwd(&device, context, p, &why);
    if (failed)
        cli_say("%s", why.text);
    else
        snprintf(target, TARGET_MAX, "%s%s", device.properties.target,
                 runtime.emulated ? ", emulated" : "");
    device_close(&device);
    return failed ? -1 : 0;
}

static int run(const struct options *o, struct input in[3], struct output *out)
{
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p), .mask = o->mask};
    struct aothip_context *context;
    char target[TARGET_MAX];
    int failed, i;

    for (i = Q; i <= V; i++)
        if (load(o, o->input[i], &in[i]))
            return -1;
    if (check_shapes(in) || make_output(o, in, out))
        return -1;
    p.q = in[Q].tensor;
    p.k = in[K].tensor;
    p.v = in[V].tensor;
    p.o = attn_view(o->layout, out->o.data, p.q.dtype,
                    (int64_t[]){p.q.size[0], p.q.size[1], p.q.size[2], p.v.size[3]});
    p.lse = out->lse.data;
    p.scale = (float)(isnan(o->scale) ? 1 / sqrt((double)p.q.size[3]) : o->scale);

    if (aothip_open(o->images, &context)) {
        cli_say("%s", aothip_last_error());
        return -1;
    }
    failed = compute(o, &p, context, target);
    aothip_close(context);
    if (failed)
        return -1;
    failed = o->verify && verify(&p, target);
    if (write_output(o, in, out, p.q.dtype))
        return -1;
    cli_say("%s: %s %s, computed on %s", o->o, npy_type_name(out->o.type), out->shape, target);
    return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct input in[3] = {{0}};
    struct output out = {0};
    struct options o;
    int failed, i;

    cli_name = "aothip-run";
    parse_options(argc, argv, &o);
    failed = run(&o, in, &out);
    for (i = Q; i <= V; i++) {
        npy_free(&in[i].array);
        free(in[i].tensor.data);
    }
    npy_free(&out.o);
    npy_free(&out.lse);
    return failed ? CLI_FAILED : CLI_OK;
}
