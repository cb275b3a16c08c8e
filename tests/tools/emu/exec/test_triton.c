/*
 * Code objects of another compiler: kernels that Triton makes (triton_kernels.py), run in strict
 * mode and compared with plain loops here.
 *
 * TRITON_PYTHON names the Python that can import triton; the test is skipped when it cannot.
 */
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

const char *emu_last_fault(void);

enum { TILE = 32, DEPTH = 96, SEQ = 75, DIM = 64 };

static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};

struct run {
    hipFunction_t kernel;
    const char *name; /* of the list's file, without the GPU */
    unsigned lds, items;
};

/* Types that Triton calls fp16, bf16, fp8e4b8 (bias 8, no infinities), i8, fp32. */
enum type { F16, BF16, FP8, I8, F32 };

static double value(enum type t, uint32_t bits)
{
    static const struct {
        int mantissa, exponent, bias;
    } layout[] = {{10, 5, 15}, {7, 8, 127}, {3, 4, 8}, {0, 0, 0}, {23, 8, 127}};
    int m = layout[t].mantissa, e = (int)(bits >> m) & ((1 << layout[t].exponent) - 1);
    double fraction = (double)(bits & ((1u << m) - 1)) / (1u << m), x;

    if (t == I8)
        return (int8_t)bits;
    x = e ? ldexp(1 + fraction, e - layout[t].bias) : ldexp(fraction, 1 - layout[t].bias);
    return bits >> (m + layout[t].exponent) & 1 ? -x : x;
}

static size_t width(enum type t)
{
    return t == F32 ? 4 : t == F16 || t == BF16 ? 2 : 1;
}

static uint32_t element(const void *p, enum type t, size_t i)
{
    uint32_t bits = 0;

    memcpy(&bits, (const char *)p + i * width(t), width(t));
    return bits;
}

/* Numbers of size 1/8 to 2 and either sign; small integers for I8. */
static void fill(void *p, enum type t, size_t n, uint32_t seed)
{
    static const uint32_t one[] = {0x3800, 0x3f00, 0x38, 0, 0x3f000000};

    for (size_t i = 0; i < n; i++) {
        uint32_t r = (seed = seed * 1664525 + 1013904223) >> 8, bits = r % 256;

        if (t == F16)
            bits = one[t] - 0x800 + r % 0x1000;
        else if (t == BF16)
            bits = one[t] - 0x100 + r % 0x200;
        else if (t == FP8)
            bits = one[t] - 0x10 + r % 0x20;
        else if (t == F32)
            bits = one[t] - 0x1000000 + r % 0x2000000;
        if (t != I8)
            bits |= (r >> 20 & 1) << (8 * width(t) - 1);
        memcpy((char *)p + i * width(t), &bits, width(t));
    }
}

static void *on_device(const void *from, size_t n)
{
    void *p = NULL;

    if (hipMalloc(&p, n) || (from && hipMemcpy(p, from, n, hipMemcpyHostToDevice)))
        abort();
    return p;
}

static void from_device(void *to, void *p, size_t n)
{
    if (hipMemcpy(to, p, n, hipMemcpyDeviceToHost) || hipFree(p))
        abort();
}

/* Kernels of Triton take two more pointers, to scratch memory that these do not use. */
static bool launch(const struct run *r, unsigned gx, unsigned gy, void **args, unsigned n)
{
    void *none = NULL, *all[10];

    memcpy(all, args, n * sizeof *all);
    all[n] = all[n + 1] = &none;
    if (!hipModuleLaunchKernel(r->kernel, gx, gy, 1, r->items, 1, 1, r->lds, NULL, all, NULL) &&
        !hipDeviceSynchronize())
        return true;
    tap_diag("%s: %s", r->name, emu_last_fault());
    return false;
}

static bool run_add(const struct run *r)
{
    enum { N = 1000 };
    float x[N], y[N], o[N];
    int n = N;
    bool good;

    fill(x, F32, N, 1);
    fill(y, F32, N, 2);
    void *dx = on_device(x, sizeof x), *dy = on_device(y, sizeof y),
         *out = on_device(NULL, sizeof o), *args[] = {&dx, &dy, &out, &n};
    good = launch(r, (N + 255) / 256, 1, args, 4);
    from_device(o, out, sizeof o);
    for (int i = 0; i < N; i++)
        good &= o[i] == x[i] + y[i];
    return !hipFree(dx) && !hipFree(dy) && good;
}

