# What is rebuilt when something changes, and that an interrupted build goes on where it stopped.
. "${srcdir:-.}/tests/gen/gen_test_lib.sh"

clangs() { # how many code objects the last build compiled
    grep -c '\] clang ' log
}

rebuilds() { # COUNT NAME
    make_images
    compiled=`clangs`
    [ "$compiled" -eq "$1" ]
    ok "$2: $compiled code objects compiled, $1 expected"
}

# 4 kernels for gfx90a with two code objects each, 4 for gfx1100
rebuilds 12 "a first build"
rebuilds 0 "nothing changed"
contains log "no work to do" "nothing is done at all"
cp -r aotriton.images "$work/first"

touch src/forward/attn_fwd.hip
rebuilds 12 "the kernel touched"
touch src/test_step.h
rebuilds 12 "its header touched"
diff -r "$work/first" aotriton.images
ok "rebuilding changes no byte"

echo '/* another header */' >src/unused.h
rebuilds 0 "a header that no kernel includes"
contains log "sign gfx90a" "but the signature covers it"
! cmp -s "$work/first/amd-gfx90a/__signature__" aotriton.images/amd-gfx90a/__signature__
ok "and changes"
rm src/unused.h
make_images

echo '# a comment' >>small.def
rebuilds 0 "a comment in the matrix"
sed 's/dim=64/dim=32/' small.def >new && mv new small.def
rebuilds 6 "the head dim of one row"
[ "`grep -c '\] pack ' log`" -eq 3 ]
ok "all images are packed anew, the sibling's too"
sed 's/gpu=gfx90a,gfx1100 dtype=f16,bf16 dim=32/gpu=gfx90a dtype=f16,bf16 dim=32/' small.def >new &&
    mv new small.def
rebuilds 0 "a row taken from a GPU"
[ "`grep -c '\] pack ' log`" -ge 1 ]
ok "its image is packed anew"

cat >slow-clang <<EOF
#!/bin/sh
sleep 0.1
exec "$DEVICE_CLANG" "\$@"
EOF
chmod +x slow-clang
new_tree "$work/interrupted"
DEVICE_CLANG=$work/tree/slow-clang
generate
"$NINJA" -j1 >log 2>&1 &
ninja=$!
tries=0
while [ ! -e object/gfx90a/attn_fwd_bf16_d64_t64x64.0.co ] && [ $tries -lt 200 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -TERM $ninja
wait $ninja 2>/dev/null
[ $? -ne 0 ] && [ ! -e aotriton.images/amd-gfx90a/flash/attn.zst ]
ok "interrupted: no image is there"
[ -z "`find . -name '*.tmp*'`" ]
ok "interrupted: no temporary file is left"
"$NINJA" -j2 >log 2>&1
ok "goes on after the interrupt"
compiled=`clangs`
[ "$compiled" -lt 12 ] && [ "$compiled" -gt 0 ]
ok "and compiles only what was missing: $compiled of 12"
diff -r "$work/first" aotriton.images
ok "with the same result as without an interrupt"

rm -rf aotriton.images/amd-gfx1100
"$NINJA" -j2 >log 2>&1
diff -r "$work/first" aotriton.images
ok "a removed directory comes back"
plan
