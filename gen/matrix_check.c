/*
 * Finds what a matrix cannot mean, before a compiler is started.
 */
#include "matrix_check.h"

#include "aothip/aothip.h"
#include "format.h"

#include <stdarg.h>
#include <string.h>

struct place {
    const char *file;
    int line;
    FILE *out;
    int errors;
};

__attribute__((format(printf, 2, 3))) static void fail(struct place *at, const char *fmt, ...)
{
    va_list ap;
    fprintf(at->out, "%s:%d: ", at->file, at->line);
    va_start(ap, fmt);
    vfprintf(at->out, fmt, ap);
    va_end(ap);
    fputc('\n', at->out);
    at->errors++;
}

static const char *const features[] = {"sramecc", "xnack"};
#define FEATURES 2

/* '+' or '-' as the target states the feature, '\0' if it does not. */
static char feature_state(const char *target, const char *feature)
{
    size_t n = strlen(feature);
    for (const char *f = strchr(target, ':'); f; f = strchr(f + 1, ':'))
        if (!strncmp(f + 1, feature, n))
            return f[1 + n];
    return '\0';
}

static void check_target(struct place *at, const struct matrix_gpu *gpu, const char *target)
{
    size_t n = strlen(gpu->name);
    if (strncmp(target, gpu->name, n) || (target[n] && target[n] != ':')) {
        fail(at, "target '%s' is not one of %s", target, gpu->name);
        return;
    }
    const char *previous = "";
    for (const char *f = strchr(target, ':'); f; f = strchr(f + 1, ':')) {
        size_t length = strcspn(f + 1, ":");
        int known = -1;
        for (int i = 0; i < FEATURES; i++)
            if (length == strlen(features[i]) + 1 && !strncmp(f + 1, features[i], length - 1) &&
                (f[length] == '+' || f[length] == '-'))
                known = i;
        if (known < 0) {
            fail(at, "unknown feature in target '%s'; known are: sramecc+ sramecc- xnack+ xnack-",
                 target);
            return;
        }
        if (strcmp(features[known], previous) <= 0) {
            fail(at, "features of target '%s' must be in alphabetical order, each once", target);
            return;
        }
        previous = features[known];
    }
}

int matrix_check_gpu(const struct matrix_gpu *gpu, const char *file, FILE *errors)
{
    struct place at = {file, gpu->line, errors, 0};
    for (int i = 0; i < gpu->target_count; i++) {
        check_target(&at, gpu, gpu->targets[i]);
        for (int j = 0; j < i && !at.errors; j++) {
            if (!strcmp(gpu->targets[i], gpu->targets[j]))
                fail(&at, "target '%s' is given twice", gpu->targets[i]);
            for (int f = 0; f < FEATURES; f++)
                if (!feature_state(gpu->targets[i], features[f]) !=
                    !feature_state(gpu->targets[j], features[f]))
                    fail(&at,
                         "targets '%s' and '%s' would both fit a device: state %s in both or none",
                         gpu->targets[j], gpu->targets[i], features[f]);
        }
    }
    if (gpu->registers > gpu->register_pool)
        fail(&at, "registers=%d of a lane exceed register_pool=%d", gpu->registers,
             gpu->register_pool);
    return at.errors;
}

/* Whether a kernel takes all rows that another one takes. */
static int takes_all(int unaligned, int other)
{
    return unaligned == other || unaligned == MATRIX_UNALIGNED_YES || other == MATRIX_UNALIGNED_NO;
}

/* Does `a` serve every problem that `b` serves? */
static int serves_all(const struct matrix_kernel *a, const struct matrix_kernel *b)
{
    return a->gpu == b->gpu && a->op->format_op == b->op->format_op &&
           a->op->cache == b->op->cache && a->dtype == b->dtype && a->dim >= b->dim &&
           (a->dim_v ? a->dim_v : a->dim) >= (b->dim_v ? b->dim_v : b->dim) &&
           takes_all(a->unaligned, b->unaligned) &&
           (a->score == b->score || a->score == MATRIX_SCORE_YES) && a->paged >= b->paged;
}

/*
 * Does `b` serve just what `a` does, by another tile? Then a table of costs chooses between them;
 * of attn_split, how many rows there are.
 */
static int is_choice(const struct matrix_kernel *a, const struct matrix_kernel *b)
{
    if (!serves_all(a, b) || !serves_all(b, a))
        return 0;
    return a->op->format_op == FORMAT_OP_ATTN_SPLIT
               ? a->tile_q != b->tile_q
               : a->op->format_op == FORMAT_OP_ATTN_FWD &&
                     (a->tile_q != b->tile_q || a->tile_k != b->tile_k);
}

/* Whether teams of waves have the same TEAM_ROWS rows: team_form.h. */
enum { TEAM_ROWS = 32 };

