"""
PyTorch as it is installed, computing with aothip: see enable().

PyTorch's own operators for fused attention get other kernels, for one device type, by the door that
torch.nn.attention has for this, or through torch.library where it has none. What they return, and
in which strides, is what PyTorch's own kernels promise, so autograd, torch.compile and models need
not know. Only what PyTorch's eligibility checks let through comes there; with everything=True
scaled_dot_product_attention as a whole does.
"""

import inspect
import warnings

import torch
from torch.nn import attention as doors

from . import pytorch_lower
from .attention import Problem
from .sdpa import mask_four, scaled_dot_product_attention

_NAME = "AOTHIP"
_TYPES = (torch.float16, torch.bfloat16, torch.float32)
_MOST_CHANNELS = 512
aten = torch.ops.aten


def _computable(*tensors):
    return all(x.dtype in _TYPES and 0 < x.shape[-1] <= _MOST_CHANNELS and
               x.layout == torch.strided for x in tensors)


def _dense(q, k, v, causal, scale, mask=None, **fields):
    """The problem of scaled_dot_product_attention's arguments."""
    if mask is not None:
        mask = mask_four(mask, tuple(q.shape[:-1]) + (k.shape[-2],))
        fields["keep" if mask.dtype == torch.bool else "bias"] = mask
    return Problem(q, k, v, "bhsd", scale=scale, causal=causal, top_left=True, **fields)


def _seq_first(x, channels=None):
    """An empty tensor like x, perhaps of other channels, in memory as batch, sequence, head."""
    b, h, s, d = x.shape
    return x.new_empty((b, s, h, channels or d)).transpose(1, 2)


def _seed(dropout_p, q):
    """(seed, offset) as tensors without dimensions, and as one of two elements for Problem."""
    if dropout_p > 0:
        both = torch.randint(0, 2**63 - 1, (2,), device=q.device)
    else:
        both = torch.zeros(2, dtype=torch.int64, device=q.device)
    return both[0].clone(), both[1].clone(), both


def _gradients(problem, d_o, out, lse, strides_of, also=()):
    return problem.backward(d_o, out, lse.contiguous(), also, strides_of(problem.q),
                            strides_of(problem.k), strides_of(problem.v))


# On the CPU: tensors are copied to the device and back.


