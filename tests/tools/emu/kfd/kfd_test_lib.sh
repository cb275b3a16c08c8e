# What the tests of AMD's runtimes on the driver's stand-in share. $top is the build directory. What
# they ran last wrote to the file out.
. "$srcdir/tests/tap.sh"
kfd=$top/tools/emu/.libs/libhipemu-kfd.so
shown=out

skip_all() { # REASON
	echo "1..0 # SKIP $*"
	exit 0
}

# In $work, as gfx90a, with nothing else set. Afterwards $before has the sanitizers' libraries, if
# $kfd is built with them: they have to come before it.
begin() { # [other]: what follows runs with another C library, to which this system's sanitizers are strangers
	before=`ldd "$kfd" | sed -n 's/.* => \([^ ]*\/lib[^ ]*\(a\|ub\)san[^ ]*\) .*/\1/p' | tr '\n' ' '`
	case `nm -D "$kfd"`-$before-${1-} in
	*__tsan_init* | *__asan_init*-other | *__asan_init*--) skip_all "a sanitizer has to be the first library, and $kfd is preloaded" ;;
	esac
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0:handle_segv=0:handle_abort=0 # AMD's
	export ASAN_OPTIONS
	cd "$work" || exit 99
	ulimit -c 0
	AOTHIP_EMU_GPU=gfx90a
	export AOTHIP_EMU_GPU
	unset AOTHIP_EMU_MATRIX AOTHIP_EMU_COUNTERS AOTHIP_EMU_SEED AOTHIP_EMU_LIMIT AOTHIP_EMU_WAITS AOTHIP_KFD_LOG \
		HSA_ENABLE_SDMA HSA_OVERRIDE_GFX_VERSION LD_PRELOAD
}
