dnl AOTHIP_ARG_GPU_ARCHS: which GPUs get images. --with-gpu-archs, else PYTORCH_ROCM_ARCH, else all
dnl that images/matrix.def declares. Features (gfx90a:xnack+) are accepted and left out: the images
dnl of a GPU serve all of its modes. A family, as AOTriton or TheRock call it (gfx110x, gfx110X-all,
dnl gfx94X-dcgpu), is all of its GPUs that are declared. PYTORCH_ROCM_ARCH says what PyTorch is built for, mostly more
dnl GPUs than there are kernels for: those are left out with a notice, while a name that was asked of
dnl us must be right.
AC_DEFUN([AOTHIP_ARG_GPU_ARCHS], [
AC_REQUIRE([AC_PROG_SED])
AC_ARG_WITH([gpu-archs],
    [AS_HELP_STRING([--with-gpu-archs=LIST],
        [GPUs to build images for, or families such as gfx110X-all, separated by spaces, commas or
         semicolons
         @<:@$PYTORCH_ROCM_ARCH, else all that images/matrix.def declares@:>@])],
    [aothip_gpus_from="--with-gpu-archs"],
    [AS_IF([test -n "$PYTORCH_ROCM_ARCH"],
        [with_gpu_archs=$PYTORCH_ROCM_ARCH
         aothip_gpus_from="PYTORCH_ROCM_ARCH"],
        [with_gpu_archs=all
         aothip_gpus_from="default"])])
AC_ARG_VAR([PYTORCH_ROCM_ARCH], [GPUs to build images for, separated by semicolons])
aothip_known_gpus=`$SED -n -e 's/^gpu  *\(@<:@^ @:>@*\).*/\1/p' -e 's/^sibling  *\(@<:@^ @:>@*\).*/\1/p' \
    "$srcdir/images/matrix.def" | tr '\n' ' '`
aothip_known_gpus=${aothip_known_gpus% }
AS_CASE([$with_gpu_archs],
    [yes|no], [AC_MSG_ERROR([--with-gpu-archs needs a list; known are: $aothip_known_gpus])],
    [all], [with_gpu_archs=$aothip_known_gpus])
GPU_ARCHS=
aothip_without=
for aothip_asked in `echo "$with_gpu_archs" | tr ',;' '  '`; do
    aothip_name=${aothip_asked%%:*}
    AS_CASE([$aothip_name],
        [gfx*-all | gfx*-dcgpu | gfx*-dgpu | gfx*-igpu], [aothip_name=${aothip_name%-*}])
    dnl An X stands for the last digit of any of the family.
    AS_CASE([$aothip_name], [*@<:@xX@:>@], [aothip_family=${aothip_name%?}], [aothip_family=none])
    aothip_found=no
    for aothip_gpu in $aothip_known_gpus; do
        AS_IF([test "$aothip_gpu" = "$aothip_name" || test "${aothip_gpu%?}" = "$aothip_family"],
            [aothip_found=yes
             AS_CASE([" $GPU_ARCHS "], [*" $aothip_gpu "*], [],
                [GPU_ARCHS="$GPU_ARCHS${GPU_ARCHS:+ }$aothip_gpu"])])
    done
    AS_IF([test "$aothip_found" = no],
        [AS_IF([test "$aothip_gpus_from" = PYTORCH_ROCM_ARCH],
            [aothip_without="$aothip_without $aothip_asked"],
            [AC_MSG_ERROR([unknown GPU '$aothip_asked' in $aothip_gpus_from; known are: $aothip_known_gpus])])])
done
AS_IF([test -z "$GPU_ARCHS"],
    [AC_MSG_ERROR([$aothip_gpus_from names no GPU that there are kernels for; known are: $aothip_known_gpus])])
AS_IF([test -n "$aothip_without"],
    [AC_MSG_NOTICE([$aothip_gpus_from: no kernels, and so no images, for$aothip_without])])
AC_SUBST([GPU_ARCHS])
])

dnl AOTHIP_CHECK_GPU_ARCHS: leaves out, with one notice, what the device compiler does not know, or not
dnl well enough: before version 20 clang does not place the waits that gfx12 must have before it reads
dnl some scalar registers (s_wait_alu). A sibling is not compiled: it is known where the GPU is whose code
dnl it runs. GPUS_COMPILED is all that this compiler could make code for.
AC_DEFUN([AOTHIP_CHECK_GPU_ARCHS], [
AS_VAR_PUSHDEF([aothip_compiled], [aothip_cv_gpus_known_to_$DEVICE_CLANG])
AC_CACHE_CHECK([for which GPUs $DEVICE_CLANG makes code], [aothip_compiled], [
    AS_VAR_SET([aothip_compiled], [])
    for aothip_gpu in `$SED -n 's/^gpu  *\(@<:@^ @:>@*\).*/\1/p' "$srcdir/images/matrix.def"`; do
        AS_IF([printf '%s\n' '#if defined(__GFX12__) && __clang_major__ < 20' '#error too old' '#endif' |
               "$DEVICE_CLANG" -x hip --offload-device-only --offload-arch=$aothip_gpu -nogpuinc \
               -nogpulib -E -o /dev/null - >&AS_MESSAGE_LOG_FD 2>&1],
            [AS_VAR_APPEND([aothip_compiled], [" $aothip_gpu"])])
    done])
AS_VAR_COPY([GPUS_COMPILED], [aothip_compiled])
AS_VAR_POPDEF([aothip_compiled])
aothip_without=
aothip_with=
for aothip_gpu in $GPU_ARCHS; do
    aothip_code=`$SED -n "s/^sibling  *$aothip_gpu  *of=\(@<:@^ @:>@*\).*/\1/p" "$srcdir/images/matrix.def"`
    AS_CASE([" $GPUS_COMPILED "],
        [*" ${aothip_code:-$aothip_gpu} "*], [aothip_with="$aothip_with${aothip_with:+ }$aothip_gpu"],
        [aothip_without="$aothip_without $aothip_gpu"])
done
AS_IF([test -z "$aothip_with"],
    [AC_MSG_ERROR([$DEVICE_CLANG is too old for all GPUs of $aothip_gpus_from:$aothip_without])])
AS_IF([test -n "$aothip_without"],
    [AC_MSG_NOTICE([$DEVICE_CLANG is too old for, and so there will be no images for,$aothip_without])])
GPU_ARCHS=$aothip_with
AC_SUBST([GPUS_COMPILED])
])
