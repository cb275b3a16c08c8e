/* LDS and the path to memory of a compute unit: ports, banks, caches by line, shares of the rest.
 */
#include "unit_parts.h"

/* Bytes through something of `rate` bytes a clock that is free from *at on; when they are through.
 */
static uint64_t pass(uint64_t *at, double *debt, uint64_t now, double bytes, double rate)
{
    double clocks = *debt + bytes / rate;
    uint64_t whole = (uint64_t)clocks;

    if (*at < now)
        *at = now;
    *debt = clocks - (double)whole;
    *at += whole;
    return *at;
}

static uint32_t scatter(uint64_t line)
{
    return (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

/* A line that L1 lacks: when it arrives. */
static uint64_t fetch_line(struct unit *u, uint64_t line, uint64_t now)
{
    const double bytes = u->gpu->line;
    uint64_t at = pass(&u->l2_free, &u->l2_debt, now, bytes, u->l2_rate);
    const double latency = u->gpu->l2_latency;

    if (emu_unit_cache_look(u->l2, line) || scatter(line) >= u->far_share)
        return at + (uint64_t)latency;
    u->far_bytes += bytes;
    at = pass(&u->far_free, &u->far_debt, at, bytes, u->far_rate);
    return at + u->far_latency;
}

/* Loads of a wave's instruction: line by line, each once. The clocks that L1 needs come back in
 * *service. */
static uint64_t load_lines(struct unit *u, struct unit_wave *w, struct unit_half *h,
                           const struct emu_clock_record *x, uint64_t start, uint64_t *service)
{
    const unsigned shift = u->gpu->line > 64;
    const double step = u->gpu->line / u->gpu->l1_rate;
    const uint64_t *line = w->trace->line + w->line_at, tag = u->group[w->group].tag;
    uint64_t done = start + (uint64_t)u->gpu->l1_latency, before = UINT64_MAX;
    double clocks = 0;

    for (unsigned i = 0; i < x->lines; i++) {
        const uint64_t this = (line[i] >> shift) ^ tag;
        uint64_t at = start + (uint64_t)clocks;

        if (this == before) {
            clocks += step / 2;
            continue;
        }
        before = this;
        clocks += shift ? step / 2 : step;
        at += emu_unit_cache_look(h->l1, this) ? (uint64_t)u->gpu->l1_latency
                                               : fetch_line(u, this, at) - at;
        done = at > done ? at : done;
    }
    *service = (uint64_t)clocks;
    return done;
}

static uint64_t store_lines(struct unit *u, const struct emu_clock_record *x, uint64_t start,
                            uint64_t *service)
{
    const double bytes = 64.0 * x->lines;
    uint64_t at = pass(&u->l2_free, &u->l2_debt, start, bytes, u->l2_rate);

    u->stored_bytes += bytes;
    *service = (uint64_t)(bytes / u->gpu->l1_rate);
    return at + (uint64_t)u->gpu->store_latency;
}

static void fly_vmem(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                     uint64_t done, bool queued)
{
    enum emu_time_cause cause = queued ? EMU_TIME_MEMORY : EMU_TIME_LATENCY_VMEM;

    (void)u;
    if (op->counters & EMU_CNT_VS)
        emu_unit_fly(&w->vs, done, cause);
    else if (op->counters & EMU_CNT_VM)
        emu_unit_fly(&w->vm, done, cause);
    if (op->counters & EMU_CNT_LDS)
        emu_unit_fly(&w->lgkm, done, cause);
}

bool emu_unit_vmem(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                   const struct emu_clock_record *x, uint64_t *done)
{
    struct unit_half *h = &u->half[u->gfx11 ? w->simd / 2 : 0];
    const uint64_t queue = (uint64_t)u->gpu->vmem_queue;
    uint64_t start, service, least;

    if (h->address > u->now + queue) {
        w->wake = h->address - queue;
        w->cause = EMU_TIME_MEMORY;
        return false;
    }
    start = h->address > u->now ? h->address : u->now;
    *done =
        op->store ? store_lines(u, x, start, &service) : load_lines(u, w, h, x, start, &service);
    w->line_at += x->lines;
    least = (uint64_t)((u->gfx11 ? 32 : 64) / u->gpu->lanes_rate);
    service = service > least ? service : least;
    h->address = start + service;
    u->l1_busy += (double)service;
    if (op->dma) {
        struct unit_half *l = &u->half[u->gfx11 ? w->simd / 2 : 0];

        l->bank = (l->bank > u->now ? l->bank : u->now) + (uint64_t)u->gpu->lds_dma;
        u->lds_busy += u->gpu->lds_dma;
    }
    fly_vmem(u, w, op, *done,
             *done > u->now + 2 * (uint64_t)u->gpu->l2_latency &&
                 start > u->now + (uint64_t)u->gpu->l1_latency / 2);
    return true;
}

/* 0, 1, 2: accesses of 4, 8 and 16 bytes a lane. */
static unsigned width(unsigned dwords)
{
    return dwords > 2 ? 2 : dwords > 1;
}

static double lds_latency(const struct emu_clock_gpu *g, const struct emu_clock_op *op)
{
    const double read[] = {g->lds_read_4, g->lds_read_8, g->lds_read_16};
    const double write[] = {g->lds_write_4, g->lds_write_8, g->lds_write_16};

    return (op->store ? write : read)[width(op->dwords)];
}

/* Clocks until the wave's next data can follow. */
static double lds_rate(const struct emu_clock_gpu *g, const struct emu_clock_op *op)
{
    const double read[] = {g->lds_rate_read_4, g->lds_rate_read_8, g->lds_rate_read_16};
    const double write[] = {g->lds_rate_write_4, g->lds_rate_write_8, g->lds_rate_write_16};

    return (op->store ? write : read)[width(op->dwords)];
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

bool emu_unit_lds(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                  const struct emu_clock_record *x, uint64_t *done)
{
    const struct emu_clock_gpu *g = u->gpu;
    struct unit_half *h = &u->half[w->simd / 2], *banks = u->gfx11 ? h : &u->half[0];
    const uint64_t queue = (uint64_t)g->lds_queue;
    uint64_t start = later(later(u->now, h->lds), w->lds_next), port, bank, from;

    if (start > u->now + queue) {
        w->wake = start - queue;
        w->cause = h->conflicts ? EMU_TIME_CONFLICT : EMU_TIME_LDS;
        return false;
    }
    port = op->exchange ? (uint64_t)g->lds_exchange
                        : (uint64_t)(op->dwords * 4 * (u->gfx11 ? 32 : 64) / g->lds_port);
    port += op->store ? (uint64_t)g->lds_write_more : 0;
    port = later(port, 1);
    bank = op->exchange ? 2 : x->lds_cycles;
    from = later(start, banks->bank);
    h->lds = from + later(port, bank);
    banks->bank = from + bank;
    h->conflicts = bank > 2 * (uint64_t)x->lds_ideal;
    w->lds_next = from + later((uint64_t)(lds_rate(g, op) + 0.5), bank);
    u->lds_busy += (double)bank;
    /* latencies are measured up to the instruction behind the wait, which takes its time, too */
    *done = from + (uint64_t)(lds_latency(g, op) - g->internal) + (bank > port ? bank - port : 0);
    emu_unit_fly(&w->lgkm, *done,
                 h->conflicts && from + bank > u->now + 16      ? EMU_TIME_CONFLICT
                 : from > u->now + (uint64_t)lds_latency(g, op) ? EMU_TIME_LDS
                                                                : EMU_TIME_LATENCY_LDS);
    return true;
}
