/*
 * Reads images/matrix.def: statements to GPUs and kernels. What contradicts itself or the hardware
 * is found by matrix_check.c.
 */
#include "matrix.h"

#include "aothip/aothip.h"
#include "format.h"
#include "kernarg_fp8.h"
#include "kernarg_part.h"
#include "kernarg_share.h"
#include "gen_file.h"
#include "matrix_check.h"
#include "suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct matrix_op matrix_ops[] = {
    {"attn_fwd", "forward/attn_fwd.hip", FORMAT_OP_ATTN_FWD, 1, 0, sizeof(struct attn_fwd_args)},
    {"attn_fwd_f32", "forward/attn_fwd_f32.hip", FORMAT_OP_ATTN_FWD, 0, 0,
     sizeof(struct attn_fwd_args)},
    {"attn_fwd_fp8", "forward/attn_fwd_fp8.hip", FORMAT_OP_ATTN_FWD, 1, 0,
     sizeof(struct attn_fwd_fp8_args)},
    {"attn_fwd_cache", "forward/attn_fwd_cache.hip", FORMAT_OP_ATTN_FWD, 1, 1,
     sizeof(struct attn_fwd_fp8_args)},
    {"attn_split", "decode/attn_split.hip", FORMAT_OP_ATTN_SPLIT, 0, 0,
     sizeof(struct attn_split_args)},
    {"attn_split_cache", "decode/attn_split_cache.hip", FORMAT_OP_ATTN_SPLIT, 0, 1,
     sizeof(struct attn_split_fp8_args)},
    {"attn_merge", "decode/attn_merge.hip", FORMAT_OP_ATTN_MERGE, 0, 0,
     sizeof(struct attn_split_args)},
    {"attn_append", "decode/attn_append.hip", FORMAT_OP_ATTN_APPEND, 0, 0,
     sizeof(struct attn_append_args)},
    {"attn_append_cache", "decode/attn_append_cache.hip", FORMAT_OP_ATTN_APPEND, 0, 1,
     sizeof(struct attn_append_fp8_args)},
    {"attn_probs", "decode/attn_probs.hip", FORMAT_OP_ATTN_PROBS, 0, 0,
     sizeof(struct attn_probs_args)},
    {"attn_bwd_delta", "backward/attn_bwd_delta.hip", FORMAT_OP_ATTN_BWD_DELTA, 0, 0,
     sizeof(struct attn_bwd_args)},
    {"attn_bwd_dkdv", "backward/attn_bwd_dkdv.hip", FORMAT_OP_ATTN_BWD_DKDV, 0, 0,
     sizeof(struct attn_bwd_share_args)},
    {"attn_bwd_dq", "backward/attn_bwd_dq.hip", FORMAT_OP_ATTN_BWD_DQ, 0, 0,
     sizeof(struct attn_bwd_share_args)},
    {"attn_bwd_dbias", "backward/attn_bwd_dbias.hip", FORMAT_OP_ATTN_BWD_DBIAS, 0, 0,
     sizeof(struct attn_bwd_args)},
    {"attn_bwd_dscalar", "backward/attn_bwd_dscalar.hip", FORMAT_OP_ATTN_BWD_DSCALAR, 0, 0,
     sizeof(struct attn_bwd_args)},
    {"attn_bwd_sum", "backward/attn_bwd_sum.hip", FORMAT_OP_ATTN_BWD_SUM, 0, 0,
     sizeof(struct attn_bwd_share_args)},
    {"attn_bwd_fused", "backward/attn_bwd_fused.hip", FORMAT_OP_ATTN_BWD_FUSED, 0, 0,
     sizeof(struct attn_bwd_share_args)},
    {"attn_bwd_begin", "backward/attn_bwd_begin.hip", FORMAT_OP_ATTN_BWD_BEGIN, 0, 0,
     sizeof(struct attn_bwd_share_args)},
    {"attn_merge_part", "decode/attn_merge_part.hip", FORMAT_OP_ATTN_MERGE_PART, 0, 0,
     sizeof(struct attn_merge_part_args)},
    {NULL, NULL, 0, 0, 0, 0},
};

