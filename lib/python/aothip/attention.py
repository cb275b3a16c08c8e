"""Attention with every feature of aothip.h: what the functions in flash.py and sdpa.py are made of.

`Problem` describes one forward computation. Arrays are NumPy arrays or torch tensors in host
memory, which are copied to the current device and back, or torch tensors on a GPU, used where they
are. An axis order names what the axes of q, k, v and o are: "bshd", "bhsd", or "shd" for sequences
packed behind each other.
"""

import ctypes
import dataclasses
import math

from . import _lib
from ._arrays import FP8, side_of, type_name

_SCALES = ("q_scale", "k_scale", "v_scale")
_AXES = {"bshd": (0, 2, 1, 3), "bhsd": (0, 1, 2, 3), "shd": (None, 1, 0, 2)}


def _window(params, causal, window, top_left):
    """flash-attention's (left, right), -1 for unbounded, into the mask of aothip.h."""
    left, right = (min(n, _lib.WINDOW_UNBOUNDED) for n in window)
    if causal:
        right = 0
    if left < 0 and right < 0:
        params.mask = _lib.MASK_NONE
        return
    if left < 0 and right == 0:
        params.mask = (_lib.MASK_CAUSAL_TOP_LEFT if top_left else
                       _lib.MASK_CAUSAL_BOTTOM_RIGHT)
        return
    params.mask = _lib.MASK_WINDOW_TOP_LEFT if top_left else _lib.MASK_WINDOW_BOTTOM_RIGHT
    params.window_left = left if left >= 0 else _lib.WINDOW_UNBOUNDED
    params.window_right = right if right >= 0 else _lib.WINDOW_UNBOUNDED


def shape_of(x):
    """The shape of an array, or of what an array can be made of."""
    if hasattr(x, "shape"):
        return tuple(x.shape)
    return (len(x),) + (shape_of(x[0]) if len(x) else ()) if isinstance(x, (list, tuple)) else ()


def _check_shape(name, x, *allowed):
    """The library gets an address only: what is too short would be read beyond its end."""
    if x is not None and shape_of(x) not in allowed:
        raise ValueError(f"aothip: {name} has shape {shape_of(x)}, not " +
                         " or ".join(str(shape) for shape in allowed))


def _check_dims(name, x, dims):
    if not hasattr(x, "ndim"):
        raise TypeError(f"aothip: {name} must be an array, not {type(x).__name__}")
    if x.ndim != dims:
        raise ValueError(f"aothip: {name} has {x.ndim} dimensions instead of {dims}")


def check_number(name, x, kind):
    try:
        return kind(x)
    except (TypeError, ValueError):
        raise TypeError(f"aothip: {name} is {x!r}, not a number") from None


