"""The Python module with NumPy: what callers may leave out, hand over and rely on."""

import inspect
import sys

import numpy

import aothip
from checks import done, near, ok, raises

rng = numpy.random.default_rng(20261122)


def random(*shape):
    return rng.standard_normal(shape).astype(numpy.float16)


q, k, v = random(1, 6, 2, 32), random(1, 9, 2, 32), random(1, 9, 2, 32)
cu_q, cu_k = numpy.array([0, 2, 6], numpy.int32), numpy.array([0, 4, 9], numpy.int32)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def test_probs():
    out, lse, probs = aothip.flash_attn_func(q, k, v, return_attn_probs=True)
    ok(probs.size == 0, "S_dmask without dropout is empty")
    near(out, aothip.flash_attn_func(q, k, v), 0, "and changes nothing")
    ok(aothip.flash_attn_varlen_func(q[0], k[0], v[0], cu_q, cu_k, 4, 5,
                                     return_attn_probs=True)[2].size == 0, "so for varlen")
    probs = aothip.Problem(q, k, v, "bshd")(True)[2]
    near(probs.sum(-1), 1, 4e-3, "a problem makes the matrix where it is asked to")
    pages, table = random(4, 16, 1, 32), numpy.array([[2, 0, 3]], numpy.int32)
    probs = aothip.Problem(q, pages, pages, "bshd", block_table=table,
                           lengths=numpy.array([40], numpy.int32))(True)[2]
    ok(probs.shape == (1, 2, 6, 48), "of all pages")


def test_backward_reads():
    problem = aothip.Problem(q, k, v, "bshd", causal=True)
    o, lse = problem.forward()
    d_o, before = random(1, 6, 2, 32), (o.copy(), lse.copy())
    first = problem.backward(d_o, o, lse)
    ok((o == before[0]).all() and (lse == before[1]).all(), "backward leaves o and lse alone")
    frozen_problem = aothip.Problem(*map(frozen, (q, k, v)), "bshd", causal=True)
    again = frozen_problem.backward(*map(frozen, (d_o, o, lse)))
    ok(all((first[name] == again[name]).all() for name in first), "read-only arrays do as well")
    delta = numpy.full(lse.shape, numpy.nan, numpy.float32)
    again = problem.backward(d_o, o, lse, delta=delta)
    ok(all((first[name] == again[name]).all() for name in first), "room for delta of the caller's")
    near(delta, (d_o.astype(float) * o).sum(-1).swapaxes(1, 2), 2e-2, "which has been used")
    raises(ValueError, "delta has shape", lambda: problem.backward(d_o, o, lse, delta=delta[0]),
           "delta of another shape")
    for name, d, x, l in (("dout has shape", d_o[:, :5], o, lse), ("out has", d_o, o[:, :5], lse),
                          ("dout has 3 dim", d_o[0], o, lse), ("lse has", d_o, o, lse[..., :5])):
        raises(ValueError, name, lambda: problem.backward(d, x, l), f"refused: {name}")
    raises(ValueError, "gradient of bias", lambda: problem.backward(d_o, o, lse, ["bias"]),
           "a gradient of what is not there")


def test_merge():
    whole, whole_lse = aothip.Problem(q, k, v, "bshd").forward()
    parts = [aothip.Problem(q, k[:, a:b], v[:, a:b], "bshd").forward() for a, b in ((0, 2), (2, 9))]
    for kind, tolerance in ((numpy.float16, 2e-3), (numpy.float32, 1e-3)):
        o = numpy.full(q.shape, numpy.nan, kind)
        lse = numpy.full((1, 6, 2), -numpy.inf, numpy.float32).transpose(0, 2, 1)
        for part in parts:
            found = aothip.merge(o, lse, *part)
        ok(found[0] is o and found[1] is lse, "merge returns what it changes")
        near(o, whole, tolerance, f"two parts are the whole, {kind.__name__}")
        near(lse, whole_lse, 1e-3, "and their lse")
    o, lse = parts[0][0][0].copy(), parts[0][1][0].copy()
    aothip.merge(o, lse, parts[1][0][0], parts[1][1][0], "shd")
    near(o, whole[0], 2e-3, "parts of packed sequences")
    for name, kind, given in (
            ("part_o has shape", ValueError, (whole, whole_lse, whole[:, :5], whole_lse)),
            ("lse has 2 dimensions", ValueError, (whole, whole_lse[0], whole, whole_lse)),
            ("part_lse has shape", ValueError, (whole, whole_lse, parts[0][0], whole_lse[..., :5])),
            ("part_o: dtype is 1", ValueError,
             (whole, whole_lse, parts[0][0].astype(numpy.float32), parts[0][1])),
            ("lse: dtype is 2", ValueError,
             (whole, whole_lse.astype(numpy.float16), parts[0][0], parts[0][1])),
            ("o is written", ValueError, (frozen(whole), whole_lse, parts[0][0], parts[0][1]))):
        raises(kind, name, lambda: aothip.merge(*given), f"merge refused: {name}")
    raises(ValueError, "order is", lambda: aothip.merge(whole, whole_lse, *parts[0], "bdsh"),
           "merge refused: an order")


