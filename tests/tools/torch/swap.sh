# aothip-torch on a made-up PyTorch, and with the library that was built.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
for python in ${PYTHON-} python3 /usr/bin/python3; do
    "$python" -c 'import os; os.waitstatus_to_exitcode' 2>/dev/null && break # 3.9
    python=
done
[ -n "$python" ] || { echo "1..0 # SKIP no Python from 3.9 on" && exit 0; }
program=$srcdir/tools/torch/aothip-torch
shared() { # FILE SONAME TEXT [LIBRARIES...]
    file=$1 soname=$2 text=$3
    shift 3
    echo "const char text[] = \"$text\";" |
        ${CC:-cc} -shared -fPIC -nostdlib -x c - -x none -o "$file" -Wl,-soname,"$soname" -Wl,--no-as-needed "$@"
}
name=libaotriton_v2.so.0.11.2
mkdir -p torch/lib/aotriton.images/amd-gfx942/flash ours/aotriton.images/amd-gfx942/flash \
    ours/aotriton.images/amd-gfx1100/flash ours/needy ours/older
echo "__version__ = '2.11.0+rocm7.1'" >torch/version.py
shared torch/lib/$name $name AOTriton
shared torch/lib/newer.so $name 'AOTriton, newer'
shared torch/lib/libtorch_hip.so libtorch_hip.so torch torch/lib/$name '-Wl,-rpath,$ORIGIN'
echo theirs >torch/lib/aotriton.images/amd-gfx942/flash/fwd.aks2
echo theirs >torch/lib/aotriton.images/amd-gfx942/__signature__
shared ours/$name $name 'aothip: AOTHIP_IMAGES'
shared libaothip.so.0 libaothip.so.0 aothip
shared ours/needy/$name $name 'AOTHIP_IMAGES' ./libaothip.so.0
shared ours/older/libaotriton_v2.so.0.10.0 libaotriton_v2.so.0.10.0 AOTHIP_IMAGES
for gpu in gfx942 gfx1100; do
    echo "images $gpu" >ours/aotriton.images/amd-$gpu/flash/attn.zst
    echo ours >ours/aotriton.images/amd-$gpu/__signature__
done
mkdir scratch
"$python" "$srcdir/tests/tools/torch/test_swap.py" "$program" "$work/torch" "$work/ours" "$work/scratch" >swap.out 2>&1
swapped=$?
sed -n '/^not ok/p; /^#/p; /^[^on1#]/s/^/# /p' swap.out
[ $swapped -eq 0 ] && [ "`sed -n 's/^1\.\.//p' swap.out`" -ge 20 ]
ok 'made-up libraries: 20 checks and more'

# The library of this build, as configured: a PyTorch that wants it gets it.
built=`ls "$build"/lib/.libs/libaotriton*_v2.so.*.*.* | head -n 1`
real=${built##*/}
case $real in libaotriton_v2.so.*) ;; *) plan && exit ;; esac
mkdir -p real/lib from/aotriton.images
shared real/lib/$real $real AOTriton
shared real/lib/libtorch_hip.so libtorch_hip.so torch real/lib/$real '-Wl,-rpath,$ORIGIN'
cp "$built" from
cp -R "$images/`ls "$images" | head -n 1`" from/aotriton.images
exits 0 'the built library is put there' "$python" "$program" --torch real use from
cmp -s "$built" real/lib/$real && diff -r from/aotriton.images real/lib/aotriton.images
ok 'whole, with its images'
exits 0 'and restored' "$python" "$program" --torch real restore
grep -q AOTriton real/lib/$real && [ ! -e real/lib/aotriton.images ]
ok 'whole'
plan
