# aothip-check: on the emulator, and what it says when something is missing, broken or wrong.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
export FAKE_HIP_TARGET=$first
fp8_of() { # GPU: 1 if it multiplies FP8
    case $1 in gfx942|gfx950|gfx120?) echo 1 ;; *) echo 0 ;; esac
}
fp8=`fp8_of $first`

# Wrong commands.
exits 2 'an unknown option' "$check" --fast
one_line err 'is answered with one line'
contains err 'unknown option --fast' 'that names it'
exits 2 'an option without its value' "$check" --images
contains err '--images needs a value' 'is named'
exits 2 'a device that is no number' "$check" --device two
contains err '--device two: wanted is a whole number' 'is named'
exits 2 'an operand' "$check" gfx942
contains err 'gfx942 is no option' 'is named'
exits 0 '--version' "$check" --version
contains out 'aothip-check 0.' 'tells the version'

# No images.
export AOTHIP_HIP_LIBRARY="$fake"
exits 1 'no image directory' "$check" --images none
contains out 'none' 'is named'
contains out '--images or in AOTHIP_IMAGES' 'with the cure'
mkdir empty
exits 1 'an empty image directory' "$check" --images empty
contains out 'empty holds no images' 'is named'
AOTHIP_IMAGES=empty exits 1 'AOTHIP_IMAGES' "$check"
contains out 'empty holds no images' 'is obeyed'
export AOTHIP_IMAGES="$images"
FAKE_HIP_TARGET=gfx906 exits 1 'a GPU without images' "$check"
contains out 'check_gpu    FAIL AOTHIP_E_NO_IMAGES' 'fails check_gpu'
contains out 'gfx906' 'and is named'

# No runtime, no GPU.
AOTHIP_HIP_LIBRARY=./none.so exits 1 'no HIP runtime' "$check"
contains out 'none.so' 'the file is named'
contains out '--emulate all' 'and the emulator recommended'
AOTHIP_HIP_LIBRARY=$fake_old exits 1 'a runtime that lacks a function' "$check"
contains out 'lacks hipModuleLaunchKernel' 'is named with the function'
FAKE_HIP_DEVICES=0 exits 1 'no GPU' "$check"
contains out "FAIL AOTHIP_E_NO_DEVICE: the HIP runtime $fake finds no GPU" 'is told'
contains out '/dev/kfd' 'and what to look at'
exits 1 'a device that is not there' "$check" --device 3
contains out 'there is no device 3; there is 1, from 0' 'is named'
contains out 'version 6.2.41133' 'the version of the runtime is told'

# A runtime whose functions fail, and one that computes nothing.
for function in hipGetDeviceCount hipGetDevicePropertiesR0600 hipStreamCreate hipMalloc hipMemcpy \
    hipModuleLoadData hipModuleLaunchKernel hipStreamSynchronize; do
    FAKE_HIP_FAIL=$function exits 1 "$function fails" "$check" --quick
    contains out "$function" 'is named'
done
exits 1 'kernels that compute nothing' "$check"
[ `grep -c 'FAIL$' out` -eq $((39 + 2 * fp8)) ]
ok 'fail all cases, 39 and two of FP8 where the GPU multiplies that'
contains out 'o: 1 elements wrong, the worst at (0, 0, 0, 0): nan, not' 'and are seen not to write'
contains out "FAIL: 0 of $((39 + 2 * fp8)) cases passed on 1 device" 'and are counted'
FAKE_HIP_DEVICES=3 exits 1 'three devices' "$check" --quick
contains out "FAIL: 0 of $((3 * (12 + fp8))) cases passed on 3 devices" 'are all tried'
FAKE_HIP_DEVICES=3 exits 1 'one of them' "$check" --quick --device 2
contains out 'device 2     Fake GPU 2' 'is tried'
contains out "0 of $((12 + fp8)) cases passed on 1 device" 'alone'

