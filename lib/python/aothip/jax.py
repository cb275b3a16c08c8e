"""Attention for JAX: dot_product_attention with the meaning of jax.nn's, as custom calls of XLA.

Arrays on a GPU are used where they are, on XLA's stream; those of JAX's CPU backend are copied to
the current device and back. Works under jit, grad, vmap and shard_map.
"""

import ctypes
import functools
import os
import re
import typing

import jax
import jax.numpy as jnp
import numpy
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from . import _lib
from .attention import check_number

_DTYPES = (jnp.float16, jnp.bfloat16, jnp.float32)
_OPTIONAL = ("bias", "keep", "q_lengths", "k_lengths")  # in the order of their bits in xla.h
_MOST_CHANNELS = 512


class _Library(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "context", "fwd", "fwd_workspace", "bwd", "bwd_workspace", "hip_function",
        "last_error")] + [("minor", ctypes.c_int)]


def _minor_version():
    """The interface's, as the header says that comes with this jaxlib."""
    try:
        with open(os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")) as f:
            return int(re.search(r"#define XLA_FFI_API_MINOR (\d+)", f.read())[1])
    except (OSError, TypeError):
        return 1


def _address(name):
    return ctypes.cast(getattr(_lib.lib, name), ctypes.c_void_p).value


@functools.lru_cache(None)
def _register():
    """Makes the handlers known to XLA, once."""
    path = os.path.join(os.path.dirname(_lib.lib._name), "aothip_xla.so")
    handlers = ctypes.CDLL(path)
    library = _Library(_lib.context().value, *(_address("aothip_" + name) for name in (
        "attn_fwd", "attn_fwd_workspace", "attn_bwd", "attn_bwd_workspace", "hip_function",
        "last_error")), _minor_version())
    handlers.aothip_xla_setup(ctypes.byref(library))
    for name in ("fwd", "bwd"):
        for platform, ending in (("ROCM", ""), ("cpu", "_host")):
            handler = getattr(handlers, f"aothip_xla_{name}{ending}")
            jax.ffi.register_ffi_target(f"aothip_{name}", jax.ffi.pycapsule(handler),
                                        platform=platform)


class _Rules(typing.NamedTuple):
    """What is not an array."""

    scale: float
    softcap: float
    mask: int
    left: int
    right: int


def _axes_of(x):
    """The axes of a mesh along which x may differ, under shard_map that checks them."""
    if not hasattr(jax, "typeof"):  # before JAX 0.6
        return frozenset()
    kind = jax.typeof(x)
    return kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else \
        getattr(kind, "vma", frozenset())


def _vary(x, axes):
    """x as an array that may differ along all of these axes."""
    missing = tuple(axes - _axes_of(x))
    if not missing:
        return x
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, missing, to="varying")
    return jax.lax.pvary(x, missing)


def _along_all(arrays):
    """Under shard_map: each array as one that may differ along all axes along which any of them
    may, so that gradients of shared ones are summed up."""
    axes = frozenset().union(*(_axes_of(x) for x in arrays.values() if x is not None))
    return {name: None if x is None else _vary(x, axes) for name, x in arrays.items()}


def _call(name, results, rules, first, optional):
    given = sum(1 << bit for bit, x in enumerate(_OPTIONAL) if optional[x] is not None)
    return jax.ffi.ffi_call(f"aothip_{name}", results)(
        *first, *(x for x in optional.values() if x is not None), given=numpy.int32(given),
        mask=numpy.int32(rules.mask), left=numpy.int32(rules.left),
        right=numpy.int32(rules.right), scale=numpy.float32(rules.scale),
        softcap=numpy.float32(rules.softcap))


# vmap: what it adds becomes part of the batch, so that one call does it all.


def _fold(size, batched, x, batch):
    """x with an axis for vmap in front of its batch axis: with one axis for both. Where it has a
    batch of 1 for all, and is the same for all of vmap, so it stays."""
    if not batched and x.shape[0] == 1 != batch:
        return x
    if not batched:
        x = jnp.broadcast_to(x, (size, *x.shape))
    if x.shape[1] != batch:
        x = jnp.broadcast_to(x, (size, batch, *x.shape[2:]))
    return x.reshape(size * batch, *x.shape[2:])


