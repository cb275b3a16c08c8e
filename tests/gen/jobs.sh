# How many kernels ninja compiles at once: MAX_JOBS where make runs, else make's own -j, else one a
# processor. And that two makes of the images go beside each other, as those of tests that install.
: "${MAKE:=make}"
unset MAKEFLAGS MFLAGS MAKELEVEL
count=0
failed=0

says() { # JOBS NAME MAKE-ARGUMENT...: ninja must be told so many
    jobs=$1 name=$2
    shift 2
    count=$((count + 1))
    told=`$MAKE -s "$@" images-all NINJA=echo 2>&1`
    case $told in
    *"-C images -j $jobs") echo "ok $count - $name" ;;
    *)
        echo "not ok $count - $name"
        echo "$told" | sed 's/^/# /'
        failed=1
        ;;
    esac
}

configured=`sed -n 's/^CONFIGURED_JOBS = //p' Makefile`
unset MAX_JOBS
says "${configured:-`getconf _NPROCESSORS_ONLN`}" "one a processor, unless configure was told otherwise"
[ -n "$configured" ] || says 3 "make -j3" -j3
MAX_JOBS=5
export MAX_JOBS
says 5 "MAX_JOBS=5"
says 5 "MAX_JOBS=5 against make -j3" -j3

# They meet in what make does around ninja; with a file that both write, ten times find it.
together=0 lost=
for i in 1 2 3 4 5 6 7 8 9 10; do
    said=`$MAKE -s images-all NINJA=true 2>&1 & $MAKE -s images-all NINJA=true 2>&1 || echo failed; wait $! || echo failed`
    [ -z "$said" ] && together=$((together + 1)) || lost=$said
done
count=$((count + 1))
if [ $together -eq 10 ]; then
    echo "ok $count - two at once"
else
    echo "not ok $count - two at once"
    echo "$lost" | sed 's/^/# /'
    failed=1
fi
echo "1..$count"
exit $failed
