# aothip-bench --tune: what it writes, that the checked-in tables still fit the kernels, and that what
# is chosen by them is the fastest there is, all under the emulator's clock.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

bench=$build/tools/aothip-bench
export AOTHIP_IMAGES="$images"
set -- `cd "$images" && ls -d amd-*/flash/tune.txt 2>/dev/null | sed 's|^amd-||; s|/.*||'`
if [ $# -eq 0 ]; then
    echo '1..0 # SKIP no GPU of this build has a table'
    exit 0
fi

exits 2 '--tune with --json' "$bench" --emulate $1 --tune t --json
contains err '--tune writes a table' 'is told'
exits 1 'no tiles for f32' "$bench" --emulate $1 --tune t dtype=f32
contains err 'no tiles to choose between for these shapes' 'is told'
[ ! -e t ] && [ ! -e t.trial ]
ok 'nothing is written'
exits 1 'a file in no directory' "$bench" --emulate $1 --tune none/t dim=64,dtype=f16
contains err 'none/t.trial: cannot write' 'is told'

# The time of a shape by a table: milliseconds in $ms.
time_by() { # GPU TABLE SHAPE
    AOTHIP_TUNE=$2 "$bench" --emulate $1 --csv $3 >csv 2>err || { cat err; return 1; }
    ms=`awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "predicted_ms") n = i }
        NR == 2 { print $n }' csv`
}

# Nothing is tuned with sanitizers, which make the emulator slow.
! sanitized || set --
for gpu; do
    case $gpu in gfx942 | gfx1100) ;; *) continue ;; esac
    table=$images/amd-$gpu/flash/tune.txt
    # Trying the tiles takes most of a minute a GPU: one has to do.
    if [ $gpu = gfx942 ]; then
        exits 0 "$gpu: --tune" "$bench" --emulate $gpu --tune t dim=64,dtype=f16
        awk '/^#/ { next } NR == FNR { if (NF == 4) kept[$1] = $0; next }
            NF == 4 {
                split(kept[$1], k)
                n++
                for (i = 2; i <= 4; i++)
                    if (k[i] < 0.95 * $i || k[i] > 1.05 * $i) { print "# kept: " kept[$1]; print "# now: " $0; bad = 1 }
            }
            END { exit bad || n < 2 }' "$table" t >differ
        ok 'finds what the table says, within 5 % (make update-tune writes it anew)'
        [ "$good" = ok ] || cat differ
    else
        grep '^attn_fwd_f16_d64_t[0-9x]* ' "$table" >t
    fi
    causal=heads=16,batch=4,seq=512,mask=tl
    [ $gpu = gfx942 ] || causal=
    for shape in heads=8,seq=1024 heads=12,seq=77 $causal; do
        least=
        for kernel in `awk 'NF == 4 && /^attn_fwd/ { print $1 }' t`; do
            { printf 'aothip-tune 1\ngpu %s\n' $gpu
              awk -v kernel=$kernel 'NF == 4 { print $1, 1, $1 == kernel ? "1 1" : "4000000000 4000000000" }' t
            } >forced
            time_by $gpu forced dim=64,dtype=f16,$shape
            least=`echo "$ms $least" | awk '{ print NF == 2 && $2 < $1 ? $2 : $1 }'`
        done
        time_by $gpu "$table" dim=64,dtype=f16,$shape
        # Tables do not know that causal tiles that share a compute unit differ in length.
        case $shape in *mask=*) most=1.12 ;; *) most=1.05 ;; esac
        echo "$ms $least" | awk -v most=$most '{ exit !($1 <= most * $2) }'
        ok "$gpu, $shape: what is chosen takes $ms ms, the fastest $least"
    done
done

# Of two kernels, the first of which comes first in the image, what is chosen.
choice_of() { # GPU FIRST OTHER SHAPE
    printf 'aothip-tune 1\ngpu %s\n%s 1 1 1\n' $1 $2 >forced
    time_by $1 forced $4 && least=$ms
    printf 'aothip-tune 1\ngpu %s\n%s 999999 4000000000 4000000000\n%s 1 1 1\n' $1 $2 $3 >other
    time_by $1 other $4 && least=`echo "$ms $least" | awk '{ print $2 < $1 ? $2 : $1 }'`
    time_by $1 "$images/amd-$1/flash/tune.txt" $4
    echo "$ms $least" | awk '{ exit !(NF == 2 && $1 <= 1.05 * $2) }'
    ok "$1, $4: what is chosen takes $ms ms, the fastest $least"
}

# With fewer channels of v tiles of 256 rows compete with those for as many as of q, which have 64:
# also in causal launches, whose small tiles are of different length. And of 512 channels 128 rows
# with 64; pages have the tile that there is without them.
for gpu; do
    [ $gpu = gfx942 ] || continue
    for shape in heads=32,seq=1024 heads=128,seq=512,mask=tl; do
        choice_of $gpu attn_fwd_bf16_d192x128_t256x64 attn_fwd_bf16_d256_t64x64 \
            dim=192,dim_v=128,dtype=bf16,splits=1,$shape
    done
    for shape in heads=8,seq=384 heads=64,seq=512; do
        shape=dim=512,dtype=bf16,splits=1,$shape
        choice_of $gpu attn_fwd_bf16_d512_t128x64 attn_fwd_bf16_d512_t64x64 $shape
        least=$ms
        time_by $gpu "$images/amd-$gpu/flash/tune.txt" $shape,with=paged
        echo "$ms $least" | awk '{ exit !(NF == 2 && $1 <= 1.05 * $2) }'
        ok "$gpu, $shape: in pages it takes $ms ms, without $least"
    done
done
plan
