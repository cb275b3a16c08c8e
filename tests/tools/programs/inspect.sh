# aothip-inspect: counts of a kernel written for it, the forms of output, what it says of bad files.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
: "${DEVICE_CLANG:=clang-19}"
inspect=$build/tools/aothip-inspect

# An outer loop without matrix instructions around two inner ones; the second has more of them.
kernel() { # GPU MATRIX-INSTRUCTION EXCHANGE
    cat <<END
.amdgcn_target "amdgcn-amd-amdhsa--$1"
.text
.globl counted
.p2align 8
.type counted,@function
counted:
  s_mov_b32 s4, 0
outer:
  s_add_i32 s4, s4, 1
first:
  $2
  s_cbranch_scc0 first
second:
  $2
  $2
  v_exp_f32_e32 v1, v1
  v_perm_b32 v2, v3, v4, v5
  $3
  ds_read_b128 v[4:7], v1
  global_load_dword v1, v[2:3], off
  s_load_dword s6, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_nop 7
  s_barrier
  s_setprio 1
  s_add_i32 s5, s5, 1
  s_cmp_lt_i32 s5, 9
  s_cbranch_scc1 second
  s_cbranch_vccz outer
  s_endpgm
.Lend:
.size counted, .Lend-counted
.rodata
.p2align 6
.amdhsa_kernel counted
  .amdhsa_next_free_vgpr 40
  .amdhsa_next_free_sgpr 16
  $4
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [ 1, 2 ]
amdhsa.target: amdgcn-amd-amdhsa--$1
amdhsa.kernels:
  - .name: counted
    .symbol: counted.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 16
    .wavefront_size: $5
    .sgpr_count: 16
    .vgpr_count: 40
    .agpr_count: 0
    .vgpr_spill_count: 3
    .sgpr_spill_count: 2
    .max_flat_workgroup_size: 64
.end_amdgpu_metadata
END
}
kernel gfx942 'v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[2:3], v[16:31]' \
    'v_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf' '.amdhsa_accum_offset 40' 64 >a.s
kernel gfx1100 'v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]' \
    'v_permlanex16_b32 v1, v2, s0, s1' '' 32 >b.s
for gpu in gfx942:a gfx1100:b; do
    "$DEVICE_CLANG" --target=amdgcn-amd-amdhsa -mcpu=${gpu%:*} -nogpulib -x assembler \
        ${gpu#*:}.s -o ${gpu#*:}.co 2>log
    ok "assembles for ${gpu%:*}"
    [ "$good" = ok ] || sed 's/^/#   /' log
done

# FILE COLUMN: the second line's value in the first column of that name
value() {
    awk -v name="$2" 'NR == 1 { for (i = NF; i; i--) if ($i == name) column = i }
        NR == 2 { print $column }' "$1"
}
for object in a b; do
    exits 0 "$object: table" "$inspect" $object.co
    cp out table
    exits 0 "$object: loops" "$inspect" --loops $object.co
    cp out loops
    for want in vgpr=40 agpr=0 sgpr=16 scratch=16 spill=5; do
        [ "`value table ${want%=*}`" = ${want#*=} ]
        ok "$object: $want"
    done
    for want in total=15 matrix=2 valu=2 trans=1 lds=1 vmem=1 smem=1 salu=2 branch=1 wait=1 nop=1 \
        barrier=1 other=1 acc=0 perm=1 exchange=1; do
        [ "`value loops ${want%=*}`" = ${want#*=} ]
        ok "$object: $want in the key loop"
    done
done

exits 0 'JSON' "$inspect" --json a.co b.co
contains out '"kernel":"counted"' 'JSON: kernel'
contains out '"loop":{"begin":20,"end":108,"instructions":{"total":15,"matrix":2,' 'JSON: loop'
exits 0 'code' "$inspect" --disasm a.co
contains out '|     14: v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[2:3], v[16:31]' 'code: the loop has a bar'
contains out '|     68: s_cbranch_scc1 65514  -> 14' 'code: a branch names its target'
contains out '      6c: s_cbranch_vccz 65509  -> 4' 'code: the rest has none'
# Hand-written kernels, such as AITER's, often do not say how long they are.
sed '/^\.size/d' a.s >c.s
! cmp -s a.s c.s && "$DEVICE_CLANG" --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -x assembler \
    c.s -o c.co 2>log
ok 'a kernel without a size assembles'
"$inspect" a.co >table
exits 0 'is shown' "$inspect" c.co
cmp out table
ok 'as the same with one'
exits 1 'a name that nothing has' "$inspect" --loops --kernel other a.co
contains err "no kernel's name contains other" 'is named'
[ `wc -l <out` -eq 1 ]
ok 'only the heading is left'

exits 2 'no file' "$inspect"
exits 1 'a missing file' "$inspect" nowhere.co
one_line err 'a missing file: one line'
echo text >text
exits 1 'a text' "$inspect" text
one_line err 'a text: one line'
exits 1 'a directory' "$inspect" .
contains err '.: Is a directory' 'a directory: says so'
dd if=a.co of=cut.co bs=700 count=1 2>/dev/null
exits 1 'a code object cut short' "$inspect" cut.co
one_line err 'a code object cut short: one line'
plan
