# The files for TheRock: its rules for artifact descriptors applied to an installed tree, the keys
# that its topology and native packages know, and the CMake project with sources made for the test.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
for python in ${PYTHON-} python3 /usr/bin/python3; do
    "$python" -c 'import tomllib' 2>/dev/null && break
    python=
done
case `ldd "$build/lib/.libs/libaothip.so.0"` in
*asan*) echo "1..0 # SKIP a sanitized build is not packaged" && exit 0 ;;
esac
[ -n "$python" ] || { echo "1..0 # SKIP no Python with tomllib (3.11)" && exit 0; }

stage=$work/ml-libs/aothip/stage
exits 0 "make install" ${MAKE:-make} -s -C "$build" install prefix="$stage" libdir="$stage/lib" \
    DESTDIR=

# A pattern: ** is any number of directories, * any part of a name. A component takes what it
# includes (everything if it includes nothing), does not exclude, and no component before it took.
cat >sort.py <<'END'
import json, os, re, sys, tomllib

here, stage = sys.argv[1:]
DEFAULTS = {"lib": ["**/*.dll", "**/*.dylib", "**/*.dylib.*", "**/*.so", "**/*.so.*"], "run": [],
            "dbg": [".build-id/**/*.debug", "**/*.pdb"],
            "dev": ["**/*.a", "**/*.lib", "**/cmake/**", "**/include/**", "**/share/modulefiles/**",
                    "**/pkgconfig/**"],
            "doc": ["**/share/doc/**"], "test": []}

def matches(glob, path):
    parts = re.split(r"(\*\*/|/\*\*$|\*)", glob)
    words = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "*": "[^/]*"}
    return re.fullmatch("".join(words.get(x, re.escape(x)) for x in parts), path)

with open(f"{here}/artifact-aothip.toml", "rb") as f:
    artifact = tomllib.load(f)
assert set(artifact) == {"components"} and list(artifact["components"]) == list(DEFAULTS)
files = [os.path.relpath(os.path.join(d, n), stage)
         for d, _, names in os.walk(stage) for n in names]
taken = {}
for name, bases in artifact["components"].items():
    assert list(bases) == ["ml-libs/aothip/stage"], bases
    rules = bases["ml-libs/aothip/stage"]
    assert set(rules) <= {"default_patterns", "exclude", "force_include", "include", "optional"}
    include, exclude = rules.get("include", []) + DEFAULTS[name], rules.get("exclude", [])
    assert include, f"{name} would take everything"
    for path in files:
        if path not in taken and any(matches(g, path) for g in include) and \
                not any(matches(g, path) for g in exclude):
            taken[path] = name
assert not set(files) - set(taken), f"in no component: {set(files) - set(taken)}"
for path, name in sorted(taken.items()):
    if "aotriton.images" in path and name != "lib":
        sys.exit(f"{path} is in {name}")
    print(name, path)

with open(f"{here}/BUILD_TOPOLOGY.toml", "rb") as f:
    topology = tomllib.load(f)
topology_names = list(topology["artifacts"])
entry = topology["artifacts"].pop("aothip")
assert topology == {"artifacts": {}}
assert set(entry) <= {"artifact_group", "type", "artifact_deps", "feature_name", "feature_group",
                      "platform", "disable_platforms", "python_requires", "split_databases"}
assert entry["type"] == "target-specific" and entry["split_databases"] == ["aotriton"]

# The guide: it places every file that is here, and its CMake says what the files say.
with open(f"{here}/README.md") as f:
    guide = f.read()
