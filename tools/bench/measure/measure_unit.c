/* Measures what lies within a compute unit: one workgroup, whose kernel is a loop over copies of an
 * operation. */
#include "measuring.h"

#include <stdio.h>
#include <string.h>

double measure_operation(struct measuring *m, const struct measure_pair *p, double *spread)
{
    double sum = 0, widest = 0;

    for (int i = 0; i < 4; i++) {
        struct probe_launch l = p->launch;
        struct probe_result r = {0};
        char name[64];

        snprintf(name, sizeof(name), "%s_%s", p->name, i & 1 ? "many" : "few");
        l.kernel = name;
        l.loops = p->loops[i / 2];
        l.groups = l.groups ? l.groups : 1;
        if (!probe_run(&m->probe, &l, &r))
            return 0;
        sum += (i == 0 || i == 3 ? 1 : -1) * r.clocks;
        widest = r.spread > widest ? r.spread : widest;
    }
    if (spread)
        *spread = widest;
    sum /= (double)(p->many - p->few) * (p->loops[1] - p->loops[0]);
    if (!(sum > 0)) {
        status_set(m->probe.why, AOTHIP_E_HIP, "%s: more of them take no longer", p->name);
        return 0;
    }
    return sum;
}

int measure_note(struct measuring *m, const char *name, double value, double quantum,
                 double percent, const char *how)
{
    if (!(value > 0) || m->count == MEASURE_MOST) {
        status_set(m->probe.why, AOTHIP_E_HIP, "%s came out as %g, which cannot be", name, value);
        return 0;
    }
    m->found[m->count++] =
        (struct measure_found){name, how, value, percent + 100 * quantum / value};
    return 1;
}

/* One wave unless more are wanted. */
static double operation(struct measuring *m, const char *name, unsigned waves, double *spread)
{
    const int wide = strcmp(name, "matrix") == 0; /* four instructions each */
    const struct measure_pair pair = {
        name, wide ? 4 : 16, wide ? 20 : 80, {2, 6}, {.block = waves * m->wave}};

    return measure_operation(m, &pair, spread);
}

/* Operations whose clocks are a parameter's, one wave. */
static const struct plain {
    const char *kernel, *parameter[2];
    int gfx9, gfx11; /* 1: there it is so */
    int quantum;     /* 1: what follows waits for a slot, or the next clock */
} plains[] = {
    {"valu", {"valu"}, 1, 1, 0},
    {"valu_chain", {"valu_latency"}, 1, 1, 0},
    {"trans", {"trans", "trans_port"}, 1, 0, 0},
    {"trans", {"trans"}, 0, 1, 0},
    {"trans_chain", {"trans_latency"}, 1, 1, 0},
    {"multiply", {"multiply"}, 1, 1, 0},
    {"f64", {"f64"}, 1, 1, 0},
    {"packed", {"packed"}, 1, 0, 0},
    {"salu", {"salu"}, 1, 1, 0},
    {"salu_chain", {"salu_latency"}, 1, 1, 0},
    {"branch", {"branch_taken"}, 1, 1, 0},
    {"branch_not", {"branch_not"}, 1, 1, 0},
    {"read_4", {"lds_rate_read_4"}, 1, 1, 1},
    {"read_8", {"lds_rate_read_8"}, 1, 1, 1},
    {"read_16", {"lds_rate_read_16"}, 1, 1, 1},
    {"write_4", {"lds_rate_write_4"}, 1, 1, 1},
    {"write_8", {"lds_rate_write_8"}, 1, 1, 1},
    {"write_16", {"lds_rate_write_16"}, 1, 1, 1},
    {"read_4_wait", {"lds_read_4"}, 1, 1, 1},
    {"read_8_wait", {"lds_read_8"}, 1, 1, 1},
    {"read_16_wait", {"lds_read_16"}, 1, 1, 1},
    {"write_4_wait", {"lds_write_4"}, 1, 1, 1},
    {"write_8_wait", {"lds_write_8"}, 1, 1, 1},
    {"write_16_wait", {"lds_write_16"}, 1, 1, 1},
};

static int measure_plain(struct measuring *m)
{
    for (size_t i = 0; i < sizeof(plains) / sizeof(plains[0]); i++) {
        const struct plain *p = &plains[i];
        double spread = 0, clocks;

        if (!(m->gfx11 ? p->gfx11 : p->gfx9))
            continue;
        clocks = operation(m, p->kernel, 1, &spread);
        if (!(clocks > 0))
            return 0;
        for (int k = 0; k < 2 && p->parameter[k]; k++)
            if (!measure_note(m, p->parameter[k], clocks, p->quantum * m->slot * 0.75,
                              2 + 100 * spread, p->kernel))
                return 0;
        if (p->parameter[0] == plains[1].parameter[0])
            m->valu_use = clocks;
    }
    return 1;
}

/* Passes of the matrix instruction in measure_kernels.s. */
static double passes(const struct measuring *m)
{
    const char *target = m->probe.device->properties.target;

    return !m->gfx11 && target[4] == '0' ? 16 : 8; /* gfx90a needs twice gfx942's */
}

/* On gfx9 compilers keep the distance to a result by s_nop: hardware would not wait. */
static int measure_matrix(struct measuring *m)
{
    double spread, clocks = operation(m, "matrix", 1, &spread), chain;

    if (!(clocks > 0))
        return 0;
    m->matrix = clocks / 4;
    if (m->gfx11 && !measure_note(m, "matrix_port", m->matrix, 0, 2 + 100 * spread, "matrix"))
        return 0;
    if (!measure_note(m, "matrix_pass", m->matrix / passes(m), 0, 2 + 100 * spread, "matrix"))
        return 0;
    if (!m->gfx11)
        return 1;
    chain = operation(m, "matrix_chain", 1, &spread) / 2;
    return chain > 0 && measure_note(m, "matrix_wait", chain - m->matrix, 2, 2 + 100 * spread,
                                     "matrix_chain, less matrix");
}

int measure_unit(struct measuring *m)
{
    double spread = 0, clocks;

    if (!measure_plain(m) || !measure_matrix(m))
        return 0;
    /* sixteen waves, eight on each pair of SIMDs, whose port they fill */
    clocks = operation(m, "read_16", 16, &spread);
    if (!(clocks > 0) || !measure_note(m, "lds_port", 16.0 * m->wave * 8 / clocks, 0,
                                       5 + 100 * spread, "read_16, sixteen waves"))
        return 0;
    /* the waves of four SIMDs, whose slots take turns */
    clocks = operation(m, "barrier", 4, &spread);
    if (!(clocks > 0) || !measure_note(m, "barrier", clocks - m->slot / 2, m->slot,
                                       2 + 100 * spread, "barrier, four waves"))
        return 0;
    clocks = operation(m, "scalar", 1, &spread);
    return clocks > 0 && measure_note(m, "scalar_hit", clocks - m->slot, m->slot, 2 + 100 * spread,
                                      "scalar, less s_waitcnt");
}
