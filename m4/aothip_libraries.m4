dnl AOTHIP_LINK_ZSTD: what is shipped must not need a libzstd.so.1 that other machines may lack. So
dnl ZSTD_LIBS becomes the archive, where there is one whose code can be in a shared library (Debian's
dnl libzstd-dev and zstd's own Makefile have such). --with-shared-zstd is for distributions; then
dnl install-aotriton, the archives and the wheel bring libzstd.so.1 along.
AC_DEFUN([AOTHIP_LINK_ZSTD], [
AC_ARG_WITH([shared-zstd],
    [AS_HELP_STRING([--with-shared-zstd],
        [need libzstd.so.1 at run time @<:@contain its decoder, if there is a libzstd.a for that@:>@])],
    [], [with_shared_zstd=no])
AC_MSG_CHECKING([how to link zstd])
aothip_zstd_archive=`AS_ECHO(["$ZSTD_LIBS"]) | $SED 's/-lzstd/-l:libzstd.a/'`
aothip_saved_cflags=$CFLAGS aothip_saved_ldflags=$LDFLAGS aothip_saved_libs=$LIBS
CFLAGS="$CFLAGS $ZSTD_CFLAGS -fPIC"
LDFLAGS="$LDFLAGS -shared -Wl,-z,text"
LIBS="$aothip_zstd_archive $LIBS"
AS_IF([test "$with_shared_zstd" = no],
    [AC_LINK_IFELSE([AC_LANG_SOURCE([[#include <zstd.h>
        int inflate(void *to, const void *from, size_t size);
        int inflate(void *to, const void *from, size_t size)
        {
            return ZSTD_isError(ZSTD_decompress(to, size, from, size));
        }]])], [ZSTD_LIBS=$aothip_zstd_archive])])
CFLAGS=$aothip_saved_cflags LDFLAGS=$aothip_saved_ldflags LIBS=$aothip_saved_libs
AC_MSG_RESULT([$ZSTD_LIBS])
])

dnl AOTHIP_CHECK_LIBRARIES: zstd >= 1.5 (pkg-config), xxHash headers, Jansson >= 2.10
dnl (aothip-replay reads JSON), dl and pthread.
AC_DEFUN([AOTHIP_CHECK_LIBRARIES], [
AC_REQUIRE([AC_PROG_SED])
PKG_PROG_PKG_CONFIG
PKG_CHECK_MODULES([ZSTD], [libzstd >= 1.5.0],
    [ZSTD_VERSION=`$PKG_CONFIG --modversion libzstd`
     AOTHIP_LINK_ZSTD],
    [aothip_missing="$aothip_missing    zstd >= 1.5 with headers ($ZSTD_PKG_ERRORS)
        Debian: apt-get install libzstd-dev pkg-config
"])
AC_CHECK_HEADER([xxhash.h], [],
    [aothip_missing="$aothip_missing    xxhash.h, the xxHash header
        Debian: apt-get install libxxhash-dev
"])
PKG_CHECK_MODULES([JANSSON], [jansson >= 2.10], [],
    [aothip_missing="$aothip_missing    Jansson >= 2.10 with headers ($JANSSON_PKG_ERRORS)
        Debian: apt-get install libjansson-dev pkg-config
"])
AC_SEARCH_LIBS([dlopen], [dl])
dnl Where lib/status/old_glibc.h asks for old versions, an old loader looks for them in libdl.
AC_MSG_CHECKING([how to need libdl for an older glibc])
OLD_GLIBC_LIBS='-Wl,--push-state,--no-as-needed,-l:libdl.so.2,--pop-state'
aothip_saved_libs=$LIBS
LIBS="$LIBS $OLD_GLIBC_LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [], [OLD_GLIBC_LIBS=])
LIBS=$aothip_saved_libs
AC_MSG_RESULT([${OLD_GLIBC_LIBS:-not at all}])
AC_SUBST([OLD_GLIBC_LIBS])
AC_SEARCH_LIBS([pthread_create], [pthread])
])