def test_read_only_cache():
    raises(ValueError, "k is written", lambda: aothip.flash_attn_with_kvcache(
        q[:, :1], frozen(k), v, k[:, :1], v[:, :1], cache_seqlens=3), "a read-only cache to grow")
    want = aothip.flash_attn_with_kvcache(q[:, :1], k, v, cache_seqlens=3)
    near(aothip.flash_attn_with_kvcache(q[:, :1], frozen(k), frozen(v), cache_seqlens=3), want, 0,
         "a read-only cache that does not grow")


def test_dimensions():
    def problem(**options):
        return lambda: aothip.Problem(q, k, v, "bshd", **options)

    five, two = numpy.zeros((1, 1, 2, 6, 9), numpy.float16), numpy.zeros((6, 9), numpy.float16)
    bad = [(ValueError, f"{name} has {x.ndim} dimensions", problem(**{name: x.astype(kind)}))
           for x in (five, two) for name, kind in (("bias", numpy.float16), ("keep", bool))]
    bad += [
        (TypeError, "bias must be an array", problem(bias=[[1.0]])),
        (ValueError, "k_new has 3 dimensions", lambda: aothip.Problem(
            q[0], k, v, "shd", cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, k_new=q[0], v_new=q[0],
            block_table=numpy.zeros((2, 1), numpy.int32))),
        (TypeError, "v_new must be an array", problem(k_new=k)),
        (ValueError, "order is 'hsd'", lambda: aothip.Problem(q, k, v, "hsd")),
        (ValueError, "block_table has shape ()", problem(block_table=numpy.array(1))),
        (ValueError, "cu_seqlens_q has shape ()", lambda: aothip.flash_attn_varlen_func(
            q[0], k[0], v[0], numpy.array(1), cu_k, 4, 5)),
        (ValueError, "seed has 3", problem(dropout_p=0.1, seed=(1, 2, 3))),
        (ValueError, "seed has shape", problem(dropout_p=0.1, seed=numpy.array([1, 2, 3]))),
        (TypeError, "rotary must be", problem(rotary=(q,))),
        (ValueError, "leftpad_k has shape (3,)", lambda: aothip.Problem(
            q[0], k[0], v[0], "shd", cu_seqlens_q=cu_q, cu_seqlens_k=cu_k,
            leftpad_k=numpy.zeros(3, numpy.int32)))]
    for kind, text, function in bad:
        raises(kind, text, function, f"refused: {text}")


def test_none():
    want = aothip.flash_attn_func(q, k, v)
    near(aothip.flash_attn_func(q, k, v, window_size=None, softcap=None), want, 0,
         "window_size and softcap may be None")
    near(aothip.flash_attn_func(q, k, v, window_size=(None, 0)),
         aothip.flash_attn_func(q, k, v, causal=True), 0, "so may a side of the window")


def test_signatures():
    plain = list(inspect.signature(aothip.flash_attn_func).parameters)
    varlen = list(inspect.signature(aothip.flash_attn_varlen_func).parameters)
    for function, first, rest in (
            (aothip.flash_attn_qkvpacked_func, ["qkv"], plain[3:]),
            (aothip.flash_attn_kvpacked_func, ["q", "kv"], plain[3:]),
            (aothip.flash_attn_varlen_qkvpacked_func, ["qkv", "cu_seqlens", "max_seqlen"],
             [n for n in varlen[7:] if n not in ("block_table", "seqused_k")]),
            (aothip.flash_attn_varlen_kvpacked_func, ["q", "kv"] + varlen[3:7],
             [n for n in varlen[7:] if n not in ("block_table", "seqused_k")])):
        found = list(inspect.signature(function).parameters)
        ok(found[:len(first)] == first and set(found[len(first):]) <= set(rest) and
           {"dropout_p", "causal", "window_size", "softcap", "deterministic"} <= set(found),
           f"{function.__name__} shows its parameters")


def test_given_results():
    problem = aothip.Problem(q, k, v, "bshd", causal=True)
    o, lse = problem.forward()
    out, out_lse = numpy.full_like(o, 7), numpy.full_like(lse, 7)
    got = problem.forward(out=out, lse=out_lse)
    ok(got[0] is out and got[1] is out_lse and (out == o).all() and (out_lse == lse).all(),
       "results go where the caller says")
    wide = numpy.zeros((1, 6, 2, 64), numpy.float16)
    problem.forward(out=wide[..., ::2])
    ok((wide[..., ::2] == o).all() and not wide[..., 1::2].any(), "also in between")
    d_o = random(1, 6, 2, 32)
    want = problem.backward(d_o, o, lse)
    given = {name: numpy.full_like(x, 7) for name, x in want.items()}
    got = problem.backward(d_o, o, lse, **given)
    ok(all(got[name] is given[name] and (got[name] == want[name]).all() for name in want),
       "gradients too")
    rows = numpy.full((8, 2, 32), 7, numpy.float16)
    aothip.Problem(numpy.concatenate([q[0], q[0, :2]]), k[0], v[0], "shd", cu_seqlens_q=cu_q,
                   cu_seqlens_k=cu_k, max_seqlen_q=4, max_seqlen_k=5).forward(out=rows)
    ok((rows[6:] == 7).all() and (rows[:6] != 7).any(), "rows of no sequence are left alone")
    raises(ValueError, "out has shape", lambda: problem.forward(out=out[:, :3]), "a short out")
    raises(TypeError, "dk has type", lambda: problem.backward(d_o, o, lse, dk=k.astype("f4")),
           "a gradient of another type")
    raises(ValueError, "lse is written", lambda: problem.forward(lse=frozen(lse)),
           "a read-only result")


