#!/bin/sh
# What Windows' users get, under Wine: the wheel in a Python for Windows, and the archive by CMake, with
# mingw-w64 and with clang in Microsoft's ABI. Not among the tests of make check; make check-windows
# runs it in the build, after tools/windows --packages.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
windows=$PWD/windows
WINEPREFIX=$windows/prefix WINEDEBUG=-all LC_ALL=C.UTF-8
export WINEPREFIX WINEDEBUG LC_ALL
src=`cd "$srcdir" && pwd`
run=$PWD/tools/aothip-run
AOTHIP_IMAGES=$PWD/images/aotriton.images && export AOTHIP_IMAGES
wheel=`ls "$PWD"/packages/aothip-*-win_amd64.whl` archive=`ls "$PWD"/packages/aothip-*-windows-x86_64.zip`
say() { # FILE: as comments
    tr -d '\r' <"$1" | sed 's/^/# /' | tail -12
}

python3 - "$wheel" >"$work/out" 2>&1 <<'P'
import base64, hashlib, struct, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
record = next(n for n in names if n.endswith("/RECORD"))
for line in wheel.read(record).decode().splitlines():
    name, digest, size = line.rsplit(",", 2)
    if name != record:
        content = wheel.read(name)
        want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == ("sha256=" + want, len(content)), name
assert len(wheel.read(record).decode().splitlines()) == len(names)
dll = wheel.read("aothip/lib/aothip.dll")
at, = struct.unpack_from("<I", dll, 60)
assert dll[:2] == b"MZ" and dll[at:at + 4] == b"PE\0\0" and dll[at + 4:at + 6] == b"\x64\x86"
assert not [n for n in names if n.endswith((".so", ".so.0", ".so.1"))]
assert any(n.startswith("aothip/lib/aotriton.images/amd-gfx") for n in names)
assert b"Tag: py3-none-win_amd64" in wheel.read(record.replace("RECORD", "WHEEL"))
assert b"aothip_autoload" in wheel.read(record.replace("RECORD", "entry_points.txt"))
P
ok 'the wheel has a DLL for x86-64 and images, and its RECORD is true'
say "$work/out"

# A Python for Windows: python.org's own 3.11, which Panda3D's wheel on PyPI brings for programs that
# are packed with it; the modules in Python are of this system's 3.11.
library=`python3.11 -c 'import os; print(os.path.dirname(os.__file__))' 2>/dev/null`
place=$windows/python
if [ ! -f "$place/complete" ] && [ -n "$library" ]; then
    rm -rf "$place" && mkdir -p "$place/wheels" "$place/site" &&
        for package in panda3d==1.10.16 numpy==1.26.4; do
            python3 -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
                -d "$place/wheels" $package >"$work/out" 2>&1 || break
        done &&
        python3 - "$place" <<'P' && cp -R "$library" "$place/Lib" && rm -rf "$place/Lib/test" "$place/Lib/lib-dynload" && : >"$place/complete"
import glob, os, sys, zipfile
place = sys.argv[1]
with zipfile.ZipFile(glob.glob(place + "/wheels/panda3d*")[0]) as wheel:
    for name in wheel.namelist():
        if name.startswith("deploy_libs/") and "api-ms" not in name:
            with open(os.path.join(place, os.path.basename(name)), "wb") as f:
                f.write(wheel.read(name))
zipfile.ZipFile(glob.glob(place + "/wheels/numpy*")[0]).extractall(place + "/site")
P
fi
if [ -f "$place/complete" ]; then
    printf 'Lib\n.\nsite\n' >"$place/python311._pth"
    cat >"$work/python.c" <<'C'
#include <windows.h>
int wmain(int argc, wchar_t **argv)
{
    HMODULE python = LoadLibraryW(L"python311.dll");
    int (*run)(int, wchar_t **) = python ? (void *)GetProcAddress(python, "Py_Main") : 0;
    return run ? run(argc, argv) : 99;
}
C
    x86_64-w64-mingw32-gcc -municode -w "$work/python.c" -o "$place/python.exe"
    rm -rf "$place"/site/aothip* && python3 -m zipfile -e "$wheel" "$place/site"
    cat >"$work/use.py" <<'P'
import os, sys
import numpy as np
import aothip
assert sys.platform == "win32" and os.path.dirname(aothip._lib.lib._name).endswith("lib"), aothip._lib.lib._name
r = np.random.default_rng(7)
q, k, v = (r.standard_normal((2, 3, 40, 64)).astype(np.float16) for _ in "qkv")
o = aothip.scaled_dot_product_attention(q, k, v, is_causal=True)
for name, x in dict(q=q, k=k, v=v, o=o).items():
    np.save(f"{sys.argv[1]}/{name}.npy", x)
