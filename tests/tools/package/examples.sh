# The examples: compiled as their comments say, and what they print on the emulator.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

ln -s "$build/tools/emu/.libs/libhipemu.so" libamdhip64.so
libraries="-L$build/lib/.libs -L. -laothip -lamdhip64"
LD_LIBRARY_PATH=$build/lib/.libs:$build/tools/emu/.libs
AOTHIP_IMAGES=$images
export LD_LIBRARY_PATH AOTHIP_IMAGES
sanitize=`sed -n 's/^SANITIZE_\(LD\)\{0,1\}FLAGS = //p' "$build/Makefile" | tr '\n' ' '`
sanitize=`echo $sanitize`
printf 'row 0: 0x0000\nrow 1: 0x3800\nrow 2: 0x3c00\nrow 3: 0x3e00\nrow 4: 0x4000\n' >wanted

prints() { # NAME COMMAND...
    name=$1
    shift
    "$@" >out 2>err && cmp -s out wanted
    ok "$name"
    [ "$good" = ok ] || sed 's/^/#   /' out err
}

for language in "${CC:-cc} -std=c99" "${CC:-cc} -std=c11"; do
    exits 0 "attention.c compiles: $language" $language -Wall -Wextra -Werror -pedantic $sanitize \
        -D__HIP_PLATFORM_AMD__ -I"$srcdir/include" "$srcdir/tools/examples/attention.c" \
        $libraries -o example
done
for AOTHIP_EMU_GPU in ${GPU_ARCHS:-gfx90a gfx942 gfx1100 gfx1151}; do
    grep -q "^sibling $AOTHIP_EMU_GPU " "$srcdir/images/matrix.def" && continue
    export AOTHIP_EMU_GPU
    prints "attention.c on $AOTHIP_EMU_GPU" ./example
done
for standard in 17 20; do
    exits 0 "attention.cc compiles: C++$standard" ${CXX:-c++} -std=c++$standard -Wall -Wextra -Werror -Wshadow -pedantic \
        $sanitize -I"$srcdir/include" "$srcdir/tools/examples/attention.cc" -L"$build/lib/.libs" -laothip -o cc_example
done
prints "attention.cc" env AOTHIP_HIP_LIBRARY="$build/tools/emu/.libs/libhipemu.so" ./cc_example
contains err "as it should: v: size[1]" "and a failure is thrown"
if [ -n "$sanitize" ] || ! command -v rustc >/dev/null; then
    ok_skip() { count=$((count + 1)); echo "ok $count - attention.rs # SKIP $1"; }
    if [ -n "$sanitize" ]; then ok_skip "the library is built with sanitizers"; else ok_skip "no rustc"; fi
else
    exits 0 "attention.rs compiles" rustc --edition 2021 -D warnings -L "$build/lib/.libs" -L . \
        -o rust_example "$srcdir/tools/examples/attention.rs"
    prints "attention.rs" ./rust_example
fi
AOTHIP_IMAGES=/nonexistent
exits 1 "attention.c without images fails" ./example
contains err "/nonexistent" "and names the directory"
plan
