"""The extension in C on the emulator: what it computes is what Problem computes, to the bit, and
what it does not compute it leaves alone. Host memory that is registered passes for the GPU's."""

import ctypes
import os
import sys

import torch

import aothip
from aothip import _arrays, _lib, _quick, _torch
from checks import FP8, done, ok, raises

if not _torch.AVAILABLE or not os.path.exists(os.path.join(
        os.path.dirname(os.environ["AOTHIP_LIBRARY"]), "aothip_quick.abi3.so")):
    for n in range(1, 31):
        print(f"ok {n} - extension # SKIP this torch is older than 2.5, or Python.h was not there")
    print("1..30")
    sys.exit()

torch.manual_seed(20261122)
RUNTIME = ctypes.CDLL(os.environ["AOTHIP_HIP_LIBRARY"])
HALF = torch.float16
alive, registered = [], set()


def on_gpu(x):
    """x itself, where the emulated GPU reaches it; it lives until the program ends."""
    address, size = x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()
    alive.append(x)
    if size and address not in registered:
        mode = ctypes.c_int(2)  # relaxed, in which torch's allocator works while a stream captures
        RUNTIME.hipThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        error = RUNTIME.hipHostRegister(ctypes.c_void_p(address), ctypes.c_size_t(size), 0)
        RUNTIME.hipThreadExchangeStreamCaptureMode(ctypes.byref(mode))
        assert error == 0, error
        registered.add(address)
    return x


def registering(own):
    return lambda *arguments, **named: on_gpu(own(*arguments, **named))


torch.Tensor.new_empty = registering(torch.Tensor.new_empty)
torch.empty_like = registering(torch.empty_like)
torch.Tensor.new_zeros = registering(torch.Tensor.new_zeros)
torch.Tensor.new_empty_strided = registering(torch.Tensor.new_empty_strided)
torch.Tensor.contiguous = registering(torch.Tensor.contiguous)


class Counted:
    """The extension, and how often it computed something."""

    def __init__(self, module):
        self.module, self.taken, self.kept = module, 0, 0

    def _count(self, result):
        _arrays._hip("hipDeviceSynchronize")
        self.taken += result is not None
        return result

    def forward(self, *arguments):
        return self._count(self.module.forward(*arguments))

    def backward(self, *arguments):
        return self._count(self.module.backward(*arguments))

    def backward_kept(self, *arguments):
        result = self.module.backward_kept(*arguments)
        self.kept += result is not None
        return self._count(result)


streams = []


def place(device):
    streams.append(device)
    return 0


_arrays._hip = _arrays._Hip()
quick = Counted(_quick.load(place=place))


def with_extension(use, call):
    _quick._by_device[torch.device("cpu")] = quick if use else None
    return call()


def random(*shape, dtype=HALF):
    return on_gpu(torch.randn(shape).to(dtype))


def ints(*values):
    return on_gpu(torch.tensor(values, dtype=torch.int32))


def same(name, call, taken=1):
    """The same by both ways, of which the extension must have gone this many."""
    flat = lambda x: [x] if isinstance(x, torch.Tensor) else list(x)
    quick.taken = 0
    got = flat(with_extension(True, call))
    ok(quick.taken == taken, f"{name}: by the extension")
    want = flat(with_extension(False, call))
    ok(len(got) == len(want) and
       all(x.shape == y.shape and x.dtype == y.dtype and x.stride() == y.stride() and
           torch.equal(x, y) for x, y in zip(got, want)), f"{name}: as by ctypes")


def test_dense():
    flash = aothip.flash_attn_func
    for dtype in (HALF, torch.bfloat16, torch.float32):
        q, k, v = (random(2, 33, 2, 64, dtype=dtype) for _ in "qkv")
        same(f"{dtype}", lambda: flash(q, k, v, causal=True, return_softmax_lse=True))
    q, k, v = random(1, 20, 4, 64), random(1, 37, 2, 64), random(1, 37, 2, 48)
    same("other values", lambda: flash(q, k, v, softmax_scale=0.3, window_size=(9, 4)))
    same("no window", lambda: flash(q, k, v, window_size=(None, 2)))
    slopes, both = on_gpu(torch.rand(4)), on_gpu(torch.rand(1, 4))
    same("softcap and ALiBi", lambda: flash(q, k, v, softcap=3.0, alibi_slopes=slopes))
    same("ALiBi of a batch", lambda: flash(q, k, v, alibi_slopes=both))
    same("sinks", lambda: flash(q, k, v, s_aux=slopes))
    same("negative softcap is none", lambda: flash(q, k, v, softcap=-1.0))
    q, k, v = random(2, 4, 17, 64).transpose(1, 2), random(1, 17, 4, 64), random(2, 17, 4, 64)
    same("strides", lambda: flash(q, k.expand(2, -1, -1, -1), v))
    kept = torch.nn.Parameter(q.detach(), requires_grad=False)
    same("a parameter", lambda: flash(kept, v, v))


