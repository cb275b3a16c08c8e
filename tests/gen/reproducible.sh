# The same inputs give the same bytes: in another directory, at another time, in another order.
. "${srcdir:-.}/tests/gen/gen_test_lib.sh"

make_images
ok "builds here"

bundler=`"$DEVICE_CLANG" -print-prog-name=clang-offload-bundler`
if [ -x "$bundler" ]; then
    name=object/gfx1100/attn_fwd_f16_d64_t64x64
    "$bundler" -type=o -bundle-align=256 -input=/dev/null -input=$name.0.co -output=theirs \
        -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx1100 &&
        cmp $name.bundle theirs
    ok "a bundle is what clang-offload-bundler makes of the same code object"
else
    skip "a bundle is what clang-offload-bundler makes" "it is not installed"
fi

new_tree "$work/another/directory with blanks"
find . -type f -exec touch -d '2001-02-03 04:05:06' {} +
( umask 077; TZ=Asia/Tokyo; LC_ALL=C.UTF-8; export TZ LC_ALL
    generate --kernels="`pwd`/src" && "$NINJA" -j1 ) >log 2>&1
ok "builds in a directory whose name is long and has blanks"
cp -r aotriton.images "$work/there"
diff -r "$work/tree/aotriton.images" "$work/there"
ok "all images and signatures are the same"

cd "$work/tree" || exit 99
files=`find aotriton.images -type f | wc -l`
[ "$files" -eq 6 ]
ok "an image and a signature for each of three GPUs, and nothing else"
! grep -rqaF "$work" aotriton.images object/*/*.co object/*/*.bundle
ok "no file names the directory it was built in"

new_tree "$work/subset"
make_images --gpus=gfx1100
ok "builds for one GPU alone"
[ "`ls aotriton.images`" = amd-gfx1100 ]
ok "only that GPU has a directory"
diff -r "$work/tree/aotriton.images/amd-gfx1100" aotriton.images/amd-gfx1100
ok "its files are the same as in a build for all"

make_images --gpus=gfx1102
ok "builds for a sibling alone"
[ "`ls aotriton.images/amd-gfx1102`" = "`printf '__signature__\nflash'`" ] &&
    diff -r "$work/tree/aotriton.images/amd-gfx1102" aotriton.images/amd-gfx1102
ok "its files, too, are the same as in a build for all"
rm -rf aotriton.images

make_images --debug --gpus=gfx1100
ok "builds with line tables"
mkdir -p "$work/other debug"
cd "$work/other debug" && new_tree . && make_images --debug --gpus=gfx1100 --kernels="`pwd`/src"
ok "builds with line tables elsewhere"
diff -r "$work/subset/aotriton.images" aotriton.images
ok "even line tables do not depend on the directory"

make_images --gpus='gfx90a gfx1101'
contains log "unknown GPU 'gfx1101'; known are: gfx90a gfx1100 gfx1102" "an unknown GPU is an error"
plan