# Images of another version, and damaged ones. The version stands 16 bytes into the file.
mkdir -p "bad/amd-$first/flash"
file=bad/amd-$first/flash/attn.zst
cp "$images/amd-$first/flash/attn.zst" good.zst
cp good.zst $file
printf '\177' | dd of=$file bs=1 seek=16 conv=notrunc 2>dd
exits 1 'images of another version' "$check" --images bad
contains out "check_gpu    FAIL AOTHIP_E_VERSION" 'fail check_gpu'
contains out "$file: header: version is 127" 'and are named'
contains out 'same release' 'with the cure'
size=`wc -c <good.zst`
cp good.zst $file
printf 'damage' | dd of=$file bs=1 seek=$((size - 100)) conv=notrunc 2>dd
exits 1 'a damaged image' "$check" --images bad
contains out "$file" 'is named'
cp -R "$images"/* bad
head -c $((size / 2)) good.zst >$file
exits 1 'a truncated image' "$check" --images bad
contains out "$file" 'is named'
contains out 'install the images anew' 'with the cure'
last=`echo $gpus | sed 's/.* //'`
FAKE_HIP_TARGET=$last exits 1 "a broken image of $first" "$check" --images bad --quick
contains out "FAIL AOTHIP_E" 'is told'
[ $# -eq 1 ] || grep -q '^check_gpu    OK' out
ok "and does not keep $last from being checked"
printf 'aothip-tune 1\ngpu\n' >wrong.txt
AOTHIP_TUNE=wrong.txt exits 1 'a wrong table of tiles' "$check" --quick
contains out 'wrong.txt:2: ' 'is named with its line'
contains out 'AOTHIP_TUNE names that file' 'and the cure is another than new images'

# JSON, also of failures.
exits 1 'JSON of a failure' "$check" --quick --json
contains out '"ok": false' 'says so'
contains out '"error": null' 'and gives no number for NaN'
if command -v python3 >/dev/null; then
    python3 -m json.tool <out >tool 2>&1
    ok 'and is JSON'
    AOTHIP_HIP_LIBRARY='./no"ne\.so' "$check" --json | python3 -m json.tool >tool 2>&1
    ok 'whatever its strings hold'
fi
"$check" --json >/dev/full 2>err
[ $? -eq 1 ]
ok 'a report that cannot be written is a failure'

# On the emulator.
unset AOTHIP_HIP_LIBRARY FAKE_HIP_TARGET
# Strictly: no race, no read of garbage, no missing wait. The sanitizers make the emulator slow.
mode=strict
which=all
if sanitized; then
    mode=plain
    which=$last
    gpus=$last
    set -- $last
fi
cases=0
for gpu in $gpus; do cases=$((cases + 12 + `fp8_of $gpu`)); done
AOTHIP_EMU_MODE=$mode exits 0 "emulated, in $mode mode: $*" "$check" --emulate $which --quick
contains out "OK: $cases of $cases cases passed on $# device" 'passes every case'
for gpu in $gpus; do
    contains out "             $gpu" "$gpu is there"
done
[ ! -s err ]
ok 'nothing on standard error, no progress where there is no terminal'
grep -v '^images\|^HIP' out | awk 'length > 80' >wide
[ ! -s wide ]
ok 'the report fits into 80 columns'
sed 's/^/# /' wide
# However the matrix unit may round. The others have the matrix unit of one of these.
for gpu in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
    [ -d "$images/amd-$gpu" ] || continue
    AOTHIP_EMU_MODE=strict AOTHIP_EMU_MATRIX=adversarial exits 0 \
        "$gpu in strict mode, adversarial arithmetic" "$check" --emulate $gpu --quick
    [ ! -s err ]
    ok 'nothing to report'
    sed 's/^/# /' err
    ! sanitized || break
done
exits 0 "$first alone, as JSON" "$check" --emulate "$first" --quick --json
contains out '"ok": true' 'passes'
contains out '"emulated": true' 'and says that it is emulated'
exits 1 'a GPU that the emulator does not know' "$check" --emulate gfx000
contains out 'gfx000' 'is named'
plan
