/* Between the wrapped functions. */
#ifndef AOTHIP_FAULT_WRAP_H
#define AOTHIP_FAULT_WRAP_H

#include "fault.h"

/* Counts a call; whether this one is to fail, and then with that errno. */
int fault_fails(enum fault_kind kind, int error);

#define REAL(result, name, ...)                                                                    \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

#endif
