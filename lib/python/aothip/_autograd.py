"""Problems as differentiable torch functions. Imported only when a tensor asks for gradients."""

import dataclasses

import torch
from torch.autograd.function import once_differentiable

INPUTS = ("q", "k", "v", "bias", "sinks", "alibi_slopes")


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, problem, with_probs, *inputs):
        detached = {name: x.detach() if isinstance(x, torch.Tensor) else x
                    for name, x in zip(INPUTS, inputs)}
        ctx.problem = dataclasses.replace(problem, **detached)
        results = ctx.problem.forward(with_probs)
        # Saved inputs are checked: changing one in place before backward() is an error.
        ctx.save_for_backward(*(x for x in inputs if isinstance(x, torch.Tensor)), *results[:2])
        ctx.mark_non_differentiable(*results[1:])
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx, d_o, *_):
        o, lse = ctx.saved_tensors[-2:]
        wanted = [name for name, needed in zip(INPUTS, ctx.needs_input_grad[2:]) if needed]
        d = ctx.problem.backward(d_o, o, lse, wanted)
        return (None, None) + tuple(d["d" + name] if name in wanted else None for name in INPUTS)


def run_with_gradients(problem, with_probs):
    return _Attention.apply(problem, with_probs, *(getattr(problem, name) for name in INPUTS))
