# What the library's shell tests share. Run from the build directory; afterwards $work is a fresh
# directory, removed at the end.
set -u
configured() { # NAME: what the Makefile says
    sed -n "s/^$1 = //p" Makefile
}
: "${srcdir:=.}" "${CC:=`configured CC`}" "${CXX:=`configured CXX`}" "${NM:=nm}"
: "${SANITIZE_FLAGS=`configured SANITIZE_FLAGS`}"
work=`mktemp -d "${TMPDIR:-/tmp}/aothip-lib.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
# what a person may have set for the library, who starts the test by hand
unset AOTHIP_IMAGES AOTHIP_HIP_LIBRARY AOTHIP_LIBRARY AOTHIP_ENABLE AOTHIP_LOG AOTHIP_CODE_LIMIT \
    AOTHIP_CAPTURE AOTHIP_EMU_GPU AOTHIP_EMU_MODE AOTHIP_EMU_TIME AOTHIP_EMU_CLOCK HIP_VISIBLE_DEVICES
count=0
failed=0

ok() { # NAME: passes if the last command did
    if [ $? -eq 0 ]; then good=ok; else good='not ok'; failed=1; fi
    count=$((count + 1))
    echo "$good $count - $1"
}

empty() { # FILE NAME: passes if the file is empty, and shows it if not
    [ ! -s "$1" ]
    ok "$2"
    sed 's/^/# /' "$1"
}

skip() { # NAME REASON
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

release_names() { # VERSION: the lines of `nm -D --defined-only` of that AOTriton, without addresses
    case $1 in
    0.7.* | 0.8.*) cat "$srcdir/tests/lib/shim/exports_0.8.2.txt" ;;
    0.9.*) cat "$srcdir/tests/lib/shim/exports_0.9.2.txt" ;;
    0.10.*) cat "$srcdir/tests/lib/shim/exports_0.10.0.txt" ;;
    0.11.*) cat "$srcdir/tests/lib/shim/exports_0.11.2.txt" ;;
    0.12.*) cat "$srcdir/tests/lib/shim/exports_0.12.0.txt" ;;
    *) cat "$srcdir/tests/lib/shim/exports_0.13.0.txt" ;;
    esac
    # the one name that came with a point release
    [ "$1" != 0.12.1 ] || echo 'T _ZN8aotriton17isArchTechPreviewEP12ihipStream_t'
}

plan() { # at the end
    echo "1..$count"
    exit $failed
}
