"""
What a call costs the host, with a HIP that does nothing: microseconds, the least of many rounds, by
the extension in C and by ctypes. Tensors in host memory pass for tensors on the GPU; they are
small, for large ones malloc() asks the kernel each time, which torch's allocator of the GPU does
not.

AOTHIP_HIP_LIBRARY=libfake_runtime.so AOTHIP_LIBRARY=... AOTHIP_IMAGES=... python3 host_time.py
"""

import time

import torch

import aothip
from aothip import _arrays, _quick

torch.set_num_threads(1)


class IdleSide(_arrays.TorchSide):
    """TorchSide but for streams and guards, which a torch without GPU does not have."""

    def __init__(self, first):
        _arrays._Torch.__init__(self, first)
        self.alive, self.stream = [], None

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.alive.clear()


def tensors(*shape):
    return [torch.zeros(shape, dtype=torch.float16) for _ in "qkv"]


q, k, v = tensors(2, 8, 8, 64)
x, y, z = (t.transpose(1, 2) for t in tensors(2, 8, 8, 64))
leaves = [t.requires_grad_() for t in tensors(2, 8, 8, 64)]
d_o = torch.ones(2, 8, 8, 64, dtype=torch.float16)
mask = torch.ones(8, 8, dtype=torch.bool)
one = torch.zeros(2, 1, 8, 64, dtype=torch.float16)
cache = tensors(2, 8192, 8, 64)[:2]
pages = tensors(1024, 16, 8, 64)[:2]
table = torch.arange(1024, dtype=torch.int32).reshape(2, 512)
lengths = torch.full((2,), 700, dtype=torch.int32)
cu = torch.tensor([0, 8, 16], dtype=torch.int32)
packed = [t.flatten(0, 1) for t in (q, k, v)]


def recorded():
    aothip.flash_attn_func(*leaves, causal=True).backward(d_o)
    for t in leaves:
        t.grad = None


CALLS = {
    "flash_attn_func": lambda: aothip.flash_attn_func(q, k, v, causal=True),
    "flash_attn_varlen_func": lambda: aothip.flash_attn_varlen_func(*packed, cu, cu, 8, 8,
                                                                    causal=True),
    "decode": lambda: aothip.flash_attn_with_kvcache(one, *cache, cache_seqlens=lengths),
    "decode, appended": lambda: aothip.flash_attn_with_kvcache(one, *cache, one, one,
                                                               cache_seqlens=lengths),
    "decode, pages": lambda: aothip.flash_attn_with_kvcache(one, *pages, cache_seqlens=lengths,
                                                            block_table=table),
    "scaled_dot_product_attention": lambda: aothip.scaled_dot_product_attention(x, y, z),
    "the same with a mask": lambda: aothip.scaled_dot_product_attention(x, y, z, mask),
    "forward and backward": recorded,
}


def least(call, rounds=60, calls=25):
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
    return 1e6 * best


_arrays.side_of = aothip.attention.side_of = lambda *arrays: IdleSide(arrays[0])
extension = _quick.load(place=lambda device: 0)
print(f"{'us of the host':32} {'C':>6} {'ctypes':>7}")
for name, call in CALLS.items():
    row = []
    for module in (extension, None):
        _quick._by_device[q.device] = module
        row.append(least(call) if module or extension is None else least(call, 10))
    print(f"{name:32} {row[0]:6.1f} {row[1]:7.1f}")
