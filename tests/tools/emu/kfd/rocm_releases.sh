#!/bin/sh
# AMD's own runtime, of each release that tools/rocm has unpacked beside the build, on the driver's
# stand-in: every GPU that it knows, the calls of same_calls held against the emulator's HIP
# functions, what the library claims of streams, the programs, and what goes wrong. A release that
# is not there is skipped. Run from the build directory.
#
# ROCM_SUITES="sid" takes these alone; ROCM_GPUS="gfx90a gfx942" runs all cases of aothip-check on
# these besides.
top=`pwd`
srcdir=`cd "${srcdir:-.}" && pwd`
images=${AOTHIP_IMAGES:-$top/images/aotriton.images}
. "$srcdir/tests/tools/emu/kfd/kfd_test_lib.sh"
here=$top/tests/tools/emu/kfd
objects=$here/kernels_v4
claims=$here/.libs/stream_claims # where libtool puts a script in its place
[ -x "$claims" ] || claims=$here/stream_claims
AOTHIP_BUILD=$top
AOTHIP_IMAGES=$images
export AOTHIP_BUILD AOTHIP_IMAGES
compiler=`sed -n 's/^CC = //p' Makefile`
begin other

rocm() { # PROGRAM ARGUMENT...: its output in the file out
	timeout 300 "$srcdir/tools/rocm" "$suite" "$@" >out 2>&1
}
says() { # TEXT WHAT
	grep -qF -- "$1" out
	ok "$suite: $2"
}

hip_library() {
	ls "$top/rocm-$suite"/usr/lib/x86_64-linux-gnu/libamdhip64.so.[0-9]* | head -1
}

gpus_of() { # the GPUs of the emulator that ROCr's isa.cpp of this release has rows for
	case $1 in
	bookworm) echo gfx90a ;;
	trixie) echo gfx90a gfx942 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 ;;
	*) echo gfx90a gfx942 gfx950 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 ;;
	esac
}

gpus() {
	for gpu in `gpus_of $suite`; do
		AOTHIP_EMU_GPU=$gpu rocm rocminfo
		says "amdgcn-amd-amdhsa--$gpu" "rocminfo lists $gpu"
	done
}

# The same calls through the emulator's functions and through AMD's; each difference is a known one.
calls() {
	AOTHIP_HIP_LIBRARY=$top/tools/emu/.libs/libhipemu.so "$here/same_calls" $objects.gfx90a.co $objects.gfx942.co >ours 2>/dev/null
	timeout 300 "$srcdir/tools/rocm" "$suite" "$here/same_calls" $objects.gfx90a.co $objects.gfx942.co >out 2>/dev/null
	ok "$suite: HIP answers"
	cp out theirs
	paste -d '|' ours theirs | awk -F '|' -v suite="$suite" \
		'$1 != $2 { sub(/^.*: /, "", $2); print suite "|" $1 "|" $2 }' >differences
	grep "^$suite|" "$srcdir/tests/tools/emu/kfd/same_calls.txt" | sort -u >known
	sort -u differences | comm -3 - known >out
	[ ! -s out ]
	ok "$suite: as the emulator, or differently as known"
}

stream_claims() {
	AOTHIP_EMU_GPU=gfx90a,gfx90a GPU_MAX_HW_QUEUES=8 AOTHIP_EMU_THREADS=1 rocm "$claims" $objects.gfx90a.co
	ok_results out "$suite: streams, graphs, two devices, four threads"
	AOTHIP_EMU_GPU=gfx90a,gfx90a GPU_MAX_HW_QUEUES=8 rocm "$claims" $objects.gfx90a.co --no-wait
	says 'not ok 6 - has what the other stream made' "a missing wait between streams is found"
}

