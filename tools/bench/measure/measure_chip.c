/* Measures what lies beyond a compute unit: caches, memory, the clock's frequency, a launch. */
#include "measuring.h"

#include <math.h>

enum { CHASE_ROOM = 8 << 20, LINE = 128 };

/* What a chase's address takes beside the load: three dependent instructions and a wait. */
static double address_clocks(const struct measuring *m)
{
    return 3 * m->valu_use + m->slot + (m->gfx11 ? 2 : 0);
}

/* Where no launch has been: what earlier ones loaded may still lie in L2. */
static size_t untouched(struct measuring *m)
{
    const size_t at = m->next;

    m->next += CHASE_ROOM;
    if (m->next + CHASE_ROOM > m->probe.bytes)
        m->next = 0;
    return at;
}

static int note_latency(struct measuring *m, const char *name, double clocks, double spread,
                        double percent, const char *how)
{
    return clocks > 0 &&
           measure_note(m, name, clocks - address_clocks(m), m->slot, percent + 100 * spread, how);
}

static int measure_latencies(struct measuring *m)
{
    struct measure_pair pair = {"chase", 32, 96, {2, 6}, {.block = m->wave}};
    double spread, clocks = measure_operation(m, &pair, &spread);

    if (!note_latency(m, "l1_latency", clocks, spread, 3, "chase on one line"))
        return 0;
    /* a megabyte in steps that L1 cannot keep, first round apart */
    pair.launch.stride = 2048;
    pair.launch.mask = (1 << 20) - 1;
    pair.loops[0] = 16;
    pair.loops[1] = 24;
    clocks = measure_operation(m, &pair, &spread);
    if (!note_latency(m, "l2_latency", clocks, spread, 3, "chase over 1 MB"))
        return 0;
    if (!(m->cached > 0))
        return 1;
    pair.launch.stride = 4096 + LINE;
    pair.launch.mask = CHASE_ROOM - 1;
    pair.loops[0] = 4;
    pair.loops[1] = 12;
    pair.launch.offset = untouched(m);
    clocks = measure_operation(m, &pair, &spread);
    return note_latency(m, "mall_latency", clocks, spread, 5, "chase over 8 MB");
}

/* Every workgroup chases in memory of its own; together they touch more than is cached. */
static int measure_memory_latency(struct measuring *m)
{
    enum { LOADS = 32 * 32 };
    struct probe_launch l = {.kernel = "chase_few",
                             .block = m->wave,
                             .loops = 32,
                             .stride = LINE,
                             .mask = UINT32_MAX,
                             .region = LOADS * LINE};
    const double groups = 1.25 * m->cached / (LOADS * LINE / 2.0);
    struct probe_result r;
    double clocks;

    l.groups = groups > m->units ? (unsigned)groups : m->units;
    if (!probe_run(&m->probe, &l, &r))
        return 0;
    clocks = r.clocks / LOADS - address_clocks(m);
    return measure_note(m, "dram_latency", clocks / m->light, 0, 5 + 100 * r.spread,
                        "chase over more than is cached");
}

/* Bytes a second between two launches of the streaming kernels. */
static double stream(struct measuring *m, const struct probe_launch *less,
                     const struct probe_launch *more, double bytes, double *spread)
{
    struct probe_result a, b;

    if (!probe_run(&m->probe, less, &a) || !probe_run(&m->probe, more, &b))
        return 0;
    *spread = b.spread;
    return bytes / (b.seconds - a.seconds);
}

/* All units read the same megabyte, of which L1 keeps little, and every L2 all. */
static int measure_l2(struct measuring *m)
{
    struct probe_launch less = {.kernel = "stream_few",
                                .groups = m->units,
                                .block = 1024,
                                .loops = 4,
                                .stride = 16384,
                                .mask = (1 << 20) - 1},
                        more = less;
    double spread = 0, rate;

    more.loops = 12;
    rate = stream(m, &less, &more, 32.0 * (more.loops - less.loops) * 16384 * m->units, &spread);
    return rate > 0 && measure_note(m, "l2_rate", rate / (m->light * 1e9) / m->dies, 0,
                                    8 + 100 * spread, "stream over 1 MB, all units");
}

