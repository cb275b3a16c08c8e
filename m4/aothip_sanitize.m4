dnl AOTHIP_ARG_SANITIZE: --enable-sanitize=address,undefined builds all host code with sanitizers.
AC_DEFUN([AOTHIP_ARG_SANITIZE], [
AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST],
        [build host code with these sanitizers, e.g. address,undefined or thread @<:@no@:>@])],
    [], [enable_sanitize=no])
AS_CASE([$enable_sanitize],
    [no], [aothip_sanitize=],
    [yes], [aothip_sanitize=address,undefined],
    [aothip_sanitize=$enable_sanitize])
SANITIZE_FLAGS= SANITIZE_LDFLAGS=
dnl Libraries name all they need, but for clang's sanitizers, whose runtime only programs carry.
NO_UNDEFINED="-Wl,-z,defs"
AS_IF([test -n "$aothip_sanitize"], [
    NO_UNDEFINED=
    SANITIZE_FLAGS="-fsanitize=$aothip_sanitize -fno-omit-frame-pointer -fno-sanitize-recover=all"
    aothip_saved=$CFLAGS
    CFLAGS="$CFLAGS $SANITIZE_FLAGS"
    AC_MSG_CHECKING([whether $CC can build with -fsanitize=$aothip_sanitize])
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([--enable-sanitize=$aothip_sanitize: '$CC' cannot link with it])])
    dnl HIP's functions are called by types of ours, which have no HIP header: clang minds.
    CFLAGS="$CFLAGS -fno-sanitize=function"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()], [
        SANITIZE_FLAGS="$SANITIZE_FLAGS -fno-sanitize=function"])
    dnl As gcc does it: Python, which has no sanitizer, can be given clang's as a library.
    AS_CASE([$aothip_sanitize], [*address*], [
        aothip_runtime=`$CC -print-file-name=libclang_rt.asan-$host_cpu.so`
        AS_IF([test -f "$aothip_runtime"], [
            SANITIZE_LDFLAGS="-shared-libasan -Wl,-rpath,${aothip_runtime%/*},$aothip_runtime"])])
    CFLAGS=$aothip_saved])
AC_SUBST([SANITIZE_FLAGS])
AC_SUBST([SANITIZE_LDFLAGS])
AC_SUBST([NO_UNDEFINED])
AM_CONDITIONAL([SANITIZE], [test -n "$aothip_sanitize"])
])
