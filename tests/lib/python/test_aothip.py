"""The Python module on the emulator against attention in double precision, written with NumPy."""

import ctypes
import itertools
import os
import subprocess
import sys
import tempfile

import numpy

import aothip
from aothip import _lib

import checks
from checks import near, ok, raises

SEED = 20261121
rng = numpy.random.default_rng(SEED)


def random(*shape, dtype=numpy.float16):
    return rng.standard_normal(shape).astype(dtype)


def reference(q, k, v, visible=None, bias=None, softcap=0.0, scale=None, multiply=None):
    """(o, lse) for (rows, heads, dim) arrays; bias and multiply (of P) are (heads, rows, keys)."""
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = numpy.repeat(k, group, 1), numpy.repeat(v, group, 1)
    s = numpy.einsum("mhd,nhd->hmn", q, k) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        s = softcap * numpy.tanh(s / softcap)
    if bias is not None:
        s = s + bias
    if visible is not None:
        s = numpy.where(visible, s, -numpy.inf)
    top = numpy.max(s, -1, keepdims=True, initial=-1e300)
    p = numpy.exp(s - top)
    total = p.sum(-1, keepdims=True)
    lse = numpy.where(total > 0, top + numpy.log(numpy.where(total > 0, total, 1)), numpy.inf)
    p = numpy.divide(p, total, out=numpy.zeros_like(p), where=total > 0)
    if multiply is not None:
        p = p * multiply
    return numpy.einsum("hmn,nhd->mhd", p, v), lse[..., 0]


def band(rows, keys, left=-1, right=-1):
    """Bottom-right aligned window."""
    d = numpy.arange(keys)[None] - (numpy.arange(rows)[:, None] + keys - rows)
    seen = numpy.ones((rows, keys), bool)
    if left >= 0:
        seen &= d >= -left
    if right >= 0:
        seen &= d <= right
    return seen


def test_structs():
    """Every field of the ctypes structs lies where the C compiler puts it."""
    lines = []
    structs = {"aothip_tensor": _lib.Tensor, "aothip_seqs": _lib.Seqs,
               "aothip_scale": _lib.Scale,
               "aothip_attn_fwd_params": _lib.FwdParams, "aothip_attn_bwd_params": _lib.BwdParams,
               "aothip_attn_merge_params": _lib.MergeParams, "aothip_device_info": _lib.DeviceInfo}
    for name, struct in structs.items():
        lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
        lines += [f'printf("%zu\\n", offsetof(struct {name}, {f[0]}));' for f in struct._fields_]
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, "a.c"), os.path.join(work, "a")
        with open(source, "w") as f:
            f.write("#include <stdio.h>\n#include <aothip/aothip.h>\nint main(void){" +
                    "".join(lines) + "return 0;}")
        subprocess.run(os.environ.get("CC", "cc").split() +
                       ["-I", os.environ["AOTHIP_INCLUDE"], source, "-o", program], check=True)
        found = subprocess.run([program], check=True, capture_output=True, text=True,
                               env={**os.environ, "LD_PRELOAD": ""})
    numbers = [int(x) for x in found.stdout.split()]
    expected = []
    for struct in structs.values():
        expected.append(ctypes.sizeof(struct))
        expected += [getattr(struct, f[0]).offset for f in struct._fields_]
    ok(numbers == expected, "the structs are those of aothip.h")


def test_dense():
    for dtype, tolerance in ((numpy.float16, 2e-3), (numpy.float32, 1e-5)):
        q, k, v = random(2, 7, 4, 40, dtype=dtype), random(2, 9, 2, 40, dtype=dtype), \
            random(2, 9, 2, 40, dtype=dtype)
        for causal, window in itertools.product((False, True), ((-1, -1), (2, 1))):
            out, lse = aothip.Problem(q, k, v, "bshd", causal=causal, window=window).forward()
            right = 0 if causal else window[1]
            for b in range(2):
                o, want = reference(q[b], k[b], v[b], band(7, 9, window[0], right))
                name = f"{dtype.__name__} causal={causal} window={window} batch {b}"
                near(out[b], o, tolerance, "out: " + name)
                near(lse[b], want, 1e-3, "lse: " + name)
    q = random(1, 5, 2, 64)
    out = aothip.flash_attn_func(q, q, q, causal=True)
    near(out[0], reference(q[0], q[0], q[0], band(5, 5, -1, 0))[0], 2e-3, "flash_attn_func")
    packed = numpy.stack([q, q, q], 2)
    near(aothip.flash_attn_qkvpacked_func(packed, causal=True), out, 0, "qkvpacked")
    near(aothip.flash_attn_kvpacked_func(q, packed[:, :, 1:], causal=True), out, 0, "kvpacked")