/* Channels that LDS has room for at once, of K and of V; and those of kernels with more. */
enum { WHOLE_CHANNELS = 256, ALONE_CHANNELS = 512 };

/* Whether each wave has as many rows to itself, with more than 128 channels of O. */
static int has_own_rows(const struct matrix *m, const struct matrix_kernel *k)
{
    return m->gpus[k->gpu].wave == 64 && k->op->tiled && !k->op->cache && k->dtype != AOTHIP_F32 &&
           k->dim > 128 && k->unaligned == MATRIX_UNALIGNED_NO && k->tile_q == TEAM_ROWS * k->waves;
}

int matrix_is_whole(const struct matrix *m, const struct matrix_kernel *k)
{
    return has_own_rows(m, k) && k->dim <= WHOLE_CHANNELS;
}

int matrix_is_alone(const struct matrix *m, const struct matrix_kernel *k)
{
    return has_own_rows(m, k) && k->dim > WHOLE_CHANNELS;
}

static int has_teams(const struct matrix *m, const struct matrix_kernel *k)
{
    return (k->op->tiled || k->op->format_op == FORMAT_OP_ATTN_SPLIT) && k->dim > 128 &&
           k->unaligned != MATRIX_UNALIGNED_YES && !matrix_is_whole(m, k);
}

/* Waves of a team that owns 16 rows or keys of a gradient: team_walk.h. Else 1. */
static int gradient_team(const struct matrix *m, const struct matrix_kernel *k)
{
    return m->gpus[k->gpu].wave == 32 && k->dtype != AOTHIP_F32 &&
                   k->dim >= (k->score ? 256 : 128) && k->unaligned == MATRIX_UNALIGNED_NO &&
                   (k->op->format_op == FORMAT_OP_ATTN_BWD_DKDV ||
                    k->op->format_op == FORMAT_OP_ATTN_BWD_DQ)
               ? k->dim / 64
               : 1;
}

/* Whether waves that are more than the rows have may share keys: key_shares.h. */
static int shares_keys(const struct matrix_kernel *k)
{
    return k->op->tiled && k->dim <= 128 && k->unaligned == MATRIX_UNALIGNED_NO && !k->score &&
           !k->paged;
}