placed = re.findall(r"^\| `([^`]+)` \|", guide, re.M)
assert sorted(placed + ["README.md"]) == sorted(os.listdir(here)), placed
calls = dict(re.findall(r"(\w+)\(aothip\n(.*?)\n\s*\)", guide, re.S))
declared = calls["therock_cmake_subproject_declare"].split()
provided = calls["therock_provide_artifact"].split()
assert set(w for w in declared if w.isupper()) <= {
    "USE_DIST_AMDGPU_TARGETS", "DISABLE_AMDGPU_TARGETS", "EXTERNAL_SOURCE_DIR", "BINARY_DIR",
    "BACKGROUND_BUILD", "COMPILER_TOOLCHAIN", "RUNTIME_DEPS", "BUILD_DEPS", "CMAKE_ARGS"}
assert provided[:2] == ["DESCRIPTOR", "artifact-aothip.toml"]
at = provided.index("SUBPROJECT_DEPS")
assert provided[2] == "COMPONENTS" and sorted(provided[3:at]) == sorted(DEFAULTS), provided
assert "therock_cmake_subproject_activate(aothip)" in guide
assert set(topology_names) == {"aothip"}

# build_tools/artifact_subprojects.json: sorted, from artifacts to their sub-projects.
with open(f"{here}/artifact_subprojects.json") as f:
    text = f.read()
subprojects = json.loads(text)
assert subprojects == {"aothip": provided[at + 1:]}, subprojects
assert text == json.dumps(subprojects, indent=2, sort_keys=True) + "\n"

with open(f"{here}/package.json") as f:
    packages = json.load(f)
packed = [c for p in packages for a in p["Artifactory"] if a["Artifact"] == "aothip"
          for s in a["Artifact_Subdir"] if s["Name"] == "aothip" for c in s["Components"]]
assert sorted(packed) == ["dev", "doc", "lib", "run"], packed
for p in packages:
    assert p["Package"].startswith("amdrocm-aothip") and p["License"] == "MIT"
    assert p["Gfxarch"] == "True" and p["Version"] == ""
END
exits 0 'descriptor, topology and packages obey the rules' "$python" sort.py "$srcdir/lib/therock" \
    "$stage"
for line in 'lib lib/libaothip.so.0' 'lib lib/libaotriton' 'lib lib/aotriton.images/amd-gfx' \
    'run bin/aothip-check' 'dev include/aothip/aothip.h' 'dev lib/cmake/aotriton/' \
    'dev lib/pkgconfig/aothip.pc' 'dev share/man/man3/' 'doc share/doc/aothip/LICENSE' \
    'doc share/man/man1/' 'test lib/libhipemu.so' 'test lib/hipemu/libamdhip64.so.7'
do
    contains out "$line" "$line"
done
! grep -q '\.la$' out
ok 'nothing of libtool is installed'

if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then
    echo "# there is no cmake: its project is not tried"
    plan
fi
mkdir -p project/source/images
cp "$srcdir/images/matrix.def" project/source/images
cp "$srcdir/lib/therock/CMakeLists.txt" project
cat >project/source/configure <<'END'
#!/bin/sh
for option; do echo "$option"; done >options
prefix=`sed -n 's/^--prefix=//p' options`
printf 'all:\ninstall:\n\tmkdir -p $(DESTDIR)%s/lib && cp options $(DESTDIR)%s/lib\n' \
    "$prefix" "$prefix" >Makefile
END
chmod +x project/source/configure
exits 0 'CMake: two of three GPUs' cmake -G Ninja -S project -B made \
    -DCMAKE_INSTALL_PREFIX="$work/to" '-DGPU_TARGETS=gfx942;gfx1250;gfx1151' -DCMAKE_HIP_COMPILER=/rocm/clang
exits 0 'is built' cmake --build made
exits 0 'is installed' cmake --install made
for line in '--with-gpu-archs=gfx942 gfx1151' '--with-clang=/rocm/clang' '--with-aotriton-abi=0.11' \
    "--prefix=$work/to"
do
    contains to/lib/options "$line" "with $line"
done
exits 0 'no GPU that there are kernels for' cmake -G Ninja -S project -B none \
    -DAMDGPU_TARGETS=gfx1250
contains out 'aothip has no kernels for gfx1250: nothing is built' 'says so'
plan