/* A key of a kernel statement: where its value goes and which values it may have. */
enum key_kind { KEY_GPU, KEY_WORD, KEY_NUMBER };

struct kernel_key {
    const char *name;
    enum key_kind kind;
    size_t field;         /* offset in struct matrix_kernel */
    int min, max, step;   /* KEY_NUMBER */
    const char *words[9]; /* KEY_WORD: names, NULL-terminated */
    int word_values[9];   /* KEY_WORD: their values */
};

#define FIELD(name) #name, KEY_NUMBER, offsetof(struct matrix_kernel, name)
#define WORD(name) #name, KEY_WORD, offsetof(struct matrix_kernel, name), 0, 0, 0

static const struct kernel_key kernel_keys[] = {
    {"gpu", KEY_GPU, offsetof(struct matrix_kernel, gpu), 0, 0, 0, {NULL}, {0}},
    {WORD(dtype),
     {"f32", "f16", "bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", NULL},
     {AOTHIP_F32, AOTHIP_F16, AOTHIP_BF16, AOTHIP_FP8_E4M3, AOTHIP_FP8_E5M2, AOTHIP_FP8_E4M3_FNUZ,
      AOTHIP_FP8_E5M2_FNUZ}},
    {FIELD(dim), 16, 512, 16, {NULL}, {0}},
    {WORD(unaligned),
     {"no", "yes", "rows", NULL},
     {MATRIX_UNALIGNED_NO, MATRIX_UNALIGNED_YES, MATRIX_UNALIGNED_ROWS}},
    {WORD(score),
     {"no", "yes", "bias", "slopes", "softcap", "dropout", "padding", "keep", NULL},
     {MATRIX_SCORE_NO, MATRIX_SCORE_YES, MATRIX_SCORE_BIAS, MATRIX_SCORE_SLOPES,
      MATRIX_SCORE_SOFTCAP, MATRIX_SCORE_DROPOUT, MATRIX_SCORE_PADDING, MATRIX_SCORE_KEEP}},
    {WORD(paged), {"no", "yes", NULL}, {0, 1}},
    {FIELD(tile_q), 16, 1024, 16, {NULL}, {0}},
    {FIELD(tile_k), 16, 1024, 16, {NULL}, {0}},
    {FIELD(waves), 1, 16, 1, {NULL}, {0}}, /* 16 waves of 64: the 1,024 threads of hardware */
    {FIELD(waves_per_eu), 1, 16, 1, {NULL}, {0}},
    {FIELD(registers), 8, 512, 1, {NULL}, {0}},
    {FIELD(scratch), 0, 65536, 4, {NULL}, {0}},
    /* may be missing */
    {FIELD(dim_v), 64, 512, 64, {NULL}, {0}},
    {WORD(other_clang), {"yes", "no", NULL}, {MATRIX_BY_ANY, MATRIX_BY_OWN}},
};
enum { DTYPE_KEY = 1 };
#define KERNEL_KEYS ((int)(sizeof(kernel_keys) / sizeof(kernel_keys[0])))
#define KERNEL_KEYS_NEEDED (KERNEL_KEYS - 2)

static const char *const gpu_keys[] = {"targets", "wave", "registers", "register_pool", "lds"};
#define GPU_KEYS ((int)(sizeof(gpu_keys) / sizeof(gpu_keys[0])))

static const char *const sibling_keys[] = {"of", "register_pool"};
#define SIBLING_KEYS ((int)(sizeof(sibling_keys) / sizeof(sibling_keys[0])))

#define MAX_KEYS 16
#define MAX_AXIS 16

/* A statement cut into words, all pointing into the parser's copy of the text. */
struct statement {
    char *word, *name; /* name: a second word without '=', or NULL */
    char *key[MAX_KEYS], *value[MAX_KEYS];
    int count;
};

struct parser {
    struct matrix *m;
    const char *file;
    int line; /* of the statement being read */
    int errors;
    FILE *out;
};