def test_bf16():
    try:
        import ml_dtypes
    except ImportError:
        print("# bfloat16 in NumPy needs ml_dtypes, which is not here")
        return
    q = random(1, 5, 2, 64).astype(ml_dtypes.bfloat16)
    out = aothip.flash_attn_func(q, q, q)
    near(out[0], reference(q[0], q[0], q[0])[0], 2e-2, "bfloat16 by ml_dtypes")


def test_scores():
    q, k, v = random(2, 6, 4, 32), random(2, 11, 4, 32), random(2, 11, 4, 32)
    slopes = rng.random((2, 4)).astype(numpy.float32)
    out = aothip.flash_attn_func(q, k, v, softcap=3.0, alibi_slopes=slopes)
    distance = numpy.abs(numpy.arange(6)[:, None] + 5 - numpy.arange(11)[None])
    for b in range(2):
        o, _ = reference(q[b], k[b], v[b], bias=-slopes[b][:, None, None] * distance, softcap=3.0)
        near(out[b], o, 2e-3, f"softcap and alibi, batch {b}")


def test_dropout():
    numpy.random.seed(SEED)
    q, k, v = random(1, 33, 2, 32), random(1, 40, 2, 32), random(1, 40, 2, 32)
    out, lse, mask = aothip.flash_attn_func(q, k, v, dropout_p=0.25, return_attn_probs=True)
    kept = mask[0] > 0
    ok(0.65 < kept.mean() < 0.85, f"keeps about three quarters: {kept.mean():.3f}")
    o, want = reference(q[0], k[0], v[0], multiply=kept / 0.75)
    near(out[0], o, 4e-3, "dropout: out")
    near(lse[0], want, 1e-3, "dropout: lse is that without it")
    numpy.random.seed(SEED)
    near(aothip.flash_attn_func(q, k, v, dropout_p=0.25), out, 0, "dropout: the seed decides")


def test_varlen():
    lengths_q, lengths_k = [3, 0, 17], [5, 4, 9]
    cu_q = numpy.cumsum([0] + lengths_q).astype(numpy.int32)
    cu_k = numpy.cumsum([0] + lengths_k).astype(numpy.int32)
    q, k, v = random(20, 2, 64), random(18, 1, 64), random(18, 1, 64)
    out, lse, _ = aothip.flash_attn_varlen_func(q, k, v, cu_q, cu_k, 17, 9, causal=True,
                                                return_attn_probs=True)
    for b in range(3):
        rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        o, want = reference(q[rows], k[keys], v[keys],
                            band(lengths_q[b], lengths_k[b], -1, 0))
        near(out[rows], o, 2e-3, f"varlen: out of sequence {b}")
        ok(numpy.allclose(lse[:, rows], want, atol=1e-3), f"varlen: lse of sequence {b}")


def rotate(x, cos, sin, position, interleaved):
    x = x.astype(numpy.float64).copy()
    half = cos.shape[1]
    for row in range(x.shape[0]):
        c, s = cos[position[row]].astype(float), sin[position[row]].astype(float)
        a = slice(0, 2 * half, 2) if interleaved else slice(0, half)
        b = slice(1, 2 * half, 2) if interleaved else slice(half, 2 * half)
        first, second = x[row, :, a].copy(), x[row, :, b].copy()
        x[row, :, a], x[row, :, b] = first * c - second * s, first * s + second * c
    return x.astype(numpy.float16)


