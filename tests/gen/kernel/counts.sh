# The built kernels against images/counts.txt: registers, LDS, spills and the instructions of each
# key loop. Fails when a number got worse; `make update-counts` writes the table anew.
: "${srcdir:=.}" "${DEVICE_CLANG:=clang-19}" "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
table=$srcdir/images/counts.txt
made_by=`sed -n 's/^# clang //p' "$table"`
clang=`"$DEVICE_CLANG" --version | sed -n '1s/.*version \([^ ]*\).*/\1/p'`
if [ "${made_by:-none}" != "$clang" ]; then
    echo "1..0 # SKIP the table is for clang $made_by, this is clang $clang"
    exit 0
fi

work=`mktemp -d "${TMPDIR:-/tmp}/aothip-counts.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
files=
for gpu in $GPU_ARCHS; do
    files="$files images/aotriton.images/amd-$gpu/flash/attn.zst"
done
if ! tools/aothip-inspect $files >"$work/built"; then
    echo 'Bail out! aothip-inspect failed'
    exit 99
fi

# Columns by name; all are the better the lower, but for the matrix instructions, which are the work
# itself.
awk -v gpus=" $GPU_ARCHS " '
    /^#/ || NF == 0 { next }
    $1 == "gpu" { # LDS is a column of the kernel, in bytes, and one of the loop, in instructions
        where = ""
        for (i = 3; i <= NF; i++) {
            if ($i == "total")
                where = "loop_"
            name[FILENAME, i] = where $i
        }
        next
    }
    FILENAME == ARGV[1] {
        if (!index(gpus, " " $1 " "))
            next
        wanted[$1 " " $2] = 1
        for (i = 3; i <= NF; i++)
            old[$1 " " $2, name[FILENAME, i]] = $i
        next
    }
    {
        key = $1 " " $2
        worse = better = ""
        if (!(key in wanted)) {
            printf "not ok %d - %s is not in the table\n", ++n, key
            bad = 1
            next
        }
        delete wanted[key]
        for (i = 3; i <= NF; i++) {
            column = name[FILENAME, i]
            was = old[key, column]
            text = sprintf(" %s %s -> %s", column, was == "" ? "none" : was, $i)
            if (was == "" || (column == "loop_matrix" && $i + 0 != was + 0) || $i + 0 > was + 0)
                worse = worse text
            else if ($i + 0 < was + 0)
                better = better text
        }
        printf "%s %d - %s\n", worse == "" ? "ok" : "not ok", ++n, key
        if (worse != "") {
            print "# worse:" worse
            bad = 1
        }
        if (better != "") {
            print "# better:" better
            hint = 1
        }
    }
    END {
        for (key in wanted) {
            printf "not ok %d - %s is in the table but not built\n", ++n, key
            bad = 1
        }
        if (bad || hint)
            print "# make update-counts keeps the numbers of this build"
        print "1.." n
        exit bad
    }' "$table" "$work/built"
