"""
PyTorch's operators below scaled_dot_product_attention, for enable(): what its varlen_attn and
jagged nested tensors come to, and callers of the operators themselves. Tensors are (batch, rows,
heads, channels), or (rows, heads, channels) with sequences behind each other; for efficient
attention these have a batch of 1 in front, and the log-sum-exp is padded sequence by sequence.

What is not computed here is NotImplemented, and stays with PyTorch: what its own callers never ask
for, and windows of efficient attention.
"""

import torch

from .attention import Problem

NO_MASK, CAUSAL_TOP_LEFT = 0, 1  # custom_mask_type; 2: causal at the bottom right


def _matching(query, channels, kind):
    """A tensor like query, of so many channels, its dimensions in memory in query's order."""
    order = sorted(range(query.ndim), key=query.stride, reverse=True)
    shape = (*query.shape[:-1], channels)
    back = [order.index(i) for i in range(query.ndim)]
    return kind([shape[i] for i in order], dtype=query.dtype, device=query.device).permute(back)


def _seed(dropout_p, query):
    """(seed, offset), as tensors without dimensions."""
    most = 2**63 - 1 if dropout_p > 0 else 1
    both = torch.randint(0, most, (2,), device=query.device)
    return both[0].clone(), both[1].clone()


def _fields(dropout_p, seed, offset, left, right, **more):
    window = tuple(-1 if n is None else n for n in (left, right))
    return dict(dropout_p=dropout_p, window=window,
                seed=torch.stack([seed, offset]) if dropout_p > 0 else None, **more)


def _packed(cum_seq_q, cum_seq_k, max_q, max_k):
    if cum_seq_q is None:
        return {}
    return dict(cu_seqlens_q=cum_seq_q, cu_seqlens_k=cum_seq_k, max_seqlen_q=max_q,
                max_seqlen_k=max_k)


def flash_fwd(query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
              return_debug_mask, *, scale=None, window_size_left=None, window_size_right=None,
              seqused_k=None, alibi_slopes=None, block_table=None, num_splits=None):
    if cum_seq_q is None and (seqused_k is not None or block_table is not None):
        return NotImplemented
    seed, offset = _seed(dropout_p, query)
    packed = cum_seq_q is not None
    if packed and block_table is not None:
        cum_seq_k = None  # pages have no rows to begin at
    more = dict(seqused_k=seqused_k, block_table=block_table) if packed else {}
    problem = Problem(query, key, value, "shd" if packed else "bshd", scale=scale, causal=is_causal,
                      alibi_slopes=alibi_slopes, splits=num_splits or 0,
                      **_packed(cum_seq_q, cum_seq_k, max_q, max_k), **more,
                      **_fields(dropout_p, seed, offset, window_size_left, window_size_right))
    # Rows of no sequence are 0.
    out = _matching(query, value.shape[-1], torch.zeros if packed else torch.empty)
    out, lse = problem.forward(out=out)
    return out, lse, seed, offset, query.new_empty(0)


def flash_bwd(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
              dropout_p, is_causal, rng_state, unused, *, scale=None, window_size_left=None,
              window_size_right=None):
    packed = cum_seq_q is not None
    problem = Problem(query, key, value, "shd" if packed else "bshd", scale=scale, causal=is_causal,
                      **_packed(cum_seq_q, cum_seq_k, max_q, max_k),
                      **_fields(dropout_p, rng_state, unused, window_size_left, window_size_right))
    d = problem.backward(grad_out, out, logsumexp.contiguous(), (),
                         *_gradients_of(query, key, value, packed))
    return d["dq"], d["dk"], d["dv"]


def _whole_tiles(rows):
    """How many rows of each sequence the log-sum-exp has, as PyTorch's meta kernel promises."""
    return rows + -rows % 32


def _fitted(x, rows, keys):
    """x with so many rows and keys; what it had not is 0."""
    x = x[..., :rows, :keys]
    return torch.nn.functional.pad(x, (0, keys - x.shape[-1], 0, rows - x.shape[-2]))


