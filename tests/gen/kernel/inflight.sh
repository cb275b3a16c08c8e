#!/bin/sh
# The forward kernels' loads of the next K and V are on their way during the products: between each
# load in the key loop and the wait for it stand at least a sixth of the loop's matrix
# instructions.
. "${srcdir:-.}/tests/tap.sh"
: "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
for gpu in $GPU_ARCHS; do
    grep -q "^sibling $gpu " "$srcdir/images/matrix.def" && continue # the code of another
    for type in f16 bf16; do
        for dim in 64 128; do
            if ! tools/aothip-inspect --disasm --kernel attn_fwd_${type}_d${dim}_t \
                images/aotriton.images/amd-$gpu/flash/attn.zst >>"$work/code"; then
                echo 'Bail out! aothip-inspect failed'
                exit 99
            fi
        done
    done
done

# The loop is walked through twice, since loads may be waited for a step later. Loads arrive in the
# order they were made in: vmcnt(N), or s_wait_loadcnt of gfx12, waits for all but the last N.
awk '
    function number_at(code, at,   text, value) { # "vmcnt(10)", "loadcnt 0xa"
        text = substr(code, at)
        if (text ~ /^vmcnt/)
            return substr(text, 7) + 0
        for (text = substr(text, 11); match(text, /^[0-9a-f]/); text = substr(text, 2))
            value = value * 16 + index("123456789abcdef", substr(text, 1, 1))
        return value + 0
    }
    function walk(   round, i, code, left) {
        products = loads = oldest = 0
        fewest = -1
        for (round = 0; round < 2; round++)
            for (i = 0; i < size; i++) {
                code = body[i]
                if (code ~ / v_(mfma|wmma)_/)
                    products++
                else if (code ~ / (buffer|global|flat)_load_/)
                    made[loads++] = products
                else if (match(code, /(vmcnt\(|loadcnt 0x)[0-9a-f]+/)) {
                    left = number_at(code, RSTART)
                    for (; loads - oldest > left; oldest++)
                        if (fewest < 0 || products - made[oldest] < fewest)
                            fewest = products - made[oldest]
                }
            }
        products /= 2
        loads /= 2
    }
    function judge() {
        if (name == "")
            return
        walk()
        # Of 64 rows on RDNA 3 clang 22 makes one loop of general and fast steps, which is faster
        # than two, and in whose text loads of the first stand before waits of the others.
        both = name ~ /^gfx11.* attn_fwd_b?f16_d64_t64x64$/ && loads == 16
        good = (loads == 8 || both) && products > 0 && (both || fewest * 6 >= products)
        printf "%s %d - %s: %d loads, %d of %d products before any is waited for\n",
               good ? "ok" : "not ok", ++n, name, loads, fewest, products
        bad = bad || !good
    }
    /^gfx[^ ]* attn_fwd/ {
        judge()
        name = $0 ~ /_t[0-9]+x[0-9]+:$/ ? $0 : "" # no other features
        sub(/:$/, "", name)
        size = 0
    }
    /^\|/ { body[size++] = $0 }
    END {
        judge()
        if (!n)
            print "not ok 1 - no kernel"
        print "1.." (n ? n : 1)
        exit bad || !n
    }' "$work/code"
