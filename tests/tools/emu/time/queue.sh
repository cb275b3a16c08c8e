# Kernels whose workgroups take their work from a counter, under the clock (queue.py).
: "${srcdir:=.}" "${PYTHON:=python3}" "${LLVM_MC:=llvm-mc-19}" "${LD_LLD:=ld.lld-19}"
export LLVM_MC LD_LLD
for tool in "$PYTHON" "$LLVM_MC" "$LD_LLD"; do
    if ! "$tool" --version >/dev/null 2>&1; then
        echo "1..0 # SKIP $tool is missing"
        exit 0
    fi
done
case `ldd tools/emu/.libs/libhipemu.so` in
*libasan* | *libtsan* | *libubsan*)
    echo '1..0 # SKIP Python has no sanitizers'
    exit 0
    ;;
esac
for gpu in gfx942 gfx1100; do
    PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tests/tools/emu/time/queue.py" \
        tools/emu/.libs/libhipemu.so $gpu 2>&1 || echo "not ok $gpu"
done | awk '
    /^ok / { print "ok " ++n " - " substr($0, 4); next }
    /^not ok / { print "not ok " ++n " - " substr($0, 8); bad = 1; next }
    { print "# " $0 }
    END { print "1.." n + 0; exit bad || n < 10 }'
