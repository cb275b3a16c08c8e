# aothip-run: on the emulator in every type and layout, and what it says of wrong files.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
export AOTHIP_IMAGES="$images"

files() { # PREFIX TYPE Q K V: three files of these shapes
    "$npy" make "$1q.npy" "$2" "$3" 1 && "$npy" make "$1k.npy" "$2" "$4" 2 &&
        "$npy" make "$1v.npy" "$2" "$5" 3
}
files w_ f32 1,4,33,48 1,2,50,48 1,2,50,40
files b_ bf16 1,4,33,48 1,2,50,48 1,2,50,40
for t in q k v; do
    "$npy" narrow w_$t.npy $t.npy f16
done

# Wrong commands.
exits 2 'no file' "$run"
one_line err 'is answered with one line'
exits 2 'two files' "$run" q.npy k.npy -o o.npy
contains err 'wanted are three files' 'are too few'
exits 2 'no output' "$run" q.npy k.npy v.npy
contains err '-o FILE is missing' 'is named'
exits 2 'an output without a name' "$run" q.npy k.npy v.npy -o ''
contains err 'option --output needs a value; given is an empty one' 'is named'
exits 2 'a GPU without a name' "$run" q.npy k.npy v.npy -o o.npy --emulate=
contains err 'option --emulate needs a value' 'is named'
exits 2 'two outputs in one file' "$run" q.npy k.npy v.npy -o o.npy --lse o.npy
contains err '-o and --lse name the same file, o.npy' 'are named'
exits 2 'a seed of more than 64 bits' \
    "$run" q.npy k.npy v.npy -o o.npy --dropout 0.5 --seed 18446744073709551616
contains err '--seed 18446744073709551616: wanted is a whole number' 'is named'
"$run" --help >/dev/full 2>err
[ $? -eq 1 ]
ok 'help that cannot be printed is a failure'
contains err 'standard output cannot be written' 'and says so'
exits 2 'another mask' "$run" q.npy k.npy v.npy -o o.npy --causal yes
contains err '--causal yes: wanted is tl or br' 'is named'
exits 2 'another layout' "$run" q.npy k.npy v.npy -o o.npy --layout sbhd
contains err '--layout sbhd: wanted is bhsd or bshd' 'is named'
exits 2 'a scale that is no number' "$run" q.npy k.npy v.npy -o o.npy --scale 1/8
contains err '--scale 1/8: wanted is a finite number' 'is named'
exits 2 'an infinite scale' "$run" q.npy k.npy v.npy -o o.npy --scale inf
contains err '--scale inf' 'is named'
exits 0 '--version' "$run" --version
contains out 'aothip-run 0.' 'tells the version'

# Wrong files; none of these reaches a GPU.
refused() { # NAME TEXT ARGUMENTS...: fails with one line that holds TEXT
    name=$1 text=$2
    shift 2
    exits 1 "$name" "$run" "$@" -o o.npy
    tail -n 1 err >last
    contains last "$text" 'is named'
    one_line last 'in one line'
    [ ! -e o.npy ]
    ok 'and nothing is written'
}
refused 'a missing file' 'none.npy: No such file' q.npy none.npy v.npy
echo hello >text.npy
refused 'a file of another kind' 'text.npy: it is no .npy file' q.npy k.npy text.npy
# with little memory, so that reading on shows; sanitizers need much
limit='ulimit -v 2000000'
! ldd "$build/lib/.libs/libaothip.so" | grep -q '[atu]b*san' || limit=:
exits 1 'an endless file' sh -c "$limit; exec timeout 60 \"\$@\"" sh \
    "$run" q.npy /dev/zero v.npy -o o.npy
contains err '/dev/zero: it is no .npy file' 'is refused at once'
mkfifo endless
cat k.npy /dev/zero >endless 2>/dev/null &
exits 1 'an endless pipe with a header' sh -c "$limit; exec timeout 60 \"\$@\"" sh \
    "$run" q.npy endless v.npy -o o.npy
