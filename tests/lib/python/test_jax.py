"""aothip.jax on the emulator, by JAX's CPU backend, against jax.nn.dot_product_attention."""

import os
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy
from checks import done, near, ok, raises

import aothip.jax
from aothip.jax import dot_product_attention as attention

rng = numpy.random.default_rng(20261122)


def array(*shape, dtype=jnp.float16):
    return jnp.asarray(rng.standard_normal(shape) * 0.5, dtype)


def problem(heads_k=4, dim=64, dtype=jnp.float16):
    return (array(2, 33, 4, dim, dtype=dtype), array(2, 50, heads_k, dim, dtype=dtype),
            array(2, 50, heads_k, dim, dtype=dtype))


def reference(q, k, v, *rest, **named):
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    return jax.nn.dot_product_attention(q, k, v, *rest, implementation="xla", **named)


def tolerance(x):
    return {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4}[str(x.dtype)]


def compare(name, q, k, v, bias=None, mask=None, **named):
    """Results, and the gradients of a loss that weighs them differently."""
    weight = array(*q.shape[:-1], v.shape[-1], dtype=jnp.float32)

    def loss(function):
        def compute(arrays):
            q, k, v, bias = arrays
            o = function(q, k, v, bias, mask, **named)
            return (o.astype(jnp.float32) * weight).sum(), o
        return jax.jit(jax.grad(compute, has_aux=True))

    got, o = loss(attention)((q, k, v, bias))
    want, expected = loss(reference)((q, k, v, bias))
    near(o, expected, tolerance(q), name)
    for which, a, b in zip(("dq", "dk", "dv", "dbias"), got, want):
        if b is not None:
            scale = max(float(jnp.abs(b.astype(jnp.float32)).max()), 1)
            near(a, b, 2 * scale * tolerance(q), f"{name}: {which}")


def test_types():
    for dtype in (jnp.float16, jnp.bfloat16, jnp.float32):
        compare(dtype.__name__, *problem(dtype=dtype), is_causal=True)


def test_features():
    compare("grouped heads", *problem(heads_k=2))
    compare("a head dim of 40, scaled", *problem(dim=40), scale=0.3)
    compare("a window", *problem(), local_window_size=(20, 5))
    compare("a window on both sides", *problem(), local_window_size=24)
    compare("a causal window", *problem(), is_causal=True, local_window_size=(20, 5))
    compare("a window above the diagonal", *problem(), local_window_size=(-3, 20))
    x = problem(dtype=jnp.float32)
    scaled = lambda f: jax.grad(lambda s: f(*x, scale=s).sum())
    near(jax.jit(scaled(attention))(0.3), scaled(jax.nn.dot_product_attention)(0.3), 1e-2,
         "a scale that is traced")
    keep = jnp.asarray(rng.random((2, 1, 33, 50)) > 0.3).at[..., 0].set(True)  # no row sees none
    compare("a mask", *problem(), mask=keep)
    compare("a bias", *problem(), bias=array(1, 4, 33, 50, dtype=jnp.float32))
    compare("a bias for all rows", *problem(), bias=array(2, 1, 1, 50))
    compare("a mask and a bias", *problem(), bias=array(2, 4, 33, 50), mask=keep, is_causal=True)
    compare("a bias without a batch", *problem(), bias=array(4, 33, 50))


def test_lengths():
    rows, keys = jnp.asarray([33, 20], jnp.int32), jnp.asarray([50, 31], jnp.int32)
    compare("lengths", *problem(), query_seq_lengths=rows, key_value_seq_lengths=keys)
    q, k, v = problem()
    o = attention(q, k, v, query_seq_lengths=rows)
    ok(bool((o[1, 20:] == 0).all()), "rows beyond the lengths are 0")


def test_without_batch():
    q, k, v = (x[0] for x in problem())
    near(attention(q, k, v), reference(q, k, v), 4e-3, "without a batch")
    o, lse = attention(q, k, v, return_residual=True)
    ok(o.shape == q.shape and lse.shape == q.shape[:2], "and its log-sum-exp")
    compare("gradients without a batch", q, k, v, mask=jnp.ones((1, 33, 50), bool))


