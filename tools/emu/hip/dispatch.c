/* Launches: argument bytes, hidden arguments, dispatch packet, the run, and its report. */
#include "newer_calls.h"
#include "operation.h"
#include "watched_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BLOCK = 1024,
    /* hipModuleLaunchKernel() of clr, ROCm 5 to 7; hipDeviceProp_t's maxGridSize says the same. */
    MAX_GRID_X = INT32_MAX,
    MAX_GRID_YZ = 65536,
    PACKET_BYTES = 64,
};

static bool hidden(const struct emu_arg *a)
{
    return strncmp(a->kind, "hidden_", 7) == 0;
}

static void put(uint8_t *kernarg, const struct emu_arg *a, uint64_t value)
{
    memcpy(kernarg + a->offset, &value, a->size < 8 ? a->size : 8);
}

/* Arguments of code object v5 that the compiler asks for and the runtime fills. Pointers to host
 * services (printf, heap, queue) stay null: a kernel that needs them faults on the null address. */
static void fill_hidden(const struct emu_packet *p)
{
    static const char axes[] = "xyz";
    const struct emu_kernel_meta *k = p->function->meta;
    unsigned dims = p->grid[2] * p->block[2] > 1 ? 3 : p->grid[1] * p->block[1] > 1 ? 2 : 1;
    for (size_t i = 0; i < k->nargs; i++) {
        const struct emu_arg *a = &k->args[i];
        if (!hidden(a))
            continue;
        const char *axis = strchr(axes, a->kind[strlen(a->kind) - 1]);
        unsigned d = axis && *axis ? (unsigned)(axis - axes) : 0;
        uint64_t value = 0;
        if (strncmp(a->kind, "hidden_block_count_", 19) == 0)
            value = p->grid[d];
        else if (strncmp(a->kind, "hidden_group_size_", 18) == 0)
            value = p->block[d];
        else if (strcmp(a->kind, "hidden_grid_dims") == 0)
            value = dims;
        else if (strcmp(a->kind, "hidden_dynamic_lds_size") == 0)
            value = p->lds;
        else if (strcmp(a->kind, "hidden_private_base") == 0)
            value = EMU_PRIVATE_APERTURE >> 32;
        else if (strcmp(a->kind, "hidden_shared_base") == 0)
            value = EMU_SHARED_APERTURE >> 32;
        put(p->kernarg, a, value);
    }
}

static hipError_t copy_extra(const struct emu_packet *p, void **extra)
{
    const void *buffer = NULL;
    size_t size = 0, limit = p->function->meta->kernarg_size;
    bool sized = false;
    for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[1];
        } else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
            memcpy(&size, extra[1], sizeof size);
            sized = true;
        } else {
            return emu_hip_fail(hipErrorInvalidValue, "kernel %s: unknown launch parameter %p",
                                p->function->meta->name, *extra);
        }
    }
    if (!buffer || !sized)
        return emu_hip_fail(hipErrorInvalidValue,
                            "kernel %s: the argument buffer lacks its pointer or size",
                            p->function->meta->name);
    /* The buffer must reach the end of the last visible argument; trailing padding may differ. */
    size_t need = 0;
    for (size_t i = 0; i < p->function->meta->nargs; i++) {
        const struct emu_arg *a = &p->function->meta->args[i];
        if (!hidden(a) && a->offset + a->size > need)
            need = a->offset + a->size;
    }
    if (size < need)
        return emu_hip_fail(hipErrorInvalidValue,
                            "kernel %s: argument buffer of %zu bytes, the kernel reads %zu",
                            p->function->meta->name, size, need);
    memcpy(p->kernarg, buffer, size < limit ? size : limit);
    return hipSuccess;
}

static hipError_t copy_params(const struct emu_packet *p, void **params)
{
    const struct emu_kernel_meta *k = p->function->meta;
    size_t n = 0;
    for (size_t i = 0; i < k->nargs; i++) {
        const struct emu_arg *a = &k->args[i];
        if (hidden(a))
            continue;
        if (!params || !params[n])
            return emu_hip_fail(hipErrorInvalidValue, "kernel %s: argument %zu is missing", k->name,
                                n);
        memcpy(p->kernarg + a->offset, params[n++], a->size);
    }
    return hipSuccess;
}

