/* The table of memory instructions that the pre-decoder binds to. */
#include "access_handlers.h"

#define ROW(name, effects, cls)                                                                    \
    {#name, {EMU_DO(name), EMU_DO(name)}, EMU_E_OWN_POISON | (effects), cls},
#define LOAD(name, ...)                                                                            \
    ROW(global_##name, 0, EMU_C_VMEM)                                                              \
    ROW(flat_##name, 0, EMU_C_VMEM)                                                                \
    ROW(scratch_##name, 0, EMU_C_VMEM)                                                             \
    ROW(buffer_##name, 0, EMU_C_VMEM)
#define STORE LOAD
#define DS_LOAD(name, ...) ROW(name, 0, EMU_C_LDS)
#define DS_STORE DS_LOAD
#define ATOMIC32(name, ...)                                                                        \
    ROW(global_atomic_##name, 0, EMU_C_VMEM)                                                       \
    ROW(flat_atomic_##name, 0, EMU_C_VMEM)                                                         \
    ROW(buffer_atomic_##name, 0, EMU_C_VMEM)
#define ATOMIC64 ATOMIC32
#define DS_ATOMIC32(op, type, ...)                                                                 \
    ROW(ds_##op##_##type, 0, EMU_C_LDS) ROW(ds_##op##_rtn_##type, 0, EMU_C_LDS)
#define DS_ATOMIC64 DS_ATOMIC32

const struct emu_sem emu_sem_memory[] = {
#include "sem_memory.def"
    EMU_MEM_SPECIAL(ROW) /* */
    {NULL, {NULL, NULL}, 0, 0},
};
