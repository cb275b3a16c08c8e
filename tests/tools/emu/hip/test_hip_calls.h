/*
 * For tests of the HIP functions of libhipemu.so: calls with a verdict, the kernels of
 * emu_kernels.hip, and children, since the environment is read once in a process.
 */
#ifndef TEST_HIP_H
#define TEST_HIP_H

#include <hip/hip_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

const char *emu_last_text(void);
const char *emu_last_fault(void);

static const char *objects = "tests/tools/emu/hip";
static const char *gpu;

static inline int is_hip(hipError_t got, hipError_t want, const char *what)
{
    int good = tap_result(got == want, __FILE__, __LINE__, "%s: %s", gpu, what);
    if (!good)
        printf("#      got %s (%s)\n# expected %s\n", hipGetErrorName(got), emu_last_text(),
               hipGetErrorName(want));
    return good;
}

static inline hipModule_t load(const char *target)
{
    char path[512];
    hipModule_t m = NULL;
    snprintf(path, sizeof path, "%s/emu_kernels.%s.co", objects, target);
    is_hip(hipModuleLoad(&m, path), hipSuccess, "module loads");
    return m;
}

static inline hipError_t launch(hipModule_t m, const char *name, unsigned groups, unsigned threads,
                                unsigned lds, hipStream_t stream, void **params)
{
    hipFunction_t f;
    hipError_t e = hipModuleGetFunction(&f, m, name);
    if (e != hipSuccess)
        return e;
    return hipModuleLaunchKernel(f, groups, 1, 1, threads, 1, 1, lds, stream, params, NULL);
}

static inline void *device_bytes(size_t n, const void *from)
{
    void *p = NULL;
    hipError_t e = hipMalloc(&p, n);
    if (e == hipSuccess && from)
        e = hipMemcpy(p, from, n, hipMemcpyHostToDevice);
    if (e != hipSuccess)
        abort();
    return p;
}

static inline void fetch(void *to, const void *from, size_t n)
{
    if (hipMemcpy(to, from, n, hipMemcpyDeviceToHost) != hipSuccess)
        abort();
}

static inline void in_child(const char *gpus, const char *mode, void (*test)(const char *))
{
    int pipe_fd[2], status;
    fflush(stdout);
    if (pipe(pipe_fd) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[0]);
        setenv("AOTHIP_EMU_GPU", gpus, 1);
        setenv("AOTHIP_EMU_MODE", mode, 1);
        gpu = gpus;
        test(gpus);
        int result[2] = {tap_count, tap_failed};
        if (write(pipe_fd[1], result, sizeof result) != sizeof result)
            _exit(99);
        exit(0);
    }
    close(pipe_fd[1]);
    int result[2] = {tap_count, tap_failed};
    ssize_t got = read(pipe_fd[0], result, sizeof result);
    close(pipe_fd[0]);
    waitpid(pid, &status, 0);
    if (got == sizeof result) {
        tap_count = result[0];
        tap_failed = result[1];
    }
    gpu = gpus;
    ok(status == 0 && got == sizeof result, "%s, %s: the process ended well", gpus, mode);
}

/* Where the code objects are: given, or in the build. */
static inline void find_objects(int argc, char **argv)
{
    const char *dir = getenv("EMU_TEST_OBJECTS");
    if (dir)
        objects = dir;
    if (argc > 1)
        objects = argv[1];
}

#endif
