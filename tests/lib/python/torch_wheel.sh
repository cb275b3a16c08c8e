#!/bin/sh
# The Python module in a process where torch has loaded its own HIP runtime, as a PyTorch wheel has
# it: libamdhip64.so, without a number, and out of sight. The emulator stands in for the runtime, and
# a few lines for torch. No second runtime may be loaded, though the loader's path has one.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
build=`pwd`
emulator=$build/tools/emu/.libs/libhipemu.so
case $SANITIZE_FLAGS in ?*) skip 'the module beside torch' 'Python has no sanitizers'; plan ;; esac
python=
for trial in ${PYTHON-} python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$trial" -c 'import numpy' 2>/dev/null || python=$trial
done
[ -n "$python" ] || { skip 'the module beside torch' 'no Python with numpy'; plan; }

mkdir -p "$work/wheel/torch/lib" "$work/system"
cp "$emulator" "$work/wheel/torch/lib/libamdhip64.so"
cp "$emulator" "$work/system/libamdhip64.so.6"
cp "$emulator" "$work/other.so"
# linked with something by the name that the emulator then has there
echo 'int hipGetDeviceCount(int *n) { return !n; }' |
    $CC -shared -fPIC -x c - -Wl,-soname,libamdhip64.so -o "$work/libamdhip64.so"
echo 'extern int hipGetDeviceCount(int *); int f(void) { return hipGetDeviceCount(0); }' |
    $CC -shared -fPIC -x c - -x none -o "$work/wheel/torch/lib/libtorch_hip.so" \
        "$work/libamdhip64.so" -Wl,-rpath,'$ORIGIN'
cat >"$work/wheel/torch/__init__.py" <<'END'
import ctypes, os, types
ctypes.CDLL(os.path.join(__path__[0], "lib", "libtorch_hip.so"))
stream = types.SimpleNamespace(cuda_stream=None)
cuda = types.SimpleNamespace(current_stream=lambda device: stream)
class Tensor:
    device = types.SimpleNamespace(type="cuda")
    data_ptr = None
END
cat >"$work/use.py" <<'END'
import sys
if "torch first" in sys.argv:
    import torch
import aothip, numpy
from aothip import _arrays
q = numpy.ones((1, 4, 1, 64), numpy.float16)
try:
    print("attention", aothip.flash_attn_func(q, q, q).sum())
except aothip.Error as why:
    print("error", why)
import torch
try:
    _arrays.side_of(torch.Tensor())
    print("tensors of torch are taken")
except RuntimeError as why:
    print("refused", why)
print("runtimes", *sorted({line.split()[-1].rsplit("/", 2)[-1] for line in open("/proc/self/maps")
                           if "libamdhip64" in line or "other.so" in line}))
END
use() { # NAME ['torch first']; $named and $preload are runtimes to name and to preload
    env AOTHIP_IMAGES="$build/images/aotriton.images" AOTHIP_EMU_GPU="${GPU_ARCHS%% *}" \
        AOTHIP_LIBRARY="$build/lib/.libs/libaothip.so.0" LD_LIBRARY_PATH="$work/system" \
        PYTHONPATH="$srcdir/lib/python:$work/wheel" PYTHONDONTWRITEBYTECODE=1 \
        ${named:+AOTHIP_HIP_LIBRARY="$named"} ${preload:+LD_PRELOAD="$preload"} "$python" "$work/use.py" "${2-}" >"$work/out" 2>&1
    ok "$1"
}
says() { # TEXT NAME
    grep -qF "$1" "$work/out"
    ok "$2" || sed 's/^/# /' "$work/out"
}
: "${GPU_ARCHS:=gfx942}"
named= preload=
use 'with torch in the process' 'torch first'
says 'attention 256.0' "attention runs on torch's runtime"
says 'runtimes libamdhip64.so' 'and it is the only one'
! grep -q 'libamdhip64.so.6' "$work/out"
ok "the system's is not loaded"
says 'tensors of torch are taken' "so torch's tensors can be used"
use 'without torch'
says 'attention 256.0' "attention runs on the system's runtime"
says 'refused aothip: torch has loaded another HIP runtime' "torch's tensors are refused later"
named=$work/other.so
use 'a runtime named beside that of torch' 'torch first'
says "AOTHIP_HIP_LIBRARY is $work/other.so, but this process has another HIP runtime" 'is refused'
says 'torch/lib/libamdhip64.so, whose streams' 'and told of'
! grep -q 'runtimes.*other.so' "$work/out"
ok 'nor is it loaded'
named= preload=$emulator
use 'the emulator put before it with LD_PRELOAD' 'torch first'
says 'attention 256.0' 'serves aothip'
says 'tensors of torch are taken' 'and would serve torch'
preload=

# A runtime that finds no GPU: the same sentence as aothip-check's.
named=$build/tests/tools/.libs/libfake_runtime.so
FAKE_HIP_DEVICES=0
export FAKE_HIP_DEVICES
use 'a runtime without a GPU'
AOTHIP_HIP_LIBRARY=$named tools/aothip-check >"$work/check" 2>&1
reason=`sed -n 's/^FAIL AOTHIP_E_NO_DEVICE: //p' "$work/check"`
[ "$reason" = "the HIP runtime $named finds no GPU" ]
ok 'aothip-check says so'
says "error $reason; aothip-check --environment" 'and so does Python, naming it'
plan
