# AOTHIP_CAPTURE and aothip-replay: every GPU's launch written down and run again, and what is said
# of captures that were changed, cut short or damaged.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

replay=$build/tools/aothip-replay
gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
export AOTHIP_IMAGES="$images"

"$npy" make q.npy f16 1,4,33,48 1 && "$npy" make k.npy f16 1,2,50,48 2 &&
    "$npy" make v.npy f16 1,2,50,40 3
ok 'tensors'

capture() { # GPU: into ./GPU/PID-0
    mkdir "$1"
    exits 0 "$1: a captured launch" env AOTHIP_CAPTURE="$work/$1" "$run" q.npy k.npy v.npy \
        -o "$1.npy" --lse "$1.lse.npy" --causal br --emulate "$1"
    set -- "$1"/*
    [ $# -eq 1 ] && [ -d "$1" ] && [ "${1%.partial}" = "$1" ]
    ok 'leaves one whole directory'
}

for gpu in $gpus; do
    capture "$gpu"
    exits 0 "$gpu: the same bytes when run again" "$replay" --emulate --exact "$gpu"/*
    contains out 'o     0 of ' 'o is compared'
    contains out 'lse   0 of 132 elements differ' 'and lse'
done

exits 0 'several at once' "$replay" --emulate="$first" "$first"/* "$first"/*
[ "`grep -c 'captured on' out`" -eq 2 ]
ok 'are all run'

exits 1 'an unknown GPU' "$replay" --emulate=gfx999 "$first"/*
! grep -q 'add --emulate' err
ok 'is not told to add what is there'

cp -r "$first"/* changed
for file in changed/buffer*.after; do
    # the second half of the file's first element, so that the value changes much
    printf '\101' | dd of="$file" bs=1 seek=1 conv=notrunc 2>/dev/null
done
exits 1 'a capture with other results' "$replay" --emulate changed
contains out 'FAIL' 'is told from the launch'
contains out 'elements differ, by at most' 'with the difference'

cp -r "$first"/* cut
sed 's/"buffer[0-9]*\.[a-z]*"}/null}/' changed/capture.json >cut/capture.json
rm -f cut/buffer*.after
exits 0 'a capture that was cut short runs' "$replay" --emulate cut
contains out 'cut short' 'and is called that'

broken() { # NAME TEXT SED: fails, naming the file, with one line that holds TEXT
    sed "$3" changed/capture.json >cut/capture.json
    exits 1 "$1" "$replay" --emulate cut
    contains err "$2" 'is named'
    one_line err 'in one line'
}
for file in changed/*.after; do cp "$file" cut/; done
broken 'another format' 'cut/capture.json: format: is not aothip-capture' 's/aothip-capture/zip/'
broken 'another version' 'cut/capture.json: version is not 1' 's/"version": 1/"version": 2/'
broken 'no JSON' 'cut/capture.json: line 2' '2s/"format"/format/'
broken 'a path for a file' 'code: is not a file name' 's|code\.co|../code.co|'
broken 'a file that is not there' 'nothing.co: No such file' 's|code\.co|nothing.co|'
broken 'a buffer of another size' 'buffer0.before: is not as large as the buffer' \
    's/"size": \([0-9][0-9]*\)/"size": 1\1/'
broken 'a tensor beyond its buffer' 'tensors: one reaches beyond its buffer' \
    's/"offset": 0/"offset": 100/'
broken 'a kernel argument out of range' 'kernarg_offset: is out of range' \
    's/"kernarg_offset": [0-9]*/"kernarg_offset": 9999/'
broken 'a stride that is no number' 'tensors: stride: is not a whole number' \
    's/"stride": \[[0-9]*/"stride": ["1"/'
broken 'an unknown kernel' 'hipModuleGetFunction' 's/"kernel": "[a-z]*/"kernel": "nothing/'

# HIP does not know where a code object ends: what its header says is beyond the file is not read.
cp -r "$first"/* damaged
damaged_code() { # WHAT: is refused
    exits 1 "$1" "$replay" --emulate damaged
    contains err 'capture.json: code: names a file that is no whole ELF file' 'is named'
    one_line err 'in one line'
}
head -c 3000 "$first"/*/code.co >damaged/code.co
damaged_code 'a code object cut short'
cp "$first"/*/code.co damaged/code.co
printf '\177' | dd of=damaged/code.co bs=1 seek=44 conv=notrunc 2>/dev/null # e_shoff
damaged_code 'a code object whose sections lie far away'
cp damaged/capture.json damaged/code.co
damaged_code 'a text for a code object'

# Under the clock.
exits 0 'a profile and a timeline' "$replay" --emulate="$first" --exact --profile \
    --timeline trace.json "$first"/*
contains out 'lse   0 of 132 elements differ' 'still compares'
grep -Eq '^ +0x[0-9a-f]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+% .*s_endpgm$' out
ok 'instructions have counts and clocks'
if command -v python3 >/dev/null; then
    python3 "$srcdir/tests/tools/programs/timeline_check.py" trace.json waves matrix waits >number
    ok 'the timeline is sound'
fi
exits 1 'a timeline that cannot be written' "$replay" --emulate --timeline . "$first"/*
contains err '.: cannot be written: Is a directory' 'is named'
exits 1 'a profile in strict mode' env AOTHIP_EMU_MODE=strict "$replay" --emulate --profile "$first"/*
contains err 'in strict mode' 'is refused'
exits 1 'a profile without the emulator' env AOTHIP_HIP_LIBRARY="$fake" FAKE_HIP_TARGET="$first" \
    "$replay" --profile "$first"/*
contains err 'on the emulator alone' 'is refused'

exits 1 'no directory' "$replay" --emulate nowhere
contains err 'nowhere/capture.json: No such file' 'is named'
exits 2 'no argument' "$replay"
exits 2 'an unknown option' "$replay" --fast cut
exits 0 '--help' "$replay" --help

exits 1 'a directory that cannot be written' env AOTHIP_CAPTURE="$work/missing" "$run" q.npy k.npy \
    v.npy -o x.npy --emulate "$first"
contains err 'AOTHIP_CAPTURE: cannot create' 'is named'
[ ! -e x.npy ]
ok 'and no output is written'

plan
