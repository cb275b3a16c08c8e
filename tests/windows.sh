#!/bin/sh
# The build for Windows, under Wine: what it needs, what it computes and what it says, held against this
# system's build. Not among the tests of make check; make check-windows runs it in the build.
. "${srcdir:-.}/tests/lib/lib_test_lib.sh"
windows=windows/windows
bin=$windows/bin
WINEPREFIX=$PWD/windows/prefix WINEDEBUG=-all
LC_ALL=C.UTF-8
export WINEPREFIX WINEDEBUG LC_ALL
[ -d "$WINEPREFIX" ] || wineboot -i >/dev/null 2>&1
objdump=x86_64-w64-mingw32-objdump
images=$PWD/images/aotriton.images
linux() { # PROGRAM ARGUMENT...
    program=$1
    shift
    tools/"$program" "$@" 2>"$work/said" || sed 's/^/# /' "$work/said"
}
wine_run() {
    program=$1
    shift
    wine "$bin/$program.exe" "$@" </dev/null
}
same() { # FILE FILE NAME: bit for bit
    cmp "$1" "$2" >"$work/cmp" 2>&1
    ok "$3"
    sed 's/^/# /' "$work/cmp"
}
has() { # FILE PATTERN NAME
    grep -qE "$2" "$1"
    failed_to=$?
    (exit $failed_to)
    ok "$3"
    [ $failed_to -eq 0 ] || sed 's/^/# /' "$1"
}

# what is needed beside it: Windows' own
for file in $bin/*; do
    $objdump -p "$file" | sed -n "s|.*DLL Name: |${file##*/} |p"
done | grep -viE ' (kernel32|msvcrt|advapi32|shell32|version|psapi|aothip)\.dll$' >"$work/found"
empty "$work/found" 'the programs need no DLL but aothip.dll and those of Windows'
[ "`ls $bin | wc -l`" -ge 5 ]
ok 'and there are programs'
$objdump -p $bin/aothip.dll | sed -n 's/^[[:space:]]*\[ *[0-9]*\] \(aothip_[a-z_]*\)$/\1/p' | sort >"$work/exports"
sed -n 's/^	\(aothip_[a-z_]*\);$/\1/p' "$srcdir/lib/aothip.map" | sort | diff - "$work/exports" >"$work/found"
empty "$work/found" 'aothip.dll exports what libaothip.so does'

# the kernels, all GPUs; the numbers are those of this system
AOTHIP_IMAGES=$images
export AOTHIP_IMAGES
linux aothip-check --emulate all --quick --json >"$work/linux.json"
wine_run aothip-check --emulate all --quick --json >"$work/windows.json" 2>"$work/err"
ok 'aothip-check --emulate all --quick passes'
sed 's/^/# /' "$work/err" | head
errors() { # every number of the checks; names of files apart
    grep -vE '"(file|runtime|directory|images?|origin|path|library)"' "$1" | grep -v 'seconds'
}
errors "$work/linux.json" >"$work/a"
errors "$work/windows.json" >"$work/b"
[ "`grep -c gfx "$work/a"`" -ge 4 ]
ok 'for several GPUs'
same "$work/a" "$work/b" 'and prints the same errors to the last digit'

# tensors of files, at names that only wide functions open
python3 - "$work" <<'P'
import random, struct, sys
random.seed(5)
for name, length in ("q", 40), ("k", 40), ("v", 40), ("long", 8000):
    n = 2 * length * 64
    head = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, %d, 64), }" % length
    head += " " * (118 - 1 - len(head)) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{n}e", *(random.gauss(0, 1) for _ in range(n))))
P
in=$work
deep="$work/a b/`printf 'ü%.0s' 1 2 3 4 5 6 7 8 9`/`printf 'x%.0s' $(seq 150)`/`printf 'y%.0s' $(seq 150)`"
mkdir -p "$deep"
cp "$work"/[qkv].npy "$deep"
for gpu in gfx942 gfx1151; do
    linux aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/linux.npy" --causal tl --emulate $gpu
    wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/windows.npy" --causal tl --emulate $gpu --verify \
        >"$work/out" 2>&1
    ok "aothip-run computes on $gpu"
    same "$work/linux.npy" "$work/windows.npy" 'bit for bit what it does here'
