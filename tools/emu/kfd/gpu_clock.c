/* The GPU's clock, and how threads that stand in for hardware wait. */
#include "kfd.h"

#include <sched.h>
#include <time.h>

uint64_t kfd_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void kfd_nap(unsigned idle)
{
    struct timespec t = {.tv_nsec = idle < 1000 ? 20000 : 500000};
    if (idle < 50)
        sched_yield();
    else
        nanosleep(&t, NULL);
}
