"""torch.nn.functional.scaled_dot_product_attention: same arguments and meaning, for NumPy too."""

from .attention import Problem, run


def _four(x, name):
    """(..., rows, dim) as (batch, heads, rows, dim)."""
    if x.ndim < 2:
        raise ValueError(f"aothip: {name} has {x.ndim} dimensions; at least 2 are needed")
    shape = (1,) * (4 - x.ndim) + tuple(x.shape)
    batch = 1
    for n in shape[:-3]:
        batch *= n
    return x.reshape((batch,) + shape[-3:])


def _mask_four(mask, lead):
    """A mask that broadcasts to (*lead, rows, keys), as a view with four dimensions."""
    shape = (1,) * (len(lead) + 2 - mask.ndim) + tuple(mask.shape)
    mask = mask.reshape(shape)
    if len(lead) <= 2:
        return mask.reshape((1,) * (4 - mask.ndim) + shape)
    if any(n not in (1, whole) for n, whole in zip(shape, lead)):
        raise ValueError(f"aothip: attn_mask {tuple(mask.shape)} does not broadcast to {lead}")
    if all(n == 1 for n in shape[:-3]):
        return mask.reshape((1,) + shape[-3:])
    whole = tuple(lead[:-1]) + shape[-3:]
    if hasattr(mask, "expand"):
        mask = mask.expand(whole)
    else:
        import numpy

        mask = numpy.broadcast_to(mask, whole)
    return mask.reshape((-1,) + shape[-3:])


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    """
    query (..., heads, rows, dim), key and value (..., heads_k, keys, dim). attn_mask broadcasts to
    (..., heads, rows, keys): bool, True where a key takes part, or float, added to the scores.
    is_causal is aligned at the top left. Rows that see no key give 0.
    """
    if attn_mask is not None and is_causal:
        raise ValueError("aothip: attn_mask and is_causal exclude each other")
    q, k, v = _four(query, "query"), _four(key, "key"), _four(value, "value")
    if not enable_gqa and q.shape[1] != k.shape[1]:
        raise ValueError(f"aothip: query has {q.shape[1]} heads and key {k.shape[1]}; "
                         "enable_gqa allows that")
    bias = keep = None
    if attn_mask is not None:
        mask = _mask_four(attn_mask, tuple(query.shape[:-2]))
        if "bool" in str(mask.dtype):
            keep = mask
        else:
            bias = mask
    problem = Problem(q, k, v, "bhsd", scale=scale, causal=is_causal, top_left=True, bias=bias,
                      keep=keep, dropout_p=dropout_p)
    return run(problem)[0].reshape(tuple(query.shape[:-1]) + (value.shape[-1],))
