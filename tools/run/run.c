/* aothip-run: attention, forward and backward, on tensors from NumPy files. */
#include "run_job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: aothip-run Q.npy K.npy V.npy -o O.npy [option ...]\n"
    "Computes softmax(scale Q K^T) V on a GPU and writes it to O.npy.\n"
    "\n"
    "  -o, --output FILE      where o goes; its type is that of Q.npy\n"
    "      --lse FILE         write the log-sum-exp of each row too, float32\n"
    "      --base2            that to base 2\n"
    "      --causal tl|br     mask: keys after the query, aligned at the top left or\n"
    "                         the bottom right\n"
    "      --window tl|br:L,R mask: keys more than L before or R after the query,\n"
    "                         aligned as above; a side may be inf\n"
    "      --bias FILE        added to the scores; sizes of 1 and missing dimensions\n"
    "                         are broadcast\n"
    "      --softcap NUMBER   scores s become c tanh(s / c)\n"
    "      --alibi FILE       slopes, (head) or (batch, head)\n"
    "      --sinks FILE       logits that only add to the denominator, (head)\n"
    "      --dropout P        with --seed N and --offset N\n"
    "      --lengths-q N,...  sequences behind each other in files of one batch entry\n"
    "      --lengths-k N,...  the lengths of their keys\n"
    "      --backward DO      gradients too, for the gradient of o in DO; they go to\n"
    "                         the files of --dq, --dk, --dv, float32 --dbias\n"
    "      --scale NUMBER     default: 1 / sqrt(dim of q)\n"
    "      --layout LAYOUT    bhsd (default): (batch, head, sequence, channel)\n"
    "                         bshd: (batch, sequence, head, channel)\n"
    "      --bf16             compute in bfloat16: uint16 files hold bfloat16, and\n"
    "                         float32 files are converted to it instead of float16\n"
    "      --f32              compute in float32\n"
    "      --fp8 TYPE         uint8 files hold FP8: e4m3, e5m2, e4m3fnuz, e5m2fnuz;\n"
    "                         those of k and v, or of q, too, and o is float32\n"
    "      --q-scale, --k-scale, --v-scale NUMBER\n"
    "                         what the elements of that FP8 are multiplied by\n"
    "      --verify           compare with attention in double precision as well\n"
    "      --device N         which GPU, from 0; default 0\n"
    "      --emulate GPU      run on the emulator, as gfx942 or another GPU\n"
    "      --images DIR       where the kernels are; default: beside libaothip\n"
    "      --help, --version\n"
    "\n"
    "The files may also lack the batch, (head, sequence, channel), or the heads too,\n"
    "(sequence, channel). Exit status: 0 done, 1 failed, 2 wrong command.\n";

enum {
    LSE = 256,
    BASE2,
    CAUSAL,
    WINDOW,
    BIAS,
    SOFTCAP,
    ALIBI,
    SINKS,
    DROPOUT,
    SEED,
    OFFSET,
    LENGTHS_Q,
    LENGTHS_K,
    BACKWARD,
    GRADS, /* and the next ones */
    SCALE = GRADS + RUN_GRADS,
    LAYOUT,
    BF16,
    F32,
    FP8,
    FP8_SCALES, /* and the next ones, of q, k and v */
    VERIFY = FP8_SCALES + RUN_INPUTS
};

/* clang-format off */
static const struct option known[] = {
    {"output", required_argument, NULL, 'o'},
    {"lse", required_argument, NULL, LSE},
    {"base2", no_argument, NULL, BASE2},
    {"causal", required_argument, NULL, CAUSAL},
    {"window", required_argument, NULL, WINDOW},
    {"bias", required_argument, NULL, BIAS},
    {"softcap", required_argument, NULL, SOFTCAP},
    {"alibi", required_argument, NULL, ALIBI},
    {"sinks", required_argument, NULL, SINKS},
    {"dropout", required_argument, NULL, DROPOUT},
    {"seed", required_argument, NULL, SEED},
    {"offset", required_argument, NULL, OFFSET},
    {"lengths-q", required_argument, NULL, LENGTHS_Q},
    {"lengths-k", required_argument, NULL, LENGTHS_K},
    {"backward", required_argument, NULL, BACKWARD},
    {"dq", required_argument, NULL, GRADS + RUN_DQ},
    {"dk", required_argument, NULL, GRADS + RUN_DK},
    {"dv", required_argument, NULL, GRADS + RUN_DV},
    {"dbias", required_argument, NULL, GRADS + RUN_DBIAS},
    {"scale", required_argument, NULL, SCALE},
    {"layout", required_argument, NULL, LAYOUT},
    {"bf16", no_argument, NULL, BF16},
    {"f32", no_argument, NULL, F32},
    {"fp8", required_argument, NULL, FP8},
    {"q-scale", required_argument, NULL, FP8_SCALES + RUN_Q},
    {"k-scale", required_argument, NULL, FP8_SCALES + RUN_K},
    {"v-scale", required_argument, NULL, FP8_SCALES + RUN_V},
    {"verify", no_argument, NULL, VERIFY},
    CLI_COMMON_OPTIONS,
    {0},
};
/* clang-format on */