s = q.astype(float) @ k.astype(float).swapaxes(-1, -2) / 8
s = np.where(np.tri(40, dtype=bool), s, -np.inf)
p = np.exp(s - s.max(-1, keepdims=True))
error = np.abs(p / p.sum(-1, keepdims=True) @ v.astype(float) - o).max()
assert error < 2e-3, error
try:
    aothip.scaled_dot_product_attention(q, k[:1], v)
except (TypeError, ValueError) as why:
    print("refused:", why)
print(aothip.version(), aothip.device()["gpu"], f"error {error:.1e}")
P
    wine_python() { # by pipes: under Wine 8 it takes neither /dev/null nor files
        : | env -u AOTHIP_IMAGES AOTHIP_EMU_GPU=gfx942 wine "$place/python.exe" "$@" 2>&1 | cat >"$work/out"
    }
    AOTHIP_HIP_LIBRARY="Z:$windows/windows/bin/hipemu.dll" && export AOTHIP_HIP_LIBRARY
    wine_python "$work/use.py" "$work"
    grep -q ' gfx942 error ' "$work/out"
    ok 'the wheel computes attention in a Python for Windows, with its own images'
    say "$work/out"
    grep -q 'refused:' "$work/out"
    ok 'and refuses tensors that do not fit each other'
    "$run" "$work/q.npy" "$work/k.npy" "$work/v.npy" -o "$work/linux.npy" --causal tl --emulate gfx942 >/dev/null 2>&1
    python3 - "$work/linux.npy" "$work/o.npy" <<'P'
import sys
one, other = (open(name, "rb").read()[-2 * 3 * 40 * 64 * 2:] for name in sys.argv[1:])
sys.exit(one != other)
P
    ok 'bit for bit what this system computes'
    AOTHIP_HIP_LIBRARY='C:\nowhere.dll' && export AOTHIP_HIP_LIBRARY
    wine_python "$work/use.py" "$work"
    unset AOTHIP_HIP_LIBRARY
    grep -q 'aothip-check --environment looks for the reason' "$work/out"
    ok 'without a HIP runtime it says where to look'
    say "$work/out" | tail -1
    # PyTorch for Windows: 200 MB, so only who asks for it gets it
    torch=$place/torch-site
    if [ -n "${WINDOWS_TORCH-}" ] && [ ! -f "$torch/complete" ]; then
        for package in torch==2.5.1 sympy==1.13.1 mpmath networkx jinja2 markupsafe filelock fsspec typing_extensions; do
            python3 -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
                -d "$place/torch-wheels" $package >"$work/out" 2>&1 || break
        done
        python3 - "$place/torch-wheels" "$torch" <<'P' && : >"$torch/complete"
import glob, sys, zipfile
for wheel in map(zipfile.ZipFile, glob.glob(sys.argv[1] + "/*.whl")):
    wheel.extractall(sys.argv[2], [n for n in wheel.namelist() if not n.endswith((".lib", ".h", ".cuh"))])
P
        rm -rf "$place/torch-wheels"
    fi
    if [ -f "$torch/complete" ]; then
        printf 'Lib\n.\nsite\ntorch-site\n' >"$place/python311._pth"
        cat >"$work/enable.py" <<'P'
import torch
import torch.nn.functional as F
import aothip

torch.manual_seed(1)
inputs = [torch.randn(2, 4, n, 64).half().requires_grad_() for n in (17, 23, 23)]
wide = [x.detach().double().requires_grad_() for x in inputs]
direct = aothip.scaled_dot_product_attention(*inputs).detach()
calls = []
forward = aothip.attention.Problem.forward
aothip.attention.Problem.forward = lambda *a, **n: calls.append(1) or forward(*a, **n)
with aothip.enable():
    o = F.scaled_dot_product_attention(*inputs)
    o.double().square().sum().backward()
enabled = len(calls)
F.scaled_dot_product_attention(*inputs)
# by hand: under Wine 8 its own function in double computes nonsense
want = (wide[0] @ wide[1].transpose(-1, -2) / 8).softmax(-1) @ wide[2]
want.square().sum().backward()
assert (o.double() - want).abs().max() < 4e-3
for x, y in zip(inputs, wide):
    assert (x.grad.double() - y.grad).abs().max() < 8e-3 * y.grad.abs().max()
