/* What a wave's next instruction needs to issue, and what it occupies. */
#include "unit_parts.h"

/* At most one instruction of each of these in a slot of a SIMD. */
enum { TAKEN_SCALAR = 1, TAKEN_VECTOR = 2, TAKEN_LDS = 4, TAKEN_VMEM = 8, TAKEN_BRANCH = 16 };

static bool wait_until(struct unit_wave *w, uint64_t at, enum emu_time_cause cause)
{
    w->wake = at;
    w->cause = (uint8_t)cause;
    return false;
}

static bool take(struct unit *u, struct unit_wave *w, unsigned *taken, unsigned category)
{
    if (*taken & category)
        return wait_until(w, u->now + u->slot, EMU_TIME_ISSUE);
    return true;
}

static uint64_t latest(const uint32_t *at, const struct emu_range *r)
{
    uint32_t last = 0;

    for (unsigned i = r->first; i < (unsigned)r->first + r->n; i++)
        last = at[i] > last ? at[i] : last;
    return last;
}

/* When the vector registers that op reads and writes are there. */
static uint64_t rows_ready(const struct unit *u, const struct unit_wave *w,
                           const struct emu_clock_op *op)
{
    const bool matrix = op->kind == EMU_CK_MATRIX;
    uint64_t last = 0, x;

    for (unsigned i = 0; i < op->nread; i++) {
        x = latest(matrix && i == 2 ? w->chain : w->row, &op->read[i]);
        last = x > last ? x : last;
    }
    for (unsigned i = 0; i < op->nwrite && !u->gfx11; i++) {
        const bool adds = matrix && op->nread > 2 && op->read[2].first == op->write[i].first;

        x = latest(adds ? w->chain : w->row, &op->write[i]);
        last = x > last ? x : last;
    }
    return last;
}

static bool scalars_ready(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op)
{
    uint64_t last = 0, x;

    for (unsigned i = 0; i < op->nsread; i++) {
        x = latest(w->scalar, &op->sread[i]);
        last = x > last ? x : last;
    }
    return last <= u->now || wait_until(w, last, EMU_TIME_DEPENDENCE);
}

static bool registers_ready(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op)
{
    uint64_t last = 0, x;

    if (!scalars_ready(u, w, op))
        return false;
    if (w->rows_until > u->now && (op->nread || op->nwrite)) {
        x = rows_ready(u, w, op);
        last = x > last ? x : last;
    }
    return last <= u->now || wait_until(w, last, EMU_TIME_DEPENDENCE);
}

static void write_rows(struct unit_wave *w, const struct emu_clock_op *op, uint64_t at,
                       uint64_t chain)
{
    for (unsigned i = 0; i < op->nwrite; i++)
        for (unsigned r = op->write[i].first; r < (unsigned)op->write[i].first + op->write[i].n;
             r++) {
            w->row[r] = (uint32_t)at;
            w->chain[r] = (uint32_t)chain;
        }
    if (at > w->rows_until)
        w->rows_until = at;
}

static void write_scalars(struct unit_wave *w, const struct emu_clock_op *op, uint64_t at)
{
    for (unsigned i = 0; i < op->nswrite; i++)
        for (unsigned r = op->swrite[i].first;
             r < (unsigned)op->swrite[i].first + op->swrite[i].n && r < EMU_S_REGS; r++)
            w->scalar[r] = (uint32_t)at;
}

/* The wave's next instruction can follow after so many clocks. */
static bool issued(struct unit *u, struct unit_wave *w, enum emu_time_pipe pipe, double clocks,
                   uint64_t end)
{
    uint64_t n = (uint64_t)clocks;

    n = n > u->slot ? n : u->slot;
    emu_unit_event(u, w, pipe, u->now, end > u->now ? end : u->now + n);
    w->free = u->now + n;
    u->count[w->trace->record[w->at].op].issued += (double)n;
    return true;
}

static bool issue_scalar(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                         unsigned *taken)
{
    const struct emu_clock_gpu *g = u->gpu;
    const size_t this = w->trace->record[w->at].op;

    if (!take(u, w, taken, TAKEN_SCALAR) || !registers_ready(u, w, op))
        return false;
    *taken |= TAKEN_SCALAR;
    if (op->kind == EMU_CK_SMEM && op->counters) {
        const bool missed = !u->scalar_seen[this];

        u->scalar_seen[this] = true;
        emu_unit_fly(op->counters & EMU_CNT_KM ? &w->km : &w->lgkm,
                     u->now + (uint64_t)(missed ? g->scalar_miss : g->scalar_hit),
                     EMU_TIME_LATENCY_LDS);
    }
    write_scalars(w, op, u->now + (uint64_t)g->salu_latency);
    return issued(u, w, EMU_TIME_PIPE_SALU, g->salu, 0);
}

