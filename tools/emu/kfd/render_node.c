/*
 * The few requests of a render node that libdrm makes before it hands out a device, which ROCr asks
 * it for since release 6.0: version, client, and amdgpu's facts. Layouts as in drm.h and
 * amdgpu_drm.h.
 */
#include "kfd.h"

#include <errno.h>
#include <string.h>

enum {
    DRM_VERSION = 0x00,
    DRM_GET_CLIENT = 0x05,
    AMDGPU_INFO = 0x45,
    INFO_ACCEL_WORKING = 0x00,
    INFO_HW_IP_COUNT = 0x03,
    INFO_READ_REGISTERS = 0x15,
    INFO_DEVICE = 0x16,
    IDS_FLAGS_FUSION = 1, /* shares its memory with the processor */
};

struct version {
    int32_t major, minor, patch;
    size_t name_length;
    char *name;
    size_t date_length;
    char *date;
    size_t text_length;
    char *text;
};

struct client {
    int32_t index, authenticated;
    unsigned long process, user, magic, requests;
};

struct info {
    uint64_t result;
    uint32_t size, query, more[4];
};

/* The beginning of struct drm_amdgpu_info_device. */
struct device_info {
    uint32_t device, chip_revision, external_revision, pci_revision, family, engines, arrays;
    uint32_t counter_khz;
    uint64_t clock_khz, memory_khz;
    uint32_t units, always_on, bitmap[16], pipes_mask, pipes, contexts, pad;
    uint64_t flags, address_offset, address_end;
    uint32_t address_alignment, fragment, gart_page;
};

/* libdrm asks for the lengths first, then for the words. */
static void put_word(char *to, size_t *length, const char *word)
{
    size_t n = strlen(word);
    if (to && *length)
        memcpy(to, word, *length < n ? *length : n);
    *length = n;
}

static int get_version(struct version *v)
{
    v->major = 3;
    v->minor = v->patch = 0;
    put_word(v->name, &v->name_length, "amdgpu");
    put_word(v->date, &v->date_length, "0");
    put_word(v->text, &v->text_length, "AMD GPU");
    return 0;
}

static int get_client(struct client *c)
{
    if (c->index != 0)
        return -EINVAL;
    memset(c, 0, sizeof *c);
    c->authenticated = 1;
    return 0;
}

static struct device_info describe(const struct kfd_gpu *g)
{
    return (struct device_info){
        .device = g->device_id,
        .family = g->drm_family,
        .engines = g->arrays / g->arrays_per_engine,
        .arrays = g->arrays_per_engine,
        .counter_khz = 100000,
        .clock_khz = g->emu->model->clock_khz,
        .memory_khz = g->emu->model->memory_khz,
        .units = kfd_gpu_units(g),
        .flags = g->emu->model->integrated ? IDS_FLAGS_FUSION : 0,
        .address_offset = UINT64_C(1) << 21,
        .address_end = UINT64_C(1) << 47,
        .address_alignment = KFD_PAGE,
        .gart_page = KFD_PAGE,
    };
}

static int get_info(const struct kfd_gpu *g, const struct info *i)
{
    void *result = (void *)(uintptr_t)i->result;
    uint32_t working = 1;
    struct device_info d = describe(g);
    memset(result, 0, i->size);
    switch (i->query) {
    case INFO_ACCEL_WORKING:
        memcpy(result, &working, i->size < sizeof working ? i->size : sizeof working);
        return 0;
    case INFO_DEVICE:
        memcpy(result, &d, i->size < sizeof d ? i->size : sizeof d);
        return 0;
    case INFO_HW_IP_COUNT:    /* of the kind in more[0]; ROCr asks for video decoders: none */
    case INFO_READ_REGISTERS: /* tiling, which means nothing here */
        return 0;
    default:
        kfd_say("query 0x%02x of the render node is not known and refused", i->query);
        return -EINVAL;
    }
}

int kfd_render_request(unsigned gpu, unsigned number, void *args)
{
    switch (number) {
    case DRM_VERSION:
        return get_version(args);
    case DRM_GET_CLIENT:
        return get_client(args);
    case AMDGPU_INFO:
        return get_info(kfd_gpu(gpu), args);
    default:
        kfd_say("request 0x%02x of the render node is not known and refused", number);
        return -ENOTTY;
    }
}
