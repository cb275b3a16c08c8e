"""
The part of the module that is written in C, aothip_quick, for torch tensors on the GPU: what takes
40 us of the host by way of ctypes takes 10. It lies beside libaothip.so.0; where it does not, or
where it declines, as it does everything but plain calls, Problem does the work.
"""

import ctypes
import importlib.machinery
import importlib.util
import os

import torch

from . import _lib
from ._arrays import _check_runtime


def _place(device):
    """torch's current stream on `device`, a GPU; None: the extension cannot work there."""
    index = device.index
    if torch._C._cuda_getDevice() != index:
        return None
    return torch._C._cuda_getCurrentRawStream(index)


def _address(name):
    return ctypes.cast(getattr(_lib.lib, name), ctypes.c_void_p).value


def load(path=None, place=_place):
    """The extension in the file `path`, ready; None where there is none."""
    path = path or os.path.join(os.path.dirname(_lib.lib._name), "aothip_quick.abi3.so")
    if not os.path.exists(path):
        return None
    loader = importlib.machinery.ExtensionFileLoader("aothip_quick", path)
    try:
        module = importlib.util.module_from_spec(
            importlib.util.spec_from_file_location("aothip_quick", path, loader=loader))
        loader.exec_module(module)
    except ImportError:  # a Python without the stable ABI, such as one without its lock
        return None
    module.setup(torch, _lib.check, place, _lib.context().value, _address("aothip_attn_fwd"),
                 _address("aothip_attn_fwd_workspace"), _address("aothip_attn_bwd"),
                 _address("aothip_attn_bwd_workspace"))
    return module


_by_device = {}  # a torch.device: the extension for its tensors, or None
_loaded = False


def for_device(device):
    """The extension for tensors of this torch.device, or None."""
    global _loaded
    # By the device itself: to say its type, torch puts a string together, which takes 3 us.
    try:
        return _by_device[device]
    except KeyError:
        pass
    if device.type != "cuda":
        module = None
    elif _loaded is False:
        _check_runtime(torch)
        module = _loaded = load()
    else:
        module = _loaded
    _by_device[device] = module
    return module
