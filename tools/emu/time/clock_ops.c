/* Describes a kernel's instructions for the clock. */
#include <stdlib.h>
#include <string.h>

#include "clock_ops.h"

static void describe_wait(struct emu_clock_op *c, const struct emu_strict_op *so,
                          const struct emu_insn *insn)
{
    const unsigned x = (uint16_t)insn->simm16;
    unsigned vm = 63, lgkm = 63;

    c->kind = EMU_CK_WAIT;
    c->vm = c->lgkm = c->vs = c->km = -1;
    switch (so->waits) {
    case EMU_W_GFX9:
        vm = (x & 15) | (x >> 10 & 0x30);
        lgkm = (x >> 8 & 15) == 15 ? 63 : x >> 8 & 15;
        break;
    case EMU_W_GFX11:
        vm = x >> 10 & 63;
        lgkm = x >> 4 & 63;
        c->km = lgkm ? -1 : 0;
        break;
    case EMU_W_VS:
        c->vs = (int16_t)(x & 63);
        break;
    case EMU_W_VM:
        vm = x & 63;
        break;
    case EMU_W_LGKM:
    case EMU_W_DS:
        lgkm = x & 63;
        break;
    case EMU_W_KM:
        c->km = (int16_t)(x & 31);
        break;
    case EMU_W_LOAD_DS:
        vm = x >> 8 & 63;
        lgkm = x & 63;
        break;
    case EMU_W_STORE_DS:
        c->vs = (int16_t)(x >> 8 & 63);
        lgkm = x & 63;
        break;
    case EMU_W_ALL:
        vm = lgkm = 0;
        c->vs = c->km = 0;
        break;
    default:
        break;
    }
    if (vm < 63)
        c->vm = (int16_t)vm;
    if (lgkm < 63)
        c->lgkm = (int16_t)lgkm;
}

static void describe_message(struct emu_clock_op *c, const struct emu_strict_op *so,
                             const struct emu_insn *insn, const char *sem)
{
    c->kind = EMU_CK_OTHER;
    c->argument = (uint16_t)insn->simm16;
    if (so->waits)
        describe_wait(c, so, insn);
    else if (strcmp(sem, "s_barrier") == 0)
        c->kind = EMU_CK_BARRIER;
    else if (strcmp(sem, "s_barrier_signal") == 0)
        c->kind = EMU_CK_SIGNAL;
    else if (strcmp(sem, "s_barrier_wait") == 0)
        c->kind = EMU_CK_BARRIER_WAIT;
    else if (strcmp(sem, "s_nop") == 0)
        c->kind = EMU_CK_NOP;
    else if (emu_starts(sem, "s_setprio"))
        c->kind = EMU_CK_PRIORITY;
    else if (strcmp(sem, "s_sleep") == 0)
        c->kind = EMU_CK_SLEEP;
}

static void describe_vector(struct emu_clock_op *c, const struct emu_clock_gpu *g, const char *sem)
{
    c->port = (uint16_t)g->valu;
    c->latency = (uint16_t)g->valu_latency;
    if (emu_starts(sem, "v_mul_lo_u") || emu_starts(sem, "v_mul_hi_") ||
        emu_starts(sem, "v_mad_u64") || emu_starts(sem, "v_mad_i64") ||
        emu_starts(sem, "v_mul_lo_i"))
        c->port = (uint16_t)g->multiply;
    else if (emu_starts(sem, "v_pk_") && strstr(sem, "f32"))
        c->packed = true;
    else if (strstr(sem, "_f64") && !emu_starts(sem, "v_cvt"))
        c->port = (uint16_t)g->f64;
    if (c->latency < c->port)
        c->latency = c->port;
}

/* Operations of a matrix instruction: two a product. */
static uint32_t matrix_flops(const char *sem)
{
    static const struct {
        const char *name;
        uint32_t flops;
    } shapes[] = {
#define MFMA(name, m, n, k, blocks, a, b, p90a, p942) {#name, 2 * (m) * (n) * (k) * (blocks)},
#define SMFMAC(name, m, n, k, a, b, p942) {#name, 2 * (m) * (n) * (k)},
#define F8F6F4(name, m, n, k, passes) {#name, 2 * (m) * (n) * (k)},
#include "sem_matrix.def"
    };

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, sem) == 0)
            return shapes[i].flops;
    if (!emu_starts(sem, "v_wmma") && !emu_starts(sem, "v_swmmac"))
        return 0;
    return 2 * 16 * 16 * (strstr(sem, "16x16x64") ? 64 : strstr(sem, "16x16x32") ? 32 : 16);
}

/* WMMA of twice the rate: on gfx12 of 8 bits, too. */
static bool is_narrow(const char *sem, enum emu_family family)
{
    return strstr(sem, "iu4") || (family >= EMU_GFX12 &&
                                  (strstr(sem, "iu8") || strstr(sem, "fp8") || strstr(sem, "bf8")));
}

