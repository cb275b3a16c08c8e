/*
 * attn_split on K and V of FP8, which become elements of 16 bits in the registers, and on q of
 * these, or of FP8, too.
 */
#define KERNEL_CACHE 1
#include "attn_split.hip"
