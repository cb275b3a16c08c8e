#!/bin/sh
# What fixed problems cost in instructions, forward and backward, against the tables of the compiler
# in images/counts: fails when the launches of a problem take more than they say. `make
# update-launches` writes the tables anew.
. "${srcdir:=.}/tests/gen/table_test_lib.sh"
forward=$srcdir/images/counts/fwd-launches-$major.txt
backward=$srcdir/images/counts/bwd-launches-$major.txt
need_table "$forward"
need_table "$backward"
if ! tests/gen/launches/attn_fwd_launches >"$work/forward" ||
    ! tests/gen/launches/attn_bwd_launches >"$work/backward"; then
    echo 'Bail out! a problem was not counted'
    exit 99
fi

# A line is GPU, problem, kernel, number; a problem has one for each of its launches.
{
    sed '/^#/d; s/^/forward most /' "$forward"
    sed '/^#/d; s/^/backward most /' "$backward"
    sed 's/^/forward now /' "$work/forward"
    sed 's/^/backward now /' "$work/backward"
} | awk '
    {
        key = $1 " " $3 " " $4
        sum[$2 " " key] += $6
        if ($2 == "now" && !(key in kernels))
            order[++n] = key
        if ($2 == "now")
            kernels[key] = kernels[key] " " $5
    }
    END {
        for (i = 1; i <= n; i++) {
            key = order[i]
            known = ("most " key) in sum
            good = known && sum["now " key] <= sum["most " key]
            printf "%s %d - %s:%s: %d instructions, at most %s\n", good ? "ok" : "not ok", i, key,
                   kernels[key], sum["now " key], known ? sum["most " key] : "none"
            bad = bad || !good
        }
        if (bad)
            print "# make update-launches keeps the numbers of this build"
        print "1.." n + 0
        exit bad || !n
    }'
