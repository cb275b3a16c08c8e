# What the shell tests of the programs share. Run from the build directory.
#
# Afterwards $check and $run are the programs, $images the built images, $fake and $fake_old the
# runtimes of fake_runtime.c, and the current directory is a fresh one, removed at the end.
. "${srcdir:-.}/tests/tap.sh"
build=`pwd`
srcdir=`cd "$srcdir" && pwd`
check=$build/tools/aothip-check
run=$build/tools/aothip-run
npy=$build/tests/tools/common/npy_tool
: "${images:=$build/images/aotriton.images}"
fake=$build/tests/tools/.libs/libfake_runtime.so
fake_old=$build/tests/tools/.libs/libfake_runtime_old.so
cd "$work" || exit 99

sanitized() { # are the sanitizers built in, which make the emulator slow?
    ldd "$build/lib/.libs/libaothip.so.0" | grep -q asan
}

# STATUS NAME COMMAND...: its output goes to the files out and err; it must exit so.
exits() {
    wanted=$1 name=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ $got -eq "$wanted" ]
    ok "$name"
    [ "$good" = ok ] || { echo "# exit status $got, wanted $wanted"; sed 's/^/#   /' out err; }
}

# FILE NAME: exactly one line, of at most 160 characters without the path of the test's directory.
one_line() {
    [ `wc -l <"$1"` -eq 1 ] && [ `sed "s|$work||g; s|$build||g" "$1" | wc -c` -le 160 ]
    ok "$2"
    [ "$good" = ok ] || sed 's/^/#   /' "$1"
}

# PAGE SIZE LEAST: a real browser shows it, in a picture of so many bytes at least.
browser_shows() {
    browser=`command -v chromium || command -v chromium-browser || command -v google-chrome || :`
    if [ -z "$browser" ]; then
        true
        ok 'a browser shows it # SKIP there is no chromium'
        return
    fi
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
        --window-size="$2" --screenshot="$work/page.png" "file://$1" >log 2>&1
    [ "`wc -c <page.png`" -gt "$3" ]
    ok 'a browser shows it'
}
