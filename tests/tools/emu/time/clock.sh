#!/bin/sh
# Predicted clocks of fixed problems against the table of the compiler in images/counts: fails when
# one takes over 2 % more than it says. `make update-clock` writes it anew.
. "${srcdir:=.}/tests/gen/table_test_lib.sh"
table=$srcdir/images/counts/clock-$major.txt
need_table "$table"
if ! tests/tools/emu/time/attn_clock >"$work/timed"; then
    echo 'Bail out! attn_clock failed'
    exit 99
fi

awk '
    /^#/ { next }
    FILENAME == ARGV[1] {
        most[$1 " " $2] = $5
        next
    }
    {
        key = $1 " " $2
        off = key in most ? 100 * ($5 / most[key] - 1) : 999
        printf "%s %d - %s: %s, %d clocks, %+.1f %%\n", off <= 2 ? "ok" : "not ok", ++n, key,
               $3, $5, off
        bad += off > 2
        better += off < -5
    }
    END {
        if (bad || better)
            printf "# %d worse, %d far better: make update-clock keeps these\n", bad, better
        print "1.." n + 0
        exit bad || !n
    }' "$table" "$work/timed"