def _folded(function, whole=()):
    """`function` of a dict of arrays, for vmap; `whole`: what must not keep a batch of 1."""
    mapped = custom_vmap(function)

    @mapped.def_vmap
    def rule(size, in_batched, arrays):
        batched = in_batched[0]
        batch = arrays["q"].shape[1 if batched["q"] else 0]
        folded, bias = {}, arrays["bias"]
        for name, x in arrays.items():
            if x is not None and name in whole and not batched[name]:
                x, same = jnp.broadcast_to(x, (size, *x.shape)), True
            else:
                same = batched[name]
            folded[name] = None if x is None else _fold(size, same, x, batch)
        found = {name: x.reshape(size, -1, *x.shape[1:])
                 for name, x in mapped(folded).items()}
        if "bias" in whole and bias.shape[1 if batched["bias"] else 0] == 1:
            found["bias"] = found["bias"].sum(1, keepdims=True)
        return found, {name: True for name in found}

    return mapped


@functools.lru_cache(None)
def _forward(rules):
    def forward(arrays):
        q, k, v = (arrays[name] for name in "qkv")
        o, lse = _call("fwd", (jax.ShapeDtypeStruct((*q.shape[:-1], v.shape[-1]), q.dtype),
                               jax.ShapeDtypeStruct((q.shape[0], q.shape[2], q.shape[1]),
                                                    jnp.float32)),
                       rules, (q, k, v), {name: arrays[name] for name in _OPTIONAL})
        return {"o": o, "lse": lse}

    return _folded(forward)


@functools.lru_cache(None)
def _backward(rules, with_bias):
    wanted = ("q", "k", "v") + (("bias",) if with_bias else ())

    def backward(arrays):
        found = _call("bwd", tuple(jax.ShapeDtypeStruct(arrays[name].shape, arrays[name].dtype)
                                   for name in wanted),
                      rules, [arrays[name] for name in ("d_o", "o", "lse", "q", "k", "v")],
                      {name: arrays[name] for name in _OPTIONAL})
        return dict(zip(wanted, found))

    return _folded(backward, ("bias",) if with_bias else ())


def _with_lse_gradient(v, o, d_o, d_lse):
    """
    v, o and d_o for which the backward call gives the gradients of sum(o * d_o) + sum(lse * d_lse).
    Of o it uses rowsum(o * d_o) alone, and of v the products with d_o: so channels of v that are 0,
    of o that hold -d_lse and, the second, what rounding takes from it, and of d_o that are 1, or
    what keeps both within the range of f16.
    """
    width, more = v.shape[-1], 8 + -v.shape[-1] % 8
    if width + more > _MOST_CHANNELS:
        raise NotImplementedError("aothip: the residual carries gradients for values of at most "
                                  f"{_MOST_CHANNELS - 8} channels, these have {width}")
    d_lse = jnp.nan_to_num(d_lse.transpose(0, 2, 1), posinf=0.0, neginf=0.0)
    kind = jnp.finfo(o.dtype)
    largest = jnp.maximum(jnp.abs(d_o).max(initial=0).astype(jnp.float32),
                          jnp.abs(d_lse).max(initial=0))
    unit = jnp.clip(largest, kind.tiny, kind.max).astype(o.dtype)
    rest = -d_lse / unit.astype(jnp.float32)
    v, o, d_o = (jnp.pad(x, [(0, 0)] * 3 + [(0, more)]) for x in (v, o, d_o))
    first = rest.astype(o.dtype)
    o = o.at[..., width].set(first)
    o = o.at[..., width + 1].set((rest - first.astype(jnp.float32)).astype(o.dtype))
    return v, o, d_o.at[..., width:width + 2].set(unit)


@functools.lru_cache(None)
def _attention(rules):
    """The differentiable function of a dict of arrays, to (o, lse)."""

    @jax.custom_vjp
    def attention(arrays):
        found, axes = _forward(rules)(arrays), _axes_of(arrays["q"])
        return _vary(found["o"], axes), _vary(found["lse"], axes)

    def forward(arrays):
        changes = arrays["bias"] is not None and arrays["bias"].perturbed
        arrays = {name: None if x is None else x.value for name, x in arrays.items()}
        o, lse = attention(arrays)
        return (o, lse), (arrays, o, lse, (None,) * changes)

    def backward(kept, cotangents):
        arrays, o, lse, changes = kept
        d_o, d_lse = cotangents
        v = arrays["v"]
        d_o = jnp.zeros_like(o) if isinstance(d_o, SymbolicZero) else d_o
        if not isinstance(d_lse, SymbolicZero):
            v, o, d_o = _with_lse_gradient(v, o, d_o, d_lse)
        d = _backward(rules, bool(changes))({**arrays, "d_o": d_o, "o": o, "lse": lse, "v": v})
        d["v"] = d["v"][..., :arrays["v"].shape[-1]]
        axes = _axes_of(o)
        return ({name: _vary(d[name], axes) if name in d else None for name in arrays},)

    attention.defvjp(forward, backward, symbolic_zeros=True)
    return attention