/* As much as the cache before memory holds, once. */
static int measure_cached(struct measuring *m)
{
    struct probe_launch less = {.kernel = "stream_few",
                                .groups = m->units,
                                .block = 1024,
                                .loops = 1,
                                .mask = UINT32_MAX},
                        more;
    double spread = 0, rate;

    while (less.block > m->wave && 96.0 * less.block * 16 * m->units > 0.95 * m->cached)
        less.block /= 2;
    less.stride = less.block * 16;
    less.region = 96 * less.stride;
    more = less;
    more.kernel = "stream_many";
    rate = stream(m, &less, &more, 64.0 * less.stride * m->units, &spread);
    return rate > 0 && measure_note(m, "mall_rate", rate / 1e12, 0, 5 + 100 * spread,
                                    "stream over what is cached");
}

/* More than is cached. */
static int measure_memory(struct measuring *m)
{
    const double once = 96.0 * 16384 * m->units;
    struct probe_launch less = {.kernel = "stream_many",
                                .groups = m->units,
                                .block = 1024,
                                .loops = 1 + (unsigned)(m->dram / once),
                                .stride = 16384,
                                .mask = UINT32_MAX},
                        more;
    double spread = 0, rate;

    less.region = 96 * 16384 * 2 * less.loops;
    more = less;
    more.loops = 2 * less.loops;
    rate = stream(m, &less, &more, once * (more.loops - less.loops), &spread);
    return rate > 0 && measure_note(m, "dram_rate", rate / 1e12, 0, 5 + 100 * spread,
                                    "stream over more than is cached");
}

/* Clocks a nanosecond between a shorter and a longer launch of the same. */
static double frequency(struct measuring *m, struct probe_launch *l, unsigned loops,
                        struct probe_result *last)
{
    struct probe_result first;

    l->loops = loops / 4;
    if (!probe_warm(&m->probe, l) || !probe_run(&m->probe, l, &first))
        return 0;
    l->loops = loops;
    if (!probe_run(&m->probe, l, last))
        return 0;
    return (last->clocks - first.clocks) / (last->seconds - first.seconds) / 1e9;
}

static int measure_light(struct measuring *m)
{
    struct probe_launch l = {.kernel = "trans_chain_many", .groups = m->units, .block = m->wave};
    struct probe_result r;

    m->light = frequency(m, &l, m->gfx11 ? 600 : 300, &r);
    return m->light > 0 &&
           measure_note(m, "clock", m->light, 0, 2, "trans_chain, all units, clocks over time");
}

/* Matrix pipes as busy as they get, and what that says of quite busy ones: emu_clock_frequency. */
static int measure_full(struct measuring *m)
{
    struct probe_launch l = {.kernel = "matrix_many", .groups = m->units, .block = 4 * m->wave};
    struct probe_result r = {0};
    double f, load, inverse;

    f = frequency(m, &l, 120, &r);
    if (!(f > 0))
        return 0;
    load = l.loops * 20.0 * 4 * m->matrix / r.clocks;
    load = fmin(load, 1);
    inverse = (1 / f - (1 - load) / m->light) / load;
    return measure_note(m, "clock_full", 1 / inverse, 0, 3, "matrix, all SIMDs, clocks over time");
}

static int measure_start(struct measuring *m)
{
    const struct probe_launch l = {.kernel = "valu_few", .groups = 1, .block = m->wave, .loops = 1};
    struct probe_result r;

    return probe_run(&m->probe, &l, &r) &&
           measure_note(m, "launch_us", r.seconds * 1e6 - r.clocks / m->light / 1e3, 0.3, 5,
                        "a launch with nothing to do");
}

int measure_chip(struct measuring *m)
{
    return measure_light(m) && measure_full(m) && measure_latencies(m) &&
           measure_memory_latency(m) && measure_l2(m) && (!(m->cached > 0) || measure_cached(m)) &&
           measure_memory(m) && measure_start(m);
}