static bool issue_branch(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                         unsigned *taken)
{
    const struct emu_clock_record *x = &w->trace->record[w->at];
    bool jumps;

    if (!take(u, w, taken, TAKEN_BRANCH) || !registers_ready(u, w, op))
        return false;
    if (op->exec && w->exec > u->now)
        return wait_until(w, w->exec, EMU_TIME_DEPENDENCE);
    *taken |= TAKEN_BRANCH;
    jumps = w->at + 1 < w->trace->n && x[1].op != x->op + op->size / 4u;
    return issued(u, w, EMU_TIME_PIPE_SALU, jumps ? u->gpu->branch_taken : u->gpu->branch_not, 0);
}

/* The operation that has to be done when `left` may be left. */
static bool flight_done(struct unit *u, struct unit_wave *w, const struct unit_flight *f, int left)
{
    uint32_t number = f->issued - (uint32_t)left - 1;

    if (left < 0 || f->issued <= (uint32_t)left || f->done[number % EMU_UNIT_FLIGHT] <= u->now)
        return true;
    return wait_until(w, f->done[number % EMU_UNIT_FLIGHT],
                      (enum emu_time_cause)f->cause[number % EMU_UNIT_FLIGHT]);
}

static bool issue_wait(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op)
{
    if (!flight_done(u, w, &w->vm, op->vm) || !flight_done(u, w, &w->lgkm, op->lgkm) ||
        !flight_done(u, w, &w->vs, op->vs) || !flight_done(u, w, &w->km, op->km))
        return false;
    if (w->cause != EMU_TIME_SCALAR && u->now > w->free)
        emu_unit_event(u, w, EMU_TIME_PIPE_WAIT, w->free, u->now);
    return issued(u, w, EMU_TIME_PIPE_SALU, u->gpu->internal, 0);
}

/* Lets all waves of the workgroup go on that stand at its barrier. */
static void release(struct unit *u, unsigned group)
{
    struct unit_group *g = &u->group[group];

    g->arrived = 0;
    g->passed++;
    g->opens = u->now + (uint64_t)u->gpu->barrier;
    for (unsigned i = 0; i < g->trace->waves; i++) {
        struct unit_wave *w = &u->wave[group][i];
        uint64_t at;

        if (!w->at_barrier)
            continue;
        w->at_barrier = false;
        w->wake = w->free = g->opens;
        emu_unit_event(u, w, EMU_TIME_PIPE_BARRIER, w->since, w->free);
        at = emu_unit_slot(u, w->simd, w->wake);
        if (at < u->simd[w->simd].next)
            u->simd[w->simd].next = at;
    }
}

static bool issue_barrier(struct unit *u, struct unit_wave *w)
{
    struct unit_group *g = &u->group[w->group];

    issued(u, w, EMU_TIME_PIPE_SALU, u->gpu->internal, 0);
    w->at_barrier = true;
    if (++g->arrived == g->alive)
        release(u, w->group);
    return true;
}

/* gfx12's barrier in two steps: the wave arrives, and goes on. */
static bool issue_signal(struct unit *u, struct unit_wave *w)
{
    struct unit_group *g = &u->group[w->group];

    issued(u, w, EMU_TIME_PIPE_SALU, u->gpu->internal, 0);
    w->signals++;
    if (++g->arrived == g->alive)
        release(u, w->group);
    return true;
}

static bool issue_barrier_wait(struct unit *u, struct unit_wave *w)
{
    const struct unit_group *g = &u->group[w->group];
    const bool open = g->passed >= w->signals;

    if (open && g->opens > u->now)
        return wait_until(w, g->opens, EMU_TIME_BARRIER);
    issued(u, w, EMU_TIME_PIPE_SALU, u->gpu->internal, 0);
    w->at_barrier = !open;
    return true;
}

/*
 * gfx11: what depends on the instruction before it takes 9 clocks, not 5, once the wave's end has
 * been issued.
 */
static void drain(struct unit *u, struct unit_wave *w)
{
    uint32_t first = w->vectors > UNIT_QUEUE ? w->vectors - UNIT_QUEUE : 1, was = 0, last = 0;

    for (uint32_t i = first; i < w->vectors; i++) {
        const uint32_t before = i == first ? w->executes[(i - 1) % UNIT_QUEUE_EVENTS] : last;
        const uint32_t distance = w->executes[i % UNIT_QUEUE_EVENTS] - (i == first ? before : was);
        uint32_t *at = &w->executes[i % UNIT_QUEUE_EVENTS];
        const size_t event = w->event[i % UNIT_QUEUE_EVENTS];

        was = last = *at;
        if (*at + 3 < u->now || distance < (uint32_t)u->gpu->valu_latency)
            continue;
        last = *at = before + (uint32_t)u->gpu->valu_drain;
        if (event < u->events) {
            u->event[event].start = *at;
            u->event[event].end = *at + 1;
        }
    }
}

