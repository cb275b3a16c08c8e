"""Compiles a few Triton kernels for each GPU that the emulator is tested on.

usage: triton_kernels.py DIRECTORY

Writes DIRECTORY/<gpu>-<kernel>.hsaco and DIRECTORY/list, one line a code object:
file gpu symbol bytes-of-LDS work-items-of-a-workgroup. test_triton.c runs them. No GPU is needed.
Exit status 77: there is no Triton here, or it has no AMD back end.
"""
import os
import sys

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError as why:
    print(why)
    sys.exit(77)


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(o + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, o, n, stride, BLOCK: tl.constexpr):
    """One row a program: maximum and sum across the workgroup."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + row * stride + at, e / tl.sum(e, 0), mask=at < n)


@triton.jit
def histogram(x, count, total, n, BLOCK: tl.constexpr):
    """Atomic additions of integers and floats to few addresses, and a compare-and-swap."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(count + v % 16, 1, mask=inside)
    tl.atomic_add(total, tl.sum(v.to(tl.float32), 0))
    tl.atomic_max(count + 16, tl.max(v, 0))
    tl.atomic_cas(count + 17, 0, 1)


@triton.jit
def matmul(a, b, c, k, TILE: tl.constexpr, DEPTH: tl.constexpr):
    """c[i, j] = sum a[i, :] * b[:, j]; one tile a program, k a multiple of DEPTH."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    col = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, DEPTH)
    width = tl.num_programs(1) * TILE
    sum = tl.zeros((TILE, TILE), tl.float32 if a.dtype.element_ty.is_floating() else tl.int32)
    for at in range(0, k, DEPTH):
        left = tl.load(a + row[:, None] * k + at + inner[None, :])
        right = tl.load(b + (at + inner[:, None]) * width + col[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + row[:, None] * width + col[None, :], sum)


@triton.jit
def attention(q, k, v, o, seq, scale, TILE: tl.constexpr, DIM: tl.constexpr):
    """Causal attention of one head: o = softmax(scale * q * k^T) * v, all [seq, DIM], f16."""
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    dim = tl.arange(0, DIM)
    mine = tl.load(q + row[:, None] * DIM + dim[None, :], mask=row[:, None] < seq, other=0)
    peak = tl.full((TILE,), float("-inf"), tl.float32)
    norm = tl.zeros((TILE,), tl.float32)
    sum = tl.zeros((TILE, DIM), tl.float32)
    for at in range(0, (tl.program_id(0) + 1) * TILE, TILE):
        col = at + tl.arange(0, TILE)
        keys = tl.load(k + col[None, :] * DIM + dim[:, None], mask=col[None, :] < seq, other=0)
        s = tl.dot(mine, keys) * (scale * 1.44269504)
        s = tl.where((col[None, :] <= row[:, None]) & (col[None, :] < seq), s, float("-inf"))
        top = tl.maximum(peak, tl.max(s, 1))
        p = tl.exp2(s - top[:, None])
        fade = tl.exp2(peak - top)
        norm = norm * fade + tl.sum(p, 1)
        values = tl.load(v + col[:, None] * DIM + dim[None, :], mask=col[:, None] < seq, other=0)
        sum = tl.dot(p.to(tl.float16), values, sum * fade[:, None])
        peak = top
    sum = sum / norm[:, None]
    tl.store(o + row[:, None] * DIM + dim[None, :], sum.to(tl.float16), mask=row[:, None] < seq)


@triton.jit
def order(x, o, sums, N: tl.constexpr):
    """Sorting and a running sum: shuffles between lanes and through LDS."""
    at = tl.arange(0, N)
    v = tl.load(x + at)
    tl.store(o + at, tl.sort(v))
    tl.store(sums + at, tl.cumsum(v, 0))


def variants(gpu):
    """(name, kernel, signature, constants, warps); a constant is named as in the kernel."""
    yield "add", add, "x:*fp32 y:*fp32 o:*fp32 n:i32", {"BLOCK": 256}, 4
    yield "softmax", softmax, "x:*fp32 o:*fp32 n:i32 stride:i32", {"BLOCK": 512}, 4
    yield "histogram", histogram, "x:*i32 count:*i32 total:*fp32 n:i32", {"BLOCK": 256}, 2
    tiles = {"TILE": 32, "DEPTH": 32}
    yield "matmul_f16", matmul, "a:*fp16 b:*fp16 c:*fp32 k:i32", tiles, 4
    yield "matmul_bf16", matmul, "a:*bf16 b:*bf16 c:*fp32 k:i32", tiles, 4
    yield "matmul_i8", matmul, "a:*i8 b:*i8 c:*i32 k:i32", tiles, 4
    yield "matmul_f32", matmul, "a:*fp32 b:*fp32 c:*fp32 k:i32", tiles, 4
    if gpu == "gfx942":
        yield "matmul_fp8", matmul, "a:*fp8e4b8 b:*fp8e4b8 c:*fp32 k:i32", tiles, 4
    heads = "q:*fp16 k:*fp16 v:*fp16 o:*fp16 seq:i32 scale:fp32"
    yield "attention", attention, heads, {"TILE": 32, "DIM": 64}, 4
    yield "order", order, "x:*i32 o:*i32 sums:*i32", {"N": 256}, 2


def main(directory):
    with open(os.path.join(directory, "list"), "w") as index:
        for gpu, lanes in (("gfx90a", 64), ("gfx942", 64), ("gfx1100", 32), ("gfx1151", 32)):
            for name, kernel, signature, constants, warps in variants(gpu):
                types = dict(pair.split(":") for pair in signature.split())
                types.update({constant: "constexpr" for constant in constants})
                source = ASTSource(kernel, signature=types, constexprs=constants)
                made = triton.compile(source, target=GPUTarget("hip", gpu, lanes),
                                      options={"num_warps": warps})
                file = f"{gpu}-{name}.hsaco"
                with open(os.path.join(directory, file), "wb") as out:
                    out.write(made.asm["hsaco"])
                meta = made.metadata
                print(file, gpu, meta.name, meta.shared, meta.num_warps * lanes, file=index)


main(sys.argv[1])
