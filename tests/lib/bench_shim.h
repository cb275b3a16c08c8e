/* Calls through AOTriton's C++ names for bench_host.c. */
#ifndef AOTHIP_BENCH_SHIM_H
#define AOTHIP_BENCH_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

struct bench_shim {
    const char *name;    /* NULL ends the list */
    int (*call)(void *); /* on a stream; 0 or a hipError_t */
};
extern const struct bench_shim bench_shim_calls[];

#ifdef __cplusplus
}
#endif
#endif
