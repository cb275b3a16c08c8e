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
from .merge import merge
from .sdpa import scaled_dot_product_attention


def enable(device=None, everything=False):
    """
    PyTorch's fused attention on `device` ("cuda", as PyTorch calls AMD's GPUs too, or "cpu", whose
    tensors are copied to the GPU and back) is computed by aothip from now on, in any model, forward
    and backward; as a context manager, until its end. None: "cuda" if this PyTorch is one for ROCm,
    else "cpu". everything: also what PyTorch itself keeps from its fused kernels: values of another
    head dim than keys, gradients of masks, dropout on the CPU, any head dim to 512. Enabling again
    replaces what was enabled.
    """
    from . import pytorch

    return pytorch.enable(device, everything)


def disable():
    """Takes back enable(): PyTorch's own kernels serve again."""
    from . import pytorch

    pytorch.disable()


__all__ = [
    "ArgumentError", "Error", "Problem", "UnsupportedError", "device", "disable", "enable",
    "flash_attn_func", "flash_attn_kvpacked_func", "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func", "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func", "flash_attn_with_kvcache", "merge",
    "scaled_dot_product_attention", "version", "warm_up",
]
