# What configure says when it is asked for the impossible or misses something.
. "${srcdir:-.}/tests/tap.sh"
srcdir=`cd "$srcdir" && pwd`
cd "$work" || exit 99
unset MAX_JOBS PYTORCH_ROCM_ARCH CONFIG_SITE MAKEFLAGS DEVICE_CLANG NINJA

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

known=`sed -n -e 's/^gpu  *\([^ ]*\).*/\1/p' -e 's/^sibling  *\([^ ]*\).*/\1/p' "$srcdir/images/matrix.def"`
known=`echo $known`
refuses "an unknown GPU" \
    "unknown GPU 'gfx1234' in --with-gpu-archs; known are: $known" \
    --with-gpu-archs='gfx942 gfx1234'
refuses "an environment of unknown GPUs alone" \
    "PYTORCH_ROCM_ARCH names no GPU that there are kernels for; known are: gfx90a gfx942" \
    PYTORCH_ROCM_ARCH='gfx900;gfx1030'
refuses "a family without kernels" "unknown GPU 'gfx103X-all' in --with-gpu-archs; known are: $known" \
    --with-gpu-archs='gfx110X-all gfx103X-all'
refuses "no GPU at all" "names no GPU" --with-gpu-archs=' '
refuses "--without-gpu-archs" "needs a list" --without-gpu-archs
refuses "MAX_JOBS that is no number" "MAX_JOBS must be a positive number, not 'all'" MAX_JOBS=all
refuses "MAX_JOBS=0" "MAX_JOBS must be a positive number, not '0'" MAX_JOBS=0

# What the compiler that configure finds makes no code for is left out.
says "the default is all GPUs" "(default)"
made=`sed -n 's/^  GPUs  *\(.*\) (default)$/\1/p' log`
lacks=`sed -n 's/.*there will be no images for, //p' log`
sorted() { echo "$@" | tr ' ' '\n' | sort; }
[ "`sorted $made $lacks`" = "`sorted $known`" ]
ok "each that the compiler knows, and the others are named"
case `clang-22 --version 2>/dev/null` in
*' 22.'[1-9]*) grep -q 'device compiler .*clang-22' log && grep -q 'kernel budgets    enforced' log ;;
*) grep -q 'kernel budgets    warnings' log ;;
esac
ok "clang 22 comes first, and is held to budgets"
says "some GPUs, named as hipcc would" "GPUs              gfx942 gfx90a (--with-gpu-archs)" \
    --with-gpu-archs='gfx942,gfx90a:xnack+,gfx90a:xnack-'
says "families, by the names of AOTriton and TheRock" \
    "GPUs              gfx1100 gfx1101 gfx1102 gfx1103 gfx942 gfx1150 gfx1151 gfx1152 gfx1153 gfx90a (--" \
    --with-gpu-archs='gfx1100;gfx110X-all;gfx94X-dcgpu gfx115x,gfx90a-dcgpu'
rm config.cache
all='gfx900;gfx906;gfx908;gfx90a;gfx942;gfx1030;gfx1100;gfx1101;gfx1200;gfx1201;gfx950'
case $made in *gfx950*) newest=' gfx950' ;; *) newest= ;; esac
case $made in *gfx1201*) newest=" gfx1200 gfx1201$newest" ;; esac
says "what PyTorch is built for" "GPUs              gfx90a gfx942 gfx1100 gfx1101$newest (PYTORCH_ROCM_ARCH)" \
    PYTORCH_ROCM_ARCH="$all"
without='gfx900 gfx906 gfx908 gfx1030'
[ "`grep -c 'no kernels' log`" -eq 1 ] &&
    grep -q "PYTORCH_ROCM_ARCH: no kernels, and so no images, for $without\$" log
ok "one notice names what is left out"
rm config.cache
says "GPUs and jobs from the environment" "GPUs              gfx1100 (PYTORCH_ROCM_ARCH)" \
    PYTORCH_ROCM_ARCH='gfx1100;gfx1100' MAX_JOBS=3
