# What configure says when it is asked for the impossible or misses something.
: "${srcdir:=.}"
srcdir=`cd "$srcdir" && pwd`
work=`mktemp -d "${TMPDIR:-/tmp}/aothip-configure.XXXXXX"` || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' INT TERM HUP
cd "$work" || exit 99
unset MAX_JOBS PYTORCH_ROCM_ARCH CONFIG_SITE MAKEFLAGS DEVICE_CLANG NINJA
count=0
failed=0

ok() { # NAME: passes if the last command did
    if [ $? -eq 0 ]; then good=ok; else good='not ok'; failed=1; fi
    count=$((count + 1))
    echo "$good $count - $1"
}

# [VARIABLE=VALUE|OPTION...]: runs configure with what was found out before; all output to log.
run() {
    "$srcdir/configure" --disable-maintainer-mode -C "$@" >log 2>&1 </dev/null
}

# NAME MESSAGE [ARGUMENT...]: configure must fail with this message
refuses() {
    name=$1 message=$2
    shift 2
    run "$@"
    [ $? -ne 0 ] && grep -qF -- "$message" log
    ok "$name"
    [ "$good" = ok ] || { echo "# lacks: $message"; tail -n 20 log | sed 's/^/#   /'; }
}

# NAME MESSAGE [ARGUMENT...]: configure must succeed and say this
says() {
    name=$1 message=$2
    shift 2
    run "$@" && grep -qF -- "$message" log
    ok "$name"
    [ "$good" = ok ] || { echo "# lacks: $message"; tail -n 20 log | sed 's/^/#   /'; }
}

refuses "an unknown GPU" \
    "unknown GPU 'gfx1234' in --with-gpu-archs; known are: gfx90a gfx942 gfx1100 gfx1151" \
    --with-gpu-archs='gfx942 gfx1234'
refuses "an unknown GPU in the environment" "unknown GPU 'gfx900' in PYTORCH_ROCM_ARCH" \
    PYTORCH_ROCM_ARCH='gfx900;gfx942'
refuses "no GPU at all" "names no GPU" --with-gpu-archs=' '
refuses "--without-gpu-archs" "needs a list" --without-gpu-archs
refuses "MAX_JOBS that is no number" "MAX_JOBS must be a positive number, not 'all'" MAX_JOBS=all
refuses "MAX_JOBS=0" "MAX_JOBS must be a positive number, not '0'" MAX_JOBS=0

says "the default is all GPUs" "GPUs              gfx90a gfx942 gfx1100 gfx1151 (default)"
says "some GPUs, named as hipcc would" "GPUs              gfx942 gfx90a (--with-gpu-archs)" \
    --with-gpu-archs='gfx942,gfx90a:xnack+,gfx90a:xnack-'
rm config.cache
says "GPUs and jobs from the environment" "GPUs              gfx1100 (PYTORCH_ROCM_ARCH)" \
    PYTORCH_ROCM_ARCH='gfx1100;gfx1100' MAX_JOBS=3
grep -q 'at most 3 jobs (MAX_JOBS)' log
ok "the summary tells MAX_JOBS"
rm config.cache
run
sed '/ac_cv_env_/d; /ac_cv_path_NINJA/d; /ac_cv_path_DEVICE_CLANG/d; /ac_cv_header_xxhash_h/d' \
    config.cache >clean.cache

# Each miss starts from the same findings.
misses() { # NAME MESSAGE [ARGUMENT...]
    cp clean.cache config.cache
    refuses "$@"
}

misses "no ninja" "apt-get install ninja-build" NINJA= ac_cv_path_NINJA=
misses "no xxHash" "apt-get install libxxhash-dev" ac_cv_header_xxhash_h=no
misses "a clang that is not there" "clang >= 19 with the amdgcn target (/nonexistent/clang" \
    --with-clang=/nonexistent/clang
misses "a clang that is none" "(/bin/true is not one)" --with-clang=/bin/true
grep -qF "'tools/bootstrap' installs all" log && grep -qF "apt-get install lld-19" log
ok "all that is missing is told at once, with the cure"
misses "--without-clang" "--with-clang needs the path of a clang" --without-clang
misses "HIP headers that do not compile" "apt-get install libamdhip64-dev" \
    CPPFLAGS=-D__HIP_PLATFORM_NVIDIA__ ROCM_PATH=/nonexistent

echo "1..$count"
exit $failed
