/*
 * The requests that amdkfd answers, as linux/kfd_ioctl.h of Linux 6.1 numbers them and lays out
 * their arguments. That header itself needs headers of libdrm, and what it has depends on its age.
 */
#ifndef EMU_KFD_DRIVER_INTERFACE_H
#define EMU_KFD_DRIVER_INTERFACE_H

#include <stdint.h>

enum { KFD_VERSION_MAJOR = 1, KFD_VERSION_MINOR = 11, KFD_EVENTS = 4096 };

enum kfd_request_number {
    KFD_GET_VERSION = 0x01,
    KFD_CREATE_QUEUE = 0x02,
    KFD_DESTROY_QUEUE = 0x03,
    KFD_SET_MEMORY_POLICY = 0x04,
    KFD_GET_CLOCK_COUNTERS = 0x05,
    KFD_GET_PROCESS_APERTURES = 0x06,
    KFD_UPDATE_QUEUE = 0x07,
    KFD_CREATE_EVENT = 0x08,
    KFD_DESTROY_EVENT = 0x09,
    KFD_SET_EVENT = 0x0a,
    KFD_RESET_EVENT = 0x0b,
    KFD_WAIT_EVENTS = 0x0c,
    KFD_DBG_REGISTER = 0x0d,
    KFD_DBG_WAVE_CONTROL = 0x10,
    KFD_SET_SCRATCH_BACKING_VA = 0x11,
    KFD_GET_TILE_CONFIG = 0x12,
    KFD_SET_TRAP_HANDLER = 0x13,
    KFD_GET_PROCESS_APERTURES_NEW = 0x14,
    KFD_ACQUIRE_VM = 0x15,
    KFD_ALLOC_MEMORY_OF_GPU = 0x16,
    KFD_FREE_MEMORY_OF_GPU = 0x17,
    KFD_MAP_MEMORY_TO_GPU = 0x18,
    KFD_UNMAP_MEMORY_FROM_GPU = 0x19,
    KFD_SET_CU_MASK = 0x1a,
    KFD_SET_XNACK_MODE = 0x21,
    KFD_AVAILABLE_MEMORY = 0x23,
    KFD_LAST_REQUEST = KFD_AVAILABLE_MEMORY,
};

struct kfd_version {
    uint32_t major, minor;
};

enum { KFD_QUEUE_COMPUTE_AQL = 2, KFD_QUEUE_SDMA = 1, KFD_QUEUE_SDMA_XGMI = 3 };
enum { KFD_MOST_PERCENT = 100, KFD_MOST_PRIORITY = 15 };
enum { KFD_NOT_SUPPORTED = 524 }; /* the kernel's ENOTSUPP, which programs have no name for */

struct kfd_create_queue {
    uint64_t ring_base, write_pointer, read_pointer, doorbell_offset;
    uint32_t ring_size, gpu_id, type, percentage, priority, queue_id;
    /* end-of-pipe buffer and context save area follow; nothing is kept there */
};

struct kfd_update_queue {
    uint64_t ring_base;
    uint32_t queue_id, ring_size, percentage, priority;
};

enum { KFD_MOST_UNITS = 1024 };

struct kfd_cu_mask {
    uint32_t queue_id, bits; /* a bit for each compute unit */
    uint64_t mask;
};

enum { KFD_POLICY_COHERENT = 0, KFD_POLICY_NONCOHERENT = 1 };

struct kfd_memory_policy {
    uint64_t aperture, aperture_size;
    uint32_t gpu_id, usual, in_aperture, pad;
};

struct kfd_scratch_address {
    uint64_t address;
    uint32_t gpu_id, pad;
};

struct kfd_trap_handler {
    uint64_t code, data;
    uint32_t gpu_id, pad;
};

struct kfd_acquire_vm {
    uint32_t render_node, gpu_id;
};

struct kfd_clock_counters {
    uint64_t gpu, cpu, system, system_frequency;
    uint32_t gpu_id, pad;
};

struct kfd_apertures {
    uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
    uint32_t gpu_id, pad;
};

struct kfd_process_apertures {
    struct kfd_apertures gpu[7];
    uint32_t count, pad;
};

struct kfd_process_apertures_new {
    uint64_t array;
    uint32_t count, pad; /* in: its length; out: how many were filled */
};

/* Types of events, and what a wait comes to. */
enum { KFD_EVENT_SIGNAL = 0, KFD_EVENT_HW_EXCEPTION = 3, KFD_EVENT_MEMORY = 8 };
enum { KFD_WAIT_COMPLETE, KFD_WAIT_TIMEOUT, KFD_WAIT_FAIL };

struct kfd_create_event {
    uint64_t page_offset;
    uint32_t trigger_data, type, auto_reset, node, event_id, slot;
};

struct kfd_event_data {
    union {
        struct {
            uint32_t not_present, read_only, no_execute, imprecise;
            uint64_t address;
            uint32_t gpu_id, error_type;
        } memory;
        struct {
            uint32_t reset_type, reset_cause, memory_lost, gpu_id;
        } hardware;
    };
    uint64_t extension;
    uint32_t event_id, pad;
};

struct kfd_wait_events {
    uint64_t events;
    uint32_t count, all, timeout, result; /* timeout in milliseconds, UINT32_MAX: for ever */
};

struct kfd_tile_config {
    uint64_t tiles, macro_tiles;
    uint32_t tile_count, macro_tile_count, gpu_id, gb_addr_config, banks, ranks;
};

enum {
    KFD_MEM_VRAM = 1 << 0,
    KFD_MEM_USERPTR = 1 << 2,
    KFD_MEM_DOORBELL = 1 << 3,
};

struct kfd_alloc_memory {
    uint64_t address, size, handle, mmap_offset; /* offset: of the caller's memory its address */
    uint32_t gpu_id, flags;
};

struct kfd_map_memory {
    uint64_t handle, gpu_ids;
    uint32_t count, done;
};

struct kfd_available_memory {
    uint64_t bytes;
    uint32_t gpu_id, pad;
};

#endif
