/* What the kernels of the fast form have for arguments where anything is FP8. */
#ifndef AOTHIP_FP8_ARGUMENTS_H
#define AOTHIP_FP8_ARGUMENTS_H

#include "kernarg_fp8.h"

#if KERNEL_SPLIT /* attn_split.hip */
typedef struct attn_split_fp8_args fp8_arguments;
#define FWD_OF_FP8 split.fwd
#else
typedef struct attn_fwd_fp8_args fp8_arguments;
#define FWD_OF_FP8 fwd
#endif

#endif