__attribute__((format(printf, 2, 3))) static void fail(struct parser *p, const char *fmt, ...)
{
    va_list ap;
    fprintf(p->out, "%s:%d: ", p->file, p->line);
    va_start(ap, fmt);
    vfprintf(p->out, fmt, ap);
    va_end(ap);
    fputc('\n', p->out);
    p->errors++;
}

/* The array with room for one more element. */
static void *grow(void *array, int count, size_t size)
{
    void *bigger = reallocarray(array, (size_t)count + 1, size);
    if (!bigger) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return bigger;
}

static void fail_unknown(struct parser *p, const char *what, const struct suggest *g)
{
    if (!g->best)
        fail(p, "unknown %s '%s'; none is known yet", what, g->word);
    else if (suggest_is_close(g))
        fail(p, "unknown %s '%s'; did you mean '%s'?", what, g->word, g->best);
    else
        fail(p, "unknown %s '%s'; known are: %s", what, g->word, g->known);
}

/* A number from min to max in steps; min after complaining. */
static int number(struct parser *p, const char *key, const char *text, int min, int max, int step)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        fail(p, "%s=%s is not a number", key, text);
    else if (value < min || value > max)
        fail(p, "%s=%s is out of range: %d to %d", key, text, min, max);
    else if (value % step)
        fail(p, "%s=%s is not a multiple of %d", key, text, step);
    else
        return (int)value;
    return min;
}