int matrix_check_kernel(const struct matrix *m, const struct matrix_kernel *k, const char *file,
                        FILE *errors)
{
    struct place at = {file, k->line, errors, 0};
    const struct matrix_gpu *gpu = &m->gpus[k->gpu];
    int threads = matrix_threads(m, k);
    /* The side of the tile that the waves share out. */
    const int keys =
        k->op->format_op == FORMAT_OP_ATTN_BWD_DKDV || k->op->format_op == FORMAT_OP_ATTN_BWD_FUSED;
    const int shared = keys ? k->tile_k : k->tile_q;
    /* The waves of attn_fwd_f32, attn_split and those of the gradients in f32 share out keys and
     * channels, too. */
    const int teams = has_teams(m, k), whole = matrix_is_whole(m, k);
    const int dim_v = k->dim_v ? k->dim_v : k->dim;
    const int by_rows =
        (k->op->tiled && !teams) ||
        (k->op->format_op != FORMAT_OP_ATTN_FWD && k->op->format_op != FORMAT_OP_ATTN_SPLIT &&
         !(k->dtype == AOTHIP_F32 && (keys || k->op->format_op == FORMAT_OP_ATTN_BWD_DQ)));
    const int shares = shares_keys(k) && 16 * k->waves % shared == 0;
    if (by_rows && !shares && shared * gradient_team(m, k) % (16 * k->waves))
        fail(&at, "%s=%d does not give each of waves=%d a multiple of 16 rows",
             keys ? "tile_k" : "tile_q", shared, k->waves);
    if (teams && (k->tile_q % TEAM_ROWS || TEAM_ROWS * k->waves % k->tile_q))
        fail(&at, "tile_q=%d does not give teams of waves=%d %d rows each", k->tile_q, k->waves,
             TEAM_ROWS);
    if (k->registers > gpu->registers)
        fail(&at, "registers=%d: a lane of %s has at most %d", k->registers, gpu->name,
             gpu->registers);
    for (int g = 0; g < m->gpu_count; g++)
        if (matrix_serves(m, k, g) && k->registers * k->waves_per_eu > m->gpus[g].register_pool)
            fail(&at, "registers=%d times waves_per_eu=%d is %d; a SIMD of %s has %d", k->registers,
                 k->waves_per_eu, k->registers * k->waves_per_eu, m->gpus[g].name,
                 m->gpus[g].register_pool);
    /*
     * O is tile_q x dim and S is tile_q x tile_k, in f32, both in registers of the workgroup. Of O
     * no more than 128 channels are there at a time, but with teams.
     */
    int part = k->dim < 128 || teams ? k->dim : whole ? dim_v : 128;
    int needed = k->tile_q * (part + k->tile_k) / threads;
    if (k->op->tiled && needed > k->registers && !k->scratch)
        fail(&at, "dim=%d does not fit the tile: O (%dx%d) and S (%dx%d) need %d registers of %d",
             k->dim, k->tile_q, part, k->tile_q, k->tile_k, needed, k->registers);
    const int split = k->op->format_op == FORMAT_OP_ATTN_SPLIT;
    if (split && !teams && k->unaligned != MATRIX_UNALIGNED_YES && k->tile_q != 16 * k->waves &&
        k->tile_q != 8 * k->waves)
        fail(&at,
             "attn_split up to dim=128 without unaligned=yes has 16 rows for each wave or for two: "
             "not tile_q=%d of waves=%d",
             k->tile_q, k->waves);
    if (split && teams && (k->dtype == AOTHIP_F32 || k->unaligned != MATRIX_UNALIGNED_NO))
        fail(&at, "attn_split beyond dim=128 is unaligned=yes, or unaligned=no of f16 or bf16");
    if (k->op->cache && teams && !k->paged)
        fail(&at, "%s beyond dim=128 is unaligned=yes, or paged=yes", k->op->name);
    const int v_rows = k->tile_k * dim_v / 8 / threads;
    if (whole && (k->score == MATRIX_SCORE_YES || k->dim % 64 || dim_v % 64 ||
                  k->tile_k * 8 % threads || v_rows * threads * 8 != k->tile_k * dim_v ||
                  (v_rows != 2 && v_rows != 4 && (v_rows != 8 || k->tile_k != 64))))
        fail(
            &at,
            "attn_fwd beyond dim=128 with 32 rows for each of waves=%d knows one term at most, and "
            "each of %d threads carries whole lines of 64 channels of K, and 2, 4 or 8 rows of V",
            k->waves, threads);
    if (matrix_is_alone(m, k) &&
        (k->score || k->dim != ALONE_CHANNELS || k->waves != 4 || k->tile_k != 64))
        fail(&at,
             "attn_fwd beyond dim=%d with %d rows for each wave is of dim=%d, waves=4, tile_k=64 "
             "and no terms",
             WHOLE_CHANNELS, TEAM_ROWS, ALONE_CHANNELS);
    if (k->dim_v && (!whole || k->score || k->paged || k->dim_v >= k->dim))
        fail(&at,
             "dim_v=%d is less than dim, and of attn_fwd beyond dim=128 on wave64 with 32 "
             "rows for each wave, without features",
             k->dim_v);
    if (k->unaligned == MATRIX_UNALIGNED_ROWS && ((!k->op->tiled && !split) || k->paged))
        fail(&at, "unaligned=rows is of attn_fwd and attn_split, without pages");
    if (k->score == MATRIX_SCORE_PADDING && (!k->op->tiled || (k->dim > 128 && !whole) ||
                                             k->paged || k->unaligned == MATRIX_UNALIGNED_YES))
        fail(&at, "score=padding is of attn_fwd without pages, up to dim=128 or with 32 rows for "
                  "each wave of 64 lanes, and not unaligned=yes");
    if (strlen(k->symbol) == sizeof(k->symbol) - 1)
        fail(&at, "the symbol '%s...' has more than %zu characters", k->symbol,
             sizeof(k->symbol) - 2);
    int same_gpu = 0, chosen = 0;
    for (int i = 0; i < m->kernel_count; i++)
        chosen |= is_choice(&m->kernels[i], k);
    for (int i = 0; i < m->kernel_count; i++) {
        const struct matrix_kernel *other = &m->kernels[i];
        same_gpu += other->gpu == k->gpu;
        if (!serves_all(other, k) || (chosen && strcmp(other->symbol, k->symbol)))
            continue;
        if (!strcmp(other->symbol, k->symbol))
            fail(&at, "%s for %s is already in line %d", k->symbol, gpu->name, other->line);
        else
            fail(&at,
                 "%s for %s would never be taken: %s of line %d comes first and serves all "
                 "that it serves",
                 k->symbol, gpu->name, other->symbol, other->line);
        break;
    }
    if (same_gpu == (int)FORMAT_MAX_ENTRIES)
        fail(&at, "%s has more than %u kernels", gpu->name, FORMAT_MAX_ENTRIES);
    return at.errors;
}

int matrix_check_whole(const struct matrix *m, FILE *errors)
{
    struct place at = {m->file, 0, errors, 0};
    if (!m->gpu_count)
        fail(&at, "declares no GPU");
    for (int g = 0; g < m->gpu_count; g++) {
        int kernels = 0;
        for (int i = 0; i < m->kernel_count; i++)
            kernels += matrix_serves(m, &m->kernels[i], g);
        at.line = m->gpus[g].line;
        if (!kernels)
            fail(&at, "%s has no kernel", m->gpus[g].name);
    }
    return at.errors;
}