static bool issue_end(struct unit *u, struct unit_wave *w)
{
    struct unit_group *g = &u->group[w->group];

    if (u->gfx11)
        drain(u, w);
    issued(u, w, EMU_TIME_PIPE_SALU, u->gpu->internal, 0);
    w->ended = true;
    g->alive--;
    if (g->alive && g->arrived == g->alive)
        release(u, w->group);
    if (!g->alive)
        g->end = u->now;
    return true;
}

static bool issue_message(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op)
{
    const struct emu_clock_gpu *g = u->gpu;

    switch (op->kind) {
    case EMU_CK_WAIT:
        return issue_wait(u, w, op);
    case EMU_CK_BARRIER:
        return issue_barrier(u, w);
    case EMU_CK_SIGNAL:
        return issue_signal(u, w);
    case EMU_CK_BARRIER_WAIT:
        return issue_barrier_wait(u, w);
    case EMU_CK_END:
        return issue_end(u, w);
    case EMU_CK_NOP:
        return issued(u, w, EMU_TIME_PIPE_SALU,
                      g->nop + (op->argument & (u->gfx11 ? 0xffff : 15)) * g->slot +
                          (w->after_vector ? g->nop_switch : 0),
                      0);
    case EMU_CK_SLEEP:
        return issued(u, w, EMU_TIME_PIPE_SALU, 64.0 * (op->argument & 127) + g->slot, 0);
    case EMU_CK_PRIORITY:
        w->priority = op->argument & 3;
        break;
    default:
        break;
    }
    return issued(u, w, EMU_TIME_PIPE_SALU, g->internal, 0);
}

/* gfx11: a WMMA has the port as long as the pipe; transcendental instructions get in towards its
 * end. gfx12: it also waits for their end. */
static bool port_free(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op)
{
    const struct unit_simd *s = &u->simd[w->simd];
    uint64_t at = s->vector;

    if (op->kind == EMU_CK_TRANS && u->gfx11) {
        if (s->pipe > u->now)
            at -= (uint64_t)(u->gpu->trans_beside * u->gpu->matrix_port);
        at = s->trans > at ? s->trans : at;
    }
    if (op->kind == EMU_CK_MATRIX && u->gfx12 && s->trans > at)
        at = s->trans;
    if (at > u->now)
        return wait_until(w, at, s->port_trans ? EMU_TIME_TRANS : EMU_TIME_ISSUE);
    if (op->kind == EMU_CK_MATRIX && s->pipe > u->now)
        return wait_until(w, s->pipe, EMU_TIME_MATRIX);
    return true;
}

/*
 * gfx11: plain vector instructions issue one a clock and execute in order when what they read is
 * there; from a register file they read it two clocks later than from a constant.
 */
static bool issue_queued(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                         unsigned *taken)
{
    const struct emu_clock_gpu *g = u->gpu;
    const uint32_t number = w->vectors;
    const uint64_t full =
        number >= UNIT_QUEUE ? w->executes[(number - UNIT_QUEUE) % UNIT_QUEUE_EVENTS] : 0;
    uint64_t at = u->now + (op->nread ? 2 : 0), rows = rows_ready(u, w, op);
    const uint64_t last = number ? w->executes[(number - 1) % UNIT_QUEUE_EVENTS] + UINT64_C(1) : 0;

    if (!take(u, w, taken, TAKEN_VECTOR) || !port_free(u, w, op) || !scalars_ready(u, w, op))
        return false;
    if (full > u->now)
        return wait_until(w, full, EMU_TIME_DEPENDENCE);
    *taken |= TAKEN_VECTOR;
    at = at > rows ? at : rows;
    at = at > last ? at : last;
    u->simd[w->simd].vector = u->now + 1;
    u->simd[w->simd].port_trans = false;
    u->vector_busy++;
    w->event[number % UNIT_QUEUE_EVENTS] = u->event ? u->events : SIZE_MAX;
    w->executes[number % UNIT_QUEUE_EVENTS] = (uint32_t)at;
    w->vectors++;
    at += (uint64_t)(number ? g->valu_latency : g->valu_latency + 1);
    write_rows(w, op, at, at);
    if (op->nswrite)
        write_scalars(w, op, at - (uint64_t)g->valu_latency + (uint64_t)g->valu_scalar);
    if (op->exec)
        w->exec = u->now + (uint64_t)g->valu_exec;
    at -= (uint64_t)(number ? g->valu_latency : g->valu_latency + 1);
    emu_unit_event(u, w, EMU_TIME_PIPE_VALU, at, at + 1);
    w->free = u->now + 1;
    u->count[w->trace->record[w->at].op].issued++;
    return true;
}