assert torch.equal(o.detach(), direct)
print("calls:", enabled, "and afterwards", len(calls), "by torch", torch.__version__)
P
        AOTHIP_HIP_LIBRARY="Z:$windows/windows/bin/hipemu.dll" && export AOTHIP_HIP_LIBRARY
        wine_python "$work/enable.py"
        unset AOTHIP_HIP_LIBRARY
        grep -qE 'calls: ([1-9]) and afterwards \1 ' "$work/out"
        ok 'aothip.enable() puts attention and its gradients under a PyTorch for Windows, and is undone'
        say "$work/out"
        printf 'Lib\n.\nsite\n' >"$place/python311._pth"
    else
        skip 'aothip.enable() in a PyTorch for Windows' 'WINDOWS_TORCH=1 fetches it'
    fi
    PATH_OF="Z:$place"
    mkdir -p "$work/torch/lib/aotriton.images/amd-gfx1151"
    printf "__version__ = '2.9.1+rocm7.1'\nhip: Optional[str] = '7.1.2'\ncuda: Optional[str] = None\n" >"$work/torch/version.py"
    printf 'AOTHIP_IMAGES' >"$work/torch/lib/aotriton_v2.dll"
    : >"$work/torch/lib/amdhip64_7.dll" && : >"$work/torch/__init__.py"
    rm -rf "$place/site/torch" && cp -R "$work/torch" "$place/site/torch"
    WINEPATH=$PATH_OF wine "$windows/windows/bin/aothip-check.exe" --environment >"$work/out" 2>&1 </dev/null
    tr -d '\r\n' <"$work/out" | tr -s ' ' >"$work/flat"
    for said in 'Install AMD'"'"'s display driver' 'is version 2.9.1+rocm7.1, for HIP 7.1.2' 'loads its own HIP runtime' 'aotriton_v2.dll is aothip' \
        'images for gfx1151' 'Python cannot import torch: No module named'; do
        tr -d ' ' <"$work/flat" | grep -qF "`echo "$said" | tr -d ' '`"
        ok "aothip-check --environment asks that Python, and says: $said"
    done
    rm -rf "$place/site/torch"
else
    say "$work/out"
    skip 'the wheel in a Python for Windows' 'PyPI cannot be reached, or there is no python3.11'
fi

# CMake, in a place with spaces
mkdir -p "$work/some where" "$work/project" && python3 -m zipfile -e "$archive" "$work/some where"
prefix="$work/some where/aothip"
[ -f "$prefix/bin/aothip-check.exe" ] && [ -d "$prefix/bin/aotriton.images" ]
ok 'the archive has programs and images'
env -u AOTHIP_IMAGES wine "$prefix/bin/aothip-run.exe" "$work/q.npy" "$work/k.npy" "$work/v.npy" -o "$work/again.npy" --causal tl \
    --emulate gfx942 >"$work/out" 2>&1 </dev/null && cmp "$work/again.npy" "$work/linux.npy"
ok 'which work where it is unpacked'
say "$work/out"
if command -v cmake >/dev/null; then
    cat >"$work/project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(aothip 0.1 REQUIRED CONFIG)
add_executable(consumer consumer.c)
target_link_libraries(consumer aothip::aothip)
C
    cat >"$work/project/consumer.c" <<'C'
#include <aothip/aothip.h>
/* without any C library; 42 if the DLL answers, and refuses what must be refused */
int main(void)
{
    static struct aothip_context *context;
    static struct aothip_attn_fwd_params p;
    p.struct_size = sizeof(p);
    return aothip_version()[0] == '0' && aothip_attn_fwd(context, &p, 0) == AOTHIP_E_ARGUMENT ? 42 : 1;
}
C
    consume() { # NAME FLAG...
        name=$1
        shift
        cmake -S "$work/project" -B "$work/$name" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH "$@" >"$work/out" 2>&1 && cmake --build "$work/$name" >>"$work/out" 2>&1 &&
            cp "$prefix/bin/aothip.dll" "$work/$name" && wine "$work/$name/consumer.exe" >>"$work/out" 2>&1 </dev/null
        [ $? -eq 42 ]
        ok "find_package(aothip) serves $name"
        [ "$good" = ok ] || say "$work/out"
    }
    consume mingw-w64 -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc
    clang_cl=`for c in clang-cl clang-cl-22 clang-cl-19; do command -v $c; done | head -1`
    link=`for c in lld-link lld-link-22 lld-link-19; do command -v $c; done | head -1`
    if [ -n "$clang_cl" ] && [ -n "$link" ]; then
        # what there is of Microsoft's is none: clang's own headers, and no C library
        consume clang-cl -DCMAKE_C_COMPILER="$clang_cl" -DCMAKE_LINKER="$link" -DCMAKE_C_COMPILER_WORKS=1 \
            -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DCMAKE_BUILD_TYPE=Release -DCMAKE_MSVC_RUNTIME_LIBRARY= \
            -DCMAKE_C_STANDARD_LIBRARIES= -DCMAKE_EXE_LINKER_FLAGS='/entry:main /nodefaultlib /subsystem:console /manifest:no' \
            -DCMAKE_C_FLAGS='--target=x86_64-pc-windows-msvc /W4 /WX /GS-' -DCMAKE_RC_COMPILER=true -DCMAKE_MT=true
    else
        skip 'find_package(aothip) for clang-cl' 'there is no clang-cl with lld-link'
    fi
else
    skip 'find_package(aothip)' 'there is no cmake'
fi
wineserver -k
plan
