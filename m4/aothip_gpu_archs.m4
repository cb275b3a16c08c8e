dnl AOTHIP_ARG_GPU_ARCHS: which GPUs get images. --with-gpu-archs, else PYTORCH_ROCM_ARCH, else all.
AC_DEFUN([AOTHIP_ARG_GPU_ARCHS], [
m4_define([aothip_known_gpus], [gfx90a gfx942 gfx1100 gfx1151])
AC_ARG_WITH([gpu-archs],
    [AS_HELP_STRING([--with-gpu-archs=LIST],
        [GPUs to build images for, separated by spaces, commas or semicolons
         @<:@$PYTORCH_ROCM_ARCH, else aothip_known_gpus@:>@])],
    [aothip_gpus_from="--with-gpu-archs"],
    [AS_IF([test -n "$PYTORCH_ROCM_ARCH"],
        [with_gpu_archs=$PYTORCH_ROCM_ARCH
         aothip_gpus_from="PYTORCH_ROCM_ARCH"],
        [with_gpu_archs="aothip_known_gpus"
         aothip_gpus_from="default"])])
AC_ARG_VAR([PYTORCH_ROCM_ARCH], [GPUs to build images for, separated by semicolons])
GPU_ARCHS=
for aothip_gpu in `echo "$with_gpu_archs" | tr ',;' '  '`; do
    aothip_name=`echo "$aothip_gpu" | sed 's/:.*//'`
    AS_CASE([" aothip_known_gpus "],
        [*" $aothip_name "*],
            [AS_CASE([" $GPU_ARCHS "], [*" $aothip_name "*], [],
                [GPU_ARCHS="$GPU_ARCHS${GPU_ARCHS:+ }$aothip_name"])],
        [AC_MSG_ERROR([unknown GPU '$aothip_gpu' in $aothip_gpus_from; known are: aothip_known_gpus])])
done
AS_IF([test -z "$GPU_ARCHS"],
    [AC_MSG_ERROR([$aothip_gpus_from names no GPU; known are: aothip_known_gpus])])
AC_SUBST([GPU_ARCHS])
])
