# README.md tells the truth: its commands run, its paths exist, its program compiles and runs.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
if sanitized; then
    echo '1..0 # SKIP README is about no sanitized build'
    exit 0
fi

readme=$srcdir/README.md
first=`cd "$images" && ls -d amd-* | sed -n '1s/^amd-//p'`

# A place that looks like the clone after tools/demo.
for name in tools tests lib gen images include LICENSE; do
    ln -s "$srcdir/$name" $name
done
ln -s "$build" build
for t in q k v; do
    "$npy" make $t.npy f16 1,2,65,64 1
done

# The commands. tools/demo and tools/test would begin everything anew, this test included.
sed -n '/^```sh$/,/^```$/p' "$readme" | sed '/^```/d; s/ *#.*//' >commands
[ `wc -l <commands` -ge 6 ]
ok 'there are commands'
while IFS= read -r command; do
    case $command in
    tools/demo | tools/test) sh -c "$command --help" >out 2>&1 </dev/null ;;
    # tests/tools/programs/check.sh and predict.sh have run them, or their like.
    *' --emulate all --quick' | *' --json' | *' --features '*) continue ;;
    PYTHONPATH=*)
        sh -c "$command" >out 2>&1 </dev/null && grep -q flash_attn_func out ;;
    *) sh -c "$command" >out 2>&1 </dev/null ;;
    esac
    ok "$command"
    [ "$good" = ok ] || tail -n 30 out | sed 's/^/#   /'
done <commands
for target in check-real check-random check-clients check-windows check-gpu; do
    grep -q "^$target:" "$build/Makefile"
    ok "make $target exists"
done
"$srcdir/configure" --help >out 2>&1
for option in `grep -o -e '--with-[a-z-]*' "$readme" | sort -u`; do
    contains out "$option" "configure knows $option"
done

# The installed tree, as the commands above made it.
installed=`find stage -name aothip-check | sed 's|/bin/aothip-check$||'`
[ -n "$installed" ]
ok 'something was installed'
for path in lib/aotriton.images include/aothip/aothip.h bin/aothip-run; do
    [ -e "$installed/$path" ]
    ok "installed: $path"
done
mv "$installed" moved
exits 0 'the installed tree works elsewhere' env LD_LIBRARY_PATH="$PWD/moved/lib" AOTHIP_IMAGES= \
    moved/bin/aothip-check --emulate "$first" --quick
contains out "moved/lib/aotriton.images" 'with its own images'

# Paths: what stands in backquotes or in a link and has a slash is in the tree, or installed, but for
# what other commands of README make.
grep -v '^    ' "$readme" | sed '/^```/,/^```$/d' >text
{ grep -o '`[^`]*`' text | tr -d '`'; grep -o '](.*)' text | sed 's/^](//; s/)$//'; } |
    grep -E '^[A-Za-z_.][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]*$' | grep -vE '^(stage|build/packages)(/|$)' | sort -u >paths
[ `wc -l <paths` -ge 10 ]
ok 'there are paths'
while IFS= read -r path; do
    [ -e "$path" ] || [ -e "moved/$path" ]
    ok "$path exists"
done <paths

# Names.
for name in `grep -oE '(AOTHIP|AOTRITON|PYTORCH)_[A-Z_]*|MAX_JOBS' text | sort -u`; do
    grep -rq "$name" "$srcdir/lib" "$srcdir/tools" "$srcdir/m4" "$srcdir/include"
    ok "$name is known in the sources"
done
grep -o 'aotriton::[a-z0-9_:]*' text | sort -u >functions
nm -DC moved/lib/libaotriton_v2.so >symbols 2>nm || : >symbols
while IFS= read -r function; do
    contains symbols " T $function(" "$function is exported"
done <functions

# The program, compiled as this tree was and run on the emulator.
variable() {
    sed -n "s/^$1 = //p" "$build/Makefile"
}
sed -n '/^```c$/,/^```$/p' "$readme" | sed '/^```/d' >program.c
emulator=$build/tools/emu/.libs/libhipemu.so
`variable CC` -std=c99 -Wall -Wextra -Werror `variable SANITIZE_FLAGS` `variable HIP_CPPFLAGS` \
    -D__HIP_PLATFORM_AMD__ -Imoved/include program.c -o program -Lmoved/lib -laothip "$emulator" \
    -Wl,-rpath,"$PWD/moved/lib" -Wl,-rpath,"$build/tools/emu/.libs" >out 2>&1
ok 'the program compiles'
[ "$good" = ok ] || sed 's/^/#   /' out
AOTHIP_EMU_GPU=$first exits 0 'and runs' ./program
contains out 'o is 1, the mean of ones' 'and gets the right answer'
plan
