"""The Python module with torch tensors on the emulator, against torch's autograd in double.

Everything runs twice: with tensors in host memory, which are copied to the emulated GPU and back,
and as with tensors on a GPU, whose addresses are passed on: in host memory that is registered with
the emulated runtime.
"""

import ctypes
import os
import sys

import torch

sys.modules["numpy"] = None  # torch alone must do

import aothip
from aothip import _arrays, _lib, _torch, attention

import checks
from checks import ok, raises

SEED = 20261121
REAL_SIDE = _arrays.side_of
RUNTIME = ctypes.CDLL(os.environ["AOTHIP_HIP_LIBRARY"])

# Largest error of an output, in units of its largest element; gradients may have four times that.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5}


class RegisteredSide(_arrays.TorchSide):
    """TorchSide but for what only a torch built for ROCm has: streams, and memory of a GPU."""

    def __init__(self, first):
        _arrays._Torch.__init__(self, first)
        _arrays._hip = _arrays._hip or _arrays._Hip()
        self.alive, self.registered, self.stream = [], set(), None

    @staticmethod
    def _call(name, *arguments):
        error = getattr(RUNTIME, name)(*arguments)
        assert error == 0, f"{name}: {error}"

    def __enter__(self):
        return self

    def __exit__(self, *why):
        _arrays._hip("hipDeviceSynchronize")
        for address in self.registered:
            self._call("hipHostUnregister", ctypes.c_void_p(address))
        self.alive.clear()

    def _address(self, x):
        storage = x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()
        address, size = storage.data_ptr(), storage.nbytes()
        if size and address not in self.registered:
            self._call("hipHostRegister", ctypes.c_void_p(address), ctypes.c_size_t(size), 0)
            self.registered.add(address)
        return super()._address(x)


def side_of_registered(*arrays):
    return RegisteredSide(next(x for x in arrays if x is not None))


def near(got, expected, tolerance, name):
    got, expected = got.detach().double(), expected.detach().double()
    limit = tolerance * max(1e-3, float(expected.abs().max()) if expected.numel() else 0)
    error = float((got - expected).abs().max()) if got.numel() else 0
    good = got.shape == expected.shape and error <= limit
    ok(good, name)
    if not good:
        print(f"#   {tuple(got.shape)}, {tuple(expected.shape)}: error {error}, allowed {limit}")


def random(*shape, dtype=torch.float16, grad=True):
    return torch.randn(shape, dtype=torch.float32).to(dtype).requires_grad_(grad)


def band(rows, keys, left=-1, right=-1, top_left=False):
    """True where query and key see each other."""
    shift = 0 if top_left else keys - rows
    d = torch.arange(keys)[None] - (torch.arange(rows)[:, None] + shift)
    seen = torch.ones(rows, keys, dtype=torch.bool)
    if left >= 0:
        seen &= d >= -left
    if right >= 0:
        seen &= d <= right
    return seen