@dataclasses.dataclass(eq=False)
class Problem:
    """
    q, k, v         arrays in axis order `order`; k and v may have fewer heads (GQA), and be of FP8
                    where q has 16 bits, and where the GPU multiplies that type, so may q
    fp8             "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz" or "float8_e5m2fnuz": what
                    those of q, k and v are that have the type uint8
    q_scale, k_scale, v_scale   float32 (), (heads of k) or (batch, heads of k): what elements of
                    FP8 are multiplied by; None: 1
    out_dtype       "float16" or "bfloat16", the type of o where q is of FP8; None: that of `out`,
                    else bfloat16 for torch and float16 for NumPy
    scale           None: 1 / sqrt(head dim)
    causal, window  as in flash-attention; aligned at the bottom right, or top left if top_left;
                    -1 or None: unbounded
    softcap, alibi_slopes ((heads) or (batch, heads) float32), sinks ((heads) float32)
    bias            float (batch, heads, seq_q, seq_k), any of them 1, added to the scaled scores
    keep            bool of the same shape, True where a key takes part
    dropout_p, seed (seed, offset): two integers, or an array of two int64, which is read on the
                    device; None: drawn from NumPy's or torch's generator
    cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, seqused_k   order "shd" only; without
                    cu_seqlens_k, k and v are (batch, rows, heads, dim), or in pages
    leftpad_k       int32 (batch), order "shd" only: how many rows of each sequence of k and v,
                    seqused_k included, come before its first
    lengths, starts int32 (batch): rows that count of k and v, and from which row on
    block_table     int32 (batch, pages of a sequence): k and v are (pages, page rows, heads, dim)
    batch_index     int32 (batch): which batch entry of k and v
    k_new, v_new    new rows, written into k and v behind `lengths` (changed in place)
    rotary          (cos, sin, interleaved)
    splits, atomics see aothip.h; atomics are of backward()

    Errors: TypeError and ValueError, of arguments that do not fit each other; ArgumentError (a
    ValueError) and UnsupportedError of aothip.h.

    Calling a problem gives (o, lse), and for torch tensors both carry gradients to q, k, v, bias,
    sinks and alibi_slopes.
    """

    q: object
    k: object
    v: object
    order: str
    scale: float = None
    causal: bool = False
    window: tuple = (-1, -1)
    top_left: bool = False
    softcap: float = 0.0
    alibi_slopes: object = None
    sinks: object = None
    bias: object = None
    keep: object = None
    dropout_p: float = 0.0
    seed: tuple = None
    cu_seqlens_q: object = None
    cu_seqlens_k: object = None
    max_seqlen_q: int = 0
    max_seqlen_k: int = 0
    seqused_k: object = None
    leftpad_k: object = None
    lengths: object = None
    starts: object = None
    block_table: object = None
    batch_index: object = None
    k_new: object = None
    v_new: object = None
    rotary: tuple = None
    splits: int = 0
    fp8: str = None
    q_scale: object = None
    k_scale: object = None
    v_scale: object = None
    out_dtype: str = None
    atomics: bool = False

    def __post_init__(self):
        if self.order not in _AXES:
            raise ValueError(f"aothip: order is {self.order!r}, not one of " + ", ".join(_AXES))
        dims = len(self.order)
        cache_dims = 4 if self.block_table is not None or self._keys_padded() else dims
        wanted = {"q": dims, "k": cache_dims, "v": cache_dims}
        if self.k_new is not None or self.v_new is not None:
            wanted.update(k_new=4, v_new=4)
        wanted.update({name: 4 for name in ("bias", "keep") if getattr(self, name) is not None})
        for name, n in wanted.items():
            _check_dims(name, getattr(self, name), n)
        side = side_of(self.q, self.k, self.v)
        self._check_numbers()
        self._check_arrays()
        if self.rotary is not None:
            self._check_rotary()
        if self.dropout_p > 0:
            self._check_seed(side)
        if self.fp8 is not None and self.fp8 not in FP8:
            raise ValueError(f"aothip: fp8 is {self.fp8!r}, not one of " + ", ".join(FP8))
        if self.out_dtype not in (None, "float16", "bfloat16"):
            raise ValueError(f"aothip: out_dtype is {self.out_dtype!r}, not float16 or bfloat16")
        if self.out_dtype is not None and not self._is_fp8(self.q):
            raise ValueError("aothip: out_dtype goes with q of FP8 alone: else out has q's type")

    def _keys_padded(self):
        """Packed queries, and keys of each sequence in a batch entry of their own."""
        return self.order == "shd" and self.cu_seqlens_k is None

    def _check_numbers(self):
        if self.scale is None:
            self.scale = float(max(self.q.shape[-1], 1)) ** -0.5
        self.softcap = 0.0 if self.softcap is None else self.softcap
        for name, kind in (("scale", float), ("softcap", float), ("dropout_p", float),
                           ("max_seqlen_q", int), ("max_seqlen_k", int), ("splits", int)):
            setattr(self, name, check_number(name, getattr(self, name), kind))
        window = (-1, -1) if self.window is None else self.window
        if not isinstance(window, (tuple, list)) or len(window) != 2:
            raise TypeError(f"aothip: window is {window!r}, not (left, right)")
        self.window = tuple(-1 if n is None else check_number("window", n, int) for n in window)

    def _check_seed(self, side):
        if self.seed is None:
            self.seed = side.random()
        if isinstance(self.seed, tuple):
            if len(self.seed) != 2:
                raise ValueError(f"aothip: seed has {len(self.seed)} numbers, not (seed, offset)")
            self.seed = tuple(check_number("seed", n, int) for n in self.seed)
        else:
            _check_shape("seed", self.seed, (2,))

    def _check_arrays(self):
        heads, batch = self.q.shape[2 if self.order == "bshd" else 1], self.q.shape[0]
        if self.order == "shd":
            if self.cu_seqlens_q is None:
                raise ValueError("aothip: cu_seqlens_q must be given")
            if self.cu_seqlens_k is None and (self.seqused_k is None or self.leftpad_k is not None):
                raise ValueError("aothip: cu_seqlens_k must be given, or seqused_k without "
                                 "leftpad_k")
            batch = max((shape_of(self.cu_seqlens_q) or (0,))[0] - 1, 0)
            _check_shape("cu_seqlens_q", self.cu_seqlens_q, (batch + 1,))
            _check_shape("cu_seqlens_k", self.cu_seqlens_k, (batch + 1,))
            _check_shape("leftpad_k", self.leftpad_k, (batch,))
        _check_shape("alibi_slopes", self.alibi_slopes, (heads,), (batch, heads))
        _check_shape("sinks (s_aux)", self.sinks, (heads,))
        heads_k = self.k.shape[self._key_axes()[1]]
        for name in _SCALES:
            _check_shape(f"{name} ({name.replace('scale', 'descale')})", getattr(self, name),
                         (), (1,), (heads_k,), (batch, heads_k))
        _check_shape("seqused_k", self.seqused_k, (batch,))
        _check_shape("lengths (cache_seqlens)", self.lengths, (batch,))
        _check_shape("starts (cache_leftpad)", self.starts, (batch,))
        _check_shape("batch_index (cache_batch_idx)", self.batch_index, (batch,))
        if self.block_table is not None:
            _check_shape("block_table", self.block_table,
                         (batch, (shape_of(self.block_table) or (0,))[-1]))
            for name in ("starts", "leftpad_k"):
                if getattr(self, name) is not None:
                    name = name.replace("starts", "starts (cache_leftpad)")
                    raise ValueError(f"aothip: {name} does not go with block_table")

    def _check_rotary(self):
        if not isinstance(self.rotary, tuple) or len(self.rotary) != 3:
            raise TypeError("aothip: rotary must be (cos, sin, interleaved)")
        cos, sin, _ = self.rotary
        _check_dims("rotary_cos", cos, 2)
        _check_shape("rotary_sin", sin, tuple(cos.shape))
        for name, x in (("rotary_cos", cos), ("rotary_sin", sin)):
            if x.dtype != self.q.dtype:
                raise TypeError(f"aothip: {name} has type {x.dtype}, but q {self.q.dtype}")

    # Shapes of what is computed.

    def out_shape(self):
        return tuple(self.q.shape[:-1]) + (self.v.shape[-1],)

    def lse_shape(self):
        if self.order == "shd":
            return (self.q.shape[1], self.q.shape[0])
        b, s, h = self.q.shape[0], self.q.shape[1], self.q.shape[2]
        return (b, h, s) if self.order == "bshd" else (b, s, h)

    def lse_shapes(self):
        """lse_shape(), and how the caller's lse may lie, too: padded to the longest sequence."""
        if self.order != "shd" or self.max_seqlen_q < 1:
            return (self.lse_shape(),)
        return (self.lse_shape(),
                (len(self.cu_seqlens_q) - 1, self.q.shape[1], self.max_seqlen_q))

    def score_shape(self):
        heads = self.q.shape[{"bshd": 2, "bhsd": 1, "shd": 1}[self.order]]
        if self.order == "shd":
            return (len(self.cu_seqlens_q) - 1, heads, self.max_seqlen_q, self.max_seqlen_k)
        seq = {"bshd": 1, "bhsd": 2}[self.order]
        if self.block_table is not None:
            keys = self.k.shape[1] * shape_of(self.block_table)[1]
        else:
            keys = self.k.shape[seq]
        return (self.q.shape[0], heads, self.q.shape[seq], keys)

    def _is_fp8(self, x):
        name = type_name(x)
        return name in FP8 or (self.fp8 is not None and name == "uint8")

    def _out_dtype(self, out):
        """The type of o where it is not that of q."""
        if not self._is_fp8(self.q):
            return None
        if self.out_dtype is not None or out is None:
            return self.out_dtype or ("bfloat16" if hasattr(self.q, "data_ptr") else "float16")
        name = type_name(out)
        return name if name in ("float16", "bfloat16") else "float16 or bfloat16"

    def _result(self, side, given, name, shape, like, dtype=None, other=()):
        """The caller's array for a result, of this shape or of an `other`, or a new one: of zeros
        where kernels may leave some of it untouched, rows of no sequence and all that depends on
        nothing."""
        if given is not None:
            _check_shape(name, given, shape, *other)
            wanted = dtype or side._name(like, name)
            if side._name(given, name) != wanted:
                raise TypeError(f"aothip: {name} has type {given.dtype}, not {wanted}")
            return given
        whole = (self.order != "shd" and self.lengths is None and self.starts is None and
                 0 not in tuple(self.q.shape) + tuple(self.k.shape))
        return (side.empty if whole else side.zeros)(shape, like, dtype)

    # The C struct.

    def _padded(self, side, p):
        """Sequences of k and v that begin later than where cu_seqlens_k says."""
        cu = side.like(self.cu_seqlens_k, "int32")
        pad = side.like(self.leftpad_k, "int32")
        used = cu[1:] - cu[:-1] if self.seqused_k is None else side.like(self.seqused_k, "int32")
        p.k_seqs.starts = side.vector(cu[:-1] + pad, "int32", "leftpad_k")
        p.k_seqs.lengths = side.vector(used - pad, "int32", "leftpad_k")

    def _sequences(self, side, p):
        if self.order == "shd":
            p.sequences = len(self.cu_seqlens_q) - 1
            p.q_seqs.packed = 1
            p.q_seqs.cumulative = side.vector(self.cu_seqlens_q, "int32", "cu_seqlens_q")
            p.q_seqs.max = self.max_seqlen_q
            p.lse_layout = _lib.LSE_HEADS
            p.k_seqs.cumulative = side.vector(self.cu_seqlens_k, "int32", "cu_seqlens_k")
            p.k_seqs.max = self.max_seqlen_k
            p.k_seqs.packed = int(self.block_table is None and not self._keys_padded())
            if self.leftpad_k is not None:
                self._padded(side, p)
            elif self.seqused_k is not None:
                p.k_seqs.lengths = side.vector(self.seqused_k, "int32", "seqused_k")
            return
        if self.lengths is not None:
            p.k_seqs.lengths = side.vector(self.lengths, "int32", "lengths")
        if self.starts is not None:
            p.k_seqs.starts = side.vector(self.starts, "int32", "starts")

    def _scores(self, side, p):
        p.softcap = max(self.softcap, 0.0)  # flash-attention: negative is none
        if self.alibi_slopes is not None:
            slopes = side.like(self.alibi_slopes, "float32")
            p.alibi_slopes = side.vector(slopes, "float32", "alibi_slopes")
            p.alibi_stride = slopes.shape[1] if slopes.ndim == 2 else 0
        if self.bias is not None:
            p.bias = side.tensor(self.bias, (0, 1, 2, 3), "bias")
        if self.keep is not None:
            p.keep = side.tensor(self.keep, (0, 1, 2, 3), "keep")
        p.sinks = side.vector(self.sinks, "float32", "sinks")
        p.dropout_p = self.dropout_p
        if self.dropout_p > 0 and isinstance(self.seed, tuple):
            p.dropout_seed, p.dropout_offset = self.seed
        elif self.dropout_p > 0:
            p.dropout_seed_pointer = side.vector(self.seed, "int64", "seed")
            p.dropout_offset_pointer = p.dropout_seed_pointer + 8

    def _cache(self, side, p):
        if self.block_table is not None:
            table = side.like(self.block_table, "int32")
            p.block_table = side.vector(table, "int32", "block_table")
            p.block_table_columns = p.block_table_stride = table.shape[1]
        if self.batch_index is not None:
            p.batch_index = side.vector(self.batch_index, "int32", "cache_batch_idx")
            p.sequences = self.q.shape[0]
        axes = _AXES["bshd" if self.order == "shd" else self.order]
        if self.k_new is not None:
            p.k_new = side.tensor(self.k_new, axes, "k")
            p.v_new = side.tensor(self.v_new, axes, "v")
        if self.rotary is not None:
            cos, sin, interleaved = self.rotary
            p.rotary_cos = side.vector(cos, str(cos.dtype).replace("torch.", ""), "rotary_cos")
            p.rotary_sin = side.vector(sin, str(sin.dtype).replace("torch.", ""), "rotary_sin")
            p.rotary_rows, p.rotary_stride = cos.shape
            p.rotary_dim, p.rotary_interleaved = 2 * cos.shape[1], int(bool(interleaved))
        p.splits = self.splits

    def _scales(self, side, p):
        for name in _SCALES:
            x = getattr(self, name)
            if x is None:
                continue
            scale = getattr(p, name)
            scale.data, strides = side.floats(x, name)
            # Of an axis of size 1 the stride means nothing.
            strides = [n if m > 1 else 0 for n, m in zip(strides, shape_of(x))]
            scale.stride[:] = ([0, 0] + strides)[-2:]

    def _key_axes(self):
        padded = self.block_table is not None or self._keys_padded()
        return _AXES["bshd" if padded else self.order]

    def params(self, side, o, lse, written):
        """The C struct; written: o and lse are results, else inputs."""
        p = _lib.FwdParams(struct_size=ctypes.sizeof(_lib.FwdParams), scale=self.scale)
        axes, cache = _AXES[self.order], self._key_axes()
        changed = self.k_new is not None
        p.q = side.tensor(self.q, axes, "q", fp8=self.fp8)
        p.k = side.tensor(self.k, cache, "k", written=changed, fp8=self.fp8)
        p.v = side.tensor(self.v, cache, "v", written=changed, fp8=self.fp8)
        p.o = side.tensor(o, axes, "out", written=written)
        p.lse = side.vector(lse, "float32", "lse", written=written)
        _window(p, self.causal, self.window, self.top_left)
        self._sequences(side, p)
        if self.order == "shd" and lse.ndim == 3:
            p.lse_layout, p.lse_size = _lib.LSE_ROWS, math.prod(lse.shape)
        self._scores(side, p)
        self._cache(side, p)
        self._scales(side, p)
        return p

    # What can be computed.

    def __call__(self, with_probs=False):
        """forward(), and for torch tensors recorded for backward()."""
        fields = dict(vars(self))
        q, k, v, order = (fields.pop(name) for name in ("q", "k", "v", "order"))
        return attend(q, k, v, order, fields, with_probs)

    def forward(self, with_probs=False, out=None, lse=None):
        """(o, lse) or (o, lse, probs): probs is P / (1 - dropout_p), negative where dropped. out
        and lse, where given, are written and returned; rows of no sequence keep what they hold.
        In order "shd", a given lse may also be (sequences, heads, max_seqlen_q). Records no
        gradients."""
        with side_of(self.q, self.k, self.v) as side:
            o = self._result(side, out, "out", self.out_shape(), self.q, self._out_dtype(out))
            lse = self._result(side, lse, "lse", self.lse_shape(), self.q, "float32",
                               self.lse_shapes()[1:])
            p = self.params(side, o, lse, written=True)
            if with_probs:
                probs = side.zeros(self.score_shape(), self.q)
                p.probs = side.tensor(probs, (0, 1, 2, 3), "probs", written=True)
                p.probs_dropped = 1
            size = ctypes.c_size_t()
            _lib.check(_lib.lib.aothip_attn_fwd_workspace(_lib.context(), p, side.stream, size))
            if size.value:
                p.workspace, p.workspace_size = side.scratch(size.value), size.value
            _lib.check(_lib.lib.aothip_attn_fwd(_lib.context(), p, side.stream))
        return (o, lse, probs) if with_probs else (o, lse)

    def backward(self, d_o, o, lse, also=(), dq=None, dk=None, dv=None, delta=None):
        """Gradients of sum(o * d_o): a dict of dq, dk, dv, and of those that `also` names: "bias"
        is dbias, "sinks" dsinks, "alibi_slopes" dalibi_slopes. dq, dk, dv, where given, are written
        and returned; rows of no sequence keep what they hold. delta, float32 of lse's shape, is
        room that is written over, where none is to be allocated."""
        axes = _AXES[self.order]
        for name, x in (("dout", d_o), ("out", o)):
            _check_dims(name, x, len(self.order))
            _check_shape(name, x, self.out_shape())
        _check_shape("lse", lse, *self.lse_shapes())
        with side_of(self.q, self.k, self.v, d_o, o, lse) as side:
            result = {name: self._result(side, given, name, tuple(x.shape), x)
                      for name, given, x in (("dq", dq, self.q), ("dk", dk, self.k),
                                             ("dv", dv, self.v))}
            p = self.params(side, o, lse, written=False)
            p.splits = 0  # forward alone has them
            b = _lib.BwdParams(struct_size=ctypes.sizeof(_lib.BwdParams))
            b.fwd = ctypes.pointer(p)
            b.atomics = int(self.atomics)
            b.d_o = side.tensor(d_o, axes, "dout")
            for name, at in (("dq", axes), ("dk", self._key_axes()), ("dv", self._key_axes())):
                setattr(b, name, side.tensor(result[name], at, name, written=True, fp8=self.fp8))
            if delta is not None:
                _check_shape("delta", delta, tuple(lse.shape))
                b.delta = side.vector(delta, "float32", "delta", written=True)
            self._other_gradients(side, b, also, result)
            size = ctypes.c_size_t()
            _lib.check(_lib.lib.aothip_attn_bwd_workspace(_lib.context(), b, side.stream, size))
            if size.value:
                b.workspace, b.workspace_size = side.scratch(size.value), size.value
            _lib.check(_lib.lib.aothip_attn_bwd(_lib.context(), b, side.stream))
        return result

    def _other_gradients(self, side, b, also, result):
        for name in also:
            if getattr(self, name, None) is None and name in ("bias", "sinks", "alibi_slopes"):
                raise ValueError(f"aothip: a gradient of {name} is asked for, but the problem has "
                                 "none")
        if "bias" in also:
            result["dbias"] = side.zeros(tuple(self.bias.shape), self.bias)
            b.dbias = side.tensor(result["dbias"], (0, 1, 2, 3), "dbias", written=True)
        for name, field in (("sinks", "dsinks"), ("alibi_slopes", "dalibi")):
            if name in also:
                result["d" + name] = side.zeros(shape_of(getattr(self, name)), self.q, "float32")
                setattr(b, field, side.vector(result["d" + name], "float32", "d" + name,
                                              written=True))


def attend(q, k, v, order, fields, with_probs=False, out=None, with_lse=True):
    """(o, lse) or (o, lse, probs) of Problem(q, k, v, order, **fields), with gradients; with out,
    written there, without. Not with_lse: that may be None, where time is saved by it."""
    if out is not None or not hasattr(q, "data_ptr"):
        return Problem(q, k, v, order, **fields).forward(with_probs, out=out)
    return (_attend_torch or _load_torch())(q, k, v, order, fields, with_probs, with_lse)


_attend_torch = None


def _load_torch():
    global _attend_torch
    from ._torch import attend

    _attend_torch = attend
    return attend
