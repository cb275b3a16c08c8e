# The Python module on the emulator, as each GPU that was built.
: "${srcdir:=.}" "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
build=`pwd`
for python in ${PYTHON-} python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
if [ -z "$python" ]; then
    echo "1..0 # SKIP no Python with NumPy"
    exit 0
fi
# Python itself is not built with sanitizers; the sanitized library needs their runtime in front.
case `ldd "$build/lib/.libs/libaothip.so.0"` in
*libasan*) LD_PRELOAD=`${CC:-cc} -print-file-name=libasan.so` ASAN_OPTIONS=detect_leaks=0
    export LD_PRELOAD ASAN_OPTIONS ;;
esac
AOTHIP_LIBRARY=$build/lib/.libs/libaothip.so.0 AOTHIP_INCLUDE=$srcdir/include
AOTHIP_HIP_LIBRARY=$build/tools/emu/.libs/libhipemu.so AOTHIP_IMAGES=$build/images/aotriton.images
PYTHONPATH=$srcdir/lib/python PYTHONDONTWRITEBYTECODE=1
export AOTHIP_LIBRARY AOTHIP_INCLUDE AOTHIP_HIP_LIBRARY AOTHIP_IMAGES PYTHONPATH \
    PYTHONDONTWRITEBYTECODE
failed=0 count=0
for AOTHIP_EMU_GPU in $GPU_ARCHS; do
    export AOTHIP_EMU_GPU
    "$python" "$srcdir/tests/lib/python/test_aothip.py" >"python-$AOTHIP_EMU_GPU.log" 2>&1 || failed=1
    count=$((count + 1))
    plan=`sed -n 's/^1\.\.//p' "python-$AOTHIP_EMU_GPU.log"`
    bad=`grep -c '^not ok' "python-$AOTHIP_EMU_GPU.log"`
    if [ "${plan:-0}" -gt 20 ] && [ "$bad" -eq 0 ]; then good=ok; else good='not ok' failed=1; fi
    echo "$good $count - $AOTHIP_EMU_GPU: ${plan:-no} checks, $bad failed"
    [ "$good" = ok ] || sed 's/^/#   /' "python-$AOTHIP_EMU_GPU.log"
    rm -f "python-$AOTHIP_EMU_GPU.log"
done
echo "1..$count"
exit $failed