def test_kvcache():
    angles = rng.random((64, 16))
    cos, sin = numpy.cos(angles).astype(numpy.float16), numpy.sin(angles).astype(numpy.float16)
    for interleaved in (False, True):
        k_cache, v_cache = random(2, 48, 2, 64), random(2, 48, 2, 64)
        before = k_cache.copy(), v_cache.copy()
        q, k, v = random(2, 2, 4, 64), random(2, 2, 2, 64), random(2, 2, 2, 64)
        lengths = numpy.array([31, 7], numpy.int32)
        out = aothip.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cos, sin, lengths,
                                             causal=True, rotary_interleaved=interleaved)
        for b in range(2):
            n = lengths[b]
            place = [n, n + 1]
            keys, values = before[0][b].copy(), before[1][b].copy()
            keys[n:n + 2] = rotate(k[b], cos, sin, place, interleaved)
            values[n:n + 2] = v[b]
            near(k_cache[b], keys.astype(float), 4e-3, f"kvcache: k appended, {interleaved}")
            near(v_cache[b], values.astype(float), 0, f"kvcache: v appended, {interleaved}")
            o, _ = reference(rotate(q[b], cos, sin, place, interleaved), keys[:n + 2],
                             values[:n + 2], band(2, n + 2, -1, 0))
            near(out[b], o, 3e-3, f"kvcache: out, rotary interleaved={interleaved}, batch {b}")


def test_leftpad():
    """Positions are those of the cache's rows, also in sequences that begin later in it."""
    angles = rng.random((40, 16))
    cos, sin = numpy.cos(angles).astype(numpy.float16), numpy.sin(angles).astype(numpy.float16)
    k_cache, v_cache = random(2, 32, 1, 64), random(2, 32, 1, 64)
    q, k, v = random(2, 1, 2, 64), random(2, 1, 1, 64), random(2, 1, 1, 64)
    lengths, pad = numpy.array([20, 9], numpy.int32), numpy.array([6, 9], numpy.int32)
    out = aothip.flash_attn_with_kvcache(q, k_cache, v_cache, k, v, cos, sin, lengths,
                                         cache_leftpad=pad)
    for b, (n, first) in enumerate(zip(lengths, pad)):
        near(k_cache[b, n:n + 1], rotate(k[b], cos, sin, [n], True).astype(float), 4e-3,
             f"leftpad: k rotated by its row, batch {b}")
        o, _ = reference(rotate(q[b], cos, sin, [n], True), k_cache[b, first:n + 1],
                         v_cache[b, first:n + 1])
        near(out[b], o, 3e-3, f"leftpad: out, batch {b}")


def test_limits():
    q, k = random(1, 5, 2, 64), random(1, 9, 2, 64)
    want = aothip.flash_attn_func(q, k, k)
    near(aothip.flash_attn_func(q, k, k, softcap=-1.0), want, 0, "a negative softcap is none")
    near(aothip.flash_attn_func(q, k, k, window_size=(2**40, 2**40)), want, 0, "a huge window")
    out = aothip.flash_attn_with_kvcache(q, k, k, cache_seqlens=numpy.int64(9))
    near(out, want, 0, "cache_seqlens is any integer")


def test_paged():
    pages, table = random(9, 16, 2, 64), numpy.array([[3, 8, 1], [5, 0, 2]], numpy.int32)
    values, lengths = random(9, 16, 2, 64), numpy.array([40, 17], numpy.int32)
    q = random(2, 1, 4, 64)
    out, lse = aothip.flash_attn_with_kvcache(q, pages, values, cache_seqlens=lengths,
                                              block_table=table, return_softmax_lse=True)
    for b in range(2):
        keys = pages[table[b]].reshape(48, 2, 64)[:lengths[b]]
        o, want = reference(q[b], keys, values[table[b]].reshape(48, 2, 64)[:lengths[b]])
        near(out[b], o, 2e-3, f"paged: out, batch {b}")
        near(lse[b], want, 1e-3, f"paged: lse, batch {b}")


def codes(kind, *shape):
    """Random bytes, and what they stand for as `kind`."""
    values = numpy.array(checks.fp8_values(kind))
    usable = numpy.flatnonzero((numpy.abs(values) <= 2) & (numpy.abs(values) >= 2**-6))
    x = rng.choice(usable, shape).astype(numpy.uint8)
    return x, values[x]