programs() {
	AOTHIP_EMU_MODE=strict AOTHIP_EMU_COUNTERS=$work/counters.json rocm "$top/tools/.libs/aothip-check" --quick
	says '12 of 12 cases passed' "aothip-check in strict mode"
	grep -q '"kernel": "attn_fwd' counters.json
	ok "$suite: with counters"
	AOTHIP_EMU_LIMIT=300 rocm "$top/tools/.libs/aothip-check" --quick
	case $suite in
	experimental | resolute) says 'failed with hipErrorLaunchFailure' "aothip-check says that a kernel did not end" ;;
	*) says 'the HIP runtime ended the program, in case 1 on device 0' "aothip-check explains the runtime's end" ;;
	esac
	AOTHIP_EMU_TIME=1 rocm "$top/tools/.libs/aothip-check" --quick
	says 'hipemu: attn_fwd' "and with the clock"
	for t in q:f16:1,4,33,48 k:f16:1,2,50,48 v:f16:1,2,50,40; do
		"$top/tests/tools/common/npy_tool" make ${t%%:*}.npy f16 ${t##*:} 1 || exit 99
	done
	mkdir "capture-$suite"
	AOTHIP_CAPTURE=$work/capture-$suite rocm "$top/tools/.libs/aothip-run" q.npy k.npy v.npy -o o.npy --causal br --verify
	ok "$suite: aothip-run, captured"
	rocm "$top/tools/.libs/aothip-replay" --exact "capture-$suite"/*
	ok "$suite: aothip-replay gives the same bytes"
	for python in python3 /usr/bin/python3; do
		python=`$python -c 'import numpy, os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null` && break
	done
	[ -n "$python" ] || return # no NumPy
	AOTHIP_LIBRARY=$top/lib/.libs/libaothip.so.0 PYTHONPATH=$srcdir/lib/python rocm "$python" -c '
import aothip, numpy
q = numpy.random.default_rng(1).standard_normal((1, 33, 2, 64)).astype(numpy.float16)
v = numpy.full((1, 50, 2, 64), 3, numpy.float16)
o = aothip.flash_attn_func(q, numpy.zeros_like(v), v)
print("the mean of threes is", o.min(), o.max())'
	says 'the mean of threes is 3.0 3.0' "the Python module"
}

# A consumer of AOTriton's C++ names, linked with a HIP runtime: AMD's stands before the emulator's.
consumer() {
	consumer=$top/tests/lib/shim/.libs/test_drop_in
	[ -x "$consumer" ] || return
	AOTHIP_ROCM_PRELOAD=`hip_library`:$top/tools/emu/.libs/libhipemu.so rocm "$consumer"
	ok_results out "$suite: a program built for AOTriton"
}

# PyTorch for ROCm, where the suite has it.
torch() {
	[ -x "$top/rocm-$suite/usr/bin/python3.14" ] || return
	AOTHIP_KFD_LOG=1 rocm python3 "$srcdir/tests/tools/emu/kfd/torch_on_rocm.py"
	ok_results out "$suite: PyTorch for ROCm"
	says 'dispatch attn_bwd_dkdv_f16_d64' "whose attention is aothip's"
}

# A stream that may use two compute units takes longer by the clock than one that may use all.
masks() {
	AOTHIP_EMU_TIME=1 rocm "$here/same_calls" masked $objects.gfx90a.co
	all=`sed -n 's/^hipemu: reverse on gfx90a[^ ]*: \([0-9]*\) cycles.*/\1/p' out | head -1`
	two=`sed -n 's/^hipemu: reverse on gfx90a[^ ]*: \([0-9]*\) cycles.*/\1/p' out | tail -1`
	[ "${all:-0}" -gt 0 ] && [ "$two" -gt $((all * 4)) ]
	ok "$suite: two compute units take $two cycles, all $all"
}

# aothip-check with code objects that damaged_objects.c, between the library and AMD's, has changed.
check_with() { # DAMAGE
	[ -f damaging-$suite.so ] || $compiler -shared -fPIC -O1 -o damaging-$suite.so "$srcdir/tests/tools/emu/kfd/damaged_objects.c" \
		-Wl,--no-as-needed,--allow-shlib-undefined "`hip_library`" -ldl || exit 99
	DAMAGE=$1 AOTHIP_HIP_LIBRARY=$work/damaging-$suite.so rocm "$top/tools/.libs/aothip-check" --quick
}

