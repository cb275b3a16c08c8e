/* Which of the host's vectors are used: asked once, with an upper limit for tests. */
#include "wave.h"

static enum emu_host host_limit = EMU_HOST_AVX512;
static atomic_int known_host = -1; /* matrix instructions ask every time */

void emu_host_limit(enum emu_host most)
{
    host_limit = most;
    atomic_store(&known_host, -1);
}

static enum emu_host find_host(void)
{
#if defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");

    if (v3 && host_limit >= EMU_HOST_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return EMU_HOST_AVX512;
    if (v3 && host_limit >= EMU_HOST_AVX2)
        return EMU_HOST_AVX2;
#endif
    return EMU_HOST_BASE;
}

enum emu_host emu_host(void)
{
    int host = atomic_load_explicit(&known_host, memory_order_relaxed);

    if (host < 0) {
        host = (int)find_host();
        atomic_store(&known_host, host);
    }
    return (enum emu_host)host;
}
