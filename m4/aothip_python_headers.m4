# AOTHIP_CHECK_PYTHON_HEADERS: PYTHON_CPPFLAGS, where Python.h lies, of any Python from 3.8 on: what
# is compiled with it runs on all of them. Without it the Python module goes by ctypes alone. And
# whether there is pybind11 with it, without which there is no pyaotriton.
AC_DEFUN([AOTHIP_CHECK_PYTHON_HEADERS], [
    AC_ARG_VAR([PYTHON_CPPFLAGS], [where Python.h is, such as -I/usr/include/python3.11])
    AC_MSG_CHECKING([for Python.h])
    AS_IF([test -z "$PYTHON_CPPFLAGS"], [
        for aothip_python in ${PYTHON3-} python3 /usr/bin/python3; do
            aothip_include=`$aothip_python -c 'import sysconfig as s; print(s.get_paths()@<:@"include"@:>@)' 2>/dev/null`
            AS_IF([test -f "$aothip_include/Python.h"], [PYTHON_CPPFLAGS=-I$aothip_include; break])
        done])
    aothip_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $PYTHON_CPPFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #define Py_LIMITED_API 0x03080000
        #include <Python.h>
        #if PY_VERSION_HEX < 0x03080000
        #error too old
        #endif
        ]])], [aothip_python_h=yes], [aothip_python_h=no])
    CPPFLAGS=$aothip_save_CPPFLAGS
    AC_MSG_RESULT([${aothip_python_h}${PYTHON_CPPFLAGS:+ ($PYTHON_CPPFLAGS)}])
    AM_CONDITIONAL([HAVE_PYTHON_H], [test $aothip_python_h = yes])
    AC_MSG_CHECKING([for pybind11])
    CPPFLAGS="$CPPFLAGS $PYTHON_CPPFLAGS"
    AC_LANG_PUSH([C++])
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
        #include <pybind11/pybind11.h>
        #if PYBIND11_VERSION_MAJOR < 2 || (PYBIND11_VERSION_MAJOR == 2 && PYBIND11_VERSION_MINOR < 6)
        #error too old
        #endif
        ]])], [aothip_pybind11=$aothip_python_h], [aothip_pybind11=no])
    AC_LANG_POP([C++])
    CPPFLAGS=$aothip_save_CPPFLAGS
    AC_MSG_RESULT([$aothip_pybind11])
    AM_CONDITIONAL([HAVE_PYBIND11], [test $aothip_pybind11 = yes && test -z "$SANITIZE_FLAGS" && test "$aothip_windows" != yes])
])