done
wine_run aothip-run "$deep/q.npy" "$deep/k.npy" "$deep/v.npy" -o "$deep/o ü.npy" --causal tl --emulate gfx1151 >"$work/out" 2>&1
ok 'and with files at names of more than 260 characters, with spaces and umlauts'
sed 's/^/# /' "$work/out" | head -3
same "$work/linux.npy" "$deep/o ü.npy" 'with the same result'
cp -r "$images" "$deep/images"
AOTHIP_IMAGES="$deep/images" wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/windows.npy" --causal tl \
    --emulate gfx1151 >"$work/out" 2>&1
ok 'so with images there'
sed 's/^/# /' "$work/out" | head -3

# a launch captured on one system is replayed on the other
AOTHIP_CAPTURE="$work/from linux" && export AOTHIP_CAPTURE && mkdir "$AOTHIP_CAPTURE"
linux aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/linux.npy" --causal tl --emulate gfx942
AOTHIP_CAPTURE="$work/from windows ü" && mkdir "$AOTHIP_CAPTURE"
wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/windows.npy" --causal tl --emulate gfx942
unset AOTHIP_CAPTURE
one=`ls -d "$work/from linux"/*` other=`ls -d "$work/from windows ü"/*`
[ -d "$one" ] && [ -d "$other" ]
ok 'both capture launches'
for file in "$one"/buffer* "$one/code.co"; do
    cmp "$file" "$other/${file##*/}" 2>&1
done >"$work/found"
empty "$work/found" 'of the same code and the same buffers before and after'
wine_run aothip-replay --emulate --exact "$one" >"$work/out" 2>&1
ok 'Windows replays what was captured here'
linux aothip-replay --emulate --exact "$other" >"$work/out" 2>&1
ok 'and the other way round'

# images that are damaged, absent or of another GPU
mkdir -p "$work/bad/amd-gfx942"
refuse() { # PATTERN NAME: what it says of "$work/bad"
    AOTHIP_IMAGES=$work/bad wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/x.npy" --emulate gfx942 \
        >"$work/out" 2>&1
    status=$?
    [ $status -ne 0 ] && [ $status -lt 100 ] && [ ! -e "$work/x.npy" ] && grep -qE "$1" "$work/out"
    failed_to=$?
    (exit $failed_to)
    ok "$2"
    [ $failed_to -eq 0 ] || sed "s/^/# $status: /" "$work/out"
}
image=`cd "$images/amd-gfx942" && find . -name '*.zst' | head -1`
mkdir -p "$work/bad/amd-gfx942/${image%/*}"
bad=$work/bad/amd-gfx942/$image
refuse 'no images for gfx942: .* does not exist' 'absent images are told of'
: >"$bad"
refuse 'the file is empty' 'empty ones'
head -c 100000 "$images/amd-gfx942/$image" >"$bad"
refuse 'file_size is' 'and ones that were cut'
for offset in 5 40 200 3000; do
    cp "$images/amd-gfx942/$image" "$bad"
    printf '\377\001\376' | dd of="$bad" bs=1 seek=$offset conv=notrunc 2>/dev/null
    refuse 'header|entry|magic' "and damage at byte $offset"
done
cp "$images/amd-gfx942/$image" "$bad"
size=`wc -c <"$bad"`
# behind the dictionary, which ends before half of the file
for part in 5 6 7 8; do
    printf '\377\001\376\002' | dd of="$bad" bs=1 seek=$((size * part / 9)) conv=notrunc 2>/dev/null
done
AOTHIP_IMAGES=$work/bad wine_run aothip-check --emulate gfx942 --quick >"$work/out" 2>&1
[ $? -eq 1 ]
ok 'damaged frames fail the check, and end nothing'
has "$work/out" 'frame_hash does not match' 'with the reason'

