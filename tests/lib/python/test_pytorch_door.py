"""aothip.enable(): PyTorch's own functions and unmodified models on aothip, held against what they
compute without it; and the kernels for GPUs, called by hand, against PyTorch's promises."""

import functools
import os
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F

import aothip
from aothip import attention
from checks import done, ok, raises

warnings.simplefilter("ignore")
torch.manual_seed(20261122)
sdpa = F.scaled_dot_product_attention
TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 0.0}
seen = []


def counted(own):
    def forward(self, *arguments, **named):
        seen.append(tuple(self.q.shape))
        return own(self, *arguments, **named)

    return forward


attention.Problem.forward = counted(attention.Problem.forward)


def random(*shape, dtype=torch.float16, grad=True):
    return torch.randn(shape).to(dtype).requires_grad_(grad)


def run(function, inputs):
    x = [a.detach().clone().requires_grad_(a.requires_grad) for a in inputs]
    o = function(*x)
    if o.requires_grad:
        torch.manual_seed(7)
        o.backward(torch.randn(o.shape).to(o.dtype))
    return [o.detach()] + [a.grad for a in x if a.grad is not None]


def same(name, got, want, tolerance=None):
    good, error = len(got) == len(want), 0
    for x, y in zip(got, want):
        good = good and x.shape == y.shape and x.dtype == y.dtype and x.stride() == y.stride()
        scale = max(1e-3, float(y.double().abs().max()))
        error = max(error, float((x.double() - y.double()).abs().max()) / scale)
    limit = TOLERANCE[want[0].dtype] if tolerance is None else tolerance
    ok(good and error <= limit, name)
    if not (good and error <= limit):
        print(f"#   error {error}, allowed {limit}; strides", [x.stride() for x in got],
              [y.stride() for y in want])


def both(name, function, *inputs, launches=1, tolerance=None, **options):
    """With aothip as without, and `launches` times through it."""
    want = run(function, inputs)
    seen.clear()
    with aothip.enable("cpu", **options):
        got = run(function, inputs)
    count = len(seen)
    same(name, got, want, tolerance)
    ok(count == launches, f"{name}: comes to aothip")


q, k, v = random(2, 4, 17, 64), random(2, 4, 23, 64), random(2, 4, 23, 64)


def test_sdpa():
    both("plain", sdpa, q, k, v)
    both("bfloat16", sdpa, *(x.to(torch.bfloat16).detach().requires_grad_() for x in (q, k, v)))
    both("float32", sdpa, *(x.float().detach().requires_grad_() for x in (q, k, v)))
    both("double precision stays", sdpa, *(x.double().detach().requires_grad_() for x in (q, k, v)),
         launches=0)
    both("causal", lambda *x: sdpa(*x, is_causal=True), q, k, v)
    both("scale", lambda *x: sdpa(*x, scale=0.3), q, k, v)
    both("transposed", lambda *x: sdpa(*(y.transpose(1, 2) for y in x)).transpose(1, 2),
         *(random(2, n, 4, 64) for n in (17, 23, 23)))
    keep, bias = torch.rand(2, 1, 17, 23) < 0.7, random(17, 23, grad=False)
    both("boolean mask", lambda *x: sdpa(*x, attn_mask=keep), q, k, v)
    both("additive mask", lambda *x: sdpa(*x, attn_mask=bias), q, k, v)
    both("grouped heads", lambda *x: sdpa(*x, enable_gqa=True), q, random(2, 2, 23, 64),
         random(2, 2, 23, 64))


