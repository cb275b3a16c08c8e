"""Problems as differentiable torch functions. Imported only for torch tensors."""

import dataclasses
import functools

import torch

from . import attention

DIFFERENTIABLE = ("q", "k", "v", "bias", "sinks", "alibi_slopes")
_MOST_CHANNELS = 512


def _widened(x, channels):
    """x with more channels, of zeros: as many as keep its rows aligned."""
    more = -(-channels // 8) * 8
    return torch.cat([x, x.new_zeros((*x.shape[:-1], more))], -1)


def _with_lse_gradient(problem, d_o, o, d_lse):
    """
    The problem, d_o and o for which backward() gives the gradients of sum(o * d_o) + sum(lse *
    d_lse). Of o it uses rowsum(o * d_o) alone, from which d_lse is to be subtracted, and of v the
    products with d_o: so channels of v that are 0, of o that hold -d_lse, and of d_o that are 1,
    are all it takes. Here they are 2, the second for what rounding takes from the first.
    """
    width = o.shape[-1]
    if width + 8 > _MOST_CHANNELS:
        raise NotImplementedError("aothip: lse carries gradients for values of at most "
                                  f"{_MOST_CHANNELS - 8} channels, these have {width}")
    d_lse = d_lse.float()
    if problem.order != "bhsd":  # (..., heads, rows) as in o: (..., rows, heads)
        d_lse = d_lse.transpose(-1, -2)
    d_lse = torch.nan_to_num(d_lse, posinf=0.0, neginf=0.0)
    # The factor keeps both sides of the product within the range of f16.
    largest = torch.stack([x.abs().amax().float() if x.numel() else x.new_zeros(()).float()
                           for x in (d_o, d_lse)]).amax()
    kind = torch.finfo(d_o.dtype)
    unit = largest.clamp(kind.tiny, kind.max).to(d_o.dtype)
    rest = -d_lse / unit.float()
    o, d_o = _widened(o, 2), _widened(d_o, 2)
    o[..., width] = rest.to(o.dtype)
    o[..., width + 1] = (rest - o[..., width].float()).to(o.dtype)
    d_o[..., width:width + 2] = unit
    return dataclasses.replace(problem, v=_widened(problem.v, 2)), d_o, o


def gradients(problem, d_o, d_lse, o, lse, wanted):
    """{"dq": ...} of what `wanted` names; d_o or d_lse may be None."""
    if d_o is None:
        d_o = torch.zeros_like(o)
    width = o.shape[-1]
    if d_lse is not None:
        problem, d_o, o = _with_lse_gradient(problem, d_o, o, d_lse)
    if torch.are_deterministic_algorithms_enabled():
        problem = dataclasses.replace(problem, atomics=False)
    found = problem.backward(d_o, o, lse, wanted)
    found["dv"] = found["dv"][..., :width]
    return found


def refuse_twice(ctx, *_):
    raise RuntimeError("aothip: the gradient of a gradient is not computed (once_differentiable)")


class _Refused(torch.autograd.Function):
    """The first of `tensors`, as something that depends on all of them and has no gradient."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tuple(x.clone() for x in tensors[:count])

    backward = staticmethod(refuse_twice)


def _once(backward):
    """A backward whose results have no gradients. PyTorch's once_differentiable takes them for
    constants where d_o is one: then what depends on them would be wrong, and nobody told."""

    @functools.wraps(backward)
    def wrapped(ctx, *d):
        with torch.no_grad():
            found = backward(ctx, *d)
        if not torch.is_grad_enabled():
            return found
        given = [x for x in found if x is not None]
        refused = iter(_Refused.apply(len(given), *given, *ctx.saved_tensors, *d))
        return tuple(None if x is None else next(refused) for x in found)

    return wrapped


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, problem, with_probs, *inputs):
        detached = {name: x.detach() if isinstance(x, torch.Tensor) else x
                    for name, x in zip(DIFFERENTIABLE, inputs)}
        ctx.problem = dataclasses.replace(problem, **detached)
        results = ctx.problem.forward(with_probs)
        # Saved inputs are checked: changing one in place before backward() is an error.
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, torch.Tensor)), *results[:2])
        ctx.mark_non_differentiable(*results[2:])
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    @_once
    def backward(ctx, d_o, d_lse, *_):
        o, lse = ctx.saved_tensors[-2:]
        wanted = [name for name, needed in zip(DIFFERENTIABLE, ctx.needs_input_grad[2:]) if needed]
        d = gradients(ctx.problem, d_o, d_lse, o, lse, wanted)
        return (None, None) + tuple(d["d" + name] if name in wanted else None
                                    for name in DIFFERENTIABLE)


def run_with_gradients(problem, with_probs):
    """problem.forward(), recorded for backward() if a tensor asks for gradients."""
    inputs = [getattr(problem, name) for name in DIFFERENTIABLE]
    if not any(getattr(x, "requires_grad", False) for x in inputs):
        return problem.forward(with_probs)
    return _Attention.apply(problem, with_probs, *inputs)


class _Quickly(torch.autograd.Function):
    """A problem that the extension computes, of which q, k and v alone may ask for gradients."""

    @staticmethod
    def forward(ctx, problem, with_lse, q, k, v, *others):
        quick, order, fields = problem
        results = quick.forward(q, k, v, order, fields, True)
        if results is None:
            raise _Declined
        o, lse, ctx.kept = results
        ctx.problem = problem
        ctx.save_for_backward(q, k, v, o, lse, *others)
        ctx.set_materialize_grads(False)
        return (o, lse) if with_lse else o  # each result takes time to record

    @staticmethod
    def backward(ctx, d_o, d_lse=None):
        if torch.is_grad_enabled():
            return _differentiated_once(ctx, d_o, d_lse)
        if d_lse is None:
            found = ctx.problem[0].backward_kept(ctx.kept, ctx.saved_tensors, d_o)
            if found is not None:
                return found
        return _differentiated(ctx, d_o, d_lse)


def _differentiated(ctx, d_o, d_lse):
    quick, order, fields = ctx.problem
    q, k, v, o, lse, *others = ctx.saved_tensors
    found = None
    if d_o is not None and d_lse is None:
        if d_o.stride(-1) != 1:  # as the extension wants it
            d_o = d_o.contiguous()
        found = quick.backward(q, k, v, order, fields, d_o, o, lse)
    if found is None:
        d = gradients(attention.Problem(q, k, v, order, **fields), d_o, d_lse, o, lse, ())
        found = d["dq"], d["dk"], d["dv"]
    return (None, None, *found, *[None for _ in others])


_differentiated_once = _once(_differentiated)
# Function.apply itself is for torch.func's transforms, under which nothing comes here.
_quickly = super(torch.autograd.Function, _Quickly).apply


class _Declined(Exception):
    pass


def run_quickly(quick, q, k, v, order, fields, with_lse=True):
    """(o, lse), or o and anything, by the extension, recorded where tensors ask for gradients;
    None: not computed."""
    others = []
    if torch.is_grad_enabled():
        for name in ("bias", "sinks", "alibi_slopes", "keep"):
            x = fields.get(name)
            if x is not None:
                if getattr(x, "requires_grad", False):
                    return None
                others.append(x)
        if q.requires_grad or k.requires_grad or v.requires_grad:
            try:
                found = _quickly((quick, order, fields), with_lse, q, k, v, *others)
                return found if with_lse else (found, None)
            except _Declined:
                return None
    return quick.forward(q, k, v, order, fields, None if with_lse else False)
