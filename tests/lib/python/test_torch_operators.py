"""The operators torch.ops.aothip.* under what PyTorch does with such: opcheck, compile, export,
meta, checkpointing, vmap. Results are held against the same functions called plainly, which
test_torch.py holds against double precision."""

import shutil
import sys
import warnings

import torch

import aothip
from aothip import _torch
from checks import done, ok, raises

if not _torch.AVAILABLE:
    for n in range(1, 22):
        print(f"ok {n} - operators # SKIP this torch is older than 2.5")
    print("1..21")
    sys.exit()
warnings.simplefilter("ignore")
torch.manual_seed(20261122)
ops = torch.ops.aothip
BACKENDS = ["aot_eager"] + (["inductor"] if shutil.which("c++") or shutil.which("g++") else [])


def random(*shape, grad=True):
    return torch.randn(shape).half().requires_grad_(grad)


def fresh(*tensors):
    return [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]


def same(got, want, name, tolerance=0.0):
    """tolerance: in units of the largest element, for sums that are rounded in another order."""
    error = max(float((x.double() - y.double()).abs().max() / max(1e-3, y.double().abs().max()))
                for x, y in zip(got, want))
    ok(error <= tolerance, name)
    if error > tolerance:
        print(f"#   largest difference {error}")


q, k, v = random(1, 9, 2, 32), random(1, 12, 2, 32), random(1, 12, 2, 32)
packed, cu = random(9, 2, 32), torch.tensor([0, 4, 9], dtype=torch.int32)
mask = random(1, 2, 9, 12)


def causal(*x):
    return aothip.flash_attn_func(*x, causal=True, window_size=None)


def arguments(**fields):
    return _torch._arguments(dict(_torch._DEFAULTS, **fields))


def opcheck(name, operator, values):
    try:
        found = torch.library.opcheck(operator, values)
    except Exception as why:
        found = {"failed": f"{type(why).__name__}: {why}"}
    ok(set(found.values()) == {"SUCCESS"}, "opcheck: " + name)
    if set(found.values()) != {"SUCCESS"}:
        print("#  ", str(found).replace("\n", " ")[:2000])


def test_opcheck():
    dense = dict(q=q, k=k, v=v, order="bshd")
    everything = dict(dense, bias=mask, sinks=torch.randn(2, requires_grad=True),
                      alibi_slopes=torch.rand(2, requires_grad=True), dropout_p=0.25, softcap=5.0)
    varlen = dict(q=packed, k=packed, v=packed, order="shd", cu_seqlens_q=cu, cu_seqlens_k=cu,
                  max_seqlen_q=5, max_seqlen_k=5)
    for name, fields, probs in (("dense", dense, False), ("everything", everything, True),
                                ("varlen", varlen, False)):
        values = arguments(**fields)
        opcheck("attn_fwd, " + name, ops.attn_fwd.default, (*values, probs))
        plain = [x.detach() if isinstance(x, torch.Tensor) else x for x in values]
        o, lse, _ = ops.attn_fwd(*plain, probs)
        for d_lse in (None, torch.randn_like(lse)):
            opcheck(f"attn_bwd, {name}, {'o' if d_lse is None else 'lse too'}",
                    ops.attn_bwd.default, (torch.randn_like(o), d_lse, o, lse, *plain, "q k v" + (
                        " bias sinks alibi_slopes" if name == "everything" else "")))
    new, cache = random(1, 1, 2, 32, grad=False), random(1, 32, 2, 32, grad=False)
    angles = torch.rand(32, 8).half()
    opcheck("attn_cache", ops.attn_cache.default, (
        new, new, angles, angles, True, *arguments(q=new, k=cache, v=cache.clone(), order="bshd",
                                                   lengths=torch.tensor([7], dtype=torch.int32))))
    fp8 = cache.to(torch.float8_e4m3fn).view(torch.uint8)  # opcheck itself cannot multiply FP8
    opcheck("attn_fwd, a cache of FP8", ops.attn_fwd.default, (*arguments(
        q=new, k=fp8, v=fp8.clone(), order="bshd", fp8="float8_e4m3fn", k_scale=torch.rand(1, 2),
        v_scale=2.0), False))


