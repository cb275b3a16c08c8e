/* attn_append into a cache of FP8. */
#define KERNEL_CACHE 1
#include "attn_append.hip"