def reference(q, k, v, seen=None, bias=None, softcap=0.0, sinks=None, multiply=None):
    """(o, lse) in double, axes (batch, rows, heads, dim); seen, bias, multiply broadcast to (batch,
    heads, rows, keys)."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    s = torch.einsum("bmhd,bnhd->bhmn", q, k) * q.shape[-1] ** -0.5
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    if seen is not None:
        s = s.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        s = torch.cat([s, sinks[None, :, None, None].expand(*s.shape[:3], 1)], -1)
    lse = torch.logsumexp(s, -1)
    p = torch.exp(s - lse.masked_fill(lse == -torch.inf, 0)[..., None])
    if sinks is not None:
        p = p[..., :-1]
    if multiply is not None:
        p = p * multiply
    return torch.einsum("bhmn,bnhd->bmhd", p, v), lse


def double(*tensors):
    return [x.detach().double().requires_grad_(x.requires_grad) for x in tensors]


def compare(name, got, expected, inputs, exact):
    """Outputs, and the gradients of all inputs for one random gradient of the output."""
    tolerance = TOLERANCE[got.dtype]
    near(got, expected, tolerance, name)
    d_o = torch.randn(got.shape, dtype=torch.float32).to(got.dtype)
    got.backward(d_o)
    expected.backward(d_o.double())
    for letter, x, y in zip(("dq", "dk", "dv", "fourth gradient"), inputs, exact):
        near(x.grad, y.grad, 4 * tolerance, f"{name}: {letter}")


def flash(name, q, k, v, seen=None, bias=None, softcap=0.0, **options):
    exact = double(q, k, v)
    o = aothip.flash_attn_func(q, k, v, softcap=softcap, **options)
    compare(name, o, reference(*exact, seen, bias, softcap)[0], (q, k, v), exact)


def test_flash_attn_func():
    for dtype in TOLERANCE:
        q, k, v = (random(2, 33, 2, 64, dtype=dtype) for _ in "qkv")
        flash(f"flash_attn_func, {dtype}, causal", q, k, v, band(33, 33, right=0), causal=True)
    q, k, v = random(1, 20, 4, 64), random(1, 37, 2, 64), random(1, 37, 2, 64)
    flash("GQA, window", q, k, v, band(20, 37, 9, 4), window_size=(9, 4))
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
    distance = (torch.arange(20)[:, None] + 17 - torch.arange(37)[None]).abs()
    flash("softcap and ALiBi", *(x.detach().requires_grad_() for x in (q, k, v)),
          bias=-slopes[None, :, None, None] * distance, softcap=3.0, alibi_slopes=slopes)
    q = random(2, 4, 17, 64).transpose(1, 2)
    q.retain_grad()
    k, v = random(1, 17, 4, 64).expand(2, -1, -1, -1), random(2, 17, 4, 128)[..., ::2]
    k.retain_grad(), v.retain_grad()
    flash("transposed, expanded and thinned out tensors", q, k, v)
    qkv = random(1, 18, 3, 2, 64)
    exact, = double(qkv)
    compare("flash_attn_qkvpacked_func", aothip.flash_attn_qkvpacked_func(qkv, causal=True),
            reference(*exact.unbind(2), band(18, 18, right=0))[0], (qkv,), (exact,))


def test_dropout():
    q, k, v = (random(1, 40, 2, 64) for _ in "qkv")
    exact = double(q, k, v)
    torch.manual_seed(SEED)
    o, lse, probs = aothip.flash_attn_func(q, k, v, dropout_p=0.3, return_attn_probs=True)
    kept = (probs > 0).double()
    share = float(kept.mean())
    ok(0.62 < share < 0.78, "dropout: 0.7 are kept")
    want, want_lse = reference(*exact, multiply=kept / 0.7)
    near(lse, want_lse, 1e-4, "dropout: lse")
    compare("dropout", o, want, (q, k, v), exact)
    torch.manual_seed(SEED)
    again = aothip.flash_attn_func(q, k, v, dropout_p=0.3)
    ok(torch.equal(o, again), "dropout: torch.manual_seed decides")
    other = aothip.flash_attn_func(q, k, v, dropout_p=0.3)
    ok(not torch.equal(o, other), "dropout: the next call draws others")


def test_varlen():
    cu_q = torch.tensor([0, 5, 5, 24], dtype=torch.int32)
    cu_k = torch.tensor([0, 20, 31, 50], dtype=torch.int32)
    q, k, v = random(24, 4, 64), random(50, 2, 64), random(50, 2, 64)
    exact = double(q, k, v)
    o, lse, _ = aothip.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 19, 20, causal=True,
                                              return_attn_probs=True)
    parts, lses = [], []
    for b in range(3):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        part = [x[None, at] for x, at in zip(exact, (rows, keys, keys))]
        seen = band(part[0].shape[1], part[1].shape[1], right=0)
        part, part_lse = reference(*part, seen)
        parts.append(part[0]), lses.append(part_lse[0])
    near(lse, torch.cat(lses, 1), 1e-4, "flash_attn_varlen_func: lse")
    compare("flash_attn_varlen_func", o, torch.cat(parts), (q, k, v), exact)


def turned(x, cos, sin, at):
    """Rows x (rows, heads, dim) rotated in interleaved pairs by the angles of rows at and on."""
    c, s = (t[at:at + x.shape[0], None].double() for t in (cos, sin))
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)


def test_kvcache():
    q, k, v = (random(2, 3, h, 64, grad=False) for h in (4, 2, 2))
    k_cache, v_cache = (random(2, 2, 50, 64, grad=False).transpose(1, 2) for _ in "kv")
    lengths = torch.tensor([11, 30], dtype=torch.int32)
    angles = torch.arange(50)[:, None] * 0.1 ** torch.arange(32)[None]
    cos, sin = torch.cos(angles).half(), torch.sin(angles).half()
    keys, values = double(k_cache, v_cache)
    parts = []
    for b, n in enumerate(lengths.tolist()):
        keys[b, n:n + 3] = turned(k[b].double(), cos, sin, n)
        values[b, n:n + 3] = v[b].double()
        parts.append(reference(turned(q[b].double(), cos, sin, n)[None], keys[b:b + 1, :n + 3],
                               values[b:b + 1, :n + 3], band(3, n + 3, right=0)))
    o, lse = aothip.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cos, sin, lengths,
                                            causal=True, return_softmax_lse=True)
    near(o, torch.cat([part for part, _ in parts]), 4e-3, "flash_attn_with_kvcache: out")
    near(lse, torch.cat([part for _, part in parts]), 2e-3, "flash_attn_with_kvcache: lse")
    near(k_cache, keys, 2e-3, "the cache of K has the new rows, rotated")
    ok(torch.equal(v_cache.double(), values), "the cache of V has the new rows")
    before = k_cache._version
    aothip.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cache_seqlens=lengths)
    ok(k_cache._version > before, "autograd is told of it")

    pages_k, pages_v = (random(5, 16, 2, 64, grad=False) for _ in "kv")
    table = torch.tensor([[3, 0], [4, 1]], dtype=torch.int32)
    o = aothip.flash_attn_with_kvcache(q, pages_k, pages_v, cache_seqlens=lengths,
                                       block_table=table)
    want = [reference(q[b:b + 1].double(), *(x[table[b].long()].flatten(0, 1)[None, :n].double()
                                             for x in (pages_k, pages_v)))[0]
            for b, n in enumerate(lengths.tolist())]
    near(o, torch.cat(want), 2e-3, "flash_attn_with_kvcache: paged")
    o = aothip.flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens=20,
                                       cache_batch_idx=torch.tensor([1, 0]),
                                       cache_leftpad=torch.tensor([2, 7]))
    want = [reference(q[b:b + 1].double(), k_cache[1 - b][None, at:20].double(),
                      v_cache[1 - b][None, at:20].double())[0] for b, at in ((0, 2), (1, 7))]
    near(o, torch.cat(want), 2e-3, "flash_attn_with_kvcache: batch index and left padding")


def codes(kind, *shape):
    """Random numbers of a type of FP8, and the same in double."""
    x = (torch.rand(shape) + 0.25).mul(torch.randn(shape).sign()).to(kind)
    return x, x.double()


@torch.random.fork_rng(devices=[])
def test_fp8():
    if not hasattr(torch, "float8_e5m2fnuz"):
        print("# this torch has no FP8")
        return
    q, new = random(2, 1, 4, 64, grad=False), random(2, 1, 2, 64, grad=False)
    lengths = torch.tensor([37, 9], dtype=torch.int32)
    of_k, of_v = torch.rand(2, 2) + 0.5, (torch.rand(2, 1) + 0.5).expand(2, 2)
    for name in checks.FP8:
        kind = getattr(torch, name)
        (k, keys), (v, values) = codes(kind, 2, 40, 2, 64), codes(kind, 2, 40, 2, 64)
        keys, values = keys * of_k[:, None, :, None], values * of_v[:, None, :, None]
        want = torch.cat([reference(q[b:b + 1].double(), keys[b:b + 1, :n], values[b:b + 1, :n])[0]
                          for b, n in enumerate(lengths.tolist())])
        o = aothip.flash_attn_with_kvcache(q, k, v, cache_seqlens=lengths, k_descale=of_k,
                                           v_descale=of_v)
        near(o, want, 4e-3, f"a cache of {name}")
        bytes_k, bytes_v = k.view(torch.uint8), v.view(torch.uint8)
        same = aothip.flash_attn_with_kvcache(q, bytes_k, bytes_v, cache_seqlens=lengths,
                                              k_descale=of_k, v_descale=of_v, fp8=name)
        ok(torch.equal(o, same), f"bytes that are {name}")
        before = k._version
        aothip.flash_attn_with_kvcache(q, k, v, new, new, cache_seqlens=lengths)
        ok(k._version > before and all(torch.equal(x[b, n].float(), new[b, 0].to(kind).float())
                                       for x in (k, v) for b, n in enumerate(lengths.tolist())),
           f"rows become {name} as torch rounds")
    leaf = q.clone().requires_grad_()
    raises(aothip.UnsupportedError, "no backward pass", lambda: aothip.flash_attn_func(
        leaf, k, v).sum().backward(), "FP8 has no gradients")
    name = checks.fp8_multiplied(aothip.device()["gpu"]) or checks.FP8[0]
    (q, of_q), (k, keys), (v, values) = (codes(getattr(torch, name), 2, n, heads, 64)
                                         for n, heads in ((19, 4), (33, 2), (33, 2)))
    if not checks.fp8_multiplied(aothip.device()["gpu"]):
        raises(aothip.UnsupportedError, "FP8", lambda: aothip.flash_attn_func(q, k, v),
               "q of FP8, refused here")
        return
    o = aothip.flash_attn_func(q, k, v, causal=True, v_descale=of_v)
    want = reference(of_q, keys, values * of_v[:, None, :, None], band(19, 33, right=0))[0]
    ok(o.dtype is torch.bfloat16, "q of FP8: out is bfloat16")
    near(o, want, 0.06, "q of FP8: out")
    o = aothip.flash_attn_func(q, k, v, causal=True, v_descale=of_v, out=torch.empty(
        o.shape, dtype=torch.float16))
    near(o, want, 0.06, "q of FP8: out of float16")


def sdpa(name, q, k, v, mask=None, torch_too=True, **options):
    """Against the reference, and against torch's own function where it has these arguments."""
    inputs = (q, k, v) + ((mask,) if mask is not None and mask.requires_grad else ())
    exact = double(*inputs)
    causal, gqa = options.get("is_causal"), options.get("enable_gqa")
    seen = band(q.shape[-2], k.shape[-2], right=0, top_left=True) if causal else None
    bias = None
    if mask is not None:
        seen, bias = (mask, None) if mask.dtype == torch.bool else (None, exact[-1])

    def four(x):
        return x.reshape((1,) * (4 - x.ndim) + tuple(x.shape)).flatten(0, -4)

    def rows_first(x):
        return four(x).transpose(1, 2)

    if bias is not None and bias.ndim > 4:
        bias = four(bias)
    want = reference(*map(rows_first, exact[:3]), seen, bias)[0].transpose(1, 2)
    got = aothip.scaled_dot_product_attention(q, k, v, mask, **options)
    compare(name, got, want.reshape(q.shape[:-1] + v.shape[-1:]), inputs, exact)
    try:
        own = torch.nn.functional.scaled_dot_product_attention
        want = own(*double(q, k, v), exact[-1] if bias is not None else mask, **options)
    except (AttributeError, TypeError) as why:
        if gqa or "attribute" in str(why):
            return  # a torch that is too old
        raise
    near(got, want, TOLERANCE[q.dtype], name + ": torch's own")


