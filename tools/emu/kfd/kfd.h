/*
 * Inside of the driver's stand-in: what its files share. AMD's thunk library opens /dev/kfd, maps
 * memory, makes queues; each request ends in one of the functions here, as amdkfd defines them in
 * linux/kfd_ioctl.h. Functions that answer a request return 0 or a negative errno.
 */
#ifndef EMU_KFD_H
#define EMU_KFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "settings.h"
#include "wave.h"

enum { KFD_MAX_GPUS = 7, KFD_PAGE = 4096, KFD_DOORBELLS = 8192, KFD_RENDER_MINOR = 128 };

/* A GPU as topology and driver describe it. */
struct kfd_gpu {
    const char *processor;
    unsigned device_id;                                  /* PCI */
    unsigned arrays, arrays_per_engine, units_per_array; /* shader arrays */
    unsigned sdma_engines, sdma_xgmi_engines;
    unsigned drm_family; /* AMDGPU_FAMILY_* of amdgpu_drm.h */
    uint32_t capability; /* beyond what all have */
    const struct emu_gpu *emu;
};

/* gpus.c: which GPUs AOTHIP_EMU_GPU names. NULL past the end. */
unsigned kfd_gpu_count(void);
const struct kfd_gpu *kfd_gpu(unsigned index);
unsigned kfd_gpu_target(const struct kfd_gpu *g); /* major * 10000 + minor * 100 + stepping */
unsigned kfd_gpu_units(const struct kfd_gpu *g);  /* compute units */
uint32_t kfd_gpu_id(unsigned index);
int kfd_gpu_index(uint32_t gpu_id); /* -1: none has this id */

/* driver_log.c: one line on stderr, always; and one with AOTHIP_KFD_LOG=1 only. */
void kfd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kfd_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* gpu_clock.c: nanoseconds, the GPU's clock too; and a wait for a moment, which is longer the more
 * `idle` turns there were. */
uint64_t kfd_clock(void);
void kfd_nap(unsigned idle);

/* topology.c: the text of a file below /sys or /proc; NULL: not one of ours. */
const char *kfd_file_text(const char *path);
/* The i-th name in one of our folders; false past the end. */
bool kfd_folder(const char *path);
bool kfd_folder_entry(const char *path, unsigned i, char *name, size_t size);

/* opened_files.c: a new descriptor for /dev/kfd (gpu -1) or a render node; and whose one is: -1 for
 * /dev/kfd, -2 for a file that is not ours. */
int kfd_open(int gpu, int flags);
int kfd_opened_gpu(int fd);

/* requests.c: an ioctl on one of our files. */
int kfd_request(int fd, unsigned long request, void *args);

/* render_node.c: an ioctl of libdrm, by its number. */
int kfd_render_request(unsigned gpu, unsigned number, void *args);

/* gpu_memory.c. One file holds all memory that the driver gives out: /dev/kfd and the render nodes
 * are this file, so that mapping them maps it. */
int kfd_memory_file(void);
struct kfd_alloc_memory;
struct kfd_map_memory;
int kfd_memory_alloc(struct kfd_alloc_memory *a);
int kfd_memory_free(uint64_t handle);
int kfd_memory_map(struct kfd_map_memory *a, bool map);
uint64_t kfd_memory_available(unsigned gpu);
uint64_t kfd_memory_total(void);
/* Where queue `slot` of a GPU has its doorbell: offset in the file, and the bytes. */
uint64_t kfd_doorbell_offset(unsigned gpu, unsigned slot);
volatile uint64_t *kfd_doorbell(unsigned gpu, unsigned slot);

/* host_writes.c: maps a part of the file, read-only until the host writes there. */
bool kfd_show_host(uint64_t address, uint64_t size, int file, uint64_t offset);

/* interrupts.c */
struct kfd_create_event;
struct kfd_wait_events;
int kfd_event_create(struct kfd_create_event *a);
int kfd_event_destroy(uint32_t id);
int kfd_event_set(uint32_t id, bool signaled);
int kfd_event_wait(struct kfd_wait_events *a);
/* A GPU touched an address that it must not, or did worse: wakes who waits for such events. */
void kfd_memory_fault(uint32_t gpu_id, uint64_t address, bool present);
void kfd_hardware_fault(uint32_t gpu_id);

/* gpu_settings.c: what the process sets for one of its GPUs. */
struct kfd_memory_policy;
struct kfd_scratch_address;
struct kfd_trap_handler;
struct kfd_acquire_vm;
int kfd_set_memory_policy(const struct kfd_memory_policy *a);
int kfd_set_scratch_address(const struct kfd_scratch_address *a);
int kfd_set_trap_handler(const struct kfd_trap_handler *a);
int kfd_acquire_vm(const struct kfd_acquire_vm *a);
/* Is there code that waves go to when they trap? */
bool kfd_has_trap_handler(unsigned gpu);

/* rings.c */
struct kfd_create_queue;
struct kfd_update_queue;
struct kfd_cu_mask;
int kfd_queue_create(struct kfd_create_queue *a);
int kfd_queue_destroy(uint32_t id);
int kfd_queue_update(const struct kfd_update_queue *a);
int kfd_queue_mask(const struct kfd_cu_mask *a);

struct kfd_ring {
    unsigned gpu, slot, type;
    uint8_t *base;
    uint64_t size; /* bytes */
    volatile uint64_t *write, *read;
    volatile uint64_t *doorbell;
    _Atomic(bool) stuck; /* what its last packet did stops a queue for good */
    _Atomic(bool) stop;
    _Atomic(unsigned) units; /* that its waves may use; as the model's: on gfx11 in pairs */
};

/* aql_packets.c, sdma_packets.c: takes what the ring holds; true when there was something. */
bool kfd_aql_step(struct kfd_ring *r);
bool kfd_sdma_step(struct kfd_ring *r);

/*
 * queue_errors.c: how a queue tells ROCr that it stopped, and why: the codes that
 * AqlQueue::DynamicScratchHandler() of ROCr's amd_aql_queue.cpp reads.
 */
enum kfd_queue_error {
    KFD_BAD_GRID = 2,
    KFD_BAD_LDS = 4,
    KFD_BAD_CODE = 8,
    KFD_BAD_PACKET = 32,
    KFD_BAD_VENDOR_PACKET = 256,
    KFD_BAD_INSTRUCTION = 0x40000000,
    KFD_EXCEPTION = -0x7fffffff - 1, /* 0x80000000 */
};
void kfd_queue_stop(struct kfd_ring *r, enum kfd_queue_error error);

/* dispatches.c: runs one kernel dispatch packet. False: it faulted, and the queue is stuck. */
bool kfd_dispatch(struct kfd_ring *r, const uint8_t *packet);

/*
 * loaded_kernels.c: the prepared kernel whose descriptor lies at a device address, with so many
 * bytes of scratch a lane. It stays until kfd_kernel_done.
 */
struct emu_kernel *kfd_kernel_at(const struct kfd_gpu *gpu, uint64_t object, uint32_t scratch,
                                 char *err, size_t errlen);
void kfd_kernel_done(struct emu_kernel *k);

#endif
