dnl AOTHIP_ARG_AOTRITON_ABI: --with-aotriton-abi=VERSION chooses the AOTriton release whose names,
dnl structs and version libaotriton_v2.so has; "all" builds the others beside it.
dnl --with-aotriton-suffix=SUFFIX makes it libaotritonSUFFIX_v2.so, namespace aotritonSUFFIX.
AC_DEFUN([AOTHIP_ARG_AOTRITON_ABI], [
AC_REQUIRE([AC_PROG_SED])
AC_ARG_WITH([aotriton-abi],
    [AS_HELP_STRING([--with-aotriton-abi=VERSION],
        [AOTriton release to stand in for: its name, such as 0.11.2b or 0.13b, or 0.8 to 0.14 for
         the newest of these; all: 0.11.2 and the others under lib/aotriton-abi @<:@0.11.2@:>@])],
    [], [with_aotriton_abi=0.11.2])
AC_ARG_WITH([aotriton-suffix],
    [AS_HELP_STRING([--with-aotriton-suffix=SUFFIX],
        [name the library libaotritonSUFFIX_v2.so and its namespace aotritonSUFFIX, to load it
         beside another @<:@none@:>@])],
    [], [with_aotriton_suffix=])
dnl one of each that a PyTorch release asks for by its file name
aothip_abi_known="0.7.0 0.7.1 0.8.0 0.8.1 0.8.2 0.9.0 0.9.1 0.9.2 0.10.0"
aothip_abi_known="$aothip_abi_known 0.11.0 0.11.1 0.11.2 0.12.0 0.12.1 0.13.0 0.14.0 0.14.2"
AOTRITON_OTHERS=
dnl as releases are called, exactly those: 0.13b is 0.13.0, 0.11b is 0.11.0 and not 0.11.2
aothip_abi_named=`AS_ECHO(["$with_aotriton_abi"]) | $SED -n \
    -e 's/^\(0\.@<:@0-9@:>@*\.@<:@0-9@:>@*\)b$/\1/p' -e 's/^\(0\.@<:@0-9@:>@*\)b$/\1.0/p'`
AS_CASE([$with_aotriton_abi],
    [yes|0.11], [AOTRITON_VERSION=0.11.2],
    [0.8], [AOTRITON_VERSION=0.8.2],
    [0.9], [AOTRITON_VERSION=0.9.2],
    [0.10], [AOTRITON_VERSION=0.10.0],
    [0.12], [AOTRITON_VERSION=0.12.1],
    [0.13], [AOTRITON_VERSION=0.13.0],
    [0.14], [AOTRITON_VERSION=0.14.2],
    [all], [AOTRITON_VERSION=0.11.2
            AOTRITON_OTHERS="0.8.2 0.9.2 0.10.0 0.11.0 0.11.1 0.11.2 0.12.0 0.12.1 0.13.0 0.14.0 0.14.2"],
    [AOTRITON_VERSION=${aothip_abi_named:-$with_aotriton_abi}
     AS_CASE([" $aothip_abi_known "], [*" $AOTRITON_VERSION "*], [],
        [AC_MSG_ERROR([--with-aotriton-abi=$with_aotriton_abi is not known: 0.8 to 0.14, all, or one of
$aothip_abi_known, or so with a b, as releases are called])])])
AC_MSG_CHECKING([which AOTriton release to stand in for])
AC_MSG_RESULT([$AOTRITON_VERSION])
AS_CASE([$with_aotriton_suffix],
    [yes], [AC_MSG_ERROR([--with-aotriton-suffix wants a suffix])],
    [no], [AOTRITON_SUFFIX=],
    [*@<:@!A-Za-z0-9_@:>@*],
    [AC_MSG_ERROR([--with-aotriton-suffix=$with_aotriton_suffix: only letters, digits and _])],
    [AOTRITON_SUFFIX=$with_aotriton_suffix])
AC_SUBST([AOTRITON_VERSION])
AC_SUBST([AOTRITON_OTHERS])
AC_SUBST([AOTRITON_SUFFIX])
])
