# aothip-bench under the emulator's clock: predictions, all features, profile and timeline.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

gpus=`cd "$images" && ls -d amd-* | sed 's/^amd-//'`
set -- $gpus
first=$1
bench=$build/tools/aothip-bench
export AOTHIP_IMAGES="$images"

for gpu in $gpus; do
    exits 0 "$gpu: a prediction" "$bench" --emulate $gpu --both --json \
        heads=4,seq=512,dim=64 heads=4,seq=1024,dim=64,mask=tl
    cp out $gpu.json
done
if command -v python3 >/dev/null; then
    python3 - $gpus <<'END'
import json, sys
for gpu in sys.argv[1:]:
    with open(gpu + ".json") as f:
        report = json.load(f)
    assert report["emulated"] and report["target"].split(":")[0] == gpu
    assert len(report["results"]) == 4
    for r in report["results"]:
        assert 0 < r["low_ms"] <= r["predicted_ms"] <= r["high_ms"], r
        assert 0 < r["uncertainty"] < 1 and r["cycles"] > 1000 and 0.3 < r["gigahertz"] < 4, r
        assert abs(sum(r["causes"].values()) - 1) < 0.02, r
        most = max((share, cause) for cause, share in r["causes"].items() if cause != "tail")
        assert r["bound"] == most[1], r
        assert 0 < r["predicted_tflops"] < r["peak_tflops"], r
        assert all(0 <= share <= 1.01 for share in r["busy"].values()), r
    forward, backward = report["results"][:2]
    assert backward["launches"] > 1 and backward["cycles"] > forward["cycles"]
END
    ok 'predictions hold together'
fi

# Shapes of any size are predicted from samples: this one would run for a day.
exits 0 'a large shape' "$bench" --emulate $first batch=8,heads=16,seq=2048,dim=64
[ `grep -c '^fwd .*  [a-zA-Z ]* [0-9]*%' out` -eq 1 ]
ok 'has a row'
! awk 'length > 100' out | grep -q .
ok 'in 100 columns'
! grep -q cut out
ok 'uncut'
exits 0 'CSV' "$bench" --emulate $first --csv seq=256,dim=64
awk -F , 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR != 2 }' out
ok 'has as many fields as names'
# The address sanitizer has to let an allocation fail.
exits 1 'a shape that fails, as CSV' env \
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1" "$bench" --emulate $first --csv seq_q=1000000000,seq_k=1,dim=512
awk -F , 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR != 2 }' out
ok 'has as many, too'

# Each feature is right about its tensors: strict mode reads nothing that is not there.
for with in window keep bias alibi softcap sinks dropout lengths paged; do
    AOTHIP_EMU_MODE=strict exits 0 "with=$with, strictly" "$bench" --counts --emulate $first --csv \
        batch=2,heads=4,heads_k=2,seq=192,dim=64,with=$with
    contains out ",,$with" 'is told'
done
exits 0 'the features' "$bench" --emulate $first --features --json heads=4,seq=256,dim=64
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
exits 0 'the same of the backward pass, as text' "$bench" --emulate $first --features --backward \
    heads=4,seq=128,dim=64
! grep -q 'paged' out
ok 'without what it has not'
grep -Eq '^bias .* [0-9.]+x  ' out
ok 'has its ratio'

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

# The page: well-formed, complete in itself, and a browser shows it.
exits 0 'a page' "$bench" --emulate $first --report page.html --both heads=4,seq=256,dim=64 \
    heads=4,seq=512,dim=64 heads=4,seq=256,dim=64,mask=tl,with=bias
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
assert len(pictures) == 2 + 6, len(pictures)
circles = list(pictures[0].iter(svg + "circle"))
assert len(circles) == 6 and len({c[0].text for c in circles}) == 6
width, height = map(float, pictures[0].get("viewBox").split()[2:])
assert all(0 < float(c.get("cx")) < width and 0 < float(c.get("cy")) < height for c in circles)
for bar in pictures[2:]:
    parts = [float(r.get("width")) for r in bar.iter(svg + "rect")]
    assert abs(sum(parts) - 460) < 5, parts
assert len(list(root.iter("tr"))) == 7 and "nan" not in text and "inf" not in text
colours = set(re.findall(r"var\((--[a-z0-9]+)\)", text))
assert all(colour + ":" in text for colour in colours)
END
    ok 'is well-formed and needs nothing else'
fi
browser=`command -v chromium || command -v chromium-browser || command -v google-chrome || :`
if [ -n "$browser" ]; then
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
        --window-size=900,1200 --screenshot="$work/page.png" "file://$work/page.html" >log 2>&1
    [ "`wc -c <page.png`" -gt 20000 ]
    ok 'a browser shows it'
else
    true
    ok 'a browser shows it # SKIP there is no chromium'
fi

# What does not go.
says() { # STATUS TEXT ARGUMENTS...
    status=$1 text=$2
    shift 2
    exits $status "$*" "$bench" "$@"
    contains err "$text" 'is refused'
    one_line err 'in one line'
}
exits 1 'an unknown GPU' "$bench" --emulate gfx999 seq=64
contains err 'the emulator knows no GPU named gfx999' 'is named'
says 1 'nowhere/t.json: cannot be written: No such file' --emulate $first --timeline nowhere/t.json \
    seq=64
says 1 '/dev/full: cannot be written' --emulate $first --timeline /dev/full heads=4,seq=64
says 2 '--counts and --profile exclude each other' --counts --profile seq=64
says 2 '--counts and --timeline exclude each other' --counts --timeline x seq=64
says 1 'nowhere/p.html: cannot be written: No such file' --emulate $first --report nowhere/p.html \
    seq=64
says 1 '/dev/full: cannot be written' --emulate $first --report /dev/full heads=4,seq=64
says 2 '--counts and --report exclude each other' --counts --report x seq=64
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
