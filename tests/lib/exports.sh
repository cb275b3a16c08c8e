#!/bin/sh
# What the shared libraries export: the map and the header name the same functions, the library has
# them and nothing else, and libaotriton_v2.so has every name of the release it stands in for.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
c=lib/.libs/libaothip.so
cxx=lib/.libs/libaotriton_v2.so

sed -n 's/^[[:space:]]*\(aothip_[a-z_]*\);$/\1/p' "$srcdir/lib/aothip.map" | sort >"$work/map"
tr '\n' ' ' <"$srcdir/include/aothip/aothip.h" | grep -o 'AOTHIP_API [^;]*;' |
    grep -o 'aothip_[a-z_]*(' | tr -d '(' | sort -u >"$work/header"
$NM -D --defined-only $c | sed 's/.* //; s/@.*//' | grep -v '^AOTHIP_' | sort >"$work/exported"

[ -s "$work/map" ]
ok 'the map names functions'
diff "$work/map" "$work/header" >"$work/diff"
empty "$work/diff" 'the map and aothip.h name the same functions'
diff "$work/map" "$work/exported" >"$work/diff"
empty "$work/diff" 'libaothip.so exports them and nothing else'
$NM -D --defined-only $c | grep ' [A-Z] aothip_' | grep -v '@@AOTHIP_' >"$work/unversioned"
empty "$work/unversioned" 'each with a version'

version=`sed -n "s,^#define AOTRITON_VERSION_[A-Z]* \([0-9]*\)u,\1,p" include/aotriton/config.h | paste -s -d .`
$NM -D --defined-only $cxx | sed 's/^[0-9a-f]* //' | LC_ALL=C sort >"$work/exported"
release_names "$version" | LC_ALL=C sort >"$work/wanted"
diff "$work/wanted" "$work/exported" >"$work/diff"
empty "$work/diff" "libaotriton_v2.so exports exactly the names of AOTriton $version"

if command -v readelf >/dev/null; then
    LC_ALL=C readelf -d $cxx >"$work/dynamic"
    grep -q "SONAME.*\[libaotriton_v2.so.$version\]" "$work/dynamic"
    ok "its SONAME is libaotriton_v2.so.$version"
    [ -f "lib/.libs/libaotriton_v2.so.$version" ]
    ok 'and so is its file name'
    grep -q 'R.*PATH.*\[$ORIGIN\]' "$work/dynamic"
    ok 'its RUNPATH is $ORIGIN'
    LC_ALL=C readelf -d $c $cxx | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libzstd|libaothip|ld-linux.*|lib[atu]b?san)\.so' \
            >"$work/needed"
    empty "$work/needed" 'neither needs anything but system libraries: no HIP'
else
    skip 'the dynamic section' 'no readelf'
fi
plan
