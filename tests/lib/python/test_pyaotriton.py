"""pyaotriton on the emulator, used as AOTriton's own tests use theirs without a GPU for PyTorch:
memory by HipMemory, tensors by address, the calls of v2 and v3, against attention in NumPy."""

import sys

import numpy
import pyaotriton
from checks import done, near, ok, raises
from pyaotriton import T0, T1, T2, T4, DType, HipMemory, Stream, hipDeviceSynchronize, hipError_t

rng = numpy.random.default_rng(20261122)
v2 = pyaotriton.v2.flash
v3 = getattr(getattr(pyaotriton, "v3", None), "flash", None)
BATCH, HEADS, SEQ, KEYS, DIM = 2, 4, 33, 50, 64
SCALE = 0.125
TYPES = {"float16": DType.kFloat16, "float32": DType.kFloat32, "int32": DType.kInt32,
         "uint64": DType.kUInt64}


class Tensor:
    """An array, its copy on the device, and the view that is passed."""

    def __init__(self, x, scalar=False):
        self.host, self.memory = numpy.ascontiguousarray(x), HipMemory()
        self.memory.alloc(self.host.nbytes)
        self.memory.load_from_host(self.host.ctypes.data, self.host.nbytes)
        kind = TYPES[self.host.dtype.name]
        if scalar:
            self.view = T0(self.memory.get_pointer(), kind)
            return
        strides = [n // self.host.itemsize for n in self.host.strides]
        self.view = {1: T1, 2: T2, 4: T4}[x.ndim](self.memory.get_pointer(), x.shape, strides, kind)

    def back(self):
        hipDeviceSynchronize()
        self.memory.store_to_host(self.host.ctypes.data, self.host.nbytes)
        return self.host


def none(rank):
    return T0(0, DType.kUInt64) if rank == 0 else {1: T1, 2: T2, 4: T4}[rank](
        0, [0] * rank, [0] * rank, DType.kFloat16)


def reference(q, k, v, d_o=None, causal=False, keep=None):
    """o, the log-sum-exp and, with d_o, the gradients, in float64; keep: what dropout leaves."""
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    s = SCALE * q @ k.swapaxes(-1, -2)
    if causal:
        s = numpy.where(numpy.tri(*s.shape[-2:], dtype=bool), s, -numpy.inf)
    lse = numpy.log(numpy.exp(s).sum(-1))
    p = numpy.exp(s - lse[..., None])
    dropped = p if keep is None else p * keep
    o = dropped @ v
    if d_o is None:
        return o, lse
    d_o = d_o.astype(numpy.float64)
    dp = d_o @ v.swapaxes(-1, -2) * (1 if keep is None else keep)
    ds = p * (dp - (o * d_o).sum(-1, keepdims=True))
    return o, lse, SCALE * ds @ k, SCALE * ds.swapaxes(-1, -2) @ q, dropped.swapaxes(-1, -2) @ d_o


def random(*shape):
    return rng.uniform(-1, 1, shape).astype(numpy.float16)


class Problem:
    def __init__(self, batch=BATCH, seq=SEQ, keys=KEYS, lse=(BATCH * HEADS, SEQ)):
        self.q, self.d_o = (Tensor(random(batch, HEADS, seq, DIM)) for _ in "qo")
        self.k, self.v = (Tensor(random(batch, HEADS, keys, DIM)) for _ in "kv")
        nothing = numpy.full((batch, HEADS, seq, DIM), numpy.nan, numpy.float16)
        self.o, self.dq = Tensor(nothing), Tensor(nothing)
        self.dk, self.dv = (Tensor(numpy.full_like(self.k.host, numpy.nan)) for _ in "kv")
        self.lse = Tensor(numpy.full(lse, numpy.nan, numpy.float32))
        self.delta = Tensor(numpy.zeros(lse, numpy.float32))
        self.seed, self.offset = (Tensor(numpy.array([n], numpy.uint64), True) for n in (7, 11))

    def expected(self, **named):
        return reference(self.q.host, self.k.host, self.v.host, self.d_o.host, **named)


def check(error, name):
    ok(error == hipError_t.hipSuccess, name)
    if error != hipError_t.hipSuccess:
        print(f"#   {error}")


def compare(p, want, natural=True):
    lse = p.lse.back().reshape(want[1].shape).astype(numpy.float64)
    near(p.o.back(), want[0], 4e-3, "o")
    near(lse if natural else lse * numpy.log(2), want[1], 1e-3, "log-sum-exp")


def compare_gradients(p, want):
    for name, x in zip(("dq", "dk", "dv"), want[2:]):
        near(getattr(p, name).back(), x, 2e-2, name)


def forward_v2(p, causal=False, dropout=0.0, **named):
    arguments = dict(q=p.q.view, k=p.k.view, v=p.v.view, b=none(4), sm_scale=SCALE,
                     softmax_lse=p.lse.view, out=p.o.view, dropout_p=dropout,
                     philox_seed=p.seed.view, philox_offset1=p.offset.view, philox_offset2=3,
                     philox_seed_output=none(0), philox_offset_output=none(0),
                     encoded_softmax=none(4), is_causal=causal, stream=Stream(), **named)
    if hasattr(v2, "attn_bwd_fused"):
        arguments["atomic_for_causal"] = none(0)
    function = v2.attn_fwd_compact_varlen if named else v2.attn_fwd
    return function(**arguments)


def backward_arguments(p):
    return (p.o.view, p.d_o.view, p.dq.view, p.dk.view, p.dv.view, none(4), p.lse.view)


def natural():
    return v3 is not None and hasattr(pyaotriton, "lazy_tensor")


def test_v2():
    if not hasattr(v2, "attn_fwd"):
        return
    p = Problem()
    want = p.expected(causal=True)
    check(forward_v2(p, causal=True), "v2.flash.attn_fwd")
    compare(p, want, natural())
    check(v2.attn_bwd(p.q.view, p.k.view, p.v.view, none(4), SCALE, *backward_arguments(p),
                      p.delta.view, 0.0, p.seed.view, p.offset.view, 3, True),
          "v2.flash.attn_bwd, without stream")
    compare_gradients(p, want)
    if hasattr(v2, "attn_bwd_fused"):
        p.dq = Tensor(numpy.full_like(p.q.host, numpy.nan))
        check(v2.attn_bwd_fused(p.q.view, p.k.view, p.v.view, none(4), SCALE,
                                *backward_arguments(p), 0.0, p.seed.view, p.offset.view, 3, True,
                                Stream(), v2.FusedBwdExtraArguments()), "v2.flash.attn_bwd_fused")
        compare_gradients(p, want)


def test_varlen():
    if not hasattr(v2, "attn_fwd"):
        return
    p = Problem(1, 40, 60, (2 * HEADS, 25))
    starts = Tensor(numpy.array([0, 15, 40], numpy.int32)), Tensor(numpy.array([0, 33, 60],
                                                                               numpy.int32))
    check(forward_v2(p, cu_seqlens_q=starts[0].view, cu_seqlens_k=starts[1].view, max_seqlen_q=25,
                     max_seqlen_k=33), "v2.flash.attn_fwd_compact_varlen")
    o = p.o.back()
    for rows, keys in ((slice(0, 15), slice(0, 33)), (slice(15, 40), slice(33, 60))):
        near(o[:, :, rows], reference(*(x.host[:, :, part] for x, part in (
            (p.q, rows), (p.k, keys), (p.v, keys))))[0], 4e-3, "a sequence")


def test_v3():
    if v3 is None:
        return
    p = Problem()
    params = v3.attn_fwd_params()
    ok(params.kVersion == v3.attn_fwd_params.kVersion > 0, "the version of the struct")
    values = dict(Q=p.q.view, K=p.k.view, V=p.v.view, Sm_scale=SCALE, L=p.lse.view, Out=p.o.view,
                  dropout_p=0.0, philox_seed_ptr=p.seed.view, philox_offset1=p.offset.view,
                  philox_offset2=0, causal_type=3, window_left=-2147483647,
                  window_right=-2147483647)
    for name, value in values.items():
        setattr(params, name, value)
    ok(params.window_left == -2147483647 and params.Q.size(2) == SEQ, "fields keep what they get")
    check(v3.attn_fwd(params, params.kVersion, Stream(), v3.attn_options()), "v3.flash.attn_fwd")
    want = p.expected(causal=True)
    compare(p, want, natural())
    back = v3.attn_bwd_params()
    for name, value in dict(values, DO=p.d_o.view, DQ=p.dq.view, DK=p.dk.view,
                            DV=p.dv.view).items():
        setattr(back, name, value)
    if hasattr(pyaotriton, "lazy_tensor"):
        back.D = pyaotriton.lazy_tensor.delta(p.lse.view, 0)
        back.DQ_ACC = pyaotriton.lazy_tensor.dq_acc(p.dq.view, 0)
    else:
        back.D = p.delta.view
    check(v3.attn_bwd(back, back.kVersion), "v3.flash.attn_bwd, with lazy tensors")
    compare_gradients(p, want)
    ok(v3.attn_fwd(params, 99) == hipError_t.hipErrorInvalidSymbol, "another version is refused")


def test_lazy_twice():
    if not hasattr(pyaotriton, "lazy_tensor") or not hasattr(v2, "attn_fwd"):
        return
    p, back = Problem(), v3.attn_bwd_params()
    check(forward_v2(p), "forward")
    for name, value in dict(Q=p.q.view, K=p.k.view, V=p.v.view, Sm_scale=SCALE, L=p.lse.view,
                            Out=p.o.view, DO=p.d_o.view, DQ=p.dq.view, DK=p.dk.view, DV=p.dv.view,
                            dropout_p=0.0, philox_offset2=0, causal_type=0).items():
        setattr(back, name, value)
    delta = pyaotriton.lazy_tensor.delta(p.lse.view, 0)
    for _ in range(2):
        back.D = delta
        check(v3.attn_bwd(back, back.kVersion), "a lazy tensor handed over")
    compare_gradients(p, p.expected())


def test_dropout():
    if not hasattr(v2, "debug_simulate_encoded_softmax") or not hasattr(v2, "attn_fwd"):
        return
    p, chance = Problem(), 0.4
    mask = Tensor(numpy.zeros((BATCH, HEADS, SEQ, KEYS), numpy.float32))
    check(v2.debug_simulate_encoded_softmax(mask.view, chance, p.seed.view, p.offset.view, 3,
                                            Stream()), "v2.flash.debug_simulate_encoded_softmax")
    kept = mask.back() > 0
    ok(set(numpy.unique(mask.host)) == {-0.5, 0.5} and abs(kept.mean() - 0.6) < 0.03, "its mask")
    check(forward_v2(p, dropout=chance), "forward with dropout")
    compare(p, p.expected(keep=kept / (1 - chance)), natural())


def test_memory():
    memory = HipMemory()
    ok(memory.get_pointer() == 0, "no memory before it is asked for")
    memory.alloc(64)
    ok(memory.last_state() == hipError_t.hipSuccess and memory.get_pointer(), "memory")
    host = numpy.arange(64, dtype=numpy.uint8)
    memory.load_from_host(host.ctypes.data, 64)
    memory.zero_memory()
    memory.store_to_host(host.ctypes.data, 32)
    ok(not host[:32].any() and host[32:].all(), "cleared, and half of it copied")
    memory.load_from_host(host.ctypes.data, 65)
    ok(memory.last_state() == hipError_t.hipErrorInvalidValue, "not beyond its end")
    memory.free()
    memory.free()
    ok(memory.get_pointer() == 0, "freed once")
    memory.alloc(0)  # as AOTriton's tests have it for tensors without elements
    memory.load_from_host(0, 0)
    ok(memory.last_state() == hipError_t.hipSuccess and memory.get_pointer() == 0, "of no bytes")
    memory.alloc(1 << 60)
    ok(memory.last_state() == hipError_t.hipErrorOutOfMemory and memory.get_pointer() == 0 and
       pyaotriton.hipGetLastError() == hipError_t.hipErrorOutOfMemory, "more than there is")


def test_names():
    x = T4(4096, [1, 2, 3, 4], (24, 12, 4, 1), DType.kBFloat16)
    ok((x.size(2), x.stride(1), x.sizes, x.strides, x.data_ptr, x.dtype) ==
       (3, 12, [1, 2, 3, 4], [24, 12, 4, 1], 4096, DType.kBFloat16), "a view")
    ok(T0(8, DType.kInt64).data_ptr == 8 and isinstance(pyaotriton.get_name_suffix(), str) and
       pyaotriton.kFloat16 is not None and DType.kUInt64.value == 23, "names of the module")
    for i in -1, 4:
        raises(IndexError, f"rank 4 has no dimension {i}", lambda: x.size(i), "no such size")
        raises(IndexError, f"rank 4 has no dimension {i}", lambda: x.stride(i), "no such stride")
    raises(TypeError, "incompatible", lambda: T4(0, [1, 2], [1, 2], DType.kFloat16), "a wrong rank")
    ok(v2.check_gpu(Stream()) == hipError_t.hipSuccess, "v2.flash.check_gpu")
    ok(pyaotriton.hipGetLastError() == hipError_t.hipSuccess, "no error left behind")
    p = Problem()
    p.k.view = T4(p.k.view.data_ptr, [BATCH, HEADS, KEYS, DIM - 1], p.k.view.strides,
                  DType.kFloat16)
    if hasattr(v2, "attn_fwd"):
        ok(forward_v2(p) == hipError_t.hipErrorInvalidValue, "other head dims are refused")


sys.exit(done(globals()))