def _efficient(query, key, value, bias, cu_q, cu_k, max_q, max_k, dropout_p, seed, offset,
               mask_type, scale):
    """The problem; sequences behind each other are without the batch of 1 that is in front. Their
    rows and keys count from 0 each in the one bias, as in PyTorch's kernels."""
    fields = _fields(dropout_p, seed, offset, None, None)
    order = "bshd"
    if cu_q is not None:
        order, (query, key, value) = "shd", (x[0] for x in (query, key, value))
        max_q, max_k = _whole_tiles(max_q), max_k or key.shape[0]
        fields.update(_packed(cu_q, cu_k, max_q, max_k))
        bias = None if bias is None else _fitted(bias, max_q, max_k)
    return Problem(query, key, value, order, scale=scale, causal=mask_type != NO_MASK,
                   top_left=mask_type == CAUSAL_TOP_LEFT, bias=bias, **fields)


def efficient_fwd(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k,
                  dropout_p, custom_mask_type, compute_log_sumexp=False, *, scale=None,
                  seqlen_k=None, window_size=None):
    packed = cu_seqlens_q is not None
    if seqlen_k is not None or window_size is not None:
        return NotImplemented
    seed, offset = _seed(dropout_p, query)
    problem = _efficient(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                         max_seqlen_k, dropout_p, seed, offset, custom_mask_type, scale)
    shape = (*query.shape[:-1], value.shape[-1])
    if packed:
        out = query.new_zeros(shape)  # rows of no sequence
        lse = query.new_full(problem.lse_shapes()[-1], torch.inf, dtype=torch.float32)
        problem.forward(out=out[0], lse=lse)
    else:
        out, lse = problem.forward(out=query.new_empty(shape))
        max_seqlen_q, max_seqlen_k = query.shape[1], key.shape[1]
    if not compute_log_sumexp:
        lse = lse[..., :0].contiguous()
    elif not packed and not torch.version.hip:  # CUDA's kernels, and who counts on them
        more = _whole_tiles(query.shape[1]) - query.shape[1]
        lse = torch.nn.functional.pad(lse, (0, more), value=torch.inf)
    return out, lse, seed, offset, max_seqlen_q, max_seqlen_k or key.shape[1]


def _gradients_of(query, key, value, packed, shared=False):
    """Tensors for them; shared: in one memory, as the projections of one tensor."""
    if not shared:
        made = torch.zeros_like if packed else torch.empty_like  # rows of no sequence are 0
        return [made(x) for x in (query, key, value)]
    *outer, heads, channels = query.shape
    made = query.new_empty((*outer, 3, heads, channels))
    return (made.zero_() if packed else made).unbind(-3)


def efficient_bwd(grad_out_, query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                  max_seqlen_k, logsumexp, dropout_p, philox_seed, philox_offset, custom_mask_type,
                  bias_requires_grad, *, scale=None, num_splits_key=None, window_size=None,
                  shared_storage_dqdkdv=False):
    packed = cu_seqlens_q is not None
    if window_size is not None:
        return NotImplemented
    problem = _efficient(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                         max_seqlen_k, dropout_p, philox_seed, philox_offset, custom_mask_type,
                         scale)
    d = _gradients_of(query, key, value, packed, shared_storage_dqdkdv)
    also = ("bias",) if bias is not None and bias_requires_grad else ()
    if packed:
        found = problem.backward(grad_out_[0], out[0], logsumexp.contiguous(), also,
                                 *(x[0] for x in d))
    else:
        lse = logsumexp[..., :query.shape[1]].contiguous()
        found = problem.backward(grad_out_, out, lse, also, *d)
    d_bias = query.new_empty(())
    if bias is not None:
        *outer, rows, keys = bias.shape
        d_bias = bias.new_empty((*outer, rows, keys + -keys % 16))[..., :keys]
        if also:
            d_bias.copy_(_fitted(found["dbias"], rows, keys))
    return *d, d_bias


KERNELS = {
    "_flash_attention_forward": flash_fwd,
    "_flash_attention_backward": flash_bwd,
    "_efficient_attention_forward": efficient_fwd,
    "_efficient_attention_backward": efficient_bwd,
}