def test_sdpa():
    def qkv(*shape, keys=21, heads_k=0):
        q = random(*shape)
        shape = list(shape)
        shape[-2] = keys
        if heads_k:
            shape[-3] = heads_k
        return q, random(*shape), random(*shape)

    sdpa("sdpa, causal", *qkv(2, 2, 14, 64), is_causal=True)
    sdpa("sdpa, GQA", *qkv(1, 4, 14, 64, heads_k=2), enable_gqa=True)
    sdpa("sdpa, boolean mask", *qkv(2, 2, 14, 64), band(14, 21, 3, 5, True))
    sdpa("sdpa, additive mask with gradient", *qkv(2, 2, 14, 64), random(1, 2, 14, 21))
    sdpa("sdpa, mask of each batch entry", *qkv(2, 2, 14, 64), random(2, 1, 14, 21))
    sdpa("sdpa, three dimensions", *qkv(2, 14, 64))
    sdpa("sdpa, five dimensions", *qkv(2, 1, 2, 14, 64), random(2, 1, 2, 14, 21))


def test_sinks():
    q, k, v = (random(1, 20, 2, 64) for _ in "qkv")
    sinks = random(2, dtype=torch.float32)
    exact = double(q, k, v, sinks)
    problem = aothip.Problem(q, k, v, "bshd", sinks=sinks)
    compare("sinks", problem()[0], reference(*exact[:3], sinks=exact[3])[0],
            (q, k, v, sinks), exact)


    q, k, v = random(20, 2, 64), random(2, 15, 2, 64), random(2, 15, 2, 64)
    sinks = random(2)
    cu, used = torch.tensor([0, 8, 20], dtype=torch.int32), torch.tensor([15, 6])
    exact = double(q, k, v, sinks)
    o = aothip.flash_attn_varlen_func(q, k, v, cu, None, 12, 15, seqused_k=used, s_aux=sinks)
    want = [reference(exact[0][None, at], *(x[b:b + 1, :n] for x in exact[1:3]), sinks=exact[3])[0]
            for b, (at, n) in enumerate(((slice(0, 8), 15), (slice(8, 20), 6)))]
    compare("s_aux, keys in a batch under packed queries", o, torch.cat(want, 1)[0],
            (q, k, v, sinks), exact)