def test_seed():
    def run(seed):
        return aothip.Problem(q, k, v, "bshd", dropout_p=0.5, seed=seed).forward()[0]

    want = run((3, 5))
    near(run(numpy.array([3, 5])), want, 0, "a seed may lie on the device")
    ok((run(numpy.array([4, 5])) != want).any(), "and is read there")
    near(run((2**64 - 3, 5)), run(numpy.array([-3, 5])), 0, "as 64 bits")
    raises(TypeError, "seed has type float64", lambda: run(numpy.array([0.5, 5])), "no fractions")


def test_leftpad():
    pad = numpy.array([1, 2], numpy.int32)
    for used in (None, numpy.array([3, 5], numpy.int32)):
        got = aothip.Problem(q[0], k[0], v[0], "shd", cu_seqlens_q=cu_q, cu_seqlens_k=cu_k,
                             max_seqlen_q=4, max_seqlen_k=5, seqused_k=used, leftpad_k=pad)()[0]
        for b in range(2):
            end = cu_k[b] + used[b] if used is not None else cu_k[b + 1]
            rows, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b] + pad[b], end)
            near(got[rows], aothip.flash_attn_func(q[:, rows], k[:, keys], v[:, keys])[0], 2e-3,
                 f"leftpad_k, sequence {b}, seqused_k {used}")


def test_newer_keywords():
    sinks, out = rng.standard_normal(2).astype(numpy.float16), numpy.full_like(q, 7)
    got, lse = aothip.flash_attn_func(q, k, v, causal=True, s_aux=sinks, out=out, num_splits=1,
                                      return_softmax_lse=True)
    want = aothip.Problem(q, k, v, "bshd", causal=True, sinks=sinks.astype(numpy.float32))()
    ok(got is out and (out == want[0]).all() and (lse == want[1]).all(), "s_aux, out and lse")
    used = numpy.array([3, 7], numpy.int32)
    k2, v2 = random(2, 9, 2, 32), random(2, 9, 2, 32)
    got = aothip.flash_attn_varlen_func(q[0], k2, v2, cu_q, None, 4, 9, seqused_k=used,
                                        s_aux=sinks)
    rows = [slice(0, 2), slice(2, 6)]
    want = [aothip.flash_attn_func(q[:, at], k2[b:b + 1, :n], v2[b:b + 1, :n], s_aux=sinks)[0]
            for b, (at, n) in enumerate(zip(rows, used))]
    near(got, numpy.concatenate(want), 2e-3, "seqused_k for keys in a batch, without cu_seqlens_k")
    pages, table = random(4, 16, 2, 32), numpy.array([[2], [1]], numpy.int32)
    got = aothip.flash_attn_varlen_func(q[0], pages, pages, cu_q, None, 4, 16, seqused_k=used,
                                        page_table=table)
    want = [aothip.flash_attn_func(q[:, at], *(pages[table[b], :n],) * 2)[0]
            for b, (at, n) in enumerate(zip(rows, used))]
    near(got, numpy.concatenate(want), 2e-3, "page_table")
    got = aothip.flash_attn_with_kvcache(random(2, 1, 2, 32), pages, pages, cache_seqlens=used,
                                         page_table=table, s_aux=sinks, return_softmax_lse=True)
    ok(got[1].shape == (2, 2, 1), "and in flash_attn_with_kvcache")
    for kind, text, function in (
            (ValueError, "q_descale", lambda: aothip.flash_attn_func(
                q, k, v, q_descale=q)),
            (ValueError, "are the same", lambda: aothip.flash_attn_with_kvcache(
                q, pages, pages, block_table=table, page_table=table)),
            (ValueError, "sinks (s_aux) has shape (3,)", lambda: aothip.flash_attn_func(
                q, k, v, s_aux=numpy.zeros(3))),
            (TypeError, "cu_seqlens_q has type float32", lambda: aothip.flash_attn_varlen_func(
                q[0], k[0], v[0], numpy.float32(cu_q), cu_k, 4, 5)),
            (ValueError, "cu_seqlens_k must be given", lambda: aothip.flash_attn_varlen_func(
                q[0], k2, v2, cu_q, None, 4, 9))):
        raises(kind, text, function, f"refused: {text}")


sys.exit(done(globals()))
