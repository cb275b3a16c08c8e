/* The GPUs that the topology lists: those of AOTHIP_EMU_GPU, with what amdgpu says of each. */
#include "kfd.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* amdgpu_drm.h: AMDGPU_FAMILY_* */
    FAMILY_AI = 141, /* Vega and its successors of the CDNA line */
    FAMILY_GC_11_0_0 = 145,
    FAMILY_GC_11_0_1 = 148,
    FAMILY_GC_11_5_0 = 150,
    CAP_SRAM_ECC = 1 << 26, /* HSA_CAPABILITY of hsakmttypes.h: SRAM_EDCSupport */
};

/*
 * Of the products in the emulator's list: PCI number, shader arrays, copy engines. A die of an
 * Instinct MI250X, MI300X and MI355X in one partition, Radeon cards, the GPUs of Ryzen processors.
 * The smallest of these are listed as one array, which nothing depends on here.
 */
static const struct kfd_gpu known[] = {
    {"gfx90a", 0x7408, 8, 1, 14, 2, 3, FAMILY_AI, CAP_SRAM_ECC, NULL},
    {"gfx942", 0x74a1, 32, 1, 10, 2, 14, FAMILY_AI, CAP_SRAM_ECC, NULL},
    {"gfx950", 0x75a3, 32, 1, 9, 2, 14, FAMILY_AI, CAP_SRAM_ECC, NULL},
    {"gfx1100", 0x744c, 12, 2, 8, 2, 0, FAMILY_GC_11_0_0, 0, NULL},
    {"gfx1101", 0x747e, 6, 2, 10, 2, 0, FAMILY_GC_11_0_0, 0, NULL},
    {"gfx1102", 0x7480, 4, 2, 8, 2, 0, FAMILY_GC_11_0_0, 0, NULL},
    {"gfx1103", 0x15bf, 2, 2, 6, 1, 0, FAMILY_GC_11_0_1, 0, NULL},
    {"gfx1150", 0x150e, 2, 2, 8, 1, 0, FAMILY_GC_11_5_0, 0, NULL},
    {"gfx1151", 0x1586, 4, 2, 10, 1, 0, FAMILY_GC_11_5_0, 0, NULL},
    {"gfx1152", 0x1114, 1, 1, 8, 1, 0, FAMILY_GC_11_5_0, 0, NULL},
    {"gfx1153", 0x1902, 1, 1, 4, 1, 0, FAMILY_GC_11_5_0, 0, NULL},
};

static struct kfd_gpu gpus[KFD_MAX_GPUS];
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add(const struct emu_gpu *g)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].processor, g->model->processor) == 0) {
            gpus[count] = known[i];
            gpus[count++].emu = g;
            return;
        }
    kfd_say("AOTHIP_EMU_GPU: the driver's stand-in does not know %s", g->model->processor);
}

static void read_list(void)
{
    emu_settings_read("gfx90a"); /* which every release knows */
    for (unsigned i = 0; i < emu_settings()->gpus; i++)
        if (count == KFD_MAX_GPUS)
            kfd_say("AOTHIP_EMU_GPU names more than %d GPUs", KFD_MAX_GPUS);
        else
            add(&emu_settings()->gpu[i]);
}

unsigned kfd_gpu_count(void)
{
    pthread_once(&once, read_list);
    return count;
}

const struct kfd_gpu *kfd_gpu(unsigned index)
{
    return index < kfd_gpu_count() ? &gpus[index] : NULL;
}

/* gfxNMS: the last two digits are hexadecimal. */
unsigned kfd_gpu_target(const struct kfd_gpu *g)
{
    unsigned long n = strtoul(g->processor + 3, NULL, 16);
    char major[8] = "";
    strncat(major, g->processor + 3, strlen(g->processor) - 5);
    return (unsigned)(strtoul(major, NULL, 10) * 10000 + (n >> 4 & 15) * 100 + (n & 15));
}

unsigned kfd_gpu_units(const struct kfd_gpu *g)
{
    return g->emu->model->units * (g->emu->model->family >= EMU_GFX11 ? 2 : 1);
}

/* amdkfd makes it of the bus address; any number does that is not 0 and differs. */
uint32_t kfd_gpu_id(unsigned index)
{
    return 0x1001 + index;
}

int kfd_gpu_index(uint32_t gpu_id)
{
    return gpu_id >= 0x1001 && gpu_id - 0x1001 < kfd_gpu_count() ? (int)(gpu_id - 0x1001) : -1;
}