static bool run_softmax(const struct run *r)
{
    enum { ROWS = 5, N = 301, STRIDE = 304 };
    static float x[ROWS][STRIDE], o[ROWS][STRIDE];
    int n = N, stride = STRIDE;
    bool good;

    fill(x, F32, ROWS * STRIDE, 3);
    void *dx = on_device(x, sizeof x), *out = on_device(NULL, sizeof o),
         *args[] = {&dx, &out, &n, &stride};
    good = launch(r, ROWS, 1, args, 4);
    from_device(o, out, sizeof o);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;

        for (int j = 0; j < N; j++)
            sum += exp((double)x[i][j]);
        for (int j = 0; j < N; j++)
            good &= fabs(o[i][j] - exp((double)x[i][j]) / sum) < 1e-6;
    }
    return !hipFree(dx) && good;
}

static bool run_histogram(const struct run *r)
{
    enum { N = 900 };
    static int x[N], count[18], want[18];
    float total = 0, sum = 0;
    int n = N;
    bool good;

    memset(want, 0, sizeof want);
    for (int i = 0; i < N; i++) {
        x[i] = i * 37 % 251;
        want[x[i] % 16]++;
        sum += (float)x[i];
        want[16] = x[i] > want[16] ? x[i] : want[16];
    }
    want[17] = 1;
    memset(count, 0, sizeof count);
    void *dx = on_device(x, sizeof x), *dc = on_device(count, sizeof count),
         *dt = on_device(&total, sizeof total), *args[] = {&dx, &dc, &dt, &n};
    good = launch(r, 4, 1, args, 4);
    from_device(count, dc, sizeof count);
    from_device(&total, dt, sizeof total);
    return !hipFree(dx) && good && total == sum && !memcmp(count, want, sizeof want);
}

/* f32 on gfx942 goes through the xf32 instructions, with 10 bits of mantissa. */
static bool run_matmul(const struct run *r)
{
    enum { ROWS = 2 * TILE, COLS = TILE };
    static uint32_t a[ROWS * DEPTH], b[DEPTH * COLS], c[ROWS * COLS];
    static const char *const names[] = {"f16", "bf16", "fp8", "i8", "f32"};
    enum type t = F16;
    int k = DEPTH;
    bool good;

    while (strcmp(strchr(r->name, '_') + 1, names[t]) != 0)
        t++;
    fill(a, t, ROWS * DEPTH, 4);
    fill(b, t, DEPTH * COLS, 5);
    void *da = on_device(a, ROWS * DEPTH * width(t)), *db = on_device(b, DEPTH * COLS * width(t)),
         *out = on_device(NULL, sizeof c), *args[] = {&da, &db, &out, &k};
    good = launch(r, 2, 1, args, 4);
    from_device(c, out, sizeof c);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            double sum = 0, size = 0;

            for (int l = 0; l < DEPTH; l++) {
                double x = value(t, element(a, t, (size_t)(i * DEPTH + l))) *
                           value(t, element(b, t, (size_t)(l * COLS + j)));
                sum += x;
                size += fabs(x);
            }
            if (t == I8)
                good &= (int32_t)c[i * COLS + j] == (int32_t)sum;
            else
                good &= fabs(value(F32, c[i * COLS + j]) - sum) <= size * (t == F32 ? 1e-3 : 1e-5);
        }
    return !hipFree(da) && !hipFree(db) && good;
}

static double at(const uint16_t *p, int row, int column)
{
    return value(F16, p[row * DIM + column]);
}

/* Row i of causal attention, in double. */
static void attend(const uint16_t *q, const uint16_t *k, const uint16_t *v, double scale, int i,
                   double *o)
{
    double norm = 0;

    memset(o, 0, DIM * sizeof *o);
    for (int j = 0; j <= i; j++) {
        double s = 0, p;

        for (int d = 0; d < DIM; d++)
            s += at(q, i, d) * at(k, j, d);
        p = exp(s * scale);
        norm += p;
        for (int d = 0; d < DIM; d++)
            o[d] += p * at(v, j, d);
    }
    for (int d = 0; d < DIM; d++)
        o[d] /= norm;
}

