#!/bin/sh
# What make install-aotriton installs: exactly what PyTorch takes. Library and images beside it,
# moved anywhere together, are found from any directory; without images there is a reason and no
# crash. Numbers such as "16.1 #7" are lines of the checklist for drop-in libraries.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
program=`pwd`/tests/lib/.libs/test_drop_in
[ -x "$program" ] || program=`pwd`/tests/lib/shim/test_drop_in
if [ ! -d images/aotriton.images/amd-gfx942 ]; then
    echo '1..0 # SKIP there are no images'
    exit 0
fi
emulator=`pwd`/tools/emu/.libs
suffix=`configured AOTRITON_SUFFIX`
version=`configured AOTRITON_VERSION`
library=libaotriton${suffix}_v2.so

# what PyTorch copies, and nothing more
make -s install-aotriton DESTDIR="$work/stage" prefix=/p exec_prefix=/p libdir=/p/lib \
    includedir=/p/include docdir=/p/share/doc/aothip >"$work/messages" 2>&1
ok '16.1 #7: make install-aotriton'
[ "$good" = ok ] || sed 's/^/# /' "$work/messages"
p=$work/stage/p
(cd "$p" && ls . lib include lib/cmake) >"$work/found" 2>&1
cat >"$work/wanted" <<EOF
.:
include
lib
share

include:
aotriton

lib:
aotriton.images
cmake
$library
$library.$version

lib/cmake:
aotriton
EOF
diff "$work/wanted" "$work/found" >"$work/diff"
empty "$work/diff" '16.1 #7: installs library, cmake directory, images and headers alone'
for header in config dtypes flash runtime util cpp_tune; do
    [ -f "$p/include/aotriton/$header.h" ] || echo $header.h
done >"$work/found"
[ -s "$p/share/doc/aothip/LICENSE" ] || echo LICENSE >>"$work/found"
empty "$work/found" '16.1 #4: all headers are there; 16.6 #49: so is the licence'
(cd "$p/lib/aotriton.images" && for d in *; do
    case $d in amd-gfx[0-9]*) [ -f "$d/__signature__" ] && continue ;; esac
    echo "$d"
done) >"$work/found"
empty "$work/found" '16.1 #8: images lie in amd-gfx<id>, each with its __signature__'
head -c 1 "$p/lib/aotriton.images/amd-gfx942/__signature__" | grep -q '{'
ok '16.1 #8: which is a JSON object'

# TheRock's handler takes what lies below aotriton.images/amd-gfx*, and leaves the rest to the host
(cd "$p/lib/aotriton.images" && for d in *; do
    case ${d#amd-gfx} in "$d" | *[!0-9a-f]*) echo "$d" ;; esac
done) >"$work/found"
empty "$work/found" '16.6 #48: each of their directories is named for one exact target'
find "$p/lib" -type f ! -path '*/aotriton.images/amd-gfx*/*' -exec sh -c \
    'readelf -SW "$1" 2>/dev/null | grep -q "hip_fatbin\|__CLANG_OFFLOAD" && echo "$1"' sh {} \; \
    >"$work/found"
empty "$work/found" '16.6 #47: there is no device code outside of them'
skip '16.6 #50: Windows' 'the library is for Linux'

moved="$work/else where/lib"
mkdir -p "$work/else where"
mv "$p/lib" "$work/else where"

run() { # DIRECTORY-OF-LIBRARIES FROM
    (cd "$2" && AOTHIP_IMAGES= LD_LIBRARY_PATH="$1:$emulator" "$program" quick) \
        >"$work/out" 2>&1
}
run "$moved" /
ok '16.1 #9: test_drop_in passes with the library moved'
grep '^not ok' "$work/out" | sed 's/^/# /'
ln -s "$moved" "$work/link"
run "$work/link" "$work"
ok '16.1 #9: and through a symbolic link to its directory'
$CC $SANITIZE_FLAGS -o "$work/two_builds" "$srcdir/tests/lib/shim/two_builds.c" -ldl
size=832
case $version in
0.[789].*) size=0 ;;
0.10.* | 0.11.*) size=768 ;;
esac
(cd / && AOTHIP_IMAGES= AOTHIP_HIP_LIBRARY="$emulator/libhipemu.so" AOTHIP_EMU_GPU=gfx942 \
    AOTHIP_EXPECT_GPU=1 "$work/two_builds" "$moved/$library.$version" aotriton$suffix $size) \
    >"$work/out" 2>&1
ok '16.1 #9: by dlopen with an absolute path'
sed 's/^/# /' "$work/out"

rm -rf "$moved/aotriton.images/amd-gfx1100"
run "$moved" /
grep -q '^not ok .*GPU 2: ' "$work/out" && ! grep '^not ok' "$work/out" | grep -qv 'GPU 2: '
ok 'without one GPU'"'"'s images the others still work'
mv "$moved/aotriton.images" "$moved/gone"
run "$moved" /
grep -q '^not ok .*check_gpu' "$work/out" && ! grep -qi 'segmentation\|abort' "$work/out"
ok '16.6 #47: without any, check_gpu refuses'
mkdir "$work/one"
cp -P "$moved"/$library* "$work/one"
ln -s "$moved/gone" "$work/one/aotriton.images"
rm -rf "$moved/gone/amd-gfx90a/flash"
: >"$moved/gone/amd-gfx942/flash/attn.zst"
run "$work/one" /
grep -q '^ok .*GPU 3: attention: o is' "$work/out" && grep -q '^not ok .*GPU 1: ' "$work/out" &&
    ! grep -q '^not ok .*GPU 3: ' "$work/out"
ok 'images half deleted, half emptied: the rest works'
plan
