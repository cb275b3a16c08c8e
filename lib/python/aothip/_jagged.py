"""Jagged nested tensors, (batch, rows of each its own, heads, channels): they hold sequences behind
each other."""

import torch


def _opened(name, x, order):
    """The tensor inside, where its sequences begin, and how long the longest is."""
    if not getattr(x, "is_nested", False) or \
            x.layout != getattr(torch, "jagged", None):
        raise TypeError(f"aothip: {name} is no jagged tensor as the others are")
    if order == "bhsd":
        x = x.transpose(1, 2)
    if x.ndim != 4 or x._ragged_idx != 1 or x.lengths() is not None:
        raise ValueError(f"aothip: {name}, a jagged tensor, has other axes than batch, rows, heads "
                         "and channels, or rows between its sequences: make it contiguous")
    return x.values(), x.offsets(), x._get_max_seqlen()


def attend(function, q, k, v, order, fields):
    """(o, lse) of function(q, k, v, order, fields); o is jagged as q, lse (heads, rows)."""
    refused = [name for name in ("bias", "keep", "lengths", "starts", "block_table", "batch_index",
                                 "k_new", "v_new", "rotary") if fields.get(name) is not None]
    if order == "shd" or refused:
        raise NotImplementedError("aothip: jagged tensors do not go with " +
                                  (refused[0] if refused else "cu_seqlens_q"))
    (q, begins, longest), (k, of_keys, most), (v, of_values, _) = (
        _opened(name, x, order) for name, x in (("q", q), ("k", k), ("v", v)))
    # Tensors that were made of each other share them; else comparing makes the host wait.
    if k.shape[0] != v.shape[0] or (of_keys is not of_values and not torch.compiler.is_compiling()
                                    and not torch.equal(of_keys, of_values)):
        raise ValueError("aothip: k and v, jagged tensors, hold sequences of other lengths")
    o, lse = function(q, k, v, "shd", dict(
        fields, cu_seqlens_q=begins.int(), cu_seqlens_k=of_keys.int(), max_seqlen_q=longest,
        max_seqlen_k=most))[:2]
    o = torch.nested.nested_tensor_from_jagged(o, begins, max_seqlen=longest)
    return o.transpose(1, 2) if order == "bhsd" else o, lse