static bool run_attention(const struct run *r)
{
    static uint16_t q[SEQ * DIM], k[SEQ * DIM], v[SEQ * DIM], o[SEQ * DIM];
    float scale = 0.125f;
    int seq = SEQ;
    double want[DIM];
    bool good;

    fill(q, F16, SEQ * DIM, 6);
    fill(k, F16, SEQ * DIM, 7);
    fill(v, F16, SEQ * DIM, 8);
    void *dq = on_device(q, sizeof q), *dk = on_device(k, sizeof k), *dv = on_device(v, sizeof v),
         *out = on_device(NULL, sizeof o), *args[] = {&dq, &dk, &dv, &out, &seq, &scale};
    good = launch(r, (SEQ + TILE - 1) / TILE, 1, args, 6);
    from_device(o, out, sizeof o);
    for (int i = 0; i < SEQ; i++) {
        attend(q, k, v, scale, i, want);
        for (int d = 0; d < DIM; d++)
            good &= fabs(at(o, i, d) - want[d]) < 4e-3;
    }
    return !hipFree(dq) && !hipFree(dk) && !hipFree(dv) && good;
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool run_order(const struct run *r)
{
    enum { N = 256 };
    static int x[N], o[N], sums[N];
    int sum = 0;
    bool good;

    for (int i = 0; i < N; i++)
        x[i] = i * 7919 % 1009 - 500;
    void *dx = on_device(x, sizeof x), *out = on_device(NULL, sizeof o),
         *ds = on_device(NULL, sizeof sums), *args[] = {&dx, &out, &ds};
    good = launch(r, 1, 1, args, 3);
    from_device(o, out, sizeof o);
    from_device(sums, ds, sizeof sums);
    for (int i = 0; i < N; i++)
        good &= sums[i] == (sum += x[i]);
    qsort(x, N, sizeof *x, ascending);
    return !hipFree(dx) && good && !memcmp(x, o, sizeof x);
}

static void run_line(const char *directory, const char *line)
{
    static const struct {
        const char *name;
        bool (*run)(const struct run *);
    } kernels[] = {
        {"add", run_add},       {"softmax", run_softmax},     {"histogram", run_histogram},
        {"matmul", run_matmul}, {"attention", run_attention}, {"order", run_order}};
    char file[128], gpu[32], name[32], path[256];
    struct run r;
    hipModule_t module;
    int device = 0;

    if (sscanf(line, "%127s %31s %31s %u %u", file, gpu, name, &r.lds, &r.items) != 5) {
        ok(0, "a line of the list: %s", line);
        return;
    }
    while (strcmp(gpus[device], gpu) != 0)
        device++;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (hipSetDevice(device) || hipModuleLoad(&module, path) ||
        hipModuleGetFunction(&r.kernel, module, name)) {
        ok(0, "%s loads", file);
        return;
    }
    *strrchr(file, '.') = 0;
    r.name = strchr(file, '-') + 1;
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            ok(kernels[i].run(&r), "%s: %s", gpu, r.name);
    if (hipModuleUnload(module))
        tap_diag("cannot unload %s", file);
}

static void compile(const char *directory)
{
    const char *python = getenv("TRITON_PYTHON"), *source = getenv("srcdir");
    char command[1024];
    int status;

    snprintf(command, sizeof command,
             "%s %s/tests/tools/emu/exec/triton_kernels.py %s >%s/log 2>&1 || "
             "{ s=$?; sed 's/^/# /' %s/log; exit $s; }",
             python && *python ? python : "python3", source ? source : ".", directory, directory,
             directory);
    status = system(command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
        tap_skip_all("Triton cannot be imported; TRITON_PYTHON may name a Python that can");
    ok(status == 0, "Triton compiles the kernels");
}

int main(void)
{
    char directory[] = "/tmp/test_triton_XXXXXX", path[64], line[256];
    FILE *list;

    if (!mkdtemp(directory))
        return 99;
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("TRITON_CACHE_DIR", directory, 1);
    compile(directory);
    snprintf(path, sizeof path, "%s/list", directory);
    list = fopen(path, "r");
    while (list && fgets(line, sizeof line, list))
        run_line(directory, line);
    ok(tap_count > 30, "all kernels of the list ran");
    if (list)
        fclose(list);
    snprintf(line, sizeof line, "rm -rf %s", directory);
    if (system(line))
        tap_diag("cannot remove %s", directory);
    return tap_done();
}
