# aothip-bench: its options and shapes, and what it prints on the emulator.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
bench=$build/tools/aothip-bench
export AOTHIP_IMAGES="$images"

# Wrong commands; none of these reaches a GPU.
wrong() { # NAME TEXT ARGUMENTS...: exits with 2 and one line that holds TEXT
    name=$1 text=$2
    shift 2
    exits 2 "$name" "$bench" "$@"
    contains err "$text" 'is named'
    one_line err 'in one line'
}
wrong 'an unknown option' '--fast' --fast
wrong 'an unknown preset' '--preset h100: wanted is mi300x or strix-halo' --preset h100
wrong 'no repetition' '--repeat 0' --repeat 0
wrong 'a shape without =' 'heads: wanted is key=value' heads
wrong 'an unknown key' 'width: no such key' width=3
wrong 'a key twice' 'seq: given twice' seq=64,heads=2,seq=128
wrong 'a number out of range' 'dim=513: no such value' dim=513
wrong 'no number' 'seq=1k: no such value' seq=1k
wrong 'an unknown type' 'dtype=fp8: no such value' dtype=fp8
wrong 'FP8 backward' 'dtype: there is no such backward pass' pass=bwd,dtype=e4m3
wrong 'a cache of FP8 backward' 'kv=e5m2: kv: there is no such backward pass' --both kv=e5m2
wrong 'a cache of FP8 for f32' 'kv: a type of its own goes with dtype=f16 or bf16' dtype=f32,kv=e5m2
wrong 'atomic sums forward' 'atomics: of the backward pass alone' atomics=1
wrong 'shared keys backward' 'splits: of the forward pass alone' --backward splits=2
wrong 'too many parts' 'splits=257: no such value' splits=257
wrong 'heads that do not divide' 'heads=6 is no multiple of heads_k=4' heads_k=4,heads=6
printf '# shapes\n\nseq=64\n  seq=64,mask=up # no\n' >shapes
wrong 'a wrong line of a file' 'shapes, line 4: mask=up: no such value' --file shapes
exits 1 'a file that is not there' "$bench" --file nowhere
contains err 'nowhere: cannot be read: No such file' 'is named'
exits 1 'a directory for a file' "$bench" --emulate $first --file .
contains err '.: cannot be read: Is a directory' 'is named'
printf '# none\n' >nothing
wrong 'a file without shapes' 'nothing: holds no shape' --emulate $first --file nothing
wrong 'a shape without anything' 'an empty argument is no shape' --emulate $first ''

