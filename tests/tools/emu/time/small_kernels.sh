# The clock on small kernels that hardware was measured with: LDS, matrix and vector instructions
# (micro.py). Fails when one is off by more than the targets of calibrate.py.
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
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$srcdir/tests/tools/emu/time/calibrate.py" \
    tools/emu/.libs/libhipemu.so 2>&1 | awk '
    / yes / { printf "ok %d - %s\n", ++n, substr($0, 1, 50); next }
    / NO / { printf "not ok %d - %s\n", ++n, substr($0, 1, 50); bad = 1 }
    { print "# " $0 }
    END { print "1.." n + 0; exit bad || n < 20 }'