def test_fp8_cache():
    """Bytes whose type is named; NumPy itself has none of FP8."""
    q, new = random(2, 1, 4, 64), random(2, 1, 2, 64)
    lengths = numpy.array([37, 9], numpy.int32)
    scales = rng.random((2, 2, 2)).astype(numpy.float32) + 0.5
    for kind in checks.FP8:
        (k, keys), (v, values) = codes(kind, 2, 40, 2, 64), codes(kind, 2, 40, 2, 64)
        for name, of_k, of_v in (("none", None, None), ("a number", 0.5, numpy.float32(2)),
                                 ("one a head", scales[0, 0], scales[1, 0]),
                                 ("one a sequence and head", *scales)):
            out, lse = aothip.flash_attn_with_kvcache(
                q, k, v, cache_seqlens=lengths, return_softmax_lse=True, k_descale=of_k,
                v_descale=of_v, fp8=kind)
            of_k, of_v = (numpy.broadcast_to(1.0 if x is None else x, (2, 2)) for x in (of_k, of_v))
            for b, n in enumerate(lengths):
                o, want = reference(q[b], keys[b, :n] * of_k[b][:, None],
                                    values[b, :n] * of_v[b][:, None])
                near(out[b], o, 4e-3, f"{kind}, scales {name}: out, batch {b}")
                near(lse[b], want, 2e-3, f"{kind}, scales {name}: lse, batch {b}")
        before, (v_new, wrote) = k.copy(), codes(kind, 2, 1, 2, 64)
        aothip.flash_attn_with_kvcache(q, k, v, new, (2 * wrote).astype(numpy.float16),
                                       cache_seqlens=lengths, v_descale=2.0, fp8=kind)
        ok(all((v[b, n] == v_new[b, 0]).all() and (k[b, :n] == before[b, :n]).all()
               for b, n in enumerate(lengths)), f"{kind}: rows are divided and written")
        written = numpy.array(checks.fp8_values(kind))[[k[b, n] for b, n in enumerate(lengths)]]
        exact = new[:, 0].astype(float)
        near((written - exact) / numpy.maximum(numpy.abs(exact), 2**-6), numpy.zeros_like(exact),
             2**-4 if "e4m3" in kind else 2**-3, f"{kind}: and rounded")
        try:
            import ml_dtypes
        except ImportError:
            print("# FP8 in NumPy needs ml_dtypes, which is not here")
            continue
        typed = getattr(ml_dtypes, kind)
        out = aothip.flash_attn_func(q, k.view(typed), v.view(typed), k_descale=0.5)
        near(out, aothip.Problem(q, k, v, "bshd", fp8=kind, k_scale=0.5)()[0], 0,
             f"{kind} of ml_dtypes")


def test_fp8():
    """q, k and v of one type, which the GPU multiplies, or which it refuses."""
    kind = checks.fp8_multiplied(aothip.device()["gpu"])
    (q, of_q), (k, of_k), (v, of_v) = (codes(kind or checks.FP8[0], 2, n, heads, 64)
                                       for n, heads in ((19, 4), (33, 2), (33, 2)))

    def problem(**more):
        return aothip.Problem(q, k, v, "bshd", causal=True, fp8=kind or checks.FP8[0],
                              q_scale=[0.5, 0.25], k_scale=0.5, v_scale=3.0, **more)

    if not kind:
        raises(aothip.UnsupportedError, "FP8", problem().forward, "q of FP8, refused here")
        return
    out, lse = problem().forward()
    ok(out.dtype == numpy.float16, "q of FP8: out is float16")
    for b in range(2):
        factors = numpy.array([0.5, 0.5, 0.25, 0.25])[:, None]  # of the key heads
        o, want = reference(of_q[b] * factors, of_k[b] * 0.5, of_v[b] * 3, band(19, 33, -1, 0))
        near(out[b], o, 0.2, f"q of FP8: out, batch {b}")
        near(lse[b], want, 1e-2, f"q of FP8: lse, batch {b}")
    raises(TypeError, "out has type float32, not float16 or bfloat16", lambda: problem().forward(
        out=numpy.empty(q.shape, numpy.float32)), "q of FP8: out of another type")


