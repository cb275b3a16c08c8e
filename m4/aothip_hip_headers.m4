dnl AOTHIP_CHECK_HIP_HEADERS: <hip/hip_runtime_api.h>, from the system, $ROCM_PATH or /opt/rocm.
dnl Only types and constants are used; nothing is linked with HIP.
AC_DEFUN([AOTHIP_CHECK_HIP_HEADERS], [
aothip_saved=$CPPFLAGS
HIP_CPPFLAGS=
HIP_CPPFLAGS_NOTE=
AC_MSG_CHECKING([for the HIP headers])
for aothip_dir in system "$ROCM_PATH" /opt/rocm; do
    AS_IF([test -z "$HIP_CPPFLAGS" && test -n "$aothip_dir"], [
        AS_IF([test "$aothip_dir" = system],
            [aothip_try="-D__HIP_PLATFORM_AMD__=1"],
            [aothip_try="-D__HIP_PLATFORM_AMD__=1 -isystem $aothip_dir/include"])
        CPPFLAGS="$aothip_saved $aothip_try"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <hip/hip_runtime_api.h>]],
                [[return hipSuccess;]])],
            [HIP_CPPFLAGS=$aothip_try
             HIP_CPPFLAGS_NOTE=$aothip_dir])])
done
CPPFLAGS=$aothip_saved
AS_IF([test -n "$HIP_CPPFLAGS"], [AC_MSG_RESULT([$HIP_CPPFLAGS_NOTE])],
    [AC_MSG_RESULT([no])
     aothip_missing="$aothip_missing    <hip/hip_runtime_api.h>, the HIP headers (no GPU or driver is needed)
        Debian: apt-get install libamdhip64-dev; ROCm: set ROCM_PATH
"])
AC_SUBST([HIP_CPPFLAGS])
])