static hipError_t check_shape(const struct emu_packet *p)
{
    const uint32_t lds = (uint32_t)emu_device_lds(p->function->module->device);
    const struct emu_kernel_meta *k = p->function->meta;
    uint64_t threads = (uint64_t)p->block[0] * p->block[1] * p->block[2];
    for (int i = 0; i < 3; i++) {
        if (p->grid[i] == 0 || p->block[i] == 0)
            return emu_hip_fail(hipErrorInvalidValue,
                                "kernel %s: grid or block has a zero dimension", k->name);
        if (p->grid[i] > (i == 0 ? MAX_GRID_X : MAX_GRID_YZ))
            return emu_hip_fail(hipErrorInvalidValue,
                                "kernel %s: grid dimension %d is %u, HIP allows %u", k->name, i,
                                p->grid[i], (unsigned)(i == 0 ? MAX_GRID_X : MAX_GRID_YZ));
        if ((uint64_t)p->grid[i] * p->block[i] > UINT32_MAX)
            return emu_hip_fail(hipErrorInvalidConfiguration,
                                "kernel %s: grid dimension %d has 2^32 work-items or more", k->name,
                                i);
        if (k->reqd_workgroup_size[i] && k->reqd_workgroup_size[i] != p->block[i])
            return emu_hip_fail(hipErrorInvalidConfiguration,
                                "kernel %s: block dimension %d is %u, compiled for %u", k->name, i,
                                p->block[i], k->reqd_workgroup_size[i]);
    }
    if (threads > MAX_BLOCK)
        return emu_hip_fail(hipErrorInvalidValue,
                            "kernel %s: a block of %llu work-items, the device allows %d", k->name,
                            (unsigned long long)threads, MAX_BLOCK);
    if (threads > k->max_flat_workgroup_size)
        return emu_hip_fail(hipErrorLaunchFailure,
                            "kernel %s: a block of %llu work-items, compiled for at most %u",
                            k->name, (unsigned long long)threads, k->max_flat_workgroup_size);
    if (p->lds > lds)
        return emu_hip_fail(hipErrorInvalidValue, "kernel %s: %u bytes of LDS, a workgroup has %u",
                            k->name, p->lds, lds);
    /* The queue notices this, in clr's rocvirtual.cpp, and the launch becomes an illegal state. */
    if ((uint64_t)k->group_segment + p->lds > lds)
        return emu_hip_fail(hipErrorIllegalState,
                            "kernel %s: %u + %u bytes of LDS, a workgroup has %u", k->name,
                            k->group_segment, p->lds, lds);
    return hipSuccess;
}

hipError_t emu_packet_make(struct ihipModuleSymbol_t *f, const uint32_t grid[3],
                           const uint32_t block[3], uint32_t lds, void **params, void **extra,
                           struct emu_packet *p)
{
    *p = (struct emu_packet){.function = f, .serial = f->serial, .lds = lds};
    memcpy(p->grid, grid, sizeof p->grid);
    memcpy(p->block, block, sizeof p->block);
    hipError_t e = check_shape(p);
    if (e != hipSuccess)
        return e;
    p->kernarg_size = f->meta->kernarg_size;
    p->kernarg = calloc(1, p->kernarg_size + 1);
    if (!p->kernarg)
        return emu_hip_fail(hipErrorOutOfMemory, "kernel %s: no memory for its arguments",
                            f->meta->name);
    e = extra ? copy_extra(p, extra) : copy_params(p, params);
    if (e != hipSuccess) {
        free(p->kernarg);
        return e;
    }
    fill_hidden(p);
    return hipSuccess;
}

/* hsa_kernel_dispatch_packet_t, as kernels read it through the dispatch pointer. */
static void write_packet(const struct emu_packet *p, uint8_t *q, uint64_t kernarg)
{
    uint16_t header = 0x1502, dims = p->grid[2] * p->block[2] > 1   ? 3
                                     : p->grid[1] * p->block[1] > 1 ? 2
                                                                    : 1;
    uint64_t object = p->function->module->block->base + p->function->meta->kd_addr;
    uint32_t group = p->function->meta->group_segment + p->lds;
    memcpy(q, &header, 2);
    memcpy(q + 2, &dims, 2);
    for (int i = 0; i < 3; i++) {
        uint16_t size = (uint16_t)p->block[i];
        uint32_t items = p->grid[i] * p->block[i];
        memcpy(q + 4 + 2 * i, &size, 2);
        memcpy(q + 12 + 4 * i, &items, 4);
    }
    memcpy(q + 24, &p->function->meta->private_segment, 4);
    memcpy(q + 28, &group, 4);
    memcpy(q + 32, &object, 8);
    memcpy(q + 40, &kernarg, 8);
}

static hipError_t run_at(const struct emu_packet *p, struct emu_block *args, uint64_t packet_at)
{
    struct emu_device *d = p->function->module->device;
    struct emu_launch l = {
        .kernel = &p->function->kernel,
        .lds_bytes = p->function->meta->group_segment + p->lds,
        .kernarg = args->base,
        .dispatch_packet = args->base + packet_at,
    };
    memcpy(l.grid, p->grid, sizeof l.grid);
    memcpy(l.block, p->block, sizeof l.block);
    l.memory = emu_mem_view(d->index, atomic_load(&d->peers));
    if (!l.memory)
        return emu_hip_fail(hipErrorOutOfMemory, "kernel %s: out of memory", l.kernel->name);
    bool ok = emu_watched_run(&l, &emu_settings()->gpu[d->index], false);
    emu_mem_unview(l.memory);
    uint64_t n = 0;
    for (int i = 0; i < EMU_CLASSES; i++)
        n += l.counters.instructions[i];
    atomic_fetch_add(&d->instructions, n);
    if (ok)
        return hipSuccess;
    fprintf(stderr, "hipemu: %s\n", l.fault.text);
    return emu_hip_fail(hipErrorLaunchFailure, "kernel %s faulted; see emu_last_fault()",
                        l.kernel->name);
}

