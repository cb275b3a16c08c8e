# make packages: what is in the archives, and that the wheel works where it is unpacked. "16.1 #12"
# is a line of the checklist for drop-in libraries.
. "${srcdir:=.}/tests/tools/tool_test_lib.sh"
set -- ${GPU_ARCHS:-gfx90a gfx942 gfx1100 gfx1151}
for python in ${PYTHON-} python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
case `ldd "$build/lib/.libs/libaothip.so.0"` in
*asan*) echo "1..0 # SKIP a sanitized build is not packaged" && exit 0 ;;
esac
[ -n "$python" ] || { echo "1..0 # SKIP no Python with NumPy" && exit 0; }

exits 0 "make packages" ${MAKE:-make} -C "$build" packages ROCM=6.2 PACKAGES="$work/p" PYTHON3="$python"
host=`ls p/aotriton-*-shared.tar.gz`
case $host in *-manylinux_2_*-rocm6.2-shared.tar.gz) ;; *) false ;; esac
ok "16.1 #12: the archive's name says platform and ROCm release"
tar -xzf "$host"
[ "`ls`" = "`printf 'aotriton\nerr\nout\np\n'`" ]
ok "16.1 #12: its root is aotriton/"
[ -z "`find aotriton/lib -mindepth 1 -maxdepth 1 ! -name "libaotriton*_v2.so*" ! -name cmake \
    ! -name "libaothip.so*" ! -name libzstd.so.1`" ]
ok "lib holds the library and its CMake package"
[ -f aotriton/include/aotriton/config.h ]
ok "include holds the headers"
cmp -s "$srcdir/LICENSE" aotriton/share/doc/aothip/LICENSE &&
    cmp -s "$srcdir/lib/store/LICENSE.zstd" aotriton/share/doc/aothip/LICENSE.zstd
ok "share holds the licences"
# DIRECTORY: libraries there that need one which neither every Linux has nor lies beside them
needy() {
    for file in "$1"/lib*.so*; do
        LC_ALL=C readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
            grep -vE '^(lib(c|m|dl|pthread|stdc\+\+|gcc_s)|ld-linux.*)\.so' |
            while read -r name; do [ -e "$1/$name" ] || echo "$file needs $name"; done
    done
}
[ -z "`needy aotriton/lib`" ]
ok 'what its library needs is there or on every Linux'
archives=
for gpu; do
    case $gpu in gfx110? | gfx115? | gfx120?) archive=${gpu%?}x ;; *) archive=$gpu ;; esac
    case " $archives " in *" $archive "*) ;; *) archives="$archives $archive" ;; esac
    tar -xzf p/aotriton-*-images-amd-$archive.tar.gz
    diff -r "$images/amd-$gpu" aotriton/lib/aotriton.images/amd-$gpu >/dev/null
    ok "16.1 #12: the images of $gpu"
done
[ "`ls p/aotriton-*-images-*.tar.gz | wc -l`" -eq `echo $archives | wc -w` ]
ok "an archive a family:$archives"
[ "`ls aotriton/lib/aotriton.images | wc -l`" -eq $# ]
ok "and nothing else in them"
wheel=`ls p/*.whl`
case $wheel in p/aothip-*+rocm6.2-py3-none-manylinux_2_*.whl) ;; *) false ;; esac
ok "the wheel's version says the ROCm release"
cat >use.py <<'END'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(n for n in wheel.namelist() if n.endswith("/RECORD"))
listed = 0
for line in wheel.read(record).decode().splitlines():
    name, digest, size = line.rsplit(",", 2)
    if digest:
        want = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=")
        assert digest == "sha256=" + want.decode() and int(size) == wheel.getinfo(name).file_size
    listed += 1
assert listed == len(wheel.namelist())
wheel.extractall("site")
sys.path.insert(0, "site")
import aothip, numpy
x = numpy.ones((1, 3, 1, 64), numpy.float16)
assert (aothip.flash_attn_func(x, x, x) == 1).all()
print("attention from the wheel", aothip._lib.lib._name)
END
exits 0 "the wheel: RECORD is true, and it computes" env AOTHIP_EMU_GPU="$1" \
    AOTHIP_HIP_LIBRARY="$build/tools/emu/.libs/libhipemu.so" "$python" use.py "$wheel"
contains out "site/aothip/lib/libaothip.so.0" "with its own library"
for licence in LICENSE LICENSE.zstd; do
    [ -s site/aothip-*.dist-info/$licence ]
    ok "and $licence"
done
if "$python" -m pip --version >/dev/null 2>&1; then
    exits 0 'pip installs it' "$python" -m pip --disable-pip-version-check install -q --no-index \
        --no-deps --target pip "$wheel"
    diff -r -x __pycache__ -x '*.dist-info' site pip >diff
    ok 'as it is'
fi

# What is installed names no directory, so that it can be moved; uninstall leaves nothing of ours.
tar -xzf p/aothip-[0-9]*-manylinux*.tar.gz
[ -x aothip/bin/aothip-check ] && [ ! -e aothip/lib/aotriton.images ]
ok 'the archive of the host has programs and no images'
! grep -rlE "=/aothip|'/aothip" aothip --include='*.cmake' --include='*.pc' \
    --include='*.la' --include='*.h' >found
ok 'it names no directory of the prefix'
[ "$good" = ok ] || sed 's/^/#   /' found
grep -rlF -e "$build" -e "$srcdir" aothip aotriton site >found
[ ! -s found ]
ok 'no file in archives or wheel, programs and libraries included, tells where it was built'
[ "$good" = ok ] || sed 's/^/#   /' found
[ -z "`needy aothip/lib``needy site/aothip/lib`" ]
ok 'nor do their libraries need what is not there'
stage=$work/stage/usr
exits 0 'make install' ${MAKE:-make} -s -C "$build" install prefix="$stage" libdir="$stage/lib" \
    DESTDIR=
exits 0 'make install-aotriton' ${MAKE:-make} -s -C "$build" install-aotriton \
    prefix="$work/alone" libdir="$work/alone/lib" DESTDIR=
grep -rlF -e "$build" -e "$srcdir" alone >found
[ ! -s found ] && [ -z "`needy alone/lib`" ]
ok 'its library needs no other, and tells neither'
[ -s "`find alone -name LICENSE.zstd`" ]
ok "zstd's licence is there"
rm -r alone
[ -z "`find stage -name '*.la'`" ]
ok 'nothing of libtool is installed'
exits 0 'make uninstall' ${MAKE:-make} -s -C "$build" uninstall prefix="$stage" \
    libdir="$stage/lib" DESTDIR=
find stage ! -type d >found
find stage -mindepth 2 -name '*ao*' >>found
[ ! -s found ]
ok 'leaves no file and no directory of ours'
[ "$good" = ok ] || sed 's/^/#   /' found
plan
