// Small kernels for the tests of the emulator's HIP surface and memory; compiled for each GPU.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define LDS __attribute__((shared))

static DEVICE unsigned lane(void)
{
    return __builtin_amdgcn_workitem_id_x();
}

static DEVICE unsigned group(void)
{
    return __builtin_amdgcn_workgroup_id_x();
}

DEVICE int scale_by = 3;

KERNEL void add(const float *a, const float *b, float *c, int n)
{
    int i = group() * 256 + lane();
    if (i < n)
        c[i] = a[i] + b[i];
}

// The size of the launch as the program sees it: hidden arguments.
KERNEL void sizes(unsigned *out)
{
    if (lane() == 0 && group() == 0) {
        out[0] = __builtin_amdgcn_workgroup_size_x();
        out[1] = __builtin_amdgcn_workgroup_size_y();
        out[2] = __builtin_amdgcn_grid_size_x();
    }
}

KERNEL void ids(unsigned *out)
{
    unsigned x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y();
    unsigned z = __builtin_amdgcn_workitem_id_z(), g = __builtin_amdgcn_workgroup_id_y();
    out[((g * 2 + z) * 3 + y) * 5 + x] = x | y << 8 | z << 16 | g << 24;
}

// Reverses 256 values through LDS whose size the launch gives.
KERNEL void reverse(int *data)
{
    extern LDS int dynamic[];
    dynamic[lane()] = data[lane()];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    data[lane()] = dynamic[255 - lane()];
}

// The same without the barrier.
KERNEL void reverse_race(int *data)
{
    extern LDS int dynamic[];
    dynamic[lane()] = data[lane()];
    data[lane()] = dynamic[255 - lane()];
}

KERNEL void count(unsigned *total, float *sum)
{
    __hip_atomic_fetch_add(total, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_add(sum, 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL void scaled(int *data)
{
    data[lane()] *= scale_by;
}

KERNEL void set_scale(int to)
{
    scale_by = to;
}

static DEVICE __attribute__((noinline)) int fib(int n, int *memo)
{
    int a = 0, b = 1;
    for (int i = 0; i < n; i++) {
        memo[i & 15] = a;
        int c = a + b;
        a = b, b = c;
    }
    return a;
}

// A call and an array indexed at run time: stack in scratch memory.
KERNEL void stack(int *out)
{
    int memo[16];
    int n = lane() & 15;
    for (int i = 0; i < 16; i++)
        memo[i] = -1;
    int f = fib(n, memo);
    out[lane()] = f * 1000 + (n ? memo[(n - 1) & 15] : -1);
}

// A generic pointer to LDS or to device memory, decided at run time.
KERNEL void generic(int *data, int which)
{
    LDS int local[64];
    local[lane()] = (int)lane();
    int *p = which ? (int *)local : data;
    p[lane()] += 1000;
    if (which)
        data[lane()] = p[lane()];
}

KERNEL void touch(int *data, long at)
{
    if (lane() == 7)
        data[at] = 1;
}

KERNEL void copy_one(const int *from, int *to)
{
    to[lane()] = from[lane()];
}

// Reads 32 words of LDS that nobody wrote.
KERNEL void lds_uninitialised(int *out)
{
    LDS int local[128];
    if (lane() < 32)
        local[lane()] = 1;
    __builtin_amdgcn_s_barrier();
    out[lane()] = local[lane() + 32];
}

struct odd {
    char c[23];
};

// Arguments whose sizes and alignments leave holes.
KERNEL void big_args(long a, short b, struct odd d, long *out)
{
    out[0] = a;
    out[1] = b;
    out[2] = d.c[22];
}

// No more than one wave, as launches must respect.
KERNEL __attribute__((amdgpu_flat_work_group_size(64, 64))) void bounded(int *data)
{
    data[lane()] = 1;
}

// An address that the loader has to put in.
DEVICE int *points_to_scale = &scale_by;

KERNEL void pointed(int *data)
{
    data[lane()] = *points_to_scale;
}

// Waits for something that nobody does.
KERNEL void endless(volatile int *data)
{
    while (data[0] != 12345)
        ;
}