def test_scaled_dot_product_attention():
    sdpa = aothip.scaled_dot_product_attention
    q, k, v = random(2, 4, 19, 64), random(2, 4, 23, 64), random(2, 4, 23, 64)
    same("SDPA", lambda: sdpa(q, k, v, is_causal=True))
    keep = on_gpu(torch.rand(19, 23) < 0.7)
    same("SDPA, boolean mask", lambda: sdpa(q, k, v, keep))
    for mask in random(2, 1, 19, 23), random(19, 1, dtype=torch.float32):
        same(f"SDPA, a mask {tuple(mask.shape)}", lambda: sdpa(q, k, v, mask))


def test_sequences():
    varlen = aothip.flash_attn_varlen_func
    q, k, v = random(30, 4, 64), random(41, 2, 64), random(41, 2, 64)
    cu_q, cu_k = ints(0, 7, 7, 28), ints(0, 12, 30, 40)
    same("varlen", lambda: varlen(q, k, v, cu_q, cu_k, 21, 18, causal=True,
                                  return_softmax_lse=True))
    same("varlen, seqused_k", lambda: varlen(q, k, v, cu_q, cu_k, 21, 18,
                                             seqused_k=ints(3, 18, 9)))
    padded = random(3, 20, 2, 64)
    same("varlen, padded keys", lambda: varlen(q, padded, padded, cu_q, None, 21, 20,
                                               seqused_k=ints(3, 18, 20)))
    pages, table = random(6, 16, 2, 64), on_gpu(ints(5, 1, 0, 3, 2, 4).reshape(3, 2))
    same("varlen, pages", lambda: varlen(q, pages, pages, cu_q, ints(0, 12, 30, 60), 21, 30,
                                         block_table=table))


def test_decoding():
    decode = aothip.flash_attn_with_kvcache
    q, cache, new = random(3, 1, 4, 64), random(3, 700, 2, 64), random(3, 1, 2, 64)
    lengths = ints(5, 700, 300)
    same("decoding", lambda: decode(q, cache, cache, cache_seqlens=lengths,
                                    return_softmax_lse=True))
    same("decoding, split", lambda: decode(q, cache, cache, cache_seqlens=lengths, num_splits=3))
    same("decoding, other entries",
         lambda: decode(q, cache, cache, cache_seqlens=lengths, cache_batch_idx=ints(2, 0, 1)))
    same("decoding, padded at the left", aothip.Problem(
        q, cache, cache, "bshd", lengths=ints(5, 600, 300), starts=ints(0, 9, 4)))
    pages, table = random(6, 16, 2, 64), on_gpu(ints(5, 1, 0, 3, 2, 4).reshape(3, 2))
    same("decoding, pages", lambda: decode(q, pages, pages, cache_seqlens=ints(5, 32, 17),
                                           block_table=table))
    scales = on_gpu(torch.rand(3, 2) + 0.5)
    for name in FP8:
        kind = getattr(torch, name)
        fp8, plain = on_gpu(cache.to(kind)), on_gpu(cache.to(kind).view(torch.uint8))
        same(f"decoding, {name}", lambda: decode(q, fp8, fp8, cache_seqlens=lengths))
        same(f"decoding, {name}, scales", lambda: decode(
            q, plain, plain, cache_seqlens=lengths, fp8=name, k_descale=scales,
            v_descale=scales[:, :1].expand(3, 2)))
    same("decoding, a scale a head", lambda: decode(q, fp8, fp8, cache_seqlens=lengths,
                                                    k_descale=scales[0], v_descale=scales[0, :1]))
    angle = on_gpu(torch.rand(800, 16) * 3)
    cos, sin = on_gpu(angle.cos().to(HALF)), on_gpu(angle.sin().to(HALF))

    def appended(rotary):
        k, v = on_gpu(cache.clone()), on_gpu(cache.clone())
        before = k._version
        o = decode(q, k, v, new, new, *rotary, cache_seqlens=ints(5, 699, 300), causal=True)
        ok(k._version > before, "autograd is told of the cache that grows")
        return o, k, v

    same("decoding, appended", lambda: appended(()))
    same("decoding, rotated", lambda: appended((cos, sin)))


