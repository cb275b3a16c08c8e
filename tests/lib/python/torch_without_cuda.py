"""Stands in for the NVIDIA libraries that a CUDA build of PyTorch is linked with, where only its
CPU half is wanted: libraries of their names in torch/lib, whose functions all fail.

usage: torch_without_cuda.py TORCH_LIB_DIRECTORY
"""

import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z|quadmath|util))\.so")


# What torch calls on the CPU, too.
KNOWN = """
const char *cudaGetErrorString(int error) { (void)error; return "there is no CUDA device"; }
const char *cudaGetErrorName(int error) { (void)error; return "there is no CUDA device"; }
int cudaStreamIsCapturing(void *stream, int *status) { (void)stream; *status = 0; return 0; }
"""


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True,
                          text=True).stdout


def needed_versions(path):
    """version -> library, as the version needs of `path` say."""
    found, library = {}, None
    for line in readelf("-V", path).split("Version needs section")[-1].splitlines():
        library = (re.search(r"File: (\S+)", line) or [None, library])[1]
        name = re.search(r"Name: (\S+)", line)
        if name:
            found[name[1]] = library
    return found


def main(directory):
    libraries = glob.glob(os.path.join(directory, "*.so*"))
    own = {os.path.basename(path) for path in libraries}
    missing, versioned, loose = set(), collections.defaultdict(set), set()
    for path in libraries:
        missing |= {name for name in re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", path))
                    if name not in own and not SYSTEM.match(name)}
        versions = needed_versions(path)
        for line in readelf("--dyn-syms", path).splitlines():
            field = line.split()
            if len(field) < 8 or field[6] != "UND":
                continue
            name, _, version = field[7].partition("@")
            if version:
                versioned[versions.get(version.lstrip("@")), version.lstrip("@")].add(name)
            elif not name.startswith("_Z"):
                loose.add(name)
    for library in sorted(missing):
        build(directory, library,
              {version: names for (of, version), names in versioned.items() if of == library},
              loose if library == min(missing) else ())
    print("in the place of:", *sorted(missing))


def build(directory, library, versions, loose):
    names = sorted(set(loose).union(*versions.values()))
    wanted = re.compile(r"(__cuda|cu|nccl|nv|cufft|NvLS)")
    with tempfile.TemporaryDirectory() as work:
        source, script = os.path.join(work, "library.c"), os.path.join(work, "map")
        with open(source, "w") as f:
            f.write("static int nothing(void) { return 100; } /* cudaErrorNoDevice */\n")
            f.write(KNOWN)
            for name in names:
                if wanted.match(name) and name + "(" not in KNOWN:
                    f.write(f'int {name}(void) __attribute__((alias("nothing")));\n')
        with open(script, "w") as f:
            for version in sorted(versions):
                listed = " ".join(name + ";" for name in sorted(versions[version]))
                f.write(f"{version} {{ {listed} }};\n")
        subprocess.run([os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", source, "-o",
                        os.path.join(directory, library), f"-Wl,-soname,{library}"] +
                       ([f"-Wl,--version-script={script}"] if versions else []), check=True)


main(sys.argv[1])