def compiled(name, function, inputs, backend, **options):
    torch._dynamo.reset()
    a, b = fresh(*inputs), fresh(*inputs)
    made = torch.compile(function, fullgraph=True, backend=backend, **options)
    torch.manual_seed(3)
    got = made(*a)
    torch.manual_seed(3)
    want = function(*b)
    same([got], [want], f"compiled by {backend}, {name}")
    if got.requires_grad:
        d = torch.randn_like(got)
        got.backward(d), want.backward(d)
        wanted = [(x.grad, y.grad) for x, y in zip(a, b) if y.grad is not None]
        same(*zip(*wanted), f"compiled by {backend}, {name}: gradients",
             2e-3 if backend == "inductor" else 0)


def test_compile():
    for backend in BACKENDS:
        compiled("flash_attn_func", causal, (q, k, v), backend)
        compiled("varlen", lambda x, cu: aothip.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5),
                 (packed, cu), backend)
        compiled("qkvpacked", aothip.flash_attn_qkvpacked_func, (random(1, 9, 3, 2, 32),), backend)
        compiled("SDPA with a mask", lambda *x: aothip.scaled_dot_product_attention(*x),
                 (*(x.transpose(1, 2) for x in (q, k, v)), mask), backend)
        compiled("Problem with sinks", lambda q, k, v, s: aothip.Problem(
            q, k, v, "bshd", sinks=s)()[0], (q, k, v, torch.randn(2, requires_grad=True)), backend)
    compiled("dropout", lambda *x: aothip.flash_attn_func(*x, dropout_p=0.5), (q, k, v),
             "aot_eager")

    def lse(q, k, v):
        return aothip.flash_attn_func(q, k, v, return_attn_probs=True)[1]

    compiled("gradient of lse", lse, (q, k, v), "aot_eager")
    new, cache = random(1, 1, 2, 32, grad=False), random(1, 32, 2, 32, grad=False)

    def decode(q, cache, lengths):
        cache = cache.clone()
        o = aothip.flash_attn_with_kvcache(q, cache, cache.clone(), q, q, cache_seqlens=lengths)
        return torch.cat([o.flatten(), cache.flatten()])  # the cache has grown

    compiled("decoding", decode, (new, cache, torch.tensor([7], dtype=torch.int32)), "aot_eager")


