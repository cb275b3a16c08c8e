#!/bin/sh
# With --with-shared-zstd, make install-aotriton brings libzstd.so.1 along, and may be run again. Its
# recipe is taken from make and run on libraries made here: one that needs libzstd and one that
# contains it.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
lib=$work/lib
mkdir "$lib"
MAKEFLAGS= ${MAKE:-make} --no-print-directory -n -o images-all install-aotriton prefix="$work" libdir="$lib" DESTDIR= 2>/dev/null |
    sed -n '/^file=`ldd/,/libzstd\.so\.1; }$/p' >"$work/recipe"
[ -s "$work/recipe" ]
ok 'make says how it brings libzstd'
name=`sed -n 's/.*ldd [^ ]*\/\([^ ]*\.so\).*/\1/p' "$work/recipe" | head -n 1 | tr -d "'"`
aotriton() { # CODE LIBRARY...: in the place of libaotriton_v2.so
    code=$1
    shift
    echo "$code" | $CC -shared -fPIC -x c - -x none -o "$lib/$name" -Wl,-rpath,'$ORIGIN' "$@"
}
aotriton 'int f(void) { return 1; }' && sh -e "$work/recipe" && [ ! -e "$lib/libzstd.so.1" ]
ok 'nothing for a library that contains it'
if ! aotriton 'unsigned ZSTD_versionNumber(void); unsigned f(void) { return ZSTD_versionNumber(); }' \
    -lzstd || ! ldd "$lib/$name" | grep -q 'libzstd[^ ]* => /'; then
    skip 'a library that needs it' 'there is no shared libzstd'
    plan
fi
sh -e "$work/recipe" && [ -s "$lib/libzstd.so.1" ]
ok 'it comes beside a library that needs it'
ldd "$lib/$name" | grep -qF "=> $lib/libzstd.so.1"
ok 'which finds it there'
before=`cksum "$lib/libzstd.so.1"`
sh -e "$work/recipe" && [ "`cksum "$lib/libzstd.so.1"`" = "$before" ]
ok 'and once more, as it was'
plan
