dnl AOTHIP_ARG_AOTRITON_ABI: --with-aotriton-abi=VERSION chooses the AOTriton release whose names,
dnl structs and version libaotriton_v2.so has; "all" builds the others beside it.
AC_DEFUN([AOTHIP_ARG_AOTRITON_ABI], [
AC_ARG_WITH([aotriton-abi],
    [AS_HELP_STRING([--with-aotriton-abi=VERSION],
        [AOTriton release to stand in for: 0.11 to 0.13, with or without its last number; all: 0.11.2
         and the others under lib/aotriton-abi @<:@0.11.2@:>@])],
    [], [with_aotriton_abi=0.11.2])
AOTRITON_OTHERS=
AS_CASE([$with_aotriton_abi],
    [yes|0.11], [AOTRITON_VERSION=0.11.2],
    [0.12], [AOTRITON_VERSION=0.12.1],
    [0.13], [AOTRITON_VERSION=0.13.0],
    [0.11.0|0.11.1|0.11.2|0.12.0|0.12.1|0.13.0], [AOTRITON_VERSION=$with_aotriton_abi],
    [all], [AOTRITON_VERSION=0.11.2
            AOTRITON_OTHERS="0.11.0 0.11.1 0.11.2 0.12.0 0.12.1 0.13.0"],
    [0.8*|0.9*|0.10*], [AC_MSG_ERROR([--with-aotriton-abi=$with_aotriton_abi: AOTriton wrote the
log-sum-exp to base 2 before 0.11, and there is no kernel that does])],
    [AC_MSG_ERROR([--with-aotriton-abi=$with_aotriton_abi is not known: 0.11.0 0.11.1 0.11.2 0.12.0
0.12.1 0.13.0 or all])])
AC_SUBST([AOTRITON_VERSION])
AC_SUBST([AOTRITON_OTHERS])
])
