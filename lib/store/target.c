/* Parses and compares GPU target IDs. Pure. */
#include "target.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *gpu;
    uint32_t mach;
    enum target_fp8 fp8;
    enum target_deal deal;
} machs[] = {
#define TARGET(name, mach, fp8, deal) {name, mach, TARGET_FP8_##fp8, TARGET_DEAL_##deal},
#include "target.def"
#undef TARGET
};

enum {
    MACHS = sizeof(machs) / sizeof(machs[0]),
    FLAG_XNACK = 0x300, /* EF_AMDGPU_FEATURE_XNACK_V4: 0 none, 1 any, 2 off, 3 on */
    FLAG_XNACK_SHIFT = 8,
    FLAG_SRAMECC = 0xc00, /* EF_AMDGPU_FEATURE_SRAMECC_V4: the same values */
    FLAG_SRAMECC_SHIFT = 10
};

static int is_gpu_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
}

/* "sramecc+" and its like, once each. */
static int parse_feature(const char *text, size_t length, struct target *target)
{
    enum target_setting *setting, value;
    if (length < 2)
        return -1;
    if (text[length - 1] == '+')
        value = TARGET_ON;
    else if (text[length - 1] == '-')
        value = TARGET_OFF;
    else
        return -1;
    if (length == 8 && memcmp(text, "sramecc", 7) == 0)
        setting = &target->sramecc;
    else if (length == 6 && memcmp(text, "xnack", 5) == 0)
        setting = &target->xnack;
    else
        return -1;
    if (*setting != TARGET_ANY)
        return -1;
    *setting = value;
    return 0;
}

int target_parse(const char *text, size_t length, struct target *target)
{
    const char *end = text + length, *colon = memchr(text, ':', length);
    size_t gpu = colon ? (size_t)(colon - text) : length;
    memset(target, 0, sizeof(*target));
    if (gpu < 4 || gpu >= sizeof(target->gpu) || memcmp(text, "gfx", 3) != 0)
        return -1;
    for (size_t i = 0; i < gpu; i++)
        if (!is_gpu_char(text[i]))
            return -1;
    memcpy(target->gpu, text, gpu);
    while (colon) {
        const char *start = colon + 1;
        colon = memchr(start, ':', (size_t)(end - start));
        if (parse_feature(start, (size_t)((colon ? colon : end) - start), target))
            return -1;
    }
    return 0;
}

static int setting_fits(enum target_setting code, enum target_setting device)
{
    return code == TARGET_ANY || code == device;
}

int target_fits(const struct target *code, const struct target *device)
{
    return strcmp(code->gpu, device->gpu) == 0 && setting_fits(code->sramecc, device->sramecc) &&
           setting_fits(code->xnack, device->xnack);
}

static const char *setting_sign(enum target_setting setting)
{
    return setting == TARGET_ON ? "+" : "-";
}

const char *target_print(const struct target *target, char text[TARGET_TEXT_MAX])
{
    int at = snprintf(text, TARGET_TEXT_MAX, "%s", target->gpu);
    if (target->sramecc != TARGET_ANY)
        at += snprintf(text + at, (size_t)(TARGET_TEXT_MAX - at), ":sramecc%s",
                       setting_sign(target->sramecc));
    if (target->xnack != TARGET_ANY)
        snprintf(text + at, (size_t)(TARGET_TEXT_MAX - at), ":xnack%s",
                 setting_sign(target->xnack));
    return text;
}

int target_features(const struct target *target)
{
    return (target->sramecc != TARGET_ANY) + (target->xnack != TARGET_ANY);
}

/* 0 (the GPU has no such feature) and 1 (any) both leave it open. */
static enum target_setting flag_setting(uint32_t value)
{
    return value == 3 ? TARGET_ON : value == 2 ? TARGET_OFF : TARGET_ANY;
}

uint32_t target_mach(const char *gpu)
{
    for (int i = 0; i < MACHS; i++)
        if (strcmp(machs[i].gpu, gpu) == 0)
            return machs[i].mach;
    return 0;
}

enum target_fp8 target_fp8(const char *gpu)
{
    for (int i = 0; i < MACHS; i++)
        if (strcmp(machs[i].gpu, gpu) == 0)
            return machs[i].fp8;
    return TARGET_FP8_UNKNOWN;
}

enum target_deal target_deal(const char *gpu)
{
    for (int i = 0; i < MACHS; i++)
        if (strcmp(machs[i].gpu, gpu) == 0)
            return machs[i].deal;
    return TARGET_DEAL_WHOLE;
}

int target_matches_elf_flags(const struct target *code, uint32_t e_flags)
{
    const uint32_t mach = target_mach(code->gpu);
    if (mach && mach != (e_flags & TARGET_MACH_MASK))
        return 0;
    return flag_setting((e_flags & FLAG_XNACK) >> FLAG_XNACK_SHIFT) == code->xnack &&
           flag_setting((e_flags & FLAG_SRAMECC) >> FLAG_SRAMECC_SHIFT) == code->sramecc;
}
