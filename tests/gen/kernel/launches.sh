#!/bin/sh
# What fixed forward problems cost in instructions, against the table of the compiler in
# images/counts: fails when a launch takes more than it says. `make update-launches` writes it anew.
: "${srcdir:=.}" "${DEVICE_CLANG:=clang-22}"
clang=`"$DEVICE_CLANG" --version | sed -n '1s/.*version \([^ ]*\).*/\1/p'`
table=$srcdir/images/counts/launches-${clang%%.*}.txt
made_by=`sed -n 's/^# clang //p' "$table" 2>/dev/null`
if [ "${made_by:-none}" != "$clang" ]; then
    echo "1..0 # SKIP this is clang $clang, for whose number the table is by ${made_by:-none}"
    exit 0
fi

work=`mktemp -d "${TMPDIR:-/tmp}/aothip-launches.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
if ! tests/gen/kernel/attn_launches >"$work/counted"; then
    echo 'Bail out! attn_launches failed'
    exit 99
fi

awk '
    /^#/ { next }
    FILENAME == ARGV[1] {
        most[$1 " " $2] = $4
        next
    }
    {
        key = $1 " " $2
        good = key in most && $4 <= most[key]
        printf "%s %d - %s: %s takes %d instructions, at most %s\n", good ? "ok" : "not ok", ++n,
               key, $3, $4, key in most ? most[key] : "none"
        bad = bad || !good
    }
    END {
        if (bad)
            print "# make update-launches keeps the numbers of this build"
        print "1.." n + 0
        exit bad || !n
    }' "$table" "$work/counted"
