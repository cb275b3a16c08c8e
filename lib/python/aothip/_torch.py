"""
aothip's operators in torch, torch.ops.aothip.*: real ones, which are a Problem each, their shapes
for whoever traces, their gradients, and what vmap makes of them. Imported only for torch tensors.
"""

import inspect

import torch

from . import _jagged, _quick, attention
from ._autograd import (DIFFERENTIABLE, gradients, refuse_twice, run_quickly,
                        run_with_gradients)

# Before torch 2.5 a library could not register all of this: there run_with_gradients() does.
AVAILABLE = hasattr(torch.library, "register_vmap")

_TENSORS = ("q", "k", "v", "bias", "keep", "alibi_slopes", "sinks", "cu_seqlens_q", "cu_seqlens_k",
            "seqused_k", "leftpad_k", "lengths", "starts", "block_table", "batch_index", "seed",
            "q_scale", "k_scale", "v_scale")
_OTHERS = {"order": "str", "scale": "float?", "causal": "bool", "window_left": "SymInt",
           "window_right": "SymInt", "top_left": "bool", "softcap": "float", "dropout_p": "float",
           "max_seqlen_q": "SymInt", "max_seqlen_k": "SymInt", "splits": "int", "fp8": "str?",
           "out_dtype": "str?", "atomics": "bool"}
_NAMES = _TENSORS + tuple(_OTHERS)
_ARRAYS = ("bias", "keep")  # as big as the scores: never moved from one device to another

_PROBLEM = ", ".join(["Tensor q", "Tensor k", "Tensor v"] + ["Tensor? " + n for n in _TENSORS[3:]] +
                     [f"{kind} {name}" for name, kind in _OTHERS.items()])
_CACHE = _PROBLEM.replace("Tensor k", "Tensor(a!) k").replace("Tensor v", "Tensor(b!) v")


def _problem(values, **more):
    fields = dict(zip(_NAMES, values))
    fields["window"] = fields.pop("window_left"), fields.pop("window_right")
    return attention.Problem(**fields, **more)


# The operators.


def _attn_fwd(*arguments):
    *values, with_probs = arguments
    o, lse, *probs = _problem(values).forward(with_probs)
    return o, lse, probs[0] if probs else o.new_empty(0)


def _version_counter():
    """increment_version() of several tensors at once, which older torch takes one by one."""
    count = getattr(torch.autograd.graph, "increment_version", lambda x: None)
    try:
        count((torch.empty(0),))
    except (AttributeError, TypeError):
        return lambda tensors: [count(x) for x in tensors]
    return count


_mark_changed = _version_counter()  # tells autograd of a cache that has grown


def _attn_cache(k_new, v_new, cos, sin, interleaved, *values):
    rotary = None if cos is None else (cos, sin, interleaved)
    problem = _problem(values, k_new=k_new, v_new=v_new, rotary=rotary)
    result = problem.forward()
    if problem.k_new is not None:
        _mark_changed((problem.k, problem.v))
    return result


def _attn_bwd(d_o, d_lse, o, lse, *arguments):
    *values, wanted = arguments
    problem = _problem(values)
    d = gradients(problem, d_o, d_lse, o, lse, wanted.split())
    return tuple(d["d" + name].contiguous() if name in wanted.split() else o.new_empty(0)
                 for name in DIFFERENTIABLE)


def _attn_merge(o, lse, part_o, part_lse, order):
    from .merge import _merge

    _merge(o, lse, part_o, part_lse, order)
    _mark_changed((o, lse))


# Shapes.


def _fake_fwd(*arguments):
    *values, with_probs = arguments
    f = dict(zip(_NAMES, values))
    q, k, v = f["q"], f["k"], f["v"]
    heads = q.shape[2] if f["order"] == "bshd" else q.shape[1]
    rows = q.shape[{"bshd": 1, "bhsd": 2, "shd": 0}[f["order"]]]
    lse = (heads, rows) if f["order"] == "shd" else (q.shape[0], heads, rows)
    if not with_probs:
        probs = (0,)
    elif f["order"] == "shd":
        probs = (f["cu_seqlens_q"].shape[0] - 1, heads, f["max_seqlen_q"], f["max_seqlen_k"])
    else:
        keys = k.shape[1 if f["order"] == "bshd" else 2]
        if f["block_table"] is not None:
            keys = keys * f["block_table"].shape[1]
        probs = (q.shape[0], heads, rows, keys)
    fp8 = q.element_size() == 1
    of_o = getattr(torch, f["out_dtype"] or "bfloat16") if fp8 else q.dtype
    return (q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=of_o),
            q.new_empty(lse, dtype=torch.float32), q.new_empty(probs, dtype=of_o))