def test_everything():
    options = {"everything": True}
    both("gradient of a mask", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), q, k, v,
         random(17, 23), **options)
    both("values of another width", sdpa, q, k, random(2, 4, 23, 32), **options)
    both("head dim 40", sdpa, *(random(1, 2, 9, 40) for _ in "qkv"), **options)
    both("three dimensions", sdpa, *(random(2, 9, 32) for _ in "qkv"), **options)
    both("two dimensions", sdpa, *(random(n, 32) for n in (9, 5, 5)), **options)
    both("keys for all heads", sdpa, q, random(23, 64), random(23, 64), **options)
    both("queries for all", sdpa, random(17, 64), k, random(4, 23, 64), **options)
    both("no channels stay", lambda v: sdpa(q[..., :0].detach(), k[..., :0].detach(), v), v,
         launches=0, **options)
    both("other heads of values stay", lambda *x: sdpa(*x, enable_gqa=True), q,
         random(2, 2, 23, 64), v, launches=0, **options)
    with aothip.enable("cpu", everything=True):
        raises(RuntimeError, "same dtype", lambda: sdpa(q, k.float(), v), "PyTorch refuses itself")
    both("double precision stays, too", sdpa, *(x.double().detach().requires_grad_()
                                                for x in (q, k, v)), launches=0, **options)
    with torch.no_grad():
        both("without gradients", lambda *x: sdpa(*x).detach(), q, k, v, **options)
    with aothip.enable("cpu", everything=True), torch.inference_mode():
        seen.clear()
        sdpa(q, k, v)
        ok(len(seen) == 1, "in inference mode")
        o = sdpa(q, k, v, dropout_p=0.5)
        ok(len(seen) == 2 and not torch.equal(o, sdpa(q, k, v)), "dropout")