# Interrupted while a shape is on the emulator that takes minutes, it leaves no file behind.
mkdir temporary
TMPDIR=$work/temporary "$bench" --counts --emulate $first seq=65536,heads=8 >/dev/null 2>&1 &
waited=0
while [ -z "`ls temporary`" ] && [ $waited -lt 100 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
[ -n "`ls temporary`" ]
ok 'counters go to a file'
sleep 0.1
kill $!
wait $!
[ $? -eq 143 ]
ok 'a signal ends the program'
[ -z "`ls temporary`" ]
ok 'and the file is gone'
exits 1 'no such device' "$bench" --emulate $first --device 7 seq=16
contains err 'no device 7' 'is named'
exits 0 '--version' "$bench" --version
contains out 'aothip-bench 0.' 'tells the version'

# The emulator counts.
exits 0 'a shape' "$bench" --counts --emulate $first seq=70,dim=64,heads=4,heads_k=2
contains out 'Emulated: counts of one call' 'says that it is emulated'
[ `grep -c '^fwd  *f16  *none  *1  *4  *2  *70  *70  *64  *64  *[1-9][0-9]* ' out` -eq 1 ]
ok 'one row, with instructions'
exits 0 'keys in any order' "$bench" --counts --emulate $first --csv \
    heads_k=2,seq_k=33,heads=4,seq_q=9,dim=40
contains out 'fwd,f16,none,bhsd,1,4,2,9,33,40,40,1,' 'are all taken'
printf 'seq=40,dim=64 # one\nseq=40,dim=64,mask=br,layout=bshd,dtype=bf16\n' >good
exits 0 'shapes from standard input, both passes' "$bench" --counts --emulate $first --csv --both --file - \
    <good
[ `grep -c '^fwd,' out` -eq 2 ] && [ `grep -c '^bwd,' out` -eq 2 ] && [ `wc -l <out` -eq 5 ]
ok 'are a head and four rows'

exits 0 'atomic sums, both passes' "$bench" --counts --emulate $first --csv --both seq=40,dim=64,atomics=1
grep '^fwd,' out | grep -v atomics >/dev/null && grep -q '^bwd,.*,atomics$' out
ok 'are those of the backward pass'
exits 0 'shared keys, both passes' "$bench" --counts --emulate $first --csv --both seq=40,dim=64,splits=2
[ `grep -c '^fwd,.*,splits=2$' out` -eq 1 ] && [ `grep -c '^bwd,.*,$' out` -eq 1 ]
ok 'are those of the forward pass'

exits 0 'JSON' "$bench" --counts --emulate $first --json seq=40,dim=64 seq=20,dim=32
if command -v python3 >/dev/null; then
    python3 - <<'END'
import json
with open("out") as f:
    report = json.load(f)
assert report["emulated"] is True and len(report["results"]) == 2
for r in report["results"]:
    assert r["instructions"] > 100 and r["matrix"] > 0 and r["bytes_stored"] >= 20 * 32 * 2
shape = report["results"][1]["shape"]
assert shape.startswith("batch=1,heads=1,heads_k=1,seq_q=20,seq_k=20,dim=32")
END
    ok 'parses, and holds what it should'
fi

# Its own file of counters goes away, a user's stays.
mkdir tmp
TMPDIR=$work/tmp exits 0 'a temporary file' "$bench" --counts --emulate $first seq=16,dim=64
[ -z "`ls tmp`" ]
ok 'is removed'
AOTHIP_EMU_COUNTERS=$work/mine exits 0 'a file of counters of the user' \
    "$bench" --counts --emulate $first seq=16,dim=64
contains mine '"kernel"' 'is written'
unset AOTHIP_EMU_COUNTERS

# Times, on a runtime whose clock is moved on by launches: of two calls to warm up, 100 ms each, and
# five timed ones. A shape of 2 x 4 x 1000 x 1000 x 128: 2 * 2 * 1.024e9 operations, and of
# 4 * 1024000 f16 elements and 8000 f32 of lse 8.224 MB.
timed() { # TIMES ARGUMENTS...
    AOTHIP_HIP_LIBRARY=$fake FAKE_HIP_TARGET=$first FAKE_HIP_TIMES=$1
    shift
    export AOTHIP_HIP_LIBRARY FAKE_HIP_TARGET FAKE_HIP_TIMES
    "$bench" $alone "$@"
    got=$?
    unset AOTHIP_HIP_LIBRARY FAKE_HIP_TARGET FAKE_HIP_TIMES
    return $got
}
alone=--no-prediction
shape=batch=2,heads=4,seq=1000,dim=128
seven=100,100,5,1,4,2,3
exits 0 'a timed shape' timed $seven --warm-up 2 --repeat 5 $shape
contains out "Fake GPU 0 ($first), device 0" 'tells the GPU'
[ "`sed -n 3p out | tr -s ' '`" = \
    'fwd f16 none 2 4 4 1000 1000 128 128 3.0000 1.0000 1.37 2.7' ]
ok 'has median, fastest, rate and traffic'
! awk 'NR > 1 && length > 80' out | grep -q .
ok 'in 80 columns'
# Of q and o 1024000 bf16 elements each, of k and v as many bytes each: 6.176 MB.
exits 0 'a cache of FP8' timed $seven --warm-up 2 --repeat 5 $shape,dtype=bf16,kv=e4m3fnuz
[ "`sed -n 3p out | tr -s ' '`" = \
    'fwd bf16 none 2 4 4 1000 1000 128 128 3.0000 1.0000 1.37 2.1 bf16/e4m3fnuz' ]
ok 'has less traffic, and its type'
if [ -d "$images/amd-gfx942" ]; then
    was=$first first=gfx942
    exits 0 'all of FP8' timed $seven --warm-up 2 --repeat 5 --csv $shape,dtype=e4m3fnuz
    contains out 'fwd,e4m3fnuz,none,bhsd,2,4,4,1000,1000,128,128,3,1,1.36533,1.71733,' \
        'has less still'
    first=$was
fi
exits 0 'the same as CSV' timed $seven --warm-up 2 --repeat 5 --csv $shape
contains out 'median_ms,fastest_ms,tflops,gbytes_per_s,error,with' 'has a head'
contains out 'fwd,f16,none,bhsd,2,4,4,1000,1000,128,128,3,1,1.36533,2.74133,' 'and a row'
exits 0 'the same as JSON' timed $seven --warm-up 2 --repeat 5 --json $shape
contains out '"median_ms": 3, "fastest_ms": 1, "tflops": 1.36533, "gbytes_per_s": 2.74133}' \
    'has the numbers'
contains out '"emulated": false' 'is not emulated'
# Nine of the pairs of 2 queries and 5 keys are seen: 2 * (8 + 24) * 9 * 4 operations; 576 elements.
exits 0 'a mask, unequal dims' timed $seven --warm-up 2 --repeat 5 --csv \
    heads=4,heads_k=2,seq_q=2,seq_k=5,dim=8,dim_v=24,dtype=f32,mask=br
contains out ',3,1,7.68e-07,0.000778667,' 'counts what is seen'
exits 0 'more calls than events, an even number' timed 3,2,1,4 --warm-up 0 --repeat 200 --csv $shape
contains out ',2.5,1,1.6384,3.2896,' 'has the mean of the middle two'
# The backward pass is one call of several launches of 1 ms: five products, 16.416 MB.
exits 0 'both passes' timed 1 --csv --both $shape
contains out ',1,1,4.096,8.224,' 'forward'
launches=`sed -n 's/^bwd.*,\([0-9]*\),[0-9]*,[^,]*,[^,]*,,$/\1/p' out`
rates=`awk -v ms="$launches" 'BEGIN { printf "%.6g,%.6g", 10.24 / ms, 16.416 / ms }'`
contains out "bwd,f16,none,bhsd,2,4,4,1000,1000,128,128,$launches,$launches,$rates," 'backward'
# A GPU's own preset.
exits 0 'a preset' timed 1 --repeat 1 --warm-up 0 --preset strix-halo
[ `grep -c '^fwd .* [0-9.]*$' out` -eq 8 ]
ok 'has its rows'
! awk 'NR > 1 && length > 80' out | grep -q .
ok 'in 80 columns'
if script -qec true /dev/null >/dev/null 2>&1; then # a terminal can be had for it
    exits 0 'on a terminal' env AOTHIP_HIP_LIBRARY="$fake" FAKE_HIP_TARGET="$first" \
        FAKE_HIP_TIMES=1 script -qec "$bench $alone $shape $shape" /dev/null
    contains out 'shape 1 of 2' 'it tells how far it is'
    contains out 'shape 2 of 2' 'to the end'
fi
exits 1 'a clock that stands still' timed 0 --repeat 3 --json $shape
contains out 'a call took 0 ms by the device' 'is said'
for f in hipEventCreate hipEventRecord hipEventSynchronize hipEventElapsedTime hipModuleLaunchKernel
do
    FAKE_HIP_FAIL=$f exits 1 "$f fails" timed 1 --csv $shape
    contains out "$f failed with hipErrorUnknown (999)" 'is named in the row'
done
# A prediction beside what was measured; the emulator is near.
alone=
exits 0 'a time and a prediction' timed 1 --json $shape
contains out '"median_ms": 1, ' 'has what was measured'
contains out '"predicted_ms": ' 'and what was predicted'
if ! sanitized; then
    exits 0 'the same as text' timed 1 $shape
    [ "`sed -n 3p out | tr -s ' ' | cut -d ' ' -f 1-14`" = \
        'fwd f16 none 2 4 4 1000 1000 128 128 1.0000 1.0000 4.10 8.2' ]
    ok 'has the times'
    sed -n 3p out | grep -Eq ' 8\.2 +0\.[0-9]+ +[0-9]+$'
    ok 'and the prediction'
fi
mkdir lonely lonely/bin
cp "$build/tools/.libs/aothip-bench" lonely/bin/
cp "$build/lib/.libs/libaothip.so.0" lonely/
exits 0 'without the emulator' env LD_LIBRARY_PATH="$work/lonely" AOTHIP_HIP_LIBRARY="$fake" \
    FAKE_HIP_TARGET="$first" FAKE_HIP_TIMES=1 lonely/bin/aothip-bench $shape
sed -n 3p out | grep -Eq ' 8\.2 +- +-$'
ok 'there is none'
plan
