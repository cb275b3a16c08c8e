#!/bin/sh
# Every public header compiles alone: aothip.h as C99 to C++20, the others as C++17 and C++20.
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
        for header in config dtypes runtime util cpp_tune flash v2/flash; do
            compile "$compiler -std=$standard" $compiler -std=$standard -D__HIP_PLATFORM_AMD__ \
                aotriton/$header.h
        done
    done
done

cat >"$work/version.cc" <<'EOF'
#include <aotriton/config.h>
#if !(AOTRITON_VERSION_MAJOR * 100 + AOTRITON_VERSION_MINOR >= 11)
#error version
#endif
#define TEXT_OF(token) #token
#define TEXT(token) TEXT_OF(token)
static_assert(sizeof(TEXT(AOTRITON_NAME_SUFFIX)) == 1 && AOTRITON_ENABLE_SUFFIX == 0, "suffix");
static_assert(sizeof(TEXT(AOTRITON_NS)) == sizeof("aotriton"), "namespace");
EOF
$CXX -std=c++17 -fsyntax-only -Iinclude -I"$srcdir/include" "$work/version.cc" >"$work/messages" 2>&1
ok 'the version works in #if'
sed 's/^/# /' "$work/messages"
plan