def _fake_cache(k_new, v_new, cos, sin, interleaved, *values):
    return _fake_fwd(*values, False)[:2]


def _fake_bwd(d_o, d_lse, o, lse, *arguments):
    *values, wanted = arguments
    f = dict(zip(_NAMES, values))
    kinds = {"sinks": torch.float32, "alibi_slopes": torch.float32}
    return tuple(f[name].new_empty(f[name].shape, dtype=kinds.get(name, f[name].dtype))
                 if name in wanted.split() else o.new_empty(0) for name in DIFFERENTIABLE)


# Gradients.


def _setup_fwd(ctx, inputs, output):
    ctx.others = inputs[len(_TENSORS):-1]
    ctx.save_for_backward(*inputs[:len(_TENSORS)], *output[:2])
    ctx.mark_non_differentiable(output[2])
    ctx.set_materialize_grads(False)


def _backward_fwd(ctx, d_o, d_lse, _):
    *tensors, o, lse = ctx.saved_tensors
    needed = dict(zip(_NAMES, ctx.needs_input_grad))
    wanted = [name for name in DIFFERENTIABLE if needed[name]]
    bwd = _Gradients.apply if _transforming() else torch.ops.aothip.attn_bwd
    found = bwd(d_o, d_lse, o, lse, *tensors, *ctx.others, " ".join(wanted))
    d = dict(zip(DIFFERENTIABLE, found))
    return tuple(d[name].to(x.dtype) if name in wanted else None
                 for name, x in zip(_TENSORS, tensors)) + (None,) * (len(_OTHERS) + 1)


# vmap: its axis becomes part of the batch.


def _front(x, axis, n):
    return x.movedim(axis, 0) if axis is not None else x.expand(n, *x.shape)


def _folded(n, axes, values, split):
    """(values, of which the vmapped axis is folded into the batch; what was expanded by how much).
    split: bias and slopes get a gradient for each of the n."""
    f, at = dict(zip(_NAMES, values)), dict(zip(_NAMES, axes))
    if f["order"] == "shd" or f["block_table"] is not None or f["batch_index"] is not None:
        raise NotImplementedError("aothip: vmap knows neither packed sequences nor pages")
    if at["sinks"] is not None or (split and f["sinks"] is not None and "sinks" in split):
        raise NotImplementedError("aothip: vmap over sinks is not known")
    if at["seed"] is not None:
        f["seed"] = f["seed"].select(at["seed"], 0)  # entries of a batch differ in any case
    elif f["seed"] is not None and f["dropout_p"] > 0:
        raise NotImplementedError("aothip: dropout under vmap needs randomness='different'")
    if any(at[name] is not None or getattr(f[name], "ndim", 0) == 2
           for name in ("q_scale", "k_scale", "v_scale")):
        raise NotImplementedError("aothip: vmap knows scales of FP8 for all sequences alone")
    q = _front(f["q"], at["q"], n)
    batch = q.shape[1]
    f["q"] = q.flatten(0, 1)
    for name in ("k", "v", "lengths", "starts"):
        if f[name] is not None:
            f[name] = _front(f[name], at[name], n).flatten(0, 1)
    for name in ("bias", "keep"):
        if f[name] is not None and (at[name] is not None or f[name].shape[0] != 1 or
                                    name in split):
            x = _front(f[name], at[name], n)
            f[name] = x.expand(n, batch, *x.shape[2:]).flatten(0, 1)
    x = f["alibi_slopes"]
    if x is not None and (at["alibi_slopes"] is not None or x.ndim == 2 or "alibi_slopes" in split):
        x = _front(x, at["alibi_slopes"], n)
        x = x[:, None] if x.ndim == 2 else x
        f["alibi_slopes"] = x.expand(n, batch, x.shape[-1]).flatten(0, 1)
    return [f[name] for name in _NAMES], batch


def _vmap_fwd(info, in_dims, *arguments):
    n = info.batch_size
    values, batch = _folded(n, in_dims[:-1], arguments[:-1], ())
    o, lse, probs = torch.ops.aothip.attn_fwd(*values, arguments[-1])
    out = [x.unflatten(0, (n, batch)) for x in (o, lse)]
    if not arguments[-1]:
        return (*out, probs), (0, 0, None)
    return (*out, probs.unflatten(0, (n, batch))), (0, 0, 0)