def test_fp8_refused():
    q, (k, _) = random(2, 3, 4, 64), codes(checks.FP8[0], 2, 9, 2, 64)
    half = random(2, 9, 2, 64)
    for kind, text, function in (
            (TypeError, "k has type uint8", lambda: aothip.flash_attn_func(q, k, k)),
            (ValueError, "fp8 is 'e4m3'", lambda: aothip.Problem(q, k, k, "bshd", fp8="e4m3")),
            (ValueError, "k_scale (k_descale) has shape (3,)", lambda: aothip.flash_attn_func(
                q, k, k, k_descale=[1.0, 1.0, 1.0])),
            (ValueError, "q_scale is set, but q is not FP8", lambda: aothip.flash_attn_func(
                q, half, half, q_descale=1.0)),
            (ValueError, "out_dtype goes with", lambda: aothip.Problem(
                q, k, k, "bshd", out_dtype="float16")),
            (ValueError, "out_dtype is 'f16'", lambda: aothip.Problem(
                k, k, k, "bshd", fp8=checks.FP8[0], out_dtype="f16")),
            (aothip.UnsupportedError, "no backward pass", lambda: aothip.Problem(
                q, k, k, "bshd", fp8=checks.FP8[0]).backward(q, q, numpy.zeros(
                    (2, 4, 3), numpy.float32)))):
        raises(kind, text, function, f"refused: {text}")


def test_sdpa():
    q, k, v = random(2, 3, 6, 32), random(2, 3, 8, 32), random(2, 3, 8, 32)
    keep = rng.random((2, 1, 6, 8)) < 0.6
    keep[0, 0, 2] = False
    bias = random(6, 8)
    for name, mask in (("bool", keep), ("float", bias), ("none", None)):
        out = aothip.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        for b in range(2):
            o, _ = reference(*(x[b].transpose(1, 0, 2) for x in (q, k, v)),
                             visible=keep[b] if name == "bool" else None,
                             bias=bias.astype(float) if name == "float" else None)
            near(out[b], o.transpose(1, 0, 2), 2e-3, f"sdpa: {name} mask, batch {b}")
    out = aothip.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0], is_causal=True)
    seen = numpy.arange(8)[None] <= numpy.arange(6)[:, None]
    o, _ = reference(*(x[0, 0][:, None] for x in (q, k, v)), visible=seen)
    near(out, o[:, 0], 2e-3, "sdpa: two dimensions, causal from the top left")
    grouped = aothip.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True)
    o, _ = reference(*(x[0].transpose(1, 0, 2) for x in (q, k[:, :1], v[:, :1])))
    near(grouped[0], o.transpose(1, 0, 2), 2e-3, "sdpa: grouped heads")


def test_backward():
    q, k, v = random(1, 5, 2, 32), random(1, 7, 1, 32), random(1, 7, 1, 32)
    problem = aothip.Problem(q, k, v, "bshd", causal=True)
    o, lse = problem.forward()
    d_o = random(1, 5, 2, 32)
    got = problem.backward(d_o, o, lse)
    seen, step = band(5, 7, -1, 0), 1e-5

    def loss(**changed):
        args = {"q": q[0].astype(float), "k": k[0].astype(float), "v": v[0].astype(float)}
        args.update(changed)
        return (reference(args["q"], args["k"], args["v"], seen)[0] * d_o[0]).sum()

    for name, x in (("q", q), ("k", k), ("v", v)):
        want = numpy.zeros(x.shape[1:])
        for at in itertools.product(*(range(0, n, s) for n, s in zip(x.shape[1:], (1, 1, 7)))):
            up, down = x[0].astype(float), x[0].astype(float)
            up[at] += step
            down[at] -= step
            want[at] = (loss(**{name: up}) - loss(**{name: down})) / (2 * step)
        near(got["d" + name][0][..., ::7], want[..., ::7], 1e-2, f"backward: d{name}")


