/* Every memory instruction handler, declared from the one list that also makes the table. */
#ifndef EMU_MEM_HANDLERS_H
#define EMU_MEM_HANDLERS_H

#include "access.h"

#define EMU_DO(name) emu_do_##name

/* Handlers without a row in sem_memory.def: X(name, extra effects, class). */
#define EMU_MEM_SPECIAL(X)                                                                         \
    X(ds_read2_b32, 0, EMU_C_LDS)                                                                  \
    X(ds_read2_b64, 0, EMU_C_LDS)                                                                  \
    X(ds_read2st64_b32, 0, EMU_C_LDS)                                                              \
    X(ds_read2st64_b64, 0, EMU_C_LDS)                                                              \
    X(ds_write2_b32, 0, EMU_C_LDS)                                                                 \
    X(ds_write2_b64, 0, EMU_C_LDS)                                                                 \
    X(ds_write2st64_b32, 0, EMU_C_LDS)                                                             \
    X(ds_write2st64_b64, 0, EMU_C_LDS)                                                             \
    X(ds_read_addtid_b32, EMU_E_READ_M0, EMU_C_LDS)                                                \
    X(ds_write_addtid_b32, EMU_E_READ_M0, EMU_C_LDS)                                               \
    X(ds_wrxchg2_rtn_b32, 0, EMU_C_LDS)                                                            \
    X(ds_wrxchg2_rtn_b64, 0, EMU_C_LDS)                                                            \
    X(ds_wrxchg2st64_rtn_b32, 0, EMU_C_LDS)                                                        \
    X(ds_wrxchg2st64_rtn_b64, 0, EMU_C_LDS)                                                        \
    X(ds_append, EMU_E_READ_M0, EMU_C_LDS)                                                         \
    X(ds_consume, EMU_E_READ_M0, EMU_C_LDS)                                                        \
    X(ds_permute_b32, EMU_E_CROSS_LANE, EMU_C_LDS)                                                 \
    X(ds_bpermute_b32, EMU_E_CROSS_LANE, EMU_C_LDS)                                                \
    X(ds_bpermute_fi_b32, EMU_E_CROSS_LANE, EMU_C_LDS)                                             \
    X(global_load_tr_b64, EMU_E_CROSS_LANE, EMU_C_VMEM)                                            \
    X(global_load_tr_b128, EMU_E_CROSS_LANE, EMU_C_VMEM)                                           \
    X(global_load_block, EMU_E_READ_M0, EMU_C_VMEM)                                                \
    X(global_store_block, EMU_E_READ_M0, EMU_C_VMEM)                                               \
    X(scratch_load_block, EMU_E_READ_M0, EMU_C_VMEM)                                               \
    X(scratch_store_block, EMU_E_READ_M0, EMU_C_VMEM)                                              \
    X(ds_swizzle_b32, EMU_E_CROSS_LANE, EMU_C_LDS)                                                 \
    X(ds_read_b64_tr_b16, EMU_E_CROSS_LANE, EMU_C_LDS)                                             \
    X(ds_read_b64_tr_b8, EMU_E_CROSS_LANE, EMU_C_LDS)                                              \
    X(ds_read_b64_tr_b4, EMU_E_CROSS_LANE, EMU_C_LDS)                                              \
    X(ds_read_b96_tr_b6, EMU_E_CROSS_LANE, EMU_C_LDS)                                              \
    X(ds_nop, 0, EMU_C_LDS)                                                                        \
    X(lds_direct_load, EMU_E_READ_M0, EMU_C_LDS)                                                   \
    X(global_load_addtid_b32, 0, EMU_C_VMEM)                                                       \
    X(global_store_addtid_b32, 0, EMU_C_VMEM)                                                      \
    EMU_MEM_DMA(X)                                                                                 \
    EMU_MEM_CACHE(X)                                                                               \
    EMU_MEM_FORMAT(X)                                                                              \
    EMU_MEM_SCALAR(X)

