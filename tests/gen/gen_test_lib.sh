# What the generator's shell tests share. Run from the build directory; make gives the tools by
# environment, by hand the defaults do.
#
# Afterwards the current directory is a fresh one, removed at the end, with small.def and the test
# kernel in src/.
set -u
: "${srcdir:=.}" "${DEVICE_CLANG:=clang-19}" "${NINJA:=ninja}"
: "${OFFLOAD_BUNDLER:=`"$DEVICE_CLANG" -print-prog-name=clang-offload-bundler`}"
build=`pwd`
srcdir=`cd "$srcdir" && pwd`
work=`mktemp -d "${TMPDIR:-/tmp}/aothip-gen.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
count=0
failed=0

ok() { # NAME: passes if the last command did
    if [ $? -eq 0 ]; then good=ok; else good='not ok'; failed=1; fi
    count=$((count + 1))
    echo "$good $count - $1"
}

contains() { # FILE TEXT NAME
    grep -qF -- "$2" "$1"
    ok "$3"
    [ "$good" = ok ] || { echo "# lacks: $2"; sed 's/^/#   /' "$1"; }
}

plan() { # at the end
    echo "1..$count"
    exit $failed
}

# DIRECTORY: makes a source tree with the test kernel there and goes into it.
new_tree() {
    mkdir -p "$1/src" && cd "$1" || exit 99
    mkdir src/forward && cp "$srcdir/tests/gen/small/attn_fwd.hip" src/forward &&
        cp "$srcdir/tests/gen/small/test_step.h" "$srcdir/gen/kernel/kernarg.h" src || exit 99
    cp "$srcdir/tests/gen/small/small.def" . || exit 99
    chmod -R u+w .
}

# [OPTION...]: writes build.ninja for small.def.
generate() {
    "$build/gen/aothip-gen" --matrix=small.def --kernels=src --clang="$DEVICE_CLANG" \
        --bundler="$OFFLOAD_BUNDLER" --pack="$build/gen/aothip-pack" --output=build.ninja "$@"
}

# [OPTION...]: generates and builds; all output goes to log.
make_images() {
    { generate "$@" && "$NINJA" -j2; } >log 2>&1
}

DEVICE_CLANG=`command -v "$DEVICE_CLANG"`
new_tree "$work/tree"