def _cpu_fwd(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    problem = _dense(query, key, value, is_causal, scale, attn_mask, dropout_p=dropout_p)
    o, lse = problem.forward(out=torch.empty_like(query))
    return o, lse.transpose(1, 2).contiguous().transpose(1, 2)


def _cpu_bwd(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None,
             scale=None):
    problem = _dense(query, key, value, is_causal, scale, attn_mask, dropout_p=dropout_p)
    d = _gradients(problem, grad_out, out, logsumexp, _seq_first)
    return d["dq"], d["dk"], d["dv"]


# On a GPU. Debug masks are never asked for by anything but PyTorch's own tests.


def _flash_fwd(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
               scale=None):
    seed, offset, both = _seed(dropout_p, query)
    problem = _dense(query, key, value, is_causal, scale, dropout_p=dropout_p, seed=both)
    out = torch.empty_like(query) if query.shape[-1] == value.shape[-1] else None
    o, lse = problem.forward(out=out)
    return (o, lse, None, None, query.shape[2], key.shape[2], seed, offset, query.new_empty(0))


def _flash_bwd(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
               dropout_p, is_causal, philox_seed, philox_offset, *, scale=None):
    seed = torch.stack([philox_seed, philox_offset]) if dropout_p > 0 else None
    problem = _dense(query, key, value, is_causal, scale, dropout_p=dropout_p, seed=seed)
    d = _gradients(problem, grad_out, out, logsumexp, torch.empty_like)
    return d["dq"], d["dk"], d["dv"]


def _efficient_fwd(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False,
                   *, scale=None):
    seed, offset, both = _seed(dropout_p, query)
    problem = _dense(query, key, value, is_causal, scale, attn_bias, dropout_p=dropout_p, seed=both)
    o, lse = problem.forward(out=_seq_first(query, value.shape[-1]))
    return o, lse if compute_log_sumexp else lse[..., :0].contiguous(), seed, offset


def _efficient_bwd(grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed,
                   philox_offset, dropout_p, grad_input_mask, is_causal=False, *, scale=None):
    if grad_out_ is None:
        return None, None, None, None
    seed = torch.stack([philox_seed, philox_offset]) if dropout_p > 0 else None
    if attn_bias is not None and not attn_bias.numel():
        attn_bias = None
    problem = _dense(query, key, value, is_causal, scale, attn_bias, dropout_p=dropout_p, seed=seed)
    also = ("bias",) if attn_bias is not None and grad_input_mask[3] else ()
    d = _gradients(problem, grad_out_, out, logsumexp, _seq_first, also)
    d_bias = d["dbias"].reshape(attn_bias.shape) if also else None
    return d["dq"], d["dk"], d["dv"], d_bias


_KERNELS = {
    "CPU": {"_scaled_dot_product_flash_attention_for_cpu": _cpu_fwd,
            "_scaled_dot_product_flash_attention_for_cpu_backward": _cpu_bwd},
    "CUDA": {"_scaled_dot_product_flash_attention": _flash_fwd,
             "_scaled_dot_product_flash_attention_backward": _flash_bwd,
             "_scaled_dot_product_efficient_attention": _efficient_fwd,
             "_scaled_dot_product_efficient_attention_backward": _efficient_bwd,
             **pytorch_lower.KERNELS},
}


def _fitting(query, key, value, attn_mask, is_causal, enable_gqa):
    """query, key and value of one shape but for rows and channels, and where enable_gqa heads; None
    where they cannot be, or where PyTorch has something to say of them."""
    tensors = query, key, value
    if (not all(x.ndim >= 2 and not x.is_nested and x.dtype == query.dtype for x in tensors) or
            not _computable(*tensors) or query.shape[-1] != key.shape[-1] or
            key.shape[-2] != value.shape[-2]):
        return None
    if attn_mask is not None and (is_causal or attn_mask.ndim < 2 or attn_mask.is_nested or
                                  attn_mask.dtype not in (torch.bool, torch.float32, query.dtype)):
        return None
    outer = [x.shape[:-2] for x in tensors]
    if outer[0] == outer[1] == outer[2]:
        return tensors
    if enable_gqa:
        heads, of_keys = outer[0][-1:], outer[1][-1:]
        fits = (outer[1] == outer[2] and outer[0][:-1] == outer[1][:-1] and
                0 not in of_keys and heads[0] % of_keys[0] == 0)
        return tensors if fits else None
    try:
        whole = torch.broadcast_shapes(*outer)
    except RuntimeError:
        return None
    return [x.expand(*whole, *x.shape[-2:]) for x in tensors]


def _whole(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
           enable_gqa=False):
    """scaled_dot_product_attention itself: ours where we can, else what PyTorch makes of it."""
    fitting = _fitting(query, key, value, attn_mask, is_causal, enable_gqa)
    if fitting is not None:
        return scaled_dot_product_attention(*fitting, attn_mask, dropout_p, is_causal, scale,
                                            enable_gqa)
    own = aten.scaled_dot_product_attention.default
    return own.decompose(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                         enable_gqa=enable_gqa)


def _or_own(name, ours, key):
    """`ours`, but PyTorch's own kernel for tensors that aothip does not compute, float64 above
    all; the keys of the dispatcher come first."""
    own = torch.library.get_kernel("aten::" + name, key) if hasattr(torch.library, "get_kernel") \
        else None
    first = list(inspect.signature(ours).parameters).index("query")

    def kernel(keys, *arguments, **named):
        q, k, v = arguments[first:first + 3]
        found = ours(*arguments, **named) if _computable(q, k, v) else NotImplemented
        if found is not NotImplemented:
            return found
        if own is None:
            raise NotImplementedError(f"aothip: {name} of {q.dtype} with {q.shape[-1]} channels, "
                                      "or with these options, is not computed, and this torch "
                                      "cannot be asked for its own kernel: call aothip.disable()")
        return own.call_boxed(keys, *arguments, **named)

    return kernel


class _Registered:
    """Kernels in PyTorch's dispatcher, until remove()."""

    def __init__(self, key, everything):
        self.library = torch.library.Library("aten", "IMPL")
        options = {}
        if "allow_override" in inspect.signature(self.library.impl).parameters:
            options["allow_override"] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that kernels are replaced, as is the purpose
            for name, ours in _KERNELS[key].items():
                self.library.impl(name, _or_own(name, ours, key), key, with_keyset=True, **options)
            if everything:
                for where in (key, "Autograd" + key):
                    self.library.impl("scaled_dot_product_attention", _whole, where, **options)

    def remove(self):
        self.library._destroy()


_registered = None


class _Until:
    """What enable() returns: as a context manager, disables at its end."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        disable()


def enable(device=None, everything=False):
    """See aothip.enable()."""
    global _registered
    if device is None:
        device = "cuda" if torch.version.hip else "cpu"
    key = {"cuda": "CUDA", "cpu": "CPU"}.get(device)
    if key is None:
        raise ValueError(f"aothip: device is {device!r}, neither 'cuda' nor 'cpu'")
    disable()
    if hasattr(doors, "register_flash_attention_impl"):
        doors.register_flash_attention_impl(_NAME,
                                            register_fn=lambda: _Registered(key, everything))
        doors.activate_flash_attention_impl(_NAME)
    else:
        _registered = _Registered(key, everything)
    return _Until()


def disable():
    """See aothip.disable()."""
    global _registered
    if _registered is not None:
        _registered.remove()
        _registered = None
    elif hasattr(doors, "current_flash_attention_impl"):
        if doors.current_flash_attention_impl() == _NAME:
            doors.restore_flash_attention_impl()
