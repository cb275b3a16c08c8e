# aothip-check --environment: each thing that can be missing or odd, in made-up trees.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
unset HSA_OVERRIDE_GFX_VERSION AMD_SERIALIZE_KERNEL TORCH_ROCM_FA_PREFER_CK ROCR_VISIBLE_DEVICES
unset GPU_DEVICE_ORDINAL HSA_CU_MASK ROC_GLOBAL_CU_MASK HSA_TOOLS_LIB PYTORCH_NO_HIP_MEMORY_CACHING
unset CUDA_VISIBLE_DEVICES LD_PRELOAD HIP_LAUNCH_BLOCKING AMD_LOG_LEVEL AMD_SERIALIZE_COPY
export AOTHIP_HIP_LIBRARY="$fake"

look() { # STATUS NAME [OPTION...]
    wanted_status=$1 name=$2
    shift 2
    exits "$wanted_status" "$name" "$check" --environment --root root --torch torch "$@"
    # Lines may be broken anywhere: as one line, they can be searched.
    tr -s ' \n' ' ' <out >flat
}

# A driver with one CPU and two GPUs, and a PyTorch for ROCm with AOTriton's library in it.
nodes=root/sys/class/kfd/kfd/topology/nodes
mkdir -p root/sys/module/amdgpu root/dev $nodes/0 $nodes/1 $nodes/2 torch/lib/aotriton.images
echo 6.10.5 >root/sys/module/amdgpu/version
echo 'gfx_target_version 0' >$nodes/0/properties
printf 'simd_count 304\ngfx_target_version 90402\n' >$nodes/1/properties
echo 'gfx_target_version 90010' >$nodes/2/properties
: >root/dev/kfd
{
    echo "__version__ = '2.9.1+rocm6.4'"
    echo 'cuda: Optional[str] = None'
    echo "hip: Optional[str] = '6.4.4'"
} >torch/version.py
mkdir torch/lib/aotriton.images/amd-gfx942 torch/lib/aotriton.images/amd-gfx90x
cc=${CC:-cc}
echo 'int nothing;' >nothing.c
$cc -shared -fPIC -Wl,-soname,libaotriton_v2.so.0.11.1 \
    -o torch/lib/libaotriton_v2.so.0.11.1 nothing.c
ok 'a library can be made'

look 0 'a machine where all is well'
contains flat 'amdgpu 6.10.5' 'the version of the driver'
contains flat 'root/dev/kfd can be opened' 'the rights on the device'
contains flat gfx942 'one GPU by its name'
contains flat gfx90a 'the other one, with a letter'
contains flat "this process loads $fake, version 6.2.41133" 'the HIP runtime'
contains flat 'version 2.9.1+rocm6.4, for HIP 6.4.4' 'the version of torch'
contains flat 'libaotriton_v2.so.0.11.1 is AOTriton, interface 0.11.1' "torch's libaotriton"
! grep 'images for' out | grep -v 'images for.*gfx942'
ok 'its images'
contains flat 'has kernels for' "aothip's own images"
contains flat "it loads the system's HIP runtime" 'its HIP runtime'
awk 'length > 80' out | grep -v "$work\|$build" >wide
[ ! -s wide ]
ok 'the report fits into 80 columns'
! grep 'WARN\|FAIL' out | grep -qv AOTHIP_HIP_LIBRARY=
ok 'nothing to complain about'
[ `tail -n 1 out` = OK ]
ok 'and it ends so'

# Of aothip instead, which needs libaothip.so beside it.
$cc -shared -fPIC -Wl,-soname,libaothip.so.0 -o libaothip.so nothing.c
$cc -shared -fPIC -Wl,-soname,libaotriton_v2.so.0.11.2 -Wl,--no-as-needed \
    -o torch/lib/libaotriton_v2.so.0.11.1 nothing.c ./libaothip.so
look 0 'aothip in its place'
contains flat 'is aothip, interface 0.11.2' 'is told apart'
contains flat 'has no libaothip.so' 'its own library is missed'
: >torch/lib/libamdhip64.so.6
look 0 'a torch with its own HIP runtime'
contains flat 'its own HIP runtime, torch/lib/libamdhip64.so.6' 'is told'

# Variables: each is told, set or not; dangerous values warn, others do not.
for variable in AOTHIP_IMAGES AOTHIP_HIP_LIBRARY AOTHIP_LIBRARY AOTHIP_LOG AOTHIP_CAPTURE \
    AOTHIP_CODE_LIMIT AOTHIP_ATOMICS AOTHIP_TUNE AOTHIP_EMU_GPU HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES \
    HSA_OVERRIDE_GFX_VERSION AMD_SERIALIZE_KERNEL AMD_SERIALIZE_COPY HIP_LAUNCH_BLOCKING \
    AMD_LOG_LEVEL HSA_XNACK TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL \
    TORCH_ROCM_AOTRITON_PREFER_DEFAULT TORCH_ROCM_FA_PREFER_CK PYTORCH_ROCM_ARCH LD_LIBRARY_PATH \
    LD_PRELOAD GPU_DEVICE_ORDINAL HSA_CU_MASK ROC_GLOBAL_CU_MASK HSA_TOOLS_LIB \
    PYTORCH_NO_HIP_MEMORY_CACHING
