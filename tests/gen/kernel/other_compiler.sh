# Some kernels by the other one of the two compilers that the README names: it builds them without a
# warning, they need what the table of that compiler says, and their attention is right, strictly.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
: "${DEVICE_CLANG:=clang-22}" "${NINJA:=ninja}"

case `"$DEVICE_CLANG" --version | sed -n '1s/.*version \([^ ]*\).*/\1/p'` in
22.*) other=19 ;;
*) other=22 ;;
esac
clang=`command -v "clang-$other" || command -v "/usr/lib/llvm-$other/bin/clang"` || {
    echo "1..0 # SKIP there is no clang-$other"
    exit 0
}

gpus='gfx942 gfx1100'
kernels='attn_fwd_f16_d128_t128x64 attn_fwd_f16_d128_t64x32 attn_fwd_f16_d128_t128x64_score
    attn_fwd_f16_d128_t64x32_score attn_bwd_delta_f16_d512_t64x16_unaligned_score
    attn_bwd_dkdv_f16_d128_t32x256 attn_bwd_dkdv_f16_d128_t32x64 attn_bwd_dq_f16_d128_t128x32
    attn_bwd_dq_f16_d128_t64x32'

# Their rows, from what the generator says of them.
{
    for gpu in $gpus; do
        grep "^gpu $gpu " "$srcdir/images/matrix.def"
    done
    "$build/gen/aothip-gen" --matrix="$srcdir/images/matrix.def" --list |
        awk -v gpus=" $gpus " -v kernels=" `echo $kernels` " '
        !index(gpus, " " $1 " ") || !index(kernels, " " $2 " ") { next }
        {
            for (i = 3; i <= NF; i++) {
                split(substr($i, 10), pair, "=") # after -DKERNEL_
                has[tolower(pair[1])] = pair[2]
            }
            split("f32 f16 bf16", types)
            split("no yes", truth)
            op = $2
            sub("_" types[has["dtype"]] "_d.*", "", op)
            printf "%s gpu=%s dtype=%s dim=%s scratch=0", op, $1, types[has["dtype"]], has["dim"]
            n = split("tile_q tile_k waves waves_per_eu registers", keys)
            for (i = 1; i <= n; i++)
                printf " %s=%s", keys[i], has[keys[i]]
            n = split("unaligned score paged", keys)
            for (i = 1; i <= n; i++)
                printf " %s=%s", keys[i], truth[has[keys[i]] + 1]
            print ""
        }'
} >subset.def
[ `grep -c '^attn_' subset.def` -eq 10 ]
ok "there are such kernels: ten"

"$build/gen/aothip-gen" --matrix=subset.def --kernels="$srcdir/gen/kernel" --clang="$clang" \
    --lld="`"$clang" -print-prog-name=ld.lld`" --pack="$build/gen/aothip-pack" --flags=-Werror \
    --wave64-flags='-mllvm -disable-promote-alloca-to-vector' --output=build.ninja &&
    "$NINJA" >log 2>&1
ok "clang-$other builds them without a warning, and none is beyond its budget"
[ "$good" = ok ] || sed 's/^/#   /' log

env DEVICE_CLANG="$clang" GPU_ARCHS="$gpus" COUNTS_STORE="$work/aotriton.images" \
    COUNTS_SUBSET=yes sh -c "cd '$build' && srcdir='$srcdir' sh '$srcdir/tests/gen/kernel/counts.sh'" >log
[ $? -eq 0 ] && grep -qE '^1\.\.(10|0 # SKIP)' log
ok "they need no more than the table says"
[ "$good" = ok ] || sed 's/^/#   /' log

for gpu in $gpus; do
    # code objects are named by their kernels, without blanks
    find object -path "*/$gpu/*.co" | xargs "$build/tests/tools/emu/strict/test_kernel_waits" "$gpu" >log 2>&1
    ok "$gpu: no way through them lacks wait states"
    [ "$good" = ok ] || sed 's/^/#   /' log
done

# 200 keys: full tiles and an edge in each kernel; once with bias for the score kernels.
"$npy" make q.npy f16 1,4,150,128 1 && "$npy" make k.npy f16 1,2,200,128 2 &&
    "$npy" make v.npy f16 1,2,200,128 3 && "$npy" make do.npy f16 1,4,150,128 4 &&
    "$npy" make bias.npy f16 1,1,150,200 5
for gpu in $gpus; do
    for mode in plain strict; do
        exits 0 "$gpu, $mode: causal attention and its gradients" env AOTHIP_EMU_MODE=$mode \
            "$run" q.npy k.npy v.npy -o o.npy --backward do.npy --dq dq.npy --dk dk.npy --dv dv.npy \
            --causal br --verify --emulate "$gpu" --images "$work/aotriton.images"
        exits 0 "$gpu, $mode: attention with bias" env AOTHIP_EMU_MODE=$mode \
            "$run" q.npy k.npy v.npy -o o.npy --bias bias.npy --verify --emulate "$gpu" \
            --images "$work/aotriton.images"
    done
done
plan
