# The built kernels against the table of their compiler in images/counts: registers, LDS, spills and
# the instructions of each key loop. Fails when a number got worse; `make update-counts` writes the
# table anew. For other_compiler.sh: COUNTS_STORE is where the images are, COUNTS_SUBSET=yes says that
# not all kernels of the table are in them.
. "${srcdir:=.}/tests/gen/table_test_lib.sh"
: "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
: "${COUNTS_STORE:=images/aotriton.images}" "${COUNTS_SUBSET:=no}"
table=$srcdir/images/counts/clang-$major.txt
need_table "$table"
files=
for gpu in $GPU_ARCHS; do
    grep -q "^sibling $gpu " "$srcdir/images/matrix.def" && continue # the code of another
    files="$files $COUNTS_STORE/amd-$gpu/flash/attn.zst"
done
if [ -z "$files" ]; then
    echo '1..0 # SKIP all GPUs of this build run the code of others'
    exit 0
fi
if ! tools/aothip-inspect $files >"$work/built"; then
    echo 'Bail out! aothip-inspect failed'
    exit 99
fi

# Columns by name; all are the better the lower, but for the matrix instructions, which are the work
# itself.
awk -v gpus=" $GPU_ARCHS " -v subset="$COUNTS_SUBSET" '
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
            if (subset == "yes")
                break
            printf "not ok %d - %s is in the table but not built\n", ++n, key
            bad = 1
        }
        if (bad || hint)
            print "# make update-counts keeps the numbers of this build"
        print "1.." n
        exit bad
    }' "$table" "$work/built"
