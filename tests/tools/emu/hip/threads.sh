#!/bin/sh
# The library and the emulator under ThreadSanitizer: the HIP surface, the library's context shared by eight
# threads, and attention in strict mode on four emulated GPUs, by eight threads on cold caches, each launch
# spread over two more. Then a lock is taken out of the emulator, and the sanitizer has to notice.
#
# Run by `make check-threads`, or by hand at the top of a built tree with srcdir set to the source tree;
# builds what it needs in threads/ there, with the compiler in CC. Takes minutes.
srcdir=`cd "${srcdir:-.}" && pwd`
. "$srcdir/tests/tap.sh"
top=`pwd`
MAKE=${MAKE:-make}
CC=${CC:-cc}
surface=tests/tools/emu/hip/test_hip_surface
programs="$surface tests/tools/emu/hip/test_hip_streams tests/lib/test_api tests/lib/test_end_to_end"
log=$top/threads/log
shown=$log

build() {
	[ -f Makefile ] || "$srcdir/configure" -q --disable-maintainer-mode --enable-sanitize=thread \
		--with-clang="${DEVICE_CLANG:-clang-19}" CC="$CC" || return
	$MAKE tools/emu/libhipemu.la $programs || return
	$MAKE -s tests/tools/emu/hip/emu_kernels.gfx90a.co tests/tools/emu/hip/emu_kernels.gfx942.co \
		tests/tools/emu/hip/emu_kernels.gfx1100.co tests/tools/emu/hip/emu_kernels.gfx1151.co \
		tests/tools/emu/hip/emu_kernels.gfx1201.co
}

# The emulator without the lock around the counters of a launch, in planted/.
plant() {
	rm -rf planted && mkdir planted && cp "$srcdir"/tools/emu/*/*.[ch] "$srcdir"/tools/emu/*/*.def planted/ || return
	sed '/pthread_mutex_.*lock(&t->run->lock);/d' "$srcdir/tools/emu/run/run_launch.c" >planted/run_launch.c
	! cmp -s planted/run_launch.c "$srcdir/tools/emu/run/run_launch.c" || return
	# shellcheck disable=SC2086 # preprocessor options
	$CC -std=gnu11 -O1 -g -w -fPIC -fsanitize=thread -D__HIP_PLATFORM_AMD__ ${HIP_CPPFLAGS-} -I"$srcdir/include" \
		-I"$srcdir/lib/runtime" -c planted/run_launch.c -o planted/run_launch.o &&
		$CC -shared -fsanitize=thread planted/run_launch.o -Wl,--allow-multiple-definition \
			-Wl,--whole-archive tools/emu/.libs/libemu.a -Wl,--no-whole-archive -lm -lpthread -lzstd \
			-Wl,--version-script="$srcdir/tools/emu/hipemu.map" -o planted/libhipemu.so
}

mkdir -p threads && cd threads || exit 1
build >"$log" 2>&1
ok "library, emulator and tests build with -fsanitize=thread"
if [ $failed -eq 0 ]; then
	[ ! -d "$top/images/aotriton.images" ] || {
		mkdir -p images && ln -sfn "$top/images/aotriton.images" images/aotriton.images
	}
	for program in $programs; do
		AOTHIP_EMU_THREADS=2 AOTHIP_EMU_MODE=strict $program >"$log" 2>&1
		status=$?
		if grep -q '^1\.\.0 # SKIP' "$log"; then
			skip "$program" "`sed -n 's/^1\.\.0 # SKIP //p' "$log"`"
		else
			[ $status -eq 0 ]
			ok_results "$log" "$program: no race"
		fi
	done
	plant >"$log" 2>&1
	ok "an emulator without a lock builds"
	# its launches have several workgroups, so that both threads of one have something to count
	AOTHIP_EMU_THREADS=2 LD_LIBRARY_PATH=planted "`dirname $surface`/.libs/`basename $surface`" >"$log" 2>&1
	grep -q 'ThreadSanitizer: data race' "$log"
	ok "its race is found"
fi
plan