contains err 'endless: its shape (1, 2, 50, 48) of float16 needs' 'is refused when it is too long'
wait
head -c 500 k.npy >short.npy
refused 'a truncated file' 'short.npy: its shape (1, 2, 50, 48) of float16 needs' \
    q.npy short.npy v.npy
"$npy" make five.npy f16 1,1,4,33,48 1
refused 'five dimensions' 'five.npy: its shape (1, 1, 4, 33, 48) has 5 dimensions' \
    five.npy k.npy v.npy
"$npy" make three.npy f16 4,33,48 1
refused 'different ranks' 'k.npy (1, 2, 50, 48) has another number of dimensions than three.npy' \
    three.npy k.npy v.npy
"$npy" make empty.npy f16 1,4,0,48 1
refused 'an empty tensor' 'empty.npy: its shape (1, 4, 0, 48) is empty' empty.npy k.npy v.npy
"$npy" make batch.npy f16 2,4,33,48 1
refused 'different batches' 'batch.npy (2, 4, 33, 48) has 2 batch entries' batch.npy k.npy v.npy
"$npy" make heads.npy f16 1,3,33,48 1
refused 'heads that do not divide' 'heads.npy (1, 3, 33, 48) has 3 heads, no multiple of the 2' \
    heads.npy k.npy v.npy
"$npy" make keys.npy f16 1,2,51,40 1
refused 'different keys' 'k.npy (1, 2, 50, 48) has 50 keys and keys.npy (1, 2, 51, 40) has 51' \
    q.npy k.npy keys.npy
"$npy" make dims.npy f16 1,4,33,40 1
refused 'different channels' 'has 40 channels and k.npy (1, 2, 50, 48) has 48' dims.npy k.npy v.npy
refused 'uint16 without --bf16' 'b_q.npy: it holds uint16' b_q.npy b_k.npy b_v.npy
"$npy" narrow w_k.npy f_k.npy e5m2
"$npy" narrow w_v.npy f_v.npy e5m2
files a_ e5m2 1,4,33,64 1,2,50,64 1,2,50,64
refused 'uint8 without --fp8' 'f_k.npy: it holds uint8; if that is FP8' q.npy f_k.npy f_v.npy
refused 'keys of FP8 alone' "v: dtype is 2, but k's is 6" q.npy f_k.npy v.npy --fp8 e5m2 \
    --emulate $first
refused 'a scale without FP8' 'k_scale is set, but k is not FP8' q.npy k.npy v.npy --k-scale 2 \
    --emulate $first
exits 2 'another FP8' "$run" q.npy f_k.npy f_v.npy -o o.npy --fp8 e3m4
contains err '--fp8 e3m4: wanted is e4m3, e5m2' 'is named'
refused 'float16 with --bf16' 'q.npy: it holds float16; leave --bf16 away' --bf16 q.npy k.npy v.npy
refused 'no images' 'none' q.npy k.npy v.npy --images none
AOTHIP_HIP_LIBRARY=./none.so refused 'no runtime' 'none.so' q.npy k.npy v.npy
export FAKE_HIP_DEVICES=0
AOTHIP_HIP_LIBRARY=$fake refused 'no GPU' 'finds no GPU' q.npy k.npy v.npy
unset FAKE_HIP_DEVICES
AOTHIP_HIP_LIBRARY=$fake refused 'no such GPU' 'there is no device 7' q.npy k.npy v.npy --device 7

# A kernel that computes nothing is found by --verify. The output is written nevertheless.
export FAKE_HIP_TARGET="$first"
AOTHIP_HIP_LIBRARY=$fake exits 1 'a wrong result under --verify' \
    "$run" q.npy k.npy v.npy -o o.npy --verify
contains out FAIL 'is told'
"$npy" tell o.npy >told
contains told 'float16 (1, 4, 33, 40)' 'and written'
rm o.npy
unset FAKE_HIP_TARGET