do
    grep -qE "(^not set {9}| {16})$variable: |$variable=" out
    ok "$variable is told"
done
bad() { # VARIABLE=VALUE CURE: warns and tells the cure
    export "${1?}"
    look 0 "$1"
    contains flat "WARN $1:" 'warns'
    contains flat "$2" 'with the cure'
    unset "${1%%=*}"
}
good() { # VARIABLE=VALUE
    export "${1?}"
    look 0 "$1"
    contains flat " OK $1:" 'is all right'
    unset "${1%%=*}"
}
bad HSA_OVERRIDE_GFX_VERSION=11.0.0 'unset it; kernels of another GPU may fail'
for variable in AMD_SERIALIZE_KERNEL AMD_SERIALIZE_COPY HIP_LAUNCH_BLOCKING AMD_LOG_LEVEL; do
    bad $variable=3 'unset it outside of debugging'
    good $variable=0
done
bad HSA_CU_MASK=0:0-3 'unset it'
bad ROC_GLOBAL_CU_MASK=0xf 'unset it'
bad HSA_TOOLS_LIB=librocprofiler64.so 'unset it outside of profiling'
bad PYTORCH_NO_HIP_MEMORY_CACHING=1 'unset it outside of debugging'
for variable in HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL; do
    bad $variable= 'unset it or name GPUs'
    bad $variable=-1 'unset it or name GPUs'
    good $variable=1
done
bad AOTHIP_CAPTURE=. 'unset it unless you want to report a fault'
bad TORCH_ROCM_FA_PREFER_CK=1 'preferred_rocm_fa_library()'
good TORCH_ROCM_FA_PREFER_CK=0
for variable in AOTHIP_LOG=1 AOTHIP_CODE_LIMIT=64M AOTHIP_ATOMICS=1 HSA_XNACK=1 PYTORCH_ROCM_ARCH=gfx1151 \
    TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1 TORCH_ROCM_AOTRITON_PREFER_DEFAULT=1
do
    good $variable
done

# A driver that does not know how many registers gfx1151 has, and a firmware with which it hangs.
mkdir -p $nodes/3 root/sys/class/drm/card1/device/fw_version
printf 'gfx_target_version 110501\ncwsr_size 25206784\n' >$nodes/3/properties
echo 0x00000080 >root/sys/class/drm/card1/device/fw_version/mes_fw_version
look 0 'a gfx1151 with a driver that knows it'
! grep -q 'cwsr\|MES' out
ok 'is all right'
echo 'gfx_target_version 110501' >$nodes/3/properties
look 0 'one with a driver that does not'
contains flat 'WARN it does not know how many registers gfx1151 has' 'warns'
contains flat 'Use Linux 6.18.4 or later' 'with the cure'
printf 'gfx_target_version 110501\ncwsr_size 25206784\n' >$nodes/3/properties
echo 0x00000083 >root/sys/class/drm/card1/device/fw_version/mes_fw_version
look 0 'one with broken firmware'
contains flat 'WARN card1 has the MES firmware 0x83, with which gfx1151 hangs' 'warns'
rm -r $nodes/3
look 0 'the same firmware with other GPUs'
! grep -q MES out
ok 'says nothing of them'
rm -r root/sys/class/drm

# Images that everybody may change.
mkdir -p open/here
cp -R "$images" open/here/aotriton.images
look 0 'images of our own' --images open/here/aotriton.images
! grep -q 'everybody may write' out
ok 'are safe'
chmod o+w open/here/aotriton.images
look 0 'a directory that everybody may write' --images open/here/aotriton.images
contains flat 'everybody may write in' 'warns'
contains flat 'open/here/aotriton.images, and so decide what runs on your GPU' 'and names it'
chmod o-w open/here/aotriton.images
for inner in `cd open/here/aotriton.images && find . -mindepth 1 -type d | head -n 2` \
    `cd open/here/aotriton.images && find . -name '*.zst' | head -n 1`; do
    chmod o+w "open/here/aotriton.images/$inner"
    look 0 "something in it, ${inner#./}, that everybody may write" --images open/here/aotriton.images
    contains flat "open/here/aotriton.images/${inner#./}, and so decide" 'is named as well'
    chmod o-w "open/here/aotriton.images/$inner"
