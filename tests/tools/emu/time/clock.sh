#!/bin/sh
# Predicted clocks of fixed problems against the table of the compiler in images/counts: fails when
# one takes over 2 % more than it says. `make update-clock` writes it anew.
: "${srcdir:=.}" "${DEVICE_CLANG:=clang-22}"
clang=`"$DEVICE_CLANG" --version | sed -n '1s/.*version \([^ ]*\).*/\1/p'`
table=$srcdir/images/counts/clock-${clang%%.*}.txt
made_by=`sed -n 's/^# clang //p' "$table" 2>/dev/null`
if [ "${made_by:-none}" != "$clang" ]; then
    echo "1..0 # SKIP this is clang $clang, for whose clocks the table is by ${made_by:-none}"
    exit 0
fi

work=`mktemp -d "${TMPDIR:-/tmp}/aothip-clock.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
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
