/* What the environment asks of the emulator: AOTHIP_EMU_GPU and its like, read once. */
#ifndef EMU_SETTINGS_H
#define EMU_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "code_object.h"
#include "device_block.h"
#include "gpu_models.h"

/* Functions that programs may find by name, beyond those of HIP. */
#define EMU_EXPORT __attribute__((visibility("default")))

/* One of the GPUs that a process has. */
struct emu_gpu {
    int index;
    const struct emu_model *model;
    struct emu_target target;
    char arch[64]; /* its full target ID */
};

/* The GPU of programs that find the emulator in the HIP runtime's place. */
#define EMU_HIP_USUAL_GPU "gfx942"

enum emu_time_wish { EMU_TIME_OFF, EMU_TIME_BY_RUNNING, EMU_TIME_BY_SAMPLES, EMU_TIME_OF_ALL };

struct emu_settings {
    bool strict, warn_waits;
    enum emu_matrix_mode matrix;
    uint64_t seed;
    uint64_t limit; /* wave-instructions of one wave after which a launch counts as endless */
    unsigned threads;
    const char *counters; /* file name, or NULL */
    unsigned time;        /* enum emu_time_wish */
    unsigned gpus;
    struct emu_gpu gpu[EMU_MAX_DEVICES];
};

/*
 * Reads the environment when it is called first; usual_gpu: the GPU if AOTHIP_EMU_GPU is not set.
 * False, and no GPU, when something in it is wrong, which is then said on stderr.
 */
bool emu_settings_read(const char *usual_gpu);
const struct emu_settings *emu_settings(void);

/*
 * Whether the launches from now on run in strict mode, in a process that began in XX
 */
EMU_EXPORT void emu_set_strict(bool on);

#endif
