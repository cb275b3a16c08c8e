#!/bin/sh
# What the shared libraries export and need: the map and the header name the same functions, the
# library has them and nothing else, and libaotriton_v2.so has every name of the release it stands
# in for. Numbers such as "16.1 #3" are lines of the checklist for drop-in libraries.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
suffix=`configured AOTRITON_SUFFIX`
namespace=aotriton$suffix
c=lib/.libs/libaothip.so
cxx=lib/.libs/libaotriton${suffix}_v2.so

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

version=`configured AOTRITON_VERSION`
$NM -D --defined-only $cxx | sed "s/^[0-9a-f]* //; s/${#namespace}$namespace/8aotriton/" |
    LC_ALL=C sort >"$work/exported"
release_names "$version" | LC_ALL=C sort >"$work/wanted"
diff "$work/wanted" "$work/exported" >"$work/diff"
empty "$work/diff" "16.1 #11: libaotriton_v2.so exports exactly the names of AOTriton $version"
sed -n "s,^#define AOTRITON_VERSION_[A-Z]* \([0-9]*\)u,\1,p" include/aotriton/config.h |
    paste -s -d . - >"$work/config"
echo "$version" | diff - "$work/config" >"$work/diff"
empty "$work/diff" '16.1 #5: config.h has its numbers'

if command -v readelf >/dev/null; then
    LC_ALL=C readelf -d $cxx >"$work/dynamic"
    grep -q "SONAME.*\[libaotriton${suffix}_v2.so.$version\]" "$work/dynamic"
    ok "16.1 #1: its SONAME is libaotriton_v2.so.$version"
    [ -f "lib/.libs/libaotriton${suffix}_v2.so.$version" ]
    ok '16.1 #1: and so is its file name'
    case $SANITIZE_FLAGS in
    '') path='\[$ORIGIN\]' ;;
    *) path='\[.*$ORIGIN\]' ;; # behind where the sanitizers lie
    esac
    ! grep 'R.*PATH' "$work/dynamic" | grep -qv "$path"
    ok '16.1 #3: its RUNPATH is $ORIGIN'
    LC_ALL=C readelf -d $c $cxx | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(lib(c|m|dl|pthread|stdc\+\+|gcc_s|zstd|(clang_rt\.)?[atu]b?san.*)|ld-linux.*)\.so' \
            >"$work/needed"
    empty "$work/needed" '16.1 #3: neither needs more than system libraries; not even each other'
else
    skip 'the dynamic section' 'no readelf'
fi
plan
