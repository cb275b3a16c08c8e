# What the library's shell tests share. Run from the build directory.
. "${srcdir:-.}/tests/tap.sh"
configured() { # NAME: what the Makefile says
    sed -n "s/^$1 = //p" Makefile
}
: "${CC:=`configured CC`}" "${CXX:=`configured CXX`}" "${NM:=nm}"
# for programs compiled and linked by one command
: "${SANITIZE_FLAGS=`configured SANITIZE_FLAGS; configured SANITIZE_LDFLAGS`}"
SANITIZE_FLAGS=`echo $SANITIZE_FLAGS`

release_names() { # VERSION: the lines of `nm -D --defined-only` of that AOTriton, without addresses
    case $1 in
    0.7.* | 0.8.*) cat "$srcdir/tests/lib/shim/exports_0.8.2.txt" ;;
    0.9.*) cat "$srcdir/tests/lib/shim/exports_0.9.2.txt" ;;
    0.10.*) cat "$srcdir/tests/lib/shim/exports_0.10.0.txt" ;;
    0.11.*) cat "$srcdir/tests/lib/shim/exports_0.11.2.txt" ;;
    0.12.*) cat "$srcdir/tests/lib/shim/exports_0.12.0.txt" ;;
    *) cat "$srcdir/tests/lib/shim/exports_0.13.0.txt" ;;
    esac
    # the one name that came with a point release
    [ "$1" != 0.12.1 ] || echo 'T _ZN8aotriton17isArchTechPreviewEP12ihipStream_t'
}