def test_models():
    x = random(2, 9, 64, dtype=torch.float32)
    mha = torch.nn.MultiheadAttention(64, 4, batch_first=True)
    both("MultiheadAttention", lambda x: mha(x, x, x, need_weights=False)[0], x)
    layer = torch.nn.TransformerEncoderLayer(64, 4, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    both("TransformerEncoder", model, x, launches=2)
    decoder = torch.nn.TransformerDecoderLayer(64, 4, dropout=0.0, batch_first=True)
    both("TransformerDecoderLayer", lambda x: decoder(x, x * 0.5, tgt_is_causal=False), x,
         launches=2)


def test_compiled():
    def function(*x):
        return sdpa(*x, is_causal=True) * 2

    for everything in (False, True):
        def compiled(*x):
            torch._dynamo.reset()
            return torch.compile(function, fullgraph=True, backend="aot_eager")(*x)

        both(f"compiled, everything {everything}", compiled, q, k, v, everything=everything)


def test_transformed():
    x = random(3, 2, 4, 9, 32, grad=False)
    both("vmap: a launch each", torch.vmap(sdpa), x, x, x, launches=3)

    class Model(torch.nn.Module):
        def forward(self, x):
            return sdpa(x, x, x)

    with aothip.enable("cpu"):
        program = torch.export.export(Model(), (x[0],)).module()
    both("exported", lambda x: program(x).clone(), x[0])


def test_on_and_off():
    aothip.enable("cpu")
    doors = torch.nn.attention
    if hasattr(doors, "current_flash_attention_impl"):
        ok(doors.current_flash_attention_impl() == "AOTHIP", "PyTorch names it")
        ok("AOTHIP" in doors.list_flash_attention_impls(), "and lists it")
        doors.restore_flash_attention_impl()
        seen.clear(), sdpa(q, k, v)
        ok(not seen, "PyTorch can take it back")
        doors.activate_flash_attention_impl("AOTHIP")
        seen.clear(), sdpa(q, k, v)
        ok(len(seen) == 1, "and ask for it again")
    aothip.enable("cpu", everything=True), aothip.enable("cpu")
    sdpa(q, k, v)
    aothip.disable(), aothip.disable()
    seen.clear(), sdpa(q, k, v)
    ok(not seen, "disable() restores, also twice")
    raises(ValueError, "device is 'xpu'", lambda: aothip.enable("xpu"), "no such device")


def test_gpu_kernels():
    """What a GPU's tensors come to, here with tensors of the host: results are those of PyTorch's
    function in double, shapes and strides those of PyTorch's meta kernels."""
    from aothip.pytorch import _KERNELS

    kernels = _KERNELS["CUDA"]
    d_o, bias = random(2, 4, 17, 64, grad=False), random(2, 1, 17, 23)
    for name, mask in (("flash", None), ("efficient", None), ("efficient", bias)):
        op = f"_scaled_dot_product_{name}_attention"
        x = [a.detach() for a in (q, k, v)] + ([] if mask is None else [mask.detach()])
        exact = [a.double().requires_grad_() for a in x]
        want = sdpa(*exact[:3], attn_mask=exact[3] if mask is not None else None)
        want.backward(d_o.double())
        extra = () if name == "flash" else (x[3] if mask is not None else None, True)
        out = kernels[op](*x[:3], *extra, scale=0.125)
        promised = getattr(torch.ops.aten, op)(*(a.to("meta") for a in x[:3]), *(
            a.to("meta") if isinstance(a, torch.Tensor) else a for a in extra), scale=0.125)
        ok(out[0].stride() == promised[0].stride() and out[0].shape == promised[0].shape,
           f"{op}: shape and strides of out")
        near = float((out[0].double() - want).abs().max())
        ok(near < 4e-3, f"{op}: out, off by {near:.1e}")
        if name == "flash":
            d = kernels[op + "_backward"](d_o, *x[:3], *out[:6], 0.0, False, *out[6:8], scale=0.125)
        else:
            bare = torch.empty(0) if mask is None else x[3]
            d = kernels[op + "_backward"](d_o, *x[:3], bare, *out[:4], 0.0,
                                          [True, True, True, mask is not None], scale=0.125)
        for letter, a, b in zip(("dq", "dk", "dv", "dbias"), d, exact):
            error = float((a.double() - b.grad).abs().max()) / float(b.grad.abs().max())
            ok(a.shape == b.shape and error < 8e-3, f"{op}: {letter}, off by {error:.1e}")
    op = "_scaled_dot_product_flash_attention"
    out = kernels[op](q, k, v, 0.5)
    x = [a.detach() for a in (q, k, v)]
    one, two = (kernels[op + "_backward"](d_o, *x, *out[:6], 0.5, False, *seed) for seed in (
        out[6:8], (out[6] + 1, out[7])))
    linear = float((d_o * out[0]).double().sum()), float((one[2] * x[2]).double().sum())
    ok(abs(linear[0] - linear[1]) < 0.02 * abs(d_o * out[0]).double().sum() ** 0.5 * 4,
       "dropout: backward has the mask of forward, by its seed")
    ok(not torch.equal(one[2], two[2]), "and another with another seed")


class Lower:
    """The operators below, for tensors of the host while this lasts."""

    def __enter__(self):
        from aothip.pytorch import _or_own
        from aothip.pytorch_lower import KERNELS

        self.library = torch.library.Library("aten", "IMPL")
        for name, ours in KERNELS.items():
            self.library.impl(name, _or_own(name, ours, "CUDA"), "CPU", with_keyset=True)

    def __exit__(self, *_):
        self.library._destroy()


def test_lower_operators():
    """Shapes and strides as PyTorch's meta kernels promise; gradients against double precision."""
    aten = torch.ops.aten
    cu = torch.tensor([0, 5, 17], dtype=torch.int32)
    dense = [random(2, n, 4, 64) for n in (17, 23, 23)]
    flat = [random(17, 4, 64) for _ in "qkv"]
    bias = random(2, 4, 17, 23)
    across = [random(4, 17, 64).transpose(0, 1) for _ in "qkv"]

    def exact(q, k, v, mask=None, causal=False):
        return sdpa(*(x.transpose(1, 2) for x in (q, k, v)), attn_mask=mask,
                    is_causal=causal).transpose(1, 2)

    def each(q, k, v, mask=None, causal=False):
        return torch.cat([exact(*(x[None, a:b] for x in (q, k, v)), causal=causal,
                                mask=None if mask is None else mask[None, :, :b - a, :b - a])[0]
                          for a, b in ((0, 5), (5, 17))])

    def ahead(function):
        return lambda *x: function(*(a[0] for a in x))[None]

    flash, efficient = aten._flash_attention_forward, aten._efficient_attention_forward
    cases = (
        ("flash", dense, lambda *x: flash(*x, None, None, 17, 23, 0.0, False, False), exact),
        ("flash, packed", flat, lambda *x: flash(*x, cu.to(x[0].device), cu.to(x[0].device), 12, 12,
                                                 0.0, False, False), each),
        ("flash, packed, across", across, lambda *x: flash(
            *x, cu.to(x[0].device), cu.to(x[0].device), 12, 12, 0.0, False, False), each),
        ("efficient", dense, lambda *x: efficient(*x, None, None, None, None, None, 0.0, 0, True),
         exact),
        ("efficient with bias", [*dense, bias], lambda *x: efficient(
            *x, None, None, None, None, 0.0, 0, True), exact),
        ("efficient, packed", [a[None] for a in flat], lambda *x: efficient(
            *x, None, cu.to(x[0].device), cu.to(x[0].device), 12, 12, 0.0, 0, True), ahead(each)),
        ("efficient, packed, with bias", [*(a[None] for a in flat), random(1, 4, 17, 17)],
         lambda *x: efficient(*x, cu.to(x[0].device), cu.to(x[0].device), 12, 12, 0.0, 0, True),
         ahead(each)),
        ("efficient, packed, causal", [a[None] for a in flat], lambda *x: efficient(
            *x, None, cu.to(x[0].device), cu.to(x[0].device), 12, None, 0.0, 1, True),
         ahead(functools.partial(each, causal=True))))
    for name, inputs, function, reference in cases:
        with Lower():
            x = [a.detach().requires_grad_() for a in inputs]
            out = function(*x)
            torch.manual_seed(7)
            d_o = torch.randn(out[0].shape).half()
            out[0].backward(d_o)
        promised = function(*(a.detach().to("meta") for a in inputs))
        for a, b, what in zip(out, promised, ("out", "lse")):
            ok(a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype,
               f"{name}: {what} as promised")
        wide = [a.detach().double().requires_grad_() for a in inputs]
        want = reference(*wide)
        want.backward(d_o.double())
        error = float((out[0].double() - want).abs().max())
        ok(error < 4e-3, f"{name}: off by {error:.1e}")
        for a, b in zip(x, wide):
            error = float((a.grad.double() - b.grad).abs().max()) / float(b.grad.abs().max())
            ok(error < 8e-3, f"{name}: a gradient off by {error:.1e}")
    with Lower():
        x = [a.detach()[None] for a in flat]
        out = efficient(*x, None, cu, cu, 12, 12, 0.0, 0, True)
        lse = flash(*(a[0] for a in x), cu, cu, 12, 12, 0.0, False, False)[1]
        one, two = out[1]
        ok(torch.equal(one[:, :5], lse[:, :5]) and torch.equal(two[:, :12], lse[:, 5:]) and
           bool((one[:, 5:] == torch.inf).all()), "its log-sum-exp, padded by infinity")
        d_o = torch.randn(out[0].shape).half()
        drawn = [efficient(*x, None, cu, cu, 12, most, 0.5, 0, True) for most in (12, None)]
        one, two, same = (aten._efficient_attention_backward(
            d_o, *x, None, o[0], cu, cu, *o[4:6], o[1], 0.5, *seed, 0, False, **more)
            for o, seed, more in ((drawn[0], drawn[0][2:4], {}), (drawn[1], drawn[1][2:4], {}),
                                  (drawn[0], drawn[0][2:4], {"shared_storage_dqdkdv": True})))
        for o, d in zip(drawn, (one, two)):  # linear in v: sum(o d_o) = sum(v dv)
            sides = [float((a.double() * b.double()).sum()) for a, b in ((o[0], d_o), (d[2], x[2]))]
            ok(abs(sides[0] - sides[1]) < 0.05, "dropout: backward has the mask of forward")
        ok(all(torch.equal(a, b) for a, b in zip(one[:3], same)) and
           same[0].untyped_storage().data_ptr() == same[2].untyped_storage().data_ptr(),
           "gradients in one memory")
        seen.clear()  # PyTorch's own kernel takes no tensors of the host, or there is none
        raises(RuntimeError, "", lambda: efficient(*x, None, cu, cu, 12, 12, 0.0, 1, True,
                                               window_size=4),
               "efficient attention with a window: stays with PyTorch")
        ok(not seen, "and does not come to aothip")


def test_pages():
    from aothip.pytorch_lower import flash_fwd

    k, v = (random(6, 16, 2, 32, grad=False) for _ in "kv")
    q, cu, ends = random(5, 4, 32, grad=False), torch.tensor([0, 2, 5]), torch.tensor([0, 20, 51])
    table, used = torch.tensor([[3, 1], [0, 5]]), torch.tensor([20, 31])
    cu, ends, table, used = (x.to(torch.int32) for x in (cu, ends, table, used))
    o = flash_fwd(q, k, v, cu, ends, 3, 32, 0.0, True, False, seqused_k=used, block_table=table)[0]
    for b in range(2):
        keys, values = (x[table[b].long()].flatten(0, 1)[:used[b]].double() for x in (k, v))
        part = q[cu[b]:cu[b + 1]].double()
        seen_keys = torch.ones(len(part), len(keys)).tril(len(keys) - len(part)).bool()
        want = sdpa(part.transpose(0, 1), *(x.transpose(0, 1).repeat_interleave(2, 0)
                                            for x in (keys, values)), attn_mask=seen_keys)
        near = float((o[cu[b]:cu[b + 1]].double() - want.transpose(0, 1)).abs().max())
        ok(near < 4e-3, f"keys in pages, sequence {b}, off by {near:.1e}")


def test_jagged():
    """Nested tensors, whose choice of the operator for flash attention needs a GPU."""
    from torch.nn.attention import SDPBackend
    from torch.nested._internal import sdpa as nested

    parts = [[random(n, 4, 64) for n in (5, 12, 9)] for _ in "qkv"]
    x = [torch.nested.nested_tensor([a.detach() for a in part], layout=torch.jagged,
                                    requires_grad=True) for part in parts]
    own = nested._select_sdp_backend
    nested._select_sdp_backend = lambda *_: SDPBackend.FLASH_ATTENTION
    try:
        with Lower():
            seen.clear()
            out = sdpa(*(a.transpose(1, 2) for a in x), is_causal=True)
            out.transpose(1, 2).values().float().square().sum().backward()
    finally:
        nested._select_sdp_backend = own
    ok(len(seen) == 1, "jagged nested tensors come to aothip")
    exact = [[a.detach().double().requires_grad_() for a in part] for part in parts]
    want = [sdpa(*(a.transpose(0, 1) for a in group), is_causal=True).transpose(0, 1)
            for group in zip(*exact)]
    torch.cat(want).square().sum().backward()
    near = float((out.transpose(1, 2).values().double() - torch.cat(want)).abs().max())
    ok(near < 4e-3, f"each by itself, off by {near:.1e}")
    for a, part in zip(x, exact):
        d = torch.cat([b.grad for b in part])
        error = float((a.grad.values().double() - d).abs().max()) / float(d.abs().max())
        ok(error < 1e-2, f"their gradient, off by {error:.1e}")


def test_autoload():
    """AOTHIP_ENABLE, by the entry point that the wheel declares."""
    import tempfile

    source = os.path.dirname(os.path.dirname(aothip.__file__))
    sys.path.insert(0, source)
    import wheel

    with tempfile.TemporaryDirectory() as work:
        info = os.path.join(work, "aothip-0.dist-info")
        os.mkdir(info)
        for name, text in (("METADATA", "Metadata-Version: 2.1\nName: aothip\nVersion: 0\n"),
                           ("entry_points.txt", wheel.ENTRY_POINTS)):
            with open(os.path.join(info, name), "w") as f:
                f.write(text)
        code = ("import sys, torch; print('aothip' in sys.modules, "
                "torch.nn.attention.current_flash_attention_impl())")
        for choice, says in (("0", "False None"), ("1", "True AOTHIP"),
                             ("yes", "it may be 0, 1 or everything")):
            found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                   env={**os.environ, "AOTHIP_ENABLE": choice,
                                        "PYTHONPATH": work + os.pathsep + source})
            ok(says in found.stdout + found.stderr, f"AOTHIP_ENABLE={choice}")
            if says not in found.stdout + found.stderr:
                print("#  ", (found.stdout + found.stderr).replace("\n", "\n#   "))


sys.exit(done(globals()))
