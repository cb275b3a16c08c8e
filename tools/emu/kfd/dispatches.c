/* Runs a kernel dispatch packet on the emulator's core. */
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_map.h"

enum {
    MAX_LDS = 65536,
    /* Wave-instructions of one wave after which a launch counts as endless, as in the HIP stand-in.
     */
    ENDLESS = 2000000000,
};

/* hsa_kernel_dispatch_packet_t */
struct packet {
    uint16_t header, setup, block[3], reserved;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t object, kernarg, reserved2, signal;
};

static bool check(const struct packet *p, char *err, size_t size)
{
    for (int i = 0; i < 3; i++)
        if (!p->block[i] || !p->grid[i] || p->grid[i] % p->block[i]) {
            snprintf(err, size, "dimension %d has %u work-items in groups of %u", i, p->grid[i],
                     p->block[i]);
            return false;
        }
    if (p->group_bytes > MAX_LDS) {
        snprintf(err, size, "%u bytes of LDS, a workgroup has %d", p->group_bytes, MAX_LDS);
        return false;
    }
    return true;
}

/* The address that the report names; 0: it is about something else. */
static uint64_t fault_address(const char *text)
{
    const char *at = strstr(text, " at 0x");
    return at ? strtoull(at + 4, NULL, 16) : 0;
}

static void report(struct kfd_ring *r, const char *text)
{
    kfd_say("%s", text);
    r->stuck = true;
    if (strstr(text, " at 0x"))
        kfd_memory_fault(kfd_gpu_id(r->gpu), fault_address(text), false);
    else
        kfd_hardware_fault(kfd_gpu_id(r->gpu));
}

static bool launch(struct kfd_ring *r, const struct packet *p, uint64_t packet_at,
                   struct emu_kernel *k)
{
    const struct kfd_settings *set = kfd_settings();
    struct emu_launch l = {
        .kernel = k,
        .lds_bytes = p->group_bytes,
        .kernarg = p->kernarg,
        .dispatch_packet = packet_at,
        .matrix = set->matrix,
        .seed = set->seed,
        .threads = set->threads,
        .limit = ENDLESS,
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
    bool ok = emu_run(&l);
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
    memcpy(&p, packet, sizeof p);
    if (check(&p, err, sizeof err))
        k = kfd_kernel_at(kfd_gpu(r->gpu), p.object, p.private_bytes, err, sizeof err);
    if (!k) {
        kfd_say("dispatch of the kernel at 0x%llx: %s", (unsigned long long)p.object, err);
        r->stuck = true;
        kfd_hardware_fault(kfd_gpu_id(r->gpu));
        return false;
    }
    kfd_log("dispatch %s: grid %u %u %u, block %u %u %u, LDS %u", k->name, p.grid[0], p.grid[1],
            p.grid[2], p.block[0], p.block[1], p.block[2], p.group_bytes);
    bool ok = launch(r, &p, (uint64_t)(uintptr_t)packet, k);
    kfd_kernel_done(k);
    return ok;
}
