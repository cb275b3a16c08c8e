"""Writes the Python wheel of aothip: module, library and images in one zip file (PEP 427).

usage: wheel.py --version=VERSION --tag=TAG --library=DIR --output=DIR

--library is the lib directory of an installed tree, with libzstd.so.1 if libaothip.so needs it (then
wheels must bring it along), and of aothip_quick.abi3.so and aothip_xla.so those that were built;
VERSION such as 0.1.0+rocm6.2, TAG such as manylinux_2_34_x86_64. For TAG win_amd64 the library is
aothip.dll, which needs none beside it. The same input gives the same bytes.
"""

import argparse
import base64
import hashlib
import os
import sys
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)

METADATA = """\
Metadata-Version: 2.1
Name: aothip
Version: {version}
Summary: Scaled-dot-product attention on AMD GPUs from precompiled kernels
License: {licence}
Requires-Python: >=3.8
Requires-Dist: numpy
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: aothip
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""


ENTRY_POINTS = """\
[torch.backends]
aothip = aothip_autoload:autoload
"""


def library_names(tag):
    """The file that must be there, and those that may."""
    if tag.startswith("win"):
        return "aothip.dll", ()
    return "libaothip.so.0", ("libzstd.so.1", "aothip_quick.abi3.so", "aothip_xla.so")


def package_files(source, library, tag):
    """(name in the wheel, file) of module, libraries and images, sorted."""
    needed, others = library_names(tag)
    module = os.path.join(source, "aothip")
    found = [(f"aothip/{name}", os.path.join(module, name)) for name in os.listdir(module)
             if name.endswith(".py")]
    for name in ("aothip_autoload.py", "flash_attn_2_cuda.py"):
        found.append((name, os.path.join(source, name)))
    for name in (needed, *others):
        path = os.path.join(library, name)
        if name == needed or os.path.exists(path):
            found.append((f"aothip/lib/{name}", path))
    images = os.path.join(library, "aotriton.images")
    for directory, _, names in os.walk(images):
        for name in names:
            path = os.path.join(directory, name)
            found.append(("aothip/lib/aotriton.images/" + os.path.relpath(path, images), path))
    return sorted(found)


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def write(output, version, tag, files, licence, zstd_licence):
    info = f"aothip-{version}.dist-info"
    record, name = "", f"aothip-{version}-py3-none-{tag}.whl"
    path = os.path.join(output, name)
    texts = [(f"{info}/METADATA", METADATA.format(version=version, licence="MIT").encode()),
             (f"{info}/WHEEL", WHEEL.format(tag=tag).encode()),
             (f"{info}/entry_points.txt", ENTRY_POINTS.encode()), (f"{info}/LICENSE", licence),
             (f"{info}/LICENSE.zstd", zstd_licence)]
    with zipfile.ZipFile(path + ".tmp", "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(entry, content):
            described = zipfile.ZipInfo(entry, EPOCH)
            described.external_attr = 0o644 << 16
            described.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(described, content)

        for entry, file in files:
            with open(file, "rb") as f:
                content = f.read()
            add(entry, content)
            record += record_line(entry, content)
        for entry, content in texts:
            add(entry, content)
            record += record_line(entry, content)
        add(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    os.rename(path + ".tmp", path)
    return path


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    for option in ("version", "tag", "library", "output"):
        parser.add_argument(f"--{option}", required=True)
    o = parser.parse_args()
    source = os.path.dirname(os.path.abspath(__file__))
    try:
        licences = []
        for name in ("LICENSE", "lib/store/LICENSE.zstd"):
            with open(os.path.join(source, "..", "..", name), "rb") as f:
                licences.append(f.read())
        files = package_files(source, o.library, o.tag)
        print(write(o.output, o.version, o.tag, files, *licences))
    except OSError as why:
        sys.exit(f"wheel.py: {why}")


if __name__ == "__main__":
    main()
