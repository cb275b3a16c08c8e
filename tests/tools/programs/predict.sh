# aothip-bench under the emulator's clock: predictions, all features, profile and timeline.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed -n 's/^amd-//p'`
set -- $gpus
first=$1
bench=$build/tools/aothip-bench
export AOTHIP_IMAGES="$images"

# The sanitizers make the emulator slow: a GPU of two units has to do.
if sanitized && [ -d "$images/amd-gfx1153" ]; then
    first=gfx1153
    gpus=$first
fi
few=heads=4,seq=256,dim=64 seq=256 large=batch=8,heads=16,seq=2048
if sanitized; then
    few=heads=1,seq=128,dim=64 seq=64 large=batch=2,heads=16,seq=1024
fi
# Of a family one has to do, and the smallest.
for gpu in $gpus; do
    [ $gpu = gfx1153 ] || ! grep -q "^sibling $gpu " "$srcdir/images/matrix.def" || continue
    asked="${asked-} $gpu"
    exits 0 "$gpu: a prediction" "$bench" --emulate $gpu --both --json \
        heads=4,seq=256,dim=64 heads=4,seq=512,dim=64,mask=tl
    cp out $gpu.json
done
if command -v python3 >/dev/null; then
    python3 - $asked <<'END'
import json, sys
for gpu in sys.argv[1:]:
    with open(gpu + ".json") as f:
        report = json.load(f)
    assert report["emulated"] and report["target"].split(":")[0] == gpu
    assert len(report["results"]) == 4
    known = gpu in ("gfx942", "gfx1100")
    for r in report["results"]:
        assert 0 < r["low_ms"] <= r["predicted_ms"] <= r["high_ms"], r
        assert 0 < r["uncertainty"] < 1 and r["cycles"] > 1000 and 0.3 < r["gigahertz"] < 4, r
        assert abs(sum(r["causes"].values()) - 1) < 0.02, r
        most = max((share, cause) for cause, share in r["causes"].items() if cause != "tail")
        assert r["bound"] == most[1], r
        assert r["extrapolated"] != known, r
        assert 0 < r["predicted_tflops"] < r["peak_tflops"], r
        assert all(0 <= share <= 1.01 for share in r["busy"].values()), r
    forward, backward = report["results"][:2]
    assert backward["launches"] > 1 and backward["cycles"] > forward["cycles"]
END
    ok 'predictions hold together'
fi

# Shapes of any size are predicted from samples: this one would run for a day.
exits 0 'a large shape' "$bench" --emulate $first $large,dim=64
[ `grep -c '^fwd .*  [a-zA-Z ]* [0-9]*%' out` -eq 1 ]
ok 'has a row'
! awk 'length > 100' out | grep -q .
ok 'in 100 columns'
! grep -q cut out
ok 'uncut'
exits 0 'a small shape' "$bench" --emulate $first seq=64
grep -q '^fwd .*  tail [0-9]*%' out
ok 'leaves most of the GPU idle'
exits 0 'CSV' "$bench" --emulate $first --csv seq=256,dim=64
awk -F , 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR != 2 }' out
ok 'has as many fields as names'
# The address sanitizer has to let an allocation fail.
exits 1 'a shape that fails, as CSV' env \
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1" "$bench" --emulate $first --csv seq_q=1000000000,seq_k=1,dim=512
awk -F , 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR != 2 }' out
ok 'has as many, too'

# Each feature is right about its tensors: strict mode reads nothing that is not there.
features='window keep bias alibi softcap sinks dropout lengths paged'
! sanitized || features='bias paged'
for with in $features; do
    AOTHIP_EMU_MODE=strict exits 0 "with=$with, strictly" "$bench" --counts --emulate $first --csv \
        batch=2,heads=4,heads_k=2,seq=192,dim=64,with=$with
    contains out ",,$with" 'is told'
done
# Atomic sums are allowed by the shape: one walk, which is faster.
case " "`echo $gpus`" " in *" gfx942 "*)
    exits 0 'atomic sums' "$bench" --emulate gfx942 --csv pass=bwd,batch=2,heads=16,seq=2048,dim=64,atomics=1 \
        pass=bwd,batch=2,heads=16,seq=2048,dim=64
    awk -F , 'NR > 1 { t[NR] = $12 } END { exit !(NR == 3 && t[2] < 0.9 * t[3]) }' out
    ok 'are faster here'
    ;;
esac
# Of a large launch samples run: what others would have written must not send float16 the long way.
case " "`echo $gpus`" " in *" gfx1100 "*)
    sanitized || {
        exits 0 'large backward passes' "$bench" --emulate gfx1100 --csv \
            pass=bwd,batch=2,heads=16,seq=1024,dim=128 \
            pass=bwd,batch=2,heads=16,seq=1024,dim=128,dtype=bf16
        awk -F , 'NR > 1 { t[NR] = $12 } END { exit !(NR == 3 && t[2] < 1.1 * t[3]) }' out
        ok 'take as long in float16 as in bfloat16'
    }
    ;;
