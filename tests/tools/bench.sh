# aothip-bench: its options and shapes, and what it prints on the emulator.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
bench=$build/tools/aothip-bench
export AOTHIP_IMAGES="$images"

# Wrong commands; none of these reaches a GPU.
wrong() { # NAME TEXT ARGUMENTS...: exits with 2 and one line that holds TEXT
    name=$1 text=$2
    shift 2
    exits 2 "$name" "$bench" "$@"
    contains err "$text" 'is named'
    one_line err 'in one line'
}
wrong 'an unknown option' '--fast' --fast
wrong 'an unknown preset' '--preset h100: wanted is mi300x or strix-halo' --preset h100
wrong 'no repetition' '--repeat 0' --repeat 0
wrong 'a shape without =' 'heads: wanted is key=value' heads
wrong 'an unknown key' 'width: no such key' width=3
wrong 'a number out of range' 'dim=513: no such value' dim=513
wrong 'no number' 'seq=1k: no such value' seq=1k
wrong 'an unknown type' 'dtype=fp8: no such value' dtype=fp8
wrong 'heads that do not divide' 'heads=6 is no multiple of heads_k=4' heads_k=4,heads=6
printf '# shapes\n\nseq=64\n  seq=64,mask=up # no\n' >shapes
wrong 'a wrong line of a file' 'shapes, line 4: mask=up: no such value' --file shapes
exits 1 'a file that is not there' "$bench" --file nowhere
contains err 'nowhere: cannot be read' 'is named'
exits 1 'no such device' "$bench" --emulate $first --device 7 seq=16
contains err 'no device 7' 'is named'
exits 0 '--version' "$bench" --version
contains out 'aothip-bench 0.' 'tells the version'

# The emulator counts.
exits 0 'a shape' "$bench" --emulate $first seq=70,dim=64,heads=4,heads_k=2
contains out 'Emulated: there are no times' 'says that it is emulated'
[ `grep -c '^forward  *f16  *none  *1  *4  *2  *70  *70  *64  *64  *[1-9][0-9]* ' out` -eq 1 ]
ok 'one row, with instructions'
exits 0 'keys in any order' "$bench" --emulate $first --csv \
    heads_k=2,seq_k=33,heads=4,seq_q=9,dim=40
contains out 'fwd,f16,none,bhsd,1,4,2,9,33,40,40,1,' 'are all taken'
printf 'seq=40,dim=64 # one\nseq=40,dim=64,mask=br,layout=bshd,dtype=bf16\n' >good
exits 0 'shapes from standard input, both passes' "$bench" --emulate $first --csv --both --file - \
    <good
[ `grep -c '^fwd,' out` -eq 2 ] && [ `grep -c '^bwd,' out` -eq 2 ] && [ `wc -l <out` -eq 5 ]
ok 'are a head and four rows'

exits 0 'JSON' "$bench" --emulate $first --json seq=40,dim=64 seq=20,dim=32
if command -v python3 >/dev/null; then
    python3 - <<'END'
import json
with open("out") as f:
    report = json.load(f)
assert report["emulated"] is True and len(report["results"]) == 2
for r in report["results"]:
    assert r["instructions"] > 100 and r["matrix"] > 0 and r["bytes_stored"] >= 20 * 32 * 2
shape = report["results"][1]["shape"]
assert shape.startswith("batch=1,heads=1,heads_k=1,seq_q=20,seq_k=20,dim=32")
END
    ok 'parses, and holds what it should'
fi

# Its own file of counters goes away, a user's stays.
mkdir tmp
TMPDIR=$work/tmp exits 0 'a temporary file' "$bench" --emulate $first seq=16,dim=64
[ -z "`ls tmp`" ]
ok 'is removed'
AOTHIP_EMU_COUNTERS=$work/mine exits 0 'a file of counters of the user' \
    "$bench" --emulate $first seq=16,dim=64
contains mine '"kernel"' 'is written'
plan