done
chmod o+w open
look 0 'one in such a directory' --images open/here/aotriton.images
contains flat 'everybody may write in' 'warns too'
chmod +t open
look 0 'one where nobody may rename what is not his' --images open/here/aotriton.images
! grep -q 'everybody may write' out
ok 'is safe again'
rm -r open

# What is missing.
FAKE_HIP_DEVICES=0 look 1 'a runtime without a GPU'
contains flat 'finds no GPU' 'is told'
AOTHIP_HIP_LIBRARY=./none.so look 1 'no runtime'
contains flat 'Install a HIP runtime: ROCm' 'has its cure'
look 1 "no images of aothip's" --images torch/lib
contains flat 'FAIL' 'fails'
contains flat 'name them in AOTHIP_IMAGES' 'with the cure'
[ "`tail -n 1 out`" = FAIL ] && [ `grep -c 'name them in' out` -eq 2 ]
ok 'and once more at the end'
rm -r torch/lib/aotriton.images/amd-gfx90x
look 0 "no images of torch's for one of the GPUs"
contains flat "WARN torch's libaotriton has no kernels for gfx90a, which is in this machine" 'warns'
mkdir torch/lib/aotriton.images/amd-gfx11xx torch/lib/aotriton.images/amd-gfx90a_mod0
look 0 'images of a family, and of a variant'
! grep -q 'has no kernels' out
ok 'count'
rm -r torch/lib/aotriton.images/amd-*
look 1 'no images'
contains flat 'FAIL torch/lib/aotriton.images holds no images' 'is told'
head -c 100 torch/lib/libaotriton_v2.so.0.11.1 >cut
mv cut torch/lib/libaotriton_v2.so.0.11.1
look 1 'a damaged library'
contains flat 'libaotriton_v2.so.0.11.1 is no library' 'is told'
rm torch/lib/libaotriton_v2.so.0.11.1
look 0 'no libaotriton'
contains flat 'WARN torch/lib has no libaotriton_v2.so' 'is told'
printf "__version__ = '2.9.1+cpu'\nhip: Optional[str] = None\n" >torch/version.py
look 1 'a torch for other machines'
contains flat '2.9.1+cpu, which was not built for ROCm but for the processor alone' 'is told'
contains flat 'its version ends in +rocm and a number' 'with the cure'
printf "__version__ = '2.9.1+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n" \
    >torch/version.py
look 1 'a torch for the other GPUs'
contains flat 'which was not built for ROCm but for CUDA 13.0: it uses no AMD GPU' 'is told'
! grep -q "libaotriton_v2\|system's HIP" out
ok 'and nothing more is said of it'
rm torch/version.py
look 1 'no torch there'
contains flat 'torch is no torch package' 'is told'
printf "__version__ = '2.9.1'\nhip: Optional[str] = '6.4.4'\n" >torch/version.py
rm root/dev/kfd
look 1 'no device file'
contains flat 'root/dev/kfd: No such file' 'is named'
contains flat '--device=/dev/kfd' 'with the cure'
: >root/dev/kfd
rm -r $nodes/1 $nodes/2
look 1 'a driver without a GPU'
contains flat 'it drives no GPU' 'is told'
rm -r root/sys/module
look 1 'no driver'
contains flat 'modprobe amdgpu' 'has its cure'

# A torch that can be imported, made of the few functions that are asked for.
mkdir fake
cp -r torch fake/torch
{
    echo "__version__ = '2.9.1+rocm6.4'"
    echo "hip: Optional[str] = '6.4.4'"
} >fake/torch/version.py
mkdir -p fake/torch/nn fake/torch/backends
cat >fake/torch/__init__.py <<'END'
import contextlib, os, sys, types, warnings
FAULT = os.environ.get("FAKE_TORCH", "")
print("chatter of torch")
if FAULT == "import":
    raise ImportError("libamdhip64.so.7: cannot open shared object file")
class Tensor:
    cpu = double = abs = max = lambda self: self
    transpose = lambda self, *_: self
    __matmul__ = __truediv__ = __sub__ = lambda self, _: self
    item = lambda self: 0.5 if FAULT == "wrong" else 1e-4
float16 = None
randn = lambda *_, **__: Tensor()
softmax = lambda *_: Tensor()
version = types.SimpleNamespace(hip="" if FAULT == "cpu" else "6.4.4")
cuda = types.SimpleNamespace(is_available=lambda: FAULT not in ("gpu", "cpu"), synchronize=lambda: None,
                             get_device_name=lambda: "AMD Radeon 8060S")
