#!/bin/sh
# The library's own tests, of its rooms and its API, under Wine. Not
# among the tests of make check; make check-windows runs it in the build, after tools/windows.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
WINEPREFIX=$PWD/windows/prefix WINEDEBUG=-all LC_ALL=C.UTF-8 TMPDIR=$work
export WINEPREFIX WINEDEBUG LC_ALL TMPDIR
# Sources are compiled with what stands for POSIX there, and linked with the library's objects.
cat >"$work/testing.h" <<'H'
#include <direct.h>
#include "posix_mingw.h"
#undef main
#define unsetenv(name) _putenv(name "=")
#define mkfifo(path, mode) (-1)
#define geteuid() 0
#define remove(path) (_rmdir(path) && _unlink(path))
static inline char *mkdtemp(char *path)
{
    return _mktemp(path) && !_mkdir(path) ? path : NULL;
}
H
library_test() { # SOURCE [FLAG...]: runs it; its output in $work/out
    source=$srcdir/tests/lib/$1
    shift
    x86_64-w64-mingw32-gcc -std=gnu11 -D_GNU_SOURCE -D__USE_MINGW_ANSI_STDIO=1 -O1 -w -isystem windows/deps/include \
        -D__HIP_PLATFORM_AMD__=1 -include "$work/testing.h" -I"$srcdir/tools/mingw" -I"$srcdir/include" \
        -I"$srcdir/gen/kernel" `find "$srcdir/lib" "$srcdir/tests/lib" -type d | sed 's/^/-I/'` -I"$srcdir/tests" \
        -I"$srcdir/tools/common" -I"$srcdir/tools/ref" "$source" "$srcdir/tests/lib/store/make_image.c" \
        "$srcdir/tests/lib/problem/fake_problem.c" "$@" windows/tools/.libs/libmingw.a \
        windows/lib/.libs/libaothip_core.a -Lwindows/deps/lib -lzstd -lpthread -static -o "$work/test.exe" 2>"$work/said" &&
        wine "$work/test.exe" </dev/null >"$work/out" 2>&1
}
passes() { # COUNT NAME [OTHERWISE]: at least so many checks, all well but for the names OTHERWISE
    tr -d '\r' <"$work/out" | grep '^not ok' | sed 's/^not ok [0-9]* - //' | grep -vxE "${3-}" >"$work/bad"
    [ "`grep -c '^ok' "$work/out"`" -ge "$1" ] && [ ! -s "$work/bad" ]
    ok "$2"
    [ "$good" = ok ] || cat "$work/said" "$work/out" | tr -d '\r' | grep -A2 -E '^not ok|error:|undefined' | sed 's/^/# /' | head -40
}
for name in store/test_bundle store/test_target test_status select/test_args select/test_args_options \
    problem/test_validate problem/test_validate_options select/test_select; do
    library_test $name.c
    passes 40 "$name passes as on other systems"
done
library_test launch/test_plan.c "$srcdir/tests/lib/runtime/fake_hip.c" -Wl,--export-all-symbols
ok 'launch/test_plan passes, with the HIP functions that the program itself exports'
# FIFOs, paths that begin with a slash and the system's own words for errors are other systems'
library_test store/test_store.c
tr -d '\r' <"$work/out" | grep '^not ok' | sed 's/^not ok [0-9]* - //' | grep -vxE \
    'a FIFO in its place|is told and does not hang|it is used as it stands|as it stands|is told|is made absolute' >"$work/found"
empty "$work/found" 'store/test_store passes but for what is not so on Windows'
[ "`grep -c '^ok' "$work/out"`" -ge 210 ]
ok 'and has more than 200 things to say'


# With Windows' own calls of files wrapped, so that allocations are counted and files fail.
wrap=
for name in malloc calloc realloc strdup free ZSTD_createDCtx ZSTD_freeDCtx fclose __imp_CreateFileW \
    __imp_GetFileAttributesW __imp_GetFileSizeEx __imp_ReadFile __imp_FindFirstFileW __imp_FindNextFileW \
    __imp__wmkdir __imp__wfopen __imp__wrename; do
    wrap=$wrap,--wrap=$name
done
faulty() { # COUNT SOURCE OTHERWISE FLAG...
    count_wanted=$1 tested=$2 otherwise=$3
    shift 3
    library_test "$tested.c" "$srcdir/tests/lib/runtime/fake_hip.c" "$srcdir/tests/lib/fault.c" \
        "$srcdir/tests/lib/fault_windows.c" "$@" -Wl,--export-all-symbols "-Wl$wrap"
    passes "$count_wanted" "$tested passes with Windows' calls wrapped" "$otherwise"
}
# paths are spelled otherwise; and the C library's threads and thread-local variables keep memory
faulty 120 test_api 'the directory|AOTHIP_LOG=2 prints the runtime'
faulty 90 runtime/test_limit 'and freed'
faulty 76 test_fault '' "$srcdir/tests/lib/runtime/fake_hip_tools.c"
wineserver -k
plan