def _vmap_bwd(info, in_dims, *arguments):
    n, wanted = info.batch_size, arguments[-1].split()
    values, batch = _folded(n, in_dims[4:-1], arguments[4:-1], wanted)
    outer = [None if x is None else _front(x, axis, n).flatten(0, 1)
             for x, axis in zip(arguments[:4], in_dims)]
    found = torch.ops.aothip.attn_bwd(*outer, *values, arguments[-1])
    before, result, axes = dict(zip(_NAMES, zip(arguments[4:], in_dims[4:]))), [], []
    for name, d in zip(DIFFERENTIABLE, found):
        axes.append(0 if name in wanted else None)
        if name in wanted:
            d = d.unflatten(0, (n, batch))
            x, axis = before[name]
            if name == "bias" and x.shape[1 if axis == 0 else 0] == 1:
                d = d.sum(1, keepdim=True)
            if name == "alibi_slopes" and x.ndim - (axis is not None) == 1:
                d = d.sum(1)
        result.append(d)
    return tuple(result), tuple(axes)


# torch.func's transforms know autograd.Function, but not the gradients of operators of a library.


def _transforming():
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


class _Attention(torch.autograd.Function):
    setup_context = staticmethod(_setup_fwd)
    backward = staticmethod(_backward_fwd)
    vmap = staticmethod(_vmap_fwd)

    @staticmethod
    def forward(*arguments):
        return torch.ops.aothip.attn_fwd(*arguments)


class _Gradients(torch.autograd.Function):
    backward = staticmethod(refuse_twice)
    vmap = staticmethod(_vmap_bwd)

    @staticmethod
    def forward(*arguments):
        return torch.ops.aothip.attn_bwd(*arguments)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


def _define():
    library = torch.library.Library("aothip", "DEF")
    three = "(Tensor, Tensor, Tensor)"
    library.define(f"attn_fwd({_PROBLEM}, bool with_probs) -> {three}")
    library.define("attn_bwd(Tensor? d_o, Tensor? d_lse, Tensor o, Tensor lse, "
                   f"{_PROBLEM}, str wanted) -> ({', '.join(['Tensor'] * 6)})")
    library.define("attn_cache(Tensor? k_new, Tensor? v_new, Tensor? rotary_cos, "
                   f"Tensor? rotary_sin, bool interleaved, {_CACHE}) -> (Tensor, Tensor)")
    library.define("attn_merge(Tensor(a!) o, Tensor(b!) lse, Tensor part_o, Tensor part_lse, "
                   "str order) -> ()")
    for name, real, fake in (("attn_merge", _attn_merge, lambda *_: None),
                             ("attn_fwd", _attn_fwd, _fake_fwd), ("attn_bwd", _attn_bwd, _fake_bwd),
                             ("attn_cache", _attn_cache, _fake_cache)):
        library.impl(name, real, "CompositeExplicitAutograd")
        torch.library.register_fake("aothip::" + name, fake, lib=library)
    torch.library.register_autograd("aothip::attn_fwd", _backward_fwd, setup_context=_setup_fwd,
                                    lib=library)
    torch.library.register_autograd("aothip::attn_bwd", refuse_twice, lib=library)
    torch.library.register_vmap("aothip::attn_fwd", _vmap_fwd, lib=library)
    torch.library.register_vmap("aothip::attn_bwd", _vmap_bwd, lib=library)
    return library


_library = _define() if AVAILABLE else None


# What the functions of the module call.


def merge(o, lse, part_o, part_lse, order):
    if AVAILABLE and not (_plainly(o, part_o, part_lse) and type(lse) in _PLAIN):
        torch.ops.aothip.attn_merge(o, lse, part_o, part_lse, order)
    else:
        _attn_merge(o, lse, part_o, part_lse, order)


def _checked(name, x, q):
    """Argument `name` as the operators take it."""
    if x is None or name in _OTHERS:
        return x
    if isinstance(x, torch.Tensor):
        if (name in ("k", "v") or name in _ARRAYS) and x.device != q.device:
            raise TypeError(f"aothip: {name} is on {x.device}, the others on {q.device}")
        return x
    if name in ("k", "v") or name in _ARRAYS:
        raise TypeError(f"aothip: {name} must be a torch tensor as the others, "
                        f"not {type(x).__name__}")
    if name == "seed":  # unsigned 64 bits
        x = [n - 2**64 if n >= 2**63 else n for n in x]
    return torch.as_tensor(x, device=q.device)


_BY_KIND = hasattr(torch, "get_autocast_dtype")  # since torch 2.4


def _autocast_type(kind):
    """The type that torch.autocast asks for on devices of this kind; None outside of it."""
    if kind == "meta":
        return None
    if _BY_KIND:
        return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    if kind == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


