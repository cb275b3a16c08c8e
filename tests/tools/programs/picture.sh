# The README's picture is what its numbers say, and says what they are.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"

picture=$build/tools/bench-picture
numbers=$srcdir/tools/bench/page/mi300x.json
drawn=$srcdir/tools/bench/page/mi300x.svg

exits 0 'the numbers are drawn' "$picture" "$numbers"
cmp -s out "$drawn"
ok 'the picture in the tree is of these numbers; else: make update-picture'
contains "$drawn" 'never measured on a card' 'it says that nothing was measured'
contains "$srcdir/README.md" '(tools/bench/page/mi300x.svg)' 'it stands in the README'
sed '0,/"predicted_ms": /s//"predicted_ms": 1/' "$numbers" >changed.json
exits 0 'another number' "$picture" changed.json
! cmp -s out "$drawn"
ok 'makes another picture'
if command -v python3 >/dev/null; then
    python3 - "$numbers" "$drawn" <<'END'
import json, sys, xml.etree.ElementTree as tree
report = json.load(open(sys.argv[1]))
picture = tree.parse(sys.argv[2]).getroot()
svg = "{http://www.w3.org/2000/svg}"
assert report["emulated"] and report["target"].startswith("gfx942")
drawn = sorted(float(t.text.split(": ")[1]) for t in picture.iter(svg + "title"))
told = sorted(r["predicted_tflops"] for r in report["results"])
assert len(drawn) == len(told) == 24
assert all(abs(a - b) < 0.051 for a, b in zip(drawn, told)), (drawn, told)
width, height = map(float, picture.get("viewBox").split()[2:])
chart = picture.find(f"{svg}g/{svg}svg")
assert float(chart.get("height")) + 66 <= height and float(chart.get("width")) + 20 <= width
END
    ok 'each number has its point'
fi
browser_shows "$drawn" 820,560 10000
exits 2 'no file' "$picture"
exits 1 'a file that is not there' "$picture" nowhere.json
contains err 'nowhere.json: cannot be read: No such file' 'is named'
plan
