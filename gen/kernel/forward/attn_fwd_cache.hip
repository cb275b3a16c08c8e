/*
 * Forward attention on K and V of FP8, with O of 16 bits and Q of its type, or of FP8, too: the
 * general form of attn_fwd.hip, whose K and V become elements of O's type on their way to LDS, and
 * Q when it is loaded. S is multiplied by the scales of Q and K when it is there, O by V's at the
 * end.
 */
#define KERNEL_CACHE 1
#include "general_form.h"
