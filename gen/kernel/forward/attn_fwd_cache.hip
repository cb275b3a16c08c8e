/*
 * Forward attention on K and V of FP8, with O of 16 bits and Q of its type: attn_fwd.hip, whose K
 * and V become elements of that type on their way to LDS. Aligned rows take the fast form, or that
 * of teams, where the scales of K go into the softmax's, or into what terms multiply S by. All else
 * takes the general form, where S is multiplied by the scales when it is there. O is multiplied by
 * V's at the end. Q may be of FP8, too, to be converted when it is loaded, but in the fast form
 * without terms: that is attn_fwd_fp8.hip's.
 */
#define KERNEL_CACHE 1
#if KERNEL_UNALIGNED
#include "general_form.h"
#elif KERNEL_DIM > 128
#include "team_form.h"
#else
#include "fast_form.h"
#endif