static void describe_matrix(struct emu_clock_op *c, const struct emu_strict_op *so,
                            const struct emu_clock_gpu *g, const char *sem, enum emu_family family)
{
    const unsigned passes = so->passes ? so->passes : 8;
    const unsigned slot = (unsigned)g->slot;

    c->kind = EMU_CK_MATRIX;
    c->port = (uint16_t)g->matrix_port;
    c->pipe = (uint16_t)(passes * g->matrix_pass);
    if ((emu_starts(sem, "v_wmma") || emu_starts(sem, "v_swmmac")) && is_narrow(sem, family))
        c->pipe = c->port = (uint16_t)(c->pipe / 2);
    c->latency = (uint16_t)(c->pipe + slot * g->matrix_wait);
    c->chain = passes == 2 ? (uint16_t)(3 * slot) : c->pipe;
    c->flops = matrix_flops(sem);
}

/* Dwords that a lane moves: of the result, or of the data behind the address. */
static uint8_t data_dwords(const struct emu_insn *insn)
{
    unsigned n = 0;

    if (insn->ndst && insn->dst[0].kind != EMU_OPK_NONE)
        return insn->dst[0].dwords;
    for (unsigned i = 1; i < insn->nsrc; i++)
        if ((insn->src[i].kind == EMU_OPK_VGPR || insn->src[i].kind == EMU_OPK_AGPR) &&
            !(insn->src[i].flags & EMU_OPF_IMPLICIT))
            n += insn->src[i].dwords;
    return (uint8_t)(n ? n : 1);
}

static void describe_memory(struct emu_clock_op *c, const struct emu_strict_op *so,
                            const struct emu_insn *insn, const char *sem)
{
    c->counters = so->counters;
    c->dwords = data_dwords(insn);
    c->store = insn->flags & EMU_F_STORE && !(insn->flags & EMU_F_LOAD);
    c->dma = insn->flags & EMU_F_LDS_DMA;
    c->exchange = strstr(sem, "permute") || strstr(sem, "swizzle");
    if (c->dma)
        c->dwords = 1;
}

static void describe_registers(struct emu_clock_op *c, const struct emu_strict_op *so,
                               const struct emu_op *op)
{
    const struct emu_range scc = {EMU_CLOCK_SCC, 1};

    c->nread = so->nread;
    c->nwrite = so->nwrite;
    c->nsread = so->nsread;
    c->nswrite = so->nswrite;
    memcpy(c->read, so->read, sizeof so->read);
    memcpy(c->write, so->write, sizeof so->write);
    memcpy(c->sread, so->sread, sizeof so->sread);
    memcpy(c->swrite, so->swrite, sizeof so->swrite);
    for (unsigned i = 0; i < so->nswrite; i++)
        c->exec = c->exec || so->swrite[i].first == EMU_S_EXEC;
    if (op->effects & EMU_E_READ_SCC)
        c->sread[c->nsread++] = scc;
    if (op->effects & EMU_E_WRITE_SCC)
        c->swrite[c->nswrite++] = scc;
}

static void describe(struct emu_clock_op *c, const struct emu_op *op, const struct emu_program *p,
                     const struct emu_clock_gpu *g)
{
    const char *sem = emu_rows[op->insn->row].sem;
    struct emu_strict_op so;

    emu_strict_describe(&so, op, p);
    describe_registers(c, &so, op);
    c->size = op->insn->size;
    switch (op->cls) {
    case EMU_C_SALU:
        c->kind = EMU_CK_SCALAR;
        break;
    case EMU_C_BRANCH:
        c->kind = emu_starts(sem, "s_endpgm") ? EMU_CK_END : EMU_CK_BRANCH;
        c->conditional = strstr(sem, "cbranch") != NULL;
        c->exec = strstr(sem, "cbranch_exec") != NULL;
        break;
    case EMU_C_MESSAGE:
        describe_message(c, &so, op->insn, sem);
        break;
    case EMU_C_SMEM:
        c->kind = EMU_CK_SMEM;
        describe_memory(c, &so, op->insn, sem);
        break;
    case EMU_C_VALU:
        c->kind = EMU_CK_VALU;
        describe_vector(c, g, sem);
        break;
    case EMU_C_TRANS:
        c->kind = EMU_CK_TRANS;
        c->port = (uint16_t)g->trans_port;
        c->pipe = (uint16_t)g->trans;
        c->latency = (uint16_t)g->trans_latency;
        break;
    case EMU_C_MATRIX:
        describe_matrix(c, &so, g, sem, op->insn->family);
        break;
    case EMU_C_LDS:
        c->kind = EMU_CK_LDS;
        describe_memory(c, &so, op->insn, sem);
        break;
    default:
        c->kind = EMU_CK_VMEM;
        describe_memory(c, &so, op->insn, sem);
    }
}

struct emu_clock_op *emu_clock_describe(const struct emu_kernel *k, const struct emu_clock_gpu *gpu)
{
    const struct emu_program *p = k->program;
    struct emu_clock_op *ops = calloc(p->nops + 1, sizeof *ops);

    for (unsigned i = 0; ops && i < p->nops; i++)
        if (p->ops[i].insn && p->ops[i].insn->size)
            describe(&ops[i], &p->ops[i], p, gpu);
    return ops;
}