def test_dynamic_shapes():
    torch._dynamo.reset()
    made = torch.compile(causal, fullgraph=True, backend="aot_eager", dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for rows in (9, 14, 33):
            a = [random(2, rows, 2, 32) for _ in "qkv"]
            b = fresh(*a)
            made(*a).sum().backward(), causal(*b).sum().backward()
            same([x.grad for x in a], [x.grad for x in b], f"one graph for all lengths: {rows}")


class Model(torch.nn.Module):
    def forward(self, q, k, v):
        return aothip.scaled_dot_product_attention(q, k, v, is_causal=True)


def test_export():
    rows = torch.export.Dim("rows", min=2, max=4096)
    x = [random(1, 2, 9, 32, grad=False) for _ in "qkv"]
    program = torch.export.export(Model(), tuple(x), dynamic_shapes=({2: rows},) * 3)
    y = [random(1, 2, 21, 32, grad=False) for _ in "qkv"]
    same([program.module()(*y)], [Model()(*y)], "exported, and run with another length")


def test_meta():
    far = [x.detach().to("meta").requires_grad_() for x in (q, k, v)]
    o, lse, probs = aothip.flash_attn_func(*far, dropout_p=0.5, return_attn_probs=True)
    ok(o.is_meta and o.shape == q.shape and o.dtype == q.dtype, "meta: out")
    ok(lse.shape == (1, 2, 9) and lse.dtype == torch.float32 and probs.shape == (1, 2, 9, 12),
       "meta: lse and S_dmask")
    o.sum().backward()
    ok(far[1].grad.shape == k.shape, "meta: gradients")
    raises(TypeError, "v is on meta", lambda: aothip.flash_attn_func(q, k, far[2]),
           "meta among tensors of the host")


def test_autocast():
    @torch.compile(fullgraph=True, backend="aot_eager")
    def run(*x):
        with torch.autocast("cpu", torch.bfloat16):
            return aothip.flash_attn_func(*x)

    ok(run(*(x.float() for x in (q, k, v))).dtype == torch.bfloat16, "autocast inside of a graph")


def test_checkpoint():
    from torch.utils.checkpoint import checkpoint

    def dropped(*x):
        return aothip.flash_attn_func(*x, dropout_p=0.25)

    for reentrant in (False, True):
        a, b = fresh(q, k, v), fresh(q, k, v)
        torch.manual_seed(5), dropped(*a).sum().backward()
        torch.manual_seed(5), checkpoint(dropped, *b, use_reentrant=reentrant).sum().backward()
        same([x.grad for x in a], [x.grad for x in b], f"checkpointing, reentrant {reentrant}")


def test_vmap():
    x = [random(3, 2, n, 2, 32) for n in (9, 12, 12)]
    y = fresh(*x)
    got, want = torch.vmap(causal)(*x), torch.stack([causal(*rows) for rows in zip(*y)])
    same([got], [want], "vmap")
    got.square().sum().backward(), want.square().sum().backward()
    same([a.grad for a in x], [b.grad for b in y], "gradients of vmap")

    def loss(q, k, v, bias, slopes):
        o = aothip.Problem(q, k, v, "bshd", bias=bias, alibi_slopes=slopes)()[0]
        return o.float().square().sum()

    each = torch.func.grad(loss, argnums=(0, 1, 2, 3, 4))
    q3, k3, v3 = (a.detach() for a in x)
    bias, slopes = random(3, 1, 2, 9, 12, grad=False), torch.rand(2)
    for name, at, options in (("all", (0, 0, 0, 0, None), (k3, bias)),
                              ("shared keys and bias", (0, None, 0, None, None), (k3[0], bias[0]))):
        keys, b = options
        got = torch.vmap(each, in_dims=at)(q3, keys, v3, b, slopes)
        want = [each(q3[i], keys if at[1] is None else keys[i], v3[i], b if at[3] is None else b[i],
                     slopes) for i in range(3)]
        same(got, [torch.stack(w) for w in zip(*want)], f"vmap of gradients, {name}", 2e-3)
    first = torch.func.grad(lambda q: causal(q, k3[0], v3[0]).float().sum())
    raises(RuntimeError, "once_differentiable", lambda: torch.func.grad(
        lambda q: first(q).float().sum())(q3[0]), "a second derivative")

    def dropped(*x):
        return aothip.flash_attn_func(*x, dropout_p=0.5)

    for randomness, error in (("same", NotImplementedError), ("error", RuntimeError)):
        raises(error, "randomness", lambda: torch.vmap(dropped, randomness=randomness)(q3, k3, v3),
               f"vmap with dropout, randomness {randomness}")
    raises(NotImplementedError, "packed", lambda: torch.vmap(
        lambda x: aothip.flash_attn_varlen_func(x, x, x, cu, cu, 5, 5))(torch.stack([packed] * 2)),
        "vmap of packed sequences")


def test_fp8():
    q3, cache = random(3, 2, 9, 2, 32, grad=False), k.detach().to(torch.float8_e5m2)
    scale = torch.rand(2)

    def attention(q, k_scale):
        both = cache.expand(2, -1, -1, -1)
        return aothip.flash_attn_func(q, both, both, k_descale=k_scale)

    want = [attention(x, scale) for x in q3]
    same([torch.vmap(attention, in_dims=(0, None))(q3, scale)], [torch.stack(want)],
         "vmap with a cache of FP8")
    raises(NotImplementedError, "scales of FP8", lambda: torch.vmap(attention)(
        q3, torch.rand(3, 2)), "vmap of scales")
    compiled("a cache of FP8", attention, (q3[0], scale), "aot_eager")
    both = torch.empty(1, 9, 2, 32, dtype=torch.float8_e4m3fn, device="meta")
    ok(aothip.flash_attn_func(both, both, both).dtype is torch.bfloat16,
       "meta: q of FP8 has results of bfloat16")


def test_jagged():
    def jagged(heads, *rows):
        made = torch.nested.nested_tensor([torch.randn(n, heads, 32) for n in rows],
                                          dtype=torch.float16, layout=torch.jagged)
        return made.detach().requires_grad_()

    def results(o, x, d_o):
        return [o, *torch.autograd.grad(o, x, d_o)]

    x = q, k, v = jagged(4, 5, 3, 9), jagged(2, 7, 4, 6), jagged(2, 7, 4, 6)
    want = torch.cat([causal(*(y[None] for y in one))[0]
                      for one in zip(*(y.unbind() for y in x))])
    want = [y.values() if y.is_nested else y for y in results(want, x, torch.ones_like(want))]
    for name, function in (("plainly", causal), ("compiled", torch.compile(
            causal, fullgraph=True, backend="aot_eager"))):
        o = function(*x)
        got = results(o.values(), x, torch.ones_like(o.values()))
        same([y.values() if y.is_nested else y for y in got], want, f"jagged, {name}")
        ok(o.is_nested and o.shape == q.shape, "and the result is jagged as q")
    o = aothip.scaled_dot_product_attention(*(y.transpose(1, 2) for y in x), enable_gqa=True)
    same([o.transpose(1, 2).values()], [aothip.flash_attn_func(*x).values()], "heads in front")
    for kind, text, run in (
            (TypeError, "k is no jagged", lambda: causal(q, k.values()[None], v)),
            (ValueError, "sequences of other lengths", lambda: causal(q, k, jagged(2, 6, 5, 6))),
            (ValueError, "has shape (3,), not (4,)", lambda: causal(q, *(jagged(2, 7, 4),) * 2)),
            (ValueError, "other axes", lambda: causal(*(y.transpose(1, 2) for y in x))),
            (NotImplementedError, "go with keep", lambda: aothip.scaled_dot_product_attention(
                *(y.transpose(1, 2) for y in x), torch.ones(1, 1) > 0, enable_gqa=True))):
        raises(kind, text, run, f"jagged, refused: {text}")


def test_merge():
    (o, lse), part = ([x.detach() for x in aothip.Problem(q, keys, keys, "bshd")()]
                      for keys in (k[:, :5], k[:, 5:]))
    whole, whole_lse = (x.detach() for x in aothip.Problem(q, k, k, "bshd")())
    with torch.no_grad():
        opcheck("attn_merge", ops.attn_merge.default, (o.clone(), lse.clone(), *part, "bshd"))

        @torch.compile(fullgraph=True, backend="aot_eager")
        def merged(*x):
            return aothip.merge(*x)[0].float()

        changed = o.clone(), lse.clone()
        same([merged(*changed, *part), changed[1]], [whole.float(), whole_lse],
             "a compiled merge", 2e-3)
    version = o._version
    aothip.merge(o, lse, *part)
    ok(o._version > version, "autograd is told that o has changed")
    same([o, lse], [whole, whole_lse], "merged in place", 2e-3)
    raises(ValueError, "has no gradient", lambda: aothip.merge(q * 1, lse, *part),
           "tensors that ask for gradients")
    with torch.no_grad():
        aothip.merge(q.clone(), lse, *part)


sys.exit(done(globals()))
