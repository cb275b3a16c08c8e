/* Simulates all units of a chip under several orders of waves, each on a thread of its own. */
#include "orders.h"

#include <pthread.h>

enum { MOST = 8 };

struct order {
    struct emu_everything what;
    emu_units_run *run;
    struct emu_unit_sum sum; /* its own */
    struct emu_chip_time time;
    pthread_t thread;
    bool started, ok;
};

static void *run_one(void *arg)
{
    struct order *v = arg;

    v->ok = v->run(&v->what, &v->time);
    return NULL;
}

bool emu_orders_run(const struct emu_everything *what, unsigned n, emu_units_run *run,
                    struct emu_chip_time *time)
{
    struct order all[MOST];
    bool ok = n <= MOST;

    for (unsigned i = 0; i < n && i < MOST; i++) {
        struct order *v = &all[i];

        *v = (struct order){.what = what[i], .run = run};
        v->what.sum = what[i].sum ? &v->sum : NULL;
        v->started = !pthread_create(&v->thread, NULL, run_one, v);
        if (!v->started)
            run_one(v);
    }
    for (unsigned i = 0; i < n && i < MOST; i++) {
        struct order *v = &all[i];

        if (v->started)
            pthread_join(v->thread, NULL);
        ok = ok && v->ok;
        time[i] = v->time;
    }
    for (unsigned i = 0; i < n && i < MOST; i++) {
        ok = ok && (!what[i].sum || emu_unit_sum_all(what[i].sum, &all[i].sum));
        emu_unit_sum_free(&all[i].sum);
    }
    return ok;
}
