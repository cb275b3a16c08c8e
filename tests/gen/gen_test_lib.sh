# What the generator's shell tests share. Run from the build directory; make gives the tools by
# environment, by hand the defaults do.
#
# Afterwards the current directory is a fresh one, removed at the end, with small.def and the test
# kernel in src/.
. "${srcdir:-.}/tests/tap.sh"
: "${DEVICE_CLANG:=clang-19}" "${NINJA:=ninja}"
build=`pwd`
srcdir=`cd "$srcdir" && pwd`

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
        --lld="$DEVICE_LLD" --pack="$build/gen/aothip-pack" --output=build.ninja "$@"
}

# [OPTION...]: generates and builds; all output goes to log.
make_images() {
    { generate "$@" && "$NINJA" -j2; } >log 2>&1
}

DEVICE_CLANG=`command -v "$DEVICE_CLANG"`
DEVICE_LLD=`"$DEVICE_CLANG" -print-prog-name=ld.lld`
new_tree "$work/tree"