static enum attn_layout parse_layout(const char *text)
{
    if (!strcmp(text, "bhsd"))
        return ATTN_BHSD;
    if (!strcmp(text, "bshd"))
        return ATTN_BSHD;
    cli_usage_error("--layout %s: wanted is bhsd or bshd", text);
}

static int parse_fp8(const char *text)
{
    static const char *const names[] = {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, names[i]))
            return AOTHIP_FP8_E4M3 + i;
    cli_usage_error("--fp8 %s: wanted is e4m3, e5m2, e4m3fnuz or e5m2fnuz", text);
}

static int parse_causal(const char *text)
{
    if (!strcmp(text, "tl"))
        return AOTHIP_MASK_CAUSAL_TOP_LEFT;
    if (!strcmp(text, "br"))
        return AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    cli_usage_error("--causal %s: wanted is tl or br", text);
}

/* "tl:5,inf" */
static void parse_window(const char *text, struct run_options *o)
{
    char copy[64], *left, *right;

    snprintf(copy, sizeof(copy), "%s", text);
    left = strchr(copy, ':');
    right = left ? strchr(left, ',') : NULL;
    if (!right || strlen(text) >= sizeof(copy) ||
        (strncmp(copy, "tl:", 3) && strncmp(copy, "br:", 3)))
        cli_usage_error("--window %s: wanted is tl:LEFT,RIGHT or br:LEFT,RIGHT", text);
    *left++ = *right++ = '\0';
    o->mask = strcmp(copy, "tl") ? AOTHIP_MASK_WINDOW_BOTTOM_RIGHT : AOTHIP_MASK_WINDOW_TOP_LEFT;
    o->window_left = strcmp(left, "inf") ? cli_int("--window", left, -(1 << 30), 1 << 30)
                                         : AOTHIP_WINDOW_UNBOUNDED;
    o->window_right = strcmp(right, "inf") ? cli_int("--window", right, -(1 << 30), 1 << 30)
                                           : AOTHIP_WINDOW_UNBOUNDED;
}

static double parse_number(const char *option, const char *text, double low, double high)
{
    double value = cli_number(option, text);
    if (value < low || value > high)
        cli_usage_error("%s %s: wanted is a number from %g to %g", option, text, low, high);
    return value;
}

static uint64_t parse_u64(const char *option, const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (end == text || *end || strchr(text, '-') || errno)
        cli_usage_error("%s %s: wanted is a whole number from 0 to %llu", option, text,
                        (unsigned long long)UINT64_MAX);
    return value;
}

/* What goes into the scores, and the gradients; 0 if `option` is none of these. */
static int parse_score_option(int option, struct run_options *o)
{
    switch (option) {
    case BIAS:
        o->bias = optarg;
        return 1;
    case SOFTCAP:
        o->softcap = parse_number("--softcap", optarg, 1e-6, 1e6);
        return 1;
    case ALIBI:
        o->alibi = optarg;
        return 1;
    case SINKS:
        o->sinks = optarg;
        return 1;
    case DROPOUT:
        o->dropout = parse_number("--dropout", optarg, 0, 1);
        return 1;
    case SEED:
        o->seed = parse_u64("--seed", optarg);
        return 1;
    case OFFSET:
        o->offset = parse_u64("--offset", optarg);
        return 1;
    case LENGTHS_Q:
        o->lengths_q = optarg;
        return 1;
    case LENGTHS_K:
        o->lengths_k = optarg;
        return 1;
    case BACKWARD:
        o->backward = optarg;
        return 1;
    }
    if (option < GRADS || option >= GRADS + RUN_GRADS)
        return 0;
    o->grads[option - GRADS] = optarg;
    return 1;
}