def test_residual():
    q, k, v = problem()
    o, lse = attention(q, k, v, return_residual=True)
    near(lse, reference(q, k, v, return_residual=True)[1], 4e-3, "log-sum-exp")
    ok(lse.dtype == jnp.float32, "in float32")

    def scores(q, k):
        return jnp.einsum("bqhd,bkhd->bqhk", q.astype(jnp.float32), k.astype(jnp.float32)) / 8

    weight = array(*lse.shape, dtype=jnp.float32)
    got = jax.grad(lambda *x: (attention(*x, return_residual=True)[1] * weight).sum(),
                   (0, 1, 2))(q, k, v)
    want = jax.grad(lambda q, k: (jax.nn.logsumexp(scores(q, k), -1) * weight).sum(),
                    (0, 1))(q, k)
    near(got[0], want[0], 4e-3, "gradients through the log-sum-exp: dq")
    near(got[1], want[1], 8e-3, "dk")
    near(got[2], jnp.zeros_like(v), 0, "dv")

    def both(function):
        def loss(q, k, v):
            o, lse = function(q, k, v)
            return (o.astype(jnp.float32) ** 2).sum() + (lse * weight).sum()
        return jax.grad(loss, (0, 1, 2))(q, k, v)

    def plainly(q, k, v):
        s = scores(q, k)
        o = jnp.einsum("bqhk,bkhd->bqhd", jax.nn.softmax(s, -1), v.astype(jnp.float32))
        return o, jax.nn.logsumexp(s, -1)

    for name, a, b in zip("qkv", both(lambda *x: attention(*x, return_residual=True)),
                          both(plainly)):
        near(a, b, 1.2e-2, f"with the result's: d{name}")


def test_vmap():
    q, k, v = (jnp.stack([x, x[::-1] * 0.5, -x]) for x in problem())
    bias = array(1, 4, 33, 50, dtype=jnp.float32)
    lengths = jnp.asarray([[50, 31], [7, 50], [20, 20]], jnp.int32)

    def compute(function):
        def one(q, k, v, bias, lengths):
            return function(q, k, v, bias, key_value_seq_lengths=lengths, is_causal=True)
        return jax.vmap(one, (0, 0, 0, None, 0))

    near(compute(attention)(q, k, v, bias, lengths), compute(reference)(q, k, v, bias, lengths),
         4e-3, "vmap")

    def gradients(function, axis, wanted):
        def loss(q, k, v, bias):
            return (function(q, k, v, bias).astype(jnp.float32) ** 2).sum()
        return jax.jit(jax.vmap(jax.grad(loss, wanted), axis))

    for axis, wanted in (((0, None, 0, None), (0, 1, 2, 3)), ((None, 0, 0, None), (0, 2))):
        given = [x if a == 0 or x is bias else x[0] for x, a in zip((q, k, v, bias), axis)]
        for name, a, b in zip(wanted, gradients(attention, axis, wanted)(*given),
                              gradients(reference, axis, wanted)(*given)):
            near(a, b, 4e-2, f"gradient {name} under vmap, {axis}")
    twice = jax.vmap(jax.vmap(attention, (0, 0, None)), (0, None, None))
    x = q[:, :, None]
    near(twice(x, k[0][:, None], v[0][:1]),
         jnp.stack([jnp.stack([reference(x[i, j], k[0][j][None], v[0][:1])
                               for j in range(2)]) for i in range(3)]), 4e-3, "vmap twice")


