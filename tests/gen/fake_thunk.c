/*
 * As much of libhsakmt, ROCr's way to the kernel driver, as makes hsa_init() succeed where there is
 * neither driver nor GPU: a machine of one CPU with some memory. Linked into a program that exports
 * its symbols, these functions come before the library's own. Their types are those of ROCm 5's
 * hsakmt.h and hsakmttypes.h, whose structs are packed to four bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, FAILURE = 1, PAGE = 4096 };

struct version {
    uint32_t major, minor;
};

struct system_properties {
    uint32_t nodes, rest[3];
};

/* The first members of several hundred bytes that the caller has zeroed. */
struct node_properties {
    uint32_t cpu_cores, gpu_cores, memory_banks, caches;
};

struct memory_properties {
    uint32_t heap, size[2], flags, width, clock, base[2];
};

#pragma GCC visibility push(default)
int hsaKmtOpenKFD(void);
int hsaKmtCloseKFD(void);
int hsaKmtGetVersion(struct version *version);
int hsaKmtAcquireSystemProperties(struct system_properties *properties);
int hsaKmtReleaseSystemProperties(void);
int hsaKmtGetNodeProperties(uint32_t node, struct node_properties *properties);
int hsaKmtGetNodeMemoryProperties(uint32_t node, uint32_t banks,
                                  struct memory_properties *properties);
int hsaKmtGetNodeCacheProperties(uint32_t node, uint32_t processor, uint32_t caches, void *out);
int hsaKmtGetNodeIoLinkProperties(uint32_t node, uint32_t links, void *out);
int hsaKmtGetXNACKMode(int32_t *enable);
int hsaKmtRuntimeEnable(void *debug, int setup);
int hsaKmtRuntimeDisable(void);
int hsaKmtAllocMemory(uint32_t node, uint64_t size, uint32_t flags, void **memory);
int hsaKmtFreeMemory(void *memory, uint64_t size);
int hsaKmtMapMemoryToGPU(void *memory, uint64_t size, uint64_t *alternate);
int hsaKmtUnmapMemoryToGPU(void *memory);
#pragma GCC visibility pop

int hsaKmtOpenKFD(void)
{
    return SUCCESS;
}

int hsaKmtCloseKFD(void)
{
    return SUCCESS;
}

int hsaKmtGetVersion(struct version *version)
{
    *version = (struct version){1, 11};
    return SUCCESS;
}

int hsaKmtAcquireSystemProperties(struct system_properties *properties)
{
    memset(properties, 0, sizeof(*properties));
    properties->nodes = 1;
    return SUCCESS;
}

int hsaKmtReleaseSystemProperties(void)
{
    return SUCCESS;
}

int hsaKmtGetNodeProperties(uint32_t node, struct node_properties *properties)
{
    (void)node;
    *properties = (struct node_properties){.cpu_cores = 1, .memory_banks = 1};
    return SUCCESS;
}

int hsaKmtGetNodeMemoryProperties(uint32_t node, uint32_t banks,
                                  struct memory_properties *properties)
{
    (void)node, (void)banks;
    *properties = (struct memory_properties){.size = {1u << 30}}; /* heap 0: of the system */
    return SUCCESS;
}

int hsaKmtGetNodeCacheProperties(uint32_t node, uint32_t processor, uint32_t caches, void *out)
{
    (void)node, (void)processor, (void)caches, (void)out;
    return FAILURE;
}

int hsaKmtGetNodeIoLinkProperties(uint32_t node, uint32_t links, void *out)
{
    (void)node, (void)links, (void)out;
    return FAILURE;
}

int hsaKmtGetXNACKMode(int32_t *enable)
{
    *enable = 0;
    return SUCCESS;
}

int hsaKmtRuntimeEnable(void *debug, int setup)
{
    (void)debug, (void)setup;
    return SUCCESS;
}

int hsaKmtRuntimeDisable(void)
{
    return SUCCESS;
}

int hsaKmtAllocMemory(uint32_t node, uint64_t size, uint32_t flags, void **memory)
{
    (void)node, (void)flags;
    *memory = aligned_alloc(PAGE, (size_t)(size + PAGE - 1) / PAGE * PAGE);
    return *memory ? SUCCESS : FAILURE;
}

int hsaKmtFreeMemory(void *memory, uint64_t size)
{
    (void)size;
    free(memory);
    return SUCCESS;
}

int hsaKmtMapMemoryToGPU(void *memory, uint64_t size, uint64_t *alternate)
{
    (void)memory, (void)size;
    if (alternate)
        *alternate = 0;
    return SUCCESS;
}

int hsaKmtUnmapMemoryToGPU(void *memory)
{
    (void)memory;
    return SUCCESS;
}
