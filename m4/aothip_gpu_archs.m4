dnl AOTHIP_ARG_GPU_ARCHS: which GPUs get images. --with-gpu-archs, else PYTORCH_ROCM_ARCH, else all
dnl that images/matrix.def declares. Features (gfx90a:xnack+) are accepted and left out: the images
dnl of a GPU serve all of its modes. PYTORCH_ROCM_ARCH says what PyTorch is built for, mostly more
dnl GPUs than there are kernels for: those are left out with a notice, while a name that was asked of
dnl us must be right.
AC_DEFUN([AOTHIP_ARG_GPU_ARCHS], [
AC_REQUIRE([AC_PROG_SED])
AC_ARG_WITH([gpu-archs],
    [AS_HELP_STRING([--with-gpu-archs=LIST],
        [GPUs to build images for, separated by spaces, commas or semicolons
         @<:@$PYTORCH_ROCM_ARCH, else all that images/matrix.def declares@:>@])],
    [aothip_gpus_from="--with-gpu-archs"],
    [AS_IF([test -n "$PYTORCH_ROCM_ARCH"],
        [with_gpu_archs=$PYTORCH_ROCM_ARCH
         aothip_gpus_from="PYTORCH_ROCM_ARCH"],
        [with_gpu_archs=all
         aothip_gpus_from="default"])])
AC_ARG_VAR([PYTORCH_ROCM_ARCH], [GPUs to build images for, separated by semicolons])
aothip_known_gpus=`$SED -n 's/^gpu  *\(@<:@^ @:>@*\).*/\1/p' "$srcdir/images/matrix.def" | tr '\n' ' '`
aothip_known_gpus=${aothip_known_gpus% }
AS_CASE([$with_gpu_archs],
    [yes|no], [AC_MSG_ERROR([--with-gpu-archs needs a list; known are: $aothip_known_gpus])],
    [all], [with_gpu_archs=$aothip_known_gpus])
GPU_ARCHS=
aothip_without=
for aothip_gpu in `echo "$with_gpu_archs" | tr ',;' '  '`; do
    aothip_name=${aothip_gpu%%:*}
    AS_CASE([" $aothip_known_gpus "],
        [*" $aothip_name "*],
            [AS_CASE([" $GPU_ARCHS "], [*" $aothip_name "*], [],
                [GPU_ARCHS="$GPU_ARCHS${GPU_ARCHS:+ }$aothip_name"])],
        [AS_IF([test "$aothip_gpus_from" = PYTORCH_ROCM_ARCH],
            [aothip_without="$aothip_without $aothip_gpu"],
            [AC_MSG_ERROR([unknown GPU '$aothip_gpu' in $aothip_gpus_from; known are: $aothip_known_gpus])])])
done
AS_IF([test -z "$GPU_ARCHS"],
    [AC_MSG_ERROR([$aothip_gpus_from names no GPU that there are kernels for; known are: $aothip_known_gpus])])
AS_IF([test -n "$aothip_without"],
    [AC_MSG_NOTICE([$aothip_gpus_from: no kernels, and so no images, for$aothip_without])])
AC_SUBST([GPU_ARCHS])
])
