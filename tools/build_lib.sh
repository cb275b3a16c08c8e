# What tools/demo and tools/test share: from any state of the tree to a configured build directory.
# Each step is skipped if it is done already, so both may be interrupted and started again.
set -u
cd "`dirname "$0"`/.." || exit 1
top=`pwd`
jobs=${MAX_JOBS:-`getconf _NPROCESSORS_ONLN`}

say() {
    printf '\n== %s\n' "$*"
}

die() {
    echo "tools/${0##*/}: $*" >&2
    exit 1
}

# Writes configure and Makefile.in if they are missing or older than what they are made from.
prepare() {
    [ -w . ] || die "$top: no permission to write; clone it to where you may"
    "$top/tools/bootstrap" || exit 1
    if [ -f configure ] && [ -f Makefile.in ] && [ -z "`find configure.ac Makefile.am m4/aothip_*.m4 \
        lib gen images tools tests \( -name '*.ac' -o -name '*.am' -o -name '*.mk' -o -name '*.m4' \) \
        -newer configure`" ]; then
        return
    fi
    say "preparing configure"
    autoreconf -fi >autoreconf.log 2>&1 || { cat autoreconf.log >&2; die "autoreconf failed"; }
    rm -f autoreconf.log
}

# DIRECTORY [OPTION...]: configures there, again only if the options or configure have changed.
configure_in() {
    directory=$1
    shift
    mkdir -p "$directory" || exit 1
    if [ ! -f "$directory/config.status" ] || [ configure -nt "$directory/config.status" ] ||
        [ "`cat "$directory/options" 2>/dev/null`" != "$*" ]; then
        say "configuring $directory $*"
        (cd "$directory" && "$top/configure" --disable-maintainer-mode -q \
            --enable-option-checking=fatal "$@" </dev/null) || exit 1
        echo "$*" >"$directory/options"
    fi
}
