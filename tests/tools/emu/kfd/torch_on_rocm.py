"""
PyTorch for ROCm, as a distribution packages it, on AMD's runtime on the driver's stand-in:
scaled_dot_product_attention as PyTorch computes it there, and as it does with aothip.enable(), which
may be off from double precision by twice what PyTorch's own way is off by.
"""

import sys
import types

import torch
import torch.nn.functional as F

import aothip
from aothip import _quick

failed = False


def ok(good, name):
    global failed
    failed = failed or not good
    print("ok" if good else "not ok", "-", name, flush=True)


def attention(tensors, device, dtype):
    """Output and gradients in double precision."""
    q, k, v = [x.to(device=device, dtype=dtype).requires_grad_() for x in tensors]
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    o.sum().backward()
    return [x.detach().cpu().double() for x in (o, q.grad, k.grad, v.grad)]


def errors(got, wanted):
    return [(g - w).abs().max().item() for g, w in zip(got, wanted)]


def captured(tensors):
    """Attention in a graph that is captured once and replayed on other values."""
    q, k, v = [x.cuda().half() for x in tensors]
    aothip.scaled_dot_product_attention(q, k, v)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = aothip.scaled_dot_product_attention(q, k, v)
    q.copy_(q.flip(2))
    graph.replay()
    return (o - aothip.scaled_dot_product_attention(q, k, v)).abs().max().item()


def by_extension(tensors):
    """flash-attention's function, recorded, alone and in a graph that is replayed on other values,
    by the extension in C; and dropout, whose mask each replay draws anew."""
    taken, extension = [], _quick.for_device(torch.device("cuda", 0))
    counted = lambda name: lambda *x: taken.append(name) or getattr(extension, name)(*x)
    _quick._by_device[torch.device("cuda", 0)] = types.SimpleNamespace(
        forward=counted("forward"), backward_kept=counted("backward_kept"))
    inputs = [x.transpose(1, 2).cuda().half().requires_grad_() for x in tensors]

    def step():
        o = aothip.flash_attn_func(*inputs)
        return o.detach(), *torch.autograd.grad(o, inputs, torch.ones_like(o))

    def graph_of(run):
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            run()
        stream.synchronize()
        with torch.cuda.graph(graph):
            return graph, run()

    graph, results = graph_of(step)
    with torch.no_grad():
        inputs[0].copy_(inputs[0].flip(1))
    graph.replay()
    ok(all(torch.equal(a, b) for a, b in zip(results, step())), "gradients in a captured graph")
    ok(taken == ["forward", "backward_kept"] * 3, "by the extension")
    q, k, v = (x.detach() for x in inputs)
    graph, o = graph_of(lambda: aothip.flash_attn_func(q, k, v, dropout_p=0.5))
    drawn = []
    for _ in range(2):
        graph.replay()
        drawn.append(o.clone())
    ok(not torch.equal(*drawn), "dropout in a captured graph is another each time")


torch.manual_seed(1)
x = torch.arange(1000, dtype=torch.float32)
ok(torch.equal((x.cuda() * 2 + 1).cpu(), x * 2 + 1), "PyTorch computes on " + torch.cuda.get_device_name())
problem = [torch.randn(1, 2, n, 64) for n in (40, 50, 50)]
reference = attention(problem, "cpu", torch.float64)
for dtype in (torch.float16, torch.bfloat16):
    plain = errors(attention(problem, "cuda", dtype), reference)
    ok(max(plain) < 0.05, f"its own attention in {dtype}: off by {max(plain):.2g}")
    with aothip.enable(everything=True):
        ours = errors(attention(problem, "cuda", dtype), reference)
    ok(all(a <= 2 * b for a, b in zip(ours, plain)), f"aothip's: off by {max(ours):.2g}")
ok(captured(problem) == 0, "a captured graph")
by_extension(problem)
sys.exit(failed)
