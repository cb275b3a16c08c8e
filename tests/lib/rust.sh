# The crate lib/rust, with cargo and without a network: its tests on the emulator, the example, and
# the example in its page. Left out where there is no cargo.
. "${srcdir:=.}/tests/lib/lib_test_lib.sh"
: "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
build=`pwd`
case $SANITIZE_FLAGS in ?*) skip 'the crate' 'the library is built with sanitizers'; plan ;; esac
command -v cargo >/dev/null && cargo --version >/dev/null 2>&1 || { skip 'the crate' 'no cargo'; plan; }
srcdir=`cd "$srcdir" && pwd`
AOTHIP_LIB_DIR=$build/lib/.libs LD_LIBRARY_PATH=$build/lib/.libs CARGO_TARGET_DIR=$build/tests/lib/rust
AOTHIP_IMAGES=$build/images/aotriton.images AOTHIP_EMU_GPU=${GPU_ARCHS%% *} AOTHIP_INCLUDE=$srcdir/include
AOTHIP_HIP_LIBRARY=$build/tools/emu/.libs/libhipemu.so TMPDIR=$work
export AOTHIP_LIB_DIR LD_LIBRARY_PATH CARGO_TARGET_DIR AOTHIP_IMAGES AOTHIP_EMU_GPU AOTHIP_INCLUDE \
    AOTHIP_HIP_LIBRARY TMPDIR
mkdir -p "$work/crate"
cp -R "$srcdir"/lib/rust/* "$work/crate" # cargo would write beside the sources
chmod -R u+w "$work/crate"
crate() { # NAME WORDS...: runs cargo
    name=$1
    shift
    (cd "$work/crate" && cargo "$@" --offline --quiet) >"$work/out" 2>&1
    ok "$name"
    [ "$good" = ok ] || sed 's/^/# /' "$work/out"
}
crate 'tests: layout as in C, forward, backward, failures' test --tests
[ `grep -c '^test result: ok' "$work/out"` -ge 2 ]
ok 'which ran'
crate 'the example in the page compiles' test --doc
crate 'examples/causal.rs' run --example causal
printf 'row 0: 0\nrow 1: 0.5\nrow 2: 1\nrow 3: 1.5\nrow 4: 2\n' | cmp -s - "$work/out"
ok 'and its numbers'
[ "$good" = ok ] || sed 's/^/# /' "$work/out"
plan
