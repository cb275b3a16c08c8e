/*
 * What a GPU of each processor is. Figures of a common product of that processor; the registers are
 * those of LLVM's tables (Feature1_5xVGPRs: 1536, else 1024).
 */
#include "gpu_models.h"

#include <stddef.h>
#include <string.h>

static const struct emu_model models[] = {
    {"gfx90a", ":sramecc+:xnack-", "AMD Instinct MI250X", EMU_GFX90A, 64, 110, 512, 1700000,
     1600000, 4096, 8192, false},
    {"gfx942", ":sramecc+:xnack-", "AMD Instinct MI300X", EMU_GFX942, 64, 304, 512, 2100000,
     1300000, 8192, 4096, false},
    {"gfx950", ":sramecc+:xnack-", "AMD Instinct MI355X", EMU_GFX950, 64, 256, 512, 2400000,
     2000000, 8192, 4096, false},
    {"gfx1100", "", "AMD Radeon RX 7900 XTX", EMU_GFX11, 32, 48, 1536, 2498000, 1249000, 384, 6144,
     false},
    {"gfx1101", "", "AMD Radeon RX 7800 XT", EMU_GFX11, 32, 30, 1536, 2430000, 1219000, 256, 4096,
     false},
    {"gfx1102", "", "AMD Radeon RX 7600", EMU_GFX11, 32, 16, 1024, 2655000, 1124000, 128, 2048,
     false},
    {"gfx1103", "", "AMD Radeon 780M", EMU_GFX11, 32, 6, 1024, 2700000, 2800000, 128, 2048, true},
    {"gfx1150", "", "AMD Radeon 890M", EMU_GFX11_5, 32, 8, 1024, 2900000, 3750000, 128, 2048, true},
    {"gfx1151", "", "AMD Radeon 8060S", EMU_GFX11_5, 32, 20, 1536, 2900000, 4000000, 256, 2048,
     true},
    {"gfx1152", "", "AMD Radeon 860M", EMU_GFX11_5, 32, 4, 1024, 2800000, 3750000, 128, 1024, true},
    {"gfx1153", "", "AMD Radeon 840M", EMU_GFX11_5, 32, 2, 1024, 2800000, 3750000, 128, 1024, true},
    {"gfx1200", "", "AMD Radeon RX 9060 XT", EMU_GFX12, 32, 16, 1536, 3130000, 1250000, 128, 4096,
     false},
    {"gfx1201", "", "AMD Radeon RX 9070 XT", EMU_GFX12, 32, 32, 1536, 2970000, 1250000, 256, 8192,
     false},
};

const struct emu_model *emu_model_at(unsigned i)
{
    return i < sizeof models / sizeof *models ? &models[i] : NULL;
}

const struct emu_model *emu_model_find(const char *processor)
{
    for (unsigned i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].processor, processor) == 0)
            return &models[i];
    return NULL;
}