def can_use(params, debug):
    if FAULT == "refuse":
        warnings.warn("Flash attention on gfx1151 is experimental")
    if FAULT in ("refuse2", "gpu"):
        os.write(2, b"[W1122 sdp_utils.cpp:683] Warning: No half of it. (function check_half)\\n"
                    b"[W1122 sdp_utils.cpp:684] Warning: Nor the rest\\n")
    return FAULT not in ("refuse", "refuse2", "gpu")
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(
    preferred_rocm_fa_library=lambda: "Ck" if FAULT == "ck" else "AOTriton",
    flash_sdp_enabled=lambda: FAULT != "off", SDPAParams=lambda *_: None,
    can_use_flash_attention=can_use))
def attention(*_):
    if FAULT == "call":
        raise RuntimeError("HIP error: no kernel image is available")
    if FAULT == "crash":
        os.kill(os.getpid(), 11)
    return Tensor()
functional = types.ModuleType("torch.nn.functional")
functional.scaled_dot_product_attention = attention
chosen = types.ModuleType("torch.nn.attention")
chosen.SDPBackend = types.SimpleNamespace(FLASH_ATTENTION=1, MATH=2)
chosen.sdpa_kernel = lambda _: contextlib.nullcontext()
sys.modules["torch.nn"] = types.ModuleType("torch.nn")
sys.modules["torch.nn.functional"], sys.modules["torch.nn.attention"] = functional, chosen
END
try_torch() { # STATUS FAULT TEXT
    FAKE_TORCH=$2
    export FAKE_TORCH
    exits "$1" "torch tried: ${2:-no fault}" "$check" --environment --root root --torch fake/torch
    tr -s ' \n' ' ' <out >flat
    contains flat "$3" "says: $3"
}
if command -v python3 >/dev/null; then
    try_torch 1 '' 'OK torch computes on AMD Radeon 8060S'
    contains flat 'OK preferred flash library: AOTriton' 'the preferred library'
    contains flat 'OK torch can use flash attention' 'and that it can be used'
    contains flat 'a forced flash call: largest error 1.0e-04' 'and how exact it is'
    contains flat 'of torch in plain arithmetic: 1.0e-04' 'beside torch itself'
    ! grep -q chatter out
    ok "torch's own output is left out"
    try_torch 1 import 'FAIL Python cannot import torch: libamdhip64.so.7'
    try_torch 1 gpu 'FAIL torch sees no GPU'
    contains flat 'torch refuses flash attention: No half of it.; Nor the rest' 'and on with the processor'
    try_torch 1 cpu 'what follows is of the processor preferred'
    ! grep -q 'sees no GPU\|OK torch can' out
    ok 'which a torch for no GPU is no failure of'
    try_torch 1 ck 'WARN preferred flash library: Ck'
    try_torch 1 off 'WARN flash attention is disabled'
    try_torch 1 refuse 'FAIL torch refuses flash attention: Flash attention on gfx1151 is experimental'
    contains flat 'TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1' 'with the cure'
    try_torch 1 refuse2 'FAIL torch refuses flash attention: No half of it.; Nor the rest'
    try_torch 1 call 'FAIL a forced flash call fails: HIP error: no kernel image'
    try_torch 1 wrong 'FAIL a forced flash call: largest error 5.0e-01, far too much'
    try_torch 1 crash 'FAIL python3 was ended by signal 11'
fi

# The torch that make check-clients has installed, which is for no GPU that is here.
if [ -e "$build/clients/complete" ]; then
    exits 1 'a torch from PyPI' env PATH="$build/clients/bin:$PATH" "$check" --environment --root root
    tr -s ' \n' ' ' <out >flat
    contains flat 'was not built for ROCm' 'is none for ROCm'
    contains flat 'preferred flash library: ' 'which library it prefers'
    contains flat 'torch refuses flash attention: All tensors need to be on cuda device.' 'its reasons'
    contains flat 'a forced flash call: largest error ' 'a forced call'
    contains flat 'as it should be; of torch in plain arithmetic' 'beside the plain one'
fi

# A torch in the current directory is none of ours, nor are other modules there.
mkdir -p trap/torch/lib trap/importlib
cp fake/torch/version.py trap/torch
for file in torch/__init__ importlib/__init__ importlib/util warnings contextlib sitecustomize; do
    echo "open('$work/sprung', 'a').write('$file ')" >trap/$file.py
done
(cd trap && "$check" --environment --root ../root >out 2>err)
[ ! -e sprung ]
ok 'modules in the current directory are not run'
[ ! -e sprung ] || sed 's/^/#   /' sprung
! grep -q "trap/torch" trap/out
ok 'nor looked at'
PYTHONPATH=$work/fake "$check" --environment --root root >out 2>err
if command -v python3 >/dev/null; then
    contains out "$work/fake/torch" "but what the user's PYTHONPATH names is found"
fi

look 1 'JSON' --json
contains out '"level": "FAIL"' 'has the levels'
if command -v python3 >/dev/null; then
    python3 -m json.tool <out >tool 2>&1
    ok 'and is JSON'
fi
plan
