/* Runs a kernel dispatch packet on the emulator's core. */
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_map.h"
#include "watched_run.h"

/* hsa_kernel_dispatch_packet_t */
struct packet {
    uint16_t header, setup, block[3], reserved;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t object, kernarg, reserved2, signal;
};

/* 0: it can be run. */
static enum kfd_queue_error check(const struct packet *p, unsigned lds, char *err, size_t size)
{
    for (int i = 0; i < 3; i++)
        if (!p->block[i] || !p->grid[i] || p->grid[i] % p->block[i]) {
            snprintf(err, size, "dimension %d has %u work-items in groups of %u", i, p->grid[i],
                     p->block[i]);
            return KFD_BAD_GRID;
        }
    if (p->group_bytes > lds) {
        snprintf(err, size, "%u bytes of LDS, a workgroup has %u", p->group_bytes, lds);
        return KFD_BAD_LDS;
    }
    return 0;
}

/* The address that the report names; 0: it is about something else. */
static uint64_t fault_address(const char *text)
{
    const char *at = strstr(text, " at 0x");
    return at ? strtoull(at + 4, NULL, 16) : 0;
}

/* What hardware would make of it: a fault of memory, a hang, an instruction, or something else. */
static void report(struct kfd_ring *r, const char *text)
{
    kfd_say("%s", text);
    if (strstr(text, " at 0x")) {
        r->stuck = true;
        kfd_memory_fault(kfd_gpu_id(r->gpu), fault_address(text), false);
    } else if (strstr(text, "endless")) {
        r->stuck = true;
        kfd_hardware_fault(kfd_gpu_id(r->gpu));
    } else {
        bool instruction = strstr(text, "illegal instruction") || strstr(text, "no instruction");
        kfd_queue_stop(r, instruction ? KFD_BAD_INSTRUCTION : KFD_EXCEPTION);
    }
}

/*
 * ROCr's own kernels come without an object, and so without a name; those of AMD's HIP have names
 * that no program uses. They copy what was never written, too, and ROCr's rely on flat loads from
 * memory being complete when vmcnt is 0.
 */
static bool is_runtimes(const char *name)
{
    return strncmp(name, "0x", 2) == 0 || strncmp(name, "__amd_rocclr_", 13) == 0;
}

static bool launch(struct kfd_ring *r, const struct packet *p, uint64_t packet_at,
                   struct emu_kernel *k)
{
    struct emu_launch l = {
        .kernel = k,
        .lds_bytes = p->group_bytes,
        .kernarg = p->kernarg,
        .dispatch_packet = packet_at,
    };
    for (int i = 0; i < 3; i++) {
        l.block[i] = p->block[i];
        l.grid[i] = p->grid[i] / p->block[i];
    }
    /* All GPUs of a process see all that is mapped to one. */
    l.memory = emu_mem_view((int)r->gpu, UINT32_MAX);
    if (!l.memory) {
        report(r, "out of memory");
        return false;
    }
    struct emu_gpu gpu = *kfd_gpu(r->gpu)->emu;
    struct emu_model model = *gpu.model;
    model.units = r->units;
    gpu.model = &model;
    bool ok = emu_watched_run(&l, &gpu, is_runtimes(k->name));
    emu_mem_unview(l.memory);
    if (!ok)
        report(r, l.fault.text);
    return ok;
}

bool kfd_dispatch(struct kfd_ring *r, const uint8_t *packet)
{
    struct packet p;
    char err[512];
    struct emu_kernel *k = NULL;
    const struct kfd_gpu *gpu = kfd_gpu(r->gpu);
    memcpy(&p, packet, sizeof p);
    enum kfd_queue_error error = check(&p, emu_lds_most(gpu->emu->model->family), err, sizeof err);
    if (!error) {
        k = kfd_kernel_at(gpu, p.object, p.private_bytes, err, sizeof err);
        error = k ? 0 : KFD_BAD_CODE;
    }
    if (error) {
        kfd_say("dispatch of the kernel at 0x%llx: %s", (unsigned long long)p.object, err);
        kfd_queue_stop(r, error);
        return false;
    }
    kfd_log("dispatch %s: grid %u %u %u, block %u %u %u, LDS %u", k->name, p.grid[0], p.grid[1],
            p.grid[2], p.block[0], p.block[1], p.block[2], p.group_bytes);
    bool ok = launch(r, &p, (uint64_t)(uintptr_t)packet, k);
    kfd_kernel_done(k);
    return ok;
}
