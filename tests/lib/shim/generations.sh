#!/bin/sh
# libaotriton_v2.so as each AOTriton release that it can stand in for: what it hands on to the C
# API, its exact export list, its SONAME, and consumers compiled in several ways against its
# headers. Numbers such as "16.1 #1" are lines of the checklist for drop-in libraries.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
suffix=`configured AOTRITON_SUFFIX`
clang=`command -v clang++-19 || command -v clang++`
[ -z "$SANITIZE_FLAGS" ] || clang= # two compilers' sanitizers do not mix in one process
[ -n "$clang" ] || skip '16.2 #14: consumers by clang++' 'there is none, or sanitizers are on'

exports() { # VERSION LIBRARY
    release_names $1 | LC_ALL=C sort >"$work/wanted"
    $NM -D --defined-only "$2" | sed "s/^[0-9a-f]* //; $unsuffix" | LC_ALL=C sort >"$work/exported"
    diff "$work/wanted" "$work/exported" >"$work/diff"
    empty "$work/diff" "$1: 16.1 #11, 16.2 #19: exports exactly that release's names"
    if command -v readelf >/dev/null; then
        LC_ALL=C readelf -d "$2" | grep -q "SONAME.*\[${2##*/}\]"
        ok "$1: 16.1 #1, #2: its SONAME is its file name"
    fi
}
namespace=aotriton$suffix
unsuffix="s/${#namespace}$namespace/8aotriton/"

consumer() { # VERSION COMPILER FLAGS...
    version=$1 name="$2 $3 $4"
    shift
    "$@" -Wall -Wextra -Werror -Wno-missing-field-initializers -D__HIP_PLATFORM_AMD__ \
        $SANITIZE_FLAGS -I"$abi/$version/include" -I"$srcdir/include" \
        "$srcdir/tests/lib/shim/consumer.cc" "$srcdir/tests/lib/shim/members.cc" \
        -o "$work/consumer" \
        "$abi/$version/libaotriton${suffix}_v2.so" "-Wl,-rpath,$here/$abi/$version" \
        >"$work/messages" 2>&1 && "$work/consumer" >>"$work/messages" 2>&1
    ok "$version: 16.2 #14, #16: a consumer by $name"
    [ "$good" = ok ] || sed 's/^/# /' "$work/messages"
    # what it takes from the library, the release's own has too
    release_names $version | sed 's/^. //' | LC_ALL=C sort >"$work/offered"
    $NM -u "$work/consumer" | sed "s/^ *[A-Za-z] //; s/@.*//; $unsuffix" | grep 8aotriton |
        LC_ALL=C sort | LC_ALL=C comm -23 - "$work/offered" >"$work/lacking"
    empty "$work/lacking" "$version: 16.2 #15: would link with the release itself"
}

line_of() { # VERSION: which line of 16.5 is about it
    case $1 in
    0.8.*) echo 38 ;;
    0.9.*) echo 39 ;;
    0.10.*) echo 40 ;;
    0.11.*) echo 41 ;;
    0.12.*) echo 42 ;;
    0.13.*) echo 43 ;;
    *) echo 44 ;;
    esac
}

