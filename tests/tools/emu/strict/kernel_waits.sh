#!/bin/sh
# Wait states of every kernel of this build's images, along all ways through it; and the look-out
# for them on kernels that lack some.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
look=$build/tests/tools/emu/strict/test_kernel_waits

for gpu in gfx90a gfx942 gfx950 gfx1100 gfx1151; do
    "$look" "$gpu" >log 2>&1
    ok "$gpu: what is planted is found, and nothing else"
    [ "$good" = ok ] || sed 's/^/#   /' log
    [ -d "$build/images/object/$gpu" ] || continue
    # code objects are named by their kernels, without blanks
    find "$build/images/object/$gpu" -name '*.co' | xargs "$look" "$gpu" >log 2>&1
    ok "$gpu: no way through its kernels lacks wait states"
    [ "$good" = ok ] || sed 's/^/#   /' log
done
plan