/* Cuts one logical line; 0 if there is nothing to do with it. */
static int cut(struct parser *p, char *text, struct statement *s)
{
    memset(s, 0, sizeof(*s));
    char *save = NULL;
    for (char *w = strtok_r(text, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        char *equals = strchr(w, '=');
        if (!s->word) {
            s->word = w;
        } else if (!equals && !s->name && !s->count) {
            s->name = w;
        } else if (!equals || equals == w || !equals[1]) {
            fail(p, "'%s' is not of the form key=value", w);
            return 0;
        } else {
            *equals = '\0';
            for (int i = 0; i < s->count; i++)
                if (!strcmp(s->key[i], w)) {
                    fail(p, "key '%s' is given twice", w);
                    return 0;
                }
            if (s->count == MAX_KEYS) {
                fail(p, "more than %d keys", MAX_KEYS);
                return 0;
            }
            s->key[s->count] = w;
            s->value[s->count++] = equals + 1;
        }
    }
    return s->word != NULL;
}

/* Every key known, none missing. */
static int check_keys(struct parser *p, const struct statement *s, const char *const *names,
                      int count, int needed)
{
    int before = p->errors;
    char missing[256] = "";
    for (int i = 0; i < s->count; i++) {
        struct suggest g = {s->key[i], NULL, 0, ""};
        for (int j = 0; j < count; j++)
            suggest_add(&g, names[j]);
        if (g.distance)
            fail_unknown(p, "key", &g);
    }
    for (int j = 0; j < needed; j++) {
        int found = 0;
        for (int i = 0; i < s->count; i++)
            found |= !strcmp(s->key[i], names[j]);
        if (!found) {
            strcat(missing, " ");
            strcat(missing, names[j]);
        }
    }
    if (missing[0] && p->errors == before)
        fail(p, "'%s' lacks:%s", s->word, missing);
    return p->errors == before;
}

static void parse_targets(struct parser *p, struct matrix_gpu *gpu, char *list)
{
    char *save = NULL;
    for (char *t = strtok_r(list, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        if (gpu->target_count == MATRIX_MAX_TARGETS) {
            fail(p, "more than %d targets", MATRIX_MAX_TARGETS);
            return;
        }
        if (strlen(t) >= sizeof(gpu->targets[0])) {
            fail(p, "target '%s' is too long", t);
            return;
        }
        strcpy(gpu->targets[gpu->target_count++], t);
    }
}

/* The name of the GPU that a statement declares; 0 after complaining. */
static int parse_gpu_name(struct parser *p, const struct statement *s, struct matrix_gpu *gpu)
{
    if (!s->name) {
        fail(p, "'%s' needs a name, like %s gfx942", s->word, s->word);
        return 0;
    }
    if (strncmp(s->name, "gfx", 3) || strspn(s->name + 3, "0123456789abcdef") < 2 ||
        s->name[3 + strspn(s->name + 3, "0123456789abcdef")] ||
        strlen(s->name) >= sizeof(gpu->name)) {
        fail(p, "'%s' is no name of a GPU; it should look like gfx942", s->name);
        return 0;
    }
    int other = matrix_find_gpu(p->m, s->name);
    if (other >= 0) {
        fail(p, "%s is already declared in line %d", s->name, p->m->gpus[other].line);
        return 0;
    }
    strcpy(gpu->name, s->name);
    return 1;
}

static int register_pool(struct parser *p, const char *value)
{
    return number(p, "register_pool", value, 256, 4096, 8);
}

static void add_gpu(struct parser *p, const struct matrix_gpu *gpu)
{
    p->errors += matrix_check_gpu(gpu, p->file, p->out);
    p->m->gpus = grow(p->m->gpus, p->m->gpu_count, sizeof(*gpu));
    p->m->gpus[p->m->gpu_count++] = *gpu;
}

static void parse_gpu(struct parser *p, struct statement *s)
{
    struct matrix_gpu gpu = {.line = p->line, .code = p->m->gpu_count};
    if (!parse_gpu_name(p, s, &gpu) || !check_keys(p, s, gpu_keys, GPU_KEYS, GPU_KEYS))
        return;
    for (int i = 0; i < s->count; i++) {
        const char *key = s->key[i];
        if (!strcmp(key, "targets"))
            parse_targets(p, &gpu, s->value[i]);
        else if (!strcmp(key, "wave"))
            gpu.wave = number(p, key, s->value[i], 32, 64, 32);
        else if (!strcmp(key, "registers"))
            gpu.registers = number(p, key, s->value[i], 64, 512, 8);
        else if (!strcmp(key, "register_pool"))
            gpu.register_pool = register_pool(p, s->value[i]);
        else
            gpu.lds = number(p, key, s->value[i], 1024, 1 << 20, 1024);
    }
    add_gpu(p, &gpu);
}

/* A GPU that is known; -1 after complaining. */
static int known_gpu(struct parser *p, const char *name)
{
    struct suggest g = {name, NULL, 0, ""};
    int gpu = matrix_find_gpu(p->m, name);
    for (int i = 0; i < p->m->gpu_count; i++)
        suggest_add(&g, p->m->gpus[i].name);
    if (gpu < 0)
        fail_unknown(p, "gpu", &g);
    return gpu;
}

/* What a key of the statement is given; check_keys() has found it there. */
static const char *value_of(const struct statement *s, const char *key)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->key[i], key))
            return s->value[i];
    return "";
}

/* All as the GPU whose code it runs, but for what the statement says. */
static void parse_sibling(struct parser *p, struct statement *s)
{
    struct matrix_gpu named, gpu;
    if (p->m->kernel_count) {
        fail(p, "a sibling must come before the kernels, which are held against it");
        return;
    }
    if (!parse_gpu_name(p, s, &named) ||
        !check_keys(p, s, sibling_keys, SIBLING_KEYS, SIBLING_KEYS))
        return;
    int of = known_gpu(p, value_of(s, "of"));
    if (of < 0)
        return;
    gpu = p->m->gpus[of];
    if (gpu.code != of || gpu.target_count != 1 || strcmp(gpu.targets[0], gpu.name)) {
        fail(p, "%s cannot have a sibling: it is one, or its targets are others than its name",
             gpu.name);
        return;
    }
    gpu.line = p->line;
    gpu.register_pool = register_pool(p, value_of(s, "register_pool"));
    strcpy(gpu.name, named.name);
    strcpy(gpu.targets[0], named.name);
    add_gpu(p, &gpu);
}

