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

#include "wave.h"

enum { KFD_MAX_GPUS = 7, KFD_PAGE = 4096, KFD_DOORBELLS = 8192, KFD_RENDER_MINOR = 128 };

/* A GPU as topology and driver describe it. */
struct kfd_gpu {
    const char *processor;
    enum emu_family family;
    unsigned wave;
    unsigned target;    /* gfx_target_version: major * 10000 + minor * 100 + stepping */
    unsigned device_id; /* PCI */
    unsigned units;     /* compute units */
    unsigned arrays, arrays_per_engine, units_per_array; /* shader arrays */
    unsigned clock_mhz, memory_mhz, bus_bits, l2_kb;
    unsigned sdma_engines, sdma_xgmi_engines;
    unsigned drm_family; /* AMDGPU_FAMILY_* of amdgpu_drm.h */
    uint32_t capability; /* beyond what all have */
};

/* gpus.c: which GPUs AOTHIP_EMU_GPU names. NULL past the end. */
unsigned kfd_gpu_count(void);
const struct kfd_gpu *kfd_gpu(unsigned index);
uint32_t kfd_gpu_id(unsigned index);
int kfd_gpu_index(uint32_t gpu_id); /* -1: none has this id */

/* run_settings.c: AOTHIP_EMU_MODE and its like, read once. */
struct kfd_settings {
    bool strict, log;
    enum emu_matrix_mode matrix;
    uint64_t seed;
    unsigned threads;
};
const struct kfd_settings *kfd_settings(void);

/* One line on stderr, always; and one with AOTHIP_KFD_LOG=1 only. */
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

/* requests.c: an ioctl on one of our files. */
int kfd_request(unsigned long request, void *args);

/* render_node.c: an ioctl of libdrm, by its number. */
int kfd_render_request(unsigned number, void *args);

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

/* rings.c */
struct kfd_create_queue;
struct kfd_update_queue;
int kfd_queue_create(struct kfd_create_queue *a);
int kfd_queue_destroy(uint32_t id);
int kfd_queue_update(const struct kfd_update_queue *a);

struct kfd_ring {
    unsigned gpu, slot, type;
    uint8_t *base;
    uint64_t size; /* bytes */
    volatile uint64_t *write, *read;
    volatile uint64_t *doorbell;
    _Atomic(bool) stuck; /* what its last packet did stops a queue for good */
    _Atomic(bool) stop;
};

/* aql_packets.c, sdma_packets.c: takes what the ring holds; true when there was something. */
bool kfd_aql_step(struct kfd_ring *r);
bool kfd_sdma_step(struct kfd_ring *r);

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