def _autocast(f):
    """Tensors in the type that torch.autocast asks for, as it does with torch's own attention."""
    to = _autocast_type(f["q"].device.type)
    if to is None:
        return
    for name in ("q", "k", "v", "bias"):
        x = f.get(name)
        if x is not None and x.dtype in (torch.float32, torch.float16, torch.bfloat16):
            f[name] = x.to(to)


def _arguments(f):
    q = f["q"]
    window = (-1, -1) if f["window"] is None else f["window"]
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise TypeError(f"aothip: window is {window!r}, not (left, right)")
    f["window_left"], f["window_right"] = (-1 if n is None else n for n in window)
    f["softcap"] = 0.0 if f["softcap"] is None else f["softcap"]
    numbers = (int, float, torch.SymInt, torch.SymFloat)
    for name in ("scale", "softcap", "dropout_p", "window_left", "window_right", "max_seqlen_q",
                 "max_seqlen_k", "splits"):
        if not isinstance(f[name], numbers) and not (name == "scale" and f[name] is None):
            f[name] = attention.check_number(name.replace("_left", "").replace("_right", ""),
                                             f[name], float)
    for name in ("causal", "top_left", "atomics"):
        f[name] = bool(f[name])
    for name in _NAMES:
        f[name] = _checked(name, f[name], q)
    _autocast(f)
    if f["dropout_p"] > 0 and f["seed"] is None:
        f["seed"] = torch.randint(0, 2**63 - 1, (2,), device=q.device)
    return [f[name] for name in _NAMES]


_DEFAULTS = {name: parameter.default for name, parameter in
             inspect.signature(attention.Problem).parameters.items()}


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _plainly(q, k, v):
    """Whether nobody looks on: no tracing, no transform, no mode, no subclass. Then the operators,
    which take several times as long to get through, are left out."""
    return (type(q) in _PLAIN and type(k) in _PLAIN and type(v) in _PLAIN and
            not torch.compiler.is_compiling() and torch._C._len_torch_dispatch_stack() == 0 and
            not torch._C._are_functorch_transforms_active() and q.device.type != "meta")


def _attend_plainly(f, with_probs):
    _autocast(f)
    problem = attention.Problem(**f)
    if problem.k_new is None and problem.rotary is None:
        return run_with_gradients(problem, with_probs)
    result = problem.forward()
    if problem.k_new is not None:
        _mark_changed((problem.k, problem.v))
    return result


_any_autocast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)
_modes, _transforms = torch._C._len_torch_dispatch_stack, torch._C._are_functorch_transforms_active
_is_compiling = torch.compiler.is_compiling if AVAILABLE else None


def _attend_quickly(quick, q, k, v, order, fields, with_lse):
    """The same by the extension in C; None: that is not for it."""
    if fields.get("k_new") is None and fields.get("rotary") is None:
        return run_quickly(quick, q, k, v, order, fields, with_lse)
    result = quick.forward(q, k, v, order, fields, None if with_lse else False)
    if result is not None and fields.get("k_new") is not None:
        _mark_changed((k, v))
    return result


def attend(q, k, v, order, fields, with_probs=False, with_lse=True):
    """The results of the problem of these fields, with gradients where tensors want them."""
    if (AVAILABLE and not _is_compiling() and not with_probs and not fields.get("dropout_p") and
            not _modes() and not _transforms()):
        quick = _quick.for_device(q.device)
        if quick and not (_any_autocast() and _autocast_type(q.device.type) is not None):
            found = _attend_quickly(quick, q, k, v, order, fields, with_lse)
            if found is not None:
                return found
    for name, x in (("k", k), ("v", v)):
        if not hasattr(x, "ndim"):
            raise TypeError(f"aothip: {name} must be an array, not {type(x).__name__}")
    if any(getattr(x, "is_nested", False) for x in (q, k, v)):
        if with_probs:
            raise NotImplementedError("aothip: jagged tensors have no matrix of probabilities")
        return _jagged.attend(attend, q, k, v, order, fields)
    if not AVAILABLE or _plainly(q, k, v):
        return _attend_plainly(dict(fields, q=q, k=k, v=v, order=order), with_probs)
    f = dict(_DEFAULTS, q=q, k=k, v=v, order=order, **fields)
    if f["k_new"] is None and f["v_new"] is None and f["rotary"] is None:
        fwd = _Attention.apply if _transforming() else torch.ops.aothip.attn_fwd
        o, lse, probs = fwd(*_arguments(f), with_probs)
        return (o, lse, probs) if with_probs else (o, lse)
    cos, sin, interleaved = f["rotary"] or (None, None, False)
    with torch.no_grad():
        return torch.ops.aothip.attn_cache(f["k_new"], f["v_new"], cos, sin, bool(interleaved),
                                           *_arguments(f))
