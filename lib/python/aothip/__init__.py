"""Scaled-dot-product attention on AMD GPUs from precompiled kernels, through ctypes.

NumPy arrays, and torch tensors in host memory, are copied to the current device and back. torch
tensors on a GPU are used where they are, on torch's current stream. Either kind of tensor carries
gradients.
"""

from ._lib import ArgumentError, Error, UnsupportedError, device, version, warm_up
from .attention import Problem
from .flash import (flash_attn_func, flash_attn_kvpacked_func, flash_attn_qkvpacked_func,
                    flash_attn_varlen_func, flash_attn_varlen_kvpacked_func,
                    flash_attn_varlen_qkvpacked_func, flash_attn_with_kvcache)
from .sdpa import scaled_dot_product_attention

__all__ = [
    "ArgumentError", "Error", "Problem", "UnsupportedError", "device", "flash_attn_func",
    "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func", "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func", "flash_attn_varlen_qkvpacked_func",
    "flash_attn_with_kvcache", "scaled_dot_product_attention", "version", "warm_up",
]