def test_shared_out():
    """Batch and heads over four devices, each of which calls the handlers itself."""
    mesh = jax.sharding.Mesh(numpy.asarray(jax.devices()).reshape(2, 2), ("batch", "heads"))
    of, of_bias = jax.P("batch", None, "heads"), jax.P(None, "heads")
    inputs = *problem(), array(1, 4, 33, 50, dtype=jnp.float32)
    rows = jnp.asarray([50, 31], jnp.int32)

    def whole(q, k, v, bias, rows):
        return attention(q, k, v, bias, is_causal=True, key_value_seq_lengths=rows)

    def loss(function):
        return jax.jit(jax.value_and_grad(
            lambda x: (function(*x, rows).astype(jnp.float32) ** 2).sum()))

    want = loss(whole)(inputs)
    for check in True, False:
        shared = jax.shard_map(whole, mesh=mesh, in_specs=(of, of, of, of_bias, jax.P("batch")),
                               out_specs=of, check_vma=check)
        value, got = loss(shared)(inputs)
        near(value, want[0], 1e-2, f"shard_map, check_vma {check}")
        for name, a, b in zip(("dq", "dk", "dv", "dbias"), got, want[1]):
            near(a, b, 1e-3, f"shard_map, check_vma {check}: {name}")


def test_transforms():
    q, k, v = problem()
    want = attention(q, k, v, is_causal=True)
    ok(bool((jax.jit(lambda *x: attention(*x, is_causal=True))(q, k, v) == want).all()), "jit")
    near(jax.checkpoint(lambda *x: attention(*x, is_causal=True))(q, k, v), want, 0, "checkpoint")
    last, all_of_them = jax.lax.scan(lambda x, _: (attention(x, k, v), x), q, None, length=2)
    near(last, reference(reference(q, k, v).astype(q.dtype), k, v), 4e-3, "scan")
    near(attention(q, k, v, softcap=2.0), softly(q, k, v, 2.0), 4e-3, "a soft-cap")
    text = str(jax.jit(attention).lower(q, k, v).as_text())
    ok("aothip_fwd" in text and "dot_general" not in text, "one custom call is all there is")
    given = jax.jit(jax.grad(lambda b, x: attention(x, k, v, b).astype(jnp.float32).sum(), 1))
    text = str(given.lower(array(2, 4, 33, 50), q).as_text())
    ok("aothip_bwd" in text and text.count("33x50") < 4, "no gradient of a bias not asked for")


def test_twice():
    q, k, v = problem()
    once = jax.grad(lambda x: attention(x, k, v).astype(jnp.float32).sum())
    twice = jax.grad(lambda x: once(x).astype(jnp.float32).sum())
    raises(Exception, "differentiat", lambda: twice(q),
           "gradients of gradients are refused")


def softly(q, k, v, cap):
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    s = cap * jnp.tanh(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8 / cap)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)


def test_errors():
    q, k, v = problem()
    raises(TypeError, "query has type int32", lambda: attention(jnp.zeros((1, 2, 3, 4), int),
                                                                k, v), "integers")
    raises(ValueError, "key has shape", lambda: attention(q, k[..., :32], v), "another head dim")
    raises(ValueError, "value has shape", lambda: attention(q, k, v[:, :-1]), "other rows")
    raises(ValueError, "value is float32", lambda: attention(q, k, v.astype(jnp.float32)),
           "another type")
    raises(ValueError, "bias has shape (1, 3, 33, 50)",
           lambda: attention(q, k, v, array(1, 3, 33, 50)), "a bias of other heads")
    raises(TypeError, "mask has type float16",
           lambda: attention(q, k, v, mask=array(1, 1, 33, 50)), "a mask that is none")
    raises(ValueError, "key_value_seq_lengths",
           lambda: attention(q, k, v, key_value_seq_lengths=jnp.ones(3, jnp.int32)),
           "lengths of another batch")
    raises(TypeError, "key is None", lambda: attention(q, None, v), "no key")
    raises(TypeError, "local_window_size is (1, 2, 3)",
           lambda: attention(q, k, v, local_window_size=(1, 2, 3)), "a window of three sides")
    raises(TypeError, "local_window_size is 'x'",
           lambda: attention(q, k, v, local_window_size=("x", 2)), "a window without numbers")
    raises(TypeError, "query_seq_lengths has type float32",
           lambda: attention(q, k, v, query_seq_lengths=jnp.ones(2)), "lengths of another type")
    raises(Exception, "multiple",
           lambda: attention(q, k[:, :, :3], v[:, :, :3]).block_until_ready(),
           "what the library refuses")