damaged() {
	for damage in none cut machine symtab code notes; do
		check_with $damage
		case $damage-$suite in
		none-*) says '12 of 12 cases passed' "aothip-check with code as it is" ;;
		cut-experimental | cut-resolute | machine-* | notes-*) says "The HIP runtime does not take the kernels' code" "with code whose $damage is wrong" ;;
		cut-* | symtab-*) says 'a crash in case 1 on device 0, most likely in the HIP runtime' "with code whose $damage is wrong" ;;
		code-experimental | code-resolute) says 'failed with hipErrorLaunchFailure' "with instructions that are none" ;;
		code-*) says 'the HIP runtime ended the program, in case 1 on device 0' "with instructions that are none" ;;
		esac
	done
}

# What the runtime reports of what is wrong.
faults() {
	rocm "$here/same_calls" one $objects.gfx942.co -
	case $suite in
	bookworm | trixie) says 'module: hipErrorSharedObjectInitFailed' "an object of another GPU" ;;
	*) says 'module: hipErrorNoBinaryForGpu' "an object of another GPU" ;;
	esac
	rocm "$here/same_calls" one $objects.gfx90a.co touch
	case $suite in
	experimental | resolute) says 'wait: hipErrorIllegalAddress' "a kernel that leaves memory" ;;
	*) says 'Memory access fault by GPU node-1' "a kernel that leaves memory" ;;
	esac
	says 'write of 4 bytes at 0x' "which the emulator explains"
	AOTHIP_EMU_LIMIT=1000000 timeout 20 "$srcdir/tools/rocm" "$suite" "$here/same_calls" one $objects.gfx90a.co endless >out 2>&1
	case $suite in
	bookworm) says 'endless loop' "a kernel without end: only the emulator says so" ;;
	experimental | resolute) says 'wait: hipErrorLaunchFailure' "a kernel without end" ;;
	*) says 'reason :GPU Hang' "a kernel without end" ;;
	esac
	AOTHIP_EMU_MODE=strict rocm "$here/same_calls" one $objects.gfx90a.co reverse_race
	says 'kernel reverse_race' "a barrier too few, in strict mode"
	head -c 3000 $objects.gfx90a.co >cut.co
	rocm "$here/same_calls" one cut.co -
	! grep -q 'module: hipSuccess' out
	ok "$suite: a damaged object is not taken"
	grep -o 'module: .*\|what(): .*' out | sed 's/^/# /'
	true
	objcopy=`command -v llvm-objcopy || command -v llvm-objcopy-19` || return
	"$objcopy" --strip-all $objects.gfx90a.co stripped.co || exit 99
	rocm "$here/same_calls" one stripped.co -
	! grep -q 'module: hipSuccess' out
	ok "$suite: nor one without .symtab"
	grep -o 'module: .*' out | sed 's/^/# /'
	true
}

for suite in ${ROCM_SUITES:-bookworm trixie sid experimental resolute}; do
	if [ ! -f "$top/rocm-$suite/complete" ]; then
		skip "$suite" "it is not there; tools/rocm $suite fetches it"
		continue
	fi
	gpus
	calls
	faults
	if [ $suite = bookworm ]; then # which refuses aothip's kernels
		rocm "$top/tools/.libs/aothip-check" --quick
		says 'HIP 5.2 and older take none of that version' "aothip-check says why"
		check_with version
		says '12 of 12 cases passed' "all it refuses is the number of the version: called 4, the same code runs"
		continue
	fi
	masks
	stream_claims
	programs
	consumer
	torch
	damaged
	for gpu in ${ROCM_GPUS-}; do
		AOTHIP_EMU_GPU=$gpu rocm "$top/tools/.libs/aothip-check"
		case $gpu in gfx942 | gfx950 | gfx120?) cases=41 ;; *) cases=39 ;; esac
		says "$cases of $cases cases passed" "aothip-check as $gpu"
	done
done
plan
