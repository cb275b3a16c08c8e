#!/bin/sh
# libaotriton_v2.so as each AOTriton release that it can stand in for: exact export list, SONAME, and
# test_shim compiled against that release's headers and run.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"

for version in 0.11.0 0.12.0 0.12.1 0.13.0; do
    make -s "tests/lib/abi/$version/test_shim" >"$work/messages" 2>&1
    ok "$version: library and a consumer compile, with every layout as asserted"
    [ "$good" = ok ] || { sed 's/^/# /' "$work/messages"; continue; }
    "tests/lib/abi/$version/test_shim" >"$work/out" 2>&1
    ok "$version: the consumer passes `grep -c '^ok' "$work/out"` checks"
    grep -A3 '^not ok' "$work/out" | sed 's/^/# /'

    library=lib/.libs/aotriton-abi/$version/libaotriton_v2.so.$version
    release_names $version | LC_ALL=C sort >"$work/wanted"
    $NM -D --defined-only "$library" | sed 's/^[0-9a-f]* //' | LC_ALL=C sort >"$work/exported"
    diff "$work/wanted" "$work/exported" >"$work/diff"
    empty "$work/diff" "$version: exports exactly that release's names"
    if command -v readelf >/dev/null; then
        LC_ALL=C readelf -d "$library" | grep -q "SONAME.*\[libaotriton_v2.so.$version\]"
        ok "$version: SONAME"
    fi
done
plan
