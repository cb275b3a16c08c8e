/* attn_split on K and V of FP8, which become elements of q's type in the registers. */
#define KERNEL_CACHE 1
#include "attn_split.hip"
