#!/bin/sh
# The libraries and the images beside them, moved anywhere together, are found from any directory;
# without images there is a reason and no crash.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
program=`pwd`/tests/lib/.libs/test_drop_in
[ -x "$program" ] || program=`pwd`/tests/lib/test_drop_in
if [ ! -d images/aotriton.images/amd-gfx942 ]; then
    echo '1..0 # SKIP there are no images'
    exit 0
fi
emulator=`pwd`/tools/emu/.libs
moved="$work/else where/lib"
mkdir -p "$moved"
cp -P lib/.libs/libaothip.so* lib/.libs/libaotriton_v2.so* "$moved"
cp -RL images/aotriton.images "$moved"

run() { # DIRECTORY-OF-LIBRARIES FROM
    (cd "$2" && AOTHIP_IMAGES= LD_LIBRARY_PATH="$1:$emulator" "$program") >"$work/out" 2>&1
}
run "$moved" /
ok 'all tests of test_drop_in pass with the libraries moved'
grep '^not ok' "$work/out" | sed 's/^/# /'
ln -s "$moved" "$work/link"
run "$work/link" "$work"
ok 'and through a symbolic link to their directory'

rm -rf "$moved/aotriton.images/amd-gfx1100"
run "$moved" /
[ "`grep -c '^not ok' "$work/out"`" -eq 8 ]
ok 'without one GPU'"'"'s images the others still work'
mv "$moved/aotriton.images" "$moved/gone"
run "$moved" /
grep -q '^not ok .*check_gpu' "$work/out" && ! grep -qi 'segmentation\|abort' "$work/out"
ok 'without any, check_gpu refuses'
mkdir "$work/one"
cp -P lib/.libs/libaothip.so* lib/.libs/libaotriton_v2.so* "$work/one"
ln -s "$moved/gone" "$work/one/aotriton.images"
rm -rf "$moved/gone/amd-gfx90a/flash"
: >"$moved/gone/amd-gfx942/flash/attn.zst"
run "$work/one" /
grep -q '^ok .*GPU 3, all keys' "$work/out" && grep -q '^not ok .*GPU 0, all keys' "$work/out"
ok 'images half deleted, half emptied: the rest works'
plan