# the other programs say what they say here
x86_64-w64-mingw32-gcc -municode -O1 -Wall -Wextra -Werror "$srcdir/tests/windows_helper.c" -o "$work/helper.exe" -static
ok 'a helper compiles'
says_the_same() { # PROGRAM ARGUMENT...
    linux "$@" >"$work/linux.txt"
    wine_run "$@" 2>/dev/null | tr -d '\r' >"$work/windows.txt"
    [ "`wc -l <"$work/linux.txt"`" -ge 3 ]
    ok "$1 says something"
    same "$work/linux.txt" "$work/windows.txt" "and the same there: $2"
}
says_the_same aothip-images list "$images"
says_the_same aothip-images verify "$images"
says_the_same aothip-inspect --table "$images/amd-gfx942/$image"
says_the_same aothip-bench --emulate gfx942 --json heads=2,seq=256 heads=2,seq=512
wine_run aothip-images merge --gpu=gfx942,gfx1151 --output="$work\\to ü\\images" "$images" >"$work/out" 2>&1
ok 'aothip-images copies images'
for gpu in gfx942 gfx1151; do
    diff -r "$images/amd-$gpu" "$work/to ü/images/amd-$gpu" 2>&1
done >"$work/found"
empty "$work/found" 'byte for byte, into folders that it makes'
wine_run aothip-images prune --gpu=gfx1151 "$work/to ü/images" >"$work/out" 2>&1
ok 'and thins them out'
[ "`ls -A "$work/to ü/images"`" = amd-gfx1151 ]
ok 'so that one is left, and no lock'
: >"$work/to ü/images/.aothip-lock"
wine "$work/helper.exe" hold "$work/to ü/images/.aothip-lock" $bin/aothip-images.exe prune --gpu=gfx1151 "$work/to ü/images" \
    >"$work/out" 2>&1 </dev/null
[ $? -eq 1 ]
ok 'one program at a time changes a directory'
has "$work/out" 'another program is changing it' 'and the second says so'
WINEPATH="Z:`echo "$PWD/$windows/as-runtime" | tr / '\\\\'`" AOTHIP_EMU_GPU=gfx942 wine_run aothip-bench --json heads=2,seq=256 \
    >"$work/out" 2>&1
has "$work/out" '"predicted' 'aothip-bench predicts by another process what it measures'

# files that another program holds, and Ctrl-C; the latter wants a console
cp "$images/amd-gfx942/$image" "$bad"
held() { # FILE PATTERN NAME: aothip-run while FILE is held
    AOTHIP_IMAGES=$work/bad wine "$work/helper.exe" hold "$1" $bin/aothip-run.exe "$in/q.npy" "$in/k.npy" "$in/v.npy" \
        -o "$work/held.npy" --emulate gfx942 >"$work/out" 2>&1 </dev/null
    [ $? -eq 1 ]
    ok "$3 that another program holds fails it"
    has "$work/out" "$2" 'with the reason'
}
held "$bad" 'cannot open: .*[Ss]haring violation.*\(error 32\)|cannot open: .*being used by another' 'an image'
[ ! -e "$work/held.npy" ]
ok 'and writes nothing'
held "$in/k.npy" 'k.npy: another program has it open' 'a tensor'
: >"$work/held.npy"
held "$work/held.npy" 'held.npy: ' 'an output'
ls "$work" | grep 'held.npy.' >"$work/found"
empty "$work/found" 'and no other file is left'
if command -v script >/dev/null; then
    AOTHIP_LOG=2 && export AOTHIP_LOG
    script -qec "wine '$work/helper.exe' interrupt $bin/aothip-check.exe --emulate all" /dev/null \
        </dev/null | sed 's/\x1b\[[?0-9]*[a-zA-Z]//g; s/ //g' >"$work/out"
    has "$work/out" 'exitcode0xc000013a' 'Ctrl-C ends aothip-check in the way of Windows'
    script -qec "wine '$work/helper.exe' interrupt $bin/aothip-run.exe '$work/long.npy' '$work/long.npy' '$work/long.npy' \
        -o '$work/cut.npy' --emulate gfx942" /dev/null </dev/null | sed 's/\x1b\[[?0-9]*[a-zA-Z]//g; s/ //g' >"$work/out"
    has "$work/out" 'exitcode0xc000013a' 'and aothip-run'
    unset AOTHIP_LOG
    ls "$work" | grep '^cut' >"$work/found"
    empty "$work/found" 'which leaves no output then, nor half of one'
