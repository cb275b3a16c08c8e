dnl AOTHIP_ARG_WERROR: warnings are errors for those who work on aothip, that is in a git checkout;
dnl not for those who build a release with a compiler that knows more warnings than ours.
AC_DEFUN([AOTHIP_ARG_WERROR], [
AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make warnings errors @<:@yes in a git checkout, else no@:>@])],
    [], [AS_IF([test -e "$srcdir/.git"], [enable_werror=yes], [enable_werror=no])])
AS_IF([test "$enable_werror" = no], [WERROR_FLAGS=], [WERROR_FLAGS=-Werror])
AC_SUBST([WERROR_FLAGS])
])
