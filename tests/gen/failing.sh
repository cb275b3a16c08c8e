# A kernel that is not what its row says fails the build with a message that names it, and leaves
# no image; the images of other GPUs are still made.
. "${srcdir:-.}/tests/gen/gen_test_lib.sh"

refuses() { # FLAGS MESSAGE NAME
    rm -rf aotriton.images object
    make_images --gpus=gfx1100 --flags="$1"
    [ $? -ne 0 ]
    ok "$3: the build fails"
    contains log "$2" "$3: the message"
    [ ! -e aotriton.images/amd-gfx1100/flash/attn.zst ] &&
        [ ! -e aotriton.images/amd-gfx1100/__signature__ ]
    ok "$3: no image, no signature"
}

refuses -DTEST_BROKEN 'this kernel does not compile' "a kernel that does not compile"
refuses -DTEST_SPILL 'small.def:6: attn_fwd_f16_d64_t64x64 for gfx1100: spills ' "a spilling kernel"
refuses -DTEST_SCRATCH ' bytes of scratch memory a lane' "a kernel with an array in memory"
refuses -DTEST_REGISTERS 'accumulation); its budget is 128' "a kernel over its budget"
refuses -DTEST_ARGUMENT 'takes 532 bytes of arguments instead of 528' "a kernel with other arguments"
refuses -DTEST_THREADS 'is compiled for workgroups of 64 threads instead of 128' \
    "a kernel for another workgroup"
refuses -DTEST_NAME "the kernel is called 'other_name'" "a kernel of another name"

[ "`grep -c "called 'other_name'" log`" -eq 4 ]
ok "every bad kernel is told, not only the first"

# Another compiler than the reference may need more than a budget, but may not be wrong otherwise.
warns() { # FLAGS MESSAGE NAME
    rm -rf aotriton.images object
    make_images --gpus=gfx1100 --flags="$1" --warn-budgets
    ok "$3 where budgets only warn: the build goes on"
    contains log "warning: attn_fwd_f16_d64_t64x64 for gfx1100: $2" "$3: the warning"
    [ -s aotriton.images/amd-gfx1100/flash/attn.zst ]
    ok "$3: the image"
}
warns -DTEST_SPILL 'spills ' "a spilling kernel"
warns -DTEST_SCRATCH 'uses ' "a kernel with an array in memory"
warns -DTEST_REGISTERS 'needs ' "a kernel over its budget"
rm -rf aotriton.images object
make_images --gpus=gfx1100 --flags=-DTEST_NAME --warn-budgets
[ $? -ne 0 ] && [ ! -e aotriton.images/amd-gfx1100/flash/attn.zst ]
ok "a kernel of another name fails there, too"

rm -rf aotriton.images object
make_images --gpus=gfx1100 --lld=/nonexistent/lld
[ $? -ne 0 ] && [ -z "`find object -name '*.co' -o -name '*.bundle'`" ]
ok "a linker that is not there makes no code object"
contains log '/nonexistent/lld: ' "and is named"

make_images --gpus=gfx1100
ok "the same kernel without faults builds"
[ -z "`find object -name '*.o'`" ]
ok "and leaves no object files behind, after that, too"
printf '#error broken by the test\n' >>src/test_step.h
make_images --gpus=gfx1100
contains log 'broken by the test' "an edit that breaks it is noticed"
cp "$srcdir/tests/gen/small/test_step.h" src/
cp object/gfx1100/attn_fwd_bf16_d64_t64x64.bundle object/gfx1100/attn_fwd_f16_d64_t64x64.bundle
"$build/gen/aothip-pack" image --matrix=small.def --gpu=gfx1100 \
    --objects=object/gfx1100 --output=aotriton.images/amd-gfx1100/flash/attn.zst >log 2>&1
[ $? -ne 0 ] && [ ! -e aotriton.images/amd-gfx1100/flash/attn.zst ]
ok "a refused image does not leave the former one behind"
contains log "small.def:6: attn_fwd_f16_d64_t64x64 for gfx1100: the kernel is called 'attn_fwd_bf16_d64_t64x64'" \
    "a bundle in another's place is noticed"

# ROCm does not look for kernels in the dynamic table, which these still have.
sed -i 's/--strip-debug --discard-all/--strip-all/' build.ninja
"$NINJA" -j2 >log 2>&1
[ $? -ne 0 ] && [ ! -e aotriton.images/amd-gfx1100/flash/attn.zst ]
ok "code objects without a symbol table are refused"
contains log "small.def:6: attn_fwd_f16_d64_t64x64 for gfx1100: code object for gfx1100: its symbol table (SHT_SYMTAB) lacks 'attn_fwd_f16_d64_t64x64'" \
    "and the kernel is named that is not in it"