#define EMU_MEM_DMA(X)                                                                             \
    X(global_load_lds_dword, EMU_E_READ_M0, EMU_C_VMEM)                                            \
    X(global_load_lds_dwordx3, EMU_E_READ_M0, EMU_C_VMEM)                                          \
    X(global_load_lds_dwordx4, EMU_E_READ_M0, EMU_C_VMEM)                                          \
    X(global_load_lds_ubyte, EMU_E_READ_M0, EMU_C_VMEM)                                            \
    X(global_load_lds_sbyte, EMU_E_READ_M0, EMU_C_VMEM)                                            \
    X(global_load_lds_ushort, EMU_E_READ_M0, EMU_C_VMEM)                                           \
    X(global_load_lds_sshort, EMU_E_READ_M0, EMU_C_VMEM)                                           \
    X(scratch_load_lds_dword, EMU_E_READ_M0, EMU_C_VMEM)                                           \
    X(scratch_load_lds_ubyte, EMU_E_READ_M0, EMU_C_VMEM)                                           \
    X(scratch_load_lds_sbyte, EMU_E_READ_M0, EMU_C_VMEM)                                           \
    X(scratch_load_lds_ushort, EMU_E_READ_M0, EMU_C_VMEM)                                          \
    X(scratch_load_lds_sshort, EMU_E_READ_M0, EMU_C_VMEM)                                          \
    X(buffer_load_lds_b32, EMU_E_READ_M0, EMU_C_VMEM)                                              \
    X(buffer_load_lds_u8, EMU_E_READ_M0, EMU_C_VMEM)                                               \
    X(buffer_load_lds_i8, EMU_E_READ_M0, EMU_C_VMEM)                                               \
    X(buffer_load_lds_u16, EMU_E_READ_M0, EMU_C_VMEM)                                              \
    X(buffer_load_lds_i16, EMU_E_READ_M0, EMU_C_VMEM)                                              \
    X(buffer_store_lds_dword, EMU_E_READ_M0, EMU_C_VMEM)

/* Memory is always coherent here: cache control does nothing. */
#define EMU_MEM_CACHE(X)                                                                           \
    X(buffer_gl0_inv, 0, EMU_C_MESSAGE)                                                            \
    X(buffer_gl1_inv, 0, EMU_C_MESSAGE)                                                            \
    X(buffer_inv, 0, EMU_C_MESSAGE)                                                                \
    X(buffer_invl2, 0, EMU_C_MESSAGE)                                                              \
    X(buffer_wbinvl1, 0, EMU_C_MESSAGE)                                                            \
    X(buffer_wbinvl1_vol, 0, EMU_C_MESSAGE)                                                        \
    X(buffer_wbl2, 0, EMU_C_MESSAGE)                                                               \
    X(global_inv, 0, EMU_C_MESSAGE)                                                                \
    X(global_wb, 0, EMU_C_MESSAGE)                                                                 \
    X(global_wbinv, 0, EMU_C_MESSAGE)                                                              \
    X(s_prefetch_inst, 0, EMU_C_MESSAGE)                                                           \
    X(s_prefetch_inst_pc_rel, 0, EMU_C_MESSAGE)                                                    \
    X(s_prefetch_data, 0, EMU_C_MESSAGE)                                                           \
    X(s_prefetch_data_pc_rel, 0, EMU_C_MESSAGE)                                                    \
    X(s_buffer_prefetch_data, 0, EMU_C_MESSAGE)                                                    \
    X(s_dcache_inv, 0, EMU_C_MESSAGE)                                                              \
    X(s_dcache_inv_vol, 0, EMU_C_MESSAGE)                                                          \
    X(s_dcache_wb, 0, EMU_C_MESSAGE)                                                               \
    X(s_dcache_wb_vol, 0, EMU_C_MESSAGE)                                                           \
    X(s_dcache_discard, 0, EMU_C_MESSAGE)                                                          \
    X(s_dcache_discard_x2, 0, EMU_C_MESSAGE)                                                       \
    X(s_gl1_inv, 0, EMU_C_MESSAGE)                                                                 \
    X(s_atc_probe, 0, EMU_C_MESSAGE)                                                               \
    X(s_atc_probe_buffer, 0, EMU_C_MESSAGE)