def recorded(call, *inputs, of):
    def run():
        leaves = [x.detach().requires_grad_() for x in inputs]
        o = call(*leaves)
        of(o).backward()
        return (o.detach(), *(x.grad for x in leaves))
    return run


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, o):
        ctx.save_for_backward(o)
        return o.float().sum()

    @staticmethod
    def backward(ctx, d):
        o, = ctx.saved_tensors
        return on_gpu(o.sin())


def test_gradients():
    q, k, v = random(2, 33, 4, 64), random(2, 20, 2, 64), random(2, 20, 2, 64)
    of = _Loss.apply
    same("gradients", recorded(lambda *x: aothip.flash_attn_func(*x, causal=True), q, k, v, of=of),
         2)
    same("gradients, keys shared out forward",
         recorded(lambda *x: aothip.flash_attn_func(*x, num_splits=2), q, k, v, of=of), 2)
    cu_q, cu_k = ints(0, 7, 7, 28), ints(0, 12, 30, 40)
    p, r, s = random(30, 4, 64), random(41, 2, 64), random(41, 2, 64)
    same("gradients, varlen",
         recorded(lambda *x: aothip.flash_attn_varlen_func(*x, cu_q, cu_k, 21, 18), p, r, s, of=of),
         2)
    keep = on_gpu(torch.rand(19, 20) < 0.7)
    a, b = random(2, 4, 19, 64), random(2, 4, 20, 64)
    same("gradients, a mask", recorded(
        lambda *x: aothip.scaled_dot_product_attention(*x, keep), a, b, b, of=of), 2)

    def moved(pack, unpack):
        def run():
            leaf = q.detach().requires_grad_()
            with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
                o = aothip.flash_attn_func(leaf, k, v, causal=True)
            of(o).backward()
            return o.detach(), leaf.grad
        return run

    quick.kept = 0
    same("gradients as they are", moved(lambda x: x, lambda x: x), 2)
    ok(quick.kept == 1, "by what forward kept")
    same("moved before backward", moved(torch.clone, lambda x: on_gpu(x.clone())), 2)
    same("with other strides", moved(lambda x: x, lambda x: on_gpu(
        x.transpose(0, 1).contiguous().transpose(0, 1) if x.ndim == 4 else x)), 2)
    ok(quick.kept == 1, "not by what forward kept")

    class Spread(_Loss):
        @staticmethod
        def backward(ctx, d):
            return on_gpu(torch.ones(1, dtype=HALF)).expand(2, 33, 4, 64)

    same("an expanded gradient", recorded(lambda *x: aothip.flash_attn_func(*x), q, k, v,
                                          of=Spread.apply), 2)

    def changed():
        leaf = q.detach().clone().requires_grad_()
        x = on_gpu(leaf * 1)
        o = aothip.flash_attn_func(x, k, v)
        x.add_(1)
        of(o).backward()

    raises(RuntimeError, "modified by an inplace operation",
           lambda: with_extension(True, changed), "an input changed before backward is noticed")

    def twice():
        x = q.detach().requires_grad_()
        o = aothip.flash_attn_func(x, k, v)
        d, = torch.autograd.grad(of(o), x, create_graph=True)
        d.sum().backward()

    raises(RuntimeError, "once_differentiable", lambda: with_extension(True, twice),
           "gradients of gradients are refused")