abi=lib/.libs/aotriton-abi
here=`pwd`
versions='0.8.2 0.9.2 0.10.0 0.11.2 0.12.1 0.13.0 0.14.0'
[ -z "$SANITIZE_FLAGS" ] || versions='0.8.2 0.11.2 0.13.0 0.14.0' # of one source, which is slow to compile
for version in $versions; do
    library=$abi/$version/libaotriton${suffix}_v2.so
    make -s "$library" "tests/lib/abi/$version/test_shim_calls" >"$work/messages" 2>&1
    ok "$version: 16.2 #13: library and test compile, with every layout as asserted"
    [ "$good" = ok ] || { sed 's/^/# /' "$work/messages"; continue; }
    "tests/lib/abi/$version/test_shim_calls" >"$work/out" 2>&1
    ok_results "$work/out" "$version: what is handed on"
    grep -A3 '^not ok' "$work/out" | sed 's/^/# /'
    line=`line_of $version`
    if [ -d images/aotriton.images/amd-gfx942 ]; then
        make -s "tests/lib/abi/$version/test_drop_in" >"$work/messages" 2>&1 &&
            AOTHIP_EMU_GPU=gfx942 "tests/lib/abi/$version/test_drop_in" >"$work/out" 2>&1
        ok_results "$work/out" "$version: 16.5 #$line: results on an emulated GPU"
        [ "$good" = ok ] || { cat "$work/messages"; grep -A3 '^not ok' "$work/out"; } | sed 's/^/# /'
    else
        skip "$version: 16.5 #$line: results" 'there are no images of gfx942'
    fi
    exports $version "$library.$version"
    consumer $version $CXX -std=c++17 -O0
    [ -z "$clang" ] || consumer $version "$clang" -std=c++20 -O2
done
# the other pairs of compiler, standard and level, and what differs between point releases
consumer 0.8.2 $CXX -std=c++20 -O2
consumer 0.14.0 $CXX -std=c++20 -O2
[ -z "$clang" ] || consumer 0.11.2 "$clang" -std=c++17 -O0
make -s "$abi/0.12.0/libaotriton${suffix}_v2.so" >"$work/messages" 2>&1
ok '0.12.0: the library compiles'
exports 0.12.0 "$abi/0.12.0/libaotriton${suffix}_v2.so.0.12.0"

# others in one process: of another generation, and of the same with a suffix
make -s AOTRITON_SUFFIX=abc aotriton_abi=lib/.libs/aotriton-abi-abc \
    lib/.libs/aotriton-abi-abc/0.12.1/libaotritonabc_v2.so >"$work/messages" 2>&1
ok '16.1 #10: a build with a suffix'
[ "$good" = ok ] || sed 's/^/# /' "$work/messages"
suffixed=lib/.libs/aotriton-abi-abc/0.12.1
$NM -D --defined-only "$suffixed/libaotritonabc_v2.so.0.12.1" | sed 's/^[0-9a-f]* . //' |
    grep -v '^_ZNK\{0,1\}11aotritonabc' >"$work/foreign"
empty "$work/foreign" '16.1 #10: all its names are in the namespace with the suffix'
grep -q '^#define AOTRITON_ENABLE_SUFFIX 1$' "$suffixed/include/aotriton/config.h" &&
    grep -q '^#define AOTRITON_NAME_SUFFIX abc$' "$suffixed/include/aotriton/config.h"
ok '16.1 #5: as config.h says'
$CC $SANITIZE_FLAGS -o "$work/two_builds" "$srcdir/tests/lib/shim/two_builds.c" -ldl \
    >"$work/messages" 2>&1 &&
    "$work/two_builds" "$here/$abi/0.11.2/libaotriton${suffix}_v2.so.0.11.2" "$namespace" 768 \
        "$here/$abi/0.13.0/libaotriton${suffix}_v2.so.0.13.0" "$namespace" 832 \
        "$here/$suffixed/libaotritonabc_v2.so.0.12.1" aotritonabc 832 >>"$work/messages" 2>&1
ok '16.1 #10, 16.2 #16: two generations and one with a suffix in one process'
[ "$good" = ok ] || sed 's/^/# /' "$work/messages"

# before 0.8 there were static libraries alone, which are no aim
src=`cd "$srcdir" && pwd`
(cd "$work" && "$src/configure" --with-aotriton-abi=0.4.0 CC="$CC" CXX="$CXX") >"$work/messages" 2>&1
grep -q 'aotriton-abi=0.4.0 is not known' "$work/messages"
ok '16.5 #37: a release that is no aim is refused by configure'
skip '16.5 #46: PyTorch'"'"'s own suites' 'they need a PyTorch for ROCm and a GPU'
plan