esac
exits 0 'the features' "$bench" --emulate $first --features --json $few
if command -v python3 >/dev/null; then
    python3 - <<'END'
import json
with open("out") as f:
    results = json.load(f)["results"]
rows = {r["variant"]: r for r in results}
assert len(rows) == len(results) >= 18 and results[0]["variant"] == "plain"
plain = results[0]
for r in results[1:]:
    assert abs(r["times_plain"] * plain["predicted_ms"] / r["predicted_ms"] - 1) < 0.01, r
    assert r["shape"] != plain["shape"], r
assert "with=bias" in rows["bias"]["shape"] and "dim=128" in rows["head dim 128"]["shape"]
assert rows["bias"]["cycles"] > plain["cycles"]
END
    ok 'stand beside the plain one'
fi
if ! sanitized; then
    exits 0 'the same of the backward pass, as text' "$bench" --emulate $first --features --backward \
        heads=4,seq=128,dim=64
    ! grep -q 'paged' out
    ok 'without what it has not'
    grep -Eq '^bias .* [0-9.]+x  ' out
    ok 'has its ratio'
fi

# Where the clocks go.
exits 0 'a profile and a timeline' "$bench" --emulate $first --profile --timeline trace.json \
    heads=4,seq=256,dim=64
grep -Eq '^ +0x[0-9a-f]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+% .*s_endpgm$' out
ok 'instructions have counts and clocks'
grep -Eq '^ +[0-9]+ +[0-9.]+%  matrix$' out
ok 'causes have clocks'
if command -v python3 >/dev/null; then
    python3 "$srcdir/tests/tools/programs/timeline_check.py" trace.json \
        waves scalar vector matrix LDS memory waits >number
    ok 'the timeline is sound'
fi
exits 0 'two launches' "$bench" --emulate $first --backward --timeline trace.json \
    heads=1,seq=128,dim=64
if command -v python3 >/dev/null; then
    python3 "$srcdir/tests/tools/programs/timeline_check.py" trace.json matrix >number
    ok 'are two processes'
fi
# On two units one workgroup follows the other in its place.
if [ -d "$images/amd-gfx1153" ] && ! sanitized; then
    exits 0 'more than fit' "$bench" --emulate gfx1153 --timeline trace.json heads=20,seq=64,dim=64
    if command -v python3 >/dev/null; then
        python3 "$srcdir/tests/tools/programs/timeline_check.py" trace.json waves matrix >number
        ok 'are workgroups of their own'
    fi
fi

# What another code object took is told by the emulator's counters, or by another's results.
small=heads=4,seq=$seq,dim=64
AOTHIP_EMU_COUNTERS=$work/counts.json exits 0 'counters' "$bench" --counts --emulate $first $small
AOTHIP_EMU_TIME=1 AOTHIP_EMU_COUNTERS=$work/launches.json exits 0 'counters with times' "$bench" \
    --counts --emulate $first $small
exits 0 'results of another time' "$bench" --emulate $first --json $small
cp out results.json
sed 's/"target": "gfx/"target": "afx/' launches.json >other.json

# The page: well-formed, complete in itself, and a browser shows it.
exits 0 'a page' "$bench" --emulate $first --report page.html --both $small \
    heads=4,seq=$((2 * seq)),dim=64 $small,mask=tl,with=bias \
    --beside 'A-B 2.0=results.json' --beside it=launches.json@$small --beside that=launches.json
if command -v python3 >/dev/null; then
    python3 - <<'END'
import re, xml.etree.ElementTree as tree
with open("page.html", encoding="utf-8") as f:
    text = f.read()
root = tree.fromstring(text)
svg = "{http://www.w3.org/2000/svg}"
assert not list(root.iter("script")) and not re.search(r"\b(src|href)=|@import|url\(", text)
assert text.count("http") == text.count("http://www.w3.org/2000/svg")
pictures = list(root.iter(svg + "svg"))
assert len(pictures) == 2 + 3 + 1 + 9, len(pictures)
circles = list(pictures[0].iter(svg + "circle"))
assert len(circles) == 8 and len({c[0].text for c in circles}) == 8
assert len(list(pictures[1].iter(svg + "circle"))) == 9
for picture in pictures[:2]:
    width, height = map(float, picture.get("viewBox").split()[2:])
    assert all(0 < float(c.get("cx")) < width and 0 < float(c.get("cy")) < height
               for c in picture.iter(svg + "circle"))
roof, slope = [p.get("d") for p in pictures[1].iter(svg + "path") if p.get("stroke") == "var(--text)"]
ridge = [float(x) for x in re.match(r"M([0-9.]+) ([0-9.]+)H", roof).groups()]
assert [float(x) for x in slope.split("L")[1].split()] == ridge
assert all(float(c.get("cy")) > ridge[1] for c in pictures[1].iter(svg + "circle"))
for same in pictures[2:5]: # the same code on the same machine
    names = [t.text for t in same.iter(svg + "text")]
    assert names[0] in ("aothip", "A-B 2.0", "it"), names
    assert abs(float(same.find(svg + "rect").get("width")) -
               float(pictures[2].find(svg + "rect").get("width"))) < 0.5