def test_declined():
    """Not for the extension; what ctypes makes of them is tested elsewhere."""
    q, k = random(2, 20, 4, 64), random(2, 20, 2, 64)
    longs = on_gpu(torch.tensor([5, 7]))

    class Kind(torch.Tensor):
        pass

    def fields(**more):
        return lambda: (q, k, k, "bshd", more)

    for name, arguments in {
            "a subclass": lambda: (q.as_subclass(Kind), k, k, "bshd", {}),
            "an array": lambda: (q.numpy(), k, k, "bshd", {}),
            "no tensor": lambda: (q, None, k, "bshd", {}),
            "three dimensions": lambda: (q[0], k[0], k[0], "bshd", {}),
            "double": lambda: (q.double(), k.double(), k.double(), "bshd", {}),
            "thinned channels": lambda: (q[..., ::2], k[..., ::2], k[..., ::2], "bshd", {}),
            "no elements": lambda: (q[:, :0], k, k, "bshd", {}),
            "another device": lambda: (q, k.to("meta"), k, "bshd", {}),
            "another order": lambda: (q, k, k, "sbhd", {}),
            "dropout": fields(dropout_p=0.1), "scale": fields(scale="x"),
            "window": fields(window=(1,)), "a wide window": fields(window=(2**40, 0)),
            "lengths of int64": fields(lengths=longs), "too many": fields(lengths=ints(1, 2, 3)),
            "slopes": fields(alibi_slopes=on_gpu(torch.rand(5))),
            "slopes in half": fields(alibi_slopes=random(4)),
            "a mask of two dimensions": fields(keep=on_gpu(torch.ones(20, 20) > 0)),
            "a mask of bytes": fields(keep=on_gpu(torch.ones(1, 1, 20, 20, dtype=torch.uint8))),
            "new keys alone": fields(k_new=k, lengths=ints(1, 2)),
            "left padding": fields(leftpad_k=ints(1, 2)),
            "FP8 for q": lambda: (*(q.to(torch.float8_e5m2),) * 3, "bshd", {}),
            "bytes": lambda: (q, *(k.to(torch.uint8),) * 2, "bshd", {}),
            "no type of FP8": fields(fp8="e4m3"), "a type for o": fields(out_dtype="float16"),
            "scales in half": fields(k_scale=random(2)), "a number for scale": fields(k_scale=0.5),
            "scales of query heads": fields(k_scale=on_gpu(torch.rand(4))),
            "scales of other sequences": fields(k_scale=on_gpu(torch.rand(3, 2))),
            "scales of query heads, a sequence": fields(k_scale=on_gpu(torch.rand(2, 4))),
            "cos alone": fields(rotary=(random(9, 8), None, True)),
    }.items():
        ok(quick.module.forward(*arguments()) is None, f"declined: {name}")
    found = _quick.load(place=lambda device: None)
    ok(found.forward(q, k, k, "bshd", {}) is None, "declined: a device that is not current")
    _quick.load(place=place)
    o, lse = quick.module.forward(q, k, k, "bshd", {})
    kept = quick.module.forward(q, k, k, "bshd", {}, True)[2]
    for name, saved, d_o in (
            ("as it was", (q, k, k, o, lse), o), ("fewer", (q, k, k, o), o), ("none", None, o),
            ("a number", (q, k, k, o, 5), o), ("no gradient", (q, k, k, o, lse), None),
            ("of another shape", (q, k, k, o, lse), o[:1])):
        ok(quick.module.backward_kept(kept, saved, d_o) is None,
           f"declined: what was saved, {name}")
    for name, d_o, o_, lse_ in (("d_o", o[:1], o, lse), ("o", o, o[..., :32], lse),
                                ("lse", o, o, lse[:, :, 1:]), ("type", o.float(), o, lse),
                                ("lse in double", o, o, lse.double()), ("none", None, o, lse)):
        ok(quick.module.backward(q, k, k, "bshd", {}, d_o, o_, lse_) is None,
           f"declined: gradients, {name}")


def test_errors():
    q, k = random(2, 20, 4, 64), random(2, 20, 3, 64)
    raises(_lib.ArgumentError, "size[1] (head)", lambda: quick.module.forward(q, k, k, "bshd", {}),
           "a refusal of the library comes through")
    raises(TypeError, "forward expected at least 5", lambda: quick.module.forward(q, k),
           "too few arguments")

    raises(ValueError, "PyCapsule", lambda: quick.module.backward_kept(None, (), q), "nothing kept")
    quick.module.forward(q, q, q, "bshd", {5: 1, "scale": None, "".join(["caus", "al"]): True})

    def fails(device):
        raise OSError("no stream")

    broken = _quick.load(place=fails)
    raises(OSError, "no stream", lambda: broken.forward(q, q, q, "bshd", {}),
           "so does one of torch")
    _quick.load(place=place)
    o, lse = quick.module.forward(q, q, q, "bshd", {}, False)
    ok(lse is None and torch.equal(o, quick.module.forward(q, q, q, "bshd", {})[0]), "without lse")
    before = [sys.getrefcount(x) for x in (None, q, torch.float16, torch.float32)]
    for _ in range(200):
        quick.module.forward(q, q, q, "bshd", {"window": (1, 2)}, False)
        quick.module.forward(q, q, q, "bshd", {"window": 1}, False)
        quick.module.forward(q, q, q, "bshd", {}, True)
    after = [sys.getrefcount(x) for x in (None, q, torch.float16, torch.float32)]
    ok(all(y - x < 100 for x, y in zip(before, after)), "counts of references hold")
    ok(streams[0] == torch.device("cpu"), "the stream is asked of the tensors' device")


