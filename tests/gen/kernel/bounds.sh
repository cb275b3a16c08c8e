#!/bin/sh
# What the kernels of each compiler are held to, by the tables of images/counts, which
# tests/gen/kernel/counts.sh holds builds to: shares of matrix instructions, LDS traffic, spills, and
# how many kernels there may be.
: "${srcdir:=.}"

# Columns by name; the second lds is the loop's. A kernel that is not there counts 0 and fails. P of
# a lane has tile_q * tile_k / threads elements, which is 4096 / dim; two share a packed register.
for table in "$srcdir"/images/counts/clang-*.txt; do
    name=${table##*/}
    awk -v by="${name%.txt}" '
    function report(good, text) {
        printf "%s - %s: %s\n", good ? "ok" : "not ok", by, text
    }
    function at_least(key, percent) {
        report(count[key, "matrix"] * 100 >= percent * count[key, "total"] && count[key, "total"],
               sprintf("%s: %d of %d instructions are products, at least %d %%", key,
                       count[key, "matrix"], count[key, "total"], percent))
    }
    function lds_at_most(key, times) {
        report(count[key, "loop_lds"] <= times * count[key, "matrix"] && count[key, "matrix"],
               sprintf("%s: %d LDS instructions for %d products, at most %g each", key,
                       count[key, "loop_lds"], count[key, "matrix"], times))
    }
    function none(key, column) {
        report(count[key, column] == 0 && count[key, "total"], key ": no " column)
    }
    function fwd(gpu, type, dim) {
        return gpu " attn_fwd_" type "_d" dim (gpu ~ /^gfx11/ ? "_t64x" : "_t128x") \
               (gpu == "gfx1201" ? 64 : (gpu ~ /^gfx9/ ? 64 : 32) * (dim == 64 ? 2 : 1))
    }
    function walk_of(gpu, walk, type) { # the walks over 128 channels
        if (walk == 1)
            return fwd(gpu, type, 128)
        return gpu " attn_bwd_" (walk == 2 ? "dkdv_" : "dq_") type \
               "_d128_t" (walk == 2 ? "32x256" : "128x32")
    }
    function rdna_walk(gpu, walk, type, dim) {
        if (walk == 1)
            return fwd(gpu, type, dim)
        return gpu " attn_bwd_" (walk == 2 ? "dkdv_" : "dq_") type "_d" dim \
               (walk == 2 ? "_t32x64" : "_t64x32")
    }
    /^#/ { next }
    $1 == "gpu" {
        where = ""
        for (i = 3; i <= NF; i++) {
            name[i] = $i == "lds" || $i == "scratch" ? where $i : $i
            if ($i == "total")
                where = "loop_"
        }
        next
    }
    {
        kernels[$2 ~ /^attn_bwd/]++
        for (i = 3; i <= NF; i++)
            count[$1 " " $2, name[i]] = $i
        # Beyond 128 channels, for none of up to them spills:
        # clang 19 moves more between the two halves of 512 registers than it has room for, forward
        # of 256 and 512 channels and backward.
        # Teams on RDNA have half of their registers for O: the matrix gives them scratch memory, as
        # it does to all that know terms, pages or rows that are not aligned, to those that know
        # terms and FP8, and gfx90a for one value of dkdv of 512 channels.
        # What reads FP8 may spill beside its loop, which touches no scratch memory, but on RDNA 4.
        beside = count[$1 " " $2, "loop_scratch"] == 0 && $2 ~ /_cache_.*_d(256|512)_/ &&
                 $1 !~ /^gfx12/
        beside = beside || $1 == "gfx90a" && $2 == "attn_bwd_dkdv_f16_d512_t32x64" && $8 <= 1
        beside = beside || by == "clang-19" && $2 ~ /^attn_fwd_b?f16_d(256_t128|512_t64)x64$/
        # So may waves that have all of O: most of what they have is in use then.
        beside = beside || count[$1 " " $2, "loop_scratch"] == 0 &&
                 $2 ~ /^attn_fwd_b?f16_d512_t128x64(_paged)?$/
        if (($7 || $8) && !beside && !(by == "clang-19" && $2 ~ /^attn_bwd_d(kdv|q)_b?f16_d(256|512)_/) &&
            $2 !~ /^attn_fwd_cache_b?f16_d256_t64x(32|64)_score_paged$/ &&
            $2 !~ /^attn_(fwd|split)_b?f16_d(256_t64x32|512_t32x32|(256|512)_t[0-9x]*_(score|paged|score_paged|rows_score))$/)
            spilling = spilling " " $1 " " $2
    }
    END {
        report(spilling == "", "nothing spills, and nothing needs scratch memory" spilling)
        report(kernels[0] > 0 && kernels[0] <= 1000, kernels[0] + 0 " kernels forward")
        report(kernels[1] > 0 && kernels[1] <= 1500, kernels[1] + 0 " kernels backward")

        split("f16 bf16", types)
        for (t = 1; t <= 2; t++) {
            type = types[t]
            # 18 and 16 percent before the softmax of half a tile ran beside the products of the
            # other half, which takes a third less time
            # clang 19 has in the loop what is done where P is out of range, which is seldom
            at_least(fwd("gfx942", type, 128), by == "clang-19" ? 10 : 14)
            for (dim = 64; dim <= 128; dim += 64) {
                mi300 = fwd("gfx942", type, dim)
                mi200 = fwd("gfx90a", type, dim)
                none(mi300, "acc") # copies of accumulation registers
                none(mi200, "acc")
                report(count[mi200, "total"] * 10 <= count[mi300, "total"] * 11 &&
                       count[mi200, "total"] && count[mi200, "matrix"] == count[mi300, "matrix"],
                       mi200 ": within a tenth of gfx942")
                report(count[mi200, "loop_lds"] <= count[mi300, "loop_lds"] && count[mi200, "loop_lds"],
                       mi200 ": P takes no way through LDS that it does not take on gfx942")
            }
            split("dkdv_" type "_d128_t32x256 dq_" type "_d128_t128x32", loops, " ")
            # clang 19 waits for products in more instructions of their own
            for (i in loops) {
                at_least("gfx942 attn_bwd_" loops[i], by == "clang-19" ? 12 : 14)
                none("gfx942 attn_bwd_" loops[i], "acc")
            }
            for (dim = 64; dim <= 128; dim += 64) {
                key = fwd("gfx1100", type, dim)
                # Each operand is of one product only, and P goes by way of LDS.
                at_least(key, 9)
                lds_at_most(key, 3)
                none(key, "exchange")
                # Of a walk as a whole: what is loaded and stored for a tile is among it.
                lds_at_most("gfx1100 attn_bwd_dkdv_" type "_d" dim "_t32x64", 2.5)
                lds_at_most("gfx1100 attn_bwd_dq_" type "_d" dim "_t64x32", 2.5)
            }
            # clang 19 has both ways of partners, and what masks, in the loop
            if (by != "clang-19")
                at_least("gfx1100 attn_bwd_dq_" type "_d128_t64x32", type == "f16" ? 12 : 11)
        }
        # gfx950, where the compiler knows it: a product is half as many instructions, all else
        # four hundredths more at most (of which most wait for products; three before all of V lay in
        # LDS beside dK and dV), and in bf16 no more of them than in f16. dkdv of gfx942 holds the
        # places of its columns in registers that gfx950 has for V: thirteen hundredths there.
        for (w = 1; w <= 3 && by != "clang-19"; w++) {
            f16 = walk_of("gfx950", w, "f16")
            bf16 = walk_of("gfx950", w, "bf16")
            before = walk_of("gfx942", w, "f16")
            rest = count[f16, "total"] - count[f16, "matrix"]
            allowed = count[before, "total"] - count[before, "matrix"]
            half = count[f16, "matrix"] * 2 == count[before, "matrix"]
            more = w == 2 ? 13 : 4
            report(half && rest && rest * 100 <= allowed * (100 + more),
                   f16 ": half of the products of gfx942, " more " % more beside them at most")
            report(count[bf16, "total"] <= count[f16, "total"] && count[bf16, "total"] &&
                   count[bf16, "perm"] == count[f16, "perm"],
                   bf16 ": no more instructions than in f16, and no bytes put together to round")
        }
        # gfx1201, where the compiler is sound for it: what gfx1100 does in fewer instructions for each
        # product, of LDS two thirds at most, and no exchange between the halves of the lanes; forward
        # gfx1100 has steps of half as many products or a quarter. Of backward walks
        # without those that wait: RDNA 4 has more of them, and one for each kind of what is awaited;
        # and no more of them, for sums start from registers that hold zeros on RDNA 3 alone.
        for (w = 1; w <= 3 && by != "clang-19"; w++)
            for (dim = 64; dim <= 128; dim += 64)
                for (t = 1; t <= 2; t++) {
                    key = rdna_walk("gfx1201", w, types[t], dim)
                    before = rdna_walk("gfx1100", w, types[t], dim)
                    waits = w > 1
                    now = count[key, "total"] - waits * count[key, "wait"]
                    then = count[before, "total"] - waits * count[before, "wait"]
                    more = count[before, "matrix"] ? count[key, "matrix"] / count[before, "matrix"] : 0
                    report((w == 1 ? more >= 1 : more == 1) &&
                           now * 100 <= then * more * (waits ? 100 : 91) &&
                           count[key, "loop_lds"] * 3 <= count[before, "loop_lds"] * more * 2,
                           key ": fewer instructions than on gfx1100")
                    none(key, "exchange")
                }
        split("gfx90a gfx942 gfx1100 gfx1201", gpus, " ")
        for (g = 1; g <= (by == "clang-19" ? 3 : 4); g++)
            for (dim = 64; dim <= 128; dim += 64) {
                key = fwd(gpus[g], "bf16", dim)
                in_f16 = count[fwd(gpus[g], "f16", dim), "valu"]
                if (by == "clang-19" && gpus[g] == "gfx90a" && dim == 128)
                    continue # as above
                report(in_f16 && count[key, "valu"] <= in_f16 + 4096 / dim,
                       key ": to round P takes at most one instruction an element more than in f16")
            }
    }' "$table" || echo "not ok - $name: read to its end"
done | awk '
    { sub(/^(not )?ok/, "& " NR); print; bad = bad || /^not/ }
    END {
        print "1.." NR
        exit bad || !NR
    }'