def _rules(scale, softcap, is_causal, window, dim):
    if window is None or isinstance(window, int):
        window = (window, window)
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise TypeError(f"aothip: local_window_size is {window!r}, not a number or (left, right)")
    left, right = (_lib.WINDOW_UNBOUNDED if n is None else
                   check_number("local_window_size", n, int) for n in window)
    if is_causal:
        right = min(right, 0)
    if left != _lib.WINDOW_UNBOUNDED or right not in (0, _lib.WINDOW_UNBOUNDED):
        mask = _lib.MASK_WINDOW_TOP_LEFT
    else:
        mask = _lib.MASK_CAUSAL_TOP_LEFT if right == 0 else _lib.MASK_NONE
        left = right = 0
    return _Rules(float(dim ** -0.5 if scale is None else scale), float(softcap or 0), mask, left,
                  right)


def _check(name, x, *wanted):
    if x is not None and (x.ndim != len(wanted) or
                          any(n not in (1, m) if name in ("bias", "mask") else n != m
                              for n, m in zip(x.shape, wanted))):
        raise ValueError(f"aothip: {name} has shape {x.shape}, not {wanted}")


def dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False,
                          query_seq_lengths=None, key_value_seq_lengths=None,
                          local_window_size=None, softcap=0.0, return_residual=False):
    """
    jax.nn.dot_product_attention of arrays (batch, rows, heads, channels), or without the batch:
    query, key and value of float16, bfloat16 or float32; key and value with fewer heads (GQA), and
    value with other channels, if need be. bias and mask are (batch, heads, rows of query, rows of
    key), any of them 1; a bias carries gradients. softcap as in Gemma 2; return_residual: also the
    log-sum-exp, (batch, rows, heads) in float32, which carries gradients, too. Rows that see no key
    are 0, and their log-sum-exp is infinite. A side of local_window_size that is None is open.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x is None:
            raise TypeError(f"aothip: {name} is None")
    arrays = {"q": query, "k": key, "v": value, "bias": bias, "keep": mask}
    arrays = {name: None if x is None else jnp.asarray(x) for name, x in arrays.items()}
    single = arrays["q"].ndim == 3
    arrays = {name: x[(None,) * (4 - x.ndim)] if x is not None and
              (single or name in ("bias", "keep")) else x for name, x in arrays.items()}
    q, k, v = (arrays[name] for name in "qkv")
    if q.dtype not in _DTYPES:
        raise TypeError(f"aothip: query has type {q.dtype}; float16, bfloat16 and float32 are "
                        "known")
    for name, x in (("query", q), ("key", k), ("value", v)):
        if x.ndim != 4 or x.dtype != q.dtype:
            raise ValueError(f"aothip: {name} is {x.dtype}{list(x.shape)}, not of the type of "
                             "query and (batch, rows, heads, channels)")
    batch, rows, heads, dim = q.shape
    _check("key", k, batch, k.shape[1], k.shape[2], dim)
    _check("value", v, *k.shape[:3], v.shape[3])
    for name, x in (("bias", arrays["bias"]), ("mask", arrays["keep"])):
        _check(name, x, batch, heads, rows, k.shape[1])
    for name, short, x in (("query_seq_lengths", "q_lengths", query_seq_lengths),
                           ("key_value_seq_lengths", "k_lengths", key_value_seq_lengths)):
        x = None if x is None else jnp.asarray(x)
        if x is not None and not jnp.issubdtype(x.dtype, jnp.integer):
            raise TypeError(f"aothip: {name} has type {x.dtype}, not int32")
        arrays[short] = None if x is None else x.astype(jnp.int32).reshape(-1)
        _check(name, arrays[short], batch)
    if arrays["keep"] is not None and arrays["keep"].dtype != jnp.bool_:
        raise TypeError(f"aothip: mask has type {arrays['keep'].dtype}, not bool")
    if arrays["bias"] is not None and arrays["bias"].dtype not in (q.dtype, jnp.float32):
        arrays["bias"] = arrays["bias"].astype(jnp.float32)
    if isinstance(scale, jax.core.Tracer):  # the calls have it as a number
        arrays["q"], scale = (q.astype(jnp.float32) * scale).astype(q.dtype), 1.0
    _register()
    o, lse = _attention(_rules(scale, softcap, is_causal, local_window_size, dim))(
        _along_all(arrays))
    o, lse = (o[0], lse[0].T) if single else (o, lse.transpose(0, 2, 1))
    return (o, lse) if return_residual else o