static void parse_option(int option, struct run_options *o)
{
    switch (option) {
    case 'o':
        o->o = optarg;
        break;
    case LSE:
        o->lse = optarg;
        break;
    case BASE2:
        o->base2 = true;
        break;
    case CAUSAL:
        o->mask = parse_causal(optarg);
        break;
    case WINDOW:
        parse_window(optarg, o);
        break;
    case SCALE:
        o->scale = cli_number("--scale", optarg);
        break;
    case LAYOUT:
        o->layout = parse_layout(optarg);
        break;
    case BF16:
        o->dtype = AOTHIP_BF16;
        break;
    case F32:
        o->dtype = AOTHIP_F32;
        break;
    case FP8:
        o->fp8 = parse_fp8(optarg);
        break;
    case FP8_SCALES + RUN_Q:
    case FP8_SCALES + RUN_K:
    case FP8_SCALES + RUN_V:
        o->fp8_scales[option - FP8_SCALES] = (float)parse_number("a scale", optarg, -1e30, 1e30);
        break;
    case VERIFY:
        o->verify = true;
        break;
    default:
        if (!parse_score_option(option, o))
            cli_common(option, help, CLI_DEVICE_MAX, &o->common);
    }
}

/* Two outputs in one file: the first would be lost. */
static void refuse_one_file_twice(const struct run_options *o)
{
    static const char *const names[] = {"-o", "--lse", "--dq", "--dk", "--dv", "--dbias"};
    const char *const files[] = {o->o, o->lse, o->grads[0], o->grads[1], o->grads[2], o->grads[3]};
    size_t i, j;

    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        for (j = 0; j < i; j++)
            if (files[i] && files[j] && !strcmp(files[i], files[j]) &&
                strncmp(files[i], "/dev/", 5) != 0)
                cli_usage_error("%s and %s name the same file, %s", names[j], names[i], files[i]);
}

static void parse_options(int argc, char **argv, struct run_options *o)
{
    int option, i, grads = 0;

    *o = (struct run_options){.layout = ATTN_BHSD,
                              .scale = (double)NAN,
                              .dtype = AOTHIP_F16,
                              .fp8_scales = {NAN, NAN, NAN}};
    while ((option = cli_option(argc, argv, ":o:", known)) != -1)
        parse_option(option, o);
    if (argc - optind != RUN_INPUTS)
        cli_usage_error("wanted are three files, Q.npy K.npy V.npy; given %s %d",
                        argc - optind == 1 ? "is" : "are", argc - optind);
    if (!o->o)
        cli_usage_error("-o FILE is missing");
    for (i = 0; i < RUN_GRADS; i++)
        grads += o->grads[i] != NULL;
    if (grads && !o->backward)
        cli_usage_error("gradients need --backward FILE, the gradient of o");
    if (o->backward && !grads)
        cli_usage_error("--backward needs one of --dq, --dk, --dv, --dbias");
    if (o->grads[RUN_DBIAS] && !o->bias)
        cli_usage_error("--dbias needs --bias");
    refuse_one_file_twice(o);
    for (i = 0; i < RUN_INPUTS; i++)
        o->input[i] = argv[optind + i];
}

/* A target ID of up to 255 bytes, and whether it is an emulated one. */
enum { TARGET_MAX = 300 };

/* Everything that needs a GPU; the backward pass if b->fwd is set. */
static int compute(const struct run_options *o, const struct aothip_attn_fwd_params *p,
                   const struct aothip_attn_bwd_params *b, struct aothip_context *context,
                   char target[TARGET_MAX])
{
    struct device_runtime runtime;
    struct device device = {0};
    struct status why;
    int failed;

    status_clear(&why);
    failed = (o->common.emulate && device_emulate(o->common.emulate, &why)) ||
             device_open_runtime(&runtime, &why) ||
             device_open(&runtime, o->common.device, &device, &why) ||
             attn_fwd(&device, context, p, &why) || (b->fwd && attn_bwd(&device, context, b, &why));
    if (failed)
        cli_say("%s", why.text);
    else
        snprintf(target, TARGET_MAX, "%s%s", device.properties.target,
                 runtime.emulated ? ", emulated" : "");
    device_close(&device);
    return failed ? -1 : 0;
}

/* All that a run holds. */
struct run {
    struct run_input in[RUN_INPUTS], d_o, o, grads[RUN_GRADS];
    struct run_extra extra;
    struct npy_array dbias;
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd;
};

static int make_bwd(const struct run_options *o, struct run *r)
{
    struct aothip_tensor *const to[] = {&r->bwd.dq, &r->bwd.dk, &r->bwd.dv};
    int i;

    r->bwd = (struct aothip_attn_bwd_params){.struct_size = sizeof(r->bwd), .fwd = &r->fwd};
    if (run_load(o, o->backward, &r->d_o))
        return -1;
    if (memcmp(r->d_o.tensor.size, r->fwd.o.size, sizeof(r->fwd.o.size))) {
        cli_say("%s: its shape %s is not that of o, %s", o->backward, r->d_o.shape, r->o.shape);
        return -1;
    }
    r->bwd.d_o = r->d_o.tensor;
    for (i = RUN_DQ; i <= RUN_DV; i++) {
        if (!o->grads[i])
            continue;
        if (run_make_output(o, &r->in[i], r->in[i].tensor.size[3], &r->grads[i]))
            return -1;
        *to[i] = r->grads[i].tensor;
    }
    if (!o->grads[RUN_DBIAS])
        return 0;
    r->dbias = r->extra.bias;
    r->dbias.data = calloc(r->dbias.count, sizeof(float));
    r->bwd.dbias = r->fwd.bias;
    r->bwd.dbias.data = r->dbias.data;
    if (r->dbias.data)
        return 0;
    cli_say("no memory for the gradient of the bias");
    return -1;
}

