#!/bin/sh
# find_package(aotriton), find_package(aothip) and pkg-config from an installed tree that was moved.
# Numbers such as "16.1 #6" are lines of the checklist for drop-in libraries.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
if ! command -v cmake >/dev/null; then
    echo '1..0 # SKIP there is no cmake'
    exit 0
fi
src=`cd "$srcdir" && pwd`
moved="$work/some where/prefix"
mkdir -p "$moved/lib/cmake/aotriton" "$moved/lib/cmake/aothip" "$moved/lib/pkgconfig" \
    "$moved/include/aotriton"
cp -P lib/.libs/libaothip.so* lib/.libs/libaotriton*_v2.so* "$moved/lib"
cp lib/cmake/aotriton-config*.cmake "$moved/lib/cmake/aotriton"
cp lib/cmake/aothip-config*.cmake "$moved/lib/cmake/aothip"
cp lib/aothip.pc "$moved/lib/pkgconfig"
cp -R "$src/include/aotriton" "$src/include/aothip" "$moved/include"
cp include/aotriton/config.h "$moved/include/aotriton"

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 17)
# the consumer's find_package(hip), reduced to the two targets that it makes
add_library(hip::host INTERFACE IMPORTED)
set_target_properties(hip::host PROPERTIES INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__=1)
add_library(hip::amdhip64 INTERFACE IMPORTED)
find_package(aotriton 0.8 REQUIRED CONFIG)
find_package(aothip REQUIRED CONFIG)
find_package(aotriton 99 QUIET CONFIG)
if(aotriton_FOUND)
  message(FATAL_ERROR "a version from the future was found")
endif()
add_executable(cxx consumer.cc)
target_link_libraries(cxx aotriton_v2 aothip::aothip)
add_executable(c consumer.c)
target_link_libraries(c aothip::aothip)
EOF
cat >"$work/project/consumer.cc" <<'EOF'
#include <aotriton/flash.h>
#include <aothip/aothip.h>
#include <cstdio>
int main()
{
    const AOTRITON_NS::TensorView<2> none;
    std::printf("check_gpu %d\n", AOTRITON_NS::v2::flash::check_gpu(nullptr));
    return none;
}
EOF
cat >"$work/project/consumer.c" <<'EOF'
#include <aothip/aothip.h>
#include <stdio.h>
int main(void)
{
    puts(aothip_version());
    return 0;
}
EOF
CC=$CC CXX=$CXX cmake -S "$work/project" -B "$work/build" -DCMAKE_PREFIX_PATH="$moved" \
    -DCMAKE_CXX_FLAGS="$SANITIZE_FLAGS" -DCMAKE_C_FLAGS="$SANITIZE_FLAGS" >"$work/messages" 2>&1 &&
    cmake --build "$work/build" >>"$work/messages" 2>&1
ok '16.1 #6: a project with both packages, moved, configures and builds'
[ "$good" = ok ] || sed 's/^/# /' "$work/messages"
"$work/build/cxx" >"$work/out" 2>&1
grep -q '^check_gpu [1-9]' "$work/out"
ok '16.1 #6: its C++ program runs'
"$work/build/c" >"$work/out" 2>&1
grep -q '^[0-9][0-9.]*$' "$work/out"
ok 'its C program runs'

if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH="$moved/lib/pkgconfig" pkg-config --cflags --libs aothip >"$work/flags"
    # quoted for a shell, like the name of the directory
    eval "$CC $SANITIZE_FLAGS -o '$work/c' '$work/project/consumer.c' `cat "$work/flags"`" \
        >"$work/messages" 2>&1
    ok 'a C program with the flags of pkg-config, moved, compiles'
    sed 's/^/# /' "$work/messages"
    LD_LIBRARY_PATH="$moved/lib" "$work/c" >"$work/out" 2>&1
    grep -q '^[0-9][0-9.]*$' "$work/out"
    ok 'and runs'
else
    skip 'a C program with the flags of pkg-config' 'there is no pkg-config'
fi
plan
