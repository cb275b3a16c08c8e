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

    def __init__(self, x, scalar=False, flip=False):
        """flip: in memory as (batch, rows, heads, channels)"""
        self.memory = HipMemory()
        self.host = numpy.ascontiguousarray(x.swapaxes(1, 2) if flip else x)
        self.seen = self.host.swapaxes(1, 2) if flip else self.host
        self.memory.alloc(self.host.nbytes)
        self.memory.load_from_host(self.host.ctypes.data, self.host.nbytes)
        kind = TYPES[self.host.dtype.name]
        if scalar:
            self.view = T0(self.memory.get_pointer(), kind)
            return
        strides = [n // self.host.itemsize for n in self.seen.strides]
        self.view = {1: T1, 2: T2, 4: T4}[x.ndim](self.memory.get_pointer(), x.shape, strides, kind)

    def back(self):
        hipDeviceSynchronize()
        self.memory.store_to_host(self.host.ctypes.data, self.host.nbytes)
        return self.seen


def none(rank):
    return T0(0, DType.kUInt64) if rank == 0 else {1: T1, 2: T2, 4: T4}[rank](
        0, [0] * rank, [0] * rank, DType.kFloat16)


def reference(q, k, v, d_o=None, causal=False, keep=None, bias=0):
    """o, the log-sum-exp and, with d_o, the gradients, that of the bias last, in float64; keep:
    what dropout leaves."""
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    s = SCALE * q @ k.swapaxes(-1, -2) + (0 if bias is None else bias)
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
    dk, dv = SCALE * ds.swapaxes(-1, -2) @ q, dropped.swapaxes(-1, -2) @ d_o
    return o, lse, SCALE * ds @ k, dk, dv, ds


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
    for name, x in zip(("dq", "dk", "dv"), want[2:5]):
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


def compare_sequences(p, name):
    parts = (slice(0, 15), slice(0, 33)), (slice(15, 40), slice(33, 60))
    found = {x: getattr(p, x).back().copy() for x in ("o", "dq", "dk", "dv")}
    for rows, keys in parts:
        want = reference(p.q.host[:, :, rows], p.k.host[:, :, keys], p.v.host[:, :, keys],
                         p.d_o.host[:, :, rows])
        for at, x, part in ((0, "o", rows), (2, "dq", rows), (3, "dk", keys), (4, "dv", keys)):
            near(found[x][:, :, part], want[at], 2e-2 if at else 4e-3, f"{name}: {x} of a sequence")


def test_varlen():
    if not hasattr(v2, "attn_fwd"):
        return
    p = Problem(1, 40, 60, (2 * HEADS, 25))
    starts = [Tensor(numpy.array(x, numpy.int32)) for x in ([0, 15, 40], [0, 33, 60])]
    views = [x.view for x in starts]
    check(forward_v2(p, cu_seqlens_q=views[0], cu_seqlens_k=views[1], max_seqlen_q=25,
                     max_seqlen_k=33), "v2.flash.attn_fwd_compact_varlen")
    check(v2.attn_bwd_compact_varlen(
        p.q.view, p.k.view, p.v.view, *views, 25, 33, none(4), SCALE, *backward_arguments(p),
        p.delta.view, 0.0, p.seed.view, p.offset.view, 3, False),
        "v2.flash.attn_bwd_compact_varlen")
    compare_sequences(p, "v2")
    if not natural() or not hasattr(v3.attn_fwd_params, "varlen_type"):
        return
    p = Problem(1, 40, 60, (2 * HEADS, 25))
    both = dict(Q=p.q.view, K=p.k.view, V=p.v.view, Sm_scale=SCALE, L=p.lse.view, Out=p.o.view,
                cu_seqlens_q=views[0], cu_seqlens_k=views[1], Max_seqlen_q=25, Max_seqlen_k=33,
                dropout_p=0.0, causal_type=0, varlen_type=1)
    forward, back = v3.attn_fwd_params(), v3.attn_bwd_params()
    for params in forward, back:
        for name, value in both.items():
            setattr(params, name, value)
    for name, value in dict(DO=p.d_o.view, DQ=p.dq.view, DK=p.dk.view, DV=p.dv.view,
                            D=pyaotriton.lazy_tensor.delta(p.lse.view, 0)).items():
        setattr(back, name, value)
    check(v3.attn_fwd(forward, forward.kVersion), "v3.flash.attn_fwd, packed")
    check(v3.attn_bwd(back, back.kVersion), "v3.flash.attn_bwd, packed")
    compare_sequences(p, "v3")


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


class Like:
    """A call as test_backward.py of AOTriton's own tests makes it: results full of NaN, the seed
    that forward leaves on the device for backward, a bias whose rows are padded to 8 keys."""

    def __init__(self, heads_k, kind, flip, bias, causal, dropout):
        def make(heads, rows, nan=False):
            x = rng.uniform(0, 1, (BATCH, heads, rows, DIM)).astype(kind)
            return Tensor(numpy.full_like(x, numpy.nan) if nan else x, flip=flip)

        self.causal, self.dropout = causal, dropout
        self.q, self.d_o = make(HEADS, SEQ), make(HEADS, SEQ)
        self.k, self.v = make(heads_k, KEYS), make(heads_k, KEYS)
        self.o, self.dq = make(HEADS, SEQ, True), make(HEADS, SEQ, True)
        self.dk, self.dv = make(heads_k, KEYS, True), make(heads_k, KEYS, True)
        self.lse = Tensor(numpy.full((BATCH * HEADS, SEQ), numpy.nan, numpy.float32))
        self.delta = Tensor(self.lse.host)
        self.seeds = [Tensor(numpy.array([n], numpy.uint64), True) for n in (0x1BF52, 0x1D4000)]
        self.used = [Tensor(numpy.zeros(1, numpy.uint64), True) for _ in "so"]
        scores = (BATCH, HEADS, SEQ, KEYS)
        self.encoded = Tensor(numpy.zeros(scores, kind)) if dropout else None
        self.b = self.db = None
        if bias:
            padded = (BATCH, HEADS, SEQ, KEYS + -KEYS % 8)
            self.b, self.db = (Tensor(rng.uniform(0, 1, padded).astype(kind)) for _ in "bd")

    def bias(self, x):
        """Of a padded tensor the part that counts, as a view."""
        if x is None:
            return none(4)
        return T4(x.view.data_ptr, [BATCH, HEADS, SEQ, KEYS], x.view.strides, x.view.dtype)

    def forward(self, by_v3):
        seed = [x.view for x in self.seeds] if self.dropout else [none(0)] * 2
        encoded = self.encoded.view if self.encoded else none(4)
        counter = Tensor(numpy.zeros(1, numpy.int32), True)
        mask = 3 if self.causal else 0
        for used in [none(0)] * 2, [x.view for x in self.used] if self.dropout else [none(0)] * 2:
            if by_v3:
                yield v3.attn_fwd(self.params(
                    v3.attn_fwd_params(), philox_seed_ptr=seed[0], philox_offset1=seed[1],
                    philox_offset2=5, philox_seed_output=used[0], philox_offset_output=used[1],
                    encoded_softmax=encoded, persistent_atomic_counter=counter.view),
                    v3.attn_fwd_params.kVersion, Stream(), v3.attn_options())
            else:
                yield v2.attn_fwd(
                    self.q.view, self.k.view, self.v.view, self.bias(self.b), SCALE, self.lse.view,
                    self.o.view, self.dropout, *seed, 5, *used, encoded, mask, counter.view,
                    Stream(), v2.FwdExtraArguments())

    def params(self, params, **named):
        whole = -2147483647 if self.causal else 0
        for name, value in dict(
                Q=self.q.view, K=self.k.view, V=self.v.view, B=self.bias(self.b), Sm_scale=SCALE,
                L=self.lse.view, Out=self.o.view, dropout_p=self.dropout, window_left=whole,
                window_right=whole, causal_type=3 if self.causal else 0, **named).items():
            setattr(params, name, value)
        return params

    def backward(self, way):
        used = [x.view for x in self.used] if self.dropout else [none(0)] * 2
        if way != "v3":
            more = [self.delta.view] if way == "split" else []
            call = v2.attn_bwd if way == "split" else v2.attn_bwd_fused
            return call(self.q.view, self.k.view, self.v.view, self.bias(self.b), SCALE,
                        self.o.view, self.d_o.view, self.dq.view, self.dk.view, self.dv.view,
                        self.bias(self.db), self.lse.view, *more, self.dropout, *used, 0,
                        3 if self.causal else 0, Stream())
        lazy = pyaotriton.lazy_tensor
        return v3.attn_bwd(self.params(
            v3.attn_bwd_params(), DO=self.d_o.view, DQ=self.dq.view, DK=self.dk.view,
            DV=self.dv.view, DB=self.bias(self.db), D=lazy.delta(self.lse.view, None),
            DQ_ACC=lazy.dq_acc(self.dq.view, None), philox_seed_ptr=used[0],
            philox_offset1=used[1], philox_offset2=0),
            v3.attn_bwd_params.kVersion, Stream(), v3.attn_options())

    def compare(self, name):
        group = HEADS // self.k.seen.shape[1]
        wide = [x.seen.repeat(group, 1) for x in (self.k, self.v)]
        keep = (self.encoded.back() >= 0) / (1 - self.dropout) if self.dropout else None
        want = reference(self.q.seen, *wide, self.d_o.seen, self.causal, keep,
                         None if self.b is None else self.b.host[..., :KEYS])
        near(self.o.back(), want[0], 4e-3, name + ", o")
        near(self.lse.back().reshape(want[1].shape), want[1], 1e-3, name + ", log-sum-exp")
        summed = [x.reshape(BATCH, -1, group, KEYS, DIM).sum(2) for x in want[3:5]]
        for letter, x in zip("qkv", (want[2], *summed)):
            near(getattr(self, "d" + letter).back(), x, 3e-2, f"{name}, d{letter}")
        if self.db is not None:
            near(self.db.back()[..., :KEYS], want[5], 1e-2, name + ", db")


def test_as_theirs():
    if not natural() or not hasattr(v2, "attn_fwd"):
        return
    half, single = numpy.float16, numpy.float32
    for case in ((2, half, True, False, True, 0.5), (4, single, True, True, False, 0),
                 (1, single, False, False, True, 0), (4, half, False, True, False, 0.5)):
        for way in ("split", "fused", "v3"):
            p, name = Like(*case), f"{way} of {case[0]} {case[1].__name__} {case[2:]}"
            check(max(p.forward(way == "v3"), key=int), f"{name}: forward")
            check(p.backward(way), f"{name}: backward")
            ok(not case[5] or [int(x.back()[0]) for x in p.used] == [0x1BF52, 0x1D4000 + 5],
               f"{name}: the seed that was used")
            p.compare(name)


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
