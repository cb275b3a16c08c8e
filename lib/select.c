/* Chooses the kernel for a problem. Pure. */
#include "select.h"

#include "args.h"

/*
 * Whether the kernels for aligned tensors can take this one: 16-byte loads of 8 elements at every
 * row and chunk, and rows within reach of 32-bit offsets. Strides of dimensions of size 1 are never
 * multiplied by anything but 0.
 */
static int is_aligned(const struct aothip_tensor *tensor)
{
    uint64_t elements = (uint64_t)tensor->size[3];
    int within_reach = tensor->size[2] == 1 || tensor->stride[2] <= KERNARG_ALIGNED_STRIDE_MAX;
    for (int i = 0; i < 3; i++)
        if (tensor->size[i] > 1)
            elements |= (uint64_t)tensor->stride[i];
    return within_reach && ((elements & 7) | ((uintptr_t)tensor->data & 15)) == 0;
}

struct select_need select_need_attn_fwd(const struct aothip_attn_fwd_params *params)
{
    struct select_need need = {FORMAT_OP_ATTN_FWD, params->q.dtype, 0, params->q.size[3]};
    if (params->v.size[3] > need.dim)
        need.dim = params->v.size[3];
    if (!(is_aligned(&params->q) && is_aligned(&params->k) && is_aligned(&params->v) &&
          is_aligned(&params->o)))
        need.features |= FORMAT_FEATURE_UNALIGNED;
    return need;
}

int select_entry(const struct format_entry *entries, uint32_t count, const struct select_need *need)
{
    int best = -1;
    for (uint32_t i = 0; i < count; i++) {
        const struct format_entry *entry = &entries[i];
        if (entry->op == need->op && entry->dtype == need->dtype && entry->dim_max >= need->dim &&
            (need->features & ~entry->features) == 0 &&
            (best < 0 || entry->rank < entries[best].rank))
            best = (int)i;
    }
    return best;
}
