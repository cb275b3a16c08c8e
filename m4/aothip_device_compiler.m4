dnl AOTHIP_PROG_DEVICE_COMPILER: a clang with the amdgcn target and its linker.
dnl --with-clang=PATH takes that one (for instance ROCm's amdclang) and no other. LLVM's clang 22 is
dnl the reference: what its kernels need is held to the budgets of images/matrix.def, while with any
dnl other compiler a kernel beyond its budget is a warning.
AC_DEFUN([AOTHIP_PROG_DEVICE_COMPILER], [
AC_ARG_WITH([clang],
    [AS_HELP_STRING([--with-clang=PATH],
        [clang with the amdgcn target for the kernels @<:@clang-22, clang-19, amdclang or clang@:>@])],
    [], [with_clang=])
AS_CASE([$with_clang],
    [yes|no], [AC_MSG_ERROR([--with-clang needs the path of a clang, not '$with_clang'])])
aothip_path="$PATH:${ROCM_PATH:-/opt/rocm}/bin:${ROCM_PATH:-/opt/rocm}/llvm/bin"
AS_IF([test -n "$with_clang"],
    [AS_CASE([$with_clang], [/*], [DEVICE_CLANG=$with_clang],
        [AC_PATH_PROG([DEVICE_CLANG], [$with_clang], [])])],
    [AC_PATH_PROGS([DEVICE_CLANG], [clang-22 clang-19 amdclang clang-21 clang-20 clang], [], [$aothip_path])])
DEVICE_CLANG_VERSION=
DEVICE_WAVE64_FLAGS=
aothip_clang_good=no
AS_IF([test -n "$DEVICE_CLANG"], [
    AC_MSG_CHECKING([whether $DEVICE_CLANG compiles for gfx942 and gfx1100])
    mkdir -p conftest.d
    echo 'extern "C" __attribute__((global)) void k(int *p) { *p = 1; }' > conftest.d/k.hip
    aothip_clang_good=yes
    for aothip_gpu in gfx942 gfx1100; do
        rm -f conftest.d/k.s
        AS_IF(["$DEVICE_CLANG" -x hip --offload-device-only --offload-arch=$aothip_gpu -nogpuinc \
               -nogpulib -S -o conftest.d/k.s conftest.d/k.hip >&AS_MESSAGE_LOG_FD 2>&1 &&
               grep -q "amdgcn.*$aothip_gpu" conftest.d/k.s 2>/dev/null], [], [aothip_clang_good=no])
    done
    AC_MSG_RESULT([$aothip_clang_good])
    dnl For CDNA: LLVM makes a wide vector of each array, and then takes the array apart anyway, for up
    dnl to a fifth of the time. On RDNA that costs nearly nothing, and clang 19 has too few registers
    dnl for a kernel without. LLVM may rename the flag, which is its own; it is not needed.
    AC_MSG_CHECKING([whether $DEVICE_CLANG can leave arrays as they are])
    aothip_try='-mllvm -disable-promote-alloca-to-vector'
    AS_IF(["$DEVICE_CLANG" -x hip --offload-device-only --offload-arch=gfx942 -nogpuinc -nogpulib \
           $aothip_try -S -o conftest.d/k.s conftest.d/k.hip >&AS_MESSAGE_LOG_FD 2>&1],
        [DEVICE_WAVE64_FLAGS=$aothip_try; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    rm -rf conftest.d
    DEVICE_CLANG_VERSION=`"$DEVICE_CLANG" --version 2>/dev/null | sed -n '1s/.*version \(@<:@^ @:>@*\).*/\1/p'`])
dnl A release, unlike AMD's 22.0.0git, which is made from another state of LLVM.
AS_CASE([$DEVICE_CLANG_VERSION],
    [22.@<:@1-9@:>@.@<:@0-9@:>@ | 22.@<:@1-9@:>@.@<:@0-9@:>@@<:@0-9@:>@],
        [WARN_BUDGETS=; aothip_budgets=enforced],
    [WARN_BUDGETS=--warn-budgets; aothip_budgets='warnings, since this is not clang 22'])
AC_SUBST([WARN_BUDGETS])
AC_SUBST([DEVICE_CLANG_VERSION])
AC_SUBST([DEVICE_WAVE64_FLAGS])
AS_IF([test "$aothip_clang_good" = no],
    [aothip_missing="$aothip_missing    clang >= 19 with the amdgcn target${DEVICE_CLANG:+ ($DEVICE_CLANG is not one)}
        Debian: apt-get install clang-22 or clang-19; ROCm: --with-clang=/opt/rocm/llvm/bin/amdclang
"])
AC_MSG_CHECKING([for the linker of $DEVICE_CLANG])
DEVICE_LLD=
for aothip_name in ld.lld lld; do
    AS_IF([test -z "$DEVICE_LLD" && test -n "$DEVICE_CLANG"], [
        aothip_try=`"$DEVICE_CLANG" -print-prog-name=$aothip_name 2>/dev/null`
        AS_IF([test -x "$aothip_try"], [DEVICE_LLD=$aothip_try])])
done
AC_MSG_RESULT([${DEVICE_LLD:-no}])
AS_IF([test -z "$DEVICE_LLD"],
    [aothip_missing="$aothip_missing    lld of the same version as clang
        Debian: apt-get install lld-22 or lld-19
"])
AC_ARG_VAR([DEVICE_FLAGS], [further flags for the compilation of kernels])
AC_ARG_ENABLE([kernel-debug],
    [AS_HELP_STRING([--enable-kernel-debug],
        [keep symbols and line tables in the kernels, so that the emulator names source lines
         @<:@no@:>@])],
    [], [enable_kernel_debug=no])
AS_IF([test "$enable_kernel_debug" = no], [KERNEL_DEBUG=], [KERNEL_DEBUG=--debug])
AC_SUBST([KERNEL_DEBUG])
AC_SUBST([DEVICE_CLANG])
AC_SUBST([DEVICE_LLD])
])

dnl AOTHIP_PROG_NINJA: it compiles the kernels.
AC_DEFUN([AOTHIP_PROG_NINJA], [
AC_PATH_PROGS([NINJA], [ninja ninja-build samu])
AS_IF([test -z "$NINJA"],
    [aothip_missing="$aothip_missing    ninja
        Debian: apt-get install ninja-build
"])
])

dnl AOTHIP_ARG_MAX_JOBS: how many kernels ninja compiles at once.
AC_DEFUN([AOTHIP_ARG_MAX_JOBS], [
AC_ARG_VAR([MAX_JOBS], [how many kernels to compile at once @<:@make's -j, else one a processor@:>@])
dnl Not as a make variable: that would hide the environment's MAX_JOBS when make runs.
AM_SUBST_NOTMAKE([MAX_JOBS])
AS_CASE([$MAX_JOBS], [*@<:@!0-9@:>@*|0*],
    [AC_MSG_ERROR([MAX_JOBS must be a positive number, not '$MAX_JOBS'])])
CONFIGURED_JOBS=$MAX_JOBS
AC_SUBST([CONFIGURED_JOBS])
])