static int prepare(const struct run_options *o, struct run *r)
{
    const struct run_input *q = &r->in[RUN_Q];
    struct aothip_scale *const scales[] = {&r->fwd.q_scale, &r->fwd.k_scale, &r->fwd.v_scale};
    int i;

    for (i = 0; i < RUN_INPUTS; i++)
        if (run_load(o, o->input[i], &r->in[i]))
            return -1;
    if (run_check_shapes(r->in) || run_make_output(o, q, r->in[RUN_V].tensor.size[3], &r->o))
        return -1;
    r->fwd = (struct aothip_attn_fwd_params){.struct_size = sizeof(r->fwd)};
    r->fwd.q = q->tensor;
    r->fwd.k = r->in[RUN_K].tensor;
    r->fwd.v = r->in[RUN_V].tensor;
    r->fwd.o = r->o.tensor;
    r->fwd.scale = (float)(isnan(o->scale) ? 1 / sqrt((double)q->tensor.size[3]) : o->scale);
    for (i = 0; i < RUN_INPUTS; i++)
        if (!isnan(o->fp8_scales[i]))
            scales[i]->data = &o->fp8_scales[i];
    if (run_add_extra(o, r->in, &r->fwd, &r->extra) || run_add_lse(o, q, &r->fwd, &r->extra))
        return -1;
    return o->backward ? make_bwd(o, r) : 0;
}

/* o, lse and the gradients. */
enum { RUN_OUTPUTS = 2 + RUN_GRADS };

static int stage_all(const struct run_options *o, struct run *r, struct npy_new new[RUN_OUTPUTS])
{
    char error[NPY_ERROR_MAX];
    int i;

    if (run_stage_output(o, o->o, &r->in[RUN_Q], &r->o, &new[0]))
        return -1;
    for (i = RUN_DQ; i <= RUN_DV; i++)
        if (o->grads[i] && run_stage_output(o, o->grads[i], &r->in[i], &r->grads[i], &new[2 + i]))
            return -1;
    if ((o->lse && npy_stage(o->lse, &r->extra.lse, &new[1], error)) ||
        (o->grads[RUN_DBIAS] &&
         npy_stage(o->grads[RUN_DBIAS], &r->dbias, &new[2 + RUN_DBIAS], error))) {
        cli_say("%s", error);
        return -1;
    }
    return 0;
}

/* All outputs, or none where one cannot be written. */
static int write_all(const struct run_options *o, struct run *r)
{
    struct npy_new new[RUN_OUTPUTS] = {0};
    char error[NPY_ERROR_MAX];
    int failed = stage_all(o, r, new), i;

    for (i = 0; i < RUN_OUTPUTS; i++)
        if (failed) {
            npy_drop(&new[i]);
        } else if (npy_keep(&new[i], error)) {
            cli_say("%s", error);
            failed = -1;
        }
    return failed;
}

static int run(const struct run_options *o, struct run *r)
{
    struct aothip_context *context;
    char target[TARGET_MAX];
    int failed;

    if (prepare(o, r))
        return -1;
    if (aothip_open(o->common.images, &context)) {
        cli_say("%s", aothip_last_error());
        return -1;
    }
    failed = compute(o, &r->fwd, &r->bwd, context, target);
    aothip_close(context);
    if (failed)
        return -1;
    failed = o->verify && run_verify_fwd(&r->fwd, target);
    if (o->verify && o->backward)
        failed |= run_verify_bwd(&r->bwd, target);
    if (write_all(o, r))
        return -1;
    cli_say("%s: %s %s, computed on %s", o->o, npy_type_name(r->o.array.type), r->o.shape, target);
    return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    static struct run r;
    struct run_options o;
    int failed, i;

    cli_name = "aothip-run";
    parse_options(argc, argv, &o);
    failed = run(&o, &r);
    for (i = 0; i < RUN_INPUTS; i++)
        run_free_input(&r.in[i]);
    for (i = 0; i < RUN_GRADS; i++)
        run_free_input(&r.grads[i]);
    run_free_input(&r.o);
    run_free_input(&r.d_o);
    npy_free(&r.dbias);
    run_free_extra(&r.extra);
    return cli_end(failed ? CLI_FAILED : CLI_OK);
}
