# The clock on small kernels: LDS, matrix and vector instructions that hardware was measured with
# (micro.py), within the targets of calibrate.py; and workgroups that take their work from a counter
# (queue.py).
: "${srcdir:=.}" "${PYTHON:=python3}" "${LLVM_MC:=llvm-mc-19}" "${LD_LLD:=ld.lld-19}"
export LLVM_MC LD_LLD
for tool in "$PYTHON" "$LLVM_MC" "$LD_LLD"; do
    if ! "$tool" --version >/dev/null 2>&1; then
        echo "1..0 # SKIP $tool is missing"
        exit 0
    fi
done
case `ldd tools/emu/.libs/libhipemu.so` in
*asan* | *libtsan* | *libubsan*)
    echo '1..0 # SKIP Python has no sanitizers'
    exit 0
    ;;
esac
export PYTHONDONTWRITEBYTECODE=1
{
    "$PYTHON" "$srcdir/tests/tools/emu/time/calibrate.py" tools/emu/.libs/libhipemu.so 2>&1
    for gpu in gfx942 gfx1100; do
        "$PYTHON" "$srcdir/tests/tools/emu/time/queue.py" tools/emu/.libs/libhipemu.so $gpu 2>&1 ||
            echo "not ok $gpu: queue.py"
    done
} | awk '
    / yes / { printf "ok %d - %s\n", ++n, substr($0, 1, 50); next }
    / NO / { printf "not ok %d - %s\n", ++n, substr($0, 1, 50); bad = 1 }
    /^ok / { printf "ok %d - %s\n", ++n, substr($0, 4); next }
    /^not ok / { printf "not ok %d - %s\n", ++n, substr($0, 8); bad = 1; next }
    { print "# " $0 }
    END { print "1.." n + 0; exit bad || n < 40 }'
