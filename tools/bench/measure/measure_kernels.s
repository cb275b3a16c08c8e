; The kernels of aothip-bench --measure: each is a loop over many copies of an operation, and notes
; how many clocks the loop took. Assembled for each GPU with GFX11 or GFX12 defined, or CDNA3 on
; gfx940 and later, or none of them on gfx90a.
;
; Arguments: data, out (32 bits a workgroup), how often, bytes from one access to the next, mask of
; their offsets, bytes from a workgroup's data to the next one's.

.ifdef GFX12
.set GFX11, 1 ; what follows for GFX11 is for both
.macro wait_lgkm
  s_wait_dscnt 0
.endm
.macro wait_scalar
  s_wait_kmcnt 0
.endm
.macro wait_vm
  s_wait_loadcnt 0
.endm
.else
.macro wait_lgkm
  s_waitcnt lgkmcnt(0)
.endm
.macro wait_scalar
  s_waitcnt lgkmcnt(0)
.endm
.macro wait_vm
  s_waitcnt vmcnt(0)
.endm
.endif

.macro kernel name, copies, setup, op
.text
.globl \name
.p2align 8
.type \name,@function
\name:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx4 s[8:11], s[0:1], 0x10
  wait_scalar
.ifdef GFX12
  s_mov_b32 s3, ttmp9
.else
  s_mov_b32 s3, s2
.endif
  v_and_b32 v0, 0x3ff, v0
  s_mul_i32 s12, s3, s11
  s_add_u32 s4, s4, s12
  s_addc_u32 s5, s5, 0
  v_lshlrev_b32 v4, 4, v0
  v_mov_b32 v5, s9
  v_mov_b32 v6, s10
  \setup
  ticks s16
\name\()_loop:
.rept \copies
  \op
.endr
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 \name\()_loop
  wait_vm
  wait_lgkm
  ticks s18
  s_sub_u32 s16, s18, s16
.ifdef GFX11
  s_and_b32 s16, s16, 0xfffff
.endif
  s_lshl_b32 s3, s3, 2
  v_mov_b32 v1, s16
  v_mov_b32 v2, s3
  global_store_dword v2, v1, s[6:7]
  s_endpgm
\name\()_end:
.size \name, \name\()_end-\name
.rodata
.p2align 6
.ifdef GFX11
.amdhsa_kernel \name
.amdhsa_group_segment_fixed_size 16384
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_kernarg_size 32
.amdhsa_next_free_vgpr 96
.amdhsa_next_free_sgpr 32
.amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.else
.amdhsa_kernel \name
.amdhsa_group_segment_fixed_size 16384
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_kernarg_size 32
.amdhsa_next_free_vgpr 96
.amdhsa_next_free_sgpr 32
.amdhsa_accum_offset 96
.end_amdhsa_kernel
.endif
.endm

; Clocks so far, of which 20 bits count on gfx11.
.macro ticks to
.ifdef GFX11
  s_getreg_b32 \to, hwreg(29, 0, 20)
.else
.if \to\()_pair == 16
  s_memtime s[16:17]
.else
  s_memtime s[18:19]
.endif
  s_waitcnt lgkmcnt(0)
.endif
.endm
.set s16_pair, 16
.set s18_pair, 18

; A measurement is two kernels: what their difference takes is the operation's alone.
.macro measure name, few, many, setup, op
  kernel \name\()_few, \few, \setup, \op
  kernel \name\()_many, \many, \setup, \op
.endm

.macro nothing
.endm
.macro lanes_4
  v_lshlrev_b32 v0, 2, v0
.endm
.macro lanes_8
  v_lshlrev_b32 v0, 3, v0
.endm
.macro lanes_16
  v_and_b32 v0, 0x3f, v0
  v_lshlrev_b32 v0, 4, v0
.endm
.macro one_place
  v_mov_b32 v4, 0
.endm

; Results go to eight registers in turn: none waits for the one before.
.set turn, 0
.macro op_valu
  .set turn, (turn + 1) & 7
  v_mov_b32 v[16+turn], 1.0
.endm
.macro op_valu_chain
  v_add_f32 v1, v1, v1
.endm
.macro op_trans
  .set turn, (turn + 1) & 7
  v_exp_f32 v[16+turn], v2
.endm
.macro op_trans_chain
  v_exp_f32 v1, v1
.endm
.macro op_multiply
  .set turn, (turn + 1) & 7
  v_mul_lo_u32 v[16+turn], v2, v3
.endm
.macro op_f64
  .set turn, (turn + 2) & 15
  v_fma_f64 v[16+turn:17+turn], v[10:11], v[12:13], v[14:15]
.endm
.macro op_packed
  .set turn, (turn + 2) & 15
  v_pk_fma_f32 v[16+turn:17+turn], v[10:11], v[12:13], v[14:15]
.endm
.macro op_salu
  s_mov_b32 s20, s21
.endm
.macro op_salu_chain
  s_add_u32 s20, s20, 1
.endm
.macro op_branch
  s_branch 1
  s_nop 0
.endm
.macro op_branch_not
  s_cbranch_execz 1
.endm
.macro op_barrier
.ifdef GFX12
  s_barrier_signal -1
  s_barrier_wait -1
.else
  s_barrier
.endif
.endm
.macro op_scalar
  s_load_dword s20, s[0:1], 0x0
  wait_scalar
