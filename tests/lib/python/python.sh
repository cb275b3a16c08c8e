# The Python module on the emulator, as each GPU that was built: with NumPy, and with torch, if a
# Python here has it (Debian's python3-torch will do, and so does a torch without ROCm), with what
# make check-clients has installed, if it was.
: "${srcdir:=.}" "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
build=`pwd`
python_with() { # MODULE: sets $python, empty if there is none
    for python in ${PYTHON-} "$build/clients/bin/python3" python3 /usr/bin/python3; do
        "$python" -c "import $1" 2>/dev/null && return
    done
    python=
}
AOTHIP_LIBRARY=$build/lib/.libs/libaothip.so.0 AOTHIP_INCLUDE=$srcdir/include
AOTHIP_HIP_LIBRARY=$build/tools/emu/.libs/libhipemu.so AOTHIP_IMAGES=$build/images/aotriton.images
PYTHONPATH=$srcdir/lib/python:$build/lib/.libs PYTHONDONTWRITEBYTECODE=1
export AOTHIP_LIBRARY AOTHIP_INCLUDE AOTHIP_HIP_LIBRARY AOTHIP_IMAGES PYTHONPATH \
    PYTHONDONTWRITEBYTECODE
# Python itself is not built with sanitizers; the sanitized library needs their runtime in front.
preload=`ldd "$AOTHIP_LIBRARY" | sed -n 's/.* => \([^ ]*asan[^ ]*\) .*/\1/p'`
failed=0 count=0
least=20 # checks of a test that ran
run() { # MODULE FILE [GPUS]
    python_with "$1"
    if [ -z "$python" ]; then
        count=$((count + 1))
        echo "ok $count - $2 # SKIP no Python with $1"
        return
    fi
    for AOTHIP_EMU_GPU in ${3-$GPU_ARCHS}; do
        grep -q "^sibling $AOTHIP_EMU_GPU " "$srcdir/images/matrix.def" && continue
        export AOTHIP_EMU_GPU
        log=python-$2-$AOTHIP_EMU_GPU.log
        if [ -n "$preload" ]; then
            LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 "$python" "$srcdir/tests/lib/python/$2"
        else
            "$python" "$srcdir/tests/lib/python/$2"
        fi >"$log" 2>&1 || failed=1
        count=$((count + 1))
        plan=`sed -n 's/^1\.\.//p' "$log"`
        bad=`grep -c '^not ok' "$log"`
        if [ "${plan:-0}" -gt "$least" ] && [ "$bad" -eq 0 ]; then good=ok; else good='not ok' failed=1; fi
        echo "$good $count - $2, $AOTHIP_EMU_GPU: ${plan:-no} checks, $bad failed"
        [ "$good" = ok ] || sed 's/^/#   /' "$log"
        rm -f "$log"
    done
}
run numpy test_aothip.py
run numpy test_calls.py "${GPU_ARCHS%% *}"
run "numpy, pyaotriton" test_pyaotriton.py "${GPU_ARCHS%% *}"
run torch test_torch.py
if [ -e "$build/lib/.libs/aothip_quick.abi3.so" ]; then
    run torch test_quick.py "${GPU_ARCHS%% *}"
else
    count=$((count + 1))
    echo "ok $count - test_quick.py # SKIP configure found no Python.h"
fi
if [ -e "$build/lib/.libs/aothip_xla.so" ] && [ -z "$preload" ]; then
    run jax test_jax.py "${GPU_ARCHS%% *}"
else
    count=$((count + 1))
    echo "ok $count - test_jax.py # SKIP jaxlib does not go with sanitizers, or there are no handlers"
fi
run torch test_torch_operators.py "${GPU_ARCHS%% *}"
run torch test_pytorch_door.py "${GPU_ARCHS%% *}"
run transformers test_transformers.py "${GPU_ARCHS%% *}"
least=10 # where the package flash-attn is not there
run diffusers test_diffusers.py "${GPU_ARCHS%% *}"
run torch test_flash_attn.py "${GPU_ARCHS%% *}"
[ -n "$preload" ] || run torch test_distributed.py "${GPU_ARCHS%% *}"
least=2
run torch test_examples.py "${GPU_ARCHS%% *}"
echo "1..$count"
exit $failed