def test_autograd():
    q, k, v = (random(1, 8, 2, 64) for _ in "qkv")
    leaf = q * 1
    o = aothip.flash_attn_func(leaf, k, v)
    with torch.no_grad():
        leaf += 1
    raises(RuntimeError, "inplace", lambda: o.sum().backward(), "q changed before backward()")
    o = aothip.flash_attn_func(q, k.detach(), v)
    o.sum().backward()
    ok(q.grad is not None and k.grad is None, "gradients only of what wants them")
    raises(RuntimeError, "second time", lambda: o.sum().backward(), "backward() twice")
    with torch.no_grad():
        o = aothip.flash_attn_func(q, k, v)
    ok(not o.requires_grad, "no graph under no_grad()")
    for loss in (lambda o: o.square().sum()), torch.sum:  # whose gradient depends on o, or not
        grad, = torch.autograd.grad(loss(aothip.flash_attn_func(q, k, v)), q, create_graph=True)
        raises(RuntimeError, "once_differentiable", lambda: (grad.square() + q).sum().backward(),
               "gradients of gradients are refused")


def test_deterministic():
    asked, bwd = [], _lib.lib.aothip_attn_bwd

    def noted(context, params, stream):
        asked.append(params.atomics)
        return bwd(context, params, stream)

    def gradient(deterministic):
        q = torch.ones(1, 4, 2, 64, dtype=torch.float16, requires_grad=True)  # none is drawn
        aothip.flash_attn_func(q, q, q, deterministic=deterministic).sum().backward()

    _lib.lib.aothip_attn_bwd = noted
    try:
        gradient(False)
        gradient(True)
        torch.use_deterministic_algorithms(True)
        gradient(False)
    finally:
        torch.use_deterministic_algorithms(False)
        _lib.lib.aothip_attn_bwd = bwd
    ok(asked == [1, 0, 0], "atomics are allowed but where a flag or PyTorch forbids them")