/* One value of a key of a kernel statement; 0 after complaining. */
static int parse_value(struct parser *p, const struct kernel_key *key, const char *text, int *value)
{
    int before = p->errors;
    struct suggest g = {text, NULL, 0, ""};
    switch (key->kind) {
    case KEY_NUMBER:
        *value = number(p, key->name, text, key->min, key->max, key->step);
        break;
    case KEY_GPU:
        *value = known_gpu(p, text);
        if (*value >= 0 && p->m->gpus[*value].code != *value)
            fail(p, "%s is a sibling of %s and has the kernels of that", text,
                 p->m->gpus[p->m->gpus[*value].code].name);
        break;
    case KEY_WORD:
        for (int i = 0; key->words[i]; i++) {
            suggest_add(&g, key->words[i]);
            if (!strcmp(key->words[i], text)) {
                *value = key->word_values[i];
                return 1;
            }
        }
        fail_unknown(p, key->name, &g);
    }
    return p->errors == before;
}

/* The axes of a kernel statement in the order written. */
struct axes {
    const struct kernel_key *key[MAX_KEYS];
    int value[MAX_KEYS][MAX_AXIS];
    int length[MAX_KEYS], at[MAX_KEYS];
    int count;
};

static int parse_axis(struct parser *p, struct axes *a, const char *name, char *list)
{
    const struct kernel_key *key = kernel_keys;
    while (strcmp(key->name, name))
        key++;
    int n = 0;
    char *save = NULL;
    for (char *v = strtok_r(list, ",", &save); v; v = strtok_r(NULL, ",", &save)) {
        if (n == MAX_AXIS) {
            fail(p, "more than %d values for '%s'", MAX_AXIS, name);
            return 0;
        }
        if (!parse_value(p, key, v, &a->value[a->count][n]))
            return 0;
        for (int i = 0; i < n; i++)
            if (a->value[a->count][i] == a->value[a->count][n]) {
                fail(p, "%s has '%s' twice", name, v);
                return 0;
            }
        n++;
    }
    if (!n) {
        fail(p, "'%s' has no value", name);
        return 0;
    }
    a->key[a->count] = key;
    a->length[a->count++] = n;
    return 1;
}

static const char *dtype_name(int dtype)
{
    const struct kernel_key *key = &kernel_keys[DTYPE_KEY];
    int i = 0;
    while (key->word_values[i] != dtype)
        i++;
    return key->words[i];
}

static void add_kernel(struct parser *p, struct matrix_kernel k)
{
    static const char *const unaligned[] = {[MATRIX_UNALIGNED_NO] = "",
                                            [MATRIX_UNALIGNED_YES] = "_unaligned",
                                            [MATRIX_UNALIGNED_ROWS] = "_rows"};
    static const char *const score[] = {[MATRIX_SCORE_NO] = "",
                                        [MATRIX_SCORE_BIAS] = "_bias",
                                        [MATRIX_SCORE_SLOPES] = "_slopes",
                                        [MATRIX_SCORE_SOFTCAP] = "_softcap",
                                        [MATRIX_SCORE_DROPOUT] = "_dropout",
                                        [MATRIX_SCORE_PADDING] = "_padding",
                                        [MATRIX_SCORE_KEEP] = "_keep",
                                        [MATRIX_SCORE_YES] = "_score"};
    char dims[24];
    k.line = p->line;
    for (int i = 0; i < p->m->kernel_count; i++)
        k.rank += p->m->kernels[i].gpu == k.gpu;
    if (k.dim_v)
        snprintf(dims, sizeof(dims), "%dx%d", k.dim, k.dim_v);
    else
        snprintf(dims, sizeof(dims), "%d", k.dim);
    snprintf(k.symbol, sizeof(k.symbol), "%s_%s_d%s_t%dx%d%s%s%s", k.op->name, dtype_name(k.dtype),
             dims, k.tile_q, k.tile_k, unaligned[k.unaligned], score[k.score],
             k.paged ? "_paged" : "");
    int wrong = matrix_check_kernel(p->m, &k, p->file, p->out);
    p->errors += wrong;
    if (wrong)
        return;
    p->m->kernels = grow(p->m->kernels, p->m->kernel_count, sizeof(k));
    p->m->kernels[p->m->kernel_count++] = k;
}

