#!/bin/sh
# Breaks the emulator in one place after another, on a copy of its sources, and requires that the semantics
# tests notice. A few mutations by default, all of them with MUTATIONS=all, those of the instructions whose
# names hold a word with MUTATIONS=word.
#
# Run by `make check-mutations`, or by hand at the top of a built tree with srcdir set to the source tree.
# Only the code for the plainest of the host's vectors is broken and run: all are made of the same rows.
set -eu
srcdir=${srcdir:-.}
CC=${DEVICE_CLANG:-clang-19}
work=$(mktemp -d "${TMPDIR:-/tmp}/aothip-mutation-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if ! "$CC" --version >/dev/null 2>&1; then
	echo "1..0 # SKIP no $CC to build the mutants with"
	exit 0
fi
mkdir -p "$work/src/tools" "$work/obj"
cp -R "$srcdir/tools/emu" "$work/src/tools/emu"

cat >"$work/Makefile" <<END
SRC := \$(filter-out $work/src/tools/emu/kfd/%,\$(wildcard $work/src/tools/emu/*/*.c))
OBJ := \$(patsubst %.c,$work/obj/%.o,\$(notdir \$(SRC)))
vpath %.c \$(wildcard $work/src/tools/emu/*)
FLAGS = -std=gnu11 -D_GNU_SOURCE -O0 -w -fPIC -pthread -ffp-contract=off -fno-math-errno -fno-trapping-math -D__HIP_PLATFORM_AMD__ \\
	\$(addprefix -I,\$(wildcard $work/src/tools/emu/*/)) -I$srcdir/include -I$srcdir/lib/runtime $(echo "${HIP_CPPFLAGS:-}") -fvisibility=hidden
$work/libhipemu.so: \$(OBJ)
	$CC -shared -o \$@ \$(OBJ) -lm -lpthread -lzstd -Wl,--version-script=$work/src/tools/emu/hipemu.map
$work/obj/%.o: %.c
	$CC \$(FLAGS) -MMD -c \$< -o \$@
-include \$(filter-out %_v3.d %_v4.d,\$(wildcard $work/obj/*.d))
END

build() {
	make -s -f "$work/Makefile" "$work/libhipemu.so" >"$work/log" 2>&1
}

# Runs one test, restricted to instructions whose text has a word, on the library in $work.
try() {
	program=tests/tools/emu/semantics/.libs/test_semantics_$1
	[ -x "$program" ] || program=tests/tools/emu/semantics/test_semantics_$1
	AOTHIP_EMU_CPU=base SEMANTICS_ONLY=$2 LD_LIBRARY_PATH=$work "$program" >"$work/out" 2>&1
}

count=0 failed=0
ok() {
	count=$((count + 1))
	echo "ok $count - $1"
}
not_ok() {
	count=$((count + 1))
	failed=1
	echo "not ok $count - $1"
	sed 's/^/# /' "$work/log" | head -20
}

# sound TEST WORD: does the test pass on the unchanged emulator? One that fails anyway, or runs nothing,
# would call every mutant caught.
sound() {
	cp "$work/sound.so" "$work/libhipemu.so"
	try "$1" "$2" && grep -q '^ok' "$work/out"
}

# mutate FILE TEST WORD SED: the test must pass before and fail after the edit.
mutate() {
	file=`echo "$work"/src/tools/emu/*/"$1"`
	cp -p "$file" "$work/saved"
	if ! sound "$2" "$3"; then
		cp "$work/out" "$work/log"
		not_ok "$1: test_semantics_$2 passes for $3 before the change"
		return
	fi
	sed "$4" "$work/saved" >"$work/edited"
	if cmp -s "$work/saved" "$work/edited"; then
		echo "the pattern $4 is not in $1" >"$work/log"
		not_ok "$1: $4"
		return
	fi
	cp "$work/edited" "$file"
	rm -f "$work/libhipemu.so"
	if ! build; then
		not_ok "$1: $4: the mutant does not build"
	elif try "$2" "$3"; then
		echo "test_semantics_$2 passed for $3" >"$work/log"
		not_ok "$1: $4"
	else
		ok "$1: $4"
	fi
	# The objects of before come back with their times: nothing is compiled twice.
	cp -p "$work/saved" "$file"
	rm -rf "$work/obj"
	cp -Rp "$work/sound" "$work/obj"
}

# every nth mutation unless all are wanted
each=${MUTATION_STEP:-8} turn=0
[ "${MUTATIONS:-}" = all ] && each=1

if ! build; then
	not_ok "the unchanged emulator builds"
	echo "1..$count"
	exit 1
fi
cp "$work/libhipemu.so" "$work/sound.so"
cp -Rp "$work/obj" "$work/sound"

knows_gfx950=
echo s_endpgm | "$CC" -x assembler --target=amdgcn-amd-amdhsa -mcpu=gfx950 -c -o /dev/null - \
	>/dev/null 2>&1 && knows_gfx950=yes

while IFS='|' read -r file test word edit; do
	case $file in '' | '#'*) continue ;; esac
	turn=$((turn + 1))
	case ${MUTATIONS:-all} in
	all) [ $((turn % each)) -eq 0 ] || continue ;;
	*) case $word in *"$MUTATIONS"*) ;; *) continue ;; esac ;;
	esac
	case $word in
	@*) # an instruction of gfx950
		if [ -z "$knows_gfx950" ]; then
			echo "# $CC does not know gfx950: not done: $file: $edit"
			continue
		fi
		word=${word#@} ;;
	esac
	mutate "$file" "$test" "$word" "$edit"
done <<'END'
# ---- arithmetic
sem_vector.def|vop2|v_add_f32_e|/^V(v_add_f32,/s/S0.f32 + S1.f32/S0.f32 - S1.f32/
sem_vector.def|vop2|v_sub_u32_e|/^V(v_sub_u32,/s/S0.u32 - S1.u32/S1.u32 - S0.u32/
sem_vector.def|vop2|v_lshlrev_b32_e|/^V(v_lshlrev_b32,/s/ & 31/ \& 15/
sem_vector.def|vop3|v_bfi_b32 |/^V(v_bfi_b32,/s/~S0/S0/
sem_vector.def|vop2|v_cndmask_b32_e|/^V(v_cndmask_b32,/s/S1.u32 : S0.u32/S0.u32 : S1.u32/
sem_vector.def|vop3|v_mad_u32_u24 |/^V(v_mad_u32_u24,/s/+ S2/- S2/
sem_vector.def|vop1|v_cvt_f32_ubyte2|/^V(v_cvt_f32_ubyte2,/s/, 2))*$/, 1))/
sem_vector.def|vop2|v_add_co_u32|/^V(v_add_co_u32,/s/D.u32 < S0.u32/D.u32 <= S0.u32/
lane_math.h|vopc|v_cmp_class_f32|s/zero ? 5 : denormal ? 4 : 3/denormal ? 4 : zero ? 5 : 3/
sem_scalar.def|scalar|s_addc_u32|/^S(s_addc_u32,/,/SCC = /s/ + SCC//
sem_scalar.def|scalar|s_bfe_u32|/^S(s_bfe_u32,/,/SCC = /s/0x7f/0x1f/
flow.c|scalar|s_cbranch_scc0|/^static void branch_scc0/,/^}/s/!w->scc/w->scc/
# ---- opcodes
isa_vop.def|vop2|v_sub_f32_e|s/^I(v_sub_f32, v_sub_f32,/I(v_sub_f32, v_subrev_f32,/
isa_scalar.def|scalar|s_add_u32|s/^I(s_add_u32, s_add_u32,/I(s_add_u32, s_sub_u32,/
isa_vop3.def|vop3|v_min3_i32|s/^I(v_min3_i32, v_min3_i32,/I(v_min3_i32, v_med3_i32,/
# ---- EXEC, modifiers, DPP, MODE
lanes.h|vop2|v_and_b32_e64|s/FOR_LANES d\[l\] = (x\[l\] & mask\[l\]) . (d\[l\] & ~mask\[l\]);/FOR_LANES d[l] = x[l];/
modifiers.h|vopc|v_cmp_lt_f32_e64|s/^    m &= pack(t);/    m = pack(t);/
modifiers.h|vop2|v_add_f32_e64|s/ && !(w->mode >> 9 & 1) ? factor/ ? factor/
modifiers.h|vop2|v_add_u32_sdwa|s/x |= d\[l\] & ~field;/x |= 0;/
source_modifiers.h|vop2|v_mul_f32_e32|s/return !(w->mode >> (4 + bit) & 1);/return false;/
dpp.c|vop1|row_shr:5|s/return in >= n ? (int)(l - n) : -1;/return (int)(row | ((in - n) \& 15));/
dpp.c|vop1|row_half_mirror|s/(7 - (l & 7))/(3 - (l \& 3))/
cross_lane.c|lanes|v_permlane64|s/source(w, op, 0, l ^ 32)/source(w, op, 0, l)/
cross_lane.c|lanes|@v_permlane16_swap|s/y\[l ^ row\] : 0/x[l ^ row] : 0/
cross_lane.c|lanes|@v_bitop3|s/(i & 4 ? a : ~a)/(i \& 1 ? a : ~a)/
scaled_floats.c|scaled|@scalef32_pk_fp8|s/(rest == half && kept & 1)/rest == half/
scaled_floats.c|scaled|@scalef32_sr|s/>> places)/>> (places - 1))/
scaled_floats.c|scaled|@scalef32_2xpk16|s/p.source = element & 1/p.source = element >> 4/
scaled_floats.c|scaled|@scalef32_pk_fp4|s/8 \* (sel >> 2 & 3)/8 * (sel >> 3 \& 1)/
scaled_floats.c|scaled|@scalef32_pk_f16_bf8|s/scale == 255/scale == 256/
scaled_floats.c|scaled|@scalef32_sr_pk32|s/random >> 31 ? 0xc5u : 0/0/
sem_vector.def|vop3|@v_cvt_pk_bf16|/^V(v_cvt_pk_bf16_f32,/s/f32_bf16(S1.f32)/f32_bf16(S0.f32)/
lane_math.h|vop3|@v_maximum3_f32|/^EMU_INLINE uint32_t maximum_f32/,/^}/s/key32(b) > key32(a)/key32(b) < key32(a)/
# ---- memory
lds_exchange.c|lds|@ds_read_b64_tr|s/\* k + l % 16 \/ n, at/* k + l % 8 \/ n, at/
lds_exchange.c|lds|@load_lds_dwordx4|s/base + 4 \* words \* l/base + 4 * l/
sem_memory.def|lds|ds_inc|s/^DS_ATOMIC32(inc, u32, old >= a/DS_ATOMIC32(inc, u32, old > a/
sem_memory.def|lds|ds_read_u8_d16_hi|/^DS_LOAD(ds_read_u8_d16_hi,/s/HIGH(D(0), U8(0))/U8(0) << 16/
lds_exchange.c|lds|ds_swizzle|s/(offset >> 5 & 31)) ^ (offset >> 10/(offset >> 10 \& 31)) ^ (offset >> 5/
sem_memory.def|memory|load_sbyte_d16_hi|/^LOAD(load_sbyte_d16_hi,/s/SEXT8(U8(0))/U8(0)/
buffers.c|buffer|idxen|s/row \* r->stride + offset/row * r->stride - offset/
buffers.c|buffer|idxen offset|s/return index < r->records ? bytes : 0;/return bytes;/
buffers.c|range|s28 offen|s/records - soffset : 0/records : 0/
buffers.c|range|atomic_add_x2|s/bytes <= 4 || r->whole/bytes <= 4/
loads_stores.c|buffer|dwordx2|s/insn.offset += 4 \* (int32_t)i/insn.offset += 8 * (int32_t)i/
scalar_memory.c|range|s_buffer_load|s/(emu_scalar(w, op, 1) + (uint64_t)(int64_t)op->insn->offset)/(uint64_t)(emu_scalar(w, op, 1) + (uint32_t)op->insn->offset)/
texel_formats.c|buffer|format_xyzw|s/raw \/ (double)field_ones(width)/raw \/ (field_ones(width) + 1.0)/
texel_formats.c|buffer|tbuffer_load|s/{11, 11, 10}/{10, 11, 11}/
texel_formats.c|buffer|buffer_load_format_xyzw|s/word >> (3 \* i) & 7/word >> (3 * (3 - i)) \& 7/
scalar_memory.c|smem|s_scratch|s/UINT64_C(64)/UINT64_C(4)/
scalar_memory.c|smem|s_atomic_cmpswap|s/old == b ? a : old/old == a ? b : old/
screen_partition.h|vop1|v_screen_partition|s/0x[0-9a-f]*3/0x0/
# ---- control flow
fork.c|flow|s_cbranch_fork|s/__builtin_popcountll(fail) </__builtin_popcountll(fail) <=/
fork.c|flow|s_subvector|s/w->s\[op->d\[0\]\] = exec\[0\];/w->s[op->d[0]] = exec[1];/
program.h|flow|s_setvskip|s/op->insn->enc > EMU_SMEM/op->insn->enc > EMU_DS/
# ---- what is rare
atomics.c|lds|ds_append|s/(w->s\[EMU_S_M0\] & 0xffff) + (uint32_t)op->insn->offset;/(w->s[EMU_S_M0] >> 16) + (uint32_t)op->insn->offset;/
lds_exchange.c|rare|buffer_store_lds|s/from.addr\[l\] = base + 4 \* l/from.addr[l] = base + 4/
sem_memory.def|rare|csub|s/old < a ? 0 : old - a/old - a/
sem_vector.def|vop2|v_min_f16_e|s/^V(v_min_f16, 1, 1, 1, 0, VALU, FX,/V(v_min_f16, 1, 1, 1, 0, VALU, F,/
# ---- matrix layouts
isa_vop3.def|matrix|@32x32x16_bf16|s/^I950(v_mfma_f32_32x32x16_bf16, v_mfma_f32_32x32x16_bf16,/I950(v_mfma_f32_32x32x16_bf16, v_mfma_f32_32x32x16_f16,/
matrix_ops.h|matrix|blgp:3|s/(l + 16) & 63/(l + 48) \& 63/
product.h|matrix|smfmac_f32|s/set = op->insn->cbsz ? 0 : /set = /
product.h|matrix|smfmac_f32|s/4 \* (e \/ 2) + which/4 * (e \/ 2) + 3 - which/
mfma.c|matrix|smfmac_i32|s/set \* 16 + 2 \* e/set * 8 + 2 * e/
matrix_ops.h|matrix|cbsz|s/i->abid & ((1u << i->cbsz) - 1)/0/
# ---- gfx12
lane_math.h|vop2|v_min_num_f32_e|/^EMU_INLINE uint32_t number_f32/,/^}/s/nan32(b) ? a : chosen/chosen/
sem_vector.def|vop3|v_minimummaximum_f32|/^V(v_minimummaximum_f32,/s/maximum_f32(minimum_f32/maximum_f32(maximum_f32/
sem_scalar.def|scalar|s_mul_u64|/^S(s_mul_u64,/s/S0.u64 \* S1.u64/S0.u32 * S1.u64/
sem_memory.def|lds|ds_cond_sub|/^DS_ATOMIC32(cond_sub,/s/old < a/old <= a/
isa_vop3.def|matrix|wmma_bf16|s/^I12(v_wmma_bf16_16x16x16_bf16, v_wmma_bf16_16x16x16_bf16,/I12(v_wmma_bf16_16x16x16_bf16, v_wmma_f16_16x16x16_f16,/
wmma_lanes.c|matrix|wmma_f32|s/emu_tile_word(&t, N \* (i \/ OF_LANE)/emu_tile_word(\&t, N * (1 - i \/ OF_LANE)/
wmma_lanes.c|matrix|wmma_f16|s/^        emu_tile_put(&to, N \* (i \/ N \/ OF_LANE)/        emu_tile_put(\&to, N * (1 - i \/ N \/ OF_LANE)/
wmma_lanes.c|matrix|wmma_i32_16x16x32_iu4|s/wmma_int(w, op, 4, MOST_K)/wmma_int(w, op, 4, N)/
lane_tiles.h|matrix|wmma_i32_16x16x16_iu4|s/top = 1u << (bits - 1)/top = 1u << bits/
lane_tiles.h|matrix|wmma_f32|s/(r - t->half) \* 64 + 32 + lane/(r - t->half) * 64 + 32 + (lane ^ 16)/
swmmac.c|swmmac|f32_16x16x32_f16|s/p \/ 2 \* 4 + which/p \/ 2 * 4 + 3 - which/
swmmac.c|swmmac|index_key|s/op->insn->op_sel \* own + e % own/e % own/
swmmac.c|swmmac|neg_hi|s/neg\[p & 1\] & 2 ? -b/neg[0] \& 2 ? -b/
swmmac.c|swmmac|clamp|s/(p + 1) % s.held == 0/p + 1 == kept/
transposed_loads.c|gfx12|tr_b128|s/return (l & ~7u) + e;/return (l \& ~15u) + e;/
transposed_loads.c|gfx12|tr_b64|s/(l >> 3 & 1) \* 4/(l >> 2 \& 1) * 4/
loads_stores.c|gfx12|block|s/insn.offset += 4)/insn.offset += wanted >> i \& 1 ? 4 : 0)/
scalar_memory.c|gfx12|s_buffer_load_i8|s/b.size - offset >= bytes)/b.size - offset >= 4)/
division.h|vop3p|v_dot4_f32|s/byte(a, 2)), of_b(byte(b, 2))/byte(a, 2)), of_b(byte(b, 1))/
source_modifiers.h|vop3p|neg_hi:[0,0,1]|s/insn->neg_hi >> i & 1 ? 0x7fffffff : ~0u/insn->neg_hi >> i \& 1 ? ~0u : 0x7fffffff/
cross_lane.c|lanes|v_permlane16_var|s/var ? source(w, op, 1, l)/var ? source(w, op, 1, 0)/
lds_exchange.c|lds|0xdb34|s/inactive || exec >> from & 1/exec >> from \& 1/
END
echo "1..$count"
exit $failed
