# What the tests of AMD's runtimes on the driver's stand-in share. $top is the build directory. What
# they ran last wrote to the file out.
. "$srcdir/tests/tap.sh"
kfd=$top/tools/emu/.libs/libhipemu-kfd.so
shown=out

skip_all() { # REASON
	echo "1..0 # SKIP $*"
	exit 0
}

begin() { # in $work, as gfx90a, with nothing else set
	case `nm -D "$kfd"` in
	*__asan_init* | *__tsan_init* | *__ubsan_*) skip_all "a sanitizer has to be the first library, and $kfd is preloaded" ;;
	esac
	cd "$work" || exit 99
	ulimit -c 0
	AOTHIP_EMU_GPU=gfx90a
	export AOTHIP_EMU_GPU
	unset AOTHIP_EMU_MATRIX AOTHIP_EMU_COUNTERS AOTHIP_EMU_SEED AOTHIP_EMU_LIMIT AOTHIP_EMU_WAITS AOTHIP_KFD_LOG \
		HSA_ENABLE_SDMA HSA_OVERRIDE_GFX_VERSION LD_PRELOAD
}