hipError_t emu_packet_run(const struct emu_packet *p)
{
    uint32_t size = p->function->meta->kernarg_size;
    uint64_t packet_at = ((uint64_t)size + 63) & ~63ull;
    struct emu_device *d = p->function->module->device;
    struct emu_block *args =
        emu_mem_alloc(EMU_BLOCK_KERNARG, d->index, packet_at + PACKET_BYTES, 0);
    if (!args)
        return emu_hip_fail(hipErrorOutOfMemory, "kernel %s: no memory for its arguments",
                            p->function->meta->name);
    memcpy(args->host, p->kernarg, size);
    write_packet(p, args->host + packet_at, args->base);
    hipError_t e = run_at(p, args, packet_at);
    emu_mem_free(args->base, 1u << EMU_BLOCK_KERNARG);
    return e;
}

static hipError_t run_launch(const struct emu_operation *op)
{
    return emu_packet_run(&op->launch);
}

/* A function may be gone since, and another one stand at its address. */
static hipError_t launch_ready(const struct emu_operation *op)
{
    const struct ihipModuleSymbol_t *f = op->launch.function;
    if (!emu_handle_live(f, EMU_HANDLE_FUNCTION) || f->serial != op->launch.serial)
        return emu_hip_fail(hipErrorInvalidHandle,
                            "graph: the module of one of its kernels was unloaded");
    return hipSuccess;
}

static bool own_launch(struct emu_operation *copy)
{
    const uint8_t *kernarg = copy->launch.kernarg;
    copy->launch.kernarg = malloc(copy->launch.kernarg_size + 1);
    if (copy->launch.kernarg)
        memcpy(copy->launch.kernarg, kernarg, copy->launch.kernarg_size + 1);
    return copy->launch.kernarg != NULL;
}

static void drop_launch(struct emu_operation *op)
{
    free(op->launch.kernarg);
}

struct emu_operation emu_launch_operation(const struct emu_packet *p)
{
    static const struct emu_operation_kind kind = {.type = hipGraphNodeTypeKernel,
                                                   .run = run_launch,
                                                   .ready = launch_ready,
                                                   .own = own_launch,
                                                   .drop = drop_launch};
    return (struct emu_operation){.kind = &kind, .launch = *p};
}

static hipError_t submit(struct ihipStream_t *s, const struct emu_packet *p)
{
    struct emu_operation op = emu_launch_operation(p);
    const struct emu_module *m = p->function->module;
    if (s->device == m->device)
        return emu_operation_submit(s, &op);
    emu_operation_drop(&op);
    return emu_hip_fail(hipErrorInvalidHandle,
                        "kernel %s: its module is loaded on device %d, the stream is on %d",
                        p->function->meta->name, m->device->index, s->device->index);
}

static hipError_t launch(const void *function, const uint32_t grid[3], const uint32_t block[3],
                         uint32_t lds, hipStream_t stream, void **params, void **extra)
{
    struct emu_packet p;
    EMU_BEGIN();
    if (!emu_handle_live(function, EMU_HANDLE_FUNCTION))
        return emu_hip_fail(hipErrorInvalidHandle, "launch: not a function of a loaded module");
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "launch: not a live stream");
    if (params && extra)
        return emu_hip_fail(hipErrorInvalidValue, "launch: both kernelParams and extra are given");
    hipError_t e =
        emu_packet_make((struct ihipModuleSymbol_t *)function, grid, block, lds, params, extra, &p);
    return e == hipSuccess ? submit(s, &p) : e;
}

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                 hipStream_t stream, void **params, void **extra)
{
    const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    return launch(f, grid, block, lds, stream, params, extra);
}

/* Sizes here count work-items, not workgroups; a rest would be a partial workgroup. */
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz,
                                    uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                    hipStream_t stream, void **params, void **extra,
                                    hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
    const uint32_t items[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    uint32_t grid[3];
    (void)flags;
    EMU_BEGIN();
    for (int i = 0; i < 3; i++) {
        if (block[i] == 0 || items[i] % block[i])
            return emu_hip_fail(hipErrorInvalidConfiguration,
                                "launch: %u work-items are not whole blocks of %u", items[i],
                                block[i]);
        grid[i] = items[i] / block[i];
    }
    if (lds > UINT32_MAX)
        return emu_hip_fail(hipErrorInvalidValue, "launch: %zu bytes of LDS", lds);
    hipError_t e = start ? hipEventRecord(start, stream) : hipSuccess;
    if (e == hipSuccess)
        e = launch(f, grid, block, (uint32_t)lds, stream, params, extra);
    if (e == hipSuccess && stop)
        e = hipEventRecord(stop, stream);
    return e;
}