static bool issue_vector(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                         unsigned *taken)
{
    struct unit_simd *s = &u->simd[w->simd];
    const struct emu_clock_gpu *g = u->gpu;
    uint64_t port = op->port, latency = op->latency, pipe = op->pipe;

    if (u->gfx11 && op->kind == EMU_CK_VALU && port == 1)
        return issue_queued(u, w, op, taken);
    if (!take(u, w, taken, TAKEN_VECTOR) || !port_free(u, w, op) || !registers_ready(u, w, op))
        return false;
    *taken |= TAKEN_VECTOR;
    if (op->packed) {
        port = (uint64_t)(s->pipe > u->now ? g->packed_beside : g->packed);
        latency = latency > port ? latency : port;
    }
    if (s->vector < u->now + port)
        s->vector = u->now + port;
    s->port_trans = op->kind == EMU_CK_TRANS;
    u->vector_busy += (double)port;
    if (op->kind == EMU_CK_MATRIX) {
        s->pipe = u->now + pipe;
        u->matrix_busy += (double)pipe;
        u->flops += op->flops;
        write_rows(w, op, u->now + latency, u->now + op->chain);
        return issued(u, w, EMU_TIME_PIPE_MATRIX, g->slot, s->pipe);
    }
    if (op->kind == EMU_CK_TRANS && u->gfx11)
        s->trans = u->now + pipe;
    if (latency > u->slot)
        write_rows(w, op, u->now + latency, u->now + latency);
    if (op->nswrite)
        write_scalars(w, op, u->now + port - (uint64_t)g->valu + (uint64_t)g->valu_scalar);
    if (op->exec)
        w->exec = u->now + (uint64_t)g->valu_exec;
    return issued(u, w, op->kind == EMU_CK_TRANS ? EMU_TIME_PIPE_TRANS : EMU_TIME_PIPE_VALU,
                  g->slot, u->now + port);
}

static bool issue_memory(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                         unsigned *taken)
{
    const bool lds = op->kind == EMU_CK_LDS;
    const unsigned category = lds ? TAKEN_LDS : TAKEN_VMEM;
    const struct emu_clock_record *x = &w->trace->record[w->at];
    uint64_t done = 0;

    if (!take(u, w, taken, category) || !registers_ready(u, w, op))
        return false;
    if (op->counters && !(lds ? emu_unit_lds : emu_unit_vmem)(u, w, op, x, &done))
        return false;
    *taken |= category;
    return issued(u, w, lds ? EMU_TIME_PIPE_LDS : EMU_TIME_PIPE_VMEM, u->gpu->slot, done);
}

/* Instructions come by lines; the one behind is fetched ahead. */
static bool fetched(struct unit *u, struct unit_wave *w, const struct emu_clock_record *x)
{
    const uint64_t line = x->op >> u->code_shift;
    uint32_t *at;

    if (line == w->code_line)
        return true;
    at = &u->code[line];
    if (!*at)
        *at = (uint32_t)(u->now + (uint64_t)u->gpu->code_miss) + 1;
    if (!at[1])
        at[1] = (*at > u->now ? *at : (uint32_t)u->now) + (uint32_t)u->gpu->code_stream;
    if (*at > u->now + 1)
        return wait_until(w, *at - 1, EMU_TIME_FETCH);
    w->code_line = line;
    return true;
}

bool emu_unit_issue(struct unit *u, struct unit_wave *w, unsigned *taken)
{
    const struct emu_clock_record *x = &w->trace->record[w->at];
    const struct emu_clock_op *op = &u->ops[x->op];

    if (!fetched(u, w, x))
        return false;
    switch (op->kind) {
    case EMU_CK_SCALAR:
    case EMU_CK_SMEM:
        return issue_scalar(u, w, op, taken);
    case EMU_CK_BRANCH:
        return issue_branch(u, w, op, taken);
    case EMU_CK_VALU:
    case EMU_CK_TRANS:
    case EMU_CK_MATRIX:
        return issue_vector(u, w, op, taken);
    case EMU_CK_LDS:
    case EMU_CK_VMEM:
        return issue_memory(u, w, op, taken);
    default:
        return issue_message(u, w, op);
    }
}
