#!/bin/sh
# AOTriton's C++ names in Microsoft's ABI: what the shim defines when clang compiles it for
# x86_64-pc-windows-msvc, against what AOTriton defines and what a caller's object asks for. Of the C++
# library only the declarations below are known here; where they are part of a name (std::array is a
# class there) they are as Microsoft's. How the library is made with Microsoft's headers, which cannot be
# had here, stands in tools/mingw/README.md.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
tool() { # NAME: of the LLVM that compiles, or of another one
    for name in "$1-19" "$1-22" "$1"; do
        command -v "$name" && return
    done
    return 1
}
if ! clang=`tool clang` || ! nm=`tool llvm-nm` || ! undname=`tool llvm-undname`; then
    skip 'names of Windows' 'there is no clang with llvm-nm and llvm-undname'
    plan
fi
std=$work/std
mkdir -p "$std/hip"
cat >"$std/cstdint" <<'H'
#include <stdint.h>
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;
}
H
cat >"$std/cstddef" <<'H'
#include <stddef.h>
namespace std { using ::size_t; }
H
cat >"$std/cstdlib" <<'H'
#include <cstddef>
extern "C" { void *malloc(size_t); void free(void *); unsigned long strtoul(const char *, char **, int); }
namespace std { using ::malloc; using ::free; using ::strtoul; }
H
cat >"$std/cstring" <<'H'
#include <cstddef>
extern "C" { void *memset(void *, int, size_t); int strcmp(const char *, const char *); }
namespace std { using ::memset; using ::strcmp; }
H
cat >"$std/array" <<'H'
#pragma once
#include <cstddef>
namespace std {
template <class T> class initializer_list {
    const T *first, *last;
public:
    constexpr const T *begin() const { return first; }
    constexpr const T *end() const { return last; }
};
template <class T, size_t N> class array {
public:
    T elements[N];
    constexpr T &operator[](size_t i) { return elements[i]; }
    constexpr const T &operator[](size_t i) const { return elements[i]; }
    constexpr const T *data() const { return elements; }
};
}
H
cat >"$std/atomic" <<'H'
#pragma once
namespace std {
enum memory_order {
    memory_order_relaxed, memory_order_acquire = 2, memory_order_release, memory_order_acq_rel
};
template <class T> struct atomic {
    T value;
    T load(memory_order) const;
    void store(T, memory_order);
    bool compare_exchange_strong(T &, T, memory_order, memory_order = memory_order_acquire);
};
}
H
cat >"$std/mutex" <<'H'
#pragma once
namespace std {
struct mutex { void *state; };
template <class T> struct lock_guard {
    explicit lock_guard(T &);
    ~lock_guard();
};
}
H
cat >"$std/hip/hip_runtime_api.h" <<'H'
#pragma once
#include <cstddef>
enum hipError_t {
    hipSuccess, hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorInsufficientDriver, hipErrorNoDevice,
    hipErrorInvalidImage, hipErrorNoBinaryForGpu, hipErrorFileNotFound, hipErrorInvalidSymbol,
    hipErrorNotSupported, hipErrorStreamCaptureUnsupported, hipErrorUnknown
};
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
enum hipStreamCaptureStatus { hipStreamCaptureStatusNone, hipStreamCaptureStatusActive };
enum hipStreamCaptureMode { hipStreamCaptureModeRelaxed };
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
#define hipStreamPerThread ((hipStream_t)2)
H
compile() { # OUTPUT FLAG...: what stands on standard input
    output=$1
    shift
    "$clang" --target=x86_64-pc-windows-msvc -fms-extensions -ffreestanding -std=c++17 -fno-exceptions -O1 \
        -Iinclude -I"$srcdir/include" -I"$srcdir/lib" -I"$srcdir/lib/status" -I"$srcdir/lib/shim" \
        -isystem "$std" -Wno-dllexport-explicit-instantiation-decl "$@" -x c++ -c - -o "$output" 2>"$work/said"
}
for file in "$srcdir"/lib/shim/*.cc; do
    echo "#include \"`cd "${file%/*}" && pwd`/${file##*/}\""
