#!/bin/sh
# AMD's own runtime, as Debian ships it, on the driver's stand-in: rocminfo, a HIP program, and what
# the runtime says of objects and kernels that are wrong. Run from the build directory.
# Other releases are rocm_releases.sh's.
top=`pwd`
srcdir=`cd "${srcdir:-.}" && pwd`
. "$srcdir/tests/tools/emu/kfd/kfd_test_lib.sh"
client=$top/tests/tools/emu/kfd/hip_client
object=$top/tests/tools/emu/kfd/kernels_v4.gfx90a.co
other=$top/tests/tools/emu/kfd/kernels_v4.gfx942.co

release=`dpkg-query -W -f '${Version}' libamdhip64-5 2>/dev/null` ||
	skip_all "Debian's package libamdhip64-5, which is AMD's HIP runtime, is not installed"
case $release in
5.2*) ;;
*) skip_all "libamdhip64-5 is of release $release; known here is 5.2" ;;
esac
[ -x "$client" ] || skip_all "the HIP program was not built: there was no libamdhip64.so.5 to link it against"
begin
on_driver() { # COMMAND...: its output in the file out
	LD_PRELOAD=$before$kfd timeout 60 "$@" >out 2>&1
}
says() { # TEXT WHAT
	grep -qF -- "$1" out
	ok "$2"
}

# rocminfo asks lsmod for the driver's module, and lsmod reads /proc/modules.
if command -v rocminfo >/dev/null 2>&1; then
	mkdir bin && printf '#!/bin/sh\nexec cat /proc/modules\n' >bin/lsmod && chmod +x bin/lsmod || exit 99
	PATH=$work/bin:$PATH on_driver rocminfo
	ok "rocminfo lists the system"
	says 'amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-' "with the GPU"
	says 'Wavefront Size:          64(0x40)' "its wave size"
	says 'Compute Unit:            110' "its compute units"
	says 'Size:                    67108864(0x4000000) KB' "and its memory"
	AOTHIP_EMU_GPU=gfx90a,gfx90a PATH=$work/bin:$PATH on_driver rocminfo
	[ "`grep -c 'Device Type:             GPU' out`" -eq 2 ]
	ok "two GPUs, when two are asked for"
else
	echo "# rocminfo is not installed"
fi

on_driver "$client" gfx90a "$object"
ok_results out 'a HIP program'
grep '^not ok' out | sed 's/^/# /'
HSA_ENABLE_SDMA=0 on_driver "$client" gfx90a "$object"
ok "the same with the runtime's copying kernels in place of SDMA"

# Strict mode, counters and the clock, as in libhipemu.so.
AOTHIP_EMU_MODE=strict on_driver "$client" gfx90a "$object"
ok "the same in strict mode"
AOTHIP_EMU_MODE=strict on_driver "$client" reverse_race "$object"
[ $? -eq 134 ]
ok "in strict mode a barrier too few ends the process"
says 'kernel reverse_race' "with the emulator's report"
says 'HSA_STATUS_ERROR_EXCEPTION' "and AMD's"
on_driver "$client" reverse_race "$object"
says hipSuccess "in plain mode nobody sees it"
AOTHIP_EMU_MODE=strict on_driver "$client" copy_one "$object"
says 'stores a value that was never computed' "in strict mode memory that nobody wrote is noticed"
AOTHIP_EMU_MODE=strikt on_driver "$client" gfx90a "$object"
says 'AOTHIP_EMU_MODE=strikt is not one of: plain strict' "a mode that there is not is named"
AOTHIP_EMU_COUNTERS=$work/counters.json AOTHIP_EMU_TIME=1 on_driver "$client" gfx90a "$object"
ok "counters and the clock"
says 'hipemu: add on gfx90a:' "which says how long a kernel takes"
grep -q '"kernel": "add", "device": 0, "target": "gfx90a:sramecc+:xnack-", "grid": \[391, 1, 1\]' counters.json
ok "the counters file has the launch"
grep -q '"bytes_stored": 400000' counters.json
ok "and what it stored"

# What is wrong, and what AMD's runtime makes of it.
on_driver "$client" try "$object"
says hipSuccess "an object that is right"
on_driver "$client" try "$other"
says hipErrorSharedObjectInitFailed "an object of another GPU"
if objcopy=`command -v llvm-objcopy || command -v llvm-objcopy-19`; then
	"$objcopy" --strip-all "$object" stripped.co || exit 99
	on_driver "$client" try stripped.co
	case $? in
	0) says hipError "an object without .symtab is refused" ;;
	139) true && ok "an object without .symtab brings the runtime down" ;;
	*) false || ok "an object without .symtab is not taken" ;;
	esac
fi
on_driver "$client" stray "$object"
[ $? -eq 134 ]
ok "a kernel that writes beyond memory ends the process"
says 'Memory access fault by GPU node-1' "with AMD's report"
says 'write of 4 bytes at 0x' "and the emulator's"
says 'kernel touch' "which names the kernel"
plan