contains log "lacks 'attn_fwd_f16_d64_t64x64.kd'" "and its descriptor"
rm object/gfx1100/attn_fwd_f16_d64_t64x64.bundle
"$build/gen/aothip-pack" image --matrix=small.def --gpu=gfx1100 \
    --objects=object/gfx1100 --output=out.zst >log 2>&1
contains log 'attn_fwd_f16_d64_t64x64 for gfx1100: has not been built' "a missing bundle is noticed"
cp object/gfx1100/attn_fwd_bf16_d64_t64x64.0.co object/gfx1100/attn_fwd_f16_d64_t64x64.bundle
"$build/gen/aothip-pack" image --matrix=small.def --gpu=gfx1100 \
    --objects=object/gfx1100 --output=out.zst >log 2>&1
contains log 'not a clang offload bundle' "a bare code object is no bundle"

rm -rf object && make_images --gpus='gfx1100 gfx1102'
[ -e aotriton.images/amd-gfx1102/flash/attn.zst ]
ok "a sibling builds"
for image in small.def missing; do
    "$build/gen/aothip-pack" image --matrix=small.def --gpu=gfx1102 --objects=object/gfx1100 \
        --sibling=$image --output=aotriton.images/amd-gfx1102/flash/attn.zst >log 2>&1
    contains log 'the image given with --sibling is none, or one of other kernels' "but not from $image"
    [ ! -e aotriton.images/amd-gfx1102/flash/attn.zst ]
    ok "and leaves none behind"
done

# gfx1100 and seven siblings fit in a header, as matrix.def has them; nine do not.
sed '/^sibling /d' small.def >other.def
for gpu in 1101 1102 1103 1150 1151 1152 1153 1200 1201; do
    echo "sibling gfx$gpu of=gfx1100 register_pool=1024"
done >siblings
sed -i '/^gpu gfx1100/r siblings' other.def
"$build/gen/aothip-pack" image --matrix=other.def --gpu=gfx1100 --objects=object/gfx1100 \
    --output=out.zst >log 2>&1
[ $? -eq 1 ] && [ ! -e out.zst ]
ok "more siblings than a header has room for"
contains log "out.zst: its siblings' names are too long for the header" "is said"
sed -i '/gfx1200\|gfx1201/d' other.def
"$build/gen/aothip-pack" image --matrix=other.def --gpu=gfx1100 --objects=object/gfx1100 \
    --output=out.zst >log 2>&1
ok "seven are not too many"

"$build/gen/aothip-gen" --matrix=small.def >log 2>&1
[ $? -eq 2 ]
ok "aothip-gen without its options is a usage error"
"$build/gen/aothip-pack" >log 2>&1
[ $? -eq 2 ]
ok "aothip-pack without a command is a usage error"
for part in gfx1100 =file gfx1100=missing.co; do
    "$build/gen/aothip-pack" bundle --output=made.bundle -- $part >log 2>&1
    [ $? -eq 1 ] && [ -s log ] && [ ! -e made.bundle ]
    ok "no bundle is made of '$part'"
done
contains log 'missing.co' "and the file is named that is missing"
"$build/gen/aothip-pack" bundle --output=made.bundle >log 2>&1
[ $? -eq 2 ]
ok "a bundle of nothing is a usage error"
"$build/gen/aothip-gen" --help | grep -q -- --matrix=FILE
ok "aothip-gen --help"
"$build/gen/aothip-pack" --help | grep -q signature
ok "aothip-pack --help"

# A pipe or a device is written to, neither replaced by a file nor read to its end.
generate --gpus=gfx1100
mkfifo pipe
cat pipe >received &
timeout 20 "$build/gen/aothip-gen" --matrix=small.def --kernels=src --clang="$DEVICE_CLANG" \
    --lld="$DEVICE_LLD" --pack="$build/gen/aothip-pack" --gpus=gfx1100 --output=pipe
[ $? -eq 0 ] || kill $!
wait $!
[ -p pipe ] && cmp -s received build.ninja
ok "a pipe receives the ninja file"
generate --output=/dev/full >log 2>&1
[ $? -eq 1 ]
ok "a full device is a failure"
contains log '/dev/full: No space left on device' "and named"
"$build/gen/aothip-gen" --matrix=small.def --list >/dev/full 2>log
[ $? -eq 1 ]
ok "so is a list that cannot be printed"
contains log 'standard output cannot be written' "and told"
plan