/* Emitted twice: by resource (buffer) and by instruction (tbuffer). */
#define EMU_MEM_FORMAT_OF(X, B)                                                                    \
    X(B##_load_format_x, 0, EMU_C_VMEM)                                                            \
    X(B##_load_format_xy, 0, EMU_C_VMEM)                                                           \
    X(B##_load_format_xyz, 0, EMU_C_VMEM)                                                          \
    X(B##_load_format_xyzw, 0, EMU_C_VMEM)                                                         \
    X(B##_load_format_d16_x, 0, EMU_C_VMEM)                                                        \
    X(B##_load_format_d16_xy, 0, EMU_C_VMEM)                                                       \
    X(B##_load_format_d16_xyz, 0, EMU_C_VMEM)                                                      \
    X(B##_load_format_d16_xyzw, 0, EMU_C_VMEM)                                                     \
    X(B##_store_format_x, 0, EMU_C_VMEM)                                                           \
    X(B##_store_format_xy, 0, EMU_C_VMEM)                                                          \
    X(B##_store_format_xyz, 0, EMU_C_VMEM)                                                         \
    X(B##_store_format_xyzw, 0, EMU_C_VMEM)                                                        \
    X(B##_store_format_d16_x, 0, EMU_C_VMEM)                                                       \
    X(B##_store_format_d16_xy, 0, EMU_C_VMEM)                                                      \
    X(B##_store_format_d16_xyz, 0, EMU_C_VMEM)                                                     \
    X(B##_store_format_d16_xyzw, 0, EMU_C_VMEM)

#define EMU_MEM_FORMAT(X)                                                                          \
    EMU_MEM_FORMAT_OF(X, buffer)                                                                   \
    EMU_MEM_FORMAT_OF(X, tbuffer)                                                                  \
    X(buffer_load_format_d16_hi_x, 0, EMU_C_VMEM)                                                  \
    X(buffer_store_format_d16_hi_x, 0, EMU_C_VMEM)                                                 \
    X(buffer_load_lds_format_x, EMU_E_READ_M0, EMU_C_VMEM)

/* Emitted for s_atomic and s_buffer_atomic. */
#define EMU_MEM_SCALAR_ATOMIC_OF(X, B)                                                             \
    X(B##_swap, 0, EMU_C_SMEM)                                                                     \
    X(B##_swap_x2, 0, EMU_C_SMEM)                                                                  \
    X(B##_cmpswap, 0, EMU_C_SMEM) X(B##_cmpswap_x2, 0, EMU_C_SMEM) X(B##_add, 0, EMU_C_SMEM)       \
        X(B##_add_x2, 0, EMU_C_SMEM) X(B##_sub, 0, EMU_C_SMEM) X(B##_sub_x2, 0, EMU_C_SMEM)        \
            X(B##_smin, 0, EMU_C_SMEM) X(B##_smin_x2, 0, EMU_C_SMEM) X(B##_umin, 0, EMU_C_SMEM)    \
                X(B##_umin_x2, 0, EMU_C_SMEM) X(B##_smax, 0, EMU_C_SMEM)                           \
                    X(B##_smax_x2, 0, EMU_C_SMEM) X(B##_umax, 0, EMU_C_SMEM)                       \
                        X(B##_umax_x2, 0, EMU_C_SMEM) X(B##_and, 0, EMU_C_SMEM)                    \
                            X(B##_and_x2, 0, EMU_C_SMEM) X(B##_or, 0, EMU_C_SMEM)                  \
                                X(B##_or_x2, 0, EMU_C_SMEM) X(B##_xor, 0, EMU_C_SMEM)              \
                                    X(B##_xor_x2, 0, EMU_C_SMEM) X(B##_inc, 0, EMU_C_SMEM)         \
                                        X(B##_inc_x2, 0, EMU_C_SMEM) X(B##_dec, 0, EMU_C_SMEM)     \
                                            X(B##_dec_x2, 0, EMU_C_SMEM)

#define EMU_MEM_SCALAR(X)                                                                          \
    X(s_load_dword, 0, EMU_C_SMEM)                                                                 \
    X(s_load_dwordx2, 0, EMU_C_SMEM)                                                               \
    X(s_load_dwordx4, 0, EMU_C_SMEM)                                                               \
    X(s_load_dwordx8, 0, EMU_C_SMEM)                                                               \
    X(s_load_dwordx16, 0, EMU_C_SMEM)                                                              \
    X(s_buffer_load_dword, 0, EMU_C_SMEM)                                                          \
    X(s_buffer_load_dwordx2, 0, EMU_C_SMEM)                                                        \
    X(s_buffer_load_dwordx4, 0, EMU_C_SMEM)                                                        \
    X(s_buffer_load_dwordx8, 0, EMU_C_SMEM)                                                        \
    X(s_buffer_load_dwordx16, 0, EMU_C_SMEM)                                                       \
    X(s_load_b96, 0, EMU_C_SMEM)                                                                   \
    X(s_load_i8, 0, EMU_C_SMEM)                                                                    \
    X(s_load_u8, 0, EMU_C_SMEM)                                                                    \
    X(s_load_i16, 0, EMU_C_SMEM)                                                                   \
    X(s_load_u16, 0, EMU_C_SMEM)                                                                   \
    X(s_buffer_load_i8, 0, EMU_C_SMEM)                                                             \
    X(s_buffer_load_u8, 0, EMU_C_SMEM)                                                             \
    X(s_buffer_load_i16, 0, EMU_C_SMEM)                                                            \
    X(s_buffer_load_u16, 0, EMU_C_SMEM)                                                            \
    X(s_buffer_load_b96, 0, EMU_C_SMEM)                                                            \
    X(s_store_dword, 0, EMU_C_SMEM)                                                                \
    X(s_store_dwordx2, 0, EMU_C_SMEM)                                                              \
    X(s_store_dwordx4, 0, EMU_C_SMEM)                                                              \
    X(s_buffer_store_dword, 0, EMU_C_SMEM)                                                         \
    X(s_buffer_store_dwordx2, 0, EMU_C_SMEM)                                                       \
    X(s_buffer_store_dwordx4, 0, EMU_C_SMEM)                                                       \
    X(s_memtime, 0, EMU_C_SMEM)                                                                    \
    X(s_memrealtime, 0, EMU_C_SMEM)                                                                \
    X(s_scratch_load_dword, 0, EMU_C_SMEM)                                                         \
    X(s_scratch_load_dwordx2, 0, EMU_C_SMEM)                                                       \
    X(s_scratch_load_dwordx4, 0, EMU_C_SMEM)                                                       \
    X(s_scratch_store_dword, 0, EMU_C_SMEM)                                                        \
    X(s_scratch_store_dwordx2, 0, EMU_C_SMEM)                                                      \
    X(s_scratch_store_dwordx4, 0, EMU_C_SMEM)                                                      \
    EMU_MEM_SCALAR_ATOMIC_OF(X, s_atomic)                                                          \
    EMU_MEM_SCALAR_ATOMIC_OF(X, s_buffer_atomic)

#define LOAD(name, ...)                                                                            \
    emu_fn EMU_DO(global_##name), EMU_DO(flat_##name), EMU_DO(scratch_##name),                     \
        EMU_DO(buffer_##name);
#define STORE LOAD
#define DS_LOAD(name, ...) emu_fn EMU_DO(name);
#define DS_STORE DS_LOAD
#define ATOMIC32(name, ...)                                                                        \
    emu_fn EMU_DO(global_atomic_##name), EMU_DO(flat_atomic_##name), EMU_DO(buffer_atomic_##name);
#define ATOMIC64 ATOMIC32
#define DS_ATOMIC32(op, type, ...) emu_fn EMU_DO(ds_##op##_##type), EMU_DO(ds_##op##_rtn_##type);
#define DS_ATOMIC64 DS_ATOMIC32
#include "sem_memory.def"
#define DECLARE(name, effects, cls) emu_fn EMU_DO(name);
EMU_MEM_SPECIAL(DECLARE)
#undef DECLARE

/* Ends a load whose result goes to LDS: M0 + instruction offset + 4 * lane, one dword each, or what
 * a lane has of more, lane after lane. */
void emu_lds_dma(struct emu_wave *w, const struct emu_op *op, struct emu_where *from,
                 unsigned bytes, void (*body)(uint32_t *d, size_t stride, const uint8_t *p));

#endif