grep -q 'at most 3 jobs (MAX_JOBS)' log
ok "the summary tells MAX_JOBS"
rm config.cache
# Every name that a PyTorch pins, and the short ones; a bad suffix ends configure there.
stands_for() { # NAME VERSION
    run --with-aotriton-abi=$1 --with-aotriton-suffix=%
    grep -qx "checking which AOTriton release to stand in for... $2" log
    ok "AOTriton $1 is $2"
}
cat >releases <<END
0.7b 0.7.0
0.7.1b 0.7.1
0.8b 0.8.0
0.8.2b 0.8.2
0.9b 0.9.0
0.9.2b 0.9.2
0.10b 0.10.0
0.11b 0.11.0
0.11.1b 0.11.1
0.11.2b 0.11.2
0.12b 0.12.0
0.12.1b 0.12.1
0.13b 0.13.0
0.14b 0.14.0
0.14.2b 0.14.2
0.14.2 0.14.2
0.14 0.14.2
0.11 0.11.2
END
while read -r name version; do
    stands_for $name $version
done <releases
for name in 0.15b 0.11.9b 0.11.2c 0.11b2 b 0.b; do
    refuses "AOTriton $name" "--with-aotriton-abi=$name is not known" --with-aotriton-abi=$name
done
sed -n 's/^| \([0-9.]*\|main\) |\(.*\)|\(.*\)|$/\2\3/p' "$srcdir/README.md" | grep -o '`0[0-9.]*b`' |
    tr -d '`' | sort -u >pins
[ "`wc -l <pins`" -ge 10 ]
ok "README's table of pins is found"
for name in `cut -d ' ' -f 1 releases | grep -vxF -f - pins`; do
    stands_for $name '0\.[0-9]*\.[0-9]*'
done
rm config.cache
run
cp config.cache whole.cache
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
grep -qF "'tools/bootstrap' installs all" log && grep -qF "apt-get install lld-22" log
ok "all that is missing is told at once, with the cure"
# AMD's clang of the same number is made from another state of LLVM.
found=`sed -n 's/^ac_cv_path_DEVICE_CLANG=.*=\([^}]*\)}$/\1/p' whole.cache`
cat >amdclang <<END
#!/bin/sh
[ "\$*" = --version ] || exec "$found" "\$@"
echo 'AMD clang version 22.0.0git (roc-7.2)'
END
chmod +x amdclang
cp clean.cache config.cache
says "AMD's clang 22 is not the reference" "kernel budgets    warnings, since this is not clang 22" \
    --with-clang="$work/amdclang"
# What only saves time is left out where LLVM does not know it.
cat >newclang <<END
#!/bin/sh
case " \$* " in
*promote-alloca*) exit 1 ;;
esac
exec "$found" "\$@"
END
chmod +x newclang
grep -qxF 'DEVICE_WAVE64_FLAGS = -mllvm -disable-promote-alloca-to-vector' Makefile
ok "CDNA's arrays are left as they are"
cp clean.cache config.cache
says "a clang that cannot do so is taken, too" "device compiler   $work/newclang" \
    --with-clang="$work/newclang"
grep -qx 'DEVICE_WAVE64_FLAGS = *' Makefile
ok "and is not asked to"
# A compiler older than two GPUs: one it does not know, for the other it places not all waits.
cat >oldclang <<END
#!/bin/sh
case " \$* " in
*gfx950*) exit 1 ;;
*gfx1201*) set -- -Wno-builtin-macro-redefined -D__clang_major__=19 "\$@" ;;
esac
exec "$found" "\$@"
END
chmod +x oldclang
cp clean.cache config.cache
older="$work/oldclang is too old for, and so there will be no images for, gfx950 gfx1201 gfx1200"
says "GPUs that the compiler is too old for are left out" "$older" --with-clang="$work/oldclang" \
    --with-gpu-archs='gfx942 gfx950-dcgpu gfx115x gfx120X-all'
[ "`grep -c 'no images for' log`" -eq 1 ] &&
    grep -qF 'GPUs              gfx942 gfx1150 gfx1151 gfx1152 gfx1153 (--with-gpu-archs)' log
ok "with one notice, and the others are built for"
refuses "no GPU that the compiler knows" \
    "oldclang is too old for all GPUs of --with-gpu-archs: gfx950" \
    --with-clang="$work/oldclang" --with-gpu-archs=gfx950
misses "--without-clang" "--with-clang needs the path of a clang" --without-clang
misses "HIP headers that do not compile" "apt-get install libamdhip64-dev" \
    CPPFLAGS=-D__HIP_PLATFORM_NVIDIA__ ROCM_PATH=/nonexistent

plan