for bar in pictures[6:]:
    parts = [float(r.get("width")) for r in bar.iter(svg + "rect")]
    assert abs(sum(parts) - 460) < 5, parts
assert len(list(root.iter("tr"))) == 10 and "nan" not in text and "inf" not in text
colours = set(re.findall(r"var\((--[a-z0-9]+)\)", text))
assert all(colour + ":" in text for colour in colours)
END
    ok 'is well-formed and needs nothing else'
fi
browser_shows "$work/page.html" 900,1200 20000

# What fails, or is ended, leaves what was there, and nothing beside it.
echo before >kept.html
echo before >kept.json
exits 1 'no shape that runs' "$bench" --emulate $first --images "$work" --report kept.html \
    --timeline kept.json $small
exits 124 'a page that is interrupted' timeout -s INT 1 "$bench" --emulate $first --report kept.html \
    seq=16384,heads=64
exits 124 'a timeline that is interrupted' timeout -s TERM 1 "$bench" --emulate $first \
    --timeline kept.json seq=16384,heads=64
[ `cat kept.html kept.json | uniq -c | tr -d " "` = 2before ] && ! ls kept.*.* >/dev/null 2>&1
ok 'leave the old files'

# What does not go.
says() { # STATUS TEXT ARGUMENTS...
    status=$1 text=$2
    shift 2
    exits $status "$*" "$bench" "$@"
    contains err "$text" 'is refused'
    one_line err 'in one line'
}
exits 1 'an unknown GPU' "$bench" --emulate gfx999 seq=64
contains err 'the emulator did not start as gfx999' 'is named'
exits 1 'a variable of the emulator that is wrong' env AOTHIP_EMU_LIMIT=many "$bench" --emulate gfx942 seq=64
contains err 'AOTHIP_EMU_LIMIT=many is not a number' 'is named, too'
says 1 'nowhere/t.json: cannot be written: No such file' --emulate $first --timeline nowhere/t.json \
    seq=64
says 1 '/dev/full: cannot be written: No space left' --emulate $first --timeline /dev/full heads=4,seq=64
says 2 '--counts and --profile exclude each other' --counts --profile seq=64
says 2 '--counts and --timeline exclude each other' --counts --timeline x seq=64
says 1 'nowhere/p.html: cannot be written: No such file' --emulate $first --report nowhere/p.html \
    seq=64
says 1 '/dev/full: cannot be written: No space left' --emulate $first --report /dev/full heads=4,seq=64
says 2 '--counts and --report exclude each other' --counts --report x seq=64
beside() { # STATUS TEXT ARGUMENT
    says $1 "$2" --emulate $first --report x.html --beside "$3" $small
}
says 2 '--beside needs --report' --emulate $first --beside a=launches.json $small
beside 2 'wanted is NAME=FILE' launches.json
beside 2 'wanted is NAME=FILE' =launches.json
beside 2 'wanted is NAME=FILE' a=
beside 2 'a name is of up to 24 letters' '<b>=launches.json'
beside 2 'a name is of up to 24 letters' 'of more than twenty-four letters=launches.json'
beside 2 'shape sq=4: sq: no such key' a=launches.json@sq=4
beside 2 'results.json has its own shapes' a=results.json@$small
beside 1 'nowhere.json: cannot be read: No such file' a=nowhere.json
beside 1 'counts.json: launch 1: ' a=counts.json
contains err 'has no times: AOTHIP_EMU_TIME was not set' 'what to set is told'
beside 1 'and the report of' a=other.json
echo '[]' >empty.json
beside 1 'empty.json: no launch is in it' a=empty.json
echo '{"results": [{"shape": "seq=64", "error": "x"}]}' >failed.json
beside 1 'no result with a time is in it' a=failed.json
echo '{"results": 3}' >wrong.json
beside 1 'neither counters of the emulator nor results' a=wrong.json
echo '[{"kernel": "k", "target": "gfx942", "cycles": [3, 2, 1]}]' >wrong.json
beside 1 'k: its cycles and times are wrong' a=wrong.json
head -c 500 launches.json >cut.json
beside 1 'cut.json: line ' a=cut.json
[ ! -e x.html ]
ok 'no page is begun'
says 2 'one file cannot be both' --report x --timeline x seq=64
says 2 '--counts and --features exclude each other' --counts --features seq=64
says 2 '--profile is text' --profile --json seq=64
says 2 'with=paged: there is no such backward pass' --backward with=paged
says 2 'with=rotary: no such value' with=rotary
AOTHIP_EMU_MODE=strict says 1 'in strict mode' --emulate $first seq=64
export AOTHIP_HIP_LIBRARY="$fake" FAKE_HIP_TARGET=$first
says 1 '--counts needs the emulator' --counts seq=64
says 1 '--profile needs the emulator' --profile seq=64
says 1 '--timeline needs the emulator' --timeline x seq=64
[ ! -e x ]
ok 'and no file is made'
plan