# On the emulator.
for gpu in $gpus; do
    exits 0 "$gpu: float16" "$run" q.npy k.npy v.npy -o "$gpu.npy" --lse "$gpu-l.npy" --verify \
        --causal br --emulate "$gpu"
    [ `grep -c 'OK$' out` -eq 2 ]
    ok "$gpu: o and lse are right"
    contains err "computed on $gpu" "$gpu: it says where"
    "$npy" tell "$gpu.npy" >told
    contains told 'float16 (1, 4, 33, 40)' "$gpu: o has q's type and v's channels"
    "$npy" tell "$gpu-l.npy" >told
    contains told 'float32 (1, 4, 33)' "$gpu: lse is float32"
    exits 0 "$gpu: k and v of FP8" "$run" q.npy f_k.npy f_v.npy -o f.npy --fp8 e5m2 \
        --k-scale 0.5 --v-scale -3 --verify --emulate "$gpu"
    contains out 'o     error' 'is right with its scales'
    contains err 'f.npy: float16 (1, 4, 33, 40)' 'and has the type of q'
    for scale in k v; do
        exits 0 "$gpu: the scale of $scale alone" "$run" q.npy f_k.npy f_v.npy -o f1.npy \
            --fp8 e5m2 --$scale-scale 0.25 --emulate "$gpu"
        ! "$npy" same f.npy f1.npy && { [ $scale = k ] || ! "$npy" same f2.npy f1.npy; }
        ok 'counts'
        mv f1.npy f2.npy
    done
    if [ "$gpu" = gfx942 ]; then # which multiplies e5m2fnuz
        exits 0 "$gpu: all of FP8" "$run" a_q.npy a_k.npy a_v.npy -o a.npy --fp8 e5m2fnuz \
            --q-scale 2 --k-scale 0.5 --v-scale -3 --verify --emulate "$gpu"
        contains err 'a.npy: float32 (1, 4, 33, 64)' 'gives float32'
    fi
    exits 0 "$gpu: bfloat16" "$run" b_q.npy b_k.npy b_v.npy -o b.npy --bf16 --verify --causal tl \
        --emulate "$gpu"
done

emulated() { # NAME ARGUMENTS...
    name=$1
    shift
    exits 0 "$name" "$run" "$@" --emulate "$first"
}
for t in q k v; do
    "$npy" swap $t.npy s_$t.npy
done
"$npy" swap "$first.npy" want.npy
emulated 'bshd' s_q.npy s_k.npy s_v.npy -o s_o.npy --lse s_l.npy --layout bshd --causal br
"$npy" same s_o.npy want.npy
ok 'gives the same numbers in the other order'
"$npy" same s_l.npy "$first-l.npy"
ok 'and the same lse'

emulated 'float32' w_q.npy w_k.npy w_v.npy -o w_o.npy --causal br --verify
contains err 'w_k.npy: float32 converted to float16' 'is converted, and that is said'
"$npy" tell w_o.npy >told
contains told 'float32 (1, 4, 33, 40)' 'and gives float32'
"$npy" narrow w_o.npy n_o.npy f16
"$npy" same n_o.npy "$first.npy"
ok 'that holds what float16 gives'
emulated 'float32 with --bf16' w_q.npy w_k.npy w_v.npy -o wb_o.npy --bf16 --causal tl --verify
contains err 'w_v.npy: float32 converted to bfloat16' 'is converted to that'

files d_ f16 33,48 50,48 50,40
emulated 'two dimensions' d_q.npy d_k.npy d_v.npy -o d_o.npy --lse d_l.npy --verify --scale -0.1
"$npy" tell d_o.npy >told
contains told 'float16 (33, 40)' 'stay two'
"$npy" tell d_l.npy >told
contains told 'float32 (33,)' 'and lse has one'
files t_ f16 33,4,48 50,1,48 50,1,40
emulated 'three dimensions, bshd' t_q.npy t_k.npy t_v.npy -o t_o.npy --lse t_l.npy --layout bshd \
    --verify
