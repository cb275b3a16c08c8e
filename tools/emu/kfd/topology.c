/*
 * The files below /sys/class/kfd/kfd/topology: node 0 is the host, one node for each GPU follows,
 * linked to it. Keys as amdkfd's kfd_topology.c prints them.
 */
#include "kfd.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOPOLOGY "/sys/devices/virtual/kfd/kfd/topology"

enum {
    /* HSA_CAPABILITY: doorbells of 64 bits, type 2 */
    CAP_DOORBELL_64 = 2 << 12,
    LINK_PCI = 2, /* HSA_IOLINKTYPE_PCIEXPRESS */
    HEAP_SYSTEM = 0,
    HEAP_PUBLIC = 1, /* HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC: the host reaches all of it */
    /* ..._PRIVATE: all that the host writes comes in copies, and strict mode sees what was written.
     */
    HEAP_PRIVATE = 2,
    CACHE_DATA_GPU = 1 | 8,
};

struct file {
    char *path, *text;
};

static struct file *files;
static size_t nfiles;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(const char *text, const char *format, ...)
{
    char *path;
    va_list ap;
    va_start(ap, format);
    int n = vasprintf(&path, format, ap);
    va_end(ap);
    struct file *more = realloc(files, (nfiles + 1) * sizeof *files);
    if (n < 0 || !more)
        abort(); /* a few kilobytes, before anything else runs */
    files = more;
    files[nfiles++] = (struct file){path, strdup(text)};
}

/* The host's processor has to be one that /proc/cpuinfo lists. */
static unsigned first_apic(void)
{
    unsigned id = 0;
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "apicid : %u", &id) == 1)
            break;
    if (f)
        fclose(f);
    return id;
}

static void add_bank(unsigned node, unsigned heap, uint64_t bytes, unsigned width, unsigned clock)
{
    char text[256];
    snprintf(text, sizeof text,
             "heap_type %u\nsize_in_bytes %llu\nflags 0\nwidth %u\nmem_clk_max %u\n", heap,
             (unsigned long long)bytes, width, clock);
    add(text, TOPOLOGY "/nodes/%u/mem_banks/0/properties", node);
}

static void add_link(unsigned from, unsigned index, unsigned to)
{
    char text[512];
    snprintf(text, sizeof text,
             "type %d\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\nweight 20\n"
             "min_latency 0\nmax_latency 0\nmin_bandwidth 0\nmax_bandwidth 0\n"
             "recommended_transfer_size 0\nflags 1\n",
             LINK_PCI, from, to);
    add(text, TOPOLOGY "/nodes/%u/io_links/%u/properties", from, index);
}

static void add_host(void)
{
    char text[1024];
    long pages = sysconf(_SC_PHYS_PAGES), cores = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(text, sizeof text,
             "cpu_cores_count %ld\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\n"
             "io_links_count %u\np2p_links_count 0\ncpu_core_id_base %u\nsimd_id_base 0\n"
             "max_waves_per_simd 0\nlds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
             "wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\ncu_per_simd_array 0\n"
             "simd_per_cu 0\nmax_slots_scratch_cu 0\ngfx_target_version 0\nvendor_id 0\n"
             "device_id 0\nlocation_id 0\ndomain 0\ndrm_render_minor 0\nhive_id 0\n"
             "num_sdma_engines 0\nnum_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
             "num_cp_queues 0\nmax_engine_clk_ccompute 0\n",
             cores > 0 ? cores : 1, kfd_gpu_count(), first_apic());
    add("0\n", TOPOLOGY "/nodes/0/gpu_id");
    add("\n", TOPOLOGY "/nodes/0/name");
    add(text, TOPOLOGY "/nodes/0/properties");
    add_bank(0, HEAP_SYSTEM, (uint64_t)pages * KFD_PAGE, 64, 0);
    for (unsigned i = 0; i < kfd_gpu_count(); i++)
        add_link(0, i, i + 1);
}

static void add_cache(unsigned node, unsigned index, unsigned level, unsigned kb, unsigned line)
{
    char text[512];
    snprintf(text, sizeof text,
             "processor_id_low 2147487744\nlevel %u\nsize %u\ncache_line_size %u\n"
             "cache_lines_per_tag 1\nassociation 16\nlatency 0\ntype %d\nsibling_map 1\n",
             level, kb, line, CACHE_DATA_GPU);
    add(text, TOPOLOGY "/nodes/%u/caches/%u/properties", node, index);
}

