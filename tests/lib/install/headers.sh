#!/bin/sh
# Every public header compiles alone: aothip.h as C99 to C++20, those of every AOTriton release as
# C++17, C++20 and HIP. Numbers such as "16.1 #4" are lines of the checklist for drop-in libraries.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"

compile() { # NAME COMPILER FLAGS... HEADER: one that includes only the header
    name=$1
    shift
    for header; do :; done
    case $name in
    *++*) source=$work/alone.cc ;;
    *) source=$work/alone.c ;;
    esac
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" >"$source"
    compiler=$1
    shift
    set -- "$@" # the last one is the header itself
    flags=
    while [ $# -gt 1 ]; do
        flags="$flags $1"
        shift
    done
    if ! command -v $compiler >/dev/null; then
        skip "$name, $header" "no $compiler"
        return
    fi
    $compiler $flags -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -I"$srcdir/include" \
        "$source" >"$work/messages" 2>&1
    ok "$name, $header"
    sed 's/^/# /' "$work/messages"
}

for compiler in gcc clang-19; do
    for standard in c99 c11; do
        compile "$compiler -std=$standard" $compiler -std=$standard aothip/aothip.h
    done
done
for compiler in g++ clang++-19; do
    for standard in c++17 c++20; do
        compile "$compiler -std=$standard" $compiler -std=$standard aothip/aothip.h
    done
done

# aotriton/*.h of every release: each alone; flash.h, which includes the others, in every way that
# consumers compile, and so the others of the first and the last release
cxx() { # VERSION COMPILER FLAGS... HEADER
    version=$1
    shift
    if ! command -v $1 >/dev/null; then
        skip "$version: 16.1 #4: $*" "no $1"
        return
    fi
    for header; do :; done
    printf '#include <aotriton/%s>\n#include <aotriton/%s>\nint main() { return 0; }\n' \
        "$header" "$header" >"$work/alone.cc"
    name=$*
    compiler=$1
    shift
    flags=
    while [ $# -gt 1 ]; do
        flags="$flags $1"
        shift
    done
    $compiler $flags -Wall -Wextra -Wpedantic -Werror -fsyntax-only -D__HIP_PLATFORM_AMD__ \
        -I"$work/$version" -I"$srcdir/include" "$work/alone.cc" >"$work/messages" 2>&1
    ok "$version: 16.1 #4: $name"
    sed 's/^/# /' "$work/messages"
}
for version in 0.8.2 0.9.2 0.10.0 0.11.2 0.12.1 0.13.0 0.14.0; do
    mkdir -p "$work/$version/aotriton"
    set -- `echo $version | tr . ' '`
    sed -e "s/@AOTRITON_MAJOR@/$1/" -e "s/@AOTRITON_MINOR@/$2/" -e "s/@AOTRITON_PATCH@/$3/" \
        -e 's/@AOTRITON_ENABLE_SUFFIX@/0/' -e 's/@AOTRITON_NAME_SUFFIX@//' \
        "$srcdir/include/aotriton/config.h.in" >"$work/$version/aotriton/config.h"
    for file in config dtypes runtime util cpp_tune; do
        cxx $version g++ -std=c++17 $file.h
        case $version in
        0.8.2 | 0.14.0)
            cxx $version g++ -std=c++20 $file.h
            cxx $version clang++-19 -std=c++17 $file.h
            cxx $version clang++-19 -x hip -nogpuinc -nogpulib --offload-host-only \
                -std=c++17 $file.h
            ;;
        esac
    done
    cxx $version g++ -std=c++17 flash.h
    cxx $version g++ -std=c++20 flash.h
    cxx $version clang++-19 -std=c++17 flash.h
    cxx $version clang++-19 -std=c++20 flash.h
    cxx $version clang++-19 -x hip -nogpuinc -nogpulib --offload-host-only -std=c++17 flash.h
    # hipcc itself includes <cstdlib> first
    cxx $version clang++-19 -x hip -nogpuinc -nogpulib -include cstdlib \
        --offload-device-only --offload-arch=gfx942 -std=c++20 flash.h
done

cat >"$work/version.cc" <<'EOF'
#include <aotriton/config.h>
#if !(AOTRITON_VERSION_MAJOR * 100 + AOTRITON_VERSION_MINOR >= 8) || AOTRITON_VERSION_PATCH > 9
#error version
#endif
#define TEXT_OF(token) #token
#define TEXT(token) TEXT_OF(token)
static_assert(sizeof(TEXT(AOTRITON_NS)) ==
                  sizeof("aotriton") + sizeof(TEXT(AOTRITON_NAME_SUFFIX)) - 1, "namespace");
static_assert((sizeof(TEXT(AOTRITON_NAME_SUFFIX)) > 1) == AOTRITON_ENABLE_SUFFIX, "suffix");
AOTRITON_API int exported;
EOF
$CXX -std=c++17 -fsyntax-only -Iinclude -I"$srcdir/include" "$work/version.cc" >"$work/messages" 2>&1
ok '16.1 #5: the version works in #if; namespace, suffix and AOTRITON_API are there'
sed 's/^/# /' "$work/messages"
plan
