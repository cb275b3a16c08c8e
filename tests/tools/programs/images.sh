# aothip-images: what each command does, and that a failure changes nothing.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
tool=$build/tools/aothip-images
set -- ${GPU_ARCHS:-gfx90a gfx942 gfx1100 gfx1151}
first=$1

exits 0 "list" "$tool" list "$images"
[ "`grep -c "^$first " out`" -gt 3 ]
ok "a line a kernel"
exits 0 "list of one GPU and some kernels" "$tool" list --gpu="$first" --kernel=bf16 "$images"
! grep -v "^$first .*bf16" out | grep -qv '^gpu '
ok "and no other"
exits 0 "verify" "$tool" verify "$images"
[ "`grep -c ' good: ' out`" -eq $# ]
ok "says so of each GPU"

exits 0 "extract" "$tool" extract --gpu="$first" --kernel=attn_fwd_f16_d64 --output=co "$images"
file=`head -1 out`
[ "`head -c 4 "$file" | tail -c 3`" = ELF ]
ok "writes an ELF file and prints its name"
"$build/tools/aothip-inspect" "$file" | grep -q attn_fwd_f16_d64
ok "which aothip-inspect reads"

exits 1 "extract of no kernel" "$tool" extract --kernel=nothing --output=nowhere "$images"
contains err "has no kernel whose symbol contains nothing" "is a failure"
[ ! -e nowhere ]
ok "and makes no directory"
exits 2 "extract to nowhere" "$tool" extract --gpu="$first" --kernel=attn_fwd_f16_d64 --output= \
    "$images"
contains err "option --output needs a value" "is refused, and not taken for the root directory"
exits 0 "merge one GPU into a new directory" "$tool" merge --gpu="$first" --output=new/store "$images"
diff -r "$images/amd-$first" "new/store/amd-$first" >/dev/null
ok "it is a copy"
[ "`ls -A new/store`" = "amd-$first" ]
ok "of that GPU alone"
exits 0 "merge it again" "$tool" merge --gpu="$first" --output=new/store "$images"
[ ! -s out ]
ok "changes nothing"
exits 0 "merge the rest" "$tool" merge --output=new/store "$images"
diff -r "$images" new/store >/dev/null
ok "now all is there"

printf x >>"new/store/amd-$first/flash/attn.zst"
exits 1 "verify finds a longer file" "$tool" verify new/store
contains err "new/store/amd-$first/flash/attn.zst" "and names it"
exits 1 "merge refuses to replace" "$tool" merge --output=new/store "$images"
contains err "other images of $first" "and says which"
exits 0 "unless told to" "$tool" merge --replace --output=new/store "$images"
diff -r "$images" new/store >/dev/null
ok "then all is as it should be"
exits 1 "a directory merged into itself is refused or left alone" "$tool" merge --output=new/store \
    new/store/nothing
diff -r "$images" new/store >/dev/null
ok "nothing changed"

# What an interrupted program left is cleared away, and no reader sees it.
cp -r "new/store/amd-$first" new/store/.aothip-coming
exits 0 "verify with a leftover" "$tool" verify new/store
exits 0 "prune with a leftover" "$tool" prune --gpu="$first" new/store
[ "`ls -A new/store`" = "amd-$first" ]
ok "prune leaves only the GPU named"
exits 1 "prune of an unknown GPU" "$tool" prune --gpu=gfx1,"$first" new/store
contains err "no images of gfx1" "is refused"
[ "`ls -A new/store`" = "amd-$first" ]
ok "and removes nothing"
( exec 9<new/store; flock -n 9 && "$tool" prune --gpu="$first" new/store 2>err )
[ $? -eq 1 ]
ok "a directory that another program is changing"
contains err "another program" "is left alone"

printf 'aothip-tune 1\ngpu %s\nkernel 1 2\n' $first >"new/store/amd-$first/flash/tune.txt"
exits 1 "a table of costs that is wrong" "$tool" verify new/store
contains err "amd-$first/flash/tune.txt:3: kernel has 2 numbers" "is told with its line"
rm "new/store/amd-$first/flash/tune.txt"
sed 's/"format": [0-9]*/"format": 99/' "new/store/amd-$first/__signature__" >s &&
    cp s "new/store/amd-$first/__signature__"
exits 1 "a signature of another format" "$tool" verify new/store
contains err "format 99" "is told"
echo '{' >"new/store/amd-$first/__signature__"
exits 1 "a signature that is no JSON" "$tool" verify new/store
contains err "__signature__: line" "is told with its line"
exits 1 "no images at all" "$tool" list "$work"
exits 1 "no such directory" "$tool" verify "$work/nowhere"
contains err "$work/nowhere" "is named"
for wrong in "" verify "merge $images" "prune $images" "extract $images" "list a b" "frob $images"; do
    exits 2 "usage: $wrong" "$tool" $wrong
    one_line err "one line: $wrong"
done
exits 0 "--help" "$tool" --help
exits 0 "--version" "$tool" --version
plan
