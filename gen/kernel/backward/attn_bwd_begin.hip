/*
 * Backward attention, the pre-pass of attn_bwd_fused: delta as by attn_bwd_delta, and zeros where
 * dQ is going to be summed.
 */
#define CLEARS_DQ 1
#include "attn_bwd_delta.hip"
