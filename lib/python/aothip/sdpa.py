"""torch.nn.functional.scaled_dot_product_attention: same arguments and meaning, for NumPy too."""

from ._arrays import library_of
from .attention import attend


def _four(x, name):
    """(..., rows, dim) as (batch, heads, rows, dim)."""
    if not hasattr(x, "ndim"):
        raise TypeError(f"aothip: {name} must be an array, not {type(x).__name__}")
    if x.ndim == 4:
        return x
    if x.ndim < 2:
        raise ValueError(f"aothip: {name} has {x.ndim} dimensions; at least 2 are needed")
    shape = (1,) * (4 - x.ndim) + tuple(x.shape)
    batch = 1
    for n in shape[:-3]:
        batch *= n
    return x.reshape((batch,) + shape[-3:])


def mask_four(mask, scores):
    """A mask that broadcasts to `scores`, (*lead, rows, keys), as a view with four dimensions."""
    shape = (1,) * (len(scores) - mask.ndim) + tuple(mask.shape)
    good = len(shape) == len(scores)
    for n, whole in zip(shape, scores):
        good = good and (n == 1 or n == whole)
    if not good:
        raise ValueError(f"aothip: attn_mask {tuple(mask.shape)} does not broadcast to {scores}")
    if len(scores) <= 4:
        four = (1,) * (4 - len(shape)) + shape  # torch's reshape() takes half as long again
        return mask if mask.ndim == 4 else (
            mask.view(four) if hasattr(mask, "data_ptr") else mask.reshape(four))
    mask = mask.reshape(shape)
    if all(n == 1 for n in shape[:-3]):
        return mask.reshape((1,) + shape[-3:])
    whole = scores[:-3] + shape[-3:]
    if hasattr(mask, "expand"):
        mask = mask.expand(whole)
    else:
        import numpy

        mask = numpy.broadcast_to(mask, whole)
    return mask.reshape((-1,) + shape[-3:])


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None, enable_gqa=False):
    """
    query (..., heads, rows, dim), key and value (..., heads_k, keys, dim) with the same leading
    dimensions. attn_mask broadcasts to (..., heads, rows, keys): bool, True where a key takes part,
    or float, of query's type or float32, added to the scores. dropout_p counts always, as there.
    is_causal is aligned at the top left. Rows that see no key give 0.
    """
    if attn_mask is not None and is_causal:
        raise ValueError("aothip: attn_mask and is_causal exclude each other")
    q, k, v = _four(query, "query"), _four(key, "key"), _four(value, "value")
    for name, x, four in (("key", key, k), ("value", value, v)):
        if x.ndim != query.ndim or (four.shape[0] != q.shape[0] if x.ndim <= 4 else
                                    tuple(x.shape[:-3]) != tuple(query.shape[:-3])):
            raise ValueError(f"aothip: {name} {tuple(x.shape)} does not have the leading "
                             f"dimensions of query {tuple(query.shape)}")
    if not enable_gqa and q.shape[1] != k.shape[1]:
        raise ValueError(f"aothip: query has {q.shape[1]} heads and key {k.shape[1]}; "
                         "enable_gqa allows that")
    bias = keep = None
    if attn_mask is not None:
        if not hasattr(attn_mask, "ndim"):
            raise TypeError(f"aothip: attn_mask must be an array, not {type(attn_mask).__name__}")
        if type(attn_mask) is not type(query):
            library_of(query, attn_mask)
        kind = str(attn_mask.dtype).replace("torch.", "")
        if kind not in ("bool", "float32") and attn_mask.dtype != query.dtype:
            raise TypeError(f"aothip: attn_mask has type {kind}; bool, float32 and the type of "
                            "query are known")
        mask = mask_four(attn_mask, (*query.shape[:-1], key.shape[-2]))
        if kind == "bool":
            keep = mask
        else:
            bias = mask
    fields = {"scale": scale, "causal": is_causal, "top_left": True, "bias": bias, "keep": keep,
              "dropout_p": dropout_p}
    o = attend(q, k, v, "bhsd", fields, with_lse=False)[0]
    if query.ndim == 4:
        return o
    return o.reshape(tuple(query.shape[:-1]) + (value.shape[-1],))