else
    skip 'Ctrl-C' 'there is no script(1), of util-linux'
fi

# the runtime by its own name, on the search path
WINEPATH="Z:`echo "$PWD/$windows/as-runtime" | tr / '\\\\'`" AOTHIP_EMU_GPU=gfx1151 wine_run aothip-run "$in/q.npy" "$in/k.npy" \
    "$in/v.npy" -o "$work/windows.npy" --causal tl >"$work/out" 2>&1
ok 'a runtime called amdhip64_7.dll is found on the search path'
linux aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/linux.npy" --causal tl --emulate gfx1151
same "$work/linux.npy" "$work/windows.npy" 'and used'
mkdir "$work/six" && cp $bin/hipemu.dll "$work/six/amdhip64_6.dll"
rm -f "$work/windows.npy"
WINEPATH="Z:`echo "$work/six" | tr / '\\\\'`" AOTHIP_EMU_GPU=gfx1151 wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" \
    -o "$work/windows.npy" --causal tl >"$work/out" 2>&1
ok 'so is one called amdhip64_6.dll'
same "$work/linux.npy" "$work/windows.npy" 'and used'
wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/windows.npy" >"$work/out" 2>&1
[ $? -ne 0 ]
ok 'without any, a program fails'
has "$work/out" 'amdhip64_7.dll, amdhip64_6.dll or amdhip64.dll cannot be loaded' 'and says what it looked for'
AOTHIP_HIP_LIBRARY='C:\nowhere\x.dll' wine_run aothip-run "$in/q.npy" "$in/k.npy" "$in/v.npy" -o "$work/windows.npy" >"$work/out" 2>&1
[ $? -ne 0 ]
ok 'AOTHIP_HIP_LIBRARY is obeyed'
has "$work/out" 'AOTHIP_HIP_LIBRARY: .*nowhere.*(error [0-9]+)' 'and a name that leads nowhere told of'
WINEPATH="Z:`echo "$PWD/$windows/as-runtime" | tr / '\\\\'`" wine_run aothip-check --environment >"$work/out" 2>&1
has "$work/out" 'Windows knows no GPU of AMD with a driver' 'aothip-check --environment looks for the driver'
has "$work/out" 'HIP +OK +.*amdhip64_7\.dll' 'for runtimes'
has "$work/out" 'aothip 0[.0-9]* has kernels for gfx' 'for images'
has "$work/out" 'python finds no torch' 'and for torch'
# A C program of somebody else, by the import libraries.
x86_64-w64-mingw32-dlltool -d $windows/hipemu.def -D amdhip64_7.dll -l "$work/libamdhip64.a" &&
    x86_64-w64-mingw32-gcc -std=c99 -D__HIP_PLATFORM_AMD__ -w -I"$srcdir/include" -isystem windows/deps/include \
        "$srcdir/tools/examples/attention.c" -o "$work/example.exe" -L$windows/lib -laothip -L"$work" -lamdhip64 &&
    cp $bin/aothip.dll $windows/as-runtime/amdhip64_7.dll "$work" &&
    AOTHIP_EMU_GPU=gfx1151 wine "$work/example.exe" </dev/null >"$work/out" 2>"$work/said"
ok 'the C example links with the import library, and runs'
cat "$work/said" | sed 's/^/# /' | head -5
[ -s "$work/out" ]
ok 'and prints'
wineserver -k
plan