"$npy" tell t_o.npy >told
contains told 'float16 (33, 4, 40)' 'stay three'
"$npy" tell t_l.npy >told
contains told 'float32 (4, 33)' 'and lse is (head, sequence)'

exits 1 'an output that cannot be written' "$run" q.npy k.npy v.npy -o none/o.npy --emulate "$first"
contains err 'none/o.npy: No such file' 'is named'
rm -f o.npy
for full in none/l.npy /dev/full .; do
    exits 1 "a second output that cannot be written: $full" \
        "$run" q.npy k.npy v.npy -o o.npy --lse $full --emulate "$first"
    contains err "$full: " 'is named'
    [ -z "`ls | grep '^o\.npy'`" ]
    ok 'and the first is not written'
done
"$npy" make wide.npy f16 1,4,33,520 1
"$npy" make wide_k.npy f16 1,2,50,520 1
exits 1 'more channels than there are kernels for' "$run" wide.npy wide_k.npy v.npy -o o.npy \
    --emulate "$first"
contains err 520 'are named'

# What goes into the scores, and the gradients. --verify compares with double precision.
exits 2 'gradients of nothing' "$run" q.npy k.npy v.npy -o o.npy --dq dq.npy
contains err 'gradients need --backward FILE' 'is named'
exits 2 'a gradient that goes nowhere' "$run" q.npy k.npy v.npy -o o.npy --backward o.npy
contains err '--backward needs one of --dq, --dk, --dv, --dbias' 'is named'
exits 2 'a window of one side' "$run" q.npy k.npy v.npy -o o.npy --window tl:4
contains err '--window tl:4: wanted is tl:LEFT,RIGHT' 'is named'
exits 2 'dropout beyond 1' "$run" q.npy k.npy v.npy -o o.npy --dropout 1.5
contains err '--dropout 1.5: wanted is a number from 0 to 1' 'is named'
exits 2 'a negative seed' "$run" q.npy k.npy v.npy -o o.npy --seed -1
contains err '--seed -1: wanted is a whole number' 'is named'
rm -f o.npy
"$npy" make bias.npy f32 4,33,50 5 && "$npy" make head.npy f32 4 6 &&
    "$npy" make do.npy f32 1,4,33,40 7
refused 'a bias of another shape' 'does not fit (1, 4, 33, 50)' \
    w_q.npy w_k.npy w_v.npy --bias w_v.npy
refused 'slopes of another shape' 'ALiBi slopes need one number for each of 4 heads' \
    w_q.npy w_k.npy w_v.npy --alibi bias.npy
refused 'lengths beyond the file' "at \"40\": wanted are lengths" \
    w_q.npy w_k.npy w_v.npy --lengths-q 40 --lengths-k 50
refused 'lengths of one side' '--lengths-q and --lengths-k go together' \
    w_q.npy w_k.npy w_v.npy --lengths-q 40
right() { # NAME ARGUMENTS...: passes --verify
    name=$1
    shift
    exits 0 "$name" "$run" w_q.npy w_k.npy w_v.npy -o o.npy --emulate $first --verify "$@"
}
right 'a window' --window br:9,inf
right 'a bias and a soft-cap' --bias bias.npy --softcap 3
right 'slopes, sinks, base 2' --alibi head.npy --sinks head.npy --base2 --bf16
right 'dropout' --dropout 0.25 --seed 0x1234567890 --offset 7
right 'sequences' --lengths-q 10,0,20 --lengths-k 30,5,15 --causal br
right 'float32' --f32
right 'gradients' --backward do.npy --dq dq.npy --dk dk.npy --dv dv.npy \
    --bias bias.npy --dbias db.npy
[ `grep -c ' OK$' out` -eq 6 ]
ok 'all six results are judged'
[ "`"$npy" tell dk.npy`" = 'float32 (1, 2, 50, 48)' ] &&
    [ "`"$npy" tell db.npy`" = 'float32 (4, 33, 50)' ]
ok 'have the shapes of their inputs'
plan
