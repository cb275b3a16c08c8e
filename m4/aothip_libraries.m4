dnl AOTHIP_CHECK_LIBRARIES: zstd >= 1.5 (pkg-config), xxHash headers, Jansson >= 2.10
dnl (aothip-replay reads JSON), dl and pthread.
AC_DEFUN([AOTHIP_CHECK_LIBRARIES], [
PKG_PROG_PKG_CONFIG
PKG_CHECK_MODULES([ZSTD], [libzstd >= 1.5.0],
    [ZSTD_VERSION=`$PKG_CONFIG --modversion libzstd`],
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
dnl Where lib/old_glibc.h asks for old versions, an old loader looks for them in libdl.
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
