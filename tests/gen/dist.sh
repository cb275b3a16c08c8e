# A release holds what git holds, and nothing is forgotten; what git ignores is not needed.
. "${srcdir:-.}/tests/tap.sh"
: "${MAKE:=make}"
srcdir=`cd "$srcdir" && pwd`
if [ ! -e "$srcdir/.git" ] || ! git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1; then
    echo '1..0 # SKIP not a git checkout'
    exit 0
fi
unset MAKEFLAGS MFLAGS MAKELEVEL
$MAKE -s distdir distdir="$work/dist" >"$work/log" 2>&1
if [ $? -eq 0 ]; then
    echo 'ok 1 - make distdir'
else
    echo 'not ok 1 - make distdir'
    sed 's/^/# /' "$work/log"
fi
git -C "$srcdir" ls-files | sort >"$work/git"
(cd "$work/dist" 2>/dev/null && find . -type f | sed 's|^\./||' | sort) >"$work/dist.txt"
# Files of git itself and of the workplace are left out on purpose.
comm -23 "$work/git" "$work/dist.txt" | grep -vxE '\.gitignore|\.gitattributes' >"$work/forgotten"
if [ -s "$work/forgotten" ]; then
    echo 'not ok 2 - every file of git is in the release; missing:'
    sed 's/^/# /' "$work/forgotten"
else
    echo 'ok 2 - every file of git is in the release'
fi

# Unpacked elsewhere, without git: it configures, and make finds a rule or a file for everything. What
# it would do is not done here.
mkdir "$work/build"
if (cd "$work/build" && GIT_DIR=/nowhere "$work/dist/configure" -q --disable-maintainer-mode \
    ${DEVICE_CLANG:+"--with-clang=$DEVICE_CLANG"} && $MAKE -n host check_PROGRAMS= &&
    $MAKE -n check TESTS= && $MAKE -n install DESTDIR="$work/stage") >"$work/log" 2>&1
then
    good=0
    echo 'ok 3 - the release configures elsewhere and misses nothing'
else
    good=1
    echo 'not ok 3 - the release configures elsewhere and misses nothing'
    tail -20 "$work/log" | sed 's/^/# /'
fi
echo 1..3
[ ! -s "$work/forgotten" ] && grep -q . "$work/dist.txt" && [ $good -eq 0 ]