class Side(_arrays.TorchSide):
    """TorchSide for tensors of the host that the GPU reaches, on a stream of HIP's own."""

    def __init__(self, first):
        _arrays._Torch.__init__(self, first)
        self.alive, self.stream = [], Graph.stream.value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.alive.clear()

    def empty(self, *arguments):
        return on_gpu(super().empty(*arguments))

    def scratch(self, size):
        return self._address(self.empty(max(size, 16), None, "uint8"))


class Graph:
    """What is called between `with` and its end, captured; the runtime ends a capture with an error
    for any call that allocates or waits."""

    stream = ctypes.c_void_p()

    def __enter__(self):
        ok(RUNTIME.hipStreamBeginCapture(self.stream, 0) == 0, "a stream captures")
        return self

    def __exit__(self, *_):
        graph, self.ready = ctypes.c_void_p(), ctypes.c_void_p()
        ok(RUNTIME.hipStreamEndCapture(self.stream, ctypes.byref(graph)) == 0 and
           RUNTIME.hipGraphInstantiate(ctypes.byref(self.ready), graph, None, None,
                                       ctypes.c_size_t(0)) == 0, "nothing allocates or waits")

    def replay(self):
        ok(RUNTIME.hipGraphLaunch(self.ready, self.stream) == 0, "replayed")
        self.wait()

    def wait(self):
        RUNTIME.hipStreamSynchronize(self.stream)


def test_capture():
    ok(RUNTIME.hipStreamCreate(ctypes.byref(Graph.stream)) == 0, "a stream")
    q, k, v, d_o = (random(2, 33, 4, 64) for _ in range(4))
    keys, values, one = random(2, 700, 4, 64), random(2, 700, 4, 64), random(2, 1, 4, 64)
    lengths = ints(5, 300)
    seed = on_gpu(torch.tensor([5, 7]))
    graph, own = Graph(), _arrays.side_of

    def by_extension():
        leaf = q.detach().requires_grad_()
        o = aothip.flash_attn_func(leaf, k, v, causal=True)
        decoded = aothip.flash_attn_with_kvcache(one, keys, values, one, q[:, :1],
                                                 cache_seqlens=lengths)
        return o.detach(), *torch.autograd.grad(o, leaf, d_o), decoded

    def by_ctypes():
        problem = aothip.Problem(q, k, v, "bshd", dropout_p=0.5, seed=seed)
        o, lse = problem.forward()
        return o, lse, problem.backward(d_o, o, lse)["dv"]

    def follows(name, run, change):
        before = [x.clone() for x in run()]
        with graph:
            results = run()
        graph.replay()
        ok(all(torch.equal(x, y) for x, y in zip(results, before)), f"{name}: as without a graph")
        change()
        graph.replay()
        found = [x.clone() for x in results]
        want = run()
        graph.wait()
        ok(all(torch.equal(x, y) for x, y in zip(found, want)) and
           not torch.equal(found[0], before[0]), f"{name}: replayed with what has changed")

    try:
        _quick._by_device[torch.device("cpu")] = _quick.load(place=lambda _: Graph.stream.value)
        follows("the extension", by_extension, lambda: (q.neg_(), lengths.add_(1)))
        _arrays.side_of = aothip.attention.side_of = lambda *_: Side(_[0])
        follows("dropout", by_ctypes, lambda: seed.add_(1))
    finally:
        _arrays.side_of = aothip.attention.side_of = own
        _quick.load(place=place)


def test_no_memory():
    def fails(*_, **__):
        raise MemoryError("no more")

    q, own = random(1, 9, 2, 64), torch.Tensor.new_empty_strided
    o, lse, kept = quick.module.forward(q, q, q, "bshd", {}, True)
    torch.Tensor.new_empty_strided, torch.empty_like, same_as = fails, fails, torch.empty_like
    try:
        broken = _quick.load(place=place)
        raises(MemoryError, "no more", lambda: broken.forward(q, q, q, "bshd", {}), "no room for o")
        raises(MemoryError, "no more", lambda: broken.backward_kept(kept, (q, q, q, o, lse), o),
               "nor for gradients")
    finally:
        torch.Tensor.new_empty_strided, torch.empty_like = own, same_as
        _quick.load(place=place)


def test_elsewhere():
    quick.taken = 0
    x = random(1, 9, 2, 64)
    _quick._by_device.clear()
    aothip.flash_attn_func(x, x, x)
    ok(quick.taken == 0, "tensors in host memory go by ctypes")
    _quick._by_device[torch.device("cpu")] = quick
    with torch.autocast("cpu", torch.bfloat16):
        o = aothip.flash_attn_func(x, x, x)
    ok(quick.taken == 0 and o.dtype == torch.bfloat16, "autocast goes by ctypes")


sys.exit(done(globals()))
