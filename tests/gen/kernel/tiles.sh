#!/bin/sh
# The smaller tiles among which the library chooses: other tests take kernels by order of preference.
# Tables that make one tile after the other the fastest, and the forward kernels' own tests.
. "${srcdir:=.}/tests/tap.sh"
store=images/aotriton.images
case `ldd tools/aothip-images` in
*asan*) echo '1..0 # SKIP sanitizers see nothing here that they do not see in the other tests' && exit 0 ;;
esac
tools/aothip-images list $store >"$work/list" || exit 99
for tile in 64 32; do
    echo 'aothip-tune 1' >"$work/table"
    for gpu in `ls $store | sed -n 's/^amd-//p'`; do
        echo "gpu $gpu"
        awk -v gpu=$gpu -v tile=$tile '
            $1 == gpu && $2 ~ /^attn_fwd_b?f16_d[0-9]+_t[0-9]+x[0-9]+$/ {
                print $2, 1, $2 ~ "_t" tile "x" ? "1 1" : "4000000000 4000000000"
            }' "$work/list"
    done >>"$work/table"
    grep -q "_t${tile}x.* 1 1 1" "$work/table"
    ok "there are kernels with tiles of $tile rows"
    for program in test_attn_fwd test_attn_nonfinite; do
        AOTHIP_TUNE=$work/table AOTHIP_LOG=2 tests/gen/kernel/$program strict >"$work/out" 2>&1
        ok "$program, strictly, with tiles of $tile rows"
        [ "$good" = ok ] || grep -v '^aothip: ' "$work/out" | tail -40 | sed 's/^/# /'
        grep -q "launch attn_fwd_[bf16]*_d64_t${tile}x" "$work/out"
        ok 'which are taken'
    done
done
plan