static void parse_kernel(struct parser *p, struct statement *s, const struct matrix_op *op)
{
    const char *names[KERNEL_KEYS];
    struct axes a = {.count = 0};
    if (s->name) {
        fail(p, "'%s' is not of the form key=value", s->name);
        return;
    }
    for (int i = 0; i < KERNEL_KEYS; i++)
        names[i] = kernel_keys[i].name;
    if (!check_keys(p, s, names, KERNEL_KEYS, KERNEL_KEYS_NEEDED))
        return;
    for (int i = 0; i < s->count; i++)
        if (!parse_axis(p, &a, s->key[i], s->value[i]))
            return;
    int before = p->errors, more = 1;
    while (more && p->errors == before) {
        struct matrix_kernel k = {.op = op};
        for (int i = 0; i < a.count; i++)
            memcpy((char *)&k + a.key[i]->field, &a.value[i][a.at[i]], sizeof(int));
        add_kernel(p, k);
        more = 0;
        for (int i = a.count - 1; i >= 0 && !more; i--) {
            a.at[i] = (a.at[i] + 1) % a.length[i];
            more = a.at[i] > 0;
        }
    }
}

static void parse_statement(struct parser *p, char *text)
{
    struct statement s;
    if (!cut(p, text, &s))
        return;
    if (!strcmp(s.word, "gpu")) {
        parse_gpu(p, &s);
        return;
    }
    if (!strcmp(s.word, "sibling")) {
        parse_sibling(p, &s);
        return;
    }
    struct suggest g = {s.word, NULL, 0, ""};
    suggest_add(&g, "gpu");
    suggest_add(&g, "sibling");
    for (const struct matrix_op *op = matrix_ops; op->name; op++) {
        if (!strcmp(s.word, op->name)) {
            parse_kernel(p, &s, op);
            return;
        }
        suggest_add(&g, op->name);
    }
    fail_unknown(p, "statement", &g);
}

/* Takes comments out and joins continued lines; p->line is where the statement begins. */
static void parse_lines(struct parser *p, char *text)
{
    int line = 0;
    char *statement = NULL, *end = NULL;
    for (char *at = text; at;) {
        char *next = strchr(at, '\n');
        size_t n = next ? (size_t)(next - at) : strlen(at);
        char *comment = memchr(at, '#', n);
        int more = n && at[n - 1] == '\\' && !comment;
        line++;
        if (comment)
            n = (size_t)(comment - at);
        if (!statement) {
            statement = end = at;
            p->line = line;
        }
        memmove(end, at, n - (size_t)more);
        end += n - (size_t)more;
        *end = ' ';
        if (!more || !next) {
            *end = '\0';
            parse_statement(p, statement);
            statement = NULL;
        } else {
            end++;
        }
        at = next ? next + 1 : NULL;
    }
}

int matrix_parse(struct matrix *m, const char *text, const char *file, FILE *errors)
{
    struct parser p = {.m = m, .file = file, .out = errors};
    memset(m, 0, sizeof(*m));
    size_t size = strlen(text);
    char *copy = malloc(size + 2); /* room for the blank that ends a last continued line */
    m->file = strdup(file);
    if (!copy || !m->file) {
        fputs("out of memory\n", errors);
        free(copy);
        matrix_free(m);
        return 1;
    }
    memcpy(copy, text, size + 1);
    parse_lines(&p, copy);
    free(copy);
    if (!p.errors)
        p.errors += matrix_check_whole(m, errors);
    if (p.errors)
        matrix_free(m);
    return p.errors;
}

int matrix_read(struct matrix *m, const char *file, FILE *errors)
{
    size_t size;
    char *text = gen_file_read(file, &size);
    int result = 1;
    memset(m, 0, sizeof(*m));
    if (text && strlen(text) != size)
        fprintf(errors, "%s:0: is not text\n", file);
    else if (text)
        result = matrix_parse(m, text, file, errors);
    free(text);
    return result;
}
