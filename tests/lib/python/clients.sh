#!/bin/sh
# make check-clients: the packages that people use attention from, installed into an environment of
# its own, clients/ in the build, and the tests of our doors to them; then a table. The environment
# is kept while this asks for the same packages, and make check uses it. It takes 2.2 GB and, to
# install, some minutes: torch is the wheel that pip finds, without NVIDIA's libraries. What pip
# says is in clients/pip.log: it misses those libraries.
set -e
: "${srcdir:=.}" "${GPU_ARCHS:=gfx90a gfx942 gfx1100 gfx1151}"
python=`pwd`/clients/bin/python3
pip() {
    "$python" -m pip install --quiet --disable-pip-version-check "$@" >>clients/pip.log 2>&1 || {
        tail -n 30 clients/pip.log
        echo "check-clients: pip could not install $*; is there a network?"
        exit 1
    }
}
packages='numpy torch transformers diffusers einops psutil wheel jax flash-attn ring-flash-attn'
if [ "`cat clients/complete 2>/dev/null`" != "$packages" ]; then
    rm -rf clients
    echo 'check-clients: installing into clients/, 2.2 GB'
    begun=`date +%s`
    python3 -m venv clients
    pip numpy
    pip --no-deps torch
    # What torch needs beside NVIDIA's libraries and the compiler for its GPUs.
    pip `"$python" -c '
import importlib.metadata, re
for line in importlib.metadata.requires("torch"):
    if "extra ==" not in line and not re.match("nvidia|cuda|triton", line):
        print(re.match("[A-Za-z0-9_.-]+", line)[0])'`
    "$python" -c 'import torch' 2>/dev/null ||
        "$python" "$srcdir/tests/lib/python/torch_without_cuda.py" \
            clients/lib/python3*/site-packages/torch/lib
    pip transformers diffusers einops psutil wheel jax
    FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE pip --no-deps --no-build-isolation flash-attn
    pip --no-deps ring-flash-attn
    echo "check-clients: installed in $(((`date +%s` - begun + 59) / 60)) minutes"
    echo "$packages" >clients/complete
fi
begun=`date +%s`
status=0
PYTHON=$python sh "$srcdir/tests/lib/python/python.sh" >clients/log 2>&1 || status=$?
# Rust, and the header for C++, which need no package.
for test in tests/lib/rust.sh tests/tools/package/examples.sh; do
    sh "$srcdir/$test" >clients/other 2>&1 || status=1
    count=`grep '^ok' clients/other | grep -vc '# SKIP' || :`
    bad=`grep -c '^not ok' clients/other || :`
    [ "$bad" -eq 0 ] || sed 's/^/#   /' clients/other >>clients/log
    echo "ok 0 - ${test##*/}, ${GPU_ARCHS%% *}: $((count + bad)) checks, $bad failed" >>clients/log
done
grep -v '^ok' clients/log | grep -v '^1\.\.' || :
"$python" -c '
import importlib.metadata, re, sys
for name in ("numpy", "torch", "transformers", "diffusers", "flash-attn", "ring-flash-attn", "jax"):
    print(f"{name:16} {importlib.metadata.version(name)}")
for line in open("clients/log"):
    row = re.match(r"(not ok|ok) \d+ - (\S+), (\S+): (\w+) checks, (\d+) failed", line)
    if row:
        print(f"{row[2]:26} {row[3]:8} {row[4]:>4} checks {row[5]:>3} failed")
'
echo "clients/: `du -sh clients | cut -f1`; the tests took $(((`date +%s` - begun + 59) / 60)) minutes"
exit $status
