# What the tests share that hold this build against the tables of its compiler in images/counts. Run
# from the build directory; afterwards $work is a fresh directory, removed at the end.
. "${srcdir:-.}/tests/tap.sh"
: "${DEVICE_CLANG:=clang-22}"
clang=`"$DEVICE_CLANG" --version | sed -n '1s/.*version \([^ ]*\).*/\1/p'`
major=${clang%%.*}

need_table() { # FILE: the test is skipped where the table is by another compiler
    made_by=`sed -n 's/^# clang //p' "$1" 2>/dev/null`
    [ "${made_by:-none}" = "$clang" ] && return
    echo "1..0 # SKIP this is clang $clang, for whose number $1 is by ${made_by:-none}"
    exit 0
}