.endm
.ifdef GFX12
.macro op_matrix
  v_wmma_f32_16x16x16_f16 v[16:23], v[80:83], v[84:87], v[16:23]
  v_wmma_f32_16x16x16_f16 v[24:31], v[80:83], v[84:87], v[24:31]
  v_wmma_f32_16x16x16_f16 v[32:39], v[80:83], v[84:87], v[32:39]
  v_wmma_f32_16x16x16_f16 v[40:47], v[80:83], v[84:87], v[40:47]
.endm
.macro op_matrix_chain
  v_wmma_f32_16x16x16_f16 v[16:23], v[24:27], v[84:87], v[16:23]
  v_nop
  v_wmma_f32_16x16x16_f16 v[24:31], v[16:19], v[84:87], v[24:31]
  v_nop
.endm
.else
.ifdef GFX11
.macro op_matrix
  v_wmma_f32_16x16x16_f16 v[16:23], v[80:87], v[88:95], v[16:23]
  v_wmma_f32_16x16x16_f16 v[24:31], v[80:87], v[88:95], v[24:31]
  v_wmma_f32_16x16x16_f16 v[32:39], v[80:87], v[88:95], v[32:39]
  v_wmma_f32_16x16x16_f16 v[40:47], v[80:87], v[88:95], v[40:47]
.endm
.macro op_matrix_chain
  v_wmma_f32_16x16x16_f16 v[16:23], v[24:31], v[88:95], v[16:23]
  v_nop
  v_wmma_f32_16x16x16_f16 v[24:31], v[16:23], v[88:95], v[24:31]
  v_nop
.endm
.else
.ifdef CDNA3
.macro mfma to
  v_mfma_f32_32x32x8_f16 \to, v[80:81], v[82:83], \to
.endm
.else
.macro mfma to
  v_mfma_f32_32x32x8f16 \to, v[80:81], v[82:83], \to
.endm
.endif
.macro op_matrix
  mfma v[16:31]
  mfma v[32:47]
  mfma v[48:63]
  mfma v[64:79]
.endm
.endif
.endif
; A lane's number is as good as any to multiply: what power takes depends on the bits.
.macro some_numbers
  v_cvt_f32_u32 v80, v0
.irp r, 81,82,83,84,85,86,87,88,89,90,91,92,93,94,95
  v_mul_f32 v\r, 0x3f8ccccd, v80
.endr
.endm

.macro op_read_4
  ds_read_b32 v8, v0
.endm
.macro op_read_8
  ds_read_b64 v[8:9], v0
.endm
.macro op_read_16
  ds_read_b128 v[8:11], v0
.endm
.macro op_write_4
  ds_write_b32 v0, v8
.endm
.macro op_write_8
  ds_write_b64 v0, v[8:9]
.endm
.macro op_write_16
  ds_write_b128 v0, v[8:11]
.endm
.macro op_read_4_wait
  op_read_4
  wait_lgkm
.endm
.macro op_read_8_wait
  op_read_8
  wait_lgkm
.endm
.macro op_read_16_wait
  op_read_16
  wait_lgkm
.endm
.macro op_write_4_wait
  op_write_4
  wait_lgkm
.endm
.macro op_write_8_wait
  op_write_8
  wait_lgkm
.endm
.macro op_write_16_wait
  op_write_16
  wait_lgkm
.endm

; The next address depends on what was loaded, whatever that was.
.macro op_chase
  global_load_dword v1, v4, s[4:5]
  wait_vm
  v_and_b32 v1, 0, v1
  v_add3_u32 v4, v4, v1, v5
  v_and_b32 v4, v6, v4
.endm
.macro op_stream
  global_load_dwordx4 v[8:11], v4, s[4:5]
.ifdef GFX11
  v_add_nc_u32 v4, v4, v5
.else
  v_add_u32 v4, v4, v5
.endif
  v_and_b32 v4, v6, v4
.endm

measure valu, 16, 80, nothing, op_valu
measure valu_chain, 16, 80, nothing, op_valu_chain
measure trans, 16, 80, nothing, op_trans
measure trans_chain, 16, 80, nothing, op_trans_chain
measure multiply, 16, 80, nothing, op_multiply
measure f64, 16, 80, nothing, op_f64
.ifndef GFX11
measure packed, 16, 80, nothing, op_packed
.else
measure matrix_chain, 16, 80, some_numbers, op_matrix_chain
.endif
measure salu, 16, 80, nothing, op_salu
measure salu_chain, 16, 80, nothing, op_salu_chain
measure branch, 16, 80, nothing, op_branch
measure branch_not, 16, 80, nothing, op_branch_not
measure barrier, 16, 80, nothing, op_barrier
measure scalar, 16, 80, nothing, op_scalar
measure matrix, 4, 20, some_numbers, op_matrix
measure read_4, 16, 80, lanes_4, op_read_4
measure read_8, 16, 80, lanes_8, op_read_8
measure read_16, 16, 80, lanes_16, op_read_16
measure write_4, 16, 80, lanes_4, op_write_4
measure write_8, 16, 80, lanes_8, op_write_8
measure write_16, 16, 80, lanes_16, op_write_16
measure read_4_wait, 16, 80, lanes_4, op_read_4_wait
measure read_8_wait, 16, 80, lanes_8, op_read_8_wait
measure read_16_wait, 16, 80, lanes_16, op_read_16_wait
measure write_4_wait, 16, 80, lanes_4, op_write_4_wait
measure write_8_wait, 16, 80, lanes_8, op_write_8_wait
measure write_16_wait, 16, 80, lanes_16, op_write_16_wait
measure chase, 32, 96, one_place, op_chase
measure stream, 32, 96, nothing, op_stream
