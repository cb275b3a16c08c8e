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
AC_SEARCH_LIBS([pthread_create], [pthread])
])
