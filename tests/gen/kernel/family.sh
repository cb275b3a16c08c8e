# A GPU that runs the code of another: LLVM says what is right for all of a family by its generic
# target. Kernels that are compiled for that are the same, instruction by instruction, as for the GPU
# whose code the family runs, once both divide the same register file among the waves.
. "${srcdir:=.}/tests/tap.sh"
: "${DEVICE_CLANG:=clang-22}"
kernels=`cd "$srcdir/gen/kernel" && pwd`
rooms=`cd "$kernels" && for room in */; do echo "-I$kernels/${room%/}"; done`

listing() { # TARGET SOURCE OUTPUT FLAGS...: its instructions
    target=$1 source=$2 output=$3
    shift 3
    "$DEVICE_CLANG" -x hip --offload-device-only -nogpuinc -nogpulib -std=c++17 -O3 \
        -fno-slp-vectorize -I"$kernels" $rooms --offload-arch="$target" "$@" -S -o "$output.s" \
        "$kernels/$source" 2>"$output.log" || return
    grep -E '^[[:blank:]]+(s|v|ds|global|flat|scratch|buffer)_' "$output.s" >"$output"
}

same() { # GPU GENERIC SOURCE KERNEL
    macros=`gen/aothip-gen --matrix="$srcdir/images/matrix.def" --list |
        awk -v gpu="$1" -v kernel="$4" '$1 == gpu && $2 == kernel { $1 = $2 = ""; print }'`
    listing "$1" "$3" "$work/own" $macros &
    listing "$2" "$3" "$work/generic" $macros -mcode-object-version=6 -Xclang -target-feature \
        -Xclang +allocate1_5xvgprs && wait $! && [ -n "$macros" ] &&
        [ `wc -l <"$work/own"` -gt 500 ] && cmp "$work/own" "$work/generic"
    ok "$1 $4: the instructions of $2"
    [ "$good" = ok ] || cat "$work"/*.log | sed 's/^/# /'
}

if ! "$DEVICE_CLANG" --print-supported-cpus --target=amdgcn 2>&1 | grep -q gfx12-generic; then
    echo "1..0 # SKIP $DEVICE_CLANG knows no target of a family"
    exit 0
fi
for kernel in d128_t64x32 d64_t64x64_bias d64_t64x64_dropout d128_t64x32_rows; do
    same gfx1100 gfx11-generic forward/attn_fwd.hip attn_fwd_f16_$kernel
done
same gfx1100 gfx11-generic decode/attn_split.hip attn_split_bf16_d128_t16x64_unaligned_score_paged
same gfx1100 gfx11-generic backward/attn_bwd_dkdv.hip attn_bwd_dkdv_bf16_d64_t32x64_score
same gfx1201 gfx12-generic forward/attn_fwd.hip attn_fwd_bf16_d128_t128x64
same gfx1201 gfx12-generic backward/attn_bwd_dq.hip attn_bwd_dq_f16_d64_t64x32_score
plan
