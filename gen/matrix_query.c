/* What a matrix that has been read says. */
#include "matrix_query.h"

#include "format.h"

#include <stdlib.h>
#include <string.h>

int matrix_find_gpu(const struct matrix *m, const char *name)
{
    for (int i = 0; i < m->gpu_count; i++)
        if (!strcmp(m->gpus[i].name, name))
            return i;
    return -1;
}

void matrix_free(struct matrix *m)
{
    free(m->file);
    free(m->gpus);
    free(m->kernels);
    memset(m, 0, sizeof(*m));
}

void matrix_leave_out(struct matrix *m)
{
    int kept = 0;
    for (int i = 0; i < m->kernel_count; i++) {
        struct matrix_kernel *k = &m->kernels[kept];
        if (m->kernels[i].other_clang == MATRIX_BY_OWN)
            continue;
        *k = m->kernels[i];
        k->rank = 0;
        for (int j = 0; j < kept; j++)
            k->rank += m->kernels[j].gpu == k->gpu;
        kept++;
    }
    m->kernel_count = kept;
}

static const uint32_t score_features[] = {
    [MATRIX_SCORE_NO] = 0,
    [MATRIX_SCORE_YES] = FORMAT_FEATURE_SCORE,
    [MATRIX_SCORE_BIAS] = FORMAT_FEATURE_BIAS,
    [MATRIX_SCORE_SLOPES] = FORMAT_FEATURE_SLOPES,
    [MATRIX_SCORE_SOFTCAP] = FORMAT_FEATURE_SOFTCAP,
    [MATRIX_SCORE_DROPOUT] = FORMAT_FEATURE_DROPOUT,
    [MATRIX_SCORE_PADDING] = FORMAT_FEATURE_PADDING,
    [MATRIX_SCORE_KEEP] = FORMAT_FEATURE_KEEP,
};

uint32_t matrix_features(const struct matrix_kernel *k)
{
    return (k->unaligned ? FORMAT_FEATURE_UNALIGNED : 0u) |
           (k->unaligned == MATRIX_UNALIGNED_YES ? FORMAT_FEATURE_STRIDED : 0u) |
           score_features[k->score] | (k->paged ? FORMAT_FEATURE_PAGED : 0u) |
           (k->op->cache ? FORMAT_FEATURE_FP8_CACHE : 0u);
}

void matrix_print_macros(const struct matrix *m, const struct matrix_kernel *k, FILE *out)
{
    const struct matrix_gpu *gpu = &m->gpus[k->gpu];
    fprintf(out, " -DKERNEL_SYMBOL=%s -DKERNEL_DTYPE=%d -DKERNEL_DIM=%d", k->symbol, k->dtype,
            k->dim);
    if (k->dim_v)
        fprintf(out, " -DKERNEL_DIM_V=%d", k->dim_v);
    fprintf(out, " -DKERNEL_UNALIGNED=%d -DKERNEL_SCORE=%d -DKERNEL_PAGED=%d", k->unaligned,
            k->score, k->paged);
    fprintf(out, " -DKERNEL_TILE_Q=%d -DKERNEL_TILE_K=%d", k->tile_q, k->tile_k);
    fprintf(out, " -DKERNEL_WAVES=%d -DKERNEL_WAVES_PER_EU=%d", k->waves, k->waves_per_eu);
    fprintf(out, " -DKERNEL_WAVE=%d -DKERNEL_THREADS=%d -DKERNEL_REGISTERS=%d", gpu->wave,
            matrix_threads(m, k), k->registers);
}