static void add_gpu(unsigned i)
{
    const struct kfd_gpu *g = kfd_gpu(i);
    const struct emu_model *m = g->emu->model;
    bool wave64 = m->wave == 64;
    char text[2048];
    snprintf(text, sizeof text,
             "cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\ncaches_count 2\n"
             "io_links_count 1\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base 2147487744\n"
             "max_waves_per_simd %u\nlds_size_in_kb %u\ngds_size_in_kb 0\nnum_gws 0\n"
             "wave_front_size %u\narray_count %u\nsimd_arrays_per_engine %u\n"
             "cu_per_simd_array %u\nsimd_per_cu %u\nmax_slots_scratch_cu 32\n"
             "gfx_target_version %u\nvendor_id 4098\ndevice_id %u\nlocation_id %u\ndomain 0\n"
             "drm_render_minor %u\nhive_id 0\nnum_sdma_engines %u\nnum_sdma_xgmi_engines %u\n"
             "num_sdma_queues_per_engine 8\nnum_cp_queues 24\nmax_engine_clk_fcompute %u\n"
             "local_mem_size 0\nfw_version 0\ncapability %u\nsdma_fw_version 0\n"
             "unique_id %u\nnum_xcc 1\nmax_engine_clk_ccompute 0\n",
             kfd_gpu_units(g) * (wave64 ? 4 : 2), wave64 ? 8 : 16, emu_lds_most(m->family) / 1024,
             m->wave, g->arrays, g->arrays_per_engine, g->units_per_array, wave64 ? 4 : 2,
             kfd_gpu_target(g), g->device_id, (i + 1) << 8, KFD_RENDER_MINOR + i, g->sdma_engines,
             g->sdma_xgmi_engines, m->clock_khz / 1000, CAP_DOORBELL_64 | g->capability, i + 1);
    add(text, TOPOLOGY "/nodes/%u/properties", i + 1);
    snprintf(text, sizeof text, "%u\n", kfd_gpu_id(i));
    add(text, TOPOLOGY "/nodes/%u/gpu_id", i + 1);
    snprintf(text, sizeof text, "%s\n", g->processor);
    add(text, TOPOLOGY "/nodes/%u/name", i + 1);
    add_bank(i + 1, emu_settings()->strict ? HEAP_PRIVATE : HEAP_PUBLIC, kfd_memory_total(),
             m->bus_bits, m->memory_khz / 1000);
    add_cache(i + 1, 0, 1, 16, 64);
    add_cache(i + 1, 1, 2, m->l2_kb, 128);
    add_link(i + 1, 0, 0);
}

static void build(void)
{
    add("1\n", TOPOLOGY "/generation_id");
    add("platform_oem 0\nplatform_id 0\nplatform_rev 0\n", TOPOLOGY "/system_properties");
    /* rocminfo asks lsmod, which reads this, for the driver's module. */
    add("amdgpu 0 0 - Live 0x0000000000000000\n", "/proc/modules");
    add("live\n", "/sys/module/amdgpu/initstate");
    add_host();
    for (unsigned i = 0; i < kfd_gpu_count(); i++)
        add_gpu(i);
}

/* The same files have two names. */
static const char *canonical(const char *path, char *buf, size_t size)
{
    static const char alias[] = "/sys/class/kfd/kfd/topology";
    pthread_once(&once, build);
    if (strncmp(path, alias, sizeof alias - 1) != 0)
        return path;
    snprintf(buf, size, "%s%s", TOPOLOGY, path + sizeof alias - 1);
    return buf;
}

/* Cheap for the many paths that are none of ours. */
static bool ours(const char *path)
{
    return strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/proc/modules", 13) == 0;
}

const char *kfd_file_text(const char *path)
{
    char buf[512];
    if (!ours(path))
        return NULL;
    path = canonical(path, buf, sizeof buf);
    for (size_t i = 0; i < nfiles; i++)
        if (strcmp(files[i].path, path) == 0)
            return files[i].text;
    return NULL;
}

/* What follows `path`/ in a file's path, or NULL. */
static const char *below(const char *file, const char *path)
{
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    return strncmp(file, path, n) == 0 && file[n] == '/' ? file + n + 1 : NULL;
}

bool kfd_folder(const char *path)
{
    char name[256];
    return strstr(path, "/kfd") && kfd_folder_entry(path, 0, name, sizeof name);
}

bool kfd_folder_entry(const char *path, unsigned i, char *name, size_t size)
{
    char buf[512], last[256] = "";
    unsigned found = 0;
    if (!ours(path))
        return false;
    path = canonical(path, buf, sizeof buf);
    for (size_t f = 0; f < nfiles; f++) {
        const char *rest = below(files[f].path, path);
        char here[256];
        if (!rest)
            continue;
        snprintf(here, sizeof here, "%.*s", (int)strcspn(rest, "/"), rest);
        /* Files of one folder follow each other, as they are added. */
        if (strcmp(here, last) == 0)
            continue;
        memcpy(last, here, sizeof last);
        if (found++ == i) {
            snprintf(name, size, "%s", here);
            return true;
        }
    }
    return false;
}
