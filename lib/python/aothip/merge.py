"""Partial results of attention put together: what a ring over several GPUs is made of."""

import ctypes

from . import _lib
from ._arrays import side_of
from .attention import _AXES, _check_dims, _check_shape

_LSE_AXES = {"bshd": (0, 1, 2, 3), "bhsd": (0, 1, 2, 3), "shd": (None, 0, 1, 2)}


def _check(o, lse, part_o, part_lse, order):
    if order not in _AXES:
        raise ValueError(f"aothip: order is {order!r}, not one of " + ", ".join(_AXES))
    for name, x, dims in (("o", o, len(order)), ("lse", lse, len(order) - 1),
                          ("part_o", part_o, len(order)), ("part_lse", part_lse, len(order) - 1)):
        _check_dims(name, x, dims)
    batch, heads, rows = (0 if axis is None else axis for axis in _AXES[order][:3])
    shape = tuple(o.shape)
    of_lse = (shape[heads], shape[rows])
    _check_shape("part_o", part_o, shape)
    for name, x in (("lse", lse), ("part_lse", part_lse)):
        _check_shape(name, x, of_lse if order == "shd" else (shape[batch], *of_lse))


def _check_gradients(*tensors):
    import torch

    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise ValueError("aothip: merge() has no gradient: use it under torch.no_grad(), and give "
                         "backward passes o and lse as they are in the end")


def merge(o, lse, part_o, part_lse, order="bshd"):
    """
    Changes o and lse, attention over some keys, in place to that over these and others, over which
    part_o and part_lse are attention of the same queries. One launch. Returns (o, lse).

    order       "bshd", "bhsd" or "shd", the axes of o and part_o
    o           float16, bfloat16 or float32; float32 is not rounded in between, and takes a part
                of any of these types
    lse         float32 (batch, heads, rows), "shd": (heads, rows), with any strides. Where it is
                infinite, of either sign, the row has seen no key, and its o is not looked at: so an
                empty o and an lse of infinity are what to begin with.

    For torch and NumPy. It carries no gradients, and refuses tensors that ask for them: a backward
    pass over several parts is that of each part, given o and lse as they are in the end.
    """
    _check(o, lse, part_o, part_lse, order)
    if not hasattr(o, "data_ptr"):
        return _merge(o, lse, part_o, part_lse, order)
    _check_gradients(o, lse, part_o, part_lse)
    from ._torch import merge as merge_torch

    merge_torch(o, lse, part_o, part_lse, order)
    return o, lse


def _merge(o, lse, part_o, part_lse, order):
    axes, of_lse = _AXES[order], _LSE_AXES[order]
    with side_of(o, lse, part_o, part_lse) as side:
        p = _lib.MergeParams(struct_size=ctypes.sizeof(_lib.MergeParams))
        p.o = side.tensor(o, axes, "o", written=True)
        p.lse = side.tensor(lse[..., None], of_lse, "lse", written=True)
        p.part_o = side.tensor(part_o, axes, "part_o")
        p.part_lse = side.tensor(part_lse[..., None], of_lse, "part_lse")
        _lib.check(_lib.lib.aothip_attn_merge(_lib.context(), p, side.stream))
    return o, lse