def test_lse_gradient():
    """Of the sum of o and lse, each with a gradient of its own."""
    for name, heads_k, options in (("bshd", 1, {}), ("with sinks, bias and window", 2, {})):
        q, k, v = random(2, 12, 2, 64), random(2, 20, heads_k, 64), random(2, 20, heads_k, 64)
        inputs, seen = [q, k, v], None
        if heads_k == 2:
            inputs += [random(2, dtype=torch.float32), random(2, 2, 12, 20)]
            options = {"sinks": inputs[3], "bias": inputs[4], "window": (9, 5)}
            seen = band(12, 20, 9, 5)
        exact = double(*inputs)
        more = {"sinks": exact[3], "bias": exact[4]} if heads_k == 2 else {}
        got = aothip.Problem(q, k, v, "bshd", **options)()
        want = reference(*exact[:3], seen, **more)
        for part, d_lse in (("lse alone", 1), ("o and lse", 1), ("lse, tiny", 2.0**-30)):
            d = [torch.randn(x.shape) * (part == "o and lse" or i) for i, x in enumerate(got)]
            d[1] = d[1] * d_lse
            found = torch.autograd.grad(got, inputs, [d[0].to(got[0].dtype), d[1]],
                                        retain_graph=True)
            expected = torch.autograd.grad(want, exact, [x.double() for x in d],
                                           retain_graph=True)
            for letter, x, y in zip(("dq", "dk", "dv", "dsinks", "dbias"), found, expected):
                unit = 1 / d_lse if d_lse != 1 and x.dtype == torch.float32 else 1
                near(x * unit, y * unit, 8e-3, f"gradient of {part}, {name}: {letter}")
    q = random(5, 2, 64)
    cu = torch.tensor([0, 2, 5], dtype=torch.int32)
    lse = aothip.flash_attn_varlen_func(q, q, q, cu, cu, 3, 3, return_attn_probs=True)[1]
    exact, = double(q)
    want = torch.cat([reference(*(exact[None, a:b],) * 3)[1][0] for a, b in ((0, 2), (2, 5))], 1)
    lse.sum().backward(), want.sum().backward()
    near(q.grad, exact.grad, 8e-3, "gradient of lse, varlen")
    q = random(1, 3, 1, 512)
    lse = aothip.flash_attn_func(q, q, q, return_attn_probs=True)[1]
    raises(NotImplementedError, "at most 504 channels", lambda: lse.sum().backward(),
           "gradient of lse, 512 channels")