def test_shapes_refused():
    """What the library knows by its address alone is measured against the other arguments."""
    q, k = random(2, 3, 4, 64), random(2, 9, 2, 64)
    rows, cu = q[0], numpy.array([0, 1, 3], numpy.int32)
    two, three = numpy.array([1, 2], numpy.int32), numpy.array([1, 2, 3], numpy.int32)
    cos, pages = numpy.ones((9, 16), numpy.float16), random(2, 16, 2, 64)

    def dense(**options):
        return lambda: aothip.flash_attn_func(q, k, k, **options)

    def varlen(cu_q=cu, cu_k=cu, keys=rows[:, :2], **options):
        return lambda: aothip.flash_attn_varlen_func(rows, keys, keys, cu_q, cu_k, 2, 2, **options)

    def cache(keys=k, **options):
        return lambda: aothip.flash_attn_with_kvcache(q, keys, keys, **options)

    def sdpa(mask=None, heads=2, batch=2):
        x = random(batch, heads, 3, 64)
        return lambda: aothip.scaled_dot_product_attention(random(2, 2, 3, 64), x, x, mask)

    for kind, text, function in (
            (TypeError, "k must be", lambda: aothip.flash_attn_func(q, None, k)),
            (TypeError, "query must be", lambda: aothip.scaled_dot_product_attention(None, k, k)),
            (TypeError, "scale is 'x'", dense(softmax_scale="x")),
            (TypeError, "dropout_p is None", dense(dropout_p=None)),
            (TypeError, "window is 3", dense(window_size=3)),
            (ValueError, "alibi_slopes has shape (3,)", dense(alibi_slopes=numpy.ones(3))),
            (ValueError, "alibi_slopes", dense(alibi_slopes=numpy.ones((3, 4)))),
            (ValueError, "size[3]", lambda: aothip.flash_attn_func(q[..., :0], k[..., :0], k)),
            (ValueError, "cu_seqlens_k has shape (2,)", varlen(cu_k=cu[:2])),
            (ValueError, "cu_seqlens_q", varlen(cu_q=cu[None])),
            (ValueError, "seqused_k", varlen(seqused_k=three)),
            (ValueError, "block_table", varlen(keys=pages, block_table=two)),
            (ValueError, "cache_seqlens", cache(cache_seqlens=three)),
            (ValueError, "cache_leftpad", cache(cache_leftpad=three)),
            (ValueError, "cache_leftpad", cache(pages, cache_leftpad=two,
                                                block_table=two[:, None])),
            (ValueError, "cache_batch_idx", cache(cache_batch_idx=three)),
            (ValueError, "block_table", cache(pages, block_table=three[:, None])),
            (ValueError, "rotary_sin", cache(rotary_cos=cos, rotary_sin=cos[:5], cache_seqlens=2)),
            (ValueError, "rotary_cos", cache(rotary_cos=cos[0], rotary_sin=cos[0])),
            (TypeError, "rotary_sin has type float32",
             cache(rotary_cos=cos, rotary_sin=cos.astype(numpy.float32), cache_seqlens=2)),
            (ValueError, "k_new has 3", cache(k=k[0], v=k[0], cache_seqlens=2)),
            (TypeError, "attn_mask has type int32", sdpa(numpy.ones((3, 3), numpy.int32))),
            (ValueError, "attn_mask (3, 2) does not broadcast", sdpa(numpy.ones((3, 2), bool))),
            (ValueError, "enable_gqa", sdpa(heads=1)),
            (ValueError, "key (1, 2, 3, 64)", sdpa(batch=1))):
        raises(kind, text, function, f"refused: {text}")


def test_refusals():
    q = random(1, 4, 2, 64)
    raises(ValueError, "dimensions", lambda: aothip.flash_attn_func(q[0], q, q), "wrong rank")
    raises(TypeError, "v must be an array", lambda: aothip.flash_attn_func(q, q, [1]),
           "a list among arrays")
    raises(TypeError, "float64", lambda: aothip.flash_attn_func(*(q.astype(float),) * 3),
           "double precision")
    raises(TypeError, "q has another byte order", lambda: aothip.flash_attn_func(
        q.astype(q.dtype.newbyteorder()), q, q), "bytes the other way round")
    raises(aothip.ArgumentError, "no multiple", lambda: aothip.flash_attn_func(
        random(1, 4, 3, 64), q, q), "heads that do not divide")
    raises(ValueError, "exclude", lambda: aothip.scaled_dot_product_attention(
        q, q, q, attn_mask=q, is_causal=True), "mask and is_causal")
    raises(ValueError, "cache_seqlens", lambda: aothip.flash_attn_with_kvcache(q, q, q, q, q),
           "append without cache_seqlens")
    raises(ValueError, "scale", lambda: aothip.flash_attn_func(
        q, q, q, softmax_scale=float("nan")), "scale NaN")


print(f"# seed {SEED}, NumPy {numpy.__version__}, {aothip.device()['name']}")
sys.exit(checks.done(globals()))
