/*
 * Builds of the C++ names side by side in one process, loaded by absolute path and called by the
 * names that a consumer's objects hold: two_builds (LIBRARY NAMESPACE FWD-SIZE)..., where FWD-SIZE
 * is the size of attn_fwd_params, 0 if the release has none. The constructor of each must keep to
 * its own struct. With AOTHIP_EXPECT_GPU=1, check_gpu must find images too.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

static void *find(void *library, const char *format, const char *space)
{
    char symbol[256];
    void *found;
    snprintf(symbol, sizeof(symbol), format, strlen(space), space);
    found = dlsym(library, symbol);
    if (!found)
        printf("%s\n", dlerror());
    return found;
}

/* Bytes from the start of the struct that the constructor wrote to, at most. */
static size_t written(void (*construct)(void *))
{
    static _Alignas(16) unsigned char room[ROOM];
    size_t last = 0;
    memset(room, 0xa5, sizeof(room));
    construct(room);
    for (size_t i = 0; i < ROOM; i++)
        if (room[i] != 0xa5)
            last = i + 1;
    return last;
}

static int check_constructor(void *library, const char *space, size_t size)
{
    void (*construct)(void *);
    *(void **)&construct = find(library, "_ZN%zu%s2v35flash15attn_fwd_paramsC1Ev", space);
    if (!construct)
        return 1;
    if (written(construct) <= size && written(construct) + 8 >= size)
        return 0;
    printf("%s: the constructor writes %zu of %zu bytes\n", space, written(construct), size);
    return 1;
}

/* A stream is passed as its only member. */
static int check(void *library, const char *space)
{
    const char *expected = getenv("AOTHIP_EXPECT_GPU");
    int error, (*check_gpu)(void *);
    *(void **)&check_gpu =
        find(library, "_ZN%zu%s2v25flash9check_gpuENS_14StreamTemplateIP12ihipStream_tEE", space);
    if (!check_gpu)
        return 1;
    error = check_gpu(NULL);
    if (!expected || !error)
        return 0;
    printf("%s: check_gpu returns %d\n", space, error);
    return 1;
}

int main(int argc, char **argv)
{
    void *libraries[8];
    int failed = 0, count = (argc - 1) / 3;
    for (int i = 0; i < count && i < 8; i++) {
        libraries[i] = dlopen(argv[1 + 3 * i], RTLD_NOW | RTLD_LOCAL);
        if (!libraries[i]) {
            printf("%s\n", dlerror());
            return 1;
        }
    }
    for (int i = 0; i < count && i < 8; i++) {
        const char *space = argv[2 + 3 * i];
        const size_t size = (size_t)atol(argv[3 + 3 * i]);
        failed +=
            check(libraries[i], space) || (size && check_constructor(libraries[i], space, size));
    }
    return failed;
}