# What xla_abi.h declares, and what the header of this jaxlib does.
FIELDS = """
extension:XLA_FFI_Extension_Base struct_size=struct_size type=type next=next
version:XLA_FFI_Api_Version major=major_version minor=minor_version
metadata:XLA_FFI_Metadata version=api_version traits=traits
metadata_extension:XLA_FFI_Metadata_Extension base=extension_base metadata=metadata
buffer:XLA_FFI_Buffer type=dtype data=data rank=rank dims=dims
values:XLA_FFI_Args count=size kinds=types values=args
values:XLA_FFI_Rets count=size kinds=types values=rets
text:XLA_FFI_ByteSpan data=ptr length=len
scalar:XLA_FFI_Scalar type=dtype value=value
attributes:XLA_FFI_Attrs count=size kinds=types names=names values=attrs
error_create:XLA_FFI_Error_Create_Args message=message code=errc
stream_get:XLA_FFI_Stream_Get_Args context=ctx stream=stream
memory_allocate:XLA_FFI_DeviceMemory_Allocate_Args context=ctx size=size alignment=alignment data=data
memory_free:XLA_FFI_DeviceMemory_Free_Args context=ctx size=size data=data
api:XLA_FFI_Api version=api_version error_create=XLA_FFI_Error_Create
api:XLA_FFI_Api stream_get=XLA_FFI_Stream_Get memory_allocate=XLA_FFI_DeviceMemory_Allocate
api:XLA_FFI_Api memory_free=XLA_FFI_DeviceMemory_Free
call:XLA_FFI_CallFrame api=api context=ctx stage=stage arguments=args results=rets
call:XLA_FFI_CallFrame attributes=attrs
"""
VALUES = """
XLA_EXTENSION_METADATA=XLA_FFI_Extension_Metadata XLA_KIND_BUFFER=XLA_FFI_ArgType_BUFFER
XLA_KIND_BUFFER=XLA_FFI_RetType_BUFFER XLA_KIND_SCALAR=XLA_FFI_AttrType_SCALAR
XLA_EXECUTE=XLA_FFI_ExecutionStage_EXECUTE XLA_BOOL=XLA_FFI_DataType_PRED
XLA_S32=XLA_FFI_DataType_S32 XLA_F16=XLA_FFI_DataType_F16 XLA_F32=XLA_FFI_DataType_F32
XLA_BF16=XLA_FFI_DataType_BF16 XLA_INTERNAL=XLA_FFI_Error_Code_INTERNAL
XLA_INVALID_ARGUMENT=XLA_FFI_Error_Code_INVALID_ARGUMENT
XLA_UNIMPLEMENTED=XLA_FFI_Error_Code_UNIMPLEMENTED
"""


def test_layout():
    source = ['#include "xla/ffi/api/c_api.h"', '#include "xla_abi.h"']
    for line in FIELDS.split("\n")[1:-1]:
        structs, *fields = line.split(" ")
        one, other = structs.split(":")
        for a, b in (pair.split("=") for pair in fields):
            source.append(f"_Static_assert(offsetof(struct xla_{one}, {a}) == "
                          f'offsetof({other}, {b}), "{one}.{a}");')
    for a, b in (pair.split("=") for pair in VALUES.split()):
        source.append(f'_Static_assert((int){a} == (int){b}, "{a}");')
    own = os.path.join(os.path.dirname(os.path.dirname(aothip.__file__)), "xla")
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "layout.c")
        with open(path, "w") as f:
            f.write("\n".join(source) + "\n")
        found = subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-fsyntax-only",
                                "-I", own, "-I", jax.ffi.include_dir(), path],
                               capture_output=True, text=True)
    ok(found.returncode == 0, f"xla_abi.h is laid out as jaxlib's {len(source) - 2} declarations")
    if found.returncode:
        print("#  ", found.stderr.replace("\n", "\n#   "))


sys.exit(done(globals()))