def test_autocast():
    q, k, v = (random(1, 7, 2, 64, dtype=torch.float32) for _ in "qkv")
    mask = random(7, 7, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        o = aothip.flash_attn_func(q, k, v)
        masked = aothip.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), mask)
    ok(o.dtype == masked.dtype == torch.bfloat16, "autocast chooses the type")
    (o.sum() + masked.sum()).backward()
    ok(all(x.grad is not None and x.grad.dtype == torch.float32 for x in (q, k, v, mask)),
       "gradients come back in the type of the inputs")
    near(o, aothip.flash_attn_func(*(x.to(torch.bfloat16) for x in (q, k, v))), 0, "as by hand")


def test_twice():
    q, k, v = (random(1, 7, 2, 64, grad=False) for _ in "qkv")
    problem = aothip.Problem(q, k, v, "bshd")
    o, lse = problem.forward()
    before, d_o = (o.clone(), lse.clone()), torch.randn_like(o)
    first, again = problem.backward(d_o, o, lse), problem.backward(d_o, o, lse)
    ok(torch.equal(o, before[0]) and torch.equal(lse, before[1]), "backward reads o and lse alone")
    ok(all(torch.equal(first[name], again[name]) for name in first), "backward twice is the same")
    q.requires_grad_()
    o = aothip.flash_attn_func(q, k, v)
    once, = torch.autograd.grad(o, q, d_o, retain_graph=True)
    ok(torch.equal(once, torch.autograd.grad(o, q, d_o)[0]), "so it is through torch")


def test_empty():
    """No rows, or no keys: nothing to read, whatever the address and the strides."""
    for rows, keys in ((0, 5), (5, 0), (0, 0)):
        q, k, v = (random(2, n, 2, 128)[..., ::2] for n in (rows, keys, keys))
        for x in (q, k, v):
            x.retain_grad()
        o, lse, _ = aothip.flash_attn_func(q, k, v, return_attn_probs=True)
        o.sum().backward()
        good = bool((o == 0).all()) and bool((lse == torch.inf).all())
        good = good and all(x.grad.shape == x.shape and bool((x.grad == 0).all())
                            for x in (q, k, v))
        ok(good, f"{rows} rows, {keys} keys")


def test_refusals():
    q = random(1, 4, 2, 64)
    raises(TypeError, "v is on meta, the others on cpu", lambda: aothip.flash_attn_func(
        q, q, q.detach().to("meta")), "tensors on two devices")
    raises(TypeError, "float64", lambda: aothip.flash_attn_func(*[q.double()] * 3),
           "double precision")
    raises(TypeError, "all NumPy arrays or all torch", lambda: REAL_SIDE(q, [1]),
           "a list among tensors")
    meta = q.detach().to("meta")
    raises(TypeError, "not on meta", lambda: REAL_SIDE(meta), "neither host nor GPU")
    raises(TypeError, "attn_mask must be an array", lambda: aothip.scaled_dot_product_attention(
        q, q, q, [[True]]), "a list as mask")
    raises(ValueError, "leading", lambda: aothip.scaled_dot_product_attention(
        q, q[0], q[0]), "keys without a batch")
    raises(aothip.ArgumentError, "no multiple", lambda: aothip.flash_attn_func(
        random(1, 4, 3, 64), q, q), "heads that do not divide")


def test_gpu():
    if checks.where or not torch.cuda.is_available():
        return
    y = torch.randn(1, 4, 2, 64, dtype=torch.float16, device="cuda", requires_grad=True)
    out = aothip.flash_attn_func(y, y, y, causal=True)
    out.sum().backward()
    want = torch.nn.functional.scaled_dot_product_attention(
        *(y.detach().transpose(1, 2),) * 3, is_causal=True).transpose(1, 2)
    ok(torch.allclose(out, want, atol=2e-3), "torch's own GPU: forward")
    ok(bool(torch.isfinite(y.grad).all()), "torch's own GPU: backward")


print(f"# seed {SEED}, torch {torch.__version__}, {aothip.device()['name']}")
NEW = _torch.AVAILABLE
for checks.where, side, operators in (("", REAL_SIDE, NEW),
                                      ("registered: ", side_of_registered, NEW),
                                      ("without operators: ", REAL_SIDE, False)):
    _torch.AVAILABLE = operators
    _arrays.side_of = attention.side_of = side
    torch.manual_seed(SEED)
    checks.run(globals())
sys.exit(checks.plan())
