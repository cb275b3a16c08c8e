/* The GPUs that the topology lists, as AOTHIP_EMU_GPU names them, and what is known of each. */
#include "kfd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAMILY_AI = 141, /* Vega and its successors of the CDNA line */
    FAMILY_GFX11 = 145,
    CAP_SRAM_ECC = 1 << 26, /* HSA_CAPABILITY of hsakmttypes.h: SRAM_EDCSupport */
};

/*
 * Figures of a common product, as in the HIP stand-in's list; arrays, SDMA and PCI numbers as
 * amdgpu lists them for it: a die of an Instinct MI250X, an MI300X in one partition, a Radeon RX
 * 7900 XTX.
 */
static const struct kfd_gpu known[] = {
    {"gfx90a", EMU_GFX90A, 64, 90010, 0x7408, 110, 8, 1, 14, 1700, 1600, 4096, 8192, 2, 3,
     FAMILY_AI, CAP_SRAM_ECC},
    {"gfx942", EMU_GFX942, 64, 90402, 0x74a1, 304, 32, 1, 10, 2100, 1300, 8192, 4096, 2, 14,
     FAMILY_AI, CAP_SRAM_ECC},
    {"gfx1100", EMU_GFX11, 32, 110000, 0x744c, 96, 12, 2, 8, 2498, 1249, 384, 6144, 2, 0,
     FAMILY_GFX11, 0},
};

static const struct kfd_gpu *gpus[KFD_MAX_GPUS];
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct kfd_gpu *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].processor) == n && memcmp(known[i].processor, name, n) == 0)
            return &known[i];
    return NULL;
}

/* What is not known is left out, with a line that says so: then the system has fewer GPUs. */
static void read_list(void)
{
    const char *text = getenv("AOTHIP_EMU_GPU");
    if (!text || !*text)
        text = known[0].processor;
    while (*text) {
        size_t n = strcspn(text, ",;");
        const struct kfd_gpu *g = find(text, strcspn(text, ":,;"));
        if (!g)
            kfd_say("AOTHIP_EMU_GPU: the driver's stand-in does not know '%.*s', only gfx90a, "
                    "gfx942 and gfx1100",
                    (int)n, text);
        else if (count == KFD_MAX_GPUS)
            kfd_say("AOTHIP_EMU_GPU names more than %d GPUs", KFD_MAX_GPUS);
        else
            gpus[count++] = g;
        text += n + (text[n] != 0);
    }
}

unsigned kfd_gpu_count(void)
{
    pthread_once(&once, read_list);
    return count;
}

const struct kfd_gpu *kfd_gpu(unsigned index)
{
    return index < kfd_gpu_count() ? gpus[index] : NULL;
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
