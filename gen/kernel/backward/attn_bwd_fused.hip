/*
 * Backward attention, all three gradients in one walk: those of attn_bwd_dkdv, and
 * dQ = scale * dS K as atomic sums in the workspace (fused_walk.h). Rows of dQ are added up in any
 * order, those of dK and dV as there.
 */
#define SUMS_DQ 1
#include "attn_bwd_dkdv.hip"
