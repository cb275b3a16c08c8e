/*
 * Forward attention on K and V of FP8, with Q and O of 16 bits: the general form of attn_fwd.hip,
 * whose K and V become elements of q's type on their way to LDS. S is multiplied by K's scale when
 * it is there, O by V's at the end.
 */
#define KERNEL_CACHE 1
#include "general_form.h"
