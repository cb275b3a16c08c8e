/*
 * The HIP runtime that AOTHIP_HIP_LIBRARY names, be it AMD's or the emulator's: its functions are
 * called as HIP(hipMalloc)(...).
 */
#ifndef TEST_LOADED_HIP_H
#define TEST_LOADED_HIP_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <hip/hip_runtime_api.h>

static void *hip_function(const char *name)
{
    static void *library;
    const char *path = getenv("AOTHIP_HIP_LIBRARY");
    if (!library)
        library = dlopen(path ? path : "libamdhip64.so", RTLD_NOW | RTLD_GLOBAL);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f) {
        fprintf(stderr, "%s\n", dlerror());
        exit(99);
    }
    return f;
}

/* POSIX has no other way to make a function of what dlsym returns. */
#define HIP(name) ((__typeof__(&name))hip_function(#name))

#endif