done >"$work/all"
compile "$work/shim.obj" -Daotriton_v2_EXPORTS <"$work/all"
ok 'the shim compiles for x86_64-pc-windows-msvc'
sed 's/^/# /' "$work/said" | head -20

# As PyTorch calls: by the headers alone.
compile "$work/caller.obj" <<'C'
#include <aotriton/flash.h>
namespace ao = AOTRITON_NS;
extern "C" const void *const called[] = {
    (const void *)&ao::v2::flash::attn_fwd, (const void *)&ao::v2::flash::attn_bwd,
    (const void *)&ao::v2::flash::attn_fwd_compact_varlen, (const void *)&ao::v2::flash::attn_bwd_compact_varlen,
    (const void *)&ao::v2::flash::attn_bwd_fused, (const void *)&ao::v2::flash::check_gpu,
    (const void *)&ao::v2::flash::debug_simulate_encoded_softmax,
    (const void *)&ao::v3::flash::attn_fwd, (const void *)&ao::v3::flash::attn_bwd,
    (const void *)&ao::v3::flash::aiter_bwd, (const void *)&ao::getGpuFromStream,
    (const void *)&ao::isArchExperimentallySupported, (const void *)&ao::getMultiProcessorCount,
};
extern "C" int construct(ao::TensorView<4> *view)
{
    ao::v3::flash::attn_fwd_params forward;
    ao::v3::flash::attn_bwd_params backward;
    *view = forward.Q;
    return backward.causal_type;
}
C
ok 'and so does a caller'
sed 's/^/# /' "$work/said" | head -20
names() { # KIND OBJECT
    "$nm" -g "$1" "$2" | sed 's/^[0-9a-f ]* [A-Za-z] //' | grep aotriton | sort -u
}
names --defined-only "$work/shim.obj" >"$work/defined"
names --undefined-only "$work/caller.obj" >"$work/asked"
comm -13 "$work/defined" "$work/asked" >"$work/found"
[ "`wc -l <"$work/asked"`" -ge 13 ]
ok 'which asks for the functions'
empty "$work/found" 'all of which the shim defines, by the same names'

# The release's own list, in the other ABI: the same functions with the same parameters.
abi=`configured AOTRITON_VERSION`
release_names "$abi" >"$work/release"
python3 - "$work" "$undname" <<'P' >"$work/found"
import re, subprocess, sys
work, undname = sys.argv[1:]
def demangle(tool, names):
    return subprocess.run(tool, input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
def plain(text):
    """namespace::function(parameters), without what only one of the two demanglers says"""
    text = re.sub(r"\b(enum|class|struct|__cdecl|public:|static) ?", "", text)
    text = re.sub(r"\b__int64\b", "long", text).replace("(void)", "()")
    text = re.sub(r"(\d)ul\b", r"\1", text)
    text = re.sub(r" ([&*])", r"\1", text)
    text = re.sub(r"\b(\w+)<(\d+)>::\1<\2>\(", r"\1<\2>::\1(", text)
    name = re.search(r"(aotriton\w*::[\w:<>]*?(operator bool|\w+))\(", text)
    return text[name.start():].strip() if name else None
mangled = [line.split()[1] for line in open(work + "/release")]
release = {plain(t) for t in demangle(["c++filt"], mangled)} - {None}
ours = {plain(t) for t in demangle([undname], open(work + "/defined").read().split())
        if not t.startswith("?")} - {None}
template = {n for n in release if "TensorView<" in n.split("(")[0]}
for name in sorted(release - template - ours):
    print("lacking:", name)
if len(release - template) < 10:
    print("the list of the release has hardly any function")
P
empty "$work/found" "and they are those of AOTriton $abi"
plan
